"""How far a round goes: step sizes η_t and the line search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from sparseboost.solvers.functional.algorithms import Algorithm, Direction, Naive, Repeated, Residual
from sparseboost.solvers.functional.risk import Array, Risk

SCHEDULES = ("1/curvature", "line-search", "2/(convexity*t)", "1/(convexity*t)", "1/sqrt(t)")
LONGEST = 1e6  # of a line search, in units of its first trial: a separable problem has no end


@dataclass(frozen=True)
class Steps:
    """Step sizes by one rule.

    Attributes
    ----------
    rule : str
        One of `SCHEDULES`, "constant", or "custom" for a user's function.
    size : float
        c, which multiplies the rule.
    custom : callable, optional
        t → η_t.
    natural : bool
        Whether c is still to be multiplied by the natural length of a step, which the first round tells.
    """

    rule: str
    size: float = 1.0
    custom: Callable[[int], float] | None = None
    natural: bool = False

    def at(self, risk: Risk, t: int, score: Array, direction: Direction) -> float:
        """η_t for round t = 1, 2, …"""
        if self.rule == "1/curvature":
            assert risk.curvature is not None
            return self.size / risk.curvature
        if self.rule == "line-search":
            return self.size * line_search(risk, score, direction.total)
        if self.rule == "2/(convexity*t)":
            return self.size * 2.0 / (risk.convexity * t)
        if self.rule == "1/(convexity*t)":
            return self.size / (risk.convexity * t)
        if self.rule == "1/sqrt(t)":
            return self.size / float(np.sqrt(t))
        if self.custom is not None:
            return self.size * float(self.custom(t))
        return self.size

    def settled(self, risk: Risk, score: Array, gradient: Array, algorithm: Algorithm, edge: float) -> Steps:
        """With c fixed by the first round: the start's distance to f* over the length that directions can have.

        That length is ‖∇₀‖, and ‖∇₀‖/(1 − q) for the residual algorithm, q = √(1 − γ²) (G3): the choice that balances
        the terms of a subgradient method's bound, and does not depend on the unit of the targets.
        """
        if not self.natural or risk.reference is None:
            return replace(self, natural=False)
        far, steep = risk.distance(score, risk.reference), risk.norm(gradient)
        if isinstance(algorithm, Residual):
            far *= 1.0 - float(np.sqrt(max(1.0 - edge**2, 0.0)))
        natural = far / steep if far > 0.0 and steep > 0.0 else 1.0
        return replace(self, size=self.size * natural, natural=False)


def make_steps(step: Any, size: float, algorithm: Algorithm, risk: Risk) -> Steps:
    """The rule that a user named, checked against what the loss declares; "auto" chooses by it (EG1).

    The naive algorithm takes 1/Λ where the loss is smooth with a curvature, a line search where it is smooth without
    one. The others take 2/(λt) and 1/(λt) where the loss is strongly convex. All else takes c/√t, with c the natural
    length of `Steps.settled` where the loss knows a minimum f*, and 1 where it does not.
    """
    if callable(step):
        return Steps("custom", size, step)
    if isinstance(step, str):
        rule = _automatic(algorithm, risk) if step == "auto" else step
        if rule not in SCHEDULES:
            names = ", ".join(repr(name) for name in ("auto", *SCHEDULES))
            raise ValueError(f"step must be one of {names}, a number or a function of the round, got {step!r}.")
        if rule == "1/curvature" and risk.curvature is None:
            raise ValueError(f"step='1/curvature' needs a smooth loss that declares a curvature, not {risk.loss!r}.")
        if "convexity" in rule and not risk.convexity > 0.0:
            raise ValueError(
                f"step={rule!r} needs a strongly convex loss that declares its convexity, not {risk.loss!r}."
            )
        if rule == "line-search" and not risk.smooth:
            raise ValueError(f"step='line-search' needs a smooth loss, not {risk.loss!r}; use '1/sqrt(t)'.")
        return Steps(rule, size, natural=step == "auto" and rule == "1/sqrt(t)")
    return Steps("constant", size * float(step))


def _automatic(algorithm: Algorithm, risk: Risk) -> str:
    if isinstance(algorithm, Naive) and risk.smooth:
        return "line-search" if risk.curvature is None else "1/curvature"
    if not isinstance(algorithm, Naive) and risk.convexity > 0.0:
        return "2/(convexity*t)" if isinstance(algorithm, Repeated) else "1/(convexity*t)"
    return "1/sqrt(t)"


def line_search(risk: Risk, score: Array, direction: Array) -> float:
    """The η ≥ 0 that minimises R[f − η h], where the slope along h changes its sign."""

    def slope(step: float) -> float:
        return -risk.inner(risk.gradient(score - step * direction), direction)

    first = slope(0.0)
    if first >= 0.0:
        return 0.0
    high = 1.0 if risk.curvature is None else 1.0 / risk.curvature
    limit = high * LONGEST
    while slope(high) < 0.0:
        high *= 2.0
        if high > limit:
            return limit
    return float(brentq(slope, 0.0, high, xtol=1e-12 * high, rtol=1e-12))
