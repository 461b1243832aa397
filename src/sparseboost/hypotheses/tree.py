"""One decision tree as a hypothesis, in plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost.hypotheses.base import Array, Hypothesis


class Tree(Hypothesis):
    """The hypothesis h(x) = value of the leaf that x reaches.

    Parameters
    ----------
    feature, threshold, left, right, values : array of shape (n_nodes,)
        An example goes left where its input is at most the threshold; leaves have feature −1. Node 0 is the root.
    missing_left : array of bool of shape (n_nodes,)
        Whether NaN goes left.
    depth : int
        The longest path.
    number : int
        Its place in the order of learning.
    n_inputs : int
        Number of columns of X.
    name : str
        What a person reads.
    """

    def __init__(
        self,
        feature: Array,
        threshold: Array,
        left: Array,
        right: Array,
        values: Array,
        missing_left: Array,
        depth: int,
        number: int,
        n_inputs: int,
        name: str,
    ) -> None:
        leaf, itself = feature < 0, np.arange(feature.size)
        self.features, where = np.unique(feature[~leaf], return_inverse=True)
        self.column = np.zeros(feature.size, dtype=np.int64)  # of the inputs in use
        self.column[~leaf] = where
        self.threshold = threshold
        self.left = np.where(leaf, itself, left)  # whoever is in a leaf stays there
        self.right = np.where(leaf, itself, right)
        self.values = values
        self.missing_left = missing_left
        self.depth = depth
        self.number = number
        self.n_inputs = n_inputs
        self.name = name

    @property
    def inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        """The inputs of its splits."""
        return tuple(self.features.tolist())

    def __call__(self, X: Any) -> Array:
        node = np.zeros(X.shape[0], dtype=np.int64)
        if self.depth == 0:
            return self.values[node]
        used = X[:, self.features]
        used = np.asarray(used.toarray() if sp.issparse(used) else used, dtype=np.float32)  # as trees are learned
        rows = np.arange(X.shape[0])
        for _ in range(self.depth):
            value = used[rows, self.column[node]]
            left = np.where(np.isnan(value), self.missing_left[node], value <= self.threshold[node])
            node = np.where(left, self.left[node], self.right[node])
        return self.values[node]

    @classmethod
    def outputs(cls, hypotheses: Sequence[Any], X: Any) -> Array:
        X = X.tocsc() if sp.issparse(X) else X
        return np.column_stack([hypothesis(X) for hypothesis in hypotheses])

    def __repr__(self) -> str:
        return f"{self.name} #{self.number}"
