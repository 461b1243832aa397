"""Exponential loss, the loss of AdaBoost."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy

from sparseboost.kernels.kinds import EXPONENTIAL
from sparseboost.losses.base import Array, Loss
from sparseboost.losses.logistic import log_odds

LARGEST_EXPONENT = 700.0  # e^700 is finite in double precision; larger losses are reported as this one


class Exponential(Loss):
    r"""Exponential loss ℓ = Σ_r e^{−y_r z_r}, y ∈ {−1, +1}. Its curvature is unbounded: only AdaBoost's bound applies.

    References
    ----------
    MATH.md T1 (exp), D1.
    """

    room = 1.0
    kernel = (EXPONENTIAL, 0.0, 0.0)

    def _weights(self, y: Array, score: Array) -> Array:
        return np.exp(np.minimum(-y * score, LARGEST_EXPONENT))

    def value(self, y: Array, score: Array) -> Array:
        return self._weights(y, score).sum(axis=1)

    def gradient(self, y: Array, score: Array) -> Array:
        return -y * self._weights(y, score)

    def local_curvature(self, y: Array, score: Array) -> Array:
        return self._weights(y, score)

    def conjugate(self, y: Array, dual: Array) -> Array:
        u = -y * dual
        return np.where(u >= 0, xlogy(u, np.maximum(u, 0.0)) - u, np.inf).sum(axis=1)

    def scale_sums(self, y: Array, dual: Array, weight: Array) -> Array:
        u = np.abs(dual)
        return np.array([weight @ u.sum(axis=1), weight @ xlogy(u, u).sum(axis=1)])

    def scale_within(self, sums: Array, limit: float) -> float:
        total, entropy = sums.tolist()
        if total == 0.0:
            return min(1.0, limit)
        return min(limit, float(np.exp(np.clip(-entropy / total, -LARGEST_EXPONENT, LARGEST_EXPONENT))))

    def start(self, y: Array, weight: Array) -> Array:
        return 0.5 * log_odds(y, weight)

    def decode(self, score: Array) -> Array:
        return expit(2.0 * score)
