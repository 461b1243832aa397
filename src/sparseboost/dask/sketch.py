"""Bin edges that all blocks of rows share, from a summary of every block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.dask.dictionaries import SummedBins
from sparseboost.hypotheses import Context
from sparseboost.hypotheses.stump_bins import BLOCK_ENTRIES, Bins, blocks, cut_sorted, layout, make_bins
from sparseboost.hypotheses.stumps import LARGEST_BINS, Stumps

Array = np.ndarray
FINENESS = 16  # bins of a summary per bin wanted: an edge is off by at most a sixteenth of a bin per merge
FEWEST = 1024  # inputs with fewer values than this are summarised without loss


@dataclass(frozen=True)
class Sketch:
    """Values of every input and the weight they stand for, input after input.

    Attributes
    ----------
    starts : array of shape (d + 1,)
        Where the values of every input start.
    values, mass : array
        In rising order per input; a value stands for those between it and the one before.
    missing : array of bool of shape (d,)
        Whether an input has missing values.
    whole : bool
        Whether every value is there, so that none stands for others.
    """

    starts: Array
    values: Array
    mass: Array
    missing: Array
    whole: bool

    @property
    def owner(self) -> Array:
        """The input of every value."""
        return np.repeat(np.arange(self.missing.size), np.diff(self.starts))

    def cut(self, most: int) -> tuple[Array, Array, Array]:
        """How many bins every input has, at most `most`, and their smallest and largest values."""
        none = np.zeros(self.missing.size)
        return cut_sorted(self.values, self.mass, self.starts, none > 0, none, np.full(self.missing.size, most))


def sketch(X: Any, weight: Array, most: int) -> Sketch:
    """Summary of one block with at most `most` values per input."""
    bins = make_bins(X, Context(weight=weight), most)
    force = np.ascontiguousarray(weight[:, None], dtype=np.float64)
    mass = bins.sums(force, force.sum(axis=0), 0, bins.shape[1])[:, 0]
    known = ~np.isnan(bins.highs)  # the bin of missing values has no edges
    starts = np.concatenate([[0], np.cumsum(bins.n_values)])
    whole = bool(np.array_equal(bins.lows[known], bins.highs[known]))
    return Sketch(starts, bins.highs[known], mass[known], bins.has_others, whole)


class Merge:
    """Makes one sketch of several, with at most `most` values per input."""

    __name__ = "merge"

    def __init__(self, most: int) -> None:
        self.most = most

    def __call__(self, *parts: Sketch) -> Sketch:
        owner = np.concatenate([part.owner for part in parts])
        values, mass = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "mass"))
        order = np.lexsort((values, owner))
        owner, values, mass = owner[order], values[order], mass[order]
        new = np.ones(values.size, dtype=bool)
        new[1:] = (np.diff(values) != 0) | (np.diff(owner) != 0)
        first = np.flatnonzero(new)
        d = parts[0].missing.size
        joined = Sketch(
            np.searchsorted(owner[first], np.arange(d + 1)),
            values[first],
            np.add.reduceat(mass, first) if first.size else mass,
            np.any([part.missing for part in parts], axis=0),
            all(part.whole for part in parts),
        )
        return joined if np.diff(joined.starts).max(initial=0) <= self.most else self._coarser(joined)

    def _coarser(self, fine: Sketch) -> Sketch:
        n_values, _, highs = fine.cut(self.most)
        starts = np.concatenate([[0], np.cumsum(n_values)])
        owner = np.repeat(np.arange(n_values.size), n_values)
        # values and edges in one order: input, then value; an edge takes all mass since the edge before it
        keys = np.concatenate([fine.owner, owner])
        edge = np.repeat([0, 1], [fine.values.size, highs.size])
        order = np.lexsort((edge, np.concatenate([fine.values, highs]), keys))
        passed = np.cumsum(np.concatenate([fine.mass, np.zeros(highs.size)])[order])[edge[order] == 1]
        return Sketch(starts, highs, np.diff(passed, prepend=0.0), fine.missing, False)


def most_values(space: Stumps) -> int:
    """How many values per input a sketch has room for."""
    return LARGEST_BINS if space.thresholds == "exact" else max(FINENESS * space.n_bins, FEWEST)


def shared_bins(found: Sketch, m: int, space: Stumps) -> SummedBins:
    """The bins that all m rows share; if the sketch is not whole, `encoded` finds their smallest values.

    Raises
    ------
    ValueError
        If all thresholds are wanted and an input has too many.
    """
    exact = space.thresholds == "exact"
    if exact and not found.whole:
        j = int(np.diff(found.starts).argmax())
        raise ValueError(
            f"hypotheses='stumps' has all thresholds, and input {j} has more than {LARGEST_BINS} different values over "
            f"all partitions; use Stumps('quantile', n_bins=256)."
        )
    n_values, lows, highs = found.cut(LARGEST_BINS if exact else space.n_bins)
    starts, lows, highs, _ = layout(n_values, found.missing, lows, highs)
    none = np.empty(0, dtype=np.int64)
    d = found.missing.size
    return SummedBins((m, d), none, none, none, none, starts, n_values, lows, highs, np.zeros(d, dtype=bool))


def encoded(X: Any, shared: Bins) -> Bins:
    """A block in the bins that all share."""
    m, d = X.shape
    kind = np.min_scalar_type(int(np.diff(shared.starts).max(initial=1)) - 1)
    common = (shared.starts, shared.n_values, shared.lows, shared.highs, shared.categorical)
    none = np.empty(0, dtype=np.int64)
    if sp.issparse(X):
        X = X.tocsc().astype(np.float64)
        X.sum_duplicates()
        edges = (shared.starts, shared.highs, shared.n_values)
        indptr, indices = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
        codes, zeros = np.empty(X.data.size, dtype=kind), np.empty(d, dtype=np.int64)
        kernels.stumps.encode(X.data, indptr, *edges, codes)
        kernels.stumps.encode(np.zeros(d), np.arange(d + 1), *edges, zeros)
        return Bins((m, d), codes, indices, indptr, np.where(np.diff(indptr) < m, zeros, -1), *common)
    codes = np.empty((d, m), dtype=kind)
    for first, last in blocks(np.full(d, max(m, 1)), BLOCK_ENTRIES):
        part = np.array(X[:, first:last].T, dtype=np.float64, order="C")
        own = np.empty(part.size, dtype=kind)
        edges = (shared.starts[first : last + 1], shared.highs, shared.n_values[first:last])
        kernels.stumps.encode(part.ravel(), np.arange(last - first + 1) * m, *edges, own)
        codes[first:last] = own.reshape(part.shape)
    return Bins((m, d), codes, none.astype(np.int32), none, none, *common)


def smallest(X: Any, bins: Bins) -> Array:
    """The smallest value of a block in every bin; inf where it has none."""
    lows, starts = np.full(bins.lows.size, np.inf), bins.starts[:-1]
    if bins.sparse:
        X = X.tocsc()
        X.sum_duplicates()
        np.fmin.at(lows, np.repeat(starts, np.diff(bins.indptr)) + bins.codes, X.data.astype(np.float64))
        implicit = bins.zero_code >= 0
        np.fmin.at(lows, (starts + bins.zero_code)[implicit], 0.0)
        return lows
    for j, start in enumerate(starts):
        np.fmin.at(lows, bins.codes[j] + start, np.asarray(X[:, j], dtype=np.float64))
    return lows
