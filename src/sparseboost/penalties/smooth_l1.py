"""Smooth ℓ1, the baseline that does not select."""

from __future__ import annotations

import numpy as np
from scipy.special import entr, expit

from sparseboost.kernels.kinds import SMOOTH_L1 as KIND
from sparseboost.penalties.base import LARGEST_STEP, Array, Penalty


class SmoothL1(Penalty):
    r"""Smooth ℓ1 ρ(w) = Σ_r ln(1 + e^{w_r}) + ln(1 + e^{−w_r}). Never sparse; templates need room a_j ≤ 1.

    References
    ----------
    MATH.md D13.
    """

    kernel = KIND

    def value(self, blocks: Array) -> Array:
        return (np.logaddexp(0.0, blocks) + np.logaddexp(0.0, -blocks)).sum(axis=1)

    def dual_norm(self, gradient: Array) -> Array:
        return np.abs(self.signed(gradient)).max(axis=1)

    def _shrink(self, blocks: Array, threshold: Array) -> Array:
        # root of w − v + t·tanh(w/2), concave and increasing for w ≥ 0: after one step Newton climbs from the left
        size = np.abs(blocks)
        w = size.copy()
        for _ in range(100):
            slope = np.tanh(0.5 * w)
            step = (w - size + threshold * slope) / (1.0 + 0.5 * threshold * (1.0 - slope**2))
            w = np.maximum(w - step, 0.0)
            if np.all(np.abs(step) <= 1e-15 * (1.0 + size)):
                break
        return np.sign(blocks) * w

    def conjugate(self, gradient: Array, strength: Array) -> float:
        v = np.clip(np.abs(self.signed(gradient)) / strength[:, None], 0.0, 1.0)
        return float(-2.0 * (strength @ (entr((1.0 + v) / 2.0) + entr((1.0 - v) / 2.0)).sum(axis=1)))

    def has_exponential_step(self, n_outputs: int) -> bool:
        return True

    def exponential_step(self, blocks: Array, plus: Array, minus: Array, room: Array, strength: Array) -> Array:
        lam = strength[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = np.log(plus + lam * expit(-blocks)) - np.log(minus + lam * expit(blocks))
        step = np.clip(0.5 * np.nan_to_num(pull, nan=0.0), -LARGEST_STEP, LARGEST_STEP)
        moved = blocks + room[:, None] * step
        return np.maximum(moved, 0.0) if self.positive else moved
