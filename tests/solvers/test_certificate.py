"""The gap is a proof: it bounds the suboptimality of any weights, and closes at the optimum (MATH T3, T5, 9.3, 9.5)."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from components import LOSSES, NORMS, LossCase, make_problem, name

sys.path.insert(0, str(Path(__file__).parent))
from runs import dense_coef, random_ensemble, random_problem, solve

from sparseboost.ensemble import Ensemble
from sparseboost.losses import Absolute, EpsInsensitive, Exponential, Huber, Logistic, Softmax, Squared
from sparseboost.penalties import L1, L1L2, L1Linf, Ridge, SmoothL1

PENALTIES = [*NORMS, Ridge(), Ridge(True), SmoothL1(), SmoothL1(True)]
CASES = [case for case in LOSSES if case.loss != EpsInsensitive(50.0)]  # flat: everything is optimal to rounding
REFERENCE = 1e-9


def plain(problem):
    """The problem with the loss it is about (no smoothing)."""
    return replace(problem, smooth_loss=None)


@pytest.mark.parametrize("case", CASES, ids=name)
@pytest.mark.parametrize("penalty", PENALTIES, ids=name)
def test_the_gap_bounds_suboptimality_anywhere_and_closes_at_the_optimum(case, penalty):
    index = LOSSES.index(case) + 3 * PENALTIES.index(penalty)
    for seed in (index % 16, 16 + (index + 5) % 16):  # without and with intercept
        problem = plain(random_problem(case, penalty, seed, fraction=0.25))
        solution = solve(problem, tol=REFERENCE if case.loss.smooth else 1e-3, max_rounds=300)
        assert solution.gap <= (1e-7 if case.loss.smooth else 1e-3) * abs(problem.empty_objective), solution.reason
        rng = np.random.default_rng(seed)
        scale = 1e-12 * (1 + abs(problem.empty_objective))
        for size in (0.0, 1e-3, 0.1, 1.0, 5.0):
            ensemble = random_ensemble(problem, rng, size)
            survey = problem.survey(ensemble, ensemble.score())
            assert survey.lower_bound <= solution.objective + scale
            assert survey.gap >= survey.objective - solution.objective - scale
            smoothed = problem.smoothed(0.2)
            assert smoothed.survey(ensemble, ensemble.score()).lower_bound <= solution.objective + scale


@pytest.mark.parametrize("case", CASES, ids=name)
@pytest.mark.parametrize("penalty", NORMS, ids=name)
def test_the_gap_shrinks_with_the_distance_to_the_optimum(case, penalty):
    """Weights between a random point and the optimum: the gap goes to zero with the objective."""
    if not case.loss.smooth:
        return
    problem = random_problem(case, penalty, seed=16 + LOSSES.index(case) % 16, fraction=0.25)
    solution = solve(problem)
    best = dense_coef(problem, solution)
    far = random_ensemble(problem, np.random.default_rng(1), 0.3)
    gaps = []
    for share in (1.0, 1e-2, 1e-4, 0.0):
        coef = best + share * (far.coef - best)
        intercept = solution.ensemble.intercept + share * (far.intercept - solution.ensemble.intercept)
        ensemble = Ensemble(far.keys, far.columns, far.cost, coef, intercept)
        gaps.append(problem.survey(ensemble, ensemble.score()).gap)
    assert gaps[-1] <= 1e-7 * abs(problem.empty_objective)
    assert gaps[2] <= 0.2 * gaps[0] + 1e-7 * abs(problem.empty_objective)


# -- other solvers agree ------------------------------------------------------------------------------------------


def cvx_loss(cp, case: LossCase, y, z, weight):
    if isinstance(case.loss, Logistic):
        return sum(weight @ cp.logistic(-cp.multiply(y[:, r], z[:, r])) for r in range(case.k))
    if isinstance(case.loss, Softmax):
        own = sum(weight[i] * z[i, int(y[i, 0])] for i in range(y.shape[0]))
        return sum(weight[i] * cp.log_sum_exp(z[i]) for i in range(y.shape[0])) - own
    if isinstance(case.loss, Squared):
        return 0.5 * sum(weight @ cp.square(z[:, r] - y[:, r]) for r in range(case.k))
    if isinstance(case.loss, Absolute):
        return sum(weight @ cp.abs(z[:, r] - y[:, r]) for r in range(case.k))
    if isinstance(case.loss, Huber):
        return 0.5 * sum(weight @ cp.huber(z[:, r] - y[:, r], case.loss.width) for r in range(case.k))
    if isinstance(case.loss, EpsInsensitive):
        t, eps = z - y, case.loss.eps
        return sum(weight @ (cp.logistic(t[:, r] - eps) + cp.logistic(-t[:, r] - eps)) for r in range(case.k))
    return sum(weight @ cp.exp(-cp.multiply(y[:, r], z[:, r])) for r in range(case.k))


ORACLE = [
    (LossCase(Logistic(), 1, "signs"), L1()),
    (LossCase(Logistic(), 2, "signs"), L1Linf(True)),
    (LossCase(Exponential(), 1, "signs"), L1(True)),
    (LossCase(Softmax(3), 3, "classes"), L1L2()),
    (LossCase(Softmax(3), 3, "classes"), L1Linf()),
    (LossCase(Squared(), 2, "reals"), L1L2(True)),
    (LossCase(Absolute(), 1, "reals"), L1()),
    (LossCase(Huber(0.5), 2, "reals"), L1Linf()),
    (LossCase(EpsInsensitive(0.5), 1, "reals"), L1()),
    (LossCase(Squared(), 1, "reals"), Ridge()),
    (LossCase(Logistic(), 1, "signs"), SmoothL1()),
]


@pytest.mark.parametrize(("case", "penalty"), ORACLE, ids=[f"{c.name}-{p!r}" for c, p in ORACLE])
def test_a_cone_solver_finds_the_same_optimum(case, penalty):
    cp = pytest.importorskip("cvxpy")
    problem = plain(random_problem(case, penalty, seed=4 + 8 + 16, fraction=0.2))
    X, n, k = problem.enumerable.X, problem.enumerable.size, problem.n_outputs
    cost = problem.dictionary.cost(np.arange(n))
    W, b = cp.Variable((n, k)), cp.Variable((1, k))
    z = X @ W + np.ones((X.shape[0], 1)) @ b
    rho = {
        L1: cp.norm1, L1L2: cp.norm2, L1Linf: cp.norm_inf, Ridge: lambda row: 0.5 * cp.sum_squares(row),
        SmoothL1: lambda row: cp.sum(cp.logistic(row) + cp.logistic(-row)),
    }[type(penalty)]  # fmt: skip
    total = cvx_loss(cp, case, problem.y, z, problem.weight)
    total += problem.alpha * sum(cost[j] * rho(W[j]) for j in range(n))
    value = cp.Problem(cp.Minimize(total), [W >= 0] if penalty.positive else []).solve(solver=cp.CLARABEL)
    solution = solve(problem, tol=1e-8 if case.loss.smooth else 1e-5)
    assert solution.objective == pytest.approx(value, rel=2e-6 if case.loss.smooth else 2e-5, abs=1e-8)
    assert solution.objective - solution.gap <= value + 1e-6 * abs(value)


# -- the largest useful penalty (T5) ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [case for case in CASES if case.loss.smooth], ids=name)
@pytest.mark.parametrize("penalty", NORMS, ids=name)
def test_largest_alpha_is_where_the_first_row_enters(case, penalty):
    for seed in (8, 16 + 4):
        above = random_problem(case, penalty, seed, fraction=1.0 + 1e-9)
        assert solve(above).ensemble.size == 0
        below = random_problem(case, penalty, seed, fraction=0.999)
        solution = solve(below, tol=1e-8)
        assert solution.ensemble.size == 1
        np.testing.assert_allclose(below.largest_alpha, above.largest_alpha, rtol=1e-12)


# -- the optimum obeys its conditions -----------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [L1L2(), L1Linf()], ids=repr)
def test_two_classes_mirror_each_other(penalty):
    """The norm fixes the gauge: W_j1 = −W_j2 (MATH 9.2)."""
    case = LossCase(Softmax(2), 2, "classes")
    for seed in (0, 3, 16, 31):
        solution = solve(random_problem(case, penalty, seed, fraction=0.2), tol=1e-11)
        assert solution.ensemble.size > 0
        np.testing.assert_allclose(solution.ensemble.coef.sum(axis=1), 0.0, atol=1e-4)


def test_positive_weights_leave_one_class_at_zero():
    case = LossCase(Softmax(3), 3, "classes")
    for penalty in (L1(True), L1L2(True), L1Linf(True)):
        solution = solve(random_problem(case, penalty, 16, fraction=0.2), tol=1e-10)
        assert solution.ensemble.size > 0
        assert np.all(solution.ensemble.coef.min(axis=1) <= 1e-4)
        assert np.all(solution.ensemble.coef >= 0)


def test_problem_without_penalty_has_a_valid_if_loose_bound():
    case = LossCase(Logistic(), 1, "signs")
    rng = np.random.default_rng(0)
    problem = make_problem(case, L1(), rng.normal(size=(30, 3)), case.y(30, rng), alpha=0.0)
    assert not problem.certifiable
    solution = solve(problem, tol=1e-6)
    assert solution.reason == "stationary"
    assert solution.converged
    ensemble = random_ensemble(problem, rng, 1.0)
    assert problem.survey(ensemble, ensemble.score()).lower_bound <= solution.objective
