"""Blocks of thresholds meet at the optimum that an explicit matrix of all stumps has, and never go up."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from components import LossCase, weights

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, kernels
from sparseboost.hypotheses import Context, Features, Stumps
from sparseboost.losses import EpsInsensitive, Exponential, Huber, Logistic, PairwiseLogistic, Softmax, Squared
from sparseboost.penalties import L1, L1L2, L1Linf, Ridge
from sparseboost.problem import Problem
from sparseboost.solvers import Boosting, Newton, StumpBlocks, minimize

M = 120
LOSSES = [
    LossCase(Logistic(), 1, "signs"),
    LossCase(Logistic(), 2, "signs"),
    LossCase(Softmax(3), 3, "classes"),
    LossCase(Squared(), 1, "reals"),
    LossCase(Squared(), 2, "reals"),
    LossCase(Exponential(), 1, "signs"),
    LossCase(Huber(0.5), 1, "reals"),
    LossCase(EpsInsensitive(0.3), 1, "reals"),
]


def data(rng: np.random.Generator, kind: str) -> tuple[np.ndarray, Context]:
    X = np.round(rng.normal(size=(M, 4)), 1)
    X[:, 1] = rng.integers(0, 4, size=M)
    X[:, 3] = np.where(rng.random(M) < 0.7, 0.0, X[:, 3])
    cost = rng.uniform(0.5, 2.0, size=4)
    categories = {1: list("abcd")} if kind == "categories" else {}
    if kind == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    if kind in ("zeros", "sparse"):
        X[:, :3] = np.where(rng.random((M, 3)) < 0.6, 0.0, X[:, :3])
    return X, Context(feature_costs=cost, categories=categories, weight=weights(M, rng))


def answer(case: LossCase, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Targets that depend on the inputs."""
    X = np.nan_to_num(X)
    truth = np.column_stack([np.sin(2 * X[:, 0]) + (X[:, 1] == 2), np.abs(X[:, 2]), X[:, 3] - (X[:, 1] > 2)])
    truth = truth[:, : case.k] + 0.5 * rng.normal(size=(M, case.k))
    if case.targets == "signs":
        return np.where(truth > np.median(truth, axis=0), 1.0, -1.0)
    return truth.argmax(axis=1)[:, None].astype(float) if case.targets == "classes" else truth


def compare(case, penalty, rng, fraction=0.1, kind="plain", **options):
    X, context = data(rng, kind)
    y = answer(case, X, rng)
    dictionary = Stumps(**options).bind(sp.csc_array(X) if kind == "sparse" else X, context)
    keys = np.arange(dictionary.stumps.first_set)
    matrix, cost = np.asfortranarray(dictionary.columns(keys).matrix), dictionary.cost(keys)

    def problem(dictionary, alpha: float) -> Problem:
        return Problem(case.loss, penalty, alpha, dictionary, y, context.weight)

    alpha = fraction * problem(dictionary, 1.0).largest_alpha
    oracle = minimize(
        problem(Features().bind(matrix, Context(feature_costs=cost)), alpha), Boosting(Newton()), tol=1e-8
    )
    found = minimize(problem(dictionary, alpha), Boosting(StumpBlocks()), tol=1e-6, max_rounds=100)
    scale = abs(problem(dictionary, alpha).empty_objective)
    assert oracle.gap <= 1e-6 * scale
    assert found.converged, found.gap
    assert oracle.objective - oracle.gap <= found.objective <= oracle.objective + found.gap
    assert found.objective == pytest.approx(oracle.objective, abs=1e-8 * scale)
    heights = [record["objective"] for record in found.history]
    assert np.all(np.diff(heights) <= 1e-12 * scale)
    exact = problem(dictionary, alpha)
    assert exact.objective(found.ensemble, found.ensemble.score()) == pytest.approx(found.objective, rel=1e-9)
    assert found.ensemble.size > 0
    if penalty.positive:
        assert found.ensemble.coef.min() >= 0.0
    return found


@pytest.mark.parametrize("case", LOSSES, ids=lambda case: case.name)
@pytest.mark.parametrize("penalty", [L1(), L1L2(), L1Linf()], ids=repr)
def test_all_losses_and_norms(case, penalty, rng):
    compare(case, penalty, rng)


@pytest.mark.parametrize("penalty", [L1(), L1L2(), L1Linf(), L1(True), L1L2(True)], ids=repr)
@pytest.mark.parametrize("case", LOSSES[:4], ids=lambda case: case.name)
@pytest.mark.parametrize(
    "options", [{"outputs": "indicator"}, {"standardize": True}, {"thresholds": "quantile", "n_bins": 6}], ids=str
)
def test_every_kind_of_stumps(penalty, case, options, rng):
    compare(case, penalty, rng, **options)


@pytest.mark.parametrize("case", LOSSES, ids=lambda case: case.name)
def test_inputs_that_are_mostly_zero(case, rng):
    compare(case, L1L2(), rng, kind="zeros")
    compare(case, L1L2(), rng, kind="zeros", thresholds="quantile", n_bins=6)
    if case.k == 1:
        compare(case, L1L2(), rng, kind="sparse")
        compare(case, L1L2(True), rng, kind="sparse", standardize=True)


