"""Symmetries of the optimum, and all ways that lead to it (MATH 9.5, 9.6)."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from components import LossCase, features, make_problem, name

sys.path.insert(0, str(Path(__file__).parent))
from runs import TEMPLATES, UPDATES, applies, dense_coef, solve

from sparseboost.losses import EpsInsensitive, Exponential, Huber, Logistic, Softmax, Squared
from sparseboost.penalties import L1, L1L2, L1Linf
from sparseboost.solvers import AdaBoost, Boosting, Correction, GradBoost, minimize
from sparseboost.solvers.newton import Newton

SETTINGS = [
    (LossCase(Logistic(), 1, "signs"), L1()),
    (LossCase(Logistic(), 2, "signs"), L1Linf()),
    (LossCase(Exponential(), 1, "signs"), L1()),
    (LossCase(Softmax(3), 3, "classes"), L1Linf()),
    (LossCase(Softmax(3), 3, "classes"), L1L2()),
    (LossCase(Squared(), 2, "reals"), L1L2()),
    (LossCase(Huber(1.0), 1, "reals"), L1(True)),
    (LossCase(EpsInsensitive(0.3), 1, "reals"), L1()),
]
settings = pytest.mark.parametrize(("case", "penalty"), SETTINGS, ids=[f"{c.name}-{p!r}" for c, p in SETTINGS])
M, N = 24, 5
TIGHT = 1e-11
CLOSE = {"rtol": 1e-3, "atol": 1e-3}  # a gap leaves weights within about its square root


def data(case, seed=0):
    rng = np.random.default_rng(seed)
    return features(M, N, rng), case.y(M, rng), rng


def optimum(case, penalty, X, y, alpha, **options):
    problem = make_problem(case, penalty, X, y, alpha=alpha, **options)
    solution = solve(problem, tol=TIGHT)
    assert solution.gap <= 1e-7 * abs(problem.empty_objective)
    return dense_coef(problem, solution), solution


def alpha_of(case, penalty, X, y):
    return 0.2 * make_problem(case, penalty, X, y, alpha=1.0).largest_alpha


@settings
def test_scaling_inputs_and_alpha_leaves_predictions_alone(case, penalty):
    X, y, _ = data(case)
    alpha = alpha_of(case, penalty, X, y)
    coef, one = optimum(case, penalty, X, y, alpha)
    assert np.any(coef != 0)
    for t in (0.01, 30.0):
        other_coef, other = optimum(case, penalty, t * X, y, t * alpha)
        np.testing.assert_allclose(t * other_coef, coef, **CLOSE)
        assert other.objective == pytest.approx(one.objective, rel=1e-7)


@settings
def test_permutations_permute(case, penalty):
    X, y, rng = data(case)
    alpha = alpha_of(case, penalty, X, y)
    coef, one = optimum(case, penalty, X, y, alpha)
    rows, columns = rng.permutation(M), rng.permutation(N)
    shuffled, _ = optimum(case, penalty, X[rows][:, columns], y[rows], alpha)
    np.testing.assert_allclose(shuffled, coef[columns], **CLOSE)
    order = rng.permutation(case.k)
    outputs = np.argsort(order)[y.astype(int)].astype(float) if case.targets == "classes" else y[:, order]
    renamed, other = optimum(case, penalty, X, outputs, alpha)
    np.testing.assert_allclose(renamed, coef[:, order], **CLOSE)
    assert other.objective == pytest.approx(one.objective, rel=1e-7)


@settings
def test_repeated_rows_equal_weights(case, penalty):
    X, y, rng = data(case)
    alpha = alpha_of(case, penalty, X, y)
    count = rng.integers(0, 4, size=M)
    count[:3] = 1
    copies = np.repeat(np.arange(M), count)
    twice, one = optimum(case, penalty, X[copies], y[copies], alpha)
    weighted, other = optimum(case, penalty, X, y, alpha, weight=count.astype(float))
    np.testing.assert_allclose(weighted, twice, **CLOSE)
    assert other.objective == pytest.approx(one.objective, rel=1e-7)
    doubled, _ = optimum(case, penalty, np.vstack([X, X]), np.vstack([y, y]), alpha)
    np.testing.assert_allclose(doubled, optimum(case, penalty, X, y, alpha)[0], **CLOSE)


@settings
def test_costs_are_scales_of_columns(case, penalty):
    """Σ c_j ρ(W_j) with column x_j is Σ ρ(V_j) with column x_j/c_j and V = cW."""
    X, y, rng = data(case)
    alpha = alpha_of(case, penalty, X, y)
    cost = rng.uniform(0.5, 3.0, size=N)
    costly, one = optimum(case, penalty, X, y, alpha, cost=cost)
    scaled, other = optimum(case, penalty, X / cost, y, alpha)
    np.testing.assert_allclose(cost[:, None] * costly, scaled, **CLOSE)
    assert other.objective == pytest.approx(one.objective, rel=1e-7)


@settings
def test_storage_does_not_matter(case, penalty):
    X, y, _ = data(case)
    alpha = alpha_of(case, penalty, X, y)
    coef, _ = optimum(case, penalty, X, y, alpha)
    for form in (np.asfortranarray, sp.csr_array, sp.csc_array, lambda X: sp.coo_array(X)):
        np.testing.assert_allclose(optimum(case, penalty, form(X), y, alpha)[0], coef, **CLOSE)


@settings
def test_twin_columns_share_and_change_nothing_else(case, penalty):
    X, y, _ = data(case)
    alpha = alpha_of(case, penalty, X, y)
    coef, one = optimum(case, penalty, X, y, alpha)
    pair, other = optimum(case, penalty, np.hstack([X, X[:, :1], np.zeros((M, 1))]), y, alpha)
    assert other.objective == pytest.approx(one.objective, rel=1e-7)
    np.testing.assert_allclose(pair[0] + pair[-2], coef[0], **CLOSE)
    assert not pair[-1].any()


@settings
@pytest.mark.parametrize("template", TEMPLATES)
def test_all_templates_and_modes_meet_at_the_same_optimum(case, penalty, template):
    X, y, _ = data(case, seed=3)
    problem = make_problem(case, penalty, X, y, fraction=0.3)
    reference = solve(problem, tol=1e-9).objective
    for update in UPDATES:
        if not applies(update, problem):
            continue
        shape = template
        if template == "array":  # every row must be able to move
            shape = np.full(N, 1.0)
            size, limit, _ = update.template_size(problem, shape)
            shape *= limit / size
        for corrective in (True, False, "alternate"):
            tol = 1e-5 if corrective is True else 1e-3
            solution = solve(problem, update, shape, tol=tol, max_rounds=6000, corrective=corrective)
            assert solution.converged, (update.name, corrective, solution.reason, solution.gap)
            assert reference - 1e-9 <= solution.objective <= reference + tol * abs(problem.empty_objective)


@settings
def test_newton_meets_the_bounds_at_the_same_optimum(case, penalty):
    X, y, _ = data(case, seed=4)
    problem = make_problem(case, penalty, X, y, fraction=0.2)
    update = next(update for update in reversed(UPDATES) if applies(update, problem))
    newton = minimize(problem, Boosting(Newton()), tol=1e-9)
    assert newton.converged, newton.reason
    falling = [record["objective"] for record in newton.history]
    assert all(after <= before + 1e-12 for before, after in pairwise(falling))
    assert newton.objective == pytest.approx(solve(problem, update, tol=1e-6).objective, rel=1e-6)


@pytest.mark.parametrize("update", UPDATES, ids=lambda update: update.name)
@pytest.mark.parametrize("induce", [1, 3, "auto"])
def test_the_objective_never_rises_over_rounds(update, induce):
    case = LossCase(Logistic(), 1, "signs")
    X, y, _ = data(case, seed=9)
    problem = make_problem(case, L1(), X, y, fraction=0.05)
    for corrective in (True, False, "alternate"):
        solver = Boosting(Correction(update), induce=induce, corrective=corrective)
        history = minimize(problem, solver, tol=1e-6, max_rounds=200).history
        objective = np.array([record["objective"] for record in history])
        assert np.all(np.diff(objective) <= 1e-13)
        gap = np.array([record["gap"] for record in history])
        assert np.all(objective - gap <= objective[-1] + 1e-13)


def test_names_are_not_mixed_up():
    assert (AdaBoost().name, GradBoost().name) == ("adaboost", "gradboost")
    assert all(name(case) for case, _ in SETTINGS)
