"""ℓ1/ℓ∞: a block pays for its largest entry; the others ride along."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.kinds import L1_LINF as KIND
from sparseboost.penalties.base import Array, Norm, entrywise_exponential_step


class L1Linf(Norm):
    r"""ℓ1/ℓ∞ norm ρ(w) = max_r |w_r| of every block.

    References
    ----------
    MATH.md T4 (p = ∞), D2–D4, D6.
    """

    kernel = KIND

    def value(self, blocks: Array) -> Array:
        return np.abs(blocks).max(axis=1)

    def dual_norm(self, gradient: Array) -> Array:
        pulls = self.pulls(gradient)
        return pulls[:, 0] if pulls.shape[1] == 1 else pulls.sum(axis=1)

    def _shrink(self, blocks: Array, threshold: Array) -> Array:
        size = np.abs(blocks)
        ranked = -np.sort(-size, axis=1)
        level = (np.cumsum(ranked, axis=1) - threshold) / np.arange(1, size.shape[1] + 1)
        # the clipping level for the l largest entries is right for the last l whose entry still exceeds it
        last = np.maximum((ranked > level).sum(axis=1) - 1, 0)
        cap = np.maximum(np.take_along_axis(level, last[:, None], axis=1), 0.0)
        cap = np.where(threshold > 0, cap, np.inf)
        return np.sign(blocks) * np.minimum(size, cap)

    def has_exponential_step(self, n_outputs: int) -> bool:
        return True

    def exponential_step(self, blocks: Array, plus: Array, minus: Array, room: Array, strength: Array) -> Array:
        free = entrywise_exponential_step(blocks, plus, minus, room, np.zeros_like(strength))
        tied = room[:, None] * self._clipped_logs(blocks / room[:, None], plus, minus, strength)
        moved = np.where(strength[:, None] > 0, tied, free)
        return np.maximum(moved, 0.0) if self.positive else moved

    def _clipped_logs(self, scaled: Array, plus: Array, minus: Array, strength: Array) -> Array:
        """D2 for f_r(d) = A_r e^{−d} + B_r e^{d} with everything kept as logarithms, sorted once per block."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            log_a, log_b = np.log(plus) + scaled, np.log(minus) - scaled
            log_lam = np.log(strength)[:, None]
            sign = np.where(log_a > log_b, 1.0, np.where(log_a < log_b, -1.0, 0.0))
            if self.positive:
                sign = np.maximum(sign, 0.0)
            high, low = np.maximum(log_a, log_b), np.minimum(log_a, log_b)
            reach = np.where(sign != 0, 0.5 * (high - low), 0.0)
            pull = np.where(sign != 0, high + np.log1p(-np.exp(low - high)), -np.inf)
            empty = np.logaddexp.reduce(pull, axis=1, keepdims=True) <= log_lam

            order = np.argsort(-reach, axis=1, kind="stable")
            reach_sorted = np.take_along_axis(reach, order, axis=1)
            silent = np.take_along_axis(sign, order, axis=1) == 0
            sum_high = _running_logsum(np.where(silent, -np.inf, np.take_along_axis(high, order, axis=1)))
            sum_low = _running_logsum(np.where(silent, -np.inf, np.take_along_axis(low, order, axis=1)))
            root = 0.5 * np.logaddexp(2.0 * log_lam, np.log(4.0) + sum_high + sum_low)
            level = np.log(2.0) + sum_high - np.logaddexp(log_lam, root)
            following = np.concatenate([reach_sorted[:, 1:], np.zeros_like(reach[:, :1])], axis=1)
            first = (level >= following).argmax(axis=1)[:, None]
            cap = np.take_along_axis(level, first, axis=1)
            return np.where(empty, 0.0, sign * np.minimum(reach, np.maximum(cap, 0.0)))

    def extreme_point(self, gradient: Array) -> Array:
        return np.sign(self.signed(gradient))


def _running_logsum(logs: Array) -> Array:
    return np.logaddexp.accumulate(logs, axis=1)
