"""Hinge losses: the margin of one score per label, and the Crammer–Singer margin between classes."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp
from scipy.special import softmax as softmax_rows

from sparseboost import kernels
from sparseboost.kernels.kinds import HINGE, SOFTMAX
from sparseboost.losses.absolute import BEYOND, absorb
from sparseboost.losses.base import Array, Loss
from sparseboost.losses.softmax import Softmax


class Hinge(Loss):
    r"""Hinge loss ℓ = Σ_r max(0, 1 − y_r z_r), y ∈ {−1, +1}. Not smooth; its scores are no log-odds.

    References
    ----------
    MATH.md T1, T3 (hinge), G5.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.losses import Hinge
    >>> Hinge().value(np.array([[1.0], [-1.0]]), np.array([[0.25], [0.25]]))
    array([0.75, 1.25])
    """

    smooth = False
    probabilistic = False

    def value(self, y: Array, score: Array) -> Array:
        return np.maximum(1.0 - y * score, 0.0).sum(axis=1)

    def gradient(self, y: Array, score: Array) -> Array:
        return np.where(y * score < 1.0, -y, 0.0)

    def conjugate(self, y: Array, dual: Array) -> Array:
        u = -y * dual
        return np.where((u >= -1e-12) & (u <= 1.0 + 1e-12), -u, np.inf).sum(axis=1)

    def balance(self, y: Array, dual: Array, weight: Array) -> Array:
        # examples on the kink, or beyond it, may be pulled towards their own label
        dual = absorb(dual, weight, -1.0, 0.0, where=y > 0)
        return super().balance(y, absorb(dual, weight, 0.0, 1.0, where=y < 0), weight)

    def start(self, y: Array, weight: Array) -> Array:
        return np.sign(weight @ y)

    def reference(self, y: Array) -> Array:
        return y

    def envelope_gradient(self, y: Array, score: Array, step: float) -> Array | None:
        return -y * np.clip((1.0 - y * score) / step, 0.0, 1.0)

    def smoothed(self, width: float) -> Loss:
        return SmoothedHinge(width)


class SmoothedHinge(Hinge):
    r"""The hinge with its corner rounded: slope −clip((1 − y z)/width, 0, 1)."""

    smooth = True

    def __init__(self, width: float) -> None:
        self.width = width

    @property
    def curvature(self) -> float:  # type: ignore[override]
        return 1.0 / self.width

    @property
    def kernel(self) -> tuple[int, float, float]:  # type: ignore[override]
        return (HINGE, self.width, 0.0)

    def envelope_gradient(self, y: Array, score: Array, step: float) -> Array | None:
        return None

    def value(self, y: Array, score: Array) -> Array:
        short = np.maximum(1.0 - y * score, 0.0)
        inside = np.minimum(short, self.width)
        return (inside**2 / (2.0 * self.width) + (short - inside)).sum(axis=1)

    def gradient(self, y: Array, score: Array) -> Array:
        return -y * np.clip((1.0 - y * score) / self.width, 0.0, 1.0)

    def local_curvature(self, y: Array, score: Array) -> Array:
        short = 1.0 - y * score
        return np.where((short >= 0.0) & (short <= self.width), 1.0 / self.width, 0.0)

    def model_curvature(self, y: Array, score: Array) -> Array:
        # where the Hessian vanishes a share of a parabola that stays above the loss keeps the model bounded
        short = 1.0 - y * score
        beyond = BEYOND / np.maximum(np.abs(short - 0.5 * self.width), 0.5 * self.width)
        return np.where((short >= 0.0) & (short <= self.width), 1.0 / self.width, beyond)

    def conjugate(self, y: Array, dual: Array) -> Array:
        return super().conjugate(y, dual) + 0.5 * self.width * (dual**2).sum(axis=1)


class MulticlassHinge(Loss):
    r"""Crammer–Singer hinge ℓ = max_r (1{r≠y} + z_r − z_y); ``y`` has one column of class codes 0 … k−1. Not smooth.

    Parameters
    ----------
    n_classes : int
        k, the number of classes and of scores per example.

    References
    ----------
    MATH.md T1, T3 (multi-class hinge), G5, P1.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.losses import MulticlassHinge
    >>> MulticlassHinge(3).value(np.array([[0.0], [1.0]]), np.array([[2.0, 0.5, 0.0], [2.0, 0.5, 0.0]]))
    array([0. , 2.5])
    """

    smooth = False
    probabilistic = False
    multiclass = True

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def n_outputs(self, y: Array) -> int:
        return self.n_classes

    def raised(self, y: Array, score: Array) -> tuple[Array, Array]:
        """1{r≠y} + z_r, and the column of the own class."""
        own = y[:, 0].astype(np.intp)
        raised = score + 1.0
        raised[np.arange(own.size), own] -= 1.0
        return raised, own

    def value(self, y: Array, score: Array) -> Array:
        raised, own = self.raised(y, score)
        return raised.max(axis=1) - score[np.arange(own.size), own]

    def gradient(self, y: Array, score: Array) -> Array:
        return self.value_and_gradient(y, score)[1]

    def value_and_gradient(self, y: Array, score: Array) -> tuple[Array, Array]:
        score = np.ascontiguousarray(score, dtype=float)
        value, gradient = np.empty(score.shape[0]), np.empty(score.shape)
        kernels.classes.crammer_singer(y[:, 0].astype(np.intp), score, value, gradient)
        return value, gradient

    def split(self, y: Array, score: Array) -> tuple[Array, Array]:
        gradient = self.gradient(y, score)
        return np.maximum(gradient, 0.0), np.maximum(-gradient, 0.0)

    def conjugate(self, y: Array, dual: Array) -> Array:
        u = dual + self._one_hot(y)
        inside = (u.min(axis=1) >= -1e-12) & (np.abs(u.sum(axis=1) - 1.0) <= 1e-9)
        return np.where(inside, (u * self._one_hot(y)).sum(axis=1) - 1.0, np.inf)

    def imbalance(self, y: Array, dual: Array, weight: Array) -> Array:
        return Softmax(self.n_classes).imbalance(y, dual, weight)

    def balanced(self, y: Array, dual: Array, imbalance: Array) -> Array:
        return Softmax(self.n_classes).balanced(y, dual, imbalance)  # the same dual points: u − e_y, u in the simplex

    def start(self, y: Array, weight: Array) -> Array:
        # a class with more than half of the weight is predicted always, at twice the loss of the others; else no class
        share = weight @ self._one_hot(y)
        best = np.where((share == share.max()) & (share > 0.5 * share.sum()), 1.0, 0.0)
        return best - best.mean()

    def reference(self, y: Array) -> Array:
        return self._one_hot(y)

    def smoothed(self, width: float) -> Loss:
        return SmoothedMulticlassHinge(self.n_classes, width)

    def envelope_gradient(self, y: Array, score: Array, step: float) -> Array | None:
        # v = u − e_y, where u is the point of the simplex nearest to (1{r≠y} + score_r)/step + e_y
        raised, own = self.raised(y, score)
        raised /= step
        raised[np.arange(own.size), own] += 1.0
        return nearest_in_simplex(raised) - self._one_hot(y)

    def _one_hot(self, y: Array) -> Array:
        return (np.arange(self.n_classes) == y[:, :1]).astype(float)


def nearest_in_simplex(points: Array) -> Array:
    """Nearest probabilities of every row."""
    ranked = -np.sort(-points, axis=1)
    level = (np.cumsum(ranked, axis=1) - 1.0) / np.arange(1, points.shape[1] + 1)
    last = (ranked > level).sum(axis=1) - 1
    return np.maximum(points - np.take_along_axis(level, last[:, None], axis=1), 0.0)


class SmoothedMulticlassHinge(MulticlassHinge):
    r"""The maximum replaced by τ ln((1/k) Σ_r e^{·/τ}), τ = width/(2 ln k): at most width/2 below it."""

    smooth = True

    def __init__(self, n_classes: int, width: float) -> None:
        super().__init__(n_classes)
        self.width = width

    @property
    def temperature(self) -> float:
        """τ."""
        return self.width / (2.0 * np.log(self.n_classes))

    @property
    def curvature(self) -> float:  # type: ignore[override]
        return 0.5 / self.temperature

    @property
    def kernel(self) -> tuple[int, float, float]:  # type: ignore[override]
        return (SOFTMAX, 1.0, 1.0 / self.temperature)

    def envelope_gradient(self, y: Array, score: Array, step: float) -> Array | None:
        return None

    def value(self, y: Array, score: Array) -> Array:
        raised, own = self.raised(y, score)
        raised -= score[np.arange(own.size), own][:, None]
        return self.temperature * (logsumexp(raised / self.temperature, axis=1) - np.log(self.n_classes))

    def split(self, y: Array, score: Array) -> tuple[Array, Array]:
        raised, own = self.raised(y, score)
        up = softmax_rows(raised / self.temperature, axis=1)
        down, rows = np.zeros_like(up), np.arange(own.size)
        up[rows, own] = 0.0
        down[rows, own] = up.sum(axis=1)
        return up, down

    def gradient(self, y: Array, score: Array) -> Array:
        up, down = self.split(y, score)
        return up - down

    def value_and_gradient(self, y: Array, score: Array) -> tuple[Array, Array]:
        return self.value(y, score), self.gradient(y, score)

    @property
    def sharpness(self) -> float:  # type: ignore[override]
        return 1.0 / self.temperature

    def _shares(self, y: Array, score: Array) -> Array:
        return softmax_rows(self.raised(y, score)[0] / self.temperature, axis=1)

    def local_curvature(self, y: Array, score: Array) -> Array:
        q = self._shares(y, score)
        return q * (1.0 - q) / self.temperature

    def model_curvature(self, y: Array, score: Array) -> Array:
        # far from the corners the shares are 0 and 1 and the Hessian vanishes: a little of every class keeps it bounded
        mixed = BEYOND * min(self.temperature, 1.0)
        return (1.0 - mixed) * self._shares(y, score) + mixed / self.n_classes
