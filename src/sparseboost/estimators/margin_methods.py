"""From the parameters of `MarginBoostClassifier` to a solver of the margin game."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparseboost.estimators.validation import check_choice, check_limits, check_number, make_space
from sparseboost.solvers.conditional_gradient import ConditionalGradient, constant_share, open_loop, scheduled_share
from sparseboost.solvers.game import Game
from sparseboost.solvers.linear_program import HingeBall, LPBoost
from sparseboost.solvers.margins import MarginSolver
from sparseboost.solvers.mirror_descent import (
    MirrorDescent,
    constant_step,
    optimal_step,
    scheduled_step,
    searched_step,
)
from sparseboost.solvers.tilts import ExponentialTilt, LogisticTilt, Tilt
from sparseboost.solvers.totally_corrective import FixedBall, GrowingBall

METHODS = ("adaboost", "eps-adaboost", "adaboost+l1", "rlmp", "cg-boost", "lpboost")
STEPS = {
    "adaboost": ("auto", "optimal", "constant", "line-search"),
    "cg-boost": ("auto", "2/(k+2)", "line-search", "constant", "away", "pairwise"),
}
LOSSES = {"adaboost+l1": ("exponential", "logistic"), "rlmp": ("exponential", "logistic", "hinge")}
TILTS: dict[str, type[Tilt]] = {"exponential": ExponentialTilt, "logistic": LogisticTilt}


def check_margin_parameters(model: Any) -> None:
    """Check everything that can be checked before the data is seen."""
    check_choice("method", model.method, METHODS)
    make_space(model.hypotheses)
    check_number("eps", model.eps, low=0.0, strict=True)
    check_number("nu", model.nu, low=0.0, strict=True)
    check_number("radius", model.radius, low=0.0, strict=True)
    check_number("soft_margin", model.soft_margin, low=0.0)
    for name in ("nu", "soft_margin"):
        if getattr(model, name) > 1.0:
            raise ValueError(f"{name} must be at most 1, got {getattr(model, name)!r}.")
    if model.method in LOSSES:
        check_choice("loss", model.loss, LOSSES[model.method])
    if model.method in STEPS:
        _check_step(model.method, model.step)
    check_limits(model)


def _check_step(method: str, step: Any) -> None:
    """Raise unless `step` is a name, a number, a function of the round, or a list of numbers."""
    names = ", ".join(repr(name) for name in STEPS[method])
    most = 1.0 if method == "cg-boost" else sys.float_info.max
    wanted = f"step of method={method!r} must be {names}, a number, a function of the round or a list of numbers"
    wanted += " (numbers from 0 to 1)" if method == "cg-boost" else " (numbers >= 0)"
    if callable(step) or (isinstance(step, str) and step in STEPS[method]):
        return
    given = np.asarray([step] if isinstance(step, numbers.Real) and not isinstance(step, bool) else step)
    if (
        given.ndim != 1
        or given.size == 0
        or given.dtype.kind not in "iuf"
        or not np.all((given >= 0) & (given <= most))
    ):
        raise ValueError(f"{wanted}, got {step!r}.")


def make_solver(model: Any, game: Game) -> MarginSolver:
    """The solver that a model's parameters ask for."""
    if model.method == "adaboost":
        return _mirror_descent(model.step, model.max_rounds, game)
    if model.method == "eps-adaboost":
        return MirrorDescent(constant_step(float(model.eps)), eps=float(model.eps))
    if model.method == "adaboost+l1":
        return GrowingBall(TILTS[model.loss](), float(model.nu))
    if model.method == "lpboost":
        return LPBoost(float(model.soft_margin))
    if model.method == "cg-boost":
        return _conditional_gradient(model.step, float(model.radius), model.max_rounds)
    if model.loss == "hinge":
        return HingeBall(float(model.radius))
    return FixedBall(TILTS[model.loss](), float(model.radius))


def _mirror_descent(step: Any, max_rounds: int, game: Game) -> MirrorDescent:
    if isinstance(step, str):
        constant = constant_step(math.sqrt(2.0 * game.entropy / max(max_rounds, 1)))
        return MirrorDescent({"constant": constant, "line-search": searched_step}.get(step, optimal_step))
    return MirrorDescent(constant_step(float(step)) if isinstance(step, numbers.Real) else scheduled_step(step))


def _conditional_gradient(step: Any, radius: float, max_rounds: int) -> ConditionalGradient:
    if isinstance(step, str) and step == "constant":
        step = open_loop(max_rounds)
    if isinstance(step, numbers.Real):
        return ConditionalGradient(radius, constant_share(float(step)), constant=float(step))
    if not isinstance(step, str):
        schedule: Sequence[float] | Callable[[int], float] = step
        return ConditionalGradient(radius, scheduled_share(schedule))
    if step == "2/(k+2)":
        return ConditionalGradient(radius, open_loop)
    directions: dict[str, Any] = {"line-search": "toward", "away": "away"}
    return ConditionalGradient(radius, direction=directions.get(step, "pairwise"))
