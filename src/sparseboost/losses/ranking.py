"""Hinge over pairs of examples of one query that should be ranked apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseboost import kernels

Array = np.ndarray


class RankingHinge:
    r"""Ranking hinge R = Σ_pairs w_a w_b max(0, 1 − f(x_a) + f(x_b)) / Σ_pairs w_a w_b, over pairs with a above b.

    A pair is two examples of one query with different relevance. Pairs are never written down: sorting a query by score
    gives every example the number of its violated pairs, in O(n log n). The loss couples examples, so unlike a `Loss`
    it has no conjugate per example; `value` holds the part of the pairs in which an example is the upper one, and its
    mean under the weights is R.

    Targets have the columns relevance and query number, and weights w if they are not all alike: see `targets`.

    References
    ----------
    MATH.md G5.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.losses import RankingHinge
    >>> y = RankingHinge.targets(relevance=[2, 0, 1], query=[7, 7, 7])
    >>> RankingHinge().value(y, np.array([[0.0], [0.0], [3.0]])).mean().round(4)  # pairs: 1, 4 and 0
    np.float64(1.6667)
    """

    smooth = False
    probabilistic = False
    multiclass = False

    @staticmethod
    def targets(relevance: Any, query: Any, weight: Any = None) -> Array:
        """Targets for this loss: relevance, query number and weight of every example, shape (m, 3)."""
        relevance = np.asarray(relevance, dtype=float)
        numbers = np.unique(np.asarray(query), return_inverse=True)[1].astype(float)
        weight = np.ones(relevance.size) if weight is None else np.asarray(weight, dtype=float)
        return np.column_stack([relevance, numbers, weight / weight.sum()])

    def n_outputs(self, y: Array) -> int:
        """One score per example."""
        return 1

    def value(self, y: Array, score: Array) -> Array:
        """Every example's share of the loss, as the upper one of its pairs, shape (m,)."""
        return self.value_and_gradient(y, score)[0]

    def gradient(self, y: Array, score: Array) -> Array:
        """Subgradient in the scores, shape (m, 1): violated pairs below minus violated pairs above."""
        return self.value_and_gradient(y, score)[1]

    def start(self, y: Array, weight: Array) -> Array:
        """Zero: a constant ranks nothing."""
        return np.zeros(1)

    def reference(self, y: Array) -> Array:
        """The relevance itself, stretched so that levels are at least 1 apart: no pair is violated."""
        levels = np.unique(y[:, 0])
        gap = np.diff(levels).min() if levels.size > 1 else 1.0
        return y[:, :1] / gap

    def value_and_gradient(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Both, from one sort."""
        f = np.ascontiguousarray(score[:, 0], dtype=float)
        weight = np.ascontiguousarray(y[:, 2]) if y.shape[1] > 2 else np.full(f.size, 1.0 / f.size)
        levels, level = np.unique(y[:, 0], return_inverse=True)
        order = np.lexsort((-f, y[:, 1]))
        starts = np.flatnonzero(np.diff(y[order, 1], prepend=-np.inf, append=np.inf))
        value, gradient = np.empty(f.size), np.empty(f.size)
        pairs = kernels.ranking.violated_pairs(order, starts, level, levels.size, f, weight, value, gradient)
        if pairs == 0.0:  # nothing to rank
            return np.zeros(f.size), np.zeros((f.size, 1))
        return value / pairs, (gradient / pairs)[:, None]

    def __repr__(self) -> str:
        return "RankingHinge()"

    def __eq__(self, other: object) -> bool:
        return type(other) is RankingHinge

    def __hash__(self) -> int:
        return hash(RankingHinge)
