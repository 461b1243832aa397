"""Active columns prepared for many weighted products with each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Columns

Array = np.ndarray


class Panel:
    """Columns h_j = scale_j · p_j + centre_j with p_j in few digits, with which BLAS is fast.

    A Hessian does not need more; centring first saves those that a large mean would take. Sparse columns are used as
    they are.
    """

    def __init__(self, dtype: type = np.float64) -> None:
        self._keys = np.empty(0, dtype=np.int64)
        self._values: Array = np.empty((0, 0), dtype)
        self._scale = self._centre = np.empty(0)

    def products(
        self, ensemble: Ensemble, every: Array, first: int, groups: Iterator[tuple[Array | None, Array]]
    ) -> Iterator[list[Array]]:
        """Per group of examples and weightings, Σ_i weight_i p_j(x_i) p_l(x_i) for j in (ones, *every), l from `first`.

        `every` are places in the ensemble; a group is (examples or None for all, weights of shape (examples, t)).
        """
        if sp.issparse(ensemble.columns.matrix):
            yield from self._sparse(ensemble, every, first, groups)
            return
        kept = self._places(ensemble, every)
        values = np.ones((1 + kept.size, ensemble.columns.matrix.shape[0]), self._values.dtype)
        if kept.size:
            values[1:] = self._values[kept]
        for rows, weights in groups:
            part = values if rows is None else values.take(rows, axis=1)
            by_weight = np.ascontiguousarray(weights.T, dtype=values.dtype)
            yield [(part * weight) @ part[first:].T for weight in by_weight]

    def scales(self, ensemble: Ensemble, every: Array) -> tuple[Array, Array] | None:
        """Scale and centre of columns at these places of the ensemble; None where they are used as they are."""
        if sp.issparse(ensemble.columns.matrix):
            return None
        kept = self._places(ensemble, every)
        return self._scale[kept], self._centre[kept]

    def _places(self, ensemble: Ensemble, every: Array) -> Array:
        """Where columns are kept; new ones are prepared and those no longer active dropped."""
        keys = ensemble.keys[every]
        place = places(keys, self._keys)
        new = every[place < 0]
        if new.size:
            kept = places(self._keys, ensemble.keys) >= 0
            fresh = ensemble.columns.matrix.T[new]
            centre = fresh.mean(axis=1)
            fresh -= centre[:, None]
            scale = np.maximum(np.maximum(fresh.max(axis=1), -fresh.min(axis=1)), np.finfo(float).tiny)
            fresh /= scale[:, None]
            old = self._values[kept].reshape(-1, fresh.shape[1])
            self._values = np.concatenate([old, fresh.astype(self._values.dtype)])
            self._keys = np.concatenate([self._keys[kept], ensemble.keys[new]])
            self._scale = np.concatenate([self._scale[kept], scale])
            self._centre = np.concatenate([self._centre[kept], centre])
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
            whole, place, every = Columns(whole.matrix[:, every]), 1 + np.arange(every.size), np.arange(every.size)
        for rows, weights in groups:
            columns = whole if rows is None else whole.rows(rows)
            edges, total = columns.correlate(weights)[every], weights.sum(axis=0)
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


def places(keys: Array, among: Array) -> Array:
    """Where each key is among others; −1 if it is not there."""
    if among.size == 0:
        return np.full(keys.size, -1)
    order = np.argsort(among)
    place = order.take(np.searchsorted(among, keys, sorter=order), mode="clip")
    place[among[place] != keys] = -1
    return place
