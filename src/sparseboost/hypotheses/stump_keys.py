"""Which stump is behind a key: inputs and thresholds in order, then sets of categories as searches meet them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sparseboost import kernels
from sparseboost.hypotheses.base import Array, Context, Hypothesis
from sparseboost.hypotheses.stump_bins import Bins
from sparseboost.hypotheses.stump_rules import CategoryStump, Stump, between, levels

if TYPE_CHECKING:
    from sparseboost.hypotheses.stumps import Stumps

SetOfCategories = tuple[int, bytes, bool]  # input, one byte per bin, negated


class Rules(NamedTuple):
    """Enumerated hypotheses: an input, the lowest and the highest code where it holds, one more (−1: none)."""

    inputs: Array
    lower: Array
    upper: Array
    extra: Array
    inside: Array  # output where it holds
    outside: Array


class StumpKeys:
    """Keys of all stumps.

    Keys run over inputs and their thresholds; then, if negated ones are held, over the same again; then over sets of
    categories in the order in which searches met them.

    Attributes
    ----------
    offsets : array of shape (d + 1,)
        First key of every input.
    n_enumerated : int
        Number of hypotheses that are neither negated nor sets.
    first_set : int
        Key of the first set of categories.
    set_inputs : array of int
        Inputs that offer sets of categories.
    row_cost : array of shape (n_enumerated,)
        Cost of every enumerated hypothesis.
    """

    def __init__(self, bins: Bins, context: Context, space: Stumps) -> None:
        self.bins, self.context, self.space = bins, context, space
        # x <= t at every threshold, and again with missing values on the left; or every category
        cuts = np.maximum(bins.n_values - 1, 0) + np.where(bins.has_others, bins.n_values, 0)
        single = np.where((bins.n_values > 1) | bins.has_others, bins.n_values, 0)
        self.offsets = np.concatenate([[0], np.cumsum(np.where(bins.categorical, single, cuts))])
        self.n_enumerated = int(self.offsets[-1])
        self.first_set = self.n_enumerated * (2 if space.negated else 1)
        several = bins.categorical & (bins.n_values > 1) & (space.categories == "subsets")
        self.set_inputs = np.flatnonzero(several)
        self.most_categories = int(bins.n_values[several].max(initial=0))
        self.sets: list[SetOfCategories] = []
        self._key_of_set: dict[SetOfCategories, int] = {}
        self._made: dict[int, Hypothesis] = {}
        self._levels = np.array([levels(space.outputs, False), levels(space.outputs, True)])
        self._input_cost = context.costs(bins.shape[1])
        self.row_cost = np.repeat(self._input_cost, np.diff(self.offsets))
        if space.standardize:
            self._share = self._shares_of_weight()
            inside = np.empty((self.n_enumerated, 1))
            kernels.stumps.inside_sums(
                self._share, bins.starts, bins.n_values, bins.categorical, self.offsets, 0, bins.shape[1], inside
            )
            self.row_cost *= self._deviation(inside[:, 0])

    def _shares_of_weight(self) -> Array:
        m, d = self.bins.shape
        weight = self.context.weight if self.context.weight is not None else np.full(m, 1.0 / m)
        weight = np.ascontiguousarray(weight / weight.sum(), dtype=np.float64)[:, None]
        return self.bins.sums(weight, weight.sum(axis=0), 0, d)

    def _deviation(self, share: Array) -> Array:
        """Standard deviation of a hypothesis that holds on this share of the weight; above 0, as costs are."""
        size = self._levels[0, 0] - self._levels[0, 1]
        return size * np.maximum(np.sqrt(np.maximum(share * (1.0 - share), 0.0)), 1.0 / self.bins.shape[0])

    def set_cost(self, members: Array, j: int) -> Array:
        """Cost of sets of categories of input j, from rows of booleans."""
        cost = np.full(len(members), self._input_cost[j])
        if self.space.standardize:
            start = self.bins.starts[j]
            cost *= self._deviation(members.astype(float) @ self._share[start : start + members.shape[1], 0])
        return cost

    # -- sets of categories -------------------------------------------------------------------------------

    def enter(self, chosen: SetOfCategories) -> int:
        """Key of a set of categories; a new one gets the next key."""
        if chosen not in self._key_of_set:
            self._key_of_set[chosen] = self.first_set + len(self.sets)
            self.sets.append(chosen)
        return self._key_of_set[chosen]

    def set_behind(self, key: int) -> SetOfCategories:
        """The set of categories behind a key."""
        return self.sets[int(key) - self.first_set]

    def sets_of(self, j: int) -> list[SetOfCategories]:
        """Sets of the categories of input j that searches met."""
        return [known for known in self.sets if known[0] == j]

    # -- from keys ----------------------------------------------------------------------------------------

    def inputs(self, keys: Array) -> Array:
        """The input of every hypothesis."""
        place = keys % max(self.n_enumerated, 1)
        found = np.searchsorted(self.offsets, place, side="right") - 1
        for position in np.flatnonzero(keys >= self.first_set):
            found[position] = self.set_behind(keys[position])[0]
        return found

    def cost(self, keys: Array) -> Array:
        """The cost of every hypothesis."""
        cost = self.row_cost[keys % max(self.n_enumerated, 1)]
        for position in np.flatnonzero(keys >= self.first_set):
            j, members, _ = self.set_behind(keys[position])
            cost[position] = self.set_cost(np.frombuffer(members, dtype=bool)[None], j)[0]
        return cost

    def rules(self, keys: Array) -> Rules:
        """What enumerated hypotheses say of codes."""
        negated, place = np.divmod(keys, max(self.n_enumerated, 1))
        inputs = np.searchsorted(self.offsets, place, side="right") - 1
        local, n = place - self.offsets[inputs], self.bins.n_values[inputs]
        with_missing = local >= n - 1
        upper = np.where(with_missing, local - n, local)
        extra = np.where(with_missing, n, -1)
        category = self.bins.categorical[inputs]
        return Rules(
            inputs,
            np.where(category, local, 0),
            np.where(category, local, upper),
            np.where(category, -1, extra),
            self._levels[negated, 0],
            self._levels[negated, 1],
        )

    def set_tables(self, keys: Array) -> tuple[Array, Array]:
        """Inputs of sets of categories, and their outputs for every code, shape (n, codes)."""
        chosen = [self.set_behind(key) for key in keys]
        inputs = np.array([j for j, _, _ in chosen], dtype=np.int64)
        table = np.zeros((len(chosen), int(np.diff(self.bins.starts)[inputs].max(initial=0))), dtype=bool)
        for row, (_, members, _) in enumerate(chosen):
            table[row, : len(members)] = np.frombuffer(members, dtype=bool)
        pairs = self._levels[[int(negated) for _, _, negated in chosen]]
        return inputs, np.where(table, pairs[:, :1], pairs[:, 1:])

    def hypothesis(self, key: int) -> Hypothesis:
        """The stump behind a key."""
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]

    def _make(self, key: int) -> Hypothesis:
        if key >= self.first_set:
            j, members, negated = self.set_behind(key)
            return self._category_stump(j, np.flatnonzero(np.frombuffer(members, dtype=bool)), negated)
        turned, place = divmod(key, self.n_enumerated)
        bins, j = self.bins, int(self.offsets.searchsorted(place, side="right")) - 1
        local, n, at = place - int(self.offsets[j]), int(bins.n_values[j]), int(bins.starts[j])
        if bins.categorical[j]:
            return self._category_stump(j, np.array([local]), bool(turned))
        left = local >= n - 1
        upper = local - n if left else local
        threshold = -np.inf if upper < 0 else between(float(bins.highs[at + upper]), float(bins.lows[at + upper + 1]))
        side = ("left" if left else "right") if bins.has_others[j] else None
        return Stump(j, threshold, self.context.name(j), side, self.space.outputs, bool(turned))

    def _category_stump(self, j: int, members: Array, negated: bool) -> CategoryStump:
        labels = self.context.categories[j]
        codes = self.bins.lows[self.bins.starts[j] + members].astype(int)
        known = [int(code) for code in codes if code < len(labels)]
        names = [labels[code] for code in known]
        missing = len(known) < codes.size
        return CategoryStump(j, known, names, self.context.name(j), missing, self.space.outputs, negated)

    # -- to keys ------------------------------------------------------------------------------------------

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        """Key of the same split of the bound data, or None."""
        if not isinstance(hypothesis, (Stump, CategoryStump)) or hypothesis.feature >= self.bins.shape[1]:
            return None
        if hypothesis.scale != self.space.outputs or (hypothesis.negated and not self.space.negated):
            return None
        if isinstance(hypothesis, CategoryStump) != bool(self.bins.categorical[hypothesis.feature]):
            return None
        if isinstance(hypothesis, CategoryStump):
            return self._adopt_categories(hypothesis)
        place = self._place_of(hypothesis)
        return None if place is None else place + self.n_enumerated * hypothesis.negated

    def _place_of(self, stump: Stump) -> int | None:
        j, bins = stump.feature, self.bins
        n, start = int(bins.n_values[j]), int(bins.starts[j])
        below = int(np.searchsorted(bins.highs[start : start + n], stump.threshold, side="right"))
        if below == n or bins.lows[start + below] <= stump.threshold:  # all on one side, or a cut through a bin
            return None
        if bins.has_others[j] and stump.missing == "left":
            return int(self.offsets[j]) + n - 1 + below
        return int(self.offsets[j]) + below - 1 if below else None

    def _adopt_categories(self, stump: CategoryStump) -> int | None:
        j, bins = stump.feature, self.bins
        start, n = int(bins.starts[j]), int(bins.n_values[j])
        labels = list(self.context.categories[j])
        wanted = {labels.index(label) for label in stump.labels if label in labels}
        if stump.missing:
            wanted.add(len(labels))
        members = np.isin(bins.lows[start : start + n], list(wanted))
        size = int(members.sum())
        if size == 0 or (size == n and not bins.has_others[j]):
            return None
        if size == 1:
            return int(self.offsets[j] + members.argmax()) + self.n_enumerated * stump.negated
        return self.enter((j, members.tobytes(), stump.negated)) if j in self.set_inputs else None
