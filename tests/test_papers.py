"""`sparseboost reproduce`: the registry, its words, and a small run of every experiment's machinery."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rich")
pytest.importorskip("typer")
from rich.console import Console
from typer.testing import CliRunner

from sparseboost.cli import app
from sparseboost.papers import EXPERIMENTS, Options, data, grubb2011, multiboost2012, rankers, reproduce, xi2009


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_experiment_can_be_run(name: str) -> None:
    assert callable(importlib.import_module(f"sparseboost.papers.{name}").run)


def test_words_about_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"There is no experiment 'xi'; there are .*xi2009"):
        reproduce("xi", Options(tmp_path))
    with pytest.raises(ValueError, match="--repetitions must be at least 1, got 0"):
        reproduce("xi2009", Options(tmp_path, repetitions=0))
    with pytest.raises(ValueError, match="--peers must be a Python interpreter"):
        reproduce("grubb2011", Options(tmp_path, peers=tmp_path / "no-python"))
    with pytest.raises(FileNotFoundError, match=r"There is no .*spambase.npz; give the folder that has spambase.npz"):
        data.read("spambase", tmp_path)
    monkeypatch.delenv(data.VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match=r"spambase.npz is needed; give the folder it is in with --data"):
        data.read("spambase")
    np.savez(tmp_path / "spambase.npz", X=np.eye(2), y=[0, 1])
    monkeypatch.setenv(data.VARIABLE, str(tmp_path))
    np.testing.assert_array_equal(data.read("spambase")["X"], np.eye(2))


def test_command_line_says_it_in_one_sentence(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["reproduce", "xi2009", "--data", str(tmp_path)])
    assert answer.exit_code == 2
    assert "diabetes.npz" in answer.output
    assert answer.output.strip().count("\n") == 0


def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 57)).astype(np.float32)
    np.savez(tmp_path / "spambase.npz", X=X, y=np.where(X[:, 3] + X[:, 7] > 0, 1, -1).astype(np.int8))
    sets = (
        xi2009.Set("Ringnorm", None, 20, 50, 12, (25.5, 121.8, 25.3, 55.0)),
        xi2009.Set("Spam", "spambase", 25, 30, 12, (11.3, 31.3, 11.3, 26.5)),
    )
    monkeypatch.setattr(xi2009, "SETS", sets)
    return Options(tmp_path / "out", tmp_path, repetitions=2)


def test_xi2009_prints_both_tables_and_draws_both_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = tiny(tmp_path, monkeypatch)
    console = Console(record=True, width=100, file=open("/dev/null", "w"))  # noqa: SIM115
    xi2009.run(options, console)
    text = console.export_text()
    for words in ("Table 1: error rates, %, 2 repetitions", "Table 2: numbers of classifiers", "121.8", "26.5"):
        assert words in text
    for name in ("xi2009-figure2.png", "xi2009-figure3.png"):
        assert (options.output / name).stat().st_size > 10_000


def test_a_trial_is_what_its_rounds_are(tmp_path: Path) -> None:
    item = xi2009.SETS[0]
    parts = xi2009.split(item._replace(train=30, test=40), None, 0)
    assert [len(part) for part in parts] == [30, 30, 40, 40]
    again = xi2009.split(item._replace(train=30, test=40), None, 0)
    np.testing.assert_array_equal(parts[0], again[0])
    assert not np.array_equal(parts[0], xi2009.split(item._replace(train=30, test=40), None, 1)[0])
    one = xi2009.trial("adaboost", 10, parts)
    assert one.error.shape == one.active.shape == one.margin.shape == (10,)
    assert one.best == (one.error.min(), one.active[np.flatnonzero(one.error == one.error.min())[0]])


def test_curves_by_number_of_classifiers() -> None:
    trials = [
        xi2009.Trial(np.array([0.4, 0.2, 0.1]), np.array([1, 2, 2]), np.zeros(3)),
        xi2009.Trial(np.array([0.2, 0.3]), np.array([1, 3]), np.zeros(2)),
    ]
    count, mean = xi2009.by_count(trials, "error")
    np.testing.assert_array_equal(count, [1])
    np.testing.assert_allclose(mean, [0.3])
    count, mean = xi2009.by_count(trials[:1], "error")
    np.testing.assert_allclose(mean, [0.4, 0.15])


def test_ringnorm_is_the_distribution_of_the_paper() -> None:
    X, y = xi2009.ringnorm(40_000, np.random.default_rng(0))
    np.testing.assert_allclose(X[y > 0].mean(axis=0), 0.0, atol=0.08)
    np.testing.assert_allclose(X[y > 0].var(axis=0), 4.0, rtol=0.06)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), 1 / np.sqrt(20), atol=0.04)
    np.testing.assert_allclose(X[y < 0].var(axis=0), 1.0, rtol=0.06)


def small_sets(folder: Path) -> None:
    """The files of grubb2011, with a few rows of noise in which two inputs matter."""
    rng = np.random.default_rng(0)
    for name in (*grubb2011.CLASSES, *grubb2011.RANKINGS):
        X, query, part = rng.normal(size=(120, 5)), np.repeat(np.arange(12), 10), np.repeat([1, 2, 3, 4, 5, 5], 20)
        y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
        if name in ("letter", "mslr_web10k_sample"):  # these have a test part of their own
            np.savez(folder / f"{name}.npz", X=X, y=y, qid=query, X_test=X, y_test=y, qid_test=query)
        else:
            np.savez(folder / f"{name}.npz", X=X, y=y, qid=query, part=part)


def test_grubb2011_prints_its_tables_and_draws_three_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_sets(tmp_path)
    monkeypatch.setattr(grubb2011, "QUICK_LEARNERS", 6)
    monkeypatch.setattr(grubb2011, "TEST_WORLDS", 5)
    console = Console(record=True, width=80, file=open("/dev/null", "w"))  # noqa: SIM115
    grubb2011.run(Options(tmp_path / "out", tmp_path, quick=True, peers=Path(sys.executable)), console)
    text = console.export_text()
    for words in ("Figure 1: maximum-margin planning", "stumps, 20 worlds", "Figure 2: ranking hinge", "NDCG@10",
                  "Figure 3: multiclass hinge", "Stumps that survive", "cycles", "mslr_web10k_sample"):  # fmt: skip
        assert words in text
    assert "…" not in text, "nothing is cut off at 80 columns"
    for number in (1, 2, 3):
        assert (tmp_path / "out" / f"grubb2011-figure{number}.png").stat().st_size > 10_000


def test_rankers_of_another_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores come back from a file that the other interpreter writes; without the library there are none."""
    rng = np.random.default_rng(0)
    train = rng.normal(size=(6, 2)), np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 1, 1, 2, 2])
    missing = {"none": ("no_such_library", lambda *given: importlib.import_module("no_such_library"))}
    monkeypatch.setattr(rankers, "PEERS", missing)
    assert rankers.peer_scores(train, train[0], 3) == {"none": None}
    script = tmp_path / "rankers.py"
    script.write_text(
        "import sys, numpy as np\ndata = np.load(sys.argv[3])\n"
        "np.save(sys.argv[4], data['documents'][:, 0] + int(sys.argv[2]))"
    )
    monkeypatch.setattr(rankers, "__file__", str(script))
    found = rankers.peer_scores(train, train[0], 3, Path(sys.executable))
    np.testing.assert_allclose(found["none"], train[0][:, 0] + 3)
    script.write_text("import no_such_library")
    assert rankers.peer_scores(train, train[0], 3, Path(sys.executable)) == {"none": None}
    script.write_text("raise ValueError('bad data')")
    with pytest.raises(RuntimeError, match=r"none failed under .*bad data"):
        rankers.peer_scores(train, train[0], 3, Path(sys.executable))


