"""Prox-Newton steps on the active hypotheses: the solver behind update="auto"."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses.columns import Columns
from sparseboost.monitors import Monitor
from sparseboost.problem import Problem
from sparseboost.solvers.correction import NOTHING, Corrected, Corrector

Array = np.ndarray
MOST_STEPS = 20
MOST_SWEEPS = 30
MODEL_FRACTION = 0.02  # sweeps over the model stop when one gains less than this share of all before it
SMALLEST_STEP = 1e-6
ROUNDING = 1e-13


class Newton(Corrector):
    r"""Block prox-Newton: minimise the quadratic model of the loss plus the penalty, then search along the line.

    The model's curvature is the loss's own at the current scores, not a bound over all scores; rows are solved one
    at a time with a diagonal that bounds their block of the Hessian (for softmax, 2·diag bounds diag(q) − qqᵀ).
    """

    name = "newton"

    def check(self, problem: Problem) -> None:
        if not self.applies(problem):
            raise ValueError(f"Newton needs a loss with curvature and a built-in penalty, not {problem.loss!r}.")

    @staticmethod
    def applies(problem: Problem) -> bool:
        """Whether the loss has a curvature and the penalty a compiled form."""
        curvature = problem.driving_loss.model_curvature(problem.y[:1], np.zeros((1, problem.n_outputs)))
        return curvature is not None and problem.penalty.kernel is not None

    def rank(self, problem: Problem, score: Array, keys: Array, correlation: Array) -> Array:
        if not problem.penalty.zeroes_blocks:
            return np.abs(correlation).max(axis=1)
        return problem.penalty.violation(correlation, problem.dictionary.cost(keys))

    def run(self, problem: Problem, ensemble: Ensemble, score: Array, target: float, monitor: Monitor) -> Corrected:
        model = _Model(problem, ensemble)
        scale = abs(problem.empty_objective)
        value = problem.driving_objective(ensemble, score)
        bound, stalled = 0.0, False
        for _ in range(MOST_STEPS):
            aim = model.step(ensemble, score)
            found = _search(problem, ensemble, score, value, aim)
            stalled = found is None or aim.promise <= NOTHING * scale
            if found is None:
                break
            ensemble, score, new_value = found
            bound += max(value - new_value, 0.0)
            value = new_value
            if stalled or monitor.out_of_time or problem.restricted_gap(ensemble, score) <= target:
                break
        return Corrected(ensemble, ensemble.score(), bound, stalled)


class _Aim(NamedTuple):
    """Where the model wants to go, and the decrease it promises there."""

    coef: Array
    intercept: Array
    push: Array  # change of the scores
    promise: float


def _search(
    problem: Problem, ensemble: Ensemble, score: Array, value: float, aim: _Aim
) -> tuple[Ensemble, Array, float] | None:
    """Halve the step until the objective falls; a promise below rounding is taken at its word."""
    noise = ROUNDING * abs(value) if aim.promise <= ROUNDING * abs(value) else 0.0
    step = 1.0
    while step >= SMALLEST_STEP:
        trial = replace(
            ensemble,
            coef=aim.coef if step == 1.0 else ensemble.coef + step * (aim.coef - ensemble.coef),
            intercept=ensemble.intercept + step * (aim.intercept - ensemble.intercept),
        )
        trial_score = score + step * aim.push
        trial_value = problem.driving_objective(trial, trial_score)
        if trial_value < value + noise:
            return trial, trial_score, trial_value
        step *= 0.5
    return None


class _Model:
    """The quadratic model of the loss on the active columns, with the intercept as a last column of ones."""

    def __init__(self, problem: Problem, ensemble: Ensemble) -> None:
        self.problem = problem
        columns = ensemble.columns
        if problem.fit_intercept:
            m = problem.y.shape[0]
            ones = sp.csc_array(np.ones((m, 1))) if sp.issparse(columns.matrix) else np.ones((m, 1), order="F")
            columns = columns.append(Columns(ones))
        self.columns = columns
        self.flat = columns.flat
        self.squares = Columns(columns.matrix.power(2) if sp.issparse(columns.matrix) else columns.matrix**2)
        self.strength = np.append(problem.strength(ensemble), 0.0)

    def step(self, ensemble: Ensemble, score: Array) -> _Aim:
        """Nearly minimise the model."""
        problem, free = self.problem, self.problem.fit_intercept
        loss, weight = problem.driving_loss, problem.weight
        gradient = self.columns.correlate(weight[:, None] * loss.gradient(problem.y, score))
        local = loss.model_curvature(problem.y, score)
        assert local is not None
        diagonal_local = 2.0 * local * (1.0 - local) if loss.multiclass else local
        diagonal = self.squares.correlate(weight[:, None] * diagonal_local)
        diagonal = np.maximum(diagonal, 1e-12 * diagonal.max() + 1e-300)
        start = np.vstack([ensemble.coef, ensemble.intercept[None]]) if free else ensemble.coef
        coef = np.array(start, order="C")
        promise = kernels.quadratic.model_sweeps(
            *self.flat, gradient, diagonal, self.strength, coef, problem.penalty.kernel, problem.penalty.positive,
            free, weight, local, loss.multiclass, np.zeros_like(score), MOST_SWEEPS, MODEL_FRACTION,
        )  # fmt: skip
        push = self.columns.dot(coef - start)
        if free:
            return _Aim(coef[:-1], coef[-1], push, promise)
        return _Aim(coef, ensemble.intercept, push, promise)
