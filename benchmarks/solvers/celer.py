"""celer: working sets with dual extrapolation; no intercept in the logistic model."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.problem import Problem
from benchmarks.solvers.base import Fit, Solver, path, single


class Celer(Solver):
    name = "celer"
    environment = "celer"
    kinds = ("logistic l1", "squared l1", "squared l1/l2", "squared l1 path", "squared l1/l2 path")

    single_precision = False

    def refuses(self, problem: Problem) -> str | None:
        if problem.is_sparse and problem.n_outputs > 1:
            return "takes no sparse matrix"
        return super().refuses(problem)

    def fit(self, problem: Problem, setting: float) -> Fit:
        import celer

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if problem.loss == "logistic":
                model = celer.LogisticRegression(C=1.0 / (len(problem.y) * problem.alpha), tol=setting)
                return single(problem, model.fit(problem.X, problem.y).coef_)
            if problem.n_outputs == 1:
                coefs = celer.celer_path(problem.X, problem.y, "lasso", alphas=problem.alphas, tol=setting)[1]
                return path(problem, coefs.T)
            return self._multitask(problem, setting)

    @staticmethod
    def _multitask(problem: Problem, setting: float) -> Fit:
        import celer

        model = celer.MultiTaskLasso(fit_intercept=False, tol=setting, warm_start=True)
        coefs = []
        for alpha in problem.alphas:
            model.set_params(alpha=float(alpha))
            coefs.append(model.fit(problem.X, np.asfortranarray(problem.y)).coef_.copy())
        return path(problem, coefs)
