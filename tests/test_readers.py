"""Readers: what is in the file arrives, and every complaint is one sentence."""

import gzip

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from sparseboost.datasets import is_svmlight, read_svmlight, read_table


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"age": rng.integers(20, 60, 12), "price": rng.normal(size=12), "smokes": rng.random(12) > 0.5,
         "kind": list("abcabcabcabc")}
    )  # fmt: skip


def complaint(*args, error=ValueError, **options):
    with pytest.raises(error) as caught:
        read_table(*args, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.rstrip()[-1] in ".?"
    return text


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".CSV", ".parquet"])
def test_frames(tmp_path, frame, suffix):
    path = tmp_path / f"table{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    X, y = read_table(path, "kind")
    assert list(X.columns) == ["age", "price", "smokes"]
    np.testing.assert_allclose(X.to_numpy(dtype=float), frame[["age", "price", "smokes"]].to_numpy(dtype=float))
    assert list(y) == list(frame["kind"])
    assert all(np.issubdtype(dtype, np.number) for dtype in X.dtypes)


def test_several_targets(tmp_path, frame):
    path = tmp_path / "t.csv"
    frame.drop(columns="kind").to_csv(path, index=False)
    X, y = read_table(path, ["price", "smokes"])
    assert list(X.columns) == ["age"]
    np.testing.assert_allclose(y, frame[["price", "smokes"]].to_numpy(dtype=float))
    X, y = read_table(path, ["age", "smokes"])
    assert y.dtype == np.int64
    X, y = read_table(path)
    assert y is None
    assert X.shape == (12, 3)


def test_nullable_columns(tmp_path, frame):
    path = tmp_path / "t.parquet"
    frame.convert_dtypes().to_parquet(path)
    X, _ = read_table(path, "kind")
    np.testing.assert_allclose(X.to_numpy(dtype=float), frame[["age", "price", "smokes"]].to_numpy(dtype=float))


def test_optional_target(tmp_path, frame):
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    X, y = read_table(path, "kind", optional=True)
    assert "kind" not in X
    assert y is not None
    frame.drop(columns="kind").to_csv(path, index=False)
    X, y = read_table(path, "kind", optional=True)
    assert X.shape == (12, 3)
    assert y is None


@pytest.mark.parametrize("suffix", [".svm", ".svmlight", ".libsvm", ".txt", ".svm.gz"])
@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight(tmp_path, suffix, zero_based):
    rng = np.random.default_rng(1)
    X = sp.random(20, 7, density=0.4, random_state=1, format="csr")
    X = sp.csr_matrix(np.vstack([np.ones(7), X.toarray()[1:]]))
    y = rng.integers(0, 3, 20)
    path = tmp_path / f"t{suffix}"
    plain = tmp_path / "plain"
    dump_svmlight_file(X, y, str(plain), zero_based=zero_based)
    content = plain.read_bytes()
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    assert is_svmlight(path)
    found, target = read_table(path)
    np.testing.assert_allclose(found.toarray(), X.toarray())
    np.testing.assert_array_equal(target, y)
    assert "do not name one" in complaint(path, "y")


def test_svmlight_matches_the_training_file(tmp_path):
    """A file in which the first and last inputs are zero everywhere keeps its columns."""
    path = tmp_path / "t.svm"
    path.write_text("1 2:0.5 3:1\n0 2:4\n")
    X, _, zero_based = read_svmlight(path)
    assert (X.shape, zero_based) == ((2, 3), False)
    X, _, _ = read_svmlight(path, zero_based=True, n_features=6)
    np.testing.assert_allclose(X.toarray(), [[0, 0, 0.5, 1, 0, 0], [0, 0, 4, 0, 0, 0]])
    with pytest.raises(ValueError, match="3 inputs, but the model knows 2"):
        read_svmlight(path, n_features=2)
    path.write_text("1 0:0.5\n")
    with pytest.raises(ValueError, match="index 0"):
        read_svmlight(path, zero_based=False)


def test_missing_file(tmp_path):
    assert "There is no file" in complaint(tmp_path / "none.csv", "y", error=FileNotFoundError)
    assert "There is no file" in complaint(tmp_path / "none.svm", error=FileNotFoundError)
    assert "There is no file" in complaint(tmp_path / "none.parquet", "y", error=FileNotFoundError)


def test_unknown_suffix(tmp_path):
    path = tmp_path / "t.xlsx"
    path.write_text("hello")
    text = complaint(path, "y")
    assert "unknown format" in text
    assert ".parquet" in text


def test_near_matches(tmp_path, frame):
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    assert complaint(path, "prise").endswith("no column 'prise'; did you mean 'price'?")
    assert "did you mean 'age'" in complaint(path, "AGE")
    assert "its columns are 'age', 'price', 'smokes', 'kind'." in complaint(path, "qqqqqq")


@pytest.mark.parametrize("name", ["t.csv", "t.svm", "t.parquet"])
def test_empty_files(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    assert "is empty" in complaint(tmp_path / name)


def test_no_rows(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    assert "no rows" in complaint(tmp_path / "t.csv", "b")
    (tmp_path / "t.svm").write_text("# nothing\n")
    assert "no rows" in complaint(tmp_path / "t.svm")
    (tmp_path / "b.csv").write_text("\n\n")
    assert "is empty" in complaint(tmp_path / "b.csv", "b")


def test_only_the_target(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    assert "no input columns" in complaint(tmp_path / "t.csv", "a")


def test_text_and_holes(tmp_path, frame):
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    text = complaint(path, "price")
    assert "'kind'" in text
    assert "OneHotEncoder" in text
    frame.loc[3, "price"] = np.nan
    frame.to_csv(path, index=False)
    assert "missing values in the column 'price'" in complaint(path, "kind")
    assert "missing values in the target" in complaint(path, ["price", "kind"])
    frame["price"] = 1.0
    frame.to_csv(path, index=False)
    assert "Several targets must all be numbers" in complaint(path, ["age", "kind"])


@pytest.mark.parametrize("name", ["t.parquet", "t.csv.gz", "t.svm", "t.svm.gz", "t.csv"])
def test_damaged_files(tmp_path, name):
    (tmp_path / name).write_bytes(b'a,b\n1,2\n1,2,3,4\n"\xff\xfe')
    assert "could not be read as" in complaint(tmp_path / name)


def test_row_numbers_are_pointed_out(tmp_path, frame):
    frame.drop(columns="kind").to_csv(tmp_path / "t.csv")
    with pytest.warns(UserWarning, match="row number"):
        read_table(tmp_path / "t.csv", "price")
