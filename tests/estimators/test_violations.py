"""Dual norms along a path: exact where they matter, a bound elsewhere, for every penalty and kind of data."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from sparseboost.estimators.violations import Seen, Violations
from sparseboost.estimators.walk import Sequential
from sparseboost.hypotheses import Features, features
from sparseboost.losses import Squared
from sparseboost.monitors import Monitor
from sparseboost.penalties import L1, L1L2, L1Linf
from sparseboost.problem import Problem, Proof
from sparseboost.solvers import Boosting, Newton, induction
from sparseboost.solvers.newton_stepper import NewtonStepper
from sparseboost.solvers.product_stepper import ProductStepper
from sparseboost.solvers.stepper import Weights

M, N, K = 60, 200, 3
PENALTIES = [L1(), L1L2(), L1Linf(), L1(positive=True), L1L2(positive=True), L1Linf(positive=True)]


def question(penalty, sparse, rng, k=K):
    X = rng.normal(size=(M, N)) * rng.exponential(size=N) ** 2  # columns of very different lengths
    X[rng.random(size=X.shape) < 0.5] = 0.0
    dictionary = Features().bind(sp.csc_array(X) if sparse else np.asfortranarray(X))
    weight = rng.exponential(size=M)
    return Problem(Squared(), penalty, 0.1, dictionary, rng.normal(size=(M, k)), weight / weight.sum()), X


@pytest.mark.parametrize("kind", ["sparse", "dense", "outlined"])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_no_dual_norm_is_above_its_bound_and_those_above_the_level_are_exact(penalty, kind, rng, monkeypatch):
    monkeypatch.setattr(features, "LEAST_OUTLINED", 0 if kind == "outlined" else np.inf)
    problem, X = question(penalty, kind == "sparse", rng)
    violations = Violations(problem)
    violations.cost = rng.uniform(0.5, 2.0, size=N)
    stepper = NewtonStepper(problem, Newton(), np.array([3, 50]))
    force = rng.normal(size=(M, K)) / M
    before = violations.everywhere(problem, [force, 2.0 * force])
    exact = penalty.dual_norm(X.T @ force) / violations.cost
    np.testing.assert_allclose(before[0].violation, exact, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(before[1].violation, 2.0 * exact, rtol=1e-12, atol=1e-300)
    level, left_out = np.quantile(exact, 0.9), 0
    problems = [replace(problem, alpha=level)] * 3
    known = tuple(before)
    for move in (1e-3, 0.03, 0.1, 10.0):
        forces = [(1.0 - move) * force + move * rng.normal(size=(M, K)) / M for _ in problems]
        slopes = [X[:, [3, 50]].T @ moved if move < 0.05 else None for moved in forces]
        seen = violations.since(problems, forces, [known] * 3, stepper, slopes)
        again = violations.since(problems, forces, [(one,) for one in seen], stepper, slopes)  # as in a repair
        for one, moved in zip([*seen, *again], [*forces, *forces], strict=True):
            true = penalty.violation(X.T @ moved, violations.cost)
            assert np.all(one.violation >= true - 1e-12 * violations._lengths)
            off = penalty.violation(-np.abs(X.T @ moved - one.centre), violations.cost)
            assert np.all(off <= one.off + 1e-12 * violations._lengths)
            looked = np.append(np.flatnonzero(one.violation > level), [3, 50])
            np.testing.assert_allclose(one.violation[looked], true[looked], rtol=1e-10)
            left_out += np.count_nonzero(one.violation > true * (1.0 + 1e-9))
            assert one.force is moved
        known, force = (seen[-1], known[0]), forces[-1]
    assert left_out > N  # most are not looked at while forces move little


@pytest.mark.parametrize("k", [1, K])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_forces_on_a_plane_are_known_without_a_look(penalty, k, rng, monkeypatch):
    problem, X = question(penalty, True, rng, k=k)
    violations, stepper = Violations(problem), NewtonStepper(problem, Newton(), np.array([0]))
    first, second = rng.normal(size=(2, M, k))
    known = tuple(violations.everywhere(problem, [first, second]))
    monkeypatch.setattr(problem.dictionary, "correlate", lambda force: pytest.fail("a pass over all columns"))
    looked, some = [], problem.dictionary.correlate_some
    monkeypatch.setattr(
        problem.dictionary, "correlate_some", lambda keys, force: looked.append(keys.size) or some(keys, force)
    )
    forces = [2.0 * first - second, 0.25 * first + 0.75 * second, 1.5 * first - 0.5 * second]
    seen = violations.since([replace(problem, alpha=1e6)] * 3, forces, [known] * 3, stepper, [None] * 3)
    for one, force in zip(seen, forces, strict=True):
        blur = 1e-9 * violations._lengths.max()
        np.testing.assert_allclose(one.centre, X.T @ force, atol=blur)
        np.testing.assert_allclose(one.violation, penalty.violation(X.T @ force, violations.cost), atol=blur)
    assert sum(looked) == 0


def test_a_force_that_only_shrinks_needs_no_look(rng, monkeypatch):
    problem, _ = question(L1L2(), True, rng)
    violations, stepper = Violations(problem), NewtonStepper(problem, Newton(), np.array([0]))
    force = rng.normal(size=(M, K))
    before = violations.everywhere(problem, [force])
    looked = []
    dictionary = problem.dictionary
    some = dictionary.correlate_some
    monkeypatch.setattr(dictionary, "correlate_some", lambda keys, force: looked.append(keys) or some(keys, force))
    monkeypatch.setattr(dictionary, "correlate", lambda force: pytest.fail("a pass over all columns"))
    problem = replace(problem, alpha=0.9 * np.sort(before[0].violation)[-1])
    (seen,) = violations.since([problem], [0.5 * force], [tuple(before)], stepper, [None])
    assert looked[0].size == 0
    np.testing.assert_allclose(seen.violation, 0.5 * before[0].violation, rtol=1e-9)
    nothing = Seen(np.zeros_like(force), np.zeros((N, K)), np.zeros(N), np.zeros(N))
    # from no force at all, no share of it is left
    violations.since([problem], [1e-9 * force], [(nothing,)], stepper, [None])


def test_dual_norms_are_foreseen_as_if_correlations_were_linear_in_alpha(rng):
    problem, _ = question(L1L2(), True, rng)
    slope, at_zero = rng.normal(size=(2, N, K))
    last, before = (Seen(np.empty(0), alpha * slope + at_zero, np.zeros(N), np.zeros(N)) for alpha in (0.4, 0.5))
    walker = SimpleNamespace(
        older=0.5,
        alpha=0.4,
        known=(last, before),
        violations=Violations(problem),
        last=SimpleNamespace(pull="unchanged"),
    )
    foreseen = Sequential._foreseen(walker, replace(problem, alpha=0.1))
    np.testing.assert_allclose(foreseen, L1L2().dual_norm(0.1 * slope + at_zero), rtol=1e-9)
    walker.older = 0.4  # two models at one alpha, or one alone, tell nothing
    assert Sequential._foreseen(walker, replace(problem, alpha=0.1)) == "unchanged"


@pytest.mark.parametrize("good", [True, False])
def test_a_start_whose_loss_is_known_is_compared_without_a_look(good, rng):
    problem, _ = question(L1L2(), False, rng, k=1)
    stepper = NewtonStepper(problem, Newton(), np.arange(10))
    solved, _ = stepper.solve(problem, [Weights(np.zeros((10, 1)), problem.start)], 1e-10, Monitor())
    assert solved.loss == pytest.approx(problem.loss_value(solved.score), rel=1e-12)
    np.testing.assert_allclose(solved.force, problem.force(problem.loss.gradient(problem.y, solved.score)), atol=1e-15)
    worse = Weights(0.5 * solved.coef, solved.intercept)
    first, guess = (worse, solved) if good else (solved, worse)
    best = stepper._best(problem, [first, guess._replace(score=None)])
    np.testing.assert_array_equal(best.ensemble.coef, solved.coef)
    blind = first._replace(loss=None, score=None)
    np.testing.assert_array_equal(stepper._best(problem, [blind, guess]).ensemble.coef, solved.coef)


@pytest.mark.parametrize("free", [False, True])
def test_gradients_in_the_rows_are_handed_on_to_the_next_alpha(free, rng):
    problem, X = question(L1L2(), False, rng, k=2)
    problem = replace(problem, fit_intercept=free)
    stepper = NewtonStepper(problem, Newton(), np.arange(30))
    start = Weights(np.zeros((30, 2)), problem.start)
    pulls = L1L2().dual_norm(X[:, :30].T @ stepper._look(problem, start).force)
    alpha = 0.7 * float(pulls.max())  # most rows stay zero and are dropped
    found, _ = stepper.solve(replace(problem, alpha=alpha), [start], 1e-10, Monitor())
    (left,) = stepper.tidy([found])
    assert 0 < len(left.coef) < 20
    stepper.enter(problem, np.array([40, 35]))
    point = stepper._look(problem, left)
    expected = X[:, stepper.keys].T @ point.force
    np.testing.assert_allclose(point.gradient[: len(expected)], expected, atol=1e-12)
    assert len(point.gradient) == len(expected) + free
    if free:
        np.testing.assert_allclose(point.gradient[-1], point.force.sum(axis=0), atol=1e-15)


@pytest.mark.parametrize("free", [False, True])
def test_a_certificate_takes_known_gradients_only_where_its_dual_point_is_the_gradient(free, rng):
    problem, _ = question(L1L2(), False, rng)
    newton = NewtonStepper(problem, Newton(), np.arange(4))
    products = ProductStepper(problem)
    products.enter(problem, np.arange(4))
    slope = rng.normal(size=(4, K))
    for stepper, known in ((newton, not free), (products, True)):
        trial = SimpleNamespace(
            problem=replace(problem, fit_intercept=free), weights=SimpleNamespace(slope=slope, proof=None)
        )
        assert (Sequential._slope(SimpleNamespace(stepper=stepper), trial) is slope) == known
        trial.weights.slope = slope[:3]  # of fewer rows than are active now
        assert Sequential._slope(SimpleNamespace(stepper=stepper), trial) is None
        trial.weights.proof = Proof(slope, 2.0 * slope, 1.0, 0.0)  # its dual point is the one to correlate with
        np.testing.assert_array_equal(Sequential._slope(SimpleNamespace(stepper=stepper), trial), 2.0 * slope)


def test_a_bound_that_is_known_is_taken_only_if_no_other_hypothesis_pulls_more(rng):
    problem, _ = question(L1L2(), False, rng)
    dual = problem.dual_point(np.zeros((M, K)))
    for largest, known in ((2.0, True), (2.1, False)):
        weights = SimpleNamespace(proof=Proof(dual, dual, 2.0, -7.0))
        trial = SimpleNamespace(problem=problem, weights=weights, violation=np.array([1.0, largest]))
        assert Sequential._lower(trial, dual) == (-7.0 if known else problem.lower_bound(dual, largest))


@pytest.mark.parametrize("free", [False, True])
def test_the_first_gradient_of_a_round_is_what_the_search_has_seen(free, rng):
    problem, X = question(L1L2(), False, rng)
    problem = replace(problem, fit_intercept=free)
    state = Boosting(Newton()).init(problem)
    survey = problem.survey(state.ensemble, state.score, count=5)
    ensemble = state.ensemble.extend(problem.dictionary, survey.candidates.keys)
    gradient = induction._gradient(state, survey, ensemble)
    if free:  # the search looked with a dual point that respects the intercept
        assert gradient is None
    else:
        force = problem.force(problem.loss.gradient(problem.y, state.score))
        np.testing.assert_allclose(gradient, X[:, ensemble.keys].T @ force, atol=1e-14)
    assert induction._gradient(replace(state, dual=state.score), survey, ensemble) is None
