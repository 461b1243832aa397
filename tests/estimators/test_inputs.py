"""The same numbers in any container give the same model; names are checked; nothing of the user's is changed."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from sparseboost import SparseBoostClassifier, SparseBoostRegressor
from sparseboost.estimators.classifier import _classes
from sparseboost.hypotheses import blocks

RNG = np.random.default_rng(0)
# whole numbers: exact in every number type, and about half of them zero
X = np.where(RNG.random((60, 6)) < 0.5, RNG.integers(-3, 4, (60, 6)), 0).astype(float)
SIGNS = (X > 0).astype(float)
TRUTH = np.array([1.0, -0.7, 0.0, 0.5, 0.0, 0.0])
REAL = X @ TRUTH + RNG.normal(size=60)
BINARY = (REAL > 0).astype(int)
CLASSES = np.digitize(REAL, [-1.0, 1.0])
NAMES = [f"f{j}" for j in range(6)]


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def wide_indices(matrix: Any) -> Any:
    matrix = matrix.copy()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def twice(matrix: np.ndarray) -> Any:
    """COO with every entry given as two halves."""
    half = sp.coo_array(matrix / 2)
    row, column = np.tile(half.coords[0], 2), np.tile(half.coords[1], 2)
    return sp.coo_array((np.tile(half.data, 2), (row, column)), shape=matrix.shape)


def unsorted(matrix: np.ndarray) -> Any:
    other = sp.csr_array(matrix)
    for start, stop in zip(other.indptr[:-1], other.indptr[1:], strict=True):
        other.indices[start:stop] = other.indices[start:stop][::-1]
        other.data[start:stop] = other.data[start:stop][::-1]
    other.has_sorted_indices = False
    return other


def twice_by_column(matrix: np.ndarray) -> Any:
    """CSC with every entry given as two halves, in falling order of rows: no format could be less canonical."""
    m, n = matrix.shape
    entries = np.repeat(matrix[::-1] / 2, 2, axis=0).ravel(order="F")
    rows = np.tile(np.repeat(np.arange(m)[::-1], 2), n)
    return sp.csc_array((entries, rows, np.arange(0, 2 * m * n + 1, 2 * m)), shape=(m, n))


CONTAINERS: dict[str, Callable[[np.ndarray], Any]] = {
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "float32": lambda a: a.astype(np.float32),
    "float32 fortran": lambda a: np.asfortranarray(a.astype(np.float32)),
    "float16": lambda a: a.astype(np.float16),
    "int64": lambda a: a.astype(np.int64),
    "int8": lambda a: a.astype(np.int8),
    "big endian": lambda a: a.astype(">f8"),
    "object": lambda a: a.astype(object),
    "list": lambda a: a.tolist(),
    "read-only": read_only,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
    "lil_array": sp.lil_array,
    "dok_array": sp.dok_array,
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "coo_matrix": sp.coo_matrix,
    "csr int64 indices": lambda a: wide_indices(sp.csr_array(a)),
    "csc int64 indices": lambda a: wide_indices(sp.csc_array(a)),
    "csc float32": lambda a: sp.csc_array(a.astype(np.float32)),
    "csr int": lambda a: sp.csr_array(a.astype(int)),
    "coo with duplicates": twice,
    "csc with duplicates": twice_by_column,
    "csr unsorted": unsorted,
    "csr with stored zeros": lambda a: sp.csr_array((a.ravel(), np.tile(np.arange(6), 60), np.arange(0, 361, 6))),
    "pandas": lambda a: pd.DataFrame(a, columns=NAMES),
    "pandas mixed types": lambda a: pd.DataFrame(a, columns=NAMES).astype({"f0": int, "f1": "float32"}),
    "pandas nullable": lambda a: pd.DataFrame(a, columns=NAMES).astype({"f0": "Int64", "f1": "Float64"}),
    "pandas int labels": pd.DataFrame,
    "pandas sparse": lambda a: pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(a), columns=NAMES),
    "polars": lambda a: pl.DataFrame(a, schema=NAMES),
    "polars mixed types": lambda a: pl.DataFrame(a, schema=NAMES).with_columns(pl.col("f0").cast(pl.Int32)),
}
# model and target: each of the ways through the code
MODELS: dict[str, tuple[Any, np.ndarray]] = {
    "auto": (SparseBoostClassifier(0.02, tol=1e-9), BINARY),
    "gradboost": (SparseBoostClassifier(0.02, tol=1e-6, update="gradboost"), BINARY),
    "adaboost": (SparseBoostClassifier(0.02, tol=1e-6, update="adaboost", penalty="l1/linf"), CLASSES),
    "regressor": (SparseBoostRegressor(0.02, tol=1e-9), REAL),
}


def fitted(which: str, data: Any, **settings: Any) -> Any:
    model, y = MODELS[which]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*double precision")
        return type(model)(**{**model.get_params(), **settings}).fit(data, y)


def outputs(model: Any, data: Any) -> list[np.ndarray]:
    found = [model.predict(data)]
    if hasattr(model, "predict_proba"):
        found += [model.predict_proba(data), model.decision_function(data)]
    selected = model.transform(data)
    return [*found, np.asarray(selected.toarray() if sp.issparse(selected) else selected, dtype=float)]


@pytest.mark.parametrize("which", MODELS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_same_model_from_every_container(container: str, which: str) -> None:
    data = CONTAINERS[container](X)
    plain, model = fitted(which, X), fitted(which, data)
    # the papers' updates end within their tol of the optimum, by ways that rounding can change
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, atol=1e-7)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    for ours, wanted in zip(outputs(model, data), outputs(plain, X), strict=True):
        np.testing.assert_allclose(ours, wanted, atol=1e-6)


@pytest.mark.parametrize("which", MODELS)
def test_booleans(which: str) -> None:
    plain = fitted(which, SIGNS)
    for data in (SIGNS.astype(bool), sp.csr_array(SIGNS.astype(bool)), pd.DataFrame(SIGNS.astype(bool))):
        np.testing.assert_allclose(fitted(which, data).coef_, plain.coef_, atol=1e-7)


def test_memmap(tmp_path: Path) -> None:
    path = tmp_path / "X.npy"
    np.save(path, X)
    data = np.load(path, mmap_mode="r")
    np.testing.assert_array_equal(fitted("auto", data).coef_, fitted("auto", X).coef_)


# -- names ---------------------------------------------------------------------------------------------------------


def test_feature_names() -> None:
    for frame in (pd.DataFrame(X, columns=NAMES), pl.DataFrame(X, schema=NAMES)):
        model = fitted("auto", frame)
        assert list(model.feature_names_in_) == NAMES
        used = model.get_support(indices=True)
        assert [repr(h) for h in model.hypotheses_] == [NAMES[j] for j in used]
        assert list(model.get_feature_names_out()) == [NAMES[j] for j in used]
    for data in (X, pd.DataFrame(X), sp.csr_array(X)):
        model = fitted("auto", data)
        assert not hasattr(model, "feature_names_in_")
        assert [repr(h) for h in model.hypotheses_] == [f"x{j}" for j in model.get_support(indices=True)]
    assert not hasattr(fitted("auto", pd.DataFrame(X, columns=NAMES)).fit(X, BINARY), "feature_names_in_")


def test_costs_by_name() -> None:
    by_name = fitted("auto", pd.DataFrame(X, columns=NAMES), feature_costs={"f1": 3.0, "f0": 0.5})
    by_place = fitted("auto", X, feature_costs=[0.5, 3.0, 1.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(by_name.coef_, by_place.coef_, rtol=1e-12)  # sums in the order of memory


FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(X, columns=NAMES),
    "pandas int labels": lambda: pd.DataFrame(X),
    "pandas int labels, shuffled": lambda: pd.DataFrame(X, columns=[3, 1, 5, 0, 2, 4]),
    "polars": lambda: pl.DataFrame(X, schema=NAMES),
    "pandas two levels": lambda: pd.DataFrame(X, columns=pd.MultiIndex.from_product([["a", "b"], [1, 2, 3]])),
}


def reorder(frame: Any) -> Any:
    return frame[list(frame.columns)[::-1]]


def rename(frame: Any) -> Any:
    frame = frame.clone() if isinstance(frame, pl.DataFrame) else frame.copy()
    labels = list(frame.columns)
    labels[2] = ("z", 9) if isinstance(labels[2], tuple) else "new" if isinstance(labels[2], str) else 17
    if isinstance(labels[0], tuple):
        frame.columns = pd.MultiIndex.from_tuples(labels)
    else:
        frame.columns = labels
    return frame


def extra(frame: Any) -> Any:
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(pl.lit(1.0).alias("more"))
    more = frame.copy()
    more[("z", 9) if isinstance(more.columns, pd.MultiIndex) else "more" if "f0" in more else 77] = 1.0
    return more


def missing(frame: Any) -> Any:
    return frame[list(frame.columns)[:-1]]


@pytest.mark.parametrize("damage", [reorder, rename, extra, missing])
@pytest.mark.parametrize("which", FRAMES)
@pytest.mark.parametrize("family", ["auto", "regressor"])
def test_other_columns_are_refused_everywhere(family: str, which: str, damage: Callable[[Any], Any]) -> None:
    frame = FRAMES[which]()
    model = fitted(family, frame)
    methods = ["predict", "transform", "score"]
    methods += ["predict_proba", "decision_function", "staged_decision_function"] if family == "auto" else []
    methods += ["staged_predict"] if family == "regressor" else []
    # a pickled copy knows the names as well
    for each in (model, pickle.loads(pickle.dumps(model))):
        for method in methods:
            arguments = (damage(frame), MODELS[family][1]) if method == "score" else (damage(frame),)
            with pytest.raises(ValueError, match="feature names should match"):
                getattr(each, method)(*arguments)
            if method != "score" and not method.startswith("staged"):
                getattr(each, method)(frame)


def test_frames_against_arrays_warn_as_scikit_learn_does() -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        fitted("auto", frame).predict(X)
    with pytest.warns(UserWarning, match="X has feature names"):
        fitted("auto", X).predict(frame)
    other = pl.DataFrame(X, schema=NAMES)
    np.testing.assert_array_equal(fitted("auto", frame).predict(other), fitted("auto", frame).predict(frame))


# -- respect for the user's data -------------------------------------------------------------------------------------


def contents(*arrays: Any) -> list[bytes]:
    parts = []
    for array in arrays:
        names = [
            name for name in ("data", "indices", "indptr", "coords") if sp.issparse(array) and hasattr(array, name)
        ]
        parts += [np.asarray(getattr(array, name)).tobytes() for name in names] or [array.tobytes()]
    return parts


@pytest.mark.parametrize("which", MODELS)
@pytest.mark.parametrize(
    "container", ["fortran", "float32", "csr unsorted", "coo with duplicates", "csc with duplicates"]
)
def test_inputs_are_not_changed(container: str, which: str) -> None:
    data, y, weight = CONTAINERS[container](X), MODELS[which][1].copy(), RNG.uniform(0.5, 1.0, 60)
    before = contents(data, y, weight)
    model = MODELS[which][0]
    model = type(model)(**model.get_params()).set_params(tol=1e-3).fit(data, y, weight)
    outputs(model, data)
    assert contents(data, y, weight) == before


def test_fitted_model_does_not_watch_the_data() -> None:
    data = X.copy()
    model = fitted("auto", data)
    coef = model.coef_.copy()
    before = model.predict(X)
    data[:] = 0.0
    np.testing.assert_array_equal(model.coef_, coef)
    np.testing.assert_array_equal(model.predict(X), before)
    assert len(pickle.dumps(model)) < 20_000 + 2_000 * len(model.history_), "the model holds on to its training data"


@pytest.mark.parametrize("update", ["auto", "adaboost", "gradboost"])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_sparse_is_never_densified(layout: str, update: str, monkeypatch: pytest.MonkeyPatch) -> None:
    big = sp.random_array((300, 400), density=0.02, format=layout, rng=np.random.default_rng(0))
    y = (np.asarray(big.sum(axis=1)).ravel() > np.median(big.sum(axis=1))).astype(int)

    def guard(original: Any) -> Any:
        def method(self: Any, *arguments: Any, **options: Any) -> Any:
            assert self.shape[0] * (self.shape[1] if self.ndim > 1 else 1) <= 400, "a sparse matrix was made dense"
            return original(self, *arguments, **options)

        return method

    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix, sp.coo_matrix):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(kind, name, guard(getattr(kind, name)))
    monkeypatch.setattr(np, "asarray", no_sparse(np.asarray))
    monkeypatch.setattr(np, "array", no_sparse(np.array))
    with pytest.raises(AssertionError, match="made dense"):
        big.toarray()
    for penalty in ("l1", "l2") if update != "adaboost" else ("l1",):
        model = SparseBoostClassifier(0.001, update=update, penalty=penalty, tol=1e-2).fit(big, y)
        assert model.n_active_ > 0
        model.predict_proba(big)
        assert sp.issparse(model.transform(big))
        assert len(list(model.staged_decision_function(big))) == model.n_rounds_ + 1


def no_sparse(original: Any) -> Any:
    def function(value: Any, *arguments: Any, **options: Any) -> Any:
        assert not sp.issparse(value), "a sparse matrix was put into a dense array"
        return original(value, *arguments, **options)

    return function


@pytest.mark.parametrize("update", ["auto", "gradboost", "adaboost"])
@pytest.mark.parametrize("layout", ["float32", "float32 fortran", "csc", "csc float32"])
def test_memory(layout: str, update: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit with few active inputs needs far less memory than another copy of X: blocks, one at a time."""
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 100_000)
    rng = np.random.default_rng(0)
    if layout.startswith("float32"):
        data: Any = rng.standard_normal((4_000, 2_500), dtype=np.float32)  # 40 MB
        data = np.asfortranarray(data) if "fortran" in layout else data
        size, column = data.nbytes, data[:, 3]
    else:
        rows = rng.integers(0, 20_000, 2_000_000)
        order = np.sort(rows.reshape(1_000, 2_000), axis=1).ravel()
        number = np.float32 if "float32" in layout else np.float64
        pointers = np.arange(0, 2_000_001, 2_000)
        data = sp.csc_array((rng.random(2_000_000, dtype=number), order, pointers), shape=(20_000, 1_000))
        data.sum_duplicates()
        size, column = data.data.nbytes + data.indices.nbytes, data[:, [3]].toarray().ravel()
    y = (column > np.median(column[column != 0])).astype(int)
    model = SparseBoostClassifier(0.01, update=update, tol=1e-2)
    model.fit(data, y)  # compile and import first: what is compiled depends on the size
    tracemalloc.start()
    model.fit(data, y)
    peak = tracemalloc.get_traced_memory()[1]
    model.predict(data)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.n_active_ <= 50
    assert peak < 0.5 * size, f"{peak / size:.2f} of the size of X"
    assert used < 0.5 * size


@pytest.mark.parametrize(
    "labels",
    [[3, -2, 7], np.array([-128, 127], np.int8), np.array([2**63, 2**63 + 5], np.uint64), [False, True], ["b", "a"],
     np.array([0, 10**12]), np.array([2**62, 2**62 + 2])],
    ids=str,
)  # fmt: skip
def test_classes_of_any_type_are_found_in_their_order(labels, rng):
    y = np.asarray(labels)[rng.permutation(np.arange(60) % len(labels))]
    model = SparseBoostClassifier(alpha=0.1).fit(rng.normal(size=(60, 3)), y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.classes_.dtype == y.dtype
    classes, codes = _classes(y)
    np.testing.assert_array_equal(classes[codes], y)