def test_multiboost2012_counts_hypotheses_at_equal_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    np.savez(tmp_path / "some.npz", X=X[:100], y=y[:100], X_test=X[100:], y_test=y[100:])
    monkeypatch.setattr(multiboost2012, "SETS", (multiboost2012.Set("Some", "some", 100, 50, 10),))
    monkeypatch.setattr(multiboost2012, "NUS", np.array([0.1, 0.03, 0.01]))
    console = Console(record=True, width=100, file=open("/dev/null", "w"))  # noqa: SIM115
    multiboost2012.run(Options(tmp_path / "out", tmp_path), console)
    text = console.export_text()
    for words in ("Some", "l1/l2", "l1/linf", "SAMME"):
        assert words in text
    assert (tmp_path / "out" / "multiboost2012.png").stat().st_size > 10_000


def test_fewest_hypotheses_for_an_error() -> None:
    curve = multiboost2012.Curve(np.array([2, 6, 10]), np.array([0.5, 0.3, 0.1]))
    found = [curve.fewest_for(level) for level in (0.6, 0.5, 0.4, 0.3, 0.05)]
    np.testing.assert_allclose(found, [2.0, 2.0, 4.0, 6.0, np.inf])
    assert [curve.best_within(most) for most in (1, 2, 9, 100)] == [np.inf, 0.5, 0.3, 0.1]
