"""Dictionaries over blocks of rows: a search is a map over the blocks and a sum."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sparseboost.dask import rows
from sparseboost.dask.problem import RemoteColumns, Rows
from sparseboost.hypotheses import Candidates, Columns, Context, FeatureDictionary, StumpDictionary
from sparseboost.hypotheses.stump_bins import Bins
from sparseboost.hypotheses.stump_keys import StumpKeys
from sparseboost.hypotheses.stumps import Stumps

Array = np.ndarray


class RemoteFeatures(FeatureDictionary):
    """All inputs, over blocks of rows."""

    remembers = False  # forces are on the workers, and so are their changes

    def __init__(self, shape: tuple[int, int], blocks: Rows, context: Context) -> None:
        super().__init__(np.broadcast_to(0.0, shape), context)
        self._blocks = blocks

    def correlate(self, force: Any) -> Array:
        return force.correlate()

    def moments(self) -> tuple[Array, Array]:
        """Σ_i s_i x_ij and Σ_i s_i x_ij² of every input."""
        mean, energy = self._blocks.total(rows.moments)
        return mean[:, 0], energy

    @cached_property
    def stored(self) -> Array:
        """Numbers that every column stores: entries of sparse data, rows of dense data."""
        return self._blocks.total(rows.stored_entries)[0]

    def columns(self, keys: Array) -> Columns:
        return RemoteColumns(keys)


class SummedBins(Bins):
    """Bins without codes, that know the sums of force in them which were asked for last."""

    def hold(self, sums: Array) -> None:
        """Keep sums for the search that follows."""
        vars(self)["held"] = sums

    def sums(self, force: Array, total: Array, first: int, last: int) -> Array:
        return vars(self)["held"][self.starts[first] : self.starts[last]]


class RemoteStumps(StumpDictionary):
    """All stumps, over blocks of rows that share their bins: sums per bin are all that a search needs."""

    def __init__(self, bins: SummedBins, context: Context, space: Stumps, blocks: Rows) -> None:
        if space.standardize:
            bins.hold(blocks.total(rows.bin_weights)[0])
        super().__init__(StumpKeys(bins, context, space))

    def search(self, force: Any, *arguments: Any, **options: Any) -> Candidates:
        sums, total, force.sums = force.total(rows.bin_sums)
        self.bins.hold(sums)  # type: ignore[attr-defined]
        return super().search(total[None, :], *arguments, **options)

    def columns(self, keys: Array) -> Columns:
        return RemoteColumns(keys)
