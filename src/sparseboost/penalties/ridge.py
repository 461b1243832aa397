"""Squared ridge: shrinks, never zeroes."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.kinds import RIDGE as KIND
from sparseboost.penalties.base import Array, Penalty


class Ridge(Penalty):
    r"""Squared ridge ρ(w) = ½‖w‖₂².

    References
    ----------
    MATH.md T3, last line.
    """

    kernel = KIND

    def value(self, blocks: Array) -> Array:
        return 0.5 * (blocks**2).sum(axis=1)

    def dual_norm(self, gradient: Array) -> Array:
        return np.zeros(gradient.shape[0])

    def _shrink(self, blocks: Array, threshold: Array) -> Array:
        return blocks / (1.0 + threshold)

    def conjugate(self, gradient: Array, strength: Array) -> float:
        return float(((self.signed(gradient) ** 2).sum(axis=1) / (2.0 * strength)).sum())
