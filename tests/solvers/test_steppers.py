"""Laws of the two ways in which a path moves its weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from runs import count_sweeps

from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Context, Features
from sparseboost.losses import Logistic, Squared
from sparseboost.monitors import Monitor
from sparseboost.penalties import L1, L1L2, L1Linf
from sparseboost.problem import Problem
from sparseboost.solvers import Newton
from sparseboost.solvers.newton_stepper import NewtonStepper
from sparseboost.solvers.product_stepper import ProductStepper
from sparseboost.solvers.stepper import Weights, foreseen

PENALTIES = [L1(), L1(positive=True), L1L2(), L1Linf()]


def question(penalty, k=2, sparse=False, free=True, seed=0, alpha=0.05, loss=None):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((40, 12)) < 0.5, rng.normal(size=(40, 12)) + 1.0, 0.0)
    y = X[:, :3] @ rng.normal(size=(3, k)) + 0.3 * rng.normal(size=(40, k)) + 2.0
    y = np.where(y > np.median(y, axis=0), 1.0, -1.0) if loss is not None else y
    weight = rng.uniform(0.2, 1.0, 40)
    dictionary = Features().bind(sp.csc_array(X) if sparse else X, Context(feature_costs=rng.uniform(0.5, 2.0, 12)))
    return Problem(loss or Squared(), penalty, alpha, dictionary, y, weight / weight.sum(), free)


def ensemble_of(problem, keys, weights):
    coef = np.zeros((keys.size, problem.n_outputs))
    coef[: len(weights.coef)] = weights.coef
    empty = Ensemble.empty(problem.dictionary, problem.start).extend(problem.dictionary, keys)
    return replace(empty, coef=coef, intercept=weights.intercept)


def nothing(problem):
    return Weights(np.zeros((0, problem.n_outputs)), problem.start)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_products_alone_reach_the_gap_that_the_examples_confirm(penalty, sparse, free):
    problem = question(penalty, sparse=sparse, free=free)
    stepper, weights = ProductStepper(problem), nothing(problem)
    for keys in ([3, 0, 7], [1, 11], [2, 4, 5, 6]):  # columns come in one after another
        stepper.enter(problem, np.array(keys))
        weights, stalled = stepper.solve(problem, [weights], 1e-9, Monitor())
        found = ensemble_of(problem, stepper.keys, weights)
        assert not stalled
        assert problem.restricted_gap(found, found.score()) <= 1.1e-9
        np.testing.assert_allclose(stepper.scores(problem, [weights])[0], found.score(), atol=1e-12)
        gradient = problem.force(problem.dual_point(found.score()))
        np.testing.assert_allclose(weights.slope, found.columns.correlate(gradient), atol=1e-12)
        np.testing.assert_allclose(stepper.correlate(gradient), weights.slope, atol=1e-12)
        gap, objective = stepper._gap(problem, weights.coef, weights.slope)
        assert objective == pytest.approx(problem.objective(found, found.score()), rel=1e-12)
        assert gap == pytest.approx(problem.restricted_gap(found, found.score()), abs=1e-12)


@pytest.mark.parametrize("penalty", [L1(), L1L2(), L1Linf()], ids=repr)
@pytest.mark.parametrize("free", [False, True])
def test_columns_much_alike_take_fewer_sweeps_along_a_path(penalty, free, monkeypatch):
    rng = np.random.default_rng(3)
    X = np.asfortranarray(10.0 * rng.normal(size=(60, 2)) @ rng.normal(size=(2, 30)) + rng.normal(size=(60, 30)))
    y = X @ rng.normal(size=(30, 3)) + rng.normal(size=(60, 3))
    problem = Problem(Squared(), penalty, 1e-3, Features().bind(X, Context()), y, np.full(60, 1 / 60), free)
    sweeps = count_sweeps(monkeypatch)

    def taken(rent):
        sweeps.clear()
        monkeypatch.setattr("sparseboost.solvers.product_stepper.RENT", rent)
        stepper = ProductStepper(problem)
        stepper.enter(problem, np.arange(30))
        weights, _ = stepper.solve(problem, [nothing(problem)], 1e-6, Monitor())
        found = ensemble_of(problem, stepper.keys, weights)
        force = problem.force(problem.dual_point(found.score()))
        np.testing.assert_allclose(stepper.correlate(force), weights.slope, atol=1e-9)
        return sum(sweeps), problem.restricted_gap(found, found.score())

    (few, gap), (many, _) = taken(0.0), taken(np.inf)
    assert gap <= 1.1e-6
    assert few < 0.1 * many, (few, many)


def test_products_stop_where_rounding_hides_the_rest():
    problem = question(L1())
    stepper = ProductStepper(problem)
    stepper.enter(problem, np.arange(12))
    weights, stalled = stepper.solve(problem, [nothing(problem)], 0.0, Monitor())
    found = ensemble_of(problem, stepper.keys, weights)
    assert stalled
    assert problem.restricted_gap(found, found.score()) <= 1e-13


@pytest.mark.parametrize("make", [ProductStepper, lambda p: NewtonStepper(p, Newton(), np.empty(0, np.int64))])
def test_the_better_start_is_taken(make):
    problem = question(L1())
    stepper = make(problem)
    stepper.enter(problem, np.arange(12))
    solved, _ = stepper.solve(problem, [nothing(problem)], 1e-11, Monitor())
    bad = Weights(np.full((12, 2), 50.0), problem.start)
    for starts in ([bad, solved], [solved, bad]):
        again, _ = stepper.solve(problem, starts, 1e-3, Monitor())
        np.testing.assert_allclose(again.coef, solved.coef, atol=1e-5)


def test_many_products_or_long_lines_of_them_are_left_to_newton(monkeypatch):
    problem = question(L1(), sparse=True)
    stepper = ProductStepper(problem)
    stepper.enter(problem, np.arange(6))
    assert stepper.takes(problem, 6)
    assert not stepper.takes(problem, 4000)
    monkeypatch.setattr("sparseboost.solvers.product_stepper.CHEAP_HESSIAN", 0)
    length = problem.dictionary.columns(np.arange(6)).matrix.nnz / 6
    assert stepper.takes(problem, int(5 * length) - 6)
    assert not stepper.takes(problem, int(5 * length) - 4)


def test_newton_drops_idle_hypotheses_from_all_weights():
    problem = question(L1(), loss=Logistic())
    stepper = NewtonStepper(problem, Newton(), np.arange(6))
    earlier = Weights(np.arange(8.0).reshape(4, 2), problem.start)
    last = Weights(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), problem.start)
    earlier, last = stepper.tidy([earlier, last])
    np.testing.assert_array_equal(stepper.keys, [0, 2])
    np.testing.assert_array_equal(earlier.coef, [[0.0, 1.0], [4.0, 5.0]])
    np.testing.assert_array_equal(last.coef, [[1.0, 0.0], [0.0, 2.0]])


def test_weights_are_foreseen_along_a_line_without_new_rows_or_other_signs():
    earlier = Weights(np.array([[1.0], [2.0], [3.0]]), np.array([1.0]))
    last = Weights(np.array([[2.0], [0.5], [0.0], [1.0]]), np.array([0.0]))
    ahead = foreseen(earlier, last, 0.5)
    np.testing.assert_allclose(ahead.coef, [[2.5], [0.0], [0.0], [1.5]])
    np.testing.assert_allclose(ahead.intercept, [-0.5])


def test_products_of_nothing_correlate_with_nothing():
    problem = question(L1())
    assert ProductStepper(problem).correlate(np.ones((40, 4))).shape == (0, 4)


@pytest.mark.parametrize("free", [False, True])
def test_newton_keeps_what_was_foreseen_if_it_is_good_enough(free, monkeypatch):
    problem = question(L1L2(), loss=Logistic(), free=free)
    stepper = NewtonStepper(problem, Newton(), np.arange(12))
    good, _ = stepper.solve(problem, [nothing(problem)], 1e-6, Monitor())
    plain = Weights(good.coef, good.intercept)  # as what is foreseen comes: nothing is known of it but the weights
    improve, steps = Newton.improve, []
    monkeypatch.setattr(Newton, "improve", lambda *given: (steps.append(given), improve(*given))[1])
    kept, stalled = stepper.solve(problem, [nothing(problem), plain], 2e-6, Monitor())
    assert not steps
    assert not stalled
    np.testing.assert_array_equal(kept.coef, good.coef)
    np.testing.assert_allclose(kept.slope, good.slope, atol=1e-12)
    np.testing.assert_allclose(kept.force, good.force, atol=1e-14)
    assert kept.loss == pytest.approx(good.loss, rel=1e-14)
    stepper.solve(problem, [nothing(problem), plain], 1e-9, Monitor())
    assert len(steps) == 1  # not good enough
    stepper.solve(problem, [kept], 2e-6, Monitor())
    assert len(steps) == 2  # a repair moves, whatever the active hypotheses say
