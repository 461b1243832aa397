"""Snap ML: parallel coordinate descent in C++; sums losses, so its regularizer is m · alpha."""

from __future__ import annotations

import numpy as np

from benchmarks.problem import Problem
from benchmarks.solvers.base import Fit, Solver, single


class SnapML(Solver):
    name = "snapml"
    environment = "snapml"
    kinds = ("logistic l1",)
    dense_order, sparse_format = "C", "csr"
    single_precision = False

    def fit(self, problem: Problem, setting: float) -> Fit:
        from snapml import LogisticRegression

        model = LogisticRegression(
            penalty="l1", regularizer=len(problem.y) * problem.alpha, dual=False, fit_intercept=False, tol=setting,
            max_iter=1_000_000, n_jobs=1, random_state=0,
        )  # fmt: skip
        return single(problem, np.asarray(model.fit(problem.X, problem.y).coef_))
