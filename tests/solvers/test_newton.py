"""Newton's method reaches the optimum of the papers' updates, never rises, and its cache is what it says."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from components import LOSSES, NORMS, PENALTIES, LossCase, name
from runs import count_sweeps, full_ensemble, random_problem

from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Features
from sparseboost.losses import Logistic, Loss, PairwiseLogistic, Softmax, Squared
from sparseboost.monitors import Monitor
from sparseboost.penalties import L1, L1L2, NoPenalty, Penalty
from sparseboost.problem import Problem
from sparseboost.solvers import AdaBoost, Boosting, Correction, Goal, GradBoost, gram_cache, minimize
from sparseboost.solvers import newton as newton_module
from sparseboost.solvers import quadratic_model as module
from sparseboost.solvers.constant_gram import ConstantGram
from sparseboost.solvers.newton import Newton
from sparseboost.solvers.quadratic_model import Aim

SMOOTH = [case for case in LOSSES if case.loss.smooth]


@pytest.mark.parametrize("case", SMOOTH, ids=name)
@pytest.mark.parametrize("penalty", [p for p in PENALTIES if not isinstance(p, NoPenalty)], ids=name)
def test_meets_the_papers_updates_at_the_optimum(case: LossCase, penalty: Penalty) -> None:
    for seed in (0, 21, 30):
        problem = random_problem(case, penalty, seed, m=25, n=5)
        newton = minimize(problem, Boosting(Newton()), tol=1e-7)
        assert newton.converged, newton.reason
        if newton.objective < 1e-15:  # a tube of half width 50: nothing that a bound over all scores could move
            continue
        try:
            update = GradBoost() if case.loss.curvature is not None else AdaBoost()
            paper = minimize(problem, Boosting(Correction(update)), tol=1e-7)
        except ValueError:
            continue
        assert abs(newton.objective - paper.objective) <= newton.gap + paper.gap + 1e-12


@pytest.mark.parametrize("case", SMOOTH, ids=name)
@pytest.mark.parametrize("largest", [0, 10**9])
def test_never_rises_on_columns_or_on_the_hessian(
    case: LossCase, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_HESSIAN", largest)
    for seed, penalty in enumerate(NORMS):
        problem = random_problem(case, penalty, seed + 16, m=25, n=5)
        ensemble = full_ensemble(problem)
        score, before = ensemble.score(), problem.driving_objective(ensemble, ensemble.score())
        for _ in range(4):
            found = Newton().run(problem, ensemble, score, Goal(-1.0), Monitor(time_budget=1e-9))
            after = problem.driving_objective(found.ensemble, found.score)
            assert after <= before + 1e-12 * abs(before)
            ensemble, score, before = found.ensemble, found.score, after


def test_products_at_an_old_curvature_are_renewed_before_a_step_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in SMOOTH if isinstance(case.loss, Logistic))
    problem = random_problem(case, L1L2(), 3, m=40, n=5)
    ensemble, newton, given_up, last = full_ensemble(problem), Newton(), [], [np.empty(0)]
    search, step = newton_module._search, module.QuadraticModel.step

    def remembers(model: Any, ensemble: Any, gradient: Any, local: Any) -> Any:
        last[0] = local
        return step(model, ensemble, gradient, local)

    def fails_with_old_products(problem: Problem, start: Any, aim: Any) -> Any:
        if newton._cache.is_old(last[0]):
            given_up.append(True)
            return None
        return search(problem, start, aim)

    monkeypatch.setattr(module.QuadraticModel, "step", remembers)
    monkeypatch.setattr(newton_module, "_search", fails_with_old_products)
    monkeypatch.setattr(gram_cache, "STALE", np.inf)
    found = newton.run(problem, ensemble, ensemble.score(), Goal(1e-9), Monitor())
    assert given_up
    assert not found.stalled
    assert problem.restricted_gap(found.ensemble, found.score) <= 1e-9


@pytest.mark.parametrize("case", SMOOTH, ids=name)
@pytest.mark.parametrize("free", [False, True])
def test_the_gap_of_a_point_is_the_restricted_gap(case: Any, free: bool, rng: np.random.Generator) -> None:
    problem = replace(random_problem(case, L1L2(), 3, m=40, n=5), fit_intercept=free)
    weight = problem.weight * (rng.random(40) < 0.8)
    problem = replace(problem, weight=weight / weight.sum())  # some examples weigh nothing
    ensemble = full_ensemble(problem)
    ensemble = replace(ensemble, coef=0.3 * rng.normal(size=ensemble.coef.shape))
    point = newton_module.look(problem, ensemble, ensemble.score())
    gap, proof = newton_module._gap(problem, point, gradients(problem, point), 0.0)
    expected = problem.restricted_gap(ensemble, point.score)
    assert gap == pytest.approx(expected, rel=1e-9, abs=1e-14)
    if proof is not None:  # what it says of its dual point is true
        assert proof.bound == pytest.approx(point.objective - gap, rel=1e-12)
        pulls = ensemble.columns.correlate(problem.force(proof.dual))
        np.testing.assert_allclose(proof.correlation[: len(pulls)], pulls, atol=1e-12)
        assert proof.violation == problem.penalty.violation(proof.correlation, ensemble.cost).max()
        if free:
            np.testing.assert_allclose(problem.weight @ proof.dual, 0.0, atol=1e-12)


def gradients(problem: Problem, point: Any) -> np.ndarray:
    rows = point.ensemble.columns.correlate(point.force)
    return np.vstack([rows, point.force.sum(axis=0)]) if problem.fit_intercept else rows


@pytest.mark.parametrize("case", SMOOTH, ids=name)
def test_near_the_best_intercept_the_gap_needs_no_other_dual_point(case: Any, rng: np.random.Generator) -> None:
    problem = replace(random_problem(case, L1L2(), 3, m=40, n=5), fit_intercept=True)
    ensemble = full_ensemble(problem)
    solved = Newton().run(problem, ensemble, ensemble.score(), Goal(1e-8), Monitor()).ensemble
    for move in (1e-3, 1e-5):
        moved = replace(solved, intercept=solved.intercept + move * rng.normal(size=solved.intercept.shape))
        point = newton_module.look(problem, moved, moved.score())
        gradient = gradients(problem, point)
        gap, proof = newton_module._gap(problem, point, gradient, np.inf)
        assert proof is None  # that dual point does not respect the intercept
        off = gap - problem.restricted_gap(moved, point.score)
        assert abs(off) <= newton_module.BALANCED * float(np.abs(gradient[-1]).sum())


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), PairwiseLogistic(3)], ids=name)
def test_an_example_far_on_the_wrong_side_does_not_hold_up_the_others(loss: Loss, rng: np.random.Generator) -> None:
    """A column that only one example has, which is 12 on the wrong side, would be moved by 160,000."""
    m, k = 60, 3 if loss.multiclass else 1
    X = np.hstack([rng.normal(size=(m, 3)), np.zeros((m, 1))])
    right = X[:, :1] + 0.5 * rng.normal(size=(m, 1)) > 0.0
    X[0, 3], X[0, 0], right[0] = 1.0, 12.0, False
    y = np.where(right, 0, rng.integers(1, 3, size=(m, 1))) if loss.multiclass else np.where(right, 1.0, -1.0)
    problem = Problem(loss, L1(), 1e-4, Features().bind(X), y, np.full(m, 1.0 / m), False)
    ensemble = replace(full_ensemble(problem), coef=np.eye(4, k) * (np.arange(k) == 0))
    found = Newton().run(problem, ensemble, ensemble.score(), Goal(1e-9), Monitor(time_budget=1e-9))  # one step
    best = minimize(problem, Boosting(Newton()), tol=1e-9)
    assert best.converged
    before = problem.driving_objective(ensemble, ensemble.score())
    after = problem.driving_objective(found.ensemble, found.score)
    assert before - after > 0.5 * (before - best.objective)


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), PairwiseLogistic(3)], ids=name)
@pytest.mark.parametrize("far", [3.0, 40.0])
def test_a_step_that_went_too_far_is_halved_to_the_lowest_and_shows_the_curvature_beyond(
    loss: Loss, far: float
) -> None:
    kind = LossCase(loss, 3, "classes") if loss.multiclass else next(c for c in SMOOTH if c.loss == loss)
    problem = random_problem(kind, L1L2(), 5, m=60, n=4, fraction=0.01)
    ensemble = full_ensemble(problem)
    start = newton_module.look(problem, ensemble, ensemble.score())
    best = minimize(problem, Boosting(Newton()), tol=1e-6).ensemble
    coef = np.zeros_like(ensemble.coef)
    coef[best.keys] = far * best.coef
    push = ensemble.columns.dot(coef)
    found = newton_module._search(problem, start, Aim(coef, ensemble.intercept, push, 10.0 * start.objective))
    assert found is not None
    steps = 0.5 ** np.arange(12)
    values = [
        newton_module.look(problem, replace(ensemble, coef=step * coef), start.score + step * push).objective
        for step in steps
    ]
    lowest = int(np.argmin(values))
    assert lowest > 0
    assert found.objective == values[lowest] < start.objective
    ends = [
        problem.loss.model_curvature(problem.y, start.score + step * push) for step in steps[lowest - 1 : lowest + 1]
    ]
    np.testing.assert_allclose(found.local, 0.5 * (ends[0] + ends[1]))


@pytest.mark.parametrize(("columns", "loss"), [(False, Softmax(3)), (False, PairwiseLogistic(3)), (True, Softmax(3))])
@pytest.mark.parametrize("seed", range(6))
def test_gaps_fall_where_gains_are_lost_in_rounding(
    columns: bool, loss: Loss, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One example far away makes a narrow valley: sweeps creep, and the objective does not show it any more."""
    if columns:
        monkeypatch.setattr(module, "LARGEST_HESSIAN", 0)
    rng, m = np.random.default_rng(seed), 60
    X = np.hstack([rng.normal(size=(m, 3)), np.zeros((m, 1))])
    right = X[:, :1] + 0.5 * rng.normal(size=(m, 1)) > 0.0
    X[0, 3], X[0, 0], right[0] = 1.0, 12.0, False
    y = np.where(right, 0, rng.integers(1, 3, size=(m, 1)))
    problem = Problem(loss, L1(), 1e-4, Features().bind(X), y, np.full(m, 1.0 / m), False)
    found = minimize(problem, Boosting(Newton()), tol=1e-9)
    assert found.converged, (found.reason, found.gap / found.target)


