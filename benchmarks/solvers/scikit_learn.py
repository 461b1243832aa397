"""scikit-learn: mean loss, so C = 1 / (m · alpha) for the classifiers; liblinear penalises any intercept."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.problem import Problem
from benchmarks.solvers.base import ITERATIONS, Fit, Solver, path, single


class Liblinear(Solver):
    name = "scikit-learn liblinear"
    environment = "current"
    kinds = ("logistic l1",)
    dense_order, sparse_format = "C", "csr"
    single_precision = False

    def fit(self, problem: Problem, setting: float) -> Fit:
        return _logistic(problem, solver="liblinear", tol=setting, max_iter=1_000_000)


class Saga(Liblinear):
    name = "scikit-learn saga"
    settings = ITERATIONS
    single_precision = True

    def fit(self, problem: Problem, setting: float) -> Fit:
        return _logistic(problem, solver="saga", tol=1e-12, max_iter=int(setting))


def _logistic(problem: Problem, **parameters: object) -> Fit:
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        C = 1.0 / (len(problem.y) * problem.alpha)
        model = LogisticRegression(l1_ratio=1.0, C=C, fit_intercept=False, random_state=0, **parameters)
        return single(problem, model.fit(problem.X, problem.y).coef_)


class Lasso(Solver):
    name = "scikit-learn Lasso"
    environment = "current"
    kinds = ("squared l1", "squared l1/l2", "squared l1 path", "squared l1/l2 path")

    def refuses(self, problem: Problem) -> str | None:
        if problem.is_sparse and problem.n_outputs > 1:
            return "takes no sparse matrix"
        return super().refuses(problem)

    def fit(self, problem: Problem, setting: float) -> Fit:
        from sklearn import linear_model

        parameters = {"tol": setting, "max_iter": 1_000_000}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if problem.is_path and problem.n_outputs == 1:
                coefs = linear_model.lasso_path(problem.X, problem.y, alphas=problem.alphas, **parameters)[1]
                return path(problem, coefs.T)
            if problem.is_path:
                return self._multitask_path(problem, parameters)
            family = linear_model.Lasso if problem.n_outputs == 1 else linear_model.MultiTaskLasso
            return single(problem, family(problem.alpha, fit_intercept=False, **parameters).fit(*_data(problem)).coef_)

    @staticmethod
    def _multitask_path(problem: Problem, parameters: dict[str, object]) -> Fit:
        from sklearn.linear_model import enet_path

        X, Y = _data(problem)
        coefs = enet_path(X, Y, l1_ratio=1.0, alphas=problem.alphas, **parameters)[1]  # (k, n, alphas)
        return path(problem, np.moveaxis(coefs, -1, 0))


def _data(problem: Problem) -> tuple[object, np.ndarray]:
    return problem.X, np.asfortranarray(problem.y)
