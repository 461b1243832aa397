"""No penalty at all."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.kinds import NO_PENALTY as KIND
from sparseboost.penalties.base import Array, Penalty, entrywise_exponential_step


class NoPenalty(Penalty):
    r"""ρ = 0: plain loss minimisation. Its certificate is loose unless the gradient vanishes."""

    kernel = KIND

    def value(self, blocks: Array) -> Array:
        return np.zeros(blocks.shape[0])

    def dual_norm(self, gradient: Array) -> Array:
        return np.where(np.abs(self.signed(gradient)).max(axis=1) > 0, np.inf, 0.0)

    def _shrink(self, blocks: Array, threshold: Array) -> Array:
        return blocks

    def has_exponential_step(self, n_outputs: int) -> bool:
        return True

    def exponential_step(self, blocks: Array, plus: Array, minus: Array, room: Array, strength: Array) -> Array:
        moved = entrywise_exponential_step(blocks, plus, minus, room, np.zeros_like(strength))
        return np.maximum(moved, 0.0) if self.positive else moved
