"""Softmax (multinomial logistic) loss."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax as softmax_rows

from sparseboost import kernels
from sparseboost.kernels.kinds import SOFTMAX
from sparseboost.losses.base import Array, Loss, over_outputs
from sparseboost.losses.logistic import LARGEST_LOG_ODDS, each


class Softmax(Loss):
    r"""Softmax loss ℓ = ln Σ_r e^{z_r} − z_y; ``y`` has one column of class codes 0 … k−1.

    Parameters
    ----------
    n_classes : int
        k, the number of classes and of scores per example.

    References
    ----------
    MATH.md T1 (softmax), T6 (its intercept repair), D4, D6, D7.
    """

    curvature = 0.5
    room = 0.5
    kernel = (SOFTMAX, 0.0, 1.0)
    multiclass = True

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def n_outputs(self, y: Array) -> int:
        return self.n_classes

    def _one_hot(self, y: Array) -> Array:
        hot = np.zeros((y.shape[0], self.n_classes))
        hot[np.arange(y.shape[0]), y[:, 0].astype(np.intp)] = 1.0
        return hot

    def value(self, y: Array, score: Array) -> Array:
        return self._pass(y, np.ones(y.shape[0]), score)[0]

    def _pass(self, y: Array, weight: Array, score: Array) -> tuple[Array, Array, Array]:
        """Loss of every example, weighted gradient, probabilities of the curvature."""
        loss, force, share = np.empty(score.shape[0]), np.empty(score.shape), np.empty(score.shape)
        kernels.elementary.softmax_model(y, weight, np.ascontiguousarray(score), loss, force, share)
        return loss, force, share

    def split(self, y: Array, score: Array) -> tuple[Array, Array]:
        up = softmax_rows(score, axis=1)
        down = np.zeros_like(up)
        rows, own = np.arange(y.shape[0]), y[:, 0].astype(np.intp)
        up[rows, own] = 0.0
        down[rows, own] = up.sum(axis=1)  # 1 − q_y without subtraction
        return up, down

    def gradient(self, y: Array, score: Array) -> Array:
        return self._pass(y, np.ones(y.shape[0]), score)[1]

    def value_and_gradient(self, y: Array, score: Array) -> tuple[Array, Array]:
        return self._pass(y, np.ones(y.shape[0]), score)[:2]

    def local_curvature(self, y: Array, score: Array) -> Array:
        up, down = self.split(y, score)
        return (up + down) * (1.0 - up - down)

    def model_curvature(self, y: Array, score: Array) -> Array:
        return self._pass(y, np.ones(y.shape[0]), score)[2]

    def model(self, y: Array, weight: Array, score: Array) -> tuple[float, Array, Array | None]:
        loss, force, share = self._pass(y, weight, score)
        return float(weight @ loss), force, share

    def conjugate(self, y: Array, dual: Array) -> Array:
        u = dual.copy()
        u[np.arange(y.shape[0]), y[:, 0].astype(np.intp)] += 1.0
        inside = np.abs(over_outputs(u) - 1.0) <= 1e-9
        if u.min(initial=0.0) < -1e-12:
            inside &= u.min(axis=1) >= -1e-12
        entropy = over_outputs(each(kernels.elementary.entropy, np.clip(u, 0.0, 1.0, out=u)))
        return np.where(inside, -entropy, np.inf)

    def imbalance(self, y: Array, dual: Array, weight: Array) -> Array:
        hot = self._one_hot(y)
        return np.stack([weight @ (dual + hot), weight @ hot])

    def balanced(self, y: Array, dual: Array, imbalance: Array) -> Array:
        hot = self._one_hot(y)
        q = dual + hot
        mass, wanted = imbalance
        heavy = mass > wanted
        short = np.maximum(wanted - mass, 0.0)
        if short.sum() == 0.0:
            return dual
        keep = np.where(heavy, wanted / np.where(heavy, mass, 1.0), 1.0)
        freed = (q * (1.0 - keep)).sum(axis=1, keepdims=True)
        return q * keep + freed * (short / short.sum()) - hot

    def start(self, y: Array, weight: Array) -> Array:
        return log_shares(y, weight, self.n_classes)

    def decode(self, score: Array) -> Array:
        return softmax_rows(score, axis=1)


def log_shares(y: Array, weight: Array, n_classes: int) -> Array:
    """Logarithms of the shares of all classes, centred, and kept finite for a class that does not occur."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.bincount(y[:, 0].astype(np.intp), weight, minlength=n_classes))
    logs = np.maximum(logs, logs.max() - LARGEST_LOG_ODDS)
    return logs - logs.mean()
