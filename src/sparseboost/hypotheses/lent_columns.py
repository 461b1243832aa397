"""Columns of a dense matrix that are read where they are: to copy them costs more than to go through them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sparseboost import kernels
from sparseboost.hypotheses.columns import Columns
from sparseboost.hypotheses.room import Room

Array = np.ndarray


class Converted:
    """Columns in single precision, each converted once; shared by all that grow out of the same columns."""

    def __init__(self) -> None:
        self._keys: Array = np.empty(0, dtype=np.int64)
        self._room: Room | None = None

    def lines_of(self, source: Array, keys: Array) -> Array:
        """The columns with these keys, one behind the other."""
        done = self._keys.size
        if self._room is None or not np.array_equal(keys[:done], self._keys):  # others have grown in another way
            self._room, done = Room(np.empty((0, source.shape[1])), keys.size, np.float32), 0
        more = keys.size - done
        if more:
            self._room, self._keys = self._room.roomy(more), keys
            kernels.columns.convert(source, keys[done:], self._room.next(more))
        return self._room.lines[: keys.size].reshape(-1)


class LentColumns(Columns):
    """The columns `source[key]` of a matrix that is kept elsewhere, in either precision.

    A matrix of their own is written for those who need one, and where outputs are so many that BLAS pays for it.
    """

    source: Array  # one line per column of the whole matrix
    keys: Array
    _converted: Converted

    def __init__(self, source: Array, keys: Array, converted: Converted | None = None) -> None:
        # frozen, and `matrix` waits until it is asked for
        vars(self).update(source=source, keys=keys, _room=None, _rounded_room=None)
        vars(self).update(_converted=converted or Converted())

    @property
    def size(self) -> int:
        return int(self.keys.size)

    @property
    def sparse(self) -> bool:
        return False

    @cached_property
    def matrix(self) -> Any:
        """The columns, in column order and double precision."""
        return self.source[self.keys].astype(np.float64, copy=False).T

    @property
    def lines(self) -> tuple[Array, Array]:
        return self.source, self.keys

    def some(self, places: Array) -> Any:
        return self.source[self.keys[places]].astype(np.float64, copy=False).T

    @cached_property
    def rounded(self) -> Array:
        return self._converted.lines_of(self.source, self.keys)

    def dot(self, coef: Array) -> Array:
        if coef.shape[1] > kernels.passes.MOST:
            return super().dot(coef)
        used = np.flatnonzero(np.any(coef != 0.0, axis=1))
        out = np.zeros((coef.shape[1], self.source.shape[1]))
        kernels.passes.dot(self.source, self.keys[used], np.asarray(coef[used], dtype=np.float64, order="C"), out)
        return np.ascontiguousarray(out.T)

    def correlate(self, force: Array) -> Array:
        k = force.shape[1]
        if k > kernels.passes.MOST:
            return super().correlate(force)
        if k == 1:
            out, alone = np.empty((self.size, 1)), np.ascontiguousarray(force[:, 0])
            kernels.columns.correlate_dense(self.source, self.keys, alone, out[:, 0], np.empty(0))
            return out
        rows = kernels.passes.rows_of(force)
        out = np.empty((self.size, len(rows)))
        kernels.passes.correlate(self.source, self.keys, rows, out)
        return np.ascontiguousarray(out[:, :k])

    def append(self, other: Columns) -> Columns:
        if self.size == 0 or not isinstance(other, LentColumns) or other.source is not self.source:
            return super().append(other)
        joined = LentColumns(self.source, np.concatenate([self.keys, other.keys]), self._converted)
        if "matrix" in vars(self):
            grown = super().append(other)
            vars(joined).update(matrix=grown.matrix, _room=grown._room)
        return joined

    def keep(self, mask: Array) -> Columns:
        kept = LentColumns(self.source, self.keys[mask])
        if "matrix" in vars(self):
            vars(kept)["matrix"] = super().keep(mask).matrix
        return kept
