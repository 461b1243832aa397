"""Three ways to follow a subgradient with the directions that a weak learner offers (G1, G2, G3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sparseboost.solvers.functional.projection import Array, Projector, VectorHypothesis
from sparseboost.solvers.functional.risk import Risk

MOST_INNER = 1000
ROUNDING = 1e-13


class Direction(NamedTuple):
    """Where one round goes: h = Σ_s coef_s h_s, f ← f − η h."""

    total: Array  # h on the training points
    hypotheses: list[VectorHypothesis]
    coef: Array
    edges: list[float]  # measured edge of every projection
    error: float  # ‖∇ − h‖, or the norm of the residual that is kept
    residual: Array | None  # Δ, which the next round projects as well


def project(risk: Risk, projector: Projector, target: Array) -> tuple[VectorHypothesis, Array, float, float]:
    """The learner's direction h for a target, its outputs, coefficient ⟨target, h⟩/‖h‖² and measured edge (G4)."""
    hypothesis, outputs, fitted = projector.project(target)
    size = risk.inner(outputs, outputs) if fitted is None else fitted
    along = risk.inner(target, outputs) if fitted is None else fitted
    goal = risk.norm(target)
    if size <= 0.0 or goal <= 0.0:
        return hypothesis, outputs, 0.0, 0.0
    return hypothesis, outputs, along / size, float(min(abs(along) / (goal * np.sqrt(size)), 1.0))


def scaled(coef: float, outputs: Array) -> Array:
    """Outputs times their coefficient; most projections are fits, whose coefficient is 1."""
    return outputs if coef == 1.0 else coef * outputs


class Algorithm(ABC):
    """What is projected in round t, and what is remembered."""

    name: ClassVar[str]

    @abstractmethod
    def direct(self, risk: Risk, projector: Projector, gradient: Array, t: int, residual: Array | None) -> Direction:
        """The direction of round t = 1, 2, … at a point with this subgradient."""

    def leftover(self, gradient: Array, residual: Array | None, total: Array | float = 0.0) -> Array | None:
        """Δ after a round that moved along `total`; None for algorithms that forget."""
        return None


@dataclass(frozen=True)
class Naive(Algorithm):
    r"""Naive gradient projection: h = (⟨∇, h*⟩/‖h*‖²) h*. May fail where the loss is not smooth (G7).

    References
    ----------
    MATH.md G1.
    """

    name = "naive"

    def direct(self, risk: Risk, projector: Projector, gradient: Array, t: int, residual: Array | None) -> Direction:
        hypothesis, outputs, coef, edge = project(risk, projector, gradient)
        total = scaled(coef, outputs)
        return Direction(total, [hypothesis], np.array([coef]), [edge], risk.distance(gradient, total), None)


@dataclass(frozen=True)
class Residual(Algorithm):
    r"""Residual gradient projection: Δ ← Δ + ∇, h = projection of Δ, Δ ← Δ − h. One weak learner per round.

    References
    ----------
    MATH.md G3.
    """

    name = "residual"

    def direct(self, risk: Risk, projector: Projector, gradient: Array, t: int, residual: Array | None) -> Direction:
        wanted = self.leftover(gradient, residual)
        hypothesis, outputs, coef, edge = project(risk, projector, wanted)
        total = scaled(coef, outputs)
        wanted -= total
        return Direction(total, [hypothesis], np.array([coef]), [edge], risk.norm(wanted), wanted)

    def leftover(self, gradient: Array, residual: Array | None, total: Array | float = 0.0) -> Array:
        left = gradient.copy() if residual is None else residual + gradient
        left -= total
        return left


@dataclass(frozen=True)
class Repeated(Algorithm):
    r"""Repeated gradient projection: project ∇ − h again and again, h ← h + (⟨∇ − h, h*⟩/‖h*‖²) h*.

    Parameters
    ----------
    inner : "t", int or float, default="t"
        How often: t times in round t, this often in every round, or (a float below 1) until ‖∇ − h‖ ≤ inner · ‖∇‖,
        a thousand times at most.
    orthogonal : bool, default=False
        Refit the coefficients of all inner directions by least squares after each projection; then ‖h‖ ≤ ‖∇‖.

    References
    ----------
    MATH.md G2.
    """

    inner: str | int | float = "t"
    orthogonal: bool = False
    name = "repeated"

    def direct(self, risk: Risk, projector: Projector, gradient: Array, t: int, residual: Array | None) -> Direction:
        size = risk.norm(gradient)
        goal = self.inner * size if isinstance(self.inner, float) else 0.0
        count = t if self.inner == "t" else MOST_INNER if isinstance(self.inner, float) else int(self.inner)
        left, total = gradient, np.zeros_like(gradient)
        hypotheses: list[VectorHypothesis] = []
        edges: list[float] = []
        directions: list[Array] = []
        coef, error = np.empty(0), size
        while len(edges) < count and error > max(goal, ROUNDING * size):
            hypothesis, outputs, step, edge = project(risk, projector, left)
            edges.append(edge)
            if edge <= 0.0:
                break
            hypotheses.append(hypothesis)
            directions.append(outputs)
            if self.orthogonal:
                coef = _fit(risk, directions, gradient)
                total = combine(directions, coef)
            else:
                coef, total = np.append(coef, step), total + scaled(step, outputs)
            left = gradient - total
            before, error = error, risk.norm(left)
            if error >= before:  # nothing left to project that rounding would not swallow
                break
        return Direction(total, hypotheses, coef, edges, error, None)


def combine(directions: list[Array], coef: Array) -> Array:
    """Σ_s coef_s h_s, summed in order: the same bits wherever it is computed."""
    total = np.zeros_like(directions[0])
    for direction, c in zip(directions, coef, strict=True):
        total = total + scaled(c, direction)
    return total


def _fit(risk: Risk, directions: list[Array], target: Array) -> Array:
    """Least-squares coefficients of the directions for a target."""
    root = np.sqrt(risk.weight)[:, None]
    design = np.column_stack([(root * direction).ravel() for direction in directions])
    return np.linalg.lstsq(design, (root * target).ravel(), rcond=None)[0]
