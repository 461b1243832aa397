"""Decision stumps: all thresholds of all inputs, and all sets of categories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from sparseboost import kernels
from sparseboost.hypotheses.base import (
    Array,
    Candidates,
    Context,
    Dictionary,
    DualNorm,
    Hypothesis,
    HypothesisSpace,
    Rank,
    Strongest,
)
from sparseboost.hypotheses.columns import Columns
from sparseboost.hypotheses.stump_bins import Bins, blocks, in_threads, make_bins
from sparseboost.hypotheses.stump_rules import CategoryStump, Stump, between, levels
from sparseboost.hypotheses.stump_search import Found, Look, SetOfCategories, best
from sparseboost.hypotheses.stump_subsets import searched_exactly

LARGEST_BINS = 65_536
SHORT_LIST = 2  # candidates that a caller's own ranking sees, per candidate wanted


class Stumps(HypothesisSpace):
    r"""Decision stumps: h(x) = +1 if x_j <= t, else −1, for every input j and threshold t. The search is exact.

    Inputs are sorted once; from then on one look at all thresholds costs one addition per entry of X and output.
    Thresholds that separate the training data alike are one hypothesis, whose threshold has the fewest digits that do.

    Parameters
    ----------
    thresholds : {"exact", "quantile"}, default="exact"
        All thresholds, or those between at most `n_bins` bins per input of about the same weight.
    n_bins : int, default=256
        Bins per input for ``"quantile"``.
    outputs : {"sign", "indicator"}, default="sign"
        Outputs ±1, or 1 where x_j <= t and 0 elsewhere.
    missing : {"direction"}, default="direction"
        Inputs with missing values (NaN) have every threshold twice, with missing values on either side, and a split
        between missing and not missing.
    categories : {"subsets", "one-vs-rest"}, default="subsets"
        What categorical inputs offer: all sets of categories, or only single ones. The search over sets is exact with
        one output, or with at most 12 categories; otherwise `exact` is False.
    negated : bool, default=False
        Hold −h beside every h; only weights that may not be negative need that.
    categorical_features : sequence of int, str or bool, optional
        Inputs whose values are labels, for the estimators: indices, column names, or a mask. Columns of category type
        in a data frame need not be named. (`bind` itself takes codes and `Context.categories`.)

    References
    ----------
    MATH.md T5 (what a search answers), D8.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.hypotheses import Context, Stumps
    >>> from sparseboost.penalties import L1
    >>> X = np.array([[35.0], [41.0], [42.0], [60.0]])
    >>> dictionary = Stumps().bind(X, Context(feature_names=["age"]))
    >>> found = dictionary.search(np.array([[1.0], [1.0], [-1.0], [-1.0]]), L1().dual_norm, count=1)
    >>> dictionary.hypothesis(found.keys[0]), found.violation
    (age <= 41.5, 4.0)
    """

    allows_missing = True
    allows_categories = True

    def __init__(
        self,
        thresholds: Literal["exact", "quantile"] = "exact",
        n_bins: int = 256,
        outputs: Literal["sign", "indicator"] = "sign",
        missing: Literal["direction"] = "direction",
        categories: Literal["subsets", "one-vs-rest"] = "subsets",
        negated: bool = False,
        categorical_features: Sequence[int | str | bool] | None = None,
    ) -> None:
        choices = {
            "thresholds": (thresholds, ("exact", "quantile")),
            "outputs": (outputs, ("sign", "indicator")),
            "missing": (missing, ("direction",)),
            "categories": (categories, ("subsets", "one-vs-rest")),
        }
        for parameter, (given, allowed) in choices.items():
            if given not in allowed:
                raise ValueError(f"Stumps needs {parameter} to be {' or '.join(map(repr, allowed))}, got {given!r}.")
        if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)) or not 2 <= n_bins <= LARGEST_BINS:
            raise ValueError(f"Stumps needs n_bins to be an integer from 2 to {LARGEST_BINS}, got {n_bins!r}.")
        self.thresholds = thresholds
        self.n_bins = int(n_bins)
        self.outputs = outputs
        self.missing = missing
        self.categories = categories
        self.negated = bool(negated)
        self.categorical_features = categorical_features

    def bind(self, X: Any, context: Context | None = None) -> StumpDictionary:
        context = context or Context()
        most = self.n_bins if self.thresholds == "quantile" else X.shape[0] + 1
        return StumpDictionary(make_bins(X, context, most), context, self)


class StumpDictionary(Dictionary):
    """All stumps on bound data.

    Keys run over inputs and their thresholds; then, if negated ones are held, over the same again; then over sets of
    categories in the order in which searches met them.
    """

    within_one = True

    def __init__(self, bins: Bins, context: Context, space: Stumps) -> None:
        self.bins = bins
        self.space = space
        self.input_cost = context.costs(bins.shape[1])
        self._context = context
        # x <= t at every threshold, and again with missing values on the left; or every category
        cuts = np.maximum(bins.n_values - 1, 0) + np.where(bins.has_others, bins.n_values, 0)
        single = np.where((bins.n_values > 1) | bins.has_others, bins.n_values, 0)
        self.offsets = np.concatenate([[0], np.cumsum(np.where(bins.categorical, single, cuts))])
        self.n_enumerated = int(self.offsets[-1])
        self.first_set = self.n_enumerated * (2 if space.negated else 1)
        several = bins.categorical & (bins.n_values > 1) & (space.categories == "subsets")
        self.set_inputs = np.flatnonzero(several)
        self._most_categories = int(bins.n_values[several].max(initial=0))
        self._parts = blocks(np.maximum(bins.work, np.diff(bins.starts)))
        self._sets: list[SetOfCategories] = []
        self._key_of_set: dict[SetOfCategories, int] = {}
        self.exact = searched_exactly(self._most_categories, 2)

    # -- search -------------------------------------------------------------------------------------------

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
        k = force.shape[1]
        self.exact = searched_exactly(self._most_categories, k)
        look = Look(self, force, dual_norm, count * (1 if rank is None else SHORT_LIST), above, exclude)
        parts = self._parts if k == 1 else blocks(np.maximum(self.bins.work, np.diff(self.bins.starts)) * k)
        found = in_threads(look, parts, self._context.n_jobs)
        worst = max((part.worst for part in found), default=0.0)
        if count <= 0 or not found:
            return Candidates(np.empty(0, dtype=np.int64), worst)
        keys = np.concatenate([self._register(part) for part in found])
        value, tier = (np.concatenate([getattr(part, name) for part in found]) for name in ("value", "tier"))
        chosen = best(value, tier, look.count)
        if rank is not None and chosen.size:
            correlation = np.concatenate([part.correlation for part in found])
            value[chosen] = rank(keys[chosen], correlation[chosen])
            chosen = chosen[value[chosen] > 0]
            chosen = chosen[best(value[chosen], tier[chosen], count)]
        chosen = chosen[value[chosen] > 0]
        return Candidates(keys[chosen[np.argsort(-value[chosen], kind="stable")]], worst)

    def strongest(self, force: Array) -> Strongest | None:
        if self.set_inputs.size:
            return super().strongest(force)
        force = np.ascontiguousarray(force, dtype=np.float64)[:, None]
        parts = in_threads(partial(self._strongest_of, force, force.sum(axis=0)), self._parts, self._context.n_jobs)
        largest = max((part[0] for part in parts), default=0.0)
        if largest == 0.0:
            return None
        found = next(part for part in parts if part[1] * (1.0 + 1e-12) >= largest)
        _, _, correlation, key, j, lower, upper, extra = found
        if self.bins.sparse:
            outputs = self.columns(np.array([key])).matrix[:, 0]
        else:
            outputs = np.empty(force.size)
            yes, no = levels(self.space.outputs, False)
            kernels.stumps.interval_column(self.bins.codes[j], lower, upper, extra, yes, no, outputs)
        return Strongest(key, largest, correlation, float(self.input_cost[j]), outputs)

    def _strongest_of(self, force: Array, total: Array, part: tuple[int, int]) -> tuple[Any, ...]:
        bins = self.bins
        sums, signs = bins.sums(force, total, *part), self.space.outputs == "sign"
        return kernels.stumps.strongest(
            sums, total[0], bins.starts, bins.n_values, bins.categorical, self.input_cost, self.offsets, signs, *part
        )

    def _register(self, found: Found) -> Array:
        """Keys of what a search found; a new set of categories gets the next one."""
        return np.array([key if key >= 0 else self._enter(found.sets[-1 - key]) for key in found.keys], dtype=np.int64)

    def _enter(self, chosen: SetOfCategories) -> int:
        if chosen not in self._key_of_set:
            self._key_of_set[chosen] = self.first_set + len(self._sets)
            self._sets.append(chosen)
        return self._key_of_set[chosen]

    def set_behind(self, key: int) -> SetOfCategories:
        """The set of categories behind a key."""
        return self._sets[int(key) - self.first_set]

    def sets_of(self, j: int) -> list[SetOfCategories]:
        """Sets of the categories of input j that searches met."""
        return [known for known in self._sets if known[0] == j]

    # -- what is behind a key -----------------------------------------------------------------------------

    def _rules(self, keys: Array) -> tuple[Array, ...]:
        """(input, lowest code, highest code, one more code or −1, negated) of enumerated hypotheses."""
        negated, place = np.divmod(keys, max(self.n_enumerated, 1))
        inputs = np.searchsorted(self.offsets, place, side="right") - 1
        local, n = place - self.offsets[inputs], self.bins.n_values[inputs]
        with_missing = local >= n - 1
        upper = np.where(with_missing, local - n, local)
        extra = np.where(with_missing, n, -1)
        category = self.bins.categorical[inputs]
        lower = np.where(category, local, 0)
        return inputs, lower, np.where(category, local, upper), np.where(category, -1, extra), negated > 0

    def columns(self, keys: Array) -> Columns:
        keys = np.asarray(keys, dtype=np.int64)
        m = self.bins.shape[0]
        out = np.empty((keys.size, m))
        coded = (self.bins.codes.ravel(), self.bins.indices, self.bins.indptr, self.bins.zero_code)
        plain = keys < self.first_set
        inputs, lower, upper, extra, negated = self._rules(keys[plain])
        part = out if plain.all() else np.empty((inputs.size, m))
        high, low = self._levels(negated)
        kernels.stumps.interval_columns(*coded, inputs, lower, upper, extra, high, low, part)
        if part is not out:
            out[plain] = part
            chosen = [self.set_behind(key) for key in keys[~plain]]
            inputs = np.array([j for j, _, _ in chosen])
            table = np.zeros((len(chosen), int(np.diff(self.bins.starts)[inputs].max())), dtype=bool)
            for row, (_, members, _) in enumerate(chosen):
                table[row, : len(members)] = np.frombuffer(members, dtype=bool)
            high, low = self._levels(np.array([negated for _, _, negated in chosen]))
            part = np.empty((len(chosen), m))
            kernels.stumps.table_columns(*coded, inputs, np.where(table, high[:, None], low[:, None]), part)
            out[~plain] = part
        return Columns(out.T)

    def _levels(self, negated: Array) -> tuple[Array, Array]:
        """Outputs where a hypothesis holds, and elsewhere."""
        pairs = np.array([levels(self.space.outputs, False), levels(self.space.outputs, True)])
        return pairs[negated.astype(int), 0], pairs[negated.astype(int), 1]

    def cost(self, keys: Array) -> Array:
        keys = np.asarray(keys, dtype=np.int64)
        inputs = self._rules(keys)[0]
        for position in np.flatnonzero(keys >= self.first_set):
            inputs[position] = self.set_behind(keys[position])[0]
        return self.input_cost[inputs]

    def hypothesis(self, key: int) -> Hypothesis:
        key = int(key)
        if key >= self.first_set:
            j, members, negated = self.set_behind(key)
            return self._category_stump(j, np.flatnonzero(np.frombuffer(members, dtype=bool)), negated)
        j, lower, upper, extra, turned = (int(part[0]) for part in self._rules(np.array([key])))
        bins = self.bins
        if bins.categorical[j]:
            return self._category_stump(j, np.array([lower]), bool(turned))
        at = bins.starts[j] + upper
        threshold = -np.inf if upper < 0 else between(float(bins.highs[at]), float(bins.lows[at + 1]))
        side = ("left" if extra >= 0 else "right") if bins.has_others[j] else None
        return Stump(j, threshold, self._context.name(j), side, self.space.outputs, bool(turned))

    def _category_stump(self, j: int, members: Array, negated: bool) -> CategoryStump:
        labels = self._context.categories[j]
        codes = self.bins.lows[self.bins.starts[j] + members].astype(int)
        known = [int(code) for code in codes if code < len(labels)]
        names = [labels[code] for code in known]
        missing = len(known) < codes.size
        return CategoryStump(j, known, names, self._context.name(j), missing, self.space.outputs, negated)

    def adopt(self, hypothesis: Hypothesis) -> int | None:
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
        """Key of the same split of the bound data, not negated."""
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
        labels = list(self._context.categories[j])
        wanted = {labels.index(label) for label in stump.labels if label in labels}
        if stump.missing:
            wanted.add(len(labels))
        members = np.isin(bins.lows[start : start + n], list(wanted))
        size = int(members.sum())
        if size == 0 or (size == n and not bins.has_others[j]):
            return None
        if size == 1:
            return int(self.offsets[j] + members.argmax()) + self.n_enumerated * stump.negated
        if j not in self.set_inputs:
            return None
        return self._enter((j, members.tobytes(), stump.negated))
