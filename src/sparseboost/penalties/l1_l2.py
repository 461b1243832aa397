"""ℓ1/ℓ2: a block is zero as a whole or spread over its outputs."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.kinds import L1_L2 as KIND
from sparseboost.penalties.base import Array, Norm, entrywise_exponential_step


class L1L2(Norm):
    r"""ℓ1/ℓ2 norm (group lasso) ρ(w) = ‖w‖₂ of every block.

    References
    ----------
    MATH.md T4 (p = 2), D7. AdaBoost has no step for it unless a block has one entry, where it is ℓ1.
    """

    kernel = KIND

    def value(self, blocks: Array) -> Array:
        return _lengths(blocks)

    def dual_norm(self, gradient: Array) -> Array:
        return _lengths(self.signed(gradient) if self.positive else gradient)

    def _shrink(self, blocks: Array, threshold: Array) -> Array:
        size = np.linalg.norm(blocks, axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(size > threshold, 1.0 - threshold / size, 0.0) * blocks

    def has_exponential_step(self, n_outputs: int) -> bool:
        return n_outputs == 1

    def exponential_step(self, blocks: Array, plus: Array, minus: Array, room: Array, strength: Array) -> Array:
        if blocks.shape[1] != 1:
            return super().exponential_step(blocks, plus, minus, room, strength)
        moved = entrywise_exponential_step(blocks, plus, minus, room, strength)
        return np.maximum(moved, 0.0) if self.positive else moved

    def extreme_point(self, gradient: Array) -> Array:
        pull = self.signed(gradient)
        size = np.linalg.norm(pull, axis=1, keepdims=True)
        return np.divide(pull, size, out=np.zeros_like(pull), where=size > 0)


def _lengths(blocks: Array) -> Array:
    if blocks.shape[1] == 1:
        return np.abs(blocks[:, 0])
    return np.sqrt(np.einsum("jr,jr->j", blocks, blocks))
