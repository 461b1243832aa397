"""Choosing hypotheses before any boosting: the baseline that looks at each of them alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import rel_entr

from sparseboost.hypotheses.base import Array, Context, Dictionary, Hypothesis, HypothesisSpace
from sparseboost.hypotheses.blocks import BlockDictionary
from sparseboost.hypotheses.columns import Columns
from sparseboost.hypotheses.product_inputs import BLOCK_ENTRIES
from sparseboost.hypotheses.products import ProductDictionary

MOST_LISTED = 200_000  # products


class InformationGain(HypothesisSpace):
    r"""The 0/1 hypotheses of a space that tell most about the labels, each looked at alone.

    gain_j = n_j · KL(n_j⁺/n_j ‖ m⁺/m), with n_j and n_j⁺ the weight of all and of positive examples where h_j is 1:
    what hypothesis j alone, beside a fixed bias, takes off the logistic loss. Classes or labels add their gains.

    Parameters
    ----------
    space : HypothesisSpace
        Where to choose from: 0/1 features, products of them (as many as can be listed), or
        ``Stumps(outputs="indicator")``.
    count : int
        How many hypotheses to keep.

    References
    ----------
    MATH.md D13.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.hypotheses import Context, Features, InformationGain
    >>> X = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    >>> y = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    >>> chosen = InformationGain(Features(), 1).bind(X, Context(target=y, weight=np.full(4, 0.25)))
    >>> chosen.hypothesis(0)
    x0
    """

    def __init__(self, space: HypothesisSpace, count: int) -> None:
        self.space = space
        self.count = count

    @property
    def allows_missing(self) -> bool:  # type: ignore[override]
        """As the space it chooses from."""
        return self.space.allows_missing

    @property
    def allows_categories(self) -> bool:  # type: ignore[override]
        """As the space it chooses from."""
        return self.space.allows_categories

    def bind(self, X: Any, context: Context | None = None) -> Selected:
        context = context or Context()
        if context.target is None:
            raise ValueError("InformationGain chooses by the labels; bind it with a target.")
        if not isinstance(self.count, (int, np.integer)) or self.count < 1:
            raise ValueError(f"count must be an integer >= 1, got {self.count!r}.")
        dictionary = self.space.bind(X, context)
        positive = _positive(context.target, context.n_classes)
        weight = np.full(positive.shape[0], 1.0 / positive.shape[0]) if context.weight is None else context.weight
        share = weight @ positive / weight.sum()
        force = np.column_stack([weight[:, None] * positive, weight])
        keys = np.sort(_best(dictionary, force, share, int(self.count)))
        values = dictionary.columns(keys).matrix
        values = values.data if hasattr(values, "indptr") else values
        if not np.all((values == 0.0) | (values == 1.0)):
            raise ValueError(
                "InformationGain needs hypotheses with outputs 0 and 1: 0/1 features, products of them, or "
                "Stumps(outputs='indicator')."
            )
        return Selected(dictionary, keys, positive.shape[0], context)


class Selected(BlockDictionary):
    """Some hypotheses of another dictionary, as if there were no others."""

    def __init__(self, dictionary: Dictionary, chosen: Array, n_examples: int, context: Context) -> None:
        super().__init__(n_examples, int(chosen.size), dictionary.cost(chosen), context)
        self._dictionary = dictionary
        self._chosen = chosen

    def columns(self, keys: Array) -> Columns:
        return self._dictionary.columns(self._chosen[keys])

    def hypothesis(self, key: int) -> Hypothesis:
        return self._dictionary.hypothesis(int(self._chosen[key]))

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        place = np.flatnonzero(self._chosen == self._dictionary.adopt(hypothesis))
        return int(place[0]) if place.size else None


def _positive(target: Array, n_classes: int | None) -> Array:
    """1 where an example has a class or label, shape (m, number of classes or labels)."""
    if n_classes is None or n_classes == 2:
        return (target > 0).astype(float)
    return (target == np.arange(n_classes)).astype(float)


def _best(dictionary: Dictionary, force: Array, share: Array, count: int) -> Array:
    """The hypotheses with the largest gains. A gain is no norm, so no bounds prune products: all are read."""
    if not isinstance(dictionary, ProductDictionary):
        return dictionary.search(force, lambda correlation: _gain(correlation, share), count).keys
    keys, step = dictionary.listed(MOST_LISTED), max(1, BLOCK_ENTRIES // force.shape[0])
    parts = [dictionary.columns(keys[n : n + step]).correlate(force) for n in range(0, keys.size, step)]
    gain = np.concatenate([_gain(part, share) for part in parts])
    best = np.argsort(-gain, kind="stable")[:count]
    return keys[best[gain[best] > 0]]


def _gain(correlation: Array, share: Array) -> Array:
    count = np.maximum(correlation[:, -1:], 0.0)
    inside = np.divide(correlation[:, :-1], count, out=np.zeros_like(correlation[:, :-1]), where=count > 0)
    inside = np.clip(inside, 0.0, 1.0)
    return (count * (rel_entr(inside, share) + rel_entr(1.0 - inside, 1.0 - share))).sum(axis=1)
