"""Absolute loss, and the Huber loss that smooths it."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.kinds import RESIDUAL
from sparseboost.losses.base import Array, Loss

BEYOND = 0.01


class ClippedResidual(Loss):
    r"""ℓ = Σ_r height·(|t| − width/2) for |t| > width, height·t²/(2·width) inside, t = z − y.

    The gradient is height·clip(t/width, −1, 1). `Huber` and the smoothed `Absolute` are two settings of it.
    """

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height

    @property
    def curvature(self) -> float:  # type: ignore[override]
        return self.height / self.width

    @property
    def kernel(self) -> tuple[int, float, float]:  # type: ignore[override]
        return (RESIDUAL, self.width, self.height / self.width)

    def value(self, y: Array, score: Array) -> Array:
        size = np.abs(score - y)
        inside = np.minimum(size, self.width)
        return (self.height * (inside**2 / (2.0 * self.width) + (size - inside))).sum(axis=1)

    def gradient(self, y: Array, score: Array) -> Array:
        return self.height * np.clip((score - y) / self.width, -1.0, 1.0)

    def local_curvature(self, y: Array, score: Array) -> Array:
        return np.where(np.abs(score - y) <= self.width, self.height / self.width, 0.0)

    def model_curvature(self, y: Array, score: Array) -> Array:
        # The Hessian is zero beyond the width, where a share of the parabola that stays above the loss takes its place:
        # all of it would be safe but slow, none of it leaves the model without a minimum.
        size = np.maximum(np.abs(score - y), self.width)
        return np.where(size > self.width, BEYOND, 1.0) * self.height / size

    def conjugate(self, y: Array, dual: Array) -> Array:
        inside = np.abs(dual) <= self.height * (1.0 + 1e-12)
        return np.where(inside, dual * y + dual**2 * (self.width / (2.0 * self.height)), np.inf).sum(axis=1)

    def reference(self, y: Array) -> Array:
        return y


class Huber(ClippedResidual):
    r"""Huber loss ℓ = Σ_r ½t² for |t| ≤ δ, δ|t| − ½δ² beyond, t = z − y.

    Parameters
    ----------
    delta : float, default=1.0
        Residual size at which the loss turns from quadratic to linear.

    References
    ----------
    MATH.md T3 (Huber).
    """

    def __init__(self, delta: float = 1.0) -> None:
        if not (delta > 0 and np.isfinite(delta)):
            raise ValueError(f"Huber needs a finite delta > 0, got {delta!r}.")
        super().__init__(width=float(delta), height=float(delta))

    def __repr__(self) -> str:
        return f"Huber(delta={self.width!r})"


class Absolute(Loss):
    r"""Absolute loss ℓ = Σ_r |z_r − y_r|. Not smooth: solvers work on `smoothed` versions of shrinking width.

    References
    ----------
    MATH.md T3 (absolute).
    """

    smooth = False

    def value(self, y: Array, score: Array) -> Array:
        return np.abs(score - y).sum(axis=1)

    def gradient(self, y: Array, score: Array) -> Array:
        return np.sign(score - y)

    def conjugate(self, y: Array, dual: Array) -> Array:
        return np.where(np.abs(dual) <= 1.0 + 1e-12, dual * y, np.inf).sum(axis=1)

    def balance(self, y: Array, dual: Array, weight: Array) -> Array:
        return super().balance(y, absorb(dual, weight, -1.0, 1.0), weight)

    def smoothed(self, width: float) -> Loss:
        return ClippedResidual(width, 1.0)

    def start(self, y: Array, weight: Array) -> Array:
        return weighted_quantile(y, weight, 0.5)

    def reference(self, y: Array) -> Array:
        return y


def weighted_quantile(y: Array, weight: Array, q: float) -> Array:
    """The smallest value of every column that a share q of the weight does not exceed."""
    order = np.argsort(y, axis=0, kind="stable")
    passed = np.cumsum(weight[order], axis=0)
    reached = (passed >= q * passed[-1]).argmax(axis=0)
    return np.take_along_axis(y, np.take_along_axis(order, reached[None, :], axis=0), axis=0)[0]


def absorb(dual: Array, weight: Array, low: float, high: float, where: Array | bool = True) -> Array:
    """Let examples on the kink, which may take any value in [low, high], absorb the imbalance Σ s v first."""
    free = (dual == 0.0) & where
    room = weight @ free
    with np.errstate(divide="ignore", invalid="ignore"):
        fill = np.where(room > 0, np.clip(-(weight @ dual) / room, low, high), 0.0)
    return np.where(free, fill, dual)
