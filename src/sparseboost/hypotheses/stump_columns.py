"""Outputs of stumps, written out only for those who need every number."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseboost import kernels
from sparseboost.hypotheses.base import Array
from sparseboost.hypotheses.columns import Columns

if TYPE_CHECKING:
    from sparseboost.hypotheses.stump_keys import StumpKeys


class StumpColumns(Columns):
    """Columns of stumps: scores and correlations come from the codes of their inputs, a byte or two per example.

    All stumps of one input together are a table with a number per code, so scores cost one look-up per example and
    input, and correlations one addition.
    """

    stumps: StumpKeys
    keys: Array

    def __init__(self, stumps: StumpKeys, keys: Array) -> None:
        vars(self).update(stumps=stumps, keys=keys)  # frozen, and `matrix` waits until it is asked for

    @property
    def size(self) -> int:
        return int(self.keys.size)

    @cached_property
    def matrix(self) -> Any:
        """The outputs, in column order."""
        bins, plain = self.stumps.bins, self.keys < self.stumps.first_set
        coded = (bins.codes.ravel(), bins.indices, bins.indptr, bins.zero_code)
        out = np.empty((self.size, bins.shape[0]))
        part = out if plain.all() else np.empty((int(plain.sum()), bins.shape[0]))
        kernels.stumps.interval_columns(*coded, *self.stumps.rules(self.keys[plain]), part)
        if part is not out:
            out[plain] = part
            part = np.empty((int((~plain).sum()), bins.shape[0]))
            kernels.stumps.table_columns(*coded, *self.stumps.set_tables(self.keys[~plain]), part)
            out[~plain] = part
        return out.T

    def dot(self, coef: Array) -> Array:
        used = np.any(coef != 0, axis=1)
        if self._written or np.any(self.keys >= self.stumps.first_set):
            return super().dot(coef)
        bins, rules = self.stumps.bins, self.stumps.rules(self.keys[used])
        table = np.zeros((bins.starts[-1], coef.shape[1]))
        kernels.stumps.add_tables(bins.starts, *rules, np.ascontiguousarray(coef[used]), table)
        return bins.look_up(table, np.unique(rules.inputs))

    def correlate(self, force: Array) -> Array:
        if self._written or np.any(self.keys >= self.stumps.first_set):
            return super().correlate(force)
        bins, rules = self.stumps.bins, self.stumps.rules(self.keys)
        force = np.ascontiguousarray(force, dtype=np.float64)
        sums = bins.sums_of(force, force.sum(axis=0), np.unique(rules.inputs))
        out = np.empty((self.size, force.shape[1]))
        kernels.stumps.table_sums(bins.starts, *rules, sums, out)
        return out

    @property
    def _written(self) -> bool:
        return "matrix" in vars(self)

    def append(self, other: Columns) -> Columns:
        if self.size == 0 or not isinstance(other, StumpColumns) or other.stumps is not self.stumps:
            return super().append(other)
        joined = StumpColumns(self.stumps, np.concatenate([self.keys, other.keys]))
        if self._written:
            vars(joined)["matrix"] = super().append(other).matrix
        return joined

    def keep(self, mask: Array) -> Columns:
        kept = StumpColumns(self.stumps, self.keys[mask])
        if self._written:
            vars(kept)["matrix"] = super().keep(mask).matrix
        return kept