def test_a_small_penalty_on_separable_data(rng):
    compare(LOSSES[0], L1(), rng, fraction=0.003)


def test_it_applies_where_sums_of_stumps_are_step_functions(rng):
    X, context = data(rng, "plain")
    y, weight = np.maximum(np.sign(X[:, :1] + 0.01), 0), context.weight

    def problem(space=None, X=X, y=y, context=context, loss=None, penalty=None, intercept=True):
        dictionary = (space or Stumps()).bind(X, context)
        return Problem(loss or Logistic(), penalty or L1(), 0.1, dictionary, y, weight, intercept)

    assert StumpBlocks.applies(problem())
    assert StumpBlocks.applies(problem(X=sp.csc_array(X)))
    for other in (
        problem(Features()),
        problem(Stumps(negated=True)),
        problem(Features() + Stumps()),
        problem(X=sp.csc_array(X), y=np.tile(y, 2)),
        problem(X=data(rng, "missing")[0]),
        problem(context=data(rng, "categories")[1]),
        problem(loss=PairwiseLogistic(2)),
        problem(penalty=Ridge()),
        problem(intercept=False),
    ):
        assert not StumpBlocks.applies(other)
        with pytest.raises(ValueError, match="StumpBlocks needs"):
            StumpBlocks().check(other)


@pytest.mark.parametrize("kind", ["missing", "categories"])
def test_estimators_use_newton_elsewhere(kind, rng):
    X = data(rng, kind)[0]
    y = answer(LOSSES[2], X, rng)[:, 0]
    chosen = {"categorical_features": [1]} if kind == "categories" else {}
    model = SparseBoostClassifier(0.02, hypotheses=Stumps(**chosen), tol=1e-6).fit(X, y)
    assert model.solver_ == "newton"
    assert model.converged_


def test_estimators_use_it_and_agree_with_newton(rng):
    X = data(rng, "plain")[0]
    y = answer(LOSSES[0], X, rng)[:, 0]
    quick = SparseBoostClassifier(0.02, hypotheses="stumps", tol=1e-7).fit(X, y)
    plain = SparseBoostClassifier(0.02, hypotheses="stumps", tol=1e-7, induce=10).fit(X, y)
    assert quick.solver_ == "stump-blocks"
    assert plain.solver_ == "newton"
    assert quick.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    np.testing.assert_allclose(quick.decision_function(X), plain.decision_function(X), atol=1e-2)
    staged = list(quick.staged_decision_function(X))
    np.testing.assert_allclose(staged[-1], quick.decision_function(X), atol=1e-12)
    limited = SparseBoostClassifier(0.001, hypotheses="stumps", max_features=2).fit(X, y)
    assert len(limited.inputs_used_) <= 2
    wide = SparseBoostRegressor(0.02, hypotheses="stumps", tol=1e-6).fit(X, X[:, :2] ** 2)
    assert wide.solver_ == "stump-blocks"
    assert wide.converged_


# -- the exact step function -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("forbidden", ["nothing", "up", "down", "some"])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 60])
def test_step_functions_are_the_best_ones(forbidden, n, rng):
    curvature, pull = rng.exponential(size=n) + 0.01, rng.normal(size=n)
    down, up = rng.exponential(size=n) * 0.3, rng.exponential(size=n) * 0.3
    if forbidden in ("up", "down"):
        (up if forbidden == "up" else down)[:] = np.inf
    elif forbidden == "some":
        up[rng.random(n) < 0.5] = np.inf
        down[rng.random(n) < 0.3] = np.inf
    found = kernels.step_functions.step_function(curvature, pull, down, up)
    jumps = found[:-1] - found[1:]
    assert np.all(np.isfinite(down[:-1][jumps > 0]))
    assert np.all(np.isfinite(up[:-1][jumps < 0]))
    level = cp.Variable(n)
    fall, rise = cp.pos(level[:-1] - level[1:]), cp.pos(level[1:] - level[:-1])
    cheap, dear = np.isfinite(down[:-1]), np.isfinite(up[:-1])
    cost = cp.sum(cp.multiply(curvature / 2, cp.square(level))) - pull @ level
    limits = []
    if n > 1:
        cost += cp.sum(cp.multiply(np.where(cheap, down[:-1], 0), fall))
        cost += cp.sum(cp.multiply(np.where(dear, up[:-1], 0), rise))
        limits = [cp.multiply(~cheap, fall) <= 0, cp.multiply(~dear, rise) <= 0]
    problem = cp.Problem(cp.Minimize(cost), limits)
    problem.solve(cp.CLARABEL)
    np.testing.assert_allclose(found, level.value, atol=1e-4)
    level.value = found
    assert cost.value <= problem.value + 1e-6


def test_free_jumps_follow_the_data_and_dear_ones_give_the_mean(rng):
    curvature, pull = rng.exponential(size=9) + 0.1, rng.normal(size=9)
    free = kernels.step_functions.step_function(curvature, pull, np.zeros(9), np.zeros(9))
    np.testing.assert_allclose(free, pull / curvature)
    dear = kernels.step_functions.step_function(curvature, pull, np.full(9, 1e6), np.full(9, 1e6))
    np.testing.assert_allclose(dear, pull.sum() / curvature.sum())
    assert np.all(dear == dear[0])
