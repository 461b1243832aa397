"""Inner products of all columns that a fit, or a whole path of fits, has met, for losses of constant curvature."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses.parts import each, spans
from sparseboost.hypotheses.room import Room
from sparseboost.problem import Problem
from sparseboost.solvers.panel import WORTH_THREADS, places

Array = np.ndarray


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
        self._columns: Any = None  # of all keys, with room for more

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
        self.take(problem, ensemble.keys[new], ensemble.columns.some(new))

    def take(self, problem: Problem, keys: Array, fresh: Any) -> None:
        """Multiply columns of new hypotheses with each other and with all that are known."""
        weight = problem.weight * problem.driving_loss.sharpness
        self.corner = float(weight.sum())
        first, size = self.keys.size, self.keys.size + keys.size
        self.keys = np.concatenate([self.keys, keys])
        self._gram = _grown(self._gram, size, size)
        later = self._gram[first:size, :size]
        if sp.issparse(fresh):
            self._columns = self._columns or _SparseColumns()
            self._columns.add(fresh)
            edge = self._columns.correlate(weight[:, None], first)[:, 0]
            self.edge = np.concatenate([self.edge, edge])
            spread = np.zeros((weight.size, 4))
            kernels.columns.sparse_products(*self._columns.flat, weight, first, spread, self._gram)
            if problem.fit_intercept:
                later -= np.outer(edge / self.corner, self.edge)
        else:
            lines, edge = fresh.T, fresh.T @ weight
            self.edge = np.concatenate([self.edge, edge])
            if problem.fit_intercept:
                lines = lines - (edge / self.corner)[:, None]
            self._columns = (self._columns or Room(lines[:0], keys.size, float)).roomy(keys.size)
            self._columns.next(keys.size)[:] = lines
            every = self._columns.lines[:size]

            def products(span: slice) -> Array:
                return (lines[:, span] * weight[span]) @ every[:, span].T  # in this order BLAS takes less time

            few = later.size * weight.size < WORTH_THREADS
            parts = each(products, spans(weight.size), 1 if few else problem.dictionary.n_jobs)
            later[:] = next(parts)
            for part in parts:
                later += part
        self._gram[:first, first:size] = later[:, :first].T

    @property
    def mean_entries(self) -> float | None:
        """Mean number of entries of sparse columns; None for dense ones, or before any is known."""
        return self._columns.mean_entries if isinstance(self._columns, _SparseColumns) else None

    @property
    def centred(self) -> bool:
        """Whether columns are kept centred where there is an intercept: dense ones are."""
        return not isinstance(self._columns, _SparseColumns)

    def dot(self, coef: Array) -> Array:
        """Σ_j x_ij coef_j of all columns that are known, dense ones centred if there is an intercept."""
        if isinstance(self._columns, _SparseColumns):
            return self._columns.dot(coef)
        return (coef.T @ self._columns.lines[: self.keys.size]).T  # in this order BLAS takes less time

    def correlate(self, force: Array) -> Array:
        """Σ_i x_ij force_i of the same columns."""
        if isinstance(self._columns, _SparseColumns):
            return self._columns.correlate(force)
        return self._columns.lines[: self.keys.size] @ force if self._columns else np.empty((0, force.shape[1]))


class _SparseColumns:
    """Sparse columns in a row, with room for more."""

    def __init__(self) -> None:
        nothing = np.empty((0, 1))
        self._data, self._indices = Room(nothing, 1, float), Room(nothing, 1, np.int32)
        self._indptr = np.zeros(1, dtype=np.int64)
        self._n_examples = 0

    def add(self, more: Any) -> None:
        """Add the columns of a CSC matrix."""
        self._n_examples = more.shape[0]
        self._data, self._indices = self._data.roomy(more.nnz), self._indices.roomy(more.nnz)
        self._data.next(more.nnz)[:, 0], self._indices.next(more.nnz)[:, 0] = more.data, more.indices
        self._indptr = np.concatenate([self._indptr, self._indptr[-1] + more.indptr[1:]])

    @property
    def mean_entries(self) -> float:
        """Entries per column."""
        return float(self._indptr[-1]) / max(self._indptr.size - 1, 1)

    def dot(self, coef: Array) -> Array:
        """Σ_j x_ij coef_j."""
        data, indices, indptr = self.flat
        out = np.zeros((self._n_examples, coef.shape[1]))
        kernels.columns.dot(data, indices, np.stack([indptr[:-1], indptr[1:]]), np.ascontiguousarray(coef), out)
        return out

    def correlate(self, force: Array, first: int = 0) -> Array:
        """Σ_i x_ij force_i of all columns from the first one on."""
        keys = np.arange(first, self._indptr.size - 1)
        out = np.empty((keys.size, force.shape[1]))
        kernels.columns.correlate(*self.flat, keys, np.ascontiguousarray(force), out, np.empty(0))
        return out

    @property
    def flat(self) -> tuple[Array, Array, Array]:
        """(data, indices, indptr) as the kernels read them."""
        size = self._indptr[-1]
        return self._data.lines[:size, 0], self._indices.lines[:size, 0], self._indptr


def _grown(matrix: Array, rows: int, columns: int) -> Array:
    """The same matrix in the corner of a larger one, if it has to hold more."""
    if rows <= matrix.shape[0] and columns <= matrix.shape[1]:
        return matrix
    larger = np.empty(
        [n if n <= had else max(n, 2 * had) for n, had in zip((rows, columns), matrix.shape, strict=True)]
    )
    larger[: matrix.shape[0], : matrix.shape[1]] = matrix
    return larger
