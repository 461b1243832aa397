"""Two searches over products of inputs: branch and bound over all of them, and one step from those already found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from sparseboost.hypotheses.product_gauge import Gauge
from sparseboost.hypotheses.product_inputs import BLOCK_ENTRIES, Found, Frontier, Inputs, joint_cost

Array = np.ndarray
Factors = tuple[int, ...]
ROUNDING = 1e-12  # sums in another order differ by less, relatively; products that tie with the best are not followed
CHUNK = 256
LARGEST_GROWTH = 690.0  # of logarithms: what keeps bounds finite


class Shortlist:
    """The best products found so far, and the score that a product must exceed to change the answer.

    A product whose outputs on the data equal those of one listed before, or of one that is excluded, is left out: it
    could not change the model's scores.

    Parameters
    ----------
    inputs : Inputs
        Where outputs come from.
    gauge : Gauge
        How correlations are measured.
    count : int
        How many products are wanted.
    above : float
        Only those with a larger dual norm over cost are wanted.
    n_outputs : int
        k.
    """

    def __init__(self, inputs: Inputs, gauge: Gauge, count: int, above: float, n_outputs: int) -> None:
        self.count = max(int(count), 0)
        self.best = 0.0
        self.factors: list[Factors] = []
        self.score = np.empty(0)
        self.correlation = np.empty((0, n_outputs))
        self._inputs = inputs
        self._floor = gauge.floor(above) if self.count else np.inf
        self._excluded: set[Factors] = set()
        self._free = np.empty(0, dtype=bool)
        # random sums tell apart: of correlations, and where those are equal of outputs (not a number until needed)
        self._mark = np.empty(0)
        rng = np.random.default_rng(0)
        self._mix, self._probe = rng.normal(size=n_outputs), rng.normal(size=inputs.matrix.shape[0])

    @property
    def threshold(self) -> float:
        """Products with at most this score change neither the maximum nor the list."""
        return min(self.best, self._floor) * (1.0 + ROUNDING)

    def exclude(self, factors: Sequence[Factors], score: Array, correlation: Array) -> None:
        """Products that count for the maximum and are not to be returned."""
        self.best = max(self.best, float(score.max(initial=0.0)))
        self._excluded.update(factors)
        if self.count:
            self._merge(list(factors), score, correlation, np.zeros(len(factors), dtype=bool))

    def add(self, factors: Array, score: Array, correlation: Array) -> None:
        """Look at products of one degree, shape (n, degree)."""
        self.best = max(self.best, float(score.max(initial=0.0)))
        order = np.flatnonzero(score > self._floor)
        order = order[np.argsort(-score[order], kind="stable")]
        step = max(CHUNK, 2 * self.count)
        for first in range(0, order.size, step):
            part = order[first : first + step]
            part = part[score[part] > self._floor]
            if part.size == 0:
                return
            names = [tuple(row) for row in np.sort(factors[part], axis=1).tolist()]
            fresh = np.array([name not in self._excluded for name in names])
            part, names = part[fresh], [name for name, new in zip(names, fresh, strict=True) if new]
            self._merge(names, score[part], correlation[part], np.ones(part.size, dtype=bool))

    def found(self) -> tuple[list[Factors], Array, Array]:
        """Factors, scores and correlations of the list, best first."""
        where = np.flatnonzero(self._free)
        return [self.factors[n] for n in where], self.score[where], self.correlation[where]

    def _merge(self, factors: list[Factors], score: Array, correlation: Array, free: Array) -> None:
        if not factors:
            return
        every = self.factors + factors
        score = np.concatenate([self.score, score])
        correlation = np.concatenate([self.correlation, correlation])
        free = np.concatenate([self._free, free])
        mark = np.concatenate([self._mark, np.full(len(factors), np.nan)])
        # who came first stays first unless the newcomer is better by more than rounding
        rank = score * np.where(np.arange(score.size) < self.score.size, 1.0 + 1e3 * ROUNDING, 1.0)
        order = np.argsort(-rank, kind="stable")
        order = order[self._distinct(correlation[order], mark, order, every)]
        order = order[~free[order] | (np.cumsum(free[order]) <= self.count)]
        self.factors = [every[n] for n in order]
        self.score, self.correlation, self._free, self._mark = (
            part[order] for part in (score, correlation, free, mark)
        )  # fmt: skip
        own = self.score[self._free]
        if own.size == self.count:
            self._floor = max(self._floor, float(own.min(initial=np.inf)))

    def _distinct(self, correlation: Array, mark: Array, order: Array, factors: list[Factors]) -> Array:
        """Positions in the order whose outputs equal those of none before; fills in the marks it needs."""
        kind = ties(correlation @ self._mix, np.abs(correlation) @ np.abs(self._mix))
        shared = np.bincount(kind)[kind] > 1
        fresh = order[shared & np.isnan(mark[order])]
        step = max(1, BLOCK_ENTRIES // max(len(self._probe), 1))
        for n in range(0, fresh.size, step):
            part = fresh[n : n + step]
            mark[part] = self._inputs.columns([factors[f] for f in part]).T @ self._probe
        alike = ties(np.where(shared, mark[order], 0.0), np.abs(mark[order]))
        return np.sort(np.unique(np.stack([kind, alike]), axis=1, return_index=True)[1])


def ties(value: Array, scale: Array) -> Array:
    """A number for every value that it shares with those that differ by no more than rounding."""
    order = np.argsort(value, kind="stable")
    apart = np.diff(value[order], prepend=-np.inf) > ROUNDING * scale[order]
    number = np.empty(value.size, dtype=np.int64)
    number[order] = np.cumsum(apart)
    return number


class ProductSearch:
    """One search: the force, the limits of the space, and the list that it fills.

    Parameters
    ----------
    inputs : Inputs
        Scaled inputs.
    costs : (float, array of shape (d,))
        What every product costs, and what each of its inputs adds.
    degree : int
        Largest number of factors.
    powers : bool
        Whether a factor may occur twice.
    force : array of shape (m, k)
        Weighted gradient per example.
    gauge, shortlist : Gauge, Shortlist
        How products are measured, and where they go.
    """

    def __init__(
        self, inputs: Inputs, costs: tuple[float, Array], degree: int, powers: bool, force: Array, gauge: Gauge,
        shortlist: Shortlist,
    ) -> None:  # fmt: skip
        self.inputs = inputs
        self.base, self.extra = costs
        self.degree = degree
        self.powers = powers
        self.force = force
        self.gauge = gauge
        self.shortlist = shortlist
        self.visited = 0

    def exact(self) -> None:
        """Branch and bound: every product is looked at, or a divisor of it has a bound that rules it out."""
        correlation, absolute = self.singles()
        cost = self.base + self.extra
        bound = self._bound(correlation, absolute, cost, 1)
        member = np.flatnonzero(bound > self.shortlist.threshold)
        member = member[np.argsort(bound[member], kind="stable")]
        if self.degree > 1 and member.size:
            prefix, base = np.empty((1, 0), np.int64), np.array([self.base])
            start = np.array([0, member.size])
            parts = (bound[member], cost[member], member, self.inputs.support)
            self._explore(Frontier(prefix, base, start, member, *parts))

    def singles(self) -> tuple[Array, Array]:
        """Look at all inputs."""
        correlation, absolute = self.inputs.single(self.force)
        self.visited += len(self.extra)
        every, cost = np.arange(len(self.extra)), self.base + self.extra
        self.shortlist.add(every[:, None], self.gauge.score(correlation) / cost, correlation)
        return correlation, absolute

    def grow(self, bases: Sequence[Factors]) -> None:
        """Look at all inputs, and at every product of one of these with an input."""
        self.singles()
        by_degree = {len(base): [own for own in bases if len(own) == len(base)] for base in bases}
        d, k = len(self.extra), self.force.shape[1]
        step = max(1, BLOCK_ENTRIES // max(d * k, len(self.force)))
        for degree, same in by_degree.items():
            if degree < self.degree:
                for first in range(0, len(same), step):
                    self._grow_block(np.array(same[first : first + step]))

    def _grow_block(self, bases: Array) -> None:
        columns = self.inputs.columns(bases)
        scale = columns.multiply if sp.issparse(columns) else columns.__mul__
        parts = [self.inputs.matrix.T @ scale(self.force[:, [r]]) for r in range(self.force.shape[1])]
        sums = [part.toarray() if sp.issparse(part) else part for part in parts]
        own = np.zeros((len(self.extra), len(bases)), dtype=bool)
        own[bases.T, np.arange(len(bases))] = True
        j, n = np.nonzero(~own) if not self.powers else np.divmod(np.arange(own.size), len(bases))
        correlation = np.stack([part[j, n] for part in sums], axis=1)
        spent = self.base + np.array([self.extra[np.unique(base)].sum() for base in bases])
        cost = spent[n] + np.where(own[j, n], 0.0, self.extra[j])
        self.visited += len(j)
        self.shortlist.add(np.column_stack([bases[n], j]), self.gauge.score(correlation) / cost, correlation)

    def _explore(self, frontier: Frontier) -> None:
        """Go through a frontier in parts, and below each part before the next: what is found there prunes the rest."""
        leaf = frontier.degree + 1 == self.degree
        group, top = 0, -1
        while group < len(frontier.base):
            threshold = self.shortlist.threshold
            found = self.inputs.expand(
                frontier, self.force, self.gauge, threshold, threshold / self._growth(frontier.degree + 1), self.powers,
                leaf, group, top,
            )  # fmt: skip
            group, top = found.group, found.top
            self.visited += found.visited
            if found.left.size == 0:
                continue
            owner = np.searchsorted(frontier.start, found.left, side="right") - 1
            cost = joint_cost(frontier, owner, found.left, found.right)
            factors = np.column_stack(
                [frontier.prefix[owner], frontier.member[found.left], frontier.member[found.right]]
            )
            self.shortlist.add(factors, self.gauge.score(found.correlation) / cost, found.correlation)
            if not leaf:
                self._explore(self._below(frontier, found, owner, factors, cost))

    def _below(self, frontier: Frontier, found: Found, owner: Array, factors: Array, cost: Array) -> Frontier:
        """The products found whose multiples may still matter, in groups that share all but the last factor."""
        bound = self._bound(found.correlation, found.absolute, cost, frontier.degree + 1)
        keep = np.flatnonzero(bound > self.shortlist.threshold)
        keep = keep[np.lexsort((bound[keep], -found.left[keep], owner[keep]))]
        left = found.left[keep]
        first = np.flatnonzero(np.diff(left, prepend=-1))
        prefix = np.ascontiguousarray(factors[keep[first], :-1])
        start = np.concatenate([first, [keep.size]])
        parts = (bound[keep], cost[keep], keep, found.support)
        return Frontier(prefix, frontier.cost[left[first]], start, factors[keep, -1], *parts)

    def _bound(self, correlation: Array, absolute: Array, cost: Array, degree: int) -> Array:
        extent = self.gauge.extent(correlation, absolute, self.inputs.signed)
        return self.gauge.size(extent) * self._growth(degree) / cost

    def _growth(self, degree: int) -> float:
        """What the factors that a product of this degree may still get can multiply it by."""
        return float(np.exp(min((self.degree - degree) * np.log(self.inputs.largest), LARGEST_GROWTH)))
