"""The demo: it runs from nothing, its numbers are true, and the picture exists."""

import io
import sys
import time

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

from rich.console import Console
from typer.testing import CliRunner

from sparseboost import demo
from sparseboost.cli import app


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    place = tmp_path_factory.mktemp("demo") / "new" / "folder"
    started = time.perf_counter()
    result = CliRunner().invoke(app, ["demo", "--output", str(place)])
    return result, place, time.perf_counter() - started


def rows(text, name):
    return [line for line in text.splitlines() if line.strip().startswith(name) and "%" in line]


def test_it_runs_and_reads_well_without_a_terminal(done):
    result, _, _ = done
    assert result.exit_code == 0, result.output
    text = result.stdout
    assert "\x1b" not in text
    assert "…" not in text  # no cell is cut off
    assert max(map(len, text.splitlines())) <= 110
    for words in ("handwritten digits", "breast cancer", "accuracy", "coverage", "certified", "1/30 of alpha_max"):
        assert words in text
    assert len(rows(text, "sparseboost ℓ1/ℓ2")) == 1
    assert len(rows(text, "sparseboost ℓ1 ")) == len(rows(text, "scikit-learn ridge")) == 2


def test_it_writes_and_names_one_picture(done):
    result, place, _ = done
    (picture,) = place.iterdir()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000
    assert str(picture) in result.stdout.replace("\n", "")


def test_sparse_models_use_fewer_inputs(done):
    for line in rows(done[0].stdout, "sparseboost"):
        used, _, total = line.split("%")[1].split()[1:4]
        assert int(used) < int(total)
        assert float(line.split("%")[0].split()[-1]) > 90
        assert float(line.split()[-2]) < 1e-3  # the certified gap


def test_it_does_not_take_long(done):
    assert done[2] < 120  # about 10 s on an idle machine; tests may run on a busy one


@pytest.fixture(scope="module")
def small(done):
    """One short comparison, after the whole demo has compiled everything."""
    data = demo._data("breast cancer", "measurements", demo.load_breast_cancer())
    return data, demo._train(data, Console(file=io.StringIO()))


def test_numbers_are_measured_on_held_out_rows(small):
    data, found = small
    assert data.train.shape[0] + data.test.shape[0] == 569
    np.testing.assert_allclose(data.train.mean(axis=0), 0, atol=1e-12)
    assert abs(data.test.mean()) > 1e-6
    for results in found.values():
        for result in results:
            wrong = 1 - result.accuracy
            assert result.coverage == pytest.approx(wrong)  # with two classes, without ties
            assert result.used == np.any(result.coef != 0, axis=0).sum()


def test_scikit_learn_solves_the_same_problem(small):
    """Otherwise the comparison would not be fair."""
    data, found = small
    alpha = demo.SHARE * demo.alpha_max(data.train, data.train_y, penalty="l1")
    exact = demo._saga(1 / (alpha * len(data.train))).set_params(tol=1e-7, max_iter=50_000)
    ours = demo.SparseBoostClassifier(alpha, penalty="l1", tol=1e-9).fit(data.train, data.train_y)
    np.testing.assert_allclose(exact.fit(data.train, data.train_y).coef_, ours.coef_, atol=1e-3)
    assert found[demo.SAGA][-1].gap is None
    used = [result.used for result in found[demo.OURS["l1"]]]
    assert used[0] < used[-1]


def test_findings_follow_the_numbers(small):
    data, found = small
    ridge = found[demo.RIDGE][-1]
    best = max(results[-1].accuracy for label, results in found.items() if label != demo.RIDGE)
    more = round((ridge.accuracy - best) * data.test_y.size)
    assert f"{more} more of 171 test rows" in demo._findings(data, found)[-1]
    worse = dict(found)
    worse[demo.RIDGE] = [demo.Result(**{**vars(ridge), "accuracy": best - 2 / 171})]
    assert "2 fewer of 171 test rows" in demo._findings(data, worse)[-1]


def test_progress_on_a_terminal(small):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    data, found = small
    demo._train(data, console)
    assert "17/17" in out.getvalue() or "16/17" in out.getvalue()
    with console.capture() as capture:
        console.print(demo._table(data, found))
    assert "…" not in capture.get()


def test_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    out = io.StringIO()
    assert demo._draw([], {}, tmp_path / "p.png", Console(file=out, width=200)) is None
    assert "pip install sparseboost[plot]" in out.getvalue()
