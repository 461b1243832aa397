"""One look at all stumps: sums per bin, scores of all thresholds and sets, and a short list of different ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sparseboost import kernels
from sparseboost.hypotheses.base import Array, DualNorm
from sparseboost.hypotheses.stump_subsets import candidate_sets, without_mirrors

if TYPE_CHECKING:
    from sparseboost.hypotheses.stump_keys import SetOfCategories, StumpKeys

SETS_PER_INPUT = 8


class Found(NamedTuple):
    """The largest value over some hypotheses, and the best of them; sets of categories have no keys yet."""

    worst: float
    keys: Array
    value: Array
    tier: Array
    correlation: Array
    sets: list[SetOfCategories]


class Look:
    """What one search asks, for blocks of inputs.

    A tier says how much a hypothesis adds to its neighbours: summits of an input come before local maxima, and these
    before the rest, so that ten candidates are not ten neighbouring thresholds.
    """

    def __init__(
        self,
        stumps: StumpKeys,
        force: Array,
        dual_norm: DualNorm,
        count: int,
        above: float,
        exclude: Array | None,
    ) -> None:
        self.stumps = stumps
        self.force = np.ascontiguousarray(force, dtype=np.float64)
        self.total = self.force.sum(axis=0)
        self.dual_norm = dual_norm
        self.count = count
        self.above = above
        excluded = np.empty(0, dtype=np.int64) if exclude is None else np.asarray(exclude, dtype=np.int64)
        self.excluded = np.sort(excluded[excluded < stumps.first_set])
        self.excluded_sets = {stumps.set_behind(key) for key in excluded[excluded >= stumps.first_set]}
        probe = dual_norm(np.ones((2, self.force.shape[1])) * np.array([[1.0], [-1.0]]))
        one_sided = probe[0] != probe[1]
        self.signs = (1, -1) if stumps.space.negated and one_sided else (1,)
        self.mirrored = stumps.space.outputs == "sign" and not (one_sided and len(self.signs) == 1)

    def __call__(self, part: tuple[int, int]) -> Found:
        """Look at inputs first ≤ j < last."""
        first, last = part
        bins, offsets = self.stumps.bins, self.stumps.offsets
        sums = bins.sums(self.force, self.total, first, last)
        correlation = np.empty((offsets[last] - offsets[first], sums.shape[1]))
        kernels.stumps.inside_sums(
            sums, bins.starts, bins.n_values, bins.categorical, offsets, first, last, correlation
        )
        self._scale(correlation)
        found = [self._enumerated(correlation if sign > 0 else -correlation, first, last, sign) for sign in self.signs]
        for j in self.stumps.set_inputs:
            if first <= j < last:
                at = bins.starts[j] - bins.starts[first]
                found += [self._sets(sums[at : at + bins.n_values[j]], int(j), sign) for sign in self.signs]
        return found[0] if len(found) == 1 else _merge(found, self.count)

    def _scale(self, correlation: Array) -> None:
        """From sums where a hypothesis holds to correlations, in place."""
        if self.stumps.space.outputs == "sign":
            correlation *= 2.0
            correlation -= self.total

    def _enumerated(self, correlation: Array, first: int, last: int, sign: int) -> Found:
        stumps, bins, offsets = self.stumps, self.stumps.bins, self.stumps.offsets
        value, worst = self._value(correlation, stumps.row_cost[offsets[first] : offsets[last]])
        if self.count <= 0 or not worst > self.above:
            return _nothing(worst, correlation)
        tier = np.empty(value.size, dtype=np.int8)
        kernels.stumps.tiers(
            value, bins.n_values, bins.categorical, offsets, first, last, self.above, self.mirrored, tier
        )
        start = offsets[first] + (stumps.n_enumerated if sign < 0 else 0)
        eligible = (value > self.above) & (tier >= 0)
        near = slice(*np.searchsorted(self.excluded, [start, start + value.size]))
        eligible[self.excluded[near] - start] = False
        own = np.flatnonzero(eligible)
        own = own[best(value[own], tier[own], self.count)]
        return Found(worst, own + start, value[own], tier[own], correlation[own], [])

    def _sets(self, sums: Array, j: int, sign: int) -> Found:
        closed = not self.stumps.bins.has_others[j]
        sets = candidate_sets(sums, closed)
        if self.mirrored and closed:
            sets = without_mirrors(sets)
        known = [np.frombuffer(s[1], dtype=bool) for s in self.stumps.sets_of(j)]
        sets = np.concatenate([sets[sets.sum(axis=1) > 1], np.array(known, dtype=bool).reshape(-1, sums.shape[0])])
        correlation = sets.astype(float) @ sums
        self._scale(correlation)
        correlation *= sign
        value, worst = self._value(correlation, self.stumps.set_cost(sets, j))
        if self.count <= 0 or not worst > self.above:
            return _nothing(worst, correlation)
        names = [(j, row.tobytes(), sign < 0) for row in sets]
        order: dict[SetOfCategories, int] = {}
        for position in np.argsort(-value, kind="stable"):
            if not value[position] > self.above or len(order) == SETS_PER_INPUT:
                break
            if names[position] not in self.excluded_sets:
                order.setdefault(names[position], position)
        own = np.array(list(order.values()), dtype=np.int64)
        tier = np.zeros(own.size, dtype=np.int8)
        tier[:1] = 2
        return Found(worst, -1 - np.arange(own.size), value[own], tier, correlation[own], list(order))

    def _value(self, correlation: Array, cost: Array) -> tuple[Array, float]:
        """Dual norm over cost, and its maximum; finite values in the same order where nothing holds weights back."""
        value = self.dual_norm(correlation) / cost
        worst = float(value.max(initial=0.0))
        if worst == np.inf:
            value = np.where(value == np.inf, np.abs(correlation).max(axis=1, initial=0.0), value)
        return value, worst


def best(value: Array, tier: Array, count: int) -> Array:
    """The first `count` by tier, then by value, then by position."""
    chosen: list[Array] = []
    left = count
    for level in (2, 1, 0):
        own = np.flatnonzero(tier == level)
        if own.size > left:
            size = value[own]
            cut = np.partition(size, own.size - left)[own.size - left] if left else np.inf
            larger = own[size > cut]
            own = np.concatenate([larger, own[size == cut][: left - larger.size]])
        chosen.append(own)
        left -= own.size
    return np.concatenate(chosen)


def _nothing(worst: float, correlation: Array) -> Found:
    none = np.empty(0, dtype=np.int64)
    return Found(worst, none, np.empty(0), none.astype(np.int8), correlation[:0], [])


def _merge(found: list[Found], count: int) -> Found:
    keys: list[Array] = []
    sets: list[SetOfCategories] = []
    for part in found:
        keys.append(np.where(part.keys < 0, part.keys - len(sets), part.keys))
        sets += part.sets
    joined = [np.concatenate([getattr(part, name) for part in found]) for name in ("value", "tier", "correlation")]
    value, tier, correlation = joined
    own = best(value, tier, count)
    worst = max(part.worst for part in found)
    return Found(worst, np.concatenate(keys)[own], value[own], tier[own], correlation[own], sets)
