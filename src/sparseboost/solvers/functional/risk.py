"""The question of functional boosting: the mean loss of a function seen through the training points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparseboost import kernels

Array = np.ndarray
DOUBLINGS = 20


@dataclass(frozen=True)
class Risk:
    r"""R[f] = Σ_i s_i ℓ(y_i, f(x_i)) on the space with ⟨f, g⟩ = Σ_i s_i ⟨f(x_i), g(x_i)⟩, Σ_i s_i = 1.

    The loss is any object with ``value(y, score)``, one number per example, and ``gradient(y, score)``, of the shape of
    the scores. What it declares besides is used: ``smooth``, ``curvature`` (Λ), ``convexity`` (λ), ``n_outputs(y)``,
    ``start(y, weight)`` and ``reference(y)``, scores of a minimum where one is known.

    References
    ----------
    MATH.md G5.
    """

    loss: Any
    y: Array
    weight: Array

    @property
    def n_outputs(self) -> int:
        """k, the number of scores per example."""
        return int(self.loss.n_outputs(self.y)) if hasattr(self.loss, "n_outputs") else int(self.y.shape[1])

    @property
    def smooth(self) -> bool:
        """Whether the loss says it has a gradient everywhere; one that says nothing is not trusted to."""
        return bool(getattr(self.loss, "smooth", False))

    @property
    def curvature(self) -> float | None:
        """Λ, the largest second derivative, where the loss is smooth and declares one."""
        bound = getattr(self.loss, "curvature", None)
        return float(bound) if self.smooth and bound is not None else None

    @property
    def convexity(self) -> float:
        """λ, the smallest second derivative; 0 unless the loss is strongly convex and says so."""
        return float(getattr(self.loss, "convexity", 0.0) or 0.0)

    @cached_property
    def start(self) -> Array:
        """Best constant scores if the loss knows them, else zeros."""
        start = getattr(self.loss, "start", None)
        return np.zeros(self.n_outputs) if start is None else np.asarray(start(self.y, self.weight), dtype=float)

    @cached_property
    def reference(self) -> Array | None:
        """Scores that minimise the risk over all functions, where the loss knows some."""
        known = getattr(self.loss, "reference", None)
        return None if known is None else known(self.y)

    @cached_property
    def comparator(self) -> Array:
        """f* of the bounds of G6, which hold for every function: the reference, else one far down the first gradient.

        A loss such as the logistic one has its minimum at infinity; a tenth of the start's risk will do.
        """
        if self.reference is not None:
            return self.reference
        best = start = np.tile(self.start, (self.weight.size, 1))
        value, gradient = self.value_and_gradient(start)
        level, square = value, self.inner(gradient, gradient)
        step = 0.25 * abs(value) / square if square > 0.0 else 0.0
        for _ in range(DOUBLINGS):
            score = start - step * gradient
            found = self.value(score)
            if not found < level:
                break
            best, level = score, found
            if level <= 0.1 * value:
                break
            step *= 2.0
        return best

    @cached_property
    def least(self) -> float:
        """Risk of the comparator: R* where the loss knows its minimum."""
        return self.value(self.comparator)

    def value(self, score: Array) -> float:
        """R[f]."""
        return self._mean(self.loss.value(self.y, score))

    def gradient(self, score: Array) -> Array:
        """A subgradient ∇ of R at f, as a function on the training points, shape (m, k)."""
        return self._like(score, self.loss.gradient(self.y, score))

    def value_and_gradient(self, score: Array) -> tuple[float, Array]:
        """R[f] and a subgradient."""
        both = getattr(self.loss, "value_and_gradient", None)
        if both is None:
            return self.value(score), self.gradient(score)
        value, gradient = both(self.y, score)
        return self._mean(value), self._like(score, gradient)

    def _mean(self, value: Any) -> float:
        value = np.asarray(value, dtype=float)
        if value.size != self.weight.size:
            raise ValueError(
                f"loss.value(y, score) must return one number per example, {self.weight.size} in all, got shape "
                f"{value.shape}."
            )
        return float(self.weight @ value.ravel())

    def _like(self, score: Array, gradient: Any) -> Array:
        gradient = np.asarray(gradient, dtype=float)
        if gradient.shape != score.shape:
            raise ValueError(
                f"loss.gradient(y, score) must have the shape of the scores, {score.shape}, got {gradient.shape}."
            )
        return gradient

    def inner(self, f: Array, g: Array) -> float:
        """⟨f, g⟩."""
        return float(kernels.spaces.inner(self.weight, f, g))

    def norm(self, f: Array) -> float:
        """‖f‖."""
        return float(np.sqrt(self.inner(f, f)))

    def distance(self, f: Array, g: Array) -> float:
        """‖f − g‖."""
        return float(np.sqrt(kernels.spaces.squared_distance(self.weight, f, g)))
