"""Quantile loss, whose best constant is a quantile."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.kinds import QUANTILE
from sparseboost.losses.absolute import BEYOND, absorb, weighted_quantile
from sparseboost.losses.base import Array, Loss


class Quantile(Loss):
    r"""Quantile (pinball) loss ℓ = Σ_r max(q·(y_r − z_r), (1 − q)·(z_r − y_r)). Not smooth.

    Parameters
    ----------
    q : float, default=0.5
        The quantile, between 0 and 1; one half gives half of the absolute loss.

    References
    ----------
    MATH.md G5.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.losses import Quantile
    >>> Quantile(0.9).value(np.array([[1.0], [1.0]]), np.array([[0.0], [2.0]]))
    array([0.9, 0.1])
    """

    smooth = False

    def __init__(self, q: float = 0.5) -> None:
        if not 0.0 < q < 1.0:
            raise ValueError(f"Quantile needs a q between 0 and 1, got {q!r}.")
        self.q = float(q)

    def value(self, y: Array, score: Array) -> Array:
        t = score - y
        return np.maximum(-self.q * t, (1.0 - self.q) * t).sum(axis=1)

    def gradient(self, y: Array, score: Array) -> Array:
        t = score - y
        return np.where(t > 0, 1.0 - self.q, np.where(t < 0, -self.q, 0.0))

    def conjugate(self, y: Array, dual: Array) -> Array:
        inside = (dual >= -self.q - 1e-12) & (dual <= 1.0 - self.q + 1e-12)
        return np.where(inside, dual * y, np.inf).sum(axis=1)

    def balance(self, y: Array, dual: Array, weight: Array) -> Array:
        return super().balance(y, absorb(dual, weight, -self.q, 1.0 - self.q), weight)

    def smoothed(self, width: float) -> Loss:
        return SmoothedQuantile(self.q, width)

    def start(self, y: Array, weight: Array) -> Array:
        return weighted_quantile(y, weight, self.q)

    def reference(self, y: Array) -> Array:
        return y


class SmoothedQuantile(Quantile):
    r"""The quantile loss with its corner rounded: slope clip((z − y)/width, −q, 1 − q)."""

    smooth = True

    def __init__(self, q: float, width: float) -> None:
        super().__init__(q)
        self.width = width

    @property
    def curvature(self) -> float:  # type: ignore[override]
        return 1.0 / self.width

    @property
    def kernel(self) -> tuple[int, float, float]:  # type: ignore[override]
        return (QUANTILE, self.width, self.q)

    def value(self, y: Array, score: Array) -> Array:
        t, slope = score - y, self.gradient(y, score)
        return (t * slope - 0.5 * self.width * slope**2).sum(axis=1)

    def gradient(self, y: Array, score: Array) -> Array:
        return np.clip((score - y) / self.width, -self.q, 1.0 - self.q)

    def local_curvature(self, y: Array, score: Array) -> Array:
        t = (score - y) / self.width
        return np.where((t >= -self.q) & (t <= 1.0 - self.q), 1.0 / self.width, 0.0)

    def model_curvature(self, y: Array, score: Array) -> Array:
        # as for Huber's loss: where the Hessian vanishes a share of a parabola keeps the model bounded
        beyond = BEYOND / np.maximum(np.abs(score - y), self.width)
        return np.where(self.local_curvature(y, score) > 0.0, 1.0 / self.width, beyond)

    def conjugate(self, y: Array, dual: Array) -> Array:
        return super().conjugate(y, dual) + 0.5 * self.width * (dual**2).sum(axis=1)
