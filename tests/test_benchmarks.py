"""The benchmarks ask everybody the same question, and their tables say what was measured."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from mmap import mmap
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import datasets, memory, run, store, tables, worker
from benchmarks.problem import Problem, active_rows, suboptimality, tiny
from benchmarks.solvers import OURS, SOLVERS
from benchmarks.solvers.base import Solver, single
from benchmarks.tasks import TASKS
from benchmarks.tasks.base import Case, at

KINDS = [
    ("logistic", "l1", 1), ("softmax", "l1/l2", 3), ("softmax", "l1/linf", 3), ("multilabel", "l1/l2", 4),
    ("squared", "l1", 1), ("squared", "l1/l2", 2),
]  # fmt: skip


def make(loss, penalty, k, *, sparse=False, intercept=False, count=1):
    y = {"logistic": np.array([0, 1]), "softmax": np.arange(k), "multilabel": np.zeros((2, k)), "squared": np.zeros(2)}[
        loss
    ]
    if loss == "squared" and k > 1:
        y = np.zeros((2, k))
    X = np.zeros((2, 1)) if not sparse else sp.csc_matrix((2, 1))
    return tiny(Problem(X, y, loss, penalty, np.ones(count), intercept))


@pytest.mark.parametrize(("loss", "penalty", "k"), KINDS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_objective_is_ours(loss, penalty, k, sparse, intercept):
    from sparseboost import SparseBoostClassifier, SparseBoostRegressor, alpha_max

    problem = make(loss, penalty, k, sparse=sparse, intercept=intercept)
    family = SparseBoostRegressor if loss == "squared" else SparseBoostClassifier
    model = family(problem.alpha, penalty=penalty, fit_intercept=intercept).fit(problem.X, problem.y)
    (value,) = problem.objectives(model.coef_[None], model.intercept_[None])
    assert value == pytest.approx(model.objective_, rel=1e-10)
    kind = "squared" if loss == "squared" else "logistic"
    largest = alpha_max(problem.X, problem.y, loss=kind, penalty=penalty, fit_intercept=intercept)
    assert problem.alpha_max() == pytest.approx(largest, rel=1e-8)


def test_our_runner_and_our_reference_agree_along_a_path():
    problem = make("squared", "l1/l2", 2, count=4)
    fit = OURS.fit(problem, 1e-10)
    best, gaps = OURS.reference(problem, 1e-10, 10.0)
    optimum = problem.objectives(best.coefs, best.intercepts)
    assert suboptimality(problem.objectives(fit.coefs, fit.intercepts), optimum) < 1e-7
    assert np.all(gaps <= 1e-8 * optimum[0])
    assert active_rows(best.coefs) > 0


def test_problems_survive_the_disk(tmp_path):
    for sparse in (False, True):
        problem = make("softmax", "l1/l2", 3, sparse=sparse)
        store.save(problem, tmp_path / "p.npz")
        back = store.load(tmp_path / "p.npz")
        assert back.kind == problem.kind
        assert back.input_bytes == problem.input_bytes
        assert (back.X != problem.X).sum() == 0


def test_solvers_say_what_they_cannot_do():
    linf = make("softmax", "l1/linf", 3)
    takers = {name for name, solver in SOLVERS.items() if solver.refuses(linf) is None}
    assert {"sparseboost", "sparseboost gradboost", "cvxpy clarabel"} <= takers
    assert "celer" not in takers
    with_intercept = replace(make("logistic", "l1", 1), fit_intercept=True)
    assert "intercept" in SOLVERS["scikit-learn liblinear"].refuses(with_intercept)


def test_every_task_has_cases_and_missing_data_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARSEBOOST_DATA", str(tmp_path))
    for task in TASKS.values():
        for size in ("small", "full"):
            names = [case.name for case in task.cases(size)]
            assert names
            assert len(set(names)) == len(names)
    case = next(TASKS["T1"].cases("small"))
    with pytest.raises(datasets.Missing, match=r"^reuters21578_bigrams.npz is not in the folder"):
        case.build()


def run_of(name, *tried):
    keys = ("setting", "seconds", "objectives")
    facts = [dict(zip(keys, one, strict=True), active=3, repetitions=3) for one in tried]
    return {"solver": name, "tried": facts, "extra_bytes": 50}


def result_of(*runs):
    return {
        "case": "c", "kind": "logistic l1", "shape": [2, 2], "outputs": 1, "input_bytes": 100, "needed_bytes": 120,
        "certified": 1e-9, "reference": {"objectives": [1.0]}, "runs": list(runs),
    }  # fmt: skip


def test_the_best_objective_by_anyone_is_the_reference():
    result = result_of(run_of("celer", (1e-3, 1.0, [0.9])))
    assert tables.best_objectives(result) == [0.9]


def test_tables_take_the_cheapest_setting_and_name_the_winner():
    ours = run_of("sparseboost", (1e-1, 0.5, [1.0005]), (1e-6, 2.0, [1.0]))
    peer = run_of("celer", (1e-1, 1.0, [1.0001]), (1e-6, 1.5, [1.0]))
    slower = run_of("sparseboost gradboost", (1e-1, 0.1, [1.0]))
    text = tables.case_table(result_of(ours, peer, slower, {"solver": "snapml", "unavailable": "no wheel"}))
    assert "To 1e-03: sparseboost wins, 2.00 times as fast as celer." in text
    assert "To 1e-06: sparseboost LOSES to celer, which is 1.33 times as fast." in text
    assert "not installed: no wheel" in text
    row = next(line for line in text.splitlines() if line.startswith("| sparseboost  "))
    assert [cell.strip() for cell in row.split("|")[2:8]] == ["0.5", "2", "0.50", "1.33", "–", "1.25"]


def test_never_is_said():
    text = tables.case_table(result_of(run_of("sparseboost", (1e-1, 1.0, [1.1])), run_of("celer", (1e-1, 3.0, [1.0]))))
    assert "sparseboost LOSES: it never gets there, celer does in 3 s." in text
    assert "reached 1e-01" in text


class Stretched(Solver):
    """Reaches what it is told to: the objective is 1 plus a power of the setting."""

    kinds = ("logistic l1",)

    def __init__(self, settings, power):
        self.settings, self.power, self.asked = settings, power, []

    def fit(self, problem, setting):
        self.asked.append(setting)
        return single(problem, np.zeros(problem.X.shape[1]), setting**self.power)


@pytest.mark.parametrize(("settings", "power"), [((0.1, 0.01, 1e-3, 1e-4, 1e-5), 1.9), ((10, 20, 40, 80, 160), -2.9)])
def test_tuning_closes_in_on_the_loosest_setting_that_reaches_each_threshold(settings, power, tmp_path, monkeypatch):
    solver, facts = Stretched(settings, power), []
    monkeypatch.setattr(Problem, "objectives", lambda self, coefs, intercepts: 1.0 + intercepts[:, 0])
    worker.tune(solver, make("logistic", "l1", 1), np.array([1.0]), 60.0, lambda **found: facts.append(found))
    order = sorted((fact["setting"] for fact in facts), key=lambda setting: setting**power, reverse=True)
    step = max(settings[0] / settings[1], settings[1] / settings[0])
    for threshold in worker.THRESHOLDS:
        loosest = next(i for i, setting in enumerate(order) if setting**power <= threshold)
        ratio = order[loosest] / order[loosest - 1]
        assert loosest > 0
        assert max(ratio, 1 / ratio) <= 1.1 * step**0.25
        assert next(fact for fact in facts if fact["setting"] == order[loosest])["repetitions"] >= worker.FEWEST


def test_tuning_tries_looser_settings_when_the_first_one_passes():
    assert worker.closer({0.1: 1e-9, 0.01: 1e-12}, 1e-3, (0.1, 0.01)) == pytest.approx(1.0)
    assert worker.closer({10: 1e-9}, 1e-3, (10, 20)) == 5
    assert worker.closer({0.1: 1.0}, 1e-3, (0.1, 0.01)) is None


def test_a_worker_over_its_time_takes_along_what_it_started(tmp_path, monkeypatch):
    note, script = tmp_path / "child", tmp_path / "python"
    script.write_text(f"#!/bin/sh\nsleep 300 &\necho $! > {note}\nwait\n")
    script.chmod(0o755)
    monkeypatch.setattr(run.environments, "python", lambda name: str(script))
    monkeypatch.setattr(run, "GRACE", 0.5)
    assert run.spawn("tune", OURS.name, tmp_path / "p.npz", run.Options(limit=0.1)) == [{"stopped": "time limit"}]
    child = Path("/proc") / note.read_text().strip() / "stat"
    for _ in range(50):
        if not child.exists() or child.read_text().split()[2] == "Z":
            return
        time.sleep(0.1)
    pytest.fail("the child goes on alone")


def test_exponents():
    assert tables.exponent([1, 2, 4, 8], [3, 12, 48, 192]) == pytest.approx(2.0)


class Hungry(Solver):
    """Holds more memory in its first fit than in others, as one does that loads code."""

    name, kinds, kept = "hungry", ("squared l1",), None

    def fit(self, problem, setting):
        first, self.kept = self.kept is None, [fresh(3_000_000)] if self.kept is None else self.kept
        big = fresh(4_000_000 if first else 2_000_000)
        return single(problem, np.zeros(20) + 0.0 * big[0])


def fresh(size):
    """Ones in memory that the system hands out now and takes back at once, whatever the allocator likes to keep."""
    ones = np.frombuffer(mmap(-1, 8 * size))
    ones[:] = 1.0
    return ones


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux forgets a peak")
def test_memory_is_that_of_a_second_fit(monkeypatch):
    facts = {}
    problem = make("squared", "l1", 1)
    worker.first(Hungry(), problem, 1e-3, lambda **more: facts.update(more))
    assert facts["first_seconds"] > 0.0
    assert 14e6 < facts["extra_bytes"] < 20e6


def test_what_is_needed_counts_examples_features_and_active_columns():
    problem = make("softmax", "l1/l2", 3)  # 60 x 20
    assert problem.needed_bytes(5) == 60 * 20 * 8 * 1.25 + 8 * 3 * (4 * 60 + 2 * 20)


def test_memory_is_seen():
    base = memory.resident()
    memory.forget_peak()
    big = np.ones(10_000_000)
    assert memory.peak() - base > 0.9 * big.nbytes


def test_cases_of_two_tasks_may_have_the_same_name(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "CACHE", tmp_path)
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    one, two = (Case("same", lambda penalty=penalty: at(X, y, "softmax", penalty, 2)) for penalty in ("l1", "l1/linf"))
    assert run.written("T1", one, "small")[1].penalty == "l1"
    assert run.written("T2", two, "small")[1].penalty == "l1/linf"
    assert run.written("T1", one, "small")[1].penalty == "l1"
