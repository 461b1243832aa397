"""The question of a fit whose rows are in blocks elsewhere: sums of them are all that is ever asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparseboost.dask import rows
from sparseboost.dask.rows import Aim, Point
from sparseboost.executor import Executor
from sparseboost.hypotheses import Columns
from sparseboost.losses import Loss
from sparseboost.problem import Problem

Array = np.ndarray
GRID = 64  # constants that one pass over the rows compares
PASSES = 10  # 64^10 is more than double precision tells apart
MOST_VALUES = 1000  # of a target that is described by counts


class Near(ABC):
    """Targets, weights and some columns of all rows in this process: scores that need no others are computed here."""

    y: Array
    weight: Array

    @abstractmethod
    def scores(self, point: Point) -> Array | None:
        """Scores of all rows, or None where they need columns that are not here."""


class Rows:
    """All blocks of rows.

    Parameters
    ----------
    executor : Executor
        Does the work where the blocks are.
    blocks : list of handles of `RowBlock`
        The blocks.
    sizes : sequence of int
        How many rows each has.

    Attributes
    ----------
    near : Near or None
        Targets and active columns of all rows, where they were gathered.
    """

    def __init__(self, executor: Executor, blocks: Sequence[Any], sizes: Sequence[int]) -> None:
        self.executor = executor
        self.blocks = list(blocks)
        self.sizes = list(sizes)
        self.near: Near | None = None

    def __len__(self) -> int:
        return len(self.blocks)

    def repeated(self, common: Sequence[Any]) -> list[list[Any]]:
        """Arguments that are the same for all blocks."""
        return [[argument] * len(self) for argument in common]

    def total(self, function: Callable[..., tuple[Any, ...]], *common: Any) -> tuple[Any, ...]:
        """Sums of function(block, *common) over all blocks."""
        return self.executor.total(function, self.blocks, *self.repeated(common))

    def map(self, function: Callable[..., Any], *common: Any) -> list[Any]:
        """function(block, *common) of every block."""
        return self.executor.map(function, self.blocks, *self.repeated(common))


class Dual:
    """A dual point of all rows, and what is known of it."""

    def __init__(self, aim: Aim, given: Sequence[Any], rows: Rows) -> None:
        self.aim, self.given, self.rows = aim, given, rows
        self.sums: Array | None = None  # that the best scale needs; every look at hypotheses brings them
        self.here: Array | None = None  # all of it, where scores are known here

    def total(self, function: Callable[..., tuple[Any, ...]], *common: Any) -> tuple[Any, ...]:
        """Sums of function(block, aim, given, *common) over all blocks."""
        rows = self.rows
        return rows.executor.total(
            function, rows.blocks, [self.aim] * len(rows), self.given, *rows.repeated(common)
        )  # fmt: skip

    def correlate(self, keys: Array | None = None) -> Array:
        """Σ_i s_i v_i h_j(x_i) of these hypotheses, or of all."""
        correlation, self.sums = self.total(rows.correlations, keys)
        return correlation


class Score(Point):
    """Scores of all rows; adding a constant is adding it to the intercept."""

    __slots__ = ()

    def __add__(self, constant: Any) -> Score:
        return Score(self.keys, self.coef, self.intercept + constant)


class RemoteColumns(Columns):
    """Columns of hypotheses that stay where the blocks are."""

    keys: Array

    def __init__(self, keys: Array) -> None:
        vars(self).update(keys=np.asarray(keys, dtype=np.int64))  # frozen, and there is no matrix here

    @property
    def size(self) -> int:
        return int(self.keys.size)

    def dot(self, coef: Array) -> Any:
        used = np.any(coef != 0, axis=1)
        return Score(self.keys[used], np.ascontiguousarray(coef[used]), np.zeros(coef.shape[1]))

    def correlate(self, force: Any) -> Array:
        return force.correlate(self.keys)

    def append(self, other: Columns) -> Columns:
        assert isinstance(other, RemoteColumns)
        return RemoteColumns(np.concatenate([self.keys, other.keys]))

    def keep(self, mask: Array) -> Columns:
        return RemoteColumns(self.keys[mask])


@dataclass(frozen=True)
class RemoteProblem(Problem):
    """`Problem` over blocks of rows; `y` is a sample of the targets that shows their shape, `weight` is nothing.

    Scores and dual points are descriptions (`Score`, `Dual`) that workers follow, so that per look only active rows of
    weights go out, and only sums over rows come back.
    """

    rows: Rows | None = None

    @property
    def _rows(self) -> Rows:
        assert self.rows is not None
        return self.rows

    @property
    def _near(self) -> Near:
        assert self._rows.near is not None
        return self._rows.near

    @cached_property
    def start(self) -> Array:
        """Intercept of the empty model."""
        if not self.fit_intercept:
            return np.zeros(self.n_outputs)
        return best_constant(self.loss, self._rows)

    @cached_property
    def _last(self) -> dict[str, Any]:
        """What was measured at the last scores: objective and bound ask for the same."""
        return {"score": None, "dual": None}

    def _measured(self, score: Any, dual: Any = None) -> dict[str, Any]:
        last = self._last
        if last["score"] is not score or (dual is not None and last["dual"] is not dual):
            found, near = self._aimed(score, dual), self._rows.near
            scores = near.scores(score) if near is not None and dual is None else None
            if near is not None and scores is not None:
                here = found.aim.driving.gradient(near.y, scores)
                values, imbalance = rows.measured(found.aim, near.y, near.weight, scores, here)
            else:
                here, (values, imbalance) = None, found.total(rows.measure)
            last.update(score=score, dual=dual, values=values, imbalance=imbalance, here=here)
        return last

    def _aimed(self, score: Any, dual: Any) -> Dual:
        given = [None] * len(self._rows) if dual is None else dual
        return Dual(Aim(Point(*score), self.loss, self.driving_loss), given, self._rows)

    def mean_loss(self, loss: Loss, score: Any) -> float:
        return float(self._measured(score)["values"][0 if loss == self.loss else 1])

    def dual_point(self, score: Any, dual: Any = None) -> Any:
        found, measured = self._aimed(score, dual), self._measured(score, dual)
        found.here = measured["here"]
        if self.fit_intercept:
            found.aim = found.aim._replace(imbalance=measured["imbalance"])
            if found.here is not None:
                found.here = self.loss.balanced(self._near.y, found.here, measured["imbalance"])
        return found

    def loss_and_dual_point(self, score: Any, dual: Any = None) -> tuple[float, Any]:
        return self.loss_value(score), self.dual_point(score, dual)

    def force(self, dual: Any) -> Any:
        return dual

    def best_scale(self, dual: Any, limit: float) -> float:
        return self.loss.scale_within(dual.sums, limit)

    def dual_value(self, dual: Any, scale: float) -> float:
        if dual.here is None:
            return float(dual.total(rows.dual_values, scale)[0])
        return self.loss.dual_value(self._near.y, dual.here, self._near.weight, scale)


def best_constant(loss: Loss, blocks: Rows) -> Array:
    """The best constant scores. Where a target has few values, one row for each stands for all rows that have it."""
    columns = list(zip(*blocks.map(_values), strict=True))
    if any(part is None for column in columns for part in column):
        return _root(loss, blocks)
    found = []
    for column in columns:
        values, place = np.unique(np.concatenate([part[0] for part in column]), return_inverse=True)
        total = np.bincount(place, np.concatenate([part[1] for part in column]))
        found.append(loss.start(values[:, None], total))
    return np.concatenate(found)


def _values(block: rows.RowBlock) -> list[tuple[Array, Array] | None]:
    """Values and their weights, for every column of targets that has few."""
    out: list[tuple[Array, Array] | None] = []
    for column in block.y.T:
        values, place = np.unique(column, return_inverse=True)
        out.append((values, np.bincount(place, block.weight)) if values.size <= MOST_VALUES else None)
    return out


def _range(block: rows.RowBlock) -> tuple[Array, Array]:
    return block.y.min(axis=0), block.y.max(axis=0)


def _root(loss: Loss, blocks: Rows) -> Array:
    """Where the derivative of Σ s ℓ(y, constant) changes its sign, for losses whose outputs are independent."""
    if loss.quadratic:  # the mean: one Newton step
        zero = np.zeros((1, loss.n_outputs(blocks.map(_head)[0])))
        at_zero, at_one = (blocks.total(rows.slopes, loss, zero + step)[0][0] for step in (0.0, 1.0))
        return -at_zero / (at_one - at_zero)
    lows, highs = zip(*blocks.map(_range), strict=True)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    for _ in range(PASSES):
        grid = low + np.linspace(0.0, 1.0, GRID)[:, None] * (high - low)
        grid[-1] = high
        rises = blocks.total(rows.slopes, loss, grid)[0] >= 0.0
        rises[-1] = True
        first = rises.argmax(axis=0)
        columns = np.arange(low.size)
        low, high = grid[np.maximum(first - 1, 0), columns], grid[first, columns]
    return high


def _head(block: rows.RowBlock) -> Array:
    return block.y[:1]
