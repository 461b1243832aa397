"""Squared loss."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.kinds import RESIDUAL
from sparseboost.losses.base import Array, Loss, over_outputs


class Squared(Loss):
    r"""Squared loss ℓ = ½ Σ_r (z_r − y_r)².

    References
    ----------
    MATH.md T1, T3 (squared).
    """

    curvature = 1.0
    convexity = 1.0
    quadratic = True
    kernel = (RESIDUAL, np.inf, 1.0)

    def value(self, y: Array, score: Array) -> Array:
        return self.value_and_gradient(y, score)[0]

    def gradient(self, y: Array, score: Array) -> Array:
        return score - y

    def value_and_gradient(self, y: Array, score: Array) -> tuple[Array, Array]:
        residual = score - y
        return 0.5 * np.einsum("ir,ir->i", residual, residual), residual

    def local_curvature(self, y: Array, score: Array) -> Array:
        return np.ones_like(score)

    def conjugate(self, y: Array, dual: Array) -> Array:
        return over_outputs(dual * (y + 0.5 * dual))

    def imbalance(self, y: Array, dual: Array, weight: Array) -> Array:
        return np.append(weight @ dual, weight.sum())

    def balanced(self, y: Array, dual: Array, imbalance: Array) -> Array:
        return dual - imbalance[:-1] / imbalance[-1]

    def scale_sums(self, y: Array, dual: Array, weight: Array) -> Array:
        force = weight[:, None] * dual
        return np.array([np.vdot(force, dual), np.vdot(force, y)])

    def dual_value(self, y: Array, dual: Array, weight: Array, scale: float = 1.0) -> float:
        length, along = self.scale_sums(y, dual, weight).tolist()
        return -scale * (along + 0.5 * scale * length)

    def scale_within(self, sums: Array, limit: float) -> float:
        length, along = sums.tolist()
        return min(1.0, limit) if length == 0.0 else min(max(-along / length, 0.0), limit)

    def reference(self, y: Array) -> Array:
        return y

    def start(self, y: Array, weight: Array) -> Array:
        return (weight @ y) / weight.sum()
