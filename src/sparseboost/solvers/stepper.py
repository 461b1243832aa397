"""How the weights of a path are moved from one alpha to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from sparseboost.monitors import Monitor
from sparseboost.problem import Problem, Proof

Array = np.ndarray


class Weights(NamedTuple):
    """Rows of the first active hypotheses (those that came later have none), the intercept, and what else is known."""

    coef: Array
    intercept: Array
    score: Array | None = None
    slope: Array | None = None  # gradient of the loss in the rows
    loss: float | None = None  # of all examples
    force: Array | None = None  # what pulls at the scores of every example
    proof: Proof | None = None  # of the gap of the active hypotheses at the alpha of these weights


class Stepper(ABC):
    """Active hypotheses of a path, and a way of solving the problem that has only them.

    Attributes
    ----------
    keys : array of shape (n,)
        The active hypotheses.
    near : float
        How far from an alpha to the one before a dual norm must be for its hypothesis to count as near. A block of
        alphas ends where many do.
    """

    keys: Array
    near: float = 0.0

    @abstractmethod
    def takes(self, problem: Problem, more: int) -> bool:
        """Whether this way is still a good one when so many hypotheses come in."""

    @abstractmethod
    def tidy(self, weights: list[Weights]) -> list[Weights]:
        """Drop hypotheses that have no weight in the last of these, if that is worth it; what is left of all."""

    @abstractmethod
    def enter(self, problem: Problem, keys: Array) -> None:
        """Take in new hypotheses, behind the others."""

    @abstractmethod
    def solve(self, problem: Problem, starts: list[Weights], gap: float, monitor: Monitor) -> tuple[Weights, bool]:
        """Move the best of some weights until the gap of the active hypotheses is small, or nothing moves any more.

        The second answer is whether nothing does.
        """

    @abstractmethod
    def scores(self, problem: Problem, weights: list[Weights]) -> list[Array]:
        """Scores on the training data of every set of weights, each of shape (m, k)."""

    @abstractmethod
    def correlate(self, force: Array) -> Array:
        """Σ_i h_j(x_i) force_i of the active hypotheses, for forces that sum to zero if there is an intercept."""


def padded(coef: Array, size: int) -> Array:
    """Rows of zeros behind the others, in a copy."""
    out = np.zeros((size, coef.shape[1]))
    out[: coef.shape[0]] = coef
    return out


def foreseen(earlier: Weights, last: Weights, ratio: float) -> Weights:
    """Weights as far ahead of the last ones as `ratio` times the way from the earlier ones to the last.

    Weights are nearly linear in alpha between the alphas where hypotheses come and go (for squared loss and ℓ1 they
    are). Rows that are zero stay so, and no entry changes its sign.
    """
    before = padded(earlier.coef, len(last.coef))
    coef = last.coef + ratio * (last.coef - before)
    coef[coef * last.coef <= 0.0] = 0.0
    return Weights(coef, last.intercept + ratio * (last.intercept - earlier.intercept))
