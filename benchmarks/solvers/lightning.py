"""lightning: block coordinate descent with the objective C · Σ loss + alpha · norm, so C = 1 / m."""

from __future__ import annotations

import numpy as np

from benchmarks.problem import Problem
from benchmarks.solvers.base import ITERATIONS, Fit, Solver, single


class Lightning(Solver):
    name = "lightning"
    environment = "lightning"
    kinds = ("logistic l1", "softmax l1/l2")
    settings = ITERATIONS
    single_precision = False

    def fit(self, problem: Problem, setting: float) -> Fit:
        from lightning.classification import CDClassifier

        many = problem.loss == "softmax"
        model = CDClassifier(
            loss="log", penalty="l1/l2" if many else "l1", multiclass=many, C=1.0 / len(problem.y),
            alpha=problem.alpha, tol=1e-12, max_iter=int(setting), random_state=0,
        )  # fmt: skip
        return single(problem, np.asarray(model.fit(problem.X, problem.y).coef_))
