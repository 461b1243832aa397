"""The model while it is being learned: active hypotheses and their weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparseboost.hypotheses import Columns, Dictionary

Array = np.ndarray
Stage = tuple[Array, Array, Array]  # keys, coef, intercept: an ensemble without its data


@dataclass(frozen=True)
class Ensemble:
    """Active hypotheses with their columns on the training data, their rows of coef, and the intercept."""

    keys: Array
    columns: Columns
    cost: Array
    coef: Array
    intercept: Array

    @classmethod
    def empty(cls, dictionary: Dictionary, intercept: Array) -> Ensemble:
        """No hypotheses, only an intercept."""
        keys = np.empty(0, dtype=np.int64)
        return cls(
            keys,
            dictionary.columns(keys),
            dictionary.cost(keys),
            np.zeros((0, intercept.size)),
            intercept.copy(),
        )

    @property
    def size(self) -> int:
        """Number of active hypotheses."""
        return int(self.keys.size)

    @property
    def support(self) -> int:
        """Number of hypotheses whose row is not zero."""
        return int(np.any(self.coef != 0, axis=1).sum())

    @property
    def stage(self) -> Stage:
        """Keys, coef and intercept, free of the training data."""
        return self.keys, self.coef, self.intercept

    @property
    def busy(self) -> Stage:
        """The stage without hypotheses that have no weight."""
        mask = np.any(self.coef != 0, axis=1)
        return self.keys[mask], self.coef[mask], self.intercept

    def score(self) -> Array:
        """Scores on the training data, shape (m, k)."""
        score = self.columns.dot(self.coef)
        score += self.intercept
        return score

    def at(self, coef: Array, intercept: Array) -> Ensemble:
        """The same hypotheses with other weights."""
        return Ensemble(self.keys, self.columns, self.cost, coef, intercept)

    def extend(self, dictionary: Dictionary, keys: Array) -> Ensemble:
        """Add hypotheses with rows of zeros."""
        if keys.size == 0:
            return self
        return replace(
            self,
            keys=np.concatenate([self.keys, keys]),
            columns=self.columns.append(dictionary.columns(keys)),
            cost=np.concatenate([self.cost, dictionary.cost(keys)]),
            coef=np.concatenate([self.coef, np.zeros((keys.size, self.coef.shape[1]))]),
        )

    def keep(self, mask: Array) -> Ensemble:
        """Drop the hypotheses where `mask` is False."""
        if np.all(mask):
            return self
        return replace(
            self,
            keys=self.keys[mask],
            columns=self.columns.keep(mask),
            cost=self.cost[mask],
            coef=self.coef[mask],
        )

    def tidy(self, idle: float) -> Ensemble:
        """Drop the hypotheses whose row is exactly zero if they are more than this share."""
        return self.prune() if self.size - self.support > idle * self.size else self

    def prune(self) -> Ensemble:
        """Drop the hypotheses whose row is exactly zero."""
        return self.keep(np.any(self.coef != 0, axis=1))
