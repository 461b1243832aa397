"""Scaled inputs, and one level of the tree of their products: dense by matrix products, sparse by a compiled walk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.hypotheses.product_gauge import Gauge

Array = np.ndarray
BLOCK_ENTRIES = 1_000_000  # of one factor of a matrix product: 8 MB
OUTPUT_ENTRIES = 65_536  # products that one walk may return
OUTPUT_VALUES = 1_000_000  # that are not zero, of those products: 20 MB
WORK = 5_000_000  # additions of one walk, some milliseconds: then the threshold is looked at again


class Support(NamedTuple):
    """Columns of sparse products: their rows, and there the values of the last factor and of the product itself."""

    indptr: Array
    indices: Array
    entries: Array
    values: Array


NO_SUPPORT = Support(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Frontier:
    """Products of the same degree, in groups that share all factors but one.

    Attributes
    ----------
    prefix : array of int, shape (groups, degree − 1)
        The factors a group shares.
    base : array of shape (groups,)
        Cost of those.
    start : array of int, shape (groups + 1,)
        Where groups begin among the members.
    member, bound, cost : array of shape (n,)
        The other factor; what no multiple of the product exceeds, ascending within a group; the product's cost.
    at, support : array of shape (n,), Support
        Where sparse products are not zero: their columns.
    """

    prefix: Array
    base: Array
    start: Array
    member: Array
    bound: Array
    cost: Array
    at: Array
    support: Support

    @property
    def degree(self) -> int:
        """Number of factors."""
        return self.prefix.shape[1] + 1


class Found(NamedTuple):
    """Products of two members of a group with what it shares: positions, Σ force·h and Σ |force·h|, and what is left.

    `group` and `top` say where to go on; no group is left when `group` is their number.
    """

    left: Array
    right: Array
    correlation: Array
    absolute: Array
    visited: int
    group: int
    top: int
    support: Support


class Inputs(ABC):
    """Scaled values of the usable inputs.

    Attributes
    ----------
    matrix : array in column order, or csc_array
        Scaled values.
    signed : bool
        Whether some are negative.
    largest : float
        Largest absolute value, at least 1: what one more factor can multiply a product by.
    support : Support
        The columns where they are sparse.
    """

    matrix: Any
    signed: bool
    largest: float
    support: Support

    def columns(self, factors: Sequence[Sequence[int]] | Array) -> Any:
        """Outputs of these products, shape (m, n)."""
        return multiply(self.matrix, factors)

    @abstractmethod
    def single(self, force: Array) -> tuple[Array, Array]:
        """Σ force·x and Σ |force·x| of every input, each of shape (d, k)."""

    @abstractmethod
    def expand(
        self, frontier: Frontier, force: Array, gauge: Gauge, threshold: float, limit: float, powers: bool,
        leaf: bool, group: int, top: int,
    ) -> Found:  # fmt: skip
        """Products of degree one more whose size over cost may exceed the limit, from a part of the frontier."""


def bind_inputs(matrix: Any, seen: Array | None) -> Inputs:
    """Dense or sparse inputs; only the examples in `seen`, if given, have weight and count for their range."""
    values = matrix if seen is None else matrix[seen]
    values = values.data if sp.issparse(matrix) else values
    kind = SparseInputs if sp.issparse(matrix) else DenseInputs
    inputs = kind()
    inputs.matrix = matrix
    inputs.support = Support(*flat(matrix), matrix.data) if sp.issparse(matrix) else NO_SUPPORT
    inputs.signed = bool(values.min(initial=0.0) < 0.0)
    inputs.largest = max(1.0, float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    return inputs


def multiply(matrix: Any, factors: Sequence[Sequence[int]] | Array) -> Any:
    """Products of columns of a matrix: an array in column order, or a CSC matrix where the matrix is one."""
    degrees = np.array([len(own) for own in factors], dtype=np.int64)
    out = np.empty((0 if sp.issparse(matrix) else matrix.shape[0], len(factors)), order="F")
    parts = [sp.csc_array((matrix.shape[0], 0))]
    for degree in np.unique(degrees):
        where = np.flatnonzero(degrees == degree)
        table = np.array([factors[int(n)] for n in where], dtype=np.int64)
        if sp.issparse(matrix):
            indptr, indices, data = flat(matrix)
            ends = np.zeros(len(where) + 1, dtype=np.int64)
            values, rows = kernels.products.multiply(data, indices, indptr, table, ends[1:])
            parts.append(sp.csc_array((values, rows, ends), shape=(matrix.shape[0], len(where))))
            continue
        out[:, where] = matrix[:, table[:, 0]]
        for position in range(1, degree):
            out[:, where] *= matrix[:, table[:, position]]
    if not sp.issparse(matrix):
        return out
    if len(parts) == 2:
        return parts[1]
    order = np.argsort(np.argsort(degrees, kind="stable"), kind="stable")
    return sp.csc_array(sp.hstack(parts, format="csc")[:, order])


def flat(matrix: Any) -> tuple[Array, Array, Array]:
    """(indptr, indices, data) with the integer types that kernels are compiled for."""
    return matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False), matrix.data


class DenseInputs(Inputs):
    """Inputs in a dense matrix; correlations of whole blocks of products are one matrix product."""

    def single(self, force: Array) -> tuple[Array, Array]:
        absolute = np.empty((self.matrix.shape[1], force.shape[1]))
        step = max(1, BLOCK_ENTRIES // max(force.shape[0], 1))
        for first in range(0, len(absolute), step):
            absolute[first : first + step] = np.abs(self.matrix[:, first : first + step]).T @ np.abs(force)
        return self.matrix.T @ force, absolute

    def expand(
        self, frontier: Frontier, force: Array, gauge: Gauge, threshold: float, limit: float, powers: bool,
        leaf: bool, group: int, top: int,
    ) -> Found:  # fmt: skip
        m, k = force.shape
        low, high = int(frontier.start[group]), int(frontier.start[group + 1])
        low += int(np.searchsorted(frontier.bound[low:high], threshold, side="right"))
        top = high - 1 if top < 0 else top
        width = max(1, min(BLOCK_ENTRIES // max(m * k, 1), int(np.sqrt(BLOCK_ENTRIES // k))))
        first = max(low, top - width + 1)
        parts, visited = [nothing(k)], 0
        if first <= top:
            pushed = self._pushed(frontier, group, slice(first, top + 1), force, leaf)
            for begin in range(first, high, width):
                grid = np.arange(first, top + 1)[:, None], np.arange(begin, min(begin + width, high))
                sums = self._against(frontier.member[grid[1]], pushed)
                own = grid[0] <= grid[1] if powers else grid[0] < grid[1]
                visited += int(own.sum())
                table = [part.reshape(k, -1).T for part in sums]
                extent = gauge.reach(table[0]) if leaf else gauge.extent(table[0], table[1], self.signed)
                large = gauge.size(extent).reshape(own.shape) > limit * joint_cost(frontier, group, *grid)
                where = np.nonzero(own & large)
                chosen = [part.reshape(k, *own.shape)[:, where[0], where[1]].T for part in sums]
                parts.append([where[0] + first, where[1] + begin, chosen[0], chosen[-1]])
        done = first <= low
        left, right, correlation, absolute = (np.concatenate(part) for part in zip(*parts, strict=True))
        after = (group + 1, -1) if done else (group, first - 1)
        return Found(left, right, correlation, absolute, visited, after[0], after[1], NO_SUPPORT)

    def _pushed(self, frontier: Frontier, group: int, part: slice, force: Array, leaf: bool) -> list[Array]:
        """Products of the left members times the force, and unless they are leaves their sizes: (k·left, m) each."""
        columns = self.matrix.T[frontier.member[part]]  # a column of the matrix is one piece of memory
        for j in frontier.prefix[group]:
            columns *= self.matrix[:, j]
        pushed = (force.T[:, None, :] * columns).reshape(-1, len(force))
        return [pushed] if leaf else [pushed, np.abs(pushed)]

    def _against(self, members: Array, pushed: list[Array]) -> list[Array]:
        """Sums over examples with the right members: (k·left, right) each."""
        columns = self.matrix.T[members].T
        sums = [pushed[0] @ columns]
        if len(pushed) > 1:
            sums.append(pushed[1] @ (np.abs(columns) if self.signed else columns))
        return sums


class SparseInputs(Inputs):
    """Inputs in a CSC matrix; products are walked through the rows where they are not zero."""

    def single(self, force: Array) -> tuple[Array, Array]:
        indptr, indices, data, _ = self.support
        sums, sizes = np.empty((2, indptr.size - 1, force.shape[1]))
        everyone, none = np.arange(len(sums)), np.empty(0)
        kernels.columns.correlate(data, indices, indptr, everyone, force, sums, none)
        kernels.columns.correlate(np.abs(data), indices, indptr, everyone, np.abs(force), sizes, none)
        return sums, sizes

    def expand(
        self, frontier: Frontier, force: Array, gauge: Gauge, threshold: float, limit: float, powers: bool,
        leaf: bool, group: int, top: int,
    ) -> Found:  # fmt: skip
        start, support = frontier.start, frontier.support
        sizes = np.diff(support.indptr)[frontier.at]
        room = max(OUTPUT_ENTRIES, int(np.diff(start).max(initial=0)))
        space = 0 if leaf else max(OUTPUT_VALUES, int(np.add.reduceat(sizes, start[:-1]).max(initial=0)))
        left, right = np.empty((2, room), np.int64)
        correlation, absolute = np.empty((2, room, force.shape[1]))
        below = Support(np.empty(room + 1, np.int64), np.empty(space, np.int32), np.empty(space), np.empty(space))
        found, visited, group, top = kernels.products.expand(
            *support, frontier.at, force, start, frontier.bound, frontier.cost, frontier.base, powers, leaf,
            self.signed, gauge.one_sided, gauge.each, gauge.together, gauge.round_norm, threshold, limit, group, top,
            max(WORK, 4 * self.matrix.nnz), left, right, correlation, absolute, *below,
        )  # fmt: skip
        return Found(
            left[:found], right[:found], correlation[:found], absolute[:found], visited, group, top, below
        )  # fmt: skip


def joint_cost(frontier: Frontier, group: Any, left: Array, right: Array) -> Array:
    """Cost of the product of two members of a group with what it shares; inputs that occur twice cost once."""
    return frontier.cost[left] + np.where(left == right, 0.0, frontier.cost[right] - frontier.base[group])


def nothing(k: int) -> list[Array]:
    """A list of no products."""
    return [np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, k)), np.empty((0, k))]
