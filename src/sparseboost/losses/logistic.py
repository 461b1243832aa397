"""Logistic loss for one or many ±1 outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import expit

from sparseboost import kernels
from sparseboost.kernels.kinds import LOGISTIC
from sparseboost.losses.base import Array, Loss, over_outputs

LARGEST_LOG_ODDS = 30.0
BLOCK_ENTRIES = 32_768


def log_odds(y: Array, weight: Array) -> Array:
    """Log of the ratio of positive to negative weight per output, kept finite when one side is missing."""
    positive = weight @ (y > 0)
    negative = weight @ (y <= 0)
    with np.errstate(divide="ignore"):
        return np.clip(np.log(positive) - np.log(negative), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def each(function: Callable[[Array, Array], None], values: Array) -> Array:
    """A compiled function of every entry."""
    out = np.empty(values.shape)
    function(values.ravel(), out.reshape(-1))
    return out


def blocks(score: Array) -> Iterator[slice]:
    """Ranges of examples whose scores stay in the cache, and take no more memory than that."""
    step = max(1, BLOCK_ENTRIES // max(score.shape[1], 1))
    for start in range(0, score.shape[0], step):
        yield slice(start, start + step)


class Logistic(Loss):
    r"""Logistic loss ℓ = Σ_r ln(1 + e^{−y_r z_r}), y ∈ {−1, +1}; several outputs are several tasks.

    References
    ----------
    MATH.md T1 (log, multitask log), D1, D3, D5–D7.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.losses import Logistic
    >>> Logistic().value(np.array([[1.0]]), np.array([[0.0]])).round(4)
    array([0.6931])
    """

    curvature = 0.25
    room = 1.0
    kernel = (LOGISTIC, 0.0, 0.0)

    def value(self, y: Array, score: Array) -> Array:
        value = np.empty(score.shape[0])
        for rows in blocks(score):
            value[rows] = over_outputs(each(kernels.elementary.softplus, -y[rows] * score[rows]))
        return value

    def gradient(self, y: Array, score: Array) -> Array:
        return -y * each(kernels.elementary.sigmoid, -y * score)

    def value_and_gradient(self, y: Array, score: Array) -> tuple[Array, Array]:
        value, gradient = np.empty(score.shape[0]), np.empty(score.shape)
        for rows in blocks(score):
            margin = -y[rows] * score[rows]
            each_value, slope = np.empty(margin.shape), np.empty(margin.shape)
            kernels.elementary.softplus_and_sigmoid(margin.ravel(), each_value.reshape(-1), slope.reshape(-1))
            value[rows] = over_outputs(each_value)
            np.multiply(-y[rows], slope, out=gradient[rows])
        return value, gradient

    def local_curvature(self, y: Array, score: Array) -> Array:
        return expit(score) * expit(-score)

    def model_curvature(self, y: Array, score: Array) -> Array:
        far = y * score < -kernels.elementary.FURTHEST
        return np.where(far, kernels.elementary.LEAST, self.local_curvature(y, score))

    def model(self, y: Array, weight: Array, score: Array) -> tuple[float, Array, Array | None]:
        force, local = np.empty(score.shape), np.empty(score.shape)
        total = kernels.elementary.logistic_model(
            np.ascontiguousarray(y), weight, np.ascontiguousarray(score), force, local
        )
        return total, force, local

    def conjugate(self, y: Array, dual: Array) -> Array:
        return -over_outputs(each(kernels.elementary.binary_entropy, -y * dual))

    def dual_value(self, y: Array, dual: Array, weight: Array, scale: float = 1.0) -> float:
        y, dual = np.ascontiguousarray(y), np.ascontiguousarray(dual)
        return float(kernels.elementary.logistic_entropy(y, weight, dual, float(scale)))

    def start(self, y: Array, weight: Array) -> Array:
        return log_odds(y, weight)

    def decode(self, score: Array) -> Array:
        return expit(score)
