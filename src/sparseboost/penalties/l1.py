"""ℓ1: every entry on its own."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.kinds import L1 as KIND
from sparseboost.penalties.base import Array, Norm, entrywise_exponential_step


class L1(Norm):
    r"""ℓ1 norm ρ(w) = Σ_r |w_r|.

    References
    ----------
    MATH.md T4 (p = 1), D1, D5.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.penalties import L1
    >>> L1().prox(np.array([[3.0, -0.5]]), 1.0)
    array([[ 2., -0.]])
    """

    kernel = KIND

    def value(self, blocks: Array) -> Array:
        return np.abs(blocks).sum(axis=1)

    def dual_norm(self, gradient: Array) -> Array:
        pulls = self.pulls(gradient)
        return pulls[:, 0] if pulls.shape[1] == 1 else pulls.max(axis=1)

    def _shrink(self, blocks: Array, threshold: Array) -> Array:
        return np.sign(blocks) * np.maximum(np.abs(blocks) - threshold, 0.0)

    def has_exponential_step(self, n_outputs: int) -> bool:
        return True

    def exponential_step(self, blocks: Array, plus: Array, minus: Array, room: Array, strength: Array) -> Array:
        moved = entrywise_exponential_step(blocks, plus, minus, room, strength)
        return np.maximum(moved, 0.0) if self.positive else moved

    def extreme_point(self, gradient: Array) -> Array:
        pull = self.signed(gradient)
        vertex = np.zeros_like(pull)
        best = np.abs(pull).argmax(axis=1)[:, None]
        np.put_along_axis(vertex, best, np.sign(np.take_along_axis(pull, best, axis=1)), axis=1)
        return vertex
