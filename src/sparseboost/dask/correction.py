"""Correcting weights whose columns are elsewhere: gathered where they fit, by consensus where they do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost.dask import rows
from sparseboost.dask.dictionaries import RemoteFeatures
from sparseboost.dask.problem import Near, RemoteProblem, Rows
from sparseboost.dask.rows import Point
from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Candidates, Columns, Dictionary, Hypothesis
from sparseboost.monitors import Monitor
from sparseboost.problem import Problem
from sparseboost.solvers import ADMM, Corrector
from sparseboost.solvers.admm import Partition
from sparseboost.solvers.correction import Corrected, Goal

Array = np.ndarray
ENTRY_BYTES = 12  # of a stored entry: its value and its row


class Gathered(Dictionary, Near):
    """Hypotheses whose columns were brought here; others are brought when they are asked for."""

    def __init__(self, source: Dictionary, blocks: Rows) -> None:
        self._source, self._rows = source, blocks
        parts = blocks.map(rows.targets_and_weights)
        self.y, self.weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        self._keys = np.empty(0, dtype=np.int64)
        self._columns: Columns | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the columns that are here."""
        return 0 if self._columns is None else _nbytes(self._columns)

    def columns(self, keys: Array) -> Columns:
        keys = np.asarray(keys, dtype=np.int64)
        new = keys[~np.isin(keys, self._keys)]
        if new.size or self._columns is None:
            brought = rows.stacked(self._rows.map(rows.columns_of, new))
            self._columns = brought if self._columns is None else self._columns.append(brought)
            self._keys = np.concatenate([self._keys, new])
        order = np.argsort(self._keys)
        place = order[np.searchsorted(self._keys, keys, sorter=order)]
        matrix = self._columns.matrix[:, place]
        return Columns(matrix if sp.issparse(matrix) else np.asfortranarray(matrix))

    def scores(self, point: Point) -> Array | None:
        if not np.isin(point.keys, self._keys).all():
            return None
        if point.keys.size == 0:
            return np.tile(np.asarray(point.intercept, dtype=float), (self.y.shape[0], 1))
        return self.columns(point.keys).dot(point.coef) + point.intercept

    def forget_others(self, keys: Array) -> None:
        """Keep these columns only."""
        kept = np.isin(self._keys, keys)
        self._keys = self._keys[kept]
        self._columns = None if self._columns is None else self._columns.keep(kept)

    def cost(self, keys: Array) -> Array:
        return self._source.cost(keys)

    def hypothesis(self, key: int) -> Hypothesis:
        return self._source.hypothesis(key)

    def search(self, *arguments: Any, **options: Any) -> Candidates:
        raise TypeError("Gathered columns are corrected, not searched.")


def _nbytes(columns: Columns) -> int:
    return ENTRY_BYTES * columns.matrix.nnz if sp.issparse(columns.matrix) else columns.matrix.nbytes


class RemoteBlocks(Partition):
    """The blocks of a cluster, as consensus ADMM wants them."""

    steps_per_look = 5

    def __init__(self, blocks: Rows) -> None:
        self._rows = blocks
        self.executor = blocks.executor

    def cut(self, problem: Problem, ensemble: Ensemble) -> list[Any]:
        common = self._rows.repeated((ensemble.keys, problem.driving_loss, problem.fit_intercept))
        return self.executor.apply(rows.consensus_block, self._rows.blocks, *common)

    def scatter(self, dual: Any, blocks: list[Any]) -> Sequence[Any]:
        return [None] * len(blocks) if dual is None else dual

    def collect(self, duals: list[Any]) -> Any:
        return duals


class GatherOrAgree(Corrector):
    """The ordinary corrector on gathered columns while they take at most `limit` bytes, consensus ADMM beyond that.

    Parameters
    ----------
    make : callable
        Gives the ordinary corrector.
    blocks : Rows
        The blocks of rows.
    limit : int
        Most bytes that active columns may take here.
    """

    def __init__(self, make: Callable[[], Corrector], blocks: Rows, limit: int) -> None:
        self._make, self._rows, self._limit = make, blocks, limit
        self._local = make()
        self.takes_kinks = self._local.takes_kinks
        self.name = self._local.name if limit else ADMM.name
        self._consensus = ADMM(RemoteBlocks(blocks))
        self._gathered: Gathered | None = None
        self._own: Problem | None = None

    def check(self, problem: Problem) -> None:
        (self._local if self._limit else ADMM()).check(problem)

    def rank(self, problem: Problem, score: Array, keys: Array, correlation: Array) -> Array:
        return problem.steepness(keys, correlation)

    def run(self, problem: Problem, ensemble: Ensemble, score: Array, goal: Goal, monitor: Monitor) -> Corrected:
        assert isinstance(problem, RemoteProblem)
        if self._bytes(problem, ensemble) > self._limit:
            self.name = ADMM.name
            self._gathered = self._own = self._rows.near = None
            return self._consensus.run(problem, ensemble, score, goal, monitor)
        self.name = self._local.name
        own = self._here(problem)
        here = replace(ensemble, columns=own.dictionary.columns(ensemble.keys))
        found = self._local.run(own, here, here.score(), goal, monitor)
        back = replace(ensemble, coef=found.ensemble.coef, intercept=found.ensemble.intercept)
        dual = None if found.dual is None else np.split(found.dual, np.cumsum(self._rows.sizes)[:-1])
        self._tidy(back)
        return Corrected(back, back.score(), found.bound, found.stalled, dual)

    def _bytes(self, problem: RemoteProblem, ensemble: Ensemble) -> int:
        """What the active columns take, at most."""
        dense = sum(self._rows.sizes) * ensemble.size * 8
        if dense <= self._limit or not isinstance(problem.dictionary, RemoteFeatures):
            return dense
        return int(ENTRY_BYTES * problem.dictionary.stored[ensemble.keys].sum())

    def _here(self, problem: RemoteProblem) -> Problem:
        """The problem on gathered columns."""
        if self._own is None:
            here = self._gathered = self._rows.near = Gathered(problem.dictionary, self._rows)
            self._own = Problem(
                problem.loss, problem.penalty, problem.alpha, here, here.y, here.weight, problem.fit_intercept
            )
        if self._own.smooth_loss != problem.smooth_loss:
            self._own = replace(self._own, smooth_loss=problem.smooth_loss)
        return self._own

    def _tidy(self, ensemble: Ensemble) -> None:
        """Inner products of columns that left are remembered as long as these fit as well."""
        assert self._gathered is not None
        if self._gathered.nbytes > self._limit:
            self._gathered.forget_others(ensemble.keys)
            self._local = self._make()
