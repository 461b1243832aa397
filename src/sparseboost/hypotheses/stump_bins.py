"""Inputs as bins: sorted once, and from then on every value is a small integer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.hypotheses.base import Array, Context
from sparseboost.hypotheses.parts import each

BLOCK_ENTRIES = 250_000  # of one block of inputs: enough to forget the call, and few enough for several threads
SAMPLE = 101  # rows that show which code is common


def blocks(sizes: Array, limit: int = BLOCK_ENTRIES) -> list[tuple[int, int]]:
    """Ranges of inputs whose sizes sum to about `limit` each."""
    ends = np.cumsum(sizes)
    parts, first = [], 0
    while first < ends.size:
        done = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + limit, side="right")))
        parts.append((first, last))
        first = last
    return parts


class Entries(NamedTuple):
    """The rows of every input whose code is not its usual one, in one list.

    Attributes
    ----------
    codes, indices : array of shape (entries,)
        Code and row of every entry. Where nothing is listed, the codes of all rows of one input after the other, and
        no indices.
    indptr : array of shape (d + 1,)
        Range of the entries of every input.
    usual : array of shape (d,)
        Code of the rows that are not listed (−1: all are). Empty where nothing is listed.
    """

    codes: Array
    indices: Array
    indptr: Array
    usual: Array


@dataclass(frozen=True)
class Bins:
    """Every input as codes 0, 1, … of its bins.

    Attributes
    ----------
    shape : (m, d)
        Of the data.
    codes : array of shape (d, m), or (entries,) for sparse data
        Small unsigned integers.
    indices, indptr, zero_code : arrays
        Rows and ranges of the entries of sparse data, and the code of implicit zeros (−1: there are none); all empty
        for dense data.
    starts : array of shape (d + 1,)
        Where the bins of every input start, the bin for rows without a known value included.
    n_values : array of shape (d,)
        How many bins of values every input has.
    lows, highs : array of shape (starts[-1],)
        Smallest and largest value in every bin; the code of the category for a categorical input.
    categorical : array of bool of shape (d,)
        Which inputs are categorical. A missing value is one more category of theirs.
    """

    shape: tuple[int, int]
    codes: Array
    indices: Array
    indptr: Array
    zero_code: Array
    starts: Array
    n_values: Array
    lows: Array
    highs: Array
    categorical: Array

    @property
    def sparse(self) -> bool:
        """Whether only stored entries have codes."""
        return self.zero_code.size > 0

    @cached_property
    def has_others(self) -> Array:
        """Whether an input has rows without a known value: missing ones, or none of the categories."""
        return np.diff(self.starts) > self.n_values

    @cached_property
    def entries(self) -> Entries:
        """The codes as sums over examples read them: a list of entries where most rows share the code of their input.

        Sums over the rows that are not listed are what the others leave of the total.
        """
        if self.sparse:
            return Entries(self.codes, self.indices, self.indptr, self.zero_code)
        listed = _listed(self.codes) if self.codes.size else None
        return listed or Entries(self.codes.reshape(-1), self.indices, self.indptr, self.zero_code)

    @cached_property
    def work(self) -> Array:
        """Entries per input."""
        return np.diff(self.entries.indptr) if self.entries.usual.size else np.full(self.shape[1], self.shape[0])

    def sums(self, force: Array, total: Array, first: int, last: int) -> Array:
        """Sum of force in every bin of inputs first ≤ j < last, shape (bins, k)."""
        out = np.zeros((self.starts[last] - self.starts[first], force.shape[1]))
        return self._add_sums(force, total, np.arange(first, last), int(self.starts[first]), out)

    def sums_of(self, force: Array, total: Array, inputs: Array) -> Array:
        """Sum of force in every bin of these inputs, among zeros for the bins of others."""
        return self._add_sums(force, total, inputs, 0, np.zeros((self.starts[-1], force.shape[1])))

    def _add_sums(self, force: Array, total: Array, inputs: Array, base: int, out: Array) -> Array:
        if self.entries.usual.size:
            kernels.stumps.sparse_histogram(*self.entries, force, total, self.starts, inputs, base, out)
        else:
            kernels.stumps.histogram(self.codes, force, self.starts, inputs, base, out)
        return out

    def look_up(self, table: Array, inputs: Array) -> Array:
        """Σ_j table[bin of x_ij] over these inputs, shape (m, k)."""
        out = np.zeros((self.shape[0], table.shape[1]))
        usual = self.entries.usual
        if usual.size:
            out += table[(self.starts[inputs] + usual[inputs])[usual[inputs] >= 0]].sum(axis=0)
            kernels.stumps.sparse_look_up(*self.entries, self.starts, inputs, table, out)
        else:
            kernels.stumps.look_up(self.codes, self.starts, inputs, table, out)
        return out


def _listed(codes: Array) -> Entries | None:
    """The entries that differ from the code which most rows of their input have; None unless they are the minority."""
    m = codes.shape[1]
    some = np.sort(codes[:, :: m // SAMPLE + 1], axis=1)
    middle = some[:, some.shape[1] // 2]  # what most rows have is in the middle of them
    usual = codes == middle[:, None]
    count = np.count_nonzero(usual, axis=1)
    common = 2 * count > m
    if 2 * count[common].sum() <= codes.size:
        return None
    usual[~common] = False
    places = np.flatnonzero(~usual)
    indptr = np.concatenate([[0], np.cumsum(m - np.where(common, count, 0))])
    return Entries(
        codes.reshape(-1)[places], (places % m).astype(np.int32), indptr, np.where(common, middle.astype(np.int64), -1)
    )


def make_bins(X: Any, context: Context, most: int) -> Bins:
    """Bins of every input, at most `most` for a numeric one; by weight where examples have weights."""
    categorical = np.zeros(X.shape[1], dtype=bool)
    categorical[list(context.categories)] = True
    limits = np.where(categorical, X.shape[0] + 1, most)
    weight = context.weight
    if weight is not None and np.all(weight == weight[0]):
        weight = None
    make = _sparse_bins if sp.issparse(X) else _dense_bins
    return make(X, context, limits, weight, categorical)


def _as_categories(values: Array, labels: Sequence[Any]) -> Array:
    """Codes with one more for missing values, and NaN for what is no category."""
    n = len(labels)
    known = (values >= 0) & (values < n) & (values == np.floor(values))
    return np.where(np.isnan(values), n, np.where(known, values, np.nan))


def cut_sorted(
    ordered: Array, mass: Array, indptr: Array, implicit: Array, zero_mass: Array, limits: Array
) -> tuple[Array, Array, Array]:
    """Number of bins per input, and their smallest and largest values, one input after the other."""
    n_values = np.empty(limits.size, dtype=np.int64)
    lengths = np.minimum(np.diff(indptr) + implicit, limits)
    room = np.concatenate([[0], np.cumsum(lengths)])
    lows, highs = np.empty(room[-1]), np.empty(room[-1])
    kernels.stumps.cut(ordered, mass, indptr, implicit, zero_mass, limits, room, lows, highs, n_values)
    kept = np.arange(room[-1]) - np.repeat(room[:-1], lengths) < np.repeat(n_values, lengths)
    return n_values, lows[kept], highs[kept]


def layout(n_values: Array, others: Array, lows: Array, highs: Array) -> tuple[Array, Array, Array, Any]:
    """Starts of the bins, their edges with room for the bin of other rows, and the smallest type for the codes."""
    starts = np.concatenate([[0], np.cumsum(n_values + others)])
    place = np.arange(lows.size) + np.repeat(np.cumsum(others) - others, n_values)
    spread_lows, spread_highs = np.full(starts[-1], np.nan), np.full(starts[-1], np.nan)
    spread_lows[place], spread_highs[place] = lows, highs
    widest = int(np.diff(starts).max(initial=1))
    return starts, spread_lows, spread_highs, np.min_scalar_type(widest - 1)


def _dense_bins(X: Any, context: Context, limits: Array, weight: Array | None, categorical: Array) -> Bins:
    m, d = X.shape
    X = np.asarray(X)

    def work(part: tuple[int, int]) -> tuple[Array, ...]:
        first, last = part
        block = np.array(X[:, first:last].T, dtype=np.float64, order="C")
        for j in range(first, last):
            if categorical[j]:
                block[j - first] = _as_categories(block[j - first], context.categories[j])
        if weight is None:
            ordered, mass = np.sort(block, axis=1), np.empty(0)
        else:
            order = np.argsort(block, axis=1, kind="stable")
            ordered, mass = np.take_along_axis(block, order, axis=1), weight[order].ravel()
        n = last - first
        indptr = np.arange(n + 1) * m
        nothing = np.zeros(n)
        n_values, lows, highs = cut_sorted(ordered.ravel(), mass, indptr, nothing > 0, nothing, limits[first:last])
        others = np.isnan(ordered[:, -1]) if m else nothing > 0
        starts, lows, highs, kind = layout(n_values, others, lows, highs)
        codes = np.empty(block.size, dtype=kind)
        kernels.stumps.encode(block.ravel(), indptr, starts, highs, n_values, codes)
        return codes.reshape(n, m), n_values, np.diff(starts), lows, highs

    parts = blocks(np.full(d, m))
    if not parts:
        parts = [(0, 0)]
    codes, n_values, widths, lows, highs = (
        np.concatenate(list(piece)) for piece in zip(*each(work, parts, context.n_jobs), strict=True)
    )
    starts = np.concatenate([[0], np.cumsum(widths)])
    none = np.empty(0, dtype=np.int64)
    return Bins((m, d), codes, none.astype(np.int32), none, none, starts, n_values, lows, highs, categorical)


def _sparse_bins(X: Any, context: Context, limits: Array, weight: Array | None, categorical: Array) -> Bins:
    m, d = X.shape
    X = X.tocsc().astype(np.float64)
    if not X.has_canonical_format:  # entries given twice are summed, in a copy: the input is the user's
        X = X.copy()
        X.sum_duplicates()
    indptr, indices = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
    data, owner = X.data, np.repeat(np.arange(d), np.diff(indptr))
    if categorical.any():
        data = data.copy()
        for j in np.flatnonzero(categorical):
            own = slice(indptr[j], indptr[j + 1])
            data[own] = _as_categories(data[own], context.categories[int(j)])
    implicit = np.diff(indptr) < m
    order = np.lexsort((data, owner))
    if weight is None:
        mass, zero_mass = np.empty(0), (m - np.diff(indptr)).astype(float)
    else:
        mass = weight[indices[order]]
        zero_mass = weight.sum() - np.bincount(owner, weights=weight[indices], minlength=d)
    n_values, lows, highs = cut_sorted(data[order], mass, indptr, implicit, zero_mass, limits)
    others = np.zeros(d, dtype=bool)
    others[owner[np.isnan(data)]] = True
    starts, lows, highs, kind = layout(n_values, others, lows, highs)
    codes = np.empty(data.size, dtype=kind)
    kernels.stumps.encode(data, indptr, starts, highs, n_values, codes)
    zeros = np.empty(d, dtype=np.int64)
    kernels.stumps.encode(np.zeros(d), np.arange(d + 1), starts, highs, n_values, zeros)
    zero_code = np.where(implicit, zeros, -1)
    return Bins((m, d), codes, indices, indptr, zero_code, starts, n_values, lows, highs, categorical)
