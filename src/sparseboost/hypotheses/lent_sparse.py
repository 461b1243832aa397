"""Columns of a sparse matrix that are read where they are: fresh memory costs more than to go through them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.hypotheses.columns import Columns

Array = np.ndarray


class LentSparse(Columns):
    """The columns with these keys of a CSC matrix in double precision that is kept elsewhere.

    A matrix of their own is written for those who need one.
    """

    source: Any
    keys: Array

    def __init__(self, source: Any, keys: Array) -> None:
        # frozen, and `matrix` waits until it is asked for
        vars(self).update(source=source, keys=keys, _room=None, _rounded_room=None)

    @staticmethod
    def lends(X: Any) -> bool:
        """Whether columns of this matrix, whose format is canonical, can be read in place by code compiled already.

        Every other kind of arrays, those that may not be written to among them, would be compiled anew.
        """
        usual = X.dtype == np.float64 and X.indices.dtype == np.int32
        return usual and bool(X.data.flags.writeable and X.indices.flags.writeable)

    @property
    def size(self) -> int:
        return int(self.keys.size)

    @property
    def sparse(self) -> bool:
        return True

    @cached_property
    def mean_entries(self) -> float:
        """How many numbers a column stores."""
        begin, end = self._where
        return float((end - begin).sum()) / max(self.size, 1)

    @cached_property
    def _where(self) -> Array:
        """Where each column begins and ends."""
        indptr = self.source.indptr
        return np.stack([indptr[self.keys], indptr[self.keys + 1]]).astype(np.int64)

    @cached_property
    def matrix(self) -> Any:
        """The columns as a matrix of their own."""
        return self.some(slice(None))

    @cached_property
    def by_rows(self) -> Any:
        return (self.matrix if "matrix" in vars(self) else self.some(slice(None))).tocsr()

    def some(self, places: Any) -> Any:
        found = self.source[:, self.keys[places]]
        return found if isinstance(found, sp.csc_array) else sp.csc_array(found)

    def packed(self, dtype: type) -> tuple[Array, Array, Array]:
        return self.source.data, self.source.indices, self._where

    def dot(self, coef: Array) -> Array:
        used = np.flatnonzero(np.any(coef != 0.0, axis=1))
        out = np.zeros((self.source.shape[0], coef.shape[1]))
        rows = np.asarray(coef[used], dtype=np.float64, order="C")
        kernels.columns.dot(self.source.data, self.source.indices, self._where[:, used], rows, out)
        return out

    def correlate(self, force: Array) -> Array:
        X, out = self.source, np.empty((self.size, force.shape[1]))
        kernels.columns.correlate(X.data, X.indices, X.indptr, self.keys, np.ascontiguousarray(force), out, np.empty(0))
        return out

    def append(self, other: Columns) -> Columns:
        if self.size == 0 or not isinstance(other, LentSparse) or other.source is not self.source:
            return super().append(other)
        return LentSparse(self.source, np.concatenate([self.keys, other.keys]))

    def keep(self, mask: Array) -> Columns:
        return LentSparse(self.source, self.keys[mask])
