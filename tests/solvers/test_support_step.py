"""Steps on the support: exact where the objective is quadratic there, and the end of creeping."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from components import name
from runs import count_sweeps

from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Context, Features
from sparseboost.losses import Logistic, Loss, Softmax, Squared
from sparseboost.monitors import Monitor
from sparseboost.penalties import L1, L1L2, L1Linf, Norm
from sparseboost.problem import Problem
from sparseboost.solvers import Boosting, Goal, minimize
from sparseboost.solvers import newton as newton_module
from sparseboost.solvers.newton import Newton, look
from sparseboost.solvers.support_equations import apart, support_change
from sparseboost.solvers.support_step import support_cost, support_step

APART = [(L1(), 3), (L1(), 1), (L1L2(), 1), (L1Linf(), 1), (L1(positive=True), 2)]


def question(
    loss: Loss, penalty: Norm, k: int, free: bool, sparse: bool = False, alpha: float = 0.05, likeness: float = 0.0
) -> Problem:
    rng = np.random.default_rng(5)
    X = likeness * rng.normal(size=(80, 1)) + rng.normal(size=(80, 12))
    X[rng.random(X.shape) < 0.3] = 0.0
    y = X[:, :4] @ rng.uniform(0.2, 1.0, size=(4, k)) + rng.normal(size=(80, k))
    if isinstance(loss, Logistic):
        y = np.where(y > np.median(y, axis=0), 1.0, -1.0)
    weight = rng.uniform(0.2, 1.0, 80)
    context = Context(feature_costs=rng.uniform(0.5, 2.0, 12))
    dictionary = Features().bind(sp.csc_array(X) if sparse else np.asfortranarray(X), context)
    return Problem(loss, penalty, alpha, dictionary, y, weight / weight.sum(), free)


def optimum(problem: Problem) -> Ensemble:
    found = minimize(problem, Boosting(Newton()), tol=1e-11)
    assert found.converged
    return found.ensemble


def step_from(problem: Problem, ensemble: Ensemble) -> Any:
    point = look(problem, ensemble, ensemble.score())
    gradient = ensemble.columns.correlate(point.force)
    if problem.fit_intercept:
        gradient = np.vstack([gradient, point.force.sum(axis=0)])
    return point, support_step(problem, ensemble, gradient, point.local)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(("penalty", "k"), [*APART, (L1Linf(), 3)], ids=str)
def test_one_step_solves_least_squares_on_the_right_support(
    penalty: Norm, k: int, free: bool, sparse: bool, rng: np.random.Generator
) -> None:
    problem = question(Squared(), penalty, k, free, sparse)
    best = optimum(problem)
    # entries of a row that are its largest move together; the others stay below them
    largest = np.abs(best.coef) == np.abs(best.coef).max(axis=1, keepdims=True)
    scale = rng.uniform(0.5, 2.0, best.coef.shape)
    if not apart(penalty, k):
        scale = scale[:, :1] * np.where(largest, 1.0, rng.uniform(0.5, 1.0, best.coef.shape))
    away = replace(best, coef=best.coef * scale, intercept=best.intercept + 0.3 * free)
    point, aim = step_from(problem, away)
    np.testing.assert_allclose(aim.coef, best.coef, atol=1e-6)
    np.testing.assert_allclose(aim.intercept, best.intercept, atol=1e-6)
    np.testing.assert_allclose(aim.push, replace(best, coef=aim.coef, intercept=aim.intercept).score() - point.score)
    reached = problem.objective(replace(away, coef=aim.coef, intercept=aim.intercept), point.score + aim.push)
    assert point.objective - reached == pytest.approx(aim.promise, rel=1e-9)  # the model is the objective


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=name)
def test_rows_come_quadratically_closer(loss: Loss, free: bool, sparse: bool, rng: np.random.Generator) -> None:
    problem = question(loss, L1L2(), 3, free, sparse, alpha=0.02)
    best = optimum(problem)
    for error in (1e-2, 1e-3):
        away = replace(best, coef=best.coef * (1.0 + error * rng.normal(size=best.coef.shape)))
        _, aim = step_from(problem, away)
        assert aim.promise > 0.0
        assert np.abs(aim.coef - best.coef).max() < 30.0 * error * error + 1e-6


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("penalty", [L1L2(), L1Linf()], ids=str)
def test_one_matrix_serves_all_outputs(penalty: Norm, free: bool, rng: np.random.Generator) -> None:
    columns = np.hstack([rng.normal(size=(40, 6)), np.ones((40, 1))])[:, : 6 + free]
    gram, coef, strength = columns.T @ columns / 40, rng.normal(size=(6, 3)), rng.uniform(0.01, 0.02, 6)
    coef[2] = 0.0
    gradient = 0.01 * rng.normal(size=(6 + free, 3))

    def hessians(rows: np.ndarray, count: int) -> np.ndarray:
        every = np.append(rows, [6]) if free else rows
        return np.stack([gram[np.ix_(every, every)]] * count)

    one, each = (
        support_change(penalty, lambda rows, _, n=n: hessians(rows, n), coef, strength, gradient, free) for n in (1, 3)
    )
    assert one is not None
    assert np.any(one != 0.0)
    np.testing.assert_allclose(one, each, atol=1e-12)


def test_entries_that_would_become_the_largest_of_their_row_are_tied_to_it() -> None:
    problem = question(Squared(), L1Linf(), 3, True, alpha=0.05)
    best = optimum(problem)
    largest = np.abs(best.coef) == np.abs(best.coef).max(axis=1, keepdims=True)
    row = np.argmax((largest.sum(axis=1) > 1) * np.abs(best.coef).max(axis=1))
    one, *others = np.flatnonzero(largest[row])
    coef = best.coef.copy()
    coef[row, others] *= 0.99  # they do not know that they belong to the largest
    assert others
    point, aim = step_from(problem, replace(best, coef=coef))
    np.testing.assert_allclose(np.abs(aim.coef[row, others]), np.abs(aim.coef[row, one]), rtol=1e-12)
    np.testing.assert_array_less(np.abs(aim.coef[row]), np.abs(aim.coef[row, one]) * (1.0 + 1e-12))
    reached = replace(best, coef=aim.coef, intercept=aim.intercept)
    gained = point.objective - problem.objective(reached, reached.score())
    assert aim.promise == pytest.approx(gained, rel=1e-9)  # the model's penalty is the true one
    assert gained > 0.9 * (point.objective - problem.objective(best, best.score()))


@pytest.mark.parametrize(("penalty", "k"), [*APART, (L1L2(), 3), (L1Linf(), 3)], ids=str)
def test_what_would_turn_back_becomes_zero(penalty: Norm, k: int) -> None:
    problem = question(Squared(), penalty, k, True, alpha=0.2)
    best = optimum(problem)
    everyone = Ensemble.empty(problem.dictionary, problem.start).extend(problem.dictionary, np.arange(12))
    coef = np.full((12, k), 0.1)
    coef[best.keys] += best.coef
    _, aim = step_from(problem, replace(everyone, coef=coef))
    assert aim.promise > 0.0
    assert np.count_nonzero(aim.coef) < np.count_nonzero(coef)
    kept = aim.coef != 0.0
    if isinstance(penalty, L1L2):
        assert np.all((aim.coef * coef).sum(axis=1)[kept.any(axis=1)] > 0.0)
    elif apart(penalty, k):
        assert np.all(aim.coef[kept] * coef[kept] > 0.0)


@pytest.mark.parametrize(("penalty", "k"), [(L1(), 2), (L1L2(), 2), (L1Linf(), 2)], ids=str)
def test_nothing_is_promised_where_every_weight_would_turn_back(penalty: Norm, k: int) -> None:
    problem = question(Squared(), penalty, k, False, alpha=50.0)
    ensemble = Ensemble.empty(problem.dictionary, problem.start).extend(problem.dictionary, np.arange(3))
    _, aim = step_from(problem, replace(ensemble, coef=np.full((3, k), 5.0)))
    assert aim is None


def test_costs_nothing_can_pay_where_outputs_are_bound_together(monkeypatch: pytest.MonkeyPatch) -> None:
    every = [(Softmax(3), L1L2(), np.zeros((80, 1))), (Squared(), L1Linf(), None), (Squared(), L1L2(), None)]
    costs = []
    for loss, penalty, y in every:
        problem = question(Squared(), penalty, 3, True)
        problem = replace(problem, loss=loss, y=problem.y if y is None else y)
        ensemble = Ensemble.empty(problem.dictionary, np.zeros(3)).extend(problem.dictionary, np.arange(4))
        costs.append(support_cost(problem, replace(ensemble, coef=np.ones((4, 3)))))
    assert costs[0] == np.inf
    assert np.all(np.isfinite(costs[1:]))
    for bounded in (L1L2(positive=True), L1Linf(positive=True)):
        assert support_cost(replace(problem, penalty=bounded), replace(ensemble, coef=np.ones((4, 3)))) == np.inf
    monkeypatch.setattr("sparseboost.solvers.support_step.LARGEST_COPY", 4 * 80 - 1)
    assert support_cost(problem, replace(ensemble, coef=np.ones((4, 3)))) == np.inf


@pytest.mark.parametrize(("penalty", "k"), [(L1(), 3), (L1L2(), 1), (L1L2(), 3), (L1Linf(), 3)], ids=str)
def test_columns_much_alike_take_fewer_sweeps(penalty: Norm, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = question(Logistic(), penalty, k, True, alpha=1e-3, likeness=30.0)
    ensemble = Ensemble.empty(problem.dictionary, problem.start).extend(problem.dictionary, np.arange(12))
    monkeypatch.setattr("sparseboost.solvers.gram_cache.SINGLE", 0)  # as in a large problem
    monkeypatch.setattr("sparseboost.solvers.quadratic_model.LARGEST_HESSIAN", 0)  # only sweeps over columns
    sweeps = count_sweeps(monkeypatch)

    def taken(rent: float) -> int:
        sweeps.clear()
        monkeypatch.setattr(newton_module, "RENT", rent)
        score, newton = ensemble.score(), Newton()
        state = ensemble
        for _ in range(50):
            found = newton.run(problem, state, score, Goal(1e-9), Monitor())
            state, score = found.ensemble, found.score
            if problem.restricted_gap(state, score) <= 1e-9:
                return sum(sweeps)
        return 10**9

    few, many = taken(0.0), taken(np.inf)
    assert few < 0.9 * many, (few, many)


@pytest.mark.parametrize("helps", [True, False])
def test_steps_come_sooner_where_they_help_and_later_where_they_do_not(
    helps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = question(Logistic(), L1L2(), 3, True, alpha=1e-3)
    ensemble = Ensemble.empty(problem.dictionary, problem.start).extend(problem.dictionary, np.arange(12))
    point = look(problem, replace(ensemble, coef=np.full((12, 3), 0.1)), np.zeros((80, 3)))
    monkeypatch.setattr("sparseboost.solvers.gram_cache.SINGLE", 0)  # as in a large problem
    monkeypatch.setattr(newton_module, "support_step", lambda *given: helps or None)
    monkeypatch.setattr(newton_module, "_search", lambda *given: point)
    newton = Newton()
    for expected in (1.0, 0.5, 0.25, 0.25) if helps else (4.0, 8.0, 16.0):
        newton._spent = 1e12
        newton._on_support(problem, point, np.zeros((13, 3)))
        assert newton._rent == expected
        assert newton._spent == 0.0
