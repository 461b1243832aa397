"""skglm: prox-Newton and block coordinate descent over working sets, compiled anew by numba in every process."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.problem import Problem
from benchmarks.solvers.base import Fit, Solver, path, single


class Skglm(Solver):
    name = "skglm"
    environment = "current"
    kinds = ("logistic l1", "squared l1", "squared l1/l2", "squared l1 path", "squared l1/l2 path")

    def fit(self, problem: Problem, setting: float) -> Fit:
        import skglm

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if problem.loss == "logistic":
                model = skglm.SparseLogisticRegression(alpha=problem.alpha, fit_intercept=False, tol=setting)
                return single(problem, model.fit(problem.X, problem.y).coef_)
            if problem.n_outputs == 1:
                coefs = skglm.Lasso(fit_intercept=False, tol=setting).path(problem.X, problem.y, problem.alphas)[1]
                return path(problem, coefs.T)
            return self._multitask(problem, setting)

    @staticmethod
    def _multitask(problem: Problem, setting: float) -> Fit:
        import skglm

        model = skglm.MultiTaskLasso(fit_intercept=False, tol=setting)
        coefs = model.path(problem.X, np.asfortranarray(problem.y), problem.alphas)[1]  # (k, n, alphas)
        return path(problem, np.moveaxis(coefs, -1, 0))
