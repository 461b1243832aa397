"""Inner products of all columns that a fit, or a whole path of fits, has met, for losses of constant curvature."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost.ensemble import Ensemble
from sparseboost.problem import Problem
from sparseboost.solvers.panel import places

Array = np.ndarray
WIDTH = 64  # sparse columns that are written out at a time


class ConstantGram:
    """G[j, l] = Σ_i s_i x_ij x_il of the columns `keys`, in the order they were met; centred if there is an intercept.

    The matrices have room to grow: nothing is moved when a column enters, and one that leaves is kept for its return.

    Attributes
    ----------
    edge : array of shape (n,)
        Products with a column of ones, which is not centred.
    corner : float
        Product of that column with itself.
    """

    def __init__(self) -> None:
        self._owner: tuple[Any, ...] = ()
        self._forget()

    def _forget(self) -> None:
        self.keys, self.edge, self.corner = np.empty(0, dtype=np.int64), np.empty(0), 0.0
        self._gram = np.empty((0, 0))
        self._columns: Any = None  # dense: a row per column, with room for more; sparse: CSC

    def follow(self, problem: Problem, ensemble: Ensemble, most: int) -> Array:
        """Forget what belongs to another problem or is too much; which active columns need no products any more."""
        owner = (problem.dictionary, problem.weight, problem.driving_loss.sharpness, problem.fit_intercept)
        same = len(self._owner) == 4 and self._owner[0] is owner[0] and self._owner[1] is owner[1]
        if not (same and self._owner[2:] == owner[2:]):
            self._forget()
        self._owner = owner
        known = places(ensemble.keys, self.keys) >= 0
        if (self.keys.size + np.count_nonzero(~known)) ** 2 > most:
            self._forget()
            known[:] = False
        return known

    @property
    def matrix(self) -> Array:
        """The products in the shape that `kernels.descent` reads; entries behind the last column mean nothing."""
        return self._gram[: self.keys.size, None, :]

    def add(self, problem: Problem, ensemble: Ensemble, new: Array) -> None:
        """Multiply these active columns, which are new, with each other and with all that are known."""
        weight = problem.weight * problem.driving_loss.sharpness
        self.corner = float(weight.sum())
        first, size = self.keys.size, self.keys.size + new.size
        fresh = ensemble.columns.matrix[:, new]
        edge = fresh.T @ weight
        self.keys = np.concatenate([self.keys, ensemble.keys[new]])
        self.edge = np.concatenate([self.edge, edge])
        self._gram = _grown(self._gram, size, size)
        part = self._gram[:size, first:size]
        if sp.issparse(fresh):
            self._columns = fresh if first == 0 else sp.hstack([self._columns, fresh], format="csc")
            for start in range(0, fresh.shape[1], WIDTH):
                some = slice(start, start + WIDTH)
                part[:, some] = self._columns.T @ (weight[:, None] * fresh[:, some].toarray())
            if problem.fit_intercept:
                part -= np.outer(self.edge, edge / self.corner)
        else:
            if problem.fit_intercept:
                fresh = fresh - edge / self.corner
            self._columns = _grown(np.empty((0, weight.size)) if first == 0 else self._columns, size, weight.size)
            self._columns[first:size] = fresh.T
            np.matmul(self._columns[:size], weight[:, None] * fresh, out=part)
        self._gram[first:size, :first] = part[:first].T


def _grown(matrix: Array, rows: int, columns: int) -> Array:
    """The same matrix in the corner of a larger one, if it has to hold more."""
    if rows <= matrix.shape[0] and columns <= matrix.shape[1]:
        return matrix
    larger = np.empty(
        [n if n <= had else max(n, 2 * had) for n, had in zip((rows, columns), matrix.shape, strict=True)]
    )
    larger[: matrix.shape[0], : matrix.shape[1]] = matrix
    return larger
