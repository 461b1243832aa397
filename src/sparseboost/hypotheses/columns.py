"""Outputs of some hypotheses on the training data: a dense matrix in column order, or CSC."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.hypotheses.room import Room

Array = np.ndarray


@dataclass(frozen=True)
class Columns:
    """Columns h_j(x_i) in double precision, with the sums over examples that updates need."""

    matrix: Any  # ndarray in column order, or csc_array
    _room: Room | None = field(default=None, repr=False, compare=False)  # where the matrix begins
    _rounded_room: Room | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    @property
    def sparse(self) -> bool:
        """Whether only numbers that are not zero are stored."""
        return sp.issparse(self.matrix)

    @property
    def mean_entries(self) -> float:
        """How many numbers a column stores."""
        return self.matrix.nnz / max(self.size, 1) if self.sparse else float(self.lines[0].shape[1])

    @property
    def lines(self) -> tuple[Array, Array]:
        """Dense columns as lines of an array in some precision, and which of them they are."""
        return self.matrix.T, np.arange(self.size)

    def some(self, places: Array) -> Any:
        """The columns at these places, as a matrix."""
        return self.matrix[:, places]

    def packed(self, dtype: type) -> tuple[Array, Array, Array]:
        """`flat` for sweeps, dense columns in this precision and without a copy in another.

        Instead of where columns begin, of shape (n + 1,), it may say where they begin and end, of shape (2, n).
        """
        if dtype is np.float64 or self.sparse:
            return self.flat
        m, n = self.lines[0].shape[1], self.size
        return self.rounded, np.empty(0, np.int32), np.arange(0, m * n + 1, max(m, 1))

    @property
    def flat(self) -> tuple[Array, Array, Array]:
        """(data, indices, indptr) as the kernels read them; `indices` is empty for dense columns."""
        # one integer type per array, whatever the input had: every other type would be compiled anew
        if sp.issparse(self.matrix):
            indices, indptr = self.matrix.indices, self.matrix.indptr
            return self.matrix.data, indices.astype(np.int32, copy=False), indptr.astype(np.int64, copy=False)
        m, n = self.matrix.shape
        return self.matrix.ravel(order="F"), np.empty(0, np.int32), np.arange(0, m * n + 1, max(m, 1))

    @cached_property
    def rounded(self) -> Array:
        """The data of `flat` in single precision: half the memory to go through."""
        if self._rounded_room is None:
            return self.flat[0].astype(np.float32)
        room, done = self._rounded_room, self._rounded_room.filled
        if done < self.size:  # each column is converted once
            room.next(self.size - done)[:] = self.matrix[:, done:].T
        return room.lines[: self.size].reshape(-1)

    def dot(self, coef: Array) -> Array:
        """Scores Σ_j h_j(x_i) coef_j, shape (m, k)."""
        if sp.issparse(self.matrix):
            return np.ascontiguousarray(self.matrix @ coef)
        return np.ascontiguousarray((coef.T @ self.matrix.T).T)  # in this order BLAS takes less time

    def correlate(self, force: Array) -> Array:
        """Σ_i h_j(x_i) force_i for every column, shape (n, k)."""
        if not sp.issparse(self.matrix):
            return np.asarray(self.matrix.T @ force)
        X, out = self.matrix, np.empty((self.size, force.shape[1]))
        everyone, force = np.arange(self.size), np.ascontiguousarray(force)
        kernels.columns.correlate(X.data, X.indices, X.indptr, everyone, force, out, np.empty(0))
        return out

    def split_correlate(self, up: Array, down: Array) -> tuple[Array, Array]:
        """μ⁺ and μ⁻ of every column (T1), each of shape (n, k)."""
        plus, minus = np.empty((self.size, up.shape[1])), np.empty((self.size, up.shape[1]))
        kernels.columns.split_correlate(*self.flat, up, down, plus, minus)
        return plus, minus

    def inner(self, weight: Array) -> Array:
        """Σ_i weight_i h_j(x_i) h_l(x_i) of every pair of columns, shape (n, n)."""
        if not sp.issparse(self.matrix):
            return self.matrix.T @ (self.matrix * weight[:, None])
        rows, out = self.by_rows, np.zeros((self.size, self.size))
        kernels.columns.sparse_inner(rows.data, rows.indices, rows.indptr, weight, np.arange(self.size), 0, out)
        return out

    @cached_property
    def by_rows(self) -> Any:
        """The same sparse matrix, stored by rows."""
        return self.matrix.tocsr()

    def rows(self, rows: Array) -> Columns:
        """The columns on some of the examples."""
        if sp.issparse(self.matrix):
            return Columns(self.by_rows[rows].tocsc())
        return Columns(np.asfortranarray(self.matrix[rows]))

    def energy(self, weight: Array) -> Array:
        """Σ_i s_i h_j(x_i)² of every column."""
        if sp.issparse(self.matrix):
            return np.asarray(self.matrix.power(2).T @ weight)
        return np.einsum("ij,ij,i->j", self.matrix, self.matrix, weight)

    def reach(self, weight: Array) -> Array:
        """max_i |h_j(x_i)| over examples that have weight."""
        size = abs(self.matrix)
        if not np.all(weight > 0):
            size = size[weight > 0]
        if sp.issparse(size):
            return size.max(axis=0).toarray().ravel()
        return size.max(axis=0, initial=0.0)

    def append(self, other: Columns) -> Columns:
        """These columns followed by the others."""
        if self.size == 0:
            return other
        if sp.issparse(self.matrix):
            return Columns(sp.hstack([self.matrix, other.matrix], format="csc"))
        room, rounded = self._room, self._rounded_room
        if room is None or not room.fits(self.size, other.size):
            room = Room(self.matrix.T, other.size, np.float64)
            rounded = Room(self.matrix.T[:0], len(room.lines) // 2, np.float32)
        room.next(other.size)[:] = other.matrix.T
        return Columns(room.lines[: room.filled].T, room, rounded)

    def keep(self, mask: Array) -> Columns:
        """The columns where `mask` is True."""
        if np.all(mask):
            return self
        return Columns(self.matrix[:, mask] if sp.issparse(self.matrix) else np.asfortranarray(self.matrix[:, mask]))
