"""Pairwise logistic loss: the own class against every other, one logistic loss each."""

from __future__ import annotations

import numpy as np
from scipy.special import entr, expit
from scipy.special import softmax as softmax_rows

from sparseboost.kernels.kinds import PAIRWISE
from sparseboost.losses.base import Array, Loss
from sparseboost.losses.softmax import log_shares

MOST_STEPS = 100


class PairwiseLogistic(Loss):
    r"""Pairwise logistic loss ℓ = (1/k) Σ_{r≠y} ln(1 + e^{z_r − z_y}); ``y`` has one column of class codes 0 … k−1.

    The factor 1/k is that of P2, so that `alpha` is the ν of the paper; the constant (ln 2)/k of the term r = y is
    left out. Scores whose differences are log-odds are its population optimum, so `decode` is the softmax.

    Parameters
    ----------
    n_classes : int
        k, the number of classes and of scores per example.

    References
    ----------
    MATH.md P2, T1 (curvature k/4 before the factor), T3 (conjugate).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.losses import PairwiseLogistic
    >>> PairwiseLogistic(4).value(np.array([[0.0]]), np.zeros((1, 4))) * 4 / np.log(2)
    array([3.])
    """

    curvature = 0.25
    room = 0.5
    kernel = (PAIRWISE, 0.0, 0.0)
    multiclass = True

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def n_outputs(self, y: Array) -> int:
        return self.n_classes

    def pivot(self, y: Array) -> Array:
        return y[:, 0].astype(np.int64)

    def _own(self, y: Array) -> tuple[Array, Array]:
        return np.arange(y.shape[0]), y[:, 0].astype(np.intp)

    def _rise(self, y: Array, score: Array) -> Array:
        """z_r − z_y, and −inf for the own class, which has no term."""
        own = self._own(y)
        rise = score - score[own][:, None]
        rise[own] = -np.inf
        return rise

    def value(self, y: Array, score: Array) -> Array:
        return np.logaddexp(0.0, self._rise(y, score)).sum(axis=1) / self.n_classes

    def split(self, y: Array, score: Array) -> tuple[Array, Array]:
        up = expit(self._rise(y, score)) / self.n_classes
        down = np.zeros_like(up)
        down[self._own(y)] = up.sum(axis=1)
        return up, down

    def gradient(self, y: Array, score: Array) -> Array:
        up, down = self.split(y, score)
        return up - down

    def local_curvature(self, y: Array, score: Array) -> Array:
        rise = self._rise(y, score)
        local = expit(rise) * expit(-rise) / self.n_classes
        local[self._own(y)] = local.sum(axis=1)
        return local

    def conjugate(self, y: Array, dual: Array) -> Array:
        own = self._own(y)
        odds = dual * self.n_classes
        odds[own] = 0.0
        inside = (odds >= 0.0) & (odds <= 1.0 + 1e-12)
        level = np.abs(dual.sum(axis=1)) <= 1e-9
        odds = np.clip(odds, 0.0, 1.0)
        value = -(entr(odds) + entr(1.0 - odds)).sum(axis=1) / self.n_classes
        return np.where(inside.all(axis=1) & level, value, np.inf)

    def balance(self, y: Array, dual: Array, weight: Array) -> Array:
        # Σ_i s_i v_i = 0 says that as much is pushed out of every class as into it: a circulation between classes
        own = self._own(y)
        push = np.maximum(dual, 0.0)
        push[own] = 0.0
        flow = np.stack(
            [np.bincount(own[1], weight * push[:, r], minlength=self.n_classes) for r in range(self.n_classes)], axis=1
        )
        push *= 1.0 - circulation_cut(flow)[own[1]]
        push[own] = -push.sum(axis=1)
        return push

    def start(self, y: Array, weight: Array) -> Array:
        # every pair of classes alone has the optimum b_c − b_r = ln(share_c/share_r), so all of them together
        return log_shares(y, weight, self.n_classes)

    def decode(self, score: Array) -> Array:
        return softmax_rows(score, axis=1)


def circulation_cut(flow: Array) -> Array:
    r"""Share of every flow to take away so that all nodes send what they receive: clip(π_c − π_r, 0, 1).

    It minimises Σ cut²·flow, so it is zero for a circulation and small next to one. The potentials π minimise a convex
    function of linear and quadratic pieces, on which Newton's method ends after a few steps.
    """
    surplus = flow.sum(axis=1) - flow.sum(axis=0)
    ridge = 1e-10 * flow.max(initial=0.0) * np.eye(flow.shape[0])  # where nothing bends, the slope itself is the way

    def look(potential: Array) -> tuple[float, Array]:
        rise = np.maximum(potential[:, None] - potential, 0.0)
        inside = np.minimum(rise, 1.0)
        cut = flow * inside
        value = float((flow * (0.5 * inside**2 + (rise - inside))).sum() - surplus @ potential)
        return value, cut.sum(axis=1) - cut.sum(axis=0) - surplus

    potential = np.zeros(flow.shape[0])
    value, slope = look(potential)
    for _ in range(MOST_STEPS):
        size = np.abs(slope).max()
        if size <= 4e-16 * flow.sum():
            break
        rise = potential[:, None] - potential
        bent = np.where((rise >= 0.0) & (rise <= 1.0), flow, 0.0)
        bent = bent + bent.T
        direction = -np.linalg.solve(np.diag(bent.sum(axis=1)) - bent + ridge, slope)
        step = 1.0
        found = look(potential + direction)
        # close to the end the slope shows progress that the value rounds away
        while step > 1e-9 and not (found[0] < value or (step == 1.0 and np.abs(found[1]).max() < 0.5 * size)):
            step *= 0.5
            found = look(potential + step * direction)
        if step <= 1e-9:
            break
        potential, (value, slope) = potential + step * direction, found
    return np.clip(potential[:, None] - potential, 0.0, 1.0)