def test_a_round_ends_early_where_others_wait_to_enter() -> None:
    problem = random_problem(LossCase(Softmax(3), 3, "classes"), L1L2(), 0, m=80, n=12, fraction=0.02)
    ensemble = full_ensemble(problem)
    rough, fine = (
        Newton().run(problem, ensemble, ensemble.score(), Goal(1e-12, waiting), Monitor()) for waiting in (True, False)
    )
    left = rough.ensemble, fine.ensemble
    rough_gap, fine_gap = (problem.restricted_gap(found, found.score()) for found in left)
    assert fine_gap <= 1e-12 < rough_gap
    before = problem.driving_objective(ensemble, ensemble.score())
    best = problem.driving_objective(fine.ensemble, fine.score)
    assert problem.driving_objective(rough.ensemble, rough.score) - best <= 0.05 * (before - best)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("entries", [0, 100_000])
def test_an_example_of_weight_two_is_two_examples_on_columns_and_on_the_hessian(
    sparse: bool, entries: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only at the optimum: the same steps lead to the same weights, which are far from it here."""
    monkeypatch.setattr(module, "CHEAP_HESSIAN", entries)
    m, n, k = 40, 12, 3
    X = np.where(rng.random((m, n)) < 0.5, 0.0, rng.normal(size=(m, n)))
    y = np.argmax(X[:, :k] + rng.normal(size=(m, k)), axis=1)[:, None]
    count = rng.integers(1, 7, size=m)
    copies = np.repeat(np.arange(m), count)
    fits = []
    for rows, weight in ((np.arange(m), count / count.sum()), (copies, np.full(copies.size, 1.0 / copies.size))):
        dictionary = Features().bind(sp.csc_array(X[rows]) if sparse else X[rows])
        problem = Problem(Softmax(k), L1L2(), 2e-3, dictionary, y[rows], weight, False)
        fits.append(minimize(problem, Boosting(Newton()), tol=0.1))
    weighted, repeated = fits
    assert weighted.gap > 1e-3
    assert weighted.n_rounds == repeated.n_rounds
    np.testing.assert_array_equal(weighted.ensemble.keys, repeated.ensemble.keys)
    np.testing.assert_allclose(weighted.ensemble.coef, repeated.ensemble.coef, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", [3, 7, 10, 17])
def test_no_more_enter_than_are_allowed_though_others_have_lost_their_weight(seed: int) -> None:
    rng, m = np.random.default_rng(seed), 60
    hidden = rng.normal(size=(m, 6))
    X = hidden @ rng.normal(size=(6, 40)) + 0.3 * rng.normal(size=(m, 40))
    y = np.sign(hidden[:, :1] + 0.3 * rng.normal(size=(m, 1)))
    problem = Problem(Logistic(), L1(), 2e-3, Features().bind(X), y, np.full(m, 1.0 / m), False)
    by_three = minimize(problem, Boosting(Newton(), induce=3), tol=1e-6)
    assert by_three.converged
    assert any(record["pruned"] for record in by_three.history)
    assert max(record["added"] for record in by_three.history) <= 3
    few = minimize(problem, Boosting(Newton(), max_inputs=8), tol=1e-6)
    assert max(record["active"] for record in few.history) == 8


@pytest.mark.parametrize("creeping", [False, True])
def test_while_others_wait_columns_are_swept_unless_that_takes_long(
    creeping: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small problems choose by what sweeps did, not by the number of examples."""
    problem = random_problem(LossCase(Logistic(), 1, "signs"), L1(), 0, m=150, n=130, fraction=0.01)
    monkeypatch.setattr(module, "ROUGH_HESSIAN", 100)
    monkeypatch.setattr(module, "ROUGH_SWEEPS", 1 if creeping else 1000)
    swept: list[str] = []
    descend = module.kernels.descent.descend

    def watched(columns, *rest):
        swept.append("hessian" if columns is None else "columns")
        return descend(columns, *rest)

    monkeypatch.setattr(module.kernels.descent, "descend", watched)
    newton, ensemble = Newton(), full_ensemble(problem)
    rough = newton.run(problem, ensemble, ensemble.score(), Goal(1e-6, True), Monitor())
    assert swept[0] == "columns"
    assert ("hessian" in swept) == creeping
    swept.clear()
    fine = newton.run(problem, rough.ensemble, rough.score, Goal(1e-9), Monitor())
    assert set(swept) == {"hessian"}
    assert problem.restricted_gap(fine.ensemble, fine.score) <= 1e-9


# -- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("without", [None, "weight", "curvature"])
def test_a_step_moves_the_scores_as_its_weights_say(
    sparse: bool, free: bool, k: int, without: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of examples without weight or curvature, of which sweeps say nothing."""
    problem = random_problem(LossCase(Logistic(), k, "signs"), L1L2(), sparse + 16 * free, m=60, n=6)
    weight = problem.weight.copy()
    weight[3] *= without != "weight"
    problem = replace(problem, weight=weight)
    ensemble = full_ensemble(problem)
    point = newton_module.look(problem, ensemble, ensemble.score())
    local = point.local.copy()
    local[5] *= without != "curvature"
    monkeypatch.setattr(module.QuadraticModel, "_worth_a_hessian", lambda *_: False)
    model = module.QuadraticModel(problem, ensemble, gram_cache.GramCache(), ConstantGram())
    aim = model.step(ensemble, model.gradient(point.force), local)
    change, moved = aim.coef - ensemble.coef, aim.intercept - ensemble.intercept
    assert np.any(change != 0.0)
    assert np.any(moved != 0.0) == free
    np.testing.assert_allclose(aim.push, ensemble.columns.matrix @ change + moved, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("free", [False, True])
def test_one_matrix_for_all_outputs_gives_the_step_of_one_for_each(free: bool) -> None:
    problem = random_problem(LossCase(Logistic(), 3, "signs"), L1L2(), 3, m=60, n=6)
    problem = replace(problem, fit_intercept=free)
    ensemble = full_ensemble(problem)
    ensemble = replace(ensemble, coef=np.zeros_like(ensemble.coef), intercept=ensemble.intercept + 0.3 * free)
    point = newton_module.look(problem, ensemble, ensemble.score())
    alike = np.repeat(np.array([[0.25, 0.1, 0.2]]), 60, axis=0)
    nearly = alike.copy()
    nearly[0] *= 1.0 + 1e-12
    assert gram_cache.uniform(alike)
    assert not gram_cache.uniform(nearly)
    aims = []
    for local in (alike, nearly):
        model = module.QuadraticModel(problem, ensemble, gram_cache.GramCache(), ConstantGram())
        aims.append(model.step(ensemble, model.gradient(point.force), local))
    assert np.any(aims[0].coef != 0.0)
    np.testing.assert_allclose(aims[0].coef, aims[1].coef, atol=1e-7 * np.abs(aims[1].coef).max())
    np.testing.assert_allclose(aims[0].intercept, aims[1].intercept, atol=1e-7)
    assert aims[0].promise == pytest.approx(aims[1].promise, rel=1e-7)


@pytest.mark.parametrize("loss", [Logistic(), Squared()], ids=repr)
def test_a_bend_is_half_of_what_the_curvature_adds_to_the_tangent(loss: Loss) -> None:
    problem = random_problem(LossCase(loss, 2, "signs"), L1(), 5, m=40, n=4)
    rng, small = np.random.default_rng(0), 1e-3
    score, push = 0.1 * rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    bend = newton_module._bend(problem, newton_module.look(problem, full_ensemble(problem), score), small, push)
    low, high = (problem.mean_loss(loss, score + t * push) for t in (-small, small))
    assert 2.0 * bend == pytest.approx(0.5 * (low + high) - problem.mean_loss(loss, score), rel=1e-3)


def test_nothing_is_said_of_a_bend_where_outputs_depend_on_each_other() -> None:
    problem = random_problem(LossCase(Softmax(3), 3, "classes"), L1(), 5, m=40, n=4)
    point = newton_module.look(problem, full_ensemble(problem), np.zeros((40, 3)))
    assert newton_module._bend(problem, point, 1.0, np.ones((40, 3))) == 0.0


@pytest.mark.parametrize(
    ("share", "tries", "doubles"), [(1.0 / 1.2, False, False), (1.0 / 1.4, True, False), (0.3, True, True)]
)
def test_steps_are_doubled_where_that_can_help(
    share: float, tries: bool, doubles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 1))
    y = np.sign(0.3 * x + rng.normal(size=(200, 1)))
    problem = Problem(Logistic(), NoPenalty(), 0.0, Features().bind(x), y, np.full(200, 1.0 / 200), False)
    best = minimize(problem, Boosting(Newton()), tol=1e-10).ensemble
    empty = replace(best, coef=np.zeros((1, 1)))
    looks = []
    look = newton_module.look
    monkeypatch.setattr(newton_module, "look", lambda *given: looks.append(1) or look(*given))
    coef = share * best.coef
    aim = Aim(coef, best.intercept, x @ coef, 1e-6)
    found = newton_module._search(problem, look(problem, empty, np.zeros((200, 1))), aim)
    assert (len(looks) > 1) == tries
    assert np.array_equal(found.ensemble.coef, coef) == (not doubles)
    np.testing.assert_allclose(found.score, x @ found.ensemble.coef, atol=1e-12)
    ahead = problem.driving_objective(found.ensemble, found.score)
    assert (ahead < problem.driving_objective(replace(best, coef=coef), x @ coef)) == doubles
    assert ahead == pytest.approx(found.objective)


# -- how much a round takes in, and how far it goes ---------------------------------------------------------------


def wide_problem(n: int, k: int = 1, *, sparse: bool = False, m: int = 20) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    X = sp.csc_matrix(np.where(rng.random((m, n)) < 0.2, X, 0.0)) if sparse else X
    y = rng.integers(0, k, size=(m, 1)) if k > 1 else np.sign(rng.normal(size=(m, 1)))
    return Problem(Softmax(k) if k > 1 else Logistic(), L1(), 0.01, Features().bind(X), y, np.full(m, 1.0 / m), False)


def test_a_first_round_leaves_no_few_behind() -> None:
    assert Newton().appetite(wide_problem(110)) == 110
    assert Newton().appetite(wide_problem(110), pull=2.0) == 110
    assert Newton().appetite(wide_problem(600), pull=2.0) == 100
    assert Newton().appetite(wide_problem(600, k=40), pull=2.0) == 50


def test_a_first_round_takes_in_more_dense_columns_where_the_pull_is_strong() -> None:
    assert Newton().appetite(wide_problem(600), pull=4.0) == 100
    assert Newton().appetite(wide_problem(600), pull=10.0) == 120  # a fifth of all
    assert Newton().appetite(wide_problem(600), pull=1000.0) == 400
    assert Newton().appetite(wide_problem(600, sparse=True), pull=1000.0) == 100
    assert Newton().appetite(wide_problem(600, k=3), pull=1000.0) == 100


def test_a_round_goes_further_where_a_search_costs_more_than_a_step() -> None:
    for sparse in (False, True):
        problem = wide_problem(200, sparse=sparse)
        empty = Ensemble.empty(problem.dictionary, problem.start)
        few, many = (empty.extend(problem.dictionary, np.arange(n)) for n in (5, 100))
        assert Newton().leaves(problem, few) < Newton().leaves(problem, many)
    some, more = (wide_problem(20, k=8, m=m) for m in (700, 2000))
    hundred = Ensemble.empty(some.dictionary, some.start).extend(some.dictionary, np.arange(100) % 20)
    assert Newton().leaves(more, hundred) < Newton().leaves(some, hundred)


@pytest.mark.parametrize("seed", range(4))
def test_an_example_of_weight_25_is_25_examples_though_others_wait_to_enter(seed: int) -> None:
    rng, m, k = np.random.default_rng(seed), 60, 3
    X = rng.normal(size=(m, 300))
    X[:, 100:] *= 0.3
    y, fits = np.argmax(X[:, :k] + rng.normal(size=(m, k)), axis=1)[:, None], []
    for rows in (np.arange(m), np.repeat(np.arange(m), 25)):
        weight = np.full(rows.size, 1.0 / rows.size)
        problem = Problem(Softmax(k), L1L2(), 2e-2, Features().bind(X[rows]), y[rows], weight, False)
        fits.append(minimize(problem, Boosting(Newton()), tol=0.05))
    assert fits[0].n_rounds == fits[1].n_rounds
    assert fits[0].objective == pytest.approx(fits[1].objective, rel=1e-8)


@pytest.mark.parametrize("n", [8, 300])
def test_nobody_waits_where_all_have_entered(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, goals, run = wide_problem(n), [], Newton.run
    monkeypatch.setattr(Newton, "run", lambda self, *args: goals.append(args[3]) or run(self, *args))
    found = minimize(problem, Boosting(Newton()), tol=1e-6)
    assert found.converged
    assert goals[0].waiting == (n == 300)


@pytest.mark.parametrize("case", SMOOTH, ids=name)
def test_sweeps_on_a_hessian_end_when_the_rows_are_good_enough(
    case: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = replace(random_problem(case, L1L2(), 4, m=60, n=8), alpha=1e-3)
    ensemble = full_ensemble(problem)
    point = newton_module.look(problem, ensemble, ensemble.score())
    sweeps = count_sweeps(monkeypatch)

    def solved(wanted: float) -> tuple[int, float]:
        sweeps.clear()
        model = module.QuadraticModel(problem, ensemble, gram_cache.GramCache(), ConstantGram())
        model.care, model.wanted = 1e-6, wanted
        promise = model.step(ensemble, model.gradient(point.force), point.local).promise
        return sum(sweeps), promise

    many, best = solved(0.0)
    few, good = solved(np.inf)
    assert few < many or best < 1e-15  # a tube of half width 50: nothing moves
    assert 0.9 * best <= good <= best * (1.0 + 1e-12)


def test_few_arrays_of_examples_times_outputs_are_held_at_a_time() -> None:
    """Old and new scores, their change, gradient and curvature; where labels are many, little else takes memory."""
    rng = np.random.default_rng(0)
    m, k = 3000, 60
    X = sp.csc_array(np.where(rng.random((m, 300)) < 0.02, 1.0, 0.0))
    y = np.where(rng.random((m, k)) < 0.3 + 0.4 * X[:, [0]].toarray(), 1.0, -1.0)
    problem = Problem(Logistic(), L1L2(), 1e-3, Features().bind(X), y, np.full(m, 1 / m))
    minimize(problem, Boosting(Newton()), tol=1e-3)  # compiles
    tracemalloc.start()
    found = minimize(problem, Boosting(Newton()), tol=1e-3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n_rounds > 1
    assert peak < 7.0 * y.nbytes  # beside the target, which was there before
