"""Smooth ε-insensitive regression loss."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from sparseboost.kernels.kinds import EPS_INSENSITIVE
from sparseboost.losses.base import Array, Loss


class EpsInsensitive(Loss):
    r"""Smooth ε-insensitive loss ℓ = Σ_r ln(1 + e^{t−ε}) + ln(1 + e^{−t−ε}), t = z − y.

    Parameters
    ----------
    eps : float, default=0.1
        ε, the half width of the tube of residuals that cost little.

    References
    ----------
    MATH.md D12, T1 (its curvature), T3 (its conjugate).
    """

    room = 1.0

    def __init__(self, eps: float = 0.1) -> None:
        if not (eps >= 0 and np.isfinite(eps)):
            raise ValueError(f"EpsInsensitive needs a finite eps >= 0, got {eps!r}.")
        self.eps = float(eps)

    @property
    def curvature(self) -> float:  # type: ignore[override]
        if self.eps > 300.0:  # cosh would overflow; coth is 1
            return 0.25
        cosh = np.cosh(self.eps)
        return float(1.0 / (1.0 + cosh) if cosh <= 2.0 else 0.25 / np.tanh(self.eps) ** 2)

    @property
    def kernel(self) -> tuple[int, float, float]:  # type: ignore[override]
        return (EPS_INSENSITIVE, self.eps, 0.0)

    def value(self, y: Array, score: Array) -> Array:
        t = score - y
        return (np.logaddexp(0.0, t - self.eps) + np.logaddexp(0.0, -t - self.eps)).sum(axis=1)

    def split(self, y: Array, score: Array) -> tuple[Array, Array]:
        t = score - y
        return expit(t - self.eps), expit(-t - self.eps)

    def gradient(self, y: Array, score: Array) -> Array:
        up, down = self.split(y, score)
        return up - down

    def local_curvature(self, y: Array, score: Array) -> Array:
        up, down = self.split(y, score)
        return up * (1.0 - up) + down * (1.0 - down)

    def reference(self, y: Array) -> Array:
        return y

    def conjugate(self, y: Array, dual: Array) -> Array:
        size = np.abs(dual)
        inside = np.minimum(size, 1.0 - 1e-16)
        tail = np.exp(-2.0 * self.eps)
        root = inside * (1.0 + tail) / 2.0 + np.hypot(np.exp(-self.eps), inside * (1.0 - tail) / 2.0)
        root = np.maximum(root, np.finfo(float).tiny)  # e^−ε underflows for wide tubes
        t = self.eps + np.log(root) - np.log1p(-inside)
        value = inside * t - np.logaddexp(0.0, t - self.eps) - np.logaddexp(0.0, -t - self.eps)
        value = np.where(size >= 1.0, self.eps, value)
        return np.where(size <= 1.0 + 1e-12, value + dual * y, np.inf).sum(axis=1)
