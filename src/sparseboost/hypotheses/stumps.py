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
from sparseboost.hypotheses.parts import each
from sparseboost.hypotheses.stump_bins import blocks, make_bins
from sparseboost.hypotheses.stump_columns import StumpColumns
from sparseboost.hypotheses.stump_keys import StumpKeys
from sparseboost.hypotheses.stump_rules import levels
from sparseboost.hypotheses.stump_search import Found, Look, best
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
    standardize : bool, default=False
        A stump costs its standard deviation over the training data (times the cost of its input), as if all columns
        had variance 1: rare splits are not held back.
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
        standardize: bool = False,
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
        self.standardize = bool(standardize)
        self.negated = bool(negated)
        self.categorical_features = categorical_features

    def bind(self, X: Any, context: Context | None = None) -> StumpDictionary:
        context = context or Context()
        most = self.n_bins if self.thresholds == "quantile" else X.shape[0] + 1
        return StumpDictionary(StumpKeys(make_bins(X, context, most), context, self))


class StumpDictionary(Dictionary):
    """All stumps on bound data.

    Attributes
    ----------
    bins : Bins
        The inputs as codes.
    stumps : StumpKeys
        Which stump is behind a key.
    """

    within_one = True

    def __init__(self, stumps: StumpKeys) -> None:
        self.stumps = stumps
        self.bins = stumps.bins
        self._n_jobs = stumps.context.n_jobs
        self._work = np.maximum(self.bins.work, np.diff(self.bins.starts))
        self._parts = blocks(self._work)
        self.exact = searched_exactly(stumps.most_categories, 2)

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
        self.exact = searched_exactly(self.stumps.most_categories, k)
        look = Look(self.stumps, force, dual_norm, count * (1 if rank is None else SHORT_LIST), above, exclude)
        found = list(each(look, self._parts if k == 1 else blocks(self._work * k), self._n_jobs))
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

    def _register(self, found: Found) -> Array:
        """Keys of what a search found, with new ones for new sets of categories."""
        keys = found.keys.copy()
        for position in np.flatnonzero(keys < 0):
            keys[position] = self.stumps.enter(found.sets[-1 - keys[position]])
        return keys

    def strongest(self, force: Array) -> Strongest | None:
        if self.stumps.set_inputs.size:
            return super().strongest(force)
        force = np.ascontiguousarray(force, dtype=np.float64)[:, None]
        parts = list(each(partial(self._strongest_of, force, force.sum(axis=0)), self._parts, self._n_jobs))
        largest = max((part[0] for part in parts), default=0.0)
        if largest == 0.0:
            return None
        found = next(part for part in parts if part[1] * (1.0 + 1e-12) >= largest)
        _, _, correlation, key, j, lower, upper, extra = found
        if self.bins.sparse:
            outputs = self.columns(np.array([key])).matrix[:, 0]
        else:
            outputs = np.empty(force.size)
            yes, no = levels(self.stumps.space.outputs, False)
            kernels.stumps.interval_column(self.bins.codes[j], lower, upper, extra, yes, no, outputs)
        return Strongest(key, largest, correlation, float(self.stumps.row_cost[key]), outputs)

    def _strongest_of(self, force: Array, total: Array, part: tuple[int, int]) -> tuple[Any, ...]:
        bins, stumps = self.bins, self.stumps
        sums, signs = bins.sums(force, total, *part), stumps.space.outputs == "sign"
        return kernels.stumps.strongest(
            sums, total[0], bins.starts, bins.n_values, bins.categorical, stumps.row_cost, stumps.offsets, signs, *part
        )

    def columns(self, keys: Array) -> Columns:
        return StumpColumns(self.stumps, np.asarray(keys, dtype=np.int64))

    def cost(self, keys: Array) -> Array:
        return self.stumps.cost(np.asarray(keys, dtype=np.int64))

    def hypothesis(self, key: int) -> Hypothesis:
        return self.stumps.hypothesis(int(key))

    def inputs(self, keys: Array) -> set[int]:
        return set(self.stumps.inputs(np.asarray(keys, dtype=np.int64)).tolist())

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        return self.stumps.adopt(hypothesis)
