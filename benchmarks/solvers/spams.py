"""SPAMS: FISTA in C++, for one or several outputs."""

from __future__ import annotations

import numpy as np

from benchmarks.problem import Problem
from benchmarks.solvers.base import ITERATIONS, Fit, Solver, single


class Spams(Solver):
    name = "spams"
    environment = "spams"
    kinds = ("softmax l1/l2", "multilabel l1/l2", "softmax l1/linf", "multilabel l1/linf")
    settings = ITERATIONS
    single_precision = False

    def fit(self, problem: Problem, setting: float) -> Fit:
        import spams

        many = problem.loss == "softmax"
        y = problem.y[:, None].astype(np.float64) if many else 2.0 * problem.target() - 1.0
        start = np.zeros((problem.X.shape[1], problem.n_outputs), order="F")
        found = spams.fistaFlat(
            np.asfortranarray(y), problem.X, start, loss="multi-logistic" if many else "logistic",
            regul={"l1/l2": "l1l2", "l1/linf": "l1linf"}[problem.penalty], lambda1=problem.alpha, tol=1e-12,
            max_it=int(setting), numThreads=1,
        )  # fmt: skip
        return single(problem, (found[0] if isinstance(found, tuple) else found).T)
