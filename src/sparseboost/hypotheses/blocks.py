"""Dictionaries that are written down block by block: all sums over examples, a few columns at a time."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from sparseboost.hypotheses.base import Array, Candidates, Context, DualNorm, Enumerable, Rank
from sparseboost.hypotheses.columns import Columns
from sparseboost.hypotheses.outline import Outline
from sparseboost.hypotheses.parts import each
from sparseboost.hypotheses.pricing import Pricing

BLOCK_ENTRIES = 1_000_000  # of one block: large enough to forget the call, and a temporary copy of 8 MB


def choose(
    correlation: Array,
    violation: Array,
    count: int,
    *,
    above: float = 0.0,
    exclude: Array | None = None,
    rank: Rank | None = None,
) -> Array:
    """Keys of the best `count` of the hypotheses 0, 1, … with these correlations, as `Dictionary.search` asks."""
    eligible = violation > above
    if exclude is not None:
        eligible[exclude] = False
    keys = np.flatnonzero(eligible)
    if count <= 0 or keys.size == 0:
        return keys[:0]
    scores = violation[keys] if rank is None else rank(keys, correlation[keys])
    if count < keys.size // 4:  # finding the few that count takes less time than sorting all
        enough = np.flatnonzero(scores >= -np.partition(-scores, count - 1)[count - 1])
        keys, scores = keys[enough], scores[enough]
    best = np.argsort(-scores, kind="stable")[:count]  # stable: ties go to the lowest index
    return keys[best[scores[best] > 0]]


class BlockDictionary(Enumerable):
    """Hypotheses that can be written down, given as `columns(keys)`; no more than a block of them is held at once.

    Parameters
    ----------
    n_examples, size : int
        Numbers of examples and of hypotheses.
    cost : array of shape (size,)
        Their costs.
    context : Context
        Says how many threads may work.
    """

    exact = True
    remembers = True  # whether searches use what earlier ones saw

    def __init__(self, n_examples: int, size: int, cost: Array, context: Context) -> None:
        self.n_examples = n_examples
        self.size = size
        self.n_jobs = context.n_jobs
        self.entries = float(n_examples) * size
        self._context = context
        self._cost = cost
        self._pricing = Pricing()

    @abstractmethod
    def columns(self, keys: Array) -> Columns: ...

    def search(
        self,
        force: Array,
        dual_norm: DualNorm,
        count: int,
        *,
        above: float = 0.0,
        exclude: Array | None = None,
        rank: Rank | None = None,
    ) -> Candidates:
        # a force on many outputs takes more memory than the data: then nobody keeps it for the next search
        remembers = self.remembers and above > 0.0 and force.size <= self.entries
        due = self._pricing.due(force, dual_norm, above * self._cost, self) if remembers else None
        if due is not None:
            return self._search_some(due, force, dual_norm, count, above=above, exclude=exclude, rank=rank)
        correlation = self.correlate(force)
        size = dual_norm(correlation)
        violation = size / self._cost
        if remembers:
            self._pricing.saw(None, size, force, dual_norm)
        keys = choose(correlation, violation, count, above=above, exclude=exclude, rank=rank)
        return Candidates(keys, float(violation.max(initial=0.0)), correlation)

    def _search_some(
        self,
        due: Array,
        force: Array,
        dual_norm: DualNorm,
        count: int,
        *,
        above: float,
        exclude: Array | None,
        rank: Rank | None,
    ) -> Candidates:
        """`search` where all others are known to stay at or below the level."""
        correlation = self.correlate_some(due, force)
        size = dual_norm(correlation)
        self._pricing.saw(due, size, force, dual_norm)
        violation = size / self._cost[due]
        known = due[:0]  # where those are that do not count
        if exclude is not None and due.size:
            place = np.searchsorted(due, exclude)
            known = place[due.take(place, mode="clip") == exclude]
        best = choose(
            correlation,
            violation,
            count,
            above=above,
            exclude=known,
            rank=None if rank is None else lambda places, some: rank(due[places], some),
        )
        return Candidates(due[best], max(float(violation.max(initial=0.0)), self._pricing.most(self._cost)))

    def cost(self, keys: Array) -> Array:
        return self._cost[keys]

    def at_cost(self, cost: Array) -> BlockDictionary:
        other = copy.copy(self)
        other._cost = np.asarray(cost, dtype=float)
        other._pricing = Pricing()
        return other

    def correlate(self, force: Array) -> Array:
        # blocks are the same for every n_jobs, and every column is summed by one thread, so bits do not change
        out = np.empty((self.size, force.shape[1]))

        def one(part: slice) -> None:
            out[part] = self.block(part).correlate(force)

        self.share(one, self.size)
        return out

    def correlate_some(self, keys: Array, force: Array) -> Array:
        """`correlate` of some hypotheses only."""
        out = np.empty((keys.size, force.shape[1]))
        for part in self.parts(keys.size):
            out[part] = self.columns(keys[part]).correlate(force)
        return out

    def lengths(self) -> Array:
        """‖h_j‖ over the examples, of every hypothesis."""
        return np.sqrt(self.energy(np.ones(self.n_examples)))

    def outline(self, n_outputs: int) -> Outline | None:
        """The columns in few digits, where passes over that are worth the memory; made when it is first asked for."""
        return None

    @property
    def knows_lengths(self) -> bool:
        """Whether the lengths are there without a pass over the data."""
        return False

    def split_correlate(self, keys: Array, up: Array, down: Array) -> tuple[Array, Array]:
        plus, minus = np.empty((keys.size, up.shape[1])), np.empty((keys.size, up.shape[1]))
        for part in self.parts(keys.size):
            plus[part], minus[part] = self.columns(keys[part]).split_correlate(up, down)
        return plus, minus

    def energy(self, weight: Array) -> Array:
        return self._per_column(lambda columns: columns.energy(weight))

    def reach(self, weight: Array) -> Array:
        return self._per_column(lambda columns: columns.reach(weight))

    def absolute_scores(self, template: Array) -> Array:
        total = np.zeros(self.n_examples)
        for part in self.parts(self.size):
            total += np.asarray(abs(self.block(part).matrix) @ template[part])
        return total

    # -- blocks -------------------------------------------------------------------------------------------

    def block(self, part: slice) -> Columns:
        """Columns of a range of hypotheses."""
        return self.columns(self._keys[part])

    def parts(self, length: int) -> Iterator[slice]:
        """Ranges of hypotheses with about BLOCK_ENTRIES outputs each."""
        return ranges(length, self.n_examples)

    def share(self, work: Callable[[slice], Any], length: int) -> list[Any]:
        """Do the work for every part of so many hypotheses."""
        return self.in_threads(work, self.parts(length))

    def in_threads(self, work: Callable[[slice], Any], parts: Iterable[slice]) -> list[Any]:
        """Do the work for every part, in as many threads as there are jobs."""
        return list(each(work, list(parts), self.n_jobs))

    @cached_property
    def _keys(self) -> Array:
        return np.arange(self.size)

    def _per_column(self, function: Callable[[Columns], Array]) -> Array:
        out = np.empty(self.size)
        for part in self.parts(self.size):
            out[part] = function(self.block(part))
        return out


def ranges(length: int, width: int) -> Iterator[slice]:
    """Ranges of 0 … length − 1 with about BLOCK_ENTRIES entries each, for rows of this width."""
    step = max(1, BLOCK_ENTRIES // max(width, 1))
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))
