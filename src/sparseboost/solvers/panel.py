"""Active columns prepared for many weighted products with each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparseboost import kernels
from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Columns
from sparseboost.hypotheses.parts import each, spans
from sparseboost.hypotheses.room import Room
from sparseboost.losses.base import over_examples

Array = np.ndarray
EXAMPLES = 2048  # that are weighted at a time
WORTH_THREADS = 1e8  # products of numbers


class Panel:
    """Columns h_j = scale_j · p_j + centre_j with p_j in few digits, with which BLAS is fast.

    A Hessian does not need more; centring first saves those that a large mean would take. Sparse columns are used as
    they are.
    """

    def __init__(self, dtype: type = np.float64, n_jobs: int = 1) -> None:
        self._keys = np.empty(0, dtype=np.int64)
        self.n_jobs = n_jobs
        self.dtype, self._room = dtype, Room(np.empty((0, 0)), 0, dtype)
        self._scale = self._centre = np.empty(0)

    def products(
        self, ensemble: Ensemble, every: Array, first: int, groups: Iterator[tuple[Array | None, Array]]
    ) -> Iterator[list[Array]]:
        """Per group of examples and weightings, Σ_i weight_i p_j(x_i) p_l(x_i) for j in (ones, *every), l from `first`.

        `every` are places in the ensemble; a group is (examples or None for all, weights of shape (examples, t)).
        """
        if ensemble.columns.sparse:
            yield from self._sparse(ensemble, every, first, groups)
            return
        kept = self._places(ensemble, every)
        lines = self._room.lines[: self._keys.size].reshape(-1, ensemble.columns.lines[0].shape[1])
        which = slice(kept.size) if np.array_equal(kept, np.arange(kept.size)) else kept
        for rows, weights in groups:
            weights = np.ascontiguousarray(weights.T, dtype=lines.dtype)
            part, some = (lines, which) if rows is None else (lines[which].take(rows, axis=1), slice(kept.size))
            yield [_block(part, some, weight, first, self.n_jobs) for weight in weights]

    def scales(self, ensemble: Ensemble, every: Array) -> tuple[Array, Array] | None:
        """Scale and centre of columns at these places of the ensemble; None where they are used as they are."""
        if ensemble.columns.sparse:
            return None
        kept = self._places(ensemble, every)
        return self._scale[kept], self._centre[kept]

    def _places(self, ensemble: Ensemble, every: Array) -> Array:
        """Where columns are kept; new ones are prepared, and those no longer active dropped when there is no room."""
        keys = ensemble.keys[every]
        place = places(keys, self._keys)
        new = every[place < 0]
        if new.size:
            lines, which = ensemble.columns.lines
            if not self._room.fits(self._keys.size, new.size):
                kept = places(self._keys, ensemble.keys) >= 0
                old = self._room.lines[: kept.size][kept].reshape(-1, lines.shape[1])
                self._room = Room(old, new.size, self.dtype)
                self._keys, self._scale, self._centre = self._keys[kept], self._scale[kept], self._centre[kept]
            centre, scale = np.empty((2, new.size))
            kernels.columns.condense(lines, which[new], self._room.next(new.size), centre, scale)
            self._keys = np.concatenate([self._keys, ensemble.keys[new]])
            self._scale, self._centre = np.concatenate([self._scale, scale]), np.concatenate([self._centre, centre])
            place = places(keys, self._keys)
        return place

    @staticmethod
    def _sparse(
        ensemble: Ensemble, every: Array, first: int, groups: Iterator[tuple[Array | None, Array]]
    ) -> Iterator[list[Array]]:
        whole, size = ensemble.columns, 1 + every.size
        place = np.full(ensemble.size, -1)
        place[every] = 1 + np.arange(every.size)
        if 2 * every.size < ensemble.size:  # storing all of them by rows would take longer than the products
            whole, place, every = Columns(whole.some(every)), 1 + np.arange(every.size), np.arange(every.size)
        for rows, weights in groups:
            columns = whole if rows is None else whole.rows(rows)
            edges, total = columns.correlate(weights)[every], over_examples(weights)
            blocks = []
            for t, weight in enumerate(np.ascontiguousarray(weights.T)):
                block = np.zeros((size, size - first))
                by_rows = columns.by_rows
                kernels.columns.sparse_inner(by_rows.data, by_rows.indices, by_rows.indptr, weight, place, first, block)
                block[0] = np.append(total[t], edges[:, t])[first:]
                if first == 0:
                    block[1:, 0] = edges[:, t]
                blocks.append(block)
            yield blocks


def _block(lines: Array, which: Array | slice, weight: Array, first: int, n_jobs: int = 1) -> Array:
    """Weighted products of (ones, *lines[which]) with those from `first` on."""
    n = which.stop if isinstance(which, slice) else which.size
    block, edge = np.zeros((1 + n, 1 + n - first), lines.dtype), np.zeros(n, lines.dtype)
    symmetric = first <= 1 and weight.min(initial=0.0) >= 0.0

    def products(span: slice) -> tuple[Array, Array]:
        sums, inner = np.zeros(n, lines.dtype), np.zeros((n, 1 + n - max(first, 1)), lines.dtype)
        for start in range(span.start, span.stop, EXAMPLES):
            examples = slice(start, min(start + EXAMPLES, span.stop))
            part, some = lines[which, examples], weight[examples]
            sums += part @ some
            scaled = part * (np.sqrt(some) if symmetric else some)
            # of the same matrix twice BLAS sees the symmetry, and does half the work
            inner += scaled @ (scaled.T if symmetric else part[max(first - 1, 0) :].T)
        return sums, inner

    few = block.size * weight.size < WORTH_THREADS
    for sums, inner in each(products, spans(weight.size), 1 if few else n_jobs):
        edge += sums
        block[1:, max(1 - first, 0) :] += inner
    block[0] = np.append(weight.sum(), edge)[first:]
    if first == 0:
        block[1:, 0] = edge
    return block


def places(keys: Array, among: Array) -> Array:
    """Where each key is among others; −1 if it is not there."""
    if among.size == 0:
        return np.full(keys.size, -1)
    order = np.argsort(among)
    place = order.take(np.searchsorted(among, keys, sorter=order), mode="clip")
    place[among[place] != keys] = -1
    return place
