"""Losses of margins in the log domain: they stay exact when margins are in the hundreds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

Array = np.ndarray
SATURATED = 30.0  # beyond this margin ln(1 + e^−z) is e^−z in double precision
SEARCH_STEPS = 100


class Tilted(NamedTuple):
    """A loss at some margins.

    Attributes
    ----------
    value : float
        ln Σ_i s_i L(z_i).
    weight : array of shape (m,)
        The distribution d_i ∝ −s_i L′(z_i) over the examples.
    curvature : array of shape (m,)
        s_i L″(z_i) / Σ_l −s_l L′(z_l).
    ratio : float
        Σ_i −s_i L′(z_i) / Σ_i s_i L(z_i): what turns a gap of edges into a relative gap of the loss.
    """

    value: float
    weight: Array
    curvature: Array
    ratio: float


class Tilt(ABC):
    """A decreasing convex loss of the margin, Σ_i s_i L(z_i) with Σ_i s_i = 1 (X2).

    Attributes
    ----------
    slack : float
        How much larger than ln(1/s_i) the constant of X5 is: θ* − margin ≤ (ln(1/s_i) + slack) / r.
    """

    slack: float

    @abstractmethod
    def __call__(self, score: Array, log_prior: Array) -> Tilted:
        """Value, distribution and curvature at these margins."""

    @abstractmethod
    def gap(self, ratio: float, edges: float) -> float:
        """How far `value` can be above its minimum, from r · best edge − Σ_i d_i z_i."""


class ExponentialTilt(Tilt):
    """L(z) = e^−z: the distribution is the softmax of ln s − z (MATH.md T7, F3)."""

    slack = 0.0

    def __call__(self, score: Array, log_prior: Array) -> Tilted:
        value, weight = softmax(log_prior - score)
        return Tilted(value, weight, weight, 1.0)

    def gap(self, ratio: float, edges: float) -> float:
        return edges  # ln Σ s e^−z is itself convex


class LogisticTilt(Tilt):
    """L(z) = ln(1 + e^−z), with ln L and ln −L′ computed without underflow (MATH.md T7, X5)."""

    slack = -float(np.log(np.log(2.0)))

    def __call__(self, score: Array, log_prior: Array) -> Tilted:
        decay = np.exp(-np.abs(score))
        rest = np.log1p(decay)
        large = score > SATURATED
        loss = np.where(large, 1.0, np.maximum(-score, 0.0) + rest)
        value = softmax(log_prior + np.where(large, -score, np.log(loss)))[0]
        slope, weight = softmax(log_prior - np.maximum(score, 0.0) - rest)
        return Tilted(value, weight, weight * np.where(score > 0, 1.0, decay) / (1.0 + decay), np.exp(slope - value))

    def gap(self, ratio: float, edges: float) -> float:
        share = ratio * edges  # of the loss that can be gained
        return -float(np.log1p(-share)) if share < 1.0 else np.inf


def softmax(logits: Array) -> tuple[float, Array]:
    """Logarithm of Σ e^t, and e^t over that sum; the maximum is taken out first."""
    top = logits.max()
    weight = np.exp(logits - top)
    total = weight.sum()
    weight /= total
    return float(top + np.log(total)), weight


def line_search(logits: Array, direction: Array, limit: float) -> float:
    """The a in [0, limit] that minimises ln Σ_i exp(logits_i − a · direction_i), by Newton between two bounds."""
    low, high, a = 0.0, limit, 0.0
    if _slope(logits, direction, limit)[0] <= 0.0:
        return limit
    for _ in range(SEARCH_STEPS):
        slope, curvature = _slope(logits, direction, a)
        if slope < 0.0:
            low = a
        else:
            high = a
        newton = a - slope / curvature if curvature > 0.0 else np.inf
        previous, a = a, newton if low < newton < high else 0.5 * (low + high)
        if abs(a - previous) <= 4e-16 * a:
            break
    return a


def _slope(logits: Array, direction: Array, a: float) -> tuple[float, float]:
    weight = softmax(logits - a * direction)[1]
    mean = float(weight @ direction)
    return -mean, float(weight @ (direction - mean) ** 2)
