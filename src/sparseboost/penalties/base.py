"""What a penalty must answer.

A penalty acts on blocks. `blocks` has one block per row, shape (n, k); a block is the row of weights of one
hypothesis, and nothing below depends on where a block comes from, so a named group of rows can be one later.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.optimize import brentq

Array = np.ndarray
LARGEST_STEP = 30.0  # cap on |step|/room where an unpenalised exponential step would be infinite


class Penalty(ABC):
    r"""A convex function R(W) = strength · Σ_j c_j ρ(W_j) of blocks W_j.

    Parameters
    ----------
    positive : bool, default=False
        Restrict all weights to be non-negative.

    Attributes
    ----------
    zeroes_blocks : bool
        True for norms, whose optimum has blocks that are exactly zero.
    kernel : int or None
        The compiled form in `kernels.rows`; None means the solvers use the methods below.

    References
    ----------
    MATH.md T3–T6.
    """

    zeroes_blocks: bool = False
    kernel: int | None = None

    def __init__(self, positive: bool = False) -> None:
        self.positive = bool(positive)

    @abstractmethod
    def value(self, blocks: Array) -> Array:
        """ρ of every block, shape (n,)."""

    @abstractmethod
    def dual_norm(self, gradient: Array) -> Array:
        """Smallest strength at which a zero block with this gradient is optimal (0: any), shape (n,)."""

    @abstractmethod
    def _shrink(self, blocks: Array, threshold: Array) -> Array:
        """Proximal map without the sign constraint; `threshold` has shape (n, 1)."""

    def prox(self, blocks: Array, threshold: Array | float) -> Array:
        """argmin_W ½‖W − blocks‖² + Σ_j threshold_j ρ(W_j)."""
        column = np.broadcast_to(np.asarray(threshold, dtype=float), blocks.shape[:1])[:, None]
        return self._shrink(np.maximum(blocks, 0.0) if self.positive else blocks, column)

    def conjugate(self, gradient: Array, strength: Array) -> float:
        """Σ_j R_j*(−gradient_j) for a gradient that `dual_norm` accepts; 0 for every norm."""
        return 0.0

    def has_exponential_step(self, n_outputs: int) -> bool:
        """Whether AdaBoost's sub-problem has a closed form for blocks of this many entries."""
        return False

    def exponential_step(self, blocks: Array, plus: Array, minus: Array, room: Array, strength: Array) -> Array:
        """argmin_V Σ_r a[μ⁺e^{−(v−w)/a} + μ⁻e^{(v−w)/a}] + strength·ρ(v) for every block (D1–D4).

        Parameters
        ----------
        blocks, plus, minus : array of shape (n, k)
            Current blocks w and correlations μ⁺, μ⁻ ≥ 0.
        room, strength : array of shape (n,)
            Template entries a_j > 0 and α·c_j ≥ 0.
        """
        raise ValueError(f"{self!r} has no exponential step; use update='gradboost' or penalty='l1/linf'.")

    def violation(self, gradient: Array, cost: Array) -> Array:
        """Smallest alpha at which each zero block would stay zero: dual norm over cost (T5)."""
        return self.dual_norm(gradient) / cost

    def signed(self, gradient: Array) -> Array:
        """The part of −gradient that can move a block away from zero."""
        return np.maximum(-gradient, 0.0) if self.positive else -gradient

    def pulls(self, gradient: Array) -> Array:
        """Sizes of the entries of `signed`."""
        return self.signed(gradient) if self.positive else np.abs(gradient)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'positive=True' if self.positive else ''})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self.positive))


class Norm(Penalty):
    """A penalty whose ρ is a norm: it sets whole blocks to zero, and it has a ball."""

    zeroes_blocks = True

    @abstractmethod
    def extreme_point(self, gradient: Array) -> Array:
        """Argmin ⟨gradient, W⟩ over the unit ball of ρ, per block: the vertex Frank–Wolfe moves to."""

    def project(self, blocks: Array, radius: float, cost: Array | float = 1.0) -> Array:
        """Nearest point with Σ_j c_j ρ(W_j) ≤ radius: the prox whose threshold meets the radius."""
        if not radius >= 0:
            raise ValueError(f"A ball needs radius >= 0, got {radius!r}.")
        cost = np.broadcast_to(np.asarray(cost, dtype=float), blocks.shape[:1])

        def excess(threshold: float) -> float:
            return float(cost @ self.value(self.prox(blocks, threshold * cost))) - radius

        if excess(0.0) <= 0.0:
            return self.prox(blocks, 0.0)
        highest = float(np.max(self.dual_norm(-blocks) / cost))
        if radius == 0.0:
            return np.zeros_like(blocks)
        threshold = brentq(excess, 0.0, highest, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=500)
        return self.prox(blocks, threshold * cost)


def _log_ratio(x: Array, y: Array) -> Array:
    """ln(x/y): exact near 0 through the ratio, and through two logarithms where the ratio would leave the range."""
    ratio = x / y
    return np.where((ratio > 1e-290) & (ratio < 1e290), np.log(ratio), np.log(x) - np.log(y))


def entrywise_exponential_step(blocks: Array, plus: Array, minus: Array, room: Array, strength: Array) -> Array:
    """D1 for every entry separately, in the stable form of T7."""
    lam, a = strength[:, None], room[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.hypot(lam, 2.0 * np.sqrt(plus) * np.sqrt(minus))
        rise = a * _log_ratio(2.0 * plus, lam + root)
        fall = a * _log_ratio(lam + root, 2.0 * minus)
        moved = np.maximum(blocks + rise, 0.0) + np.minimum(blocks + fall, 0.0)
        free = blocks + a * np.clip(0.5 * (np.log(plus) - np.log(minus)), -LARGEST_STEP, LARGEST_STEP)
    flat = (plus == 0.0) & (minus == 0.0)
    moved = np.where(flat, 0.0, moved)
    return np.where(lam > 0.0, moved, np.where(flat, blocks, free))
