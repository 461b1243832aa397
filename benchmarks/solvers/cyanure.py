"""cyanure: accelerated variance-reduced gradients; its multi-output logistic loss is not the multi-label one."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.problem import Problem
from benchmarks.solvers.base import Fit, Solver, single


class Cyanure(Solver):
    name = "cyanure"
    environment = "cyanure"
    kinds = ("logistic l1", "softmax l1/l2")
    dense_order, sparse_format = "C", "csr"

    def fit(self, problem: Problem, setting: float) -> Fit:
        from cyanure.estimators import Classifier

        many = problem.loss == "softmax"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = Classifier(
                loss="multiclass-logistic" if many else "logistic", penalty="l1l2" if many else "l1",
                lambda_1=problem.alpha, fit_intercept=False, tol=setting, max_iter=1_000_000, verbose=False,
                n_threads=1, random_state=0,
            )  # fmt: skip
            coef = model.fit(problem.X, problem.y).coef_
        return single(problem, np.asarray(coef).T)
