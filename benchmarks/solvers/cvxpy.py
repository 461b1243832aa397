"""CVXPY with an interior-point solver: slow, but it solves ℓ1/ℓ∞."""

from __future__ import annotations

import numpy as np

from benchmarks.problem import Problem
from benchmarks.solvers.base import Fit, Solver, single


class Cvxpy(Solver):
    name = "cvxpy clarabel"
    environment = "repository"
    kinds = ("softmax l1/linf", "multilabel l1/linf", "squared l1/linf")
    settings = tuple(10.0**-e for e in (2, 4, 6, 8, 10))
    intercept = True
    single_precision = False
    sparse = False

    def fit(self, problem: Problem, setting: float) -> Fit:
        import cvxpy as cp

        m, n = problem.X.shape
        k, target = problem.n_outputs, problem.target()
        W, b = cp.Variable((n, k)), cp.Variable((1, k))
        score = problem.X @ W + (np.ones((m, 1)) @ b if problem.fit_intercept else 0.0)
        if problem.loss == "softmax":
            loss = cp.sum(cp.log_sum_exp(score, axis=1)) - cp.sum(cp.multiply(target, score))
        elif problem.loss == "multilabel":
            loss = cp.sum(cp.logistic(score)) - cp.sum(cp.multiply(target, score))
        else:
            loss = 0.5 * cp.sum_squares(score - target)
        objective = cp.Minimize(loss / m + problem.alpha * cp.sum(cp.max(cp.abs(W), axis=1)))
        cp.Problem(objective).solve(
            solver="CLARABEL", tol_gap_abs=setting, tol_gap_rel=setting, tol_feas=setting, max_threads=1
        )
        return single(problem, W.value.T, b.value if problem.fit_intercept else 0.0)
