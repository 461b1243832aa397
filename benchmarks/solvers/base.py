"""What the runner needs to know of a solver. Its library is imported only when it fits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.problem import Problem

Array = np.ndarray
TOLERANCES = tuple(10.0**-e for e in range(1, 13))
ITERATIONS = tuple(10 * 2**e for e in range(16))


class Fit(NamedTuple):
    """Weights (alphas, k, n), intercepts (alphas, k); seconds if the solver ran elsewhere and has timed itself."""

    coefs: Array
    intercepts: Array
    seconds: float | None = None


class Solver(ABC):
    """One way to solve some kinds of problems, at settings from loose to tight."""

    name: str
    environment: str
    kinds: tuple[str, ...]  # the values of Problem.kind it solves
    settings: tuple[float, ...] = TOLERANCES
    sparse = dense = True
    intercept = False
    single_precision = True  # whether float32 data may be given to it
    dense_order = "F"
    sparse_format = "csc"

    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot run, or None."""
        if problem.kind not in self.kinds:
            return f"does not solve {problem.kind}"
        if problem.is_sparse and not self.sparse:
            return "takes no sparse matrix"
        if not problem.is_sparse and not self.dense:
            return "takes no dense matrix"
        if problem.fit_intercept and not self.intercept:
            return "has no unpenalised intercept"
        return None

    def prepare(self, problem: Problem) -> Problem:
        """The data in the layout this solver likes best; not timed."""
        if problem.is_sparse:
            X = {"csc": sp.csc_matrix, "csr": sp.csr_matrix}[self.sparse_format](problem.X)
        else:
            dtype = problem.X.dtype if self.single_precision else np.float64
            X = np.asarray(problem.X, dtype=dtype, order=self.dense_order)
        return replace(problem, X=X)

    @abstractmethod
    def fit(self, problem: Problem, setting: float) -> Fit:
        """Solve; everything in here is timed."""


def single(problem: Problem, coef: Any, intercept: Any = 0.0) -> Fit:
    """The fit of a model with one alpha, from weights (k, n) or (n,)."""
    coef = np.asarray(coef).reshape(problem.n_outputs, -1)
    intercept = np.broadcast_to(np.asarray(intercept, dtype=np.float64).ravel(), (problem.n_outputs,))
    return Fit(coef[None], intercept[None])


def path(problem: Problem, coefs: Any) -> Fit:
    """The fits of a path without intercept, from weights (alphas, k, n)."""
    coefs = np.asarray(coefs).reshape(len(problem.alphas), problem.n_outputs, -1)
    return Fit(coefs, np.zeros(coefs.shape[:2]))
