"""Prox-Newton steps on the active hypotheses: the solver behind update="auto"."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
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
MOST_SWEEPS = 50
MODEL_FRACTION = 0.02  # sweeps over the model stop when one gains less than this share of all before it
SMALLEST_STEP = 1e-6
GRAM_SWEEPS = 1000
GRAM_FRACTION = 1e-4
GRAM_PER_SWEEP = 60  # a Hessian of this many entries per row costs about one sweep over the columns
LARGEST_GRAM = 3000
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
        self.strength = np.append(problem.strength(ensemble), 0.0)
        self.sweeps = 10  # how many sweeps the model is expected to take

    def step(self, ensemble: Ensemble, score: Array) -> _Aim:
        """Nearly minimise the model."""
        problem, free = self.problem, self.problem.fit_intercept
        loss, weight = problem.driving_loss, problem.weight
        gradient = self.columns.correlate(weight[:, None] * loss.gradient(problem.y, score))
        local = loss.model_curvature(problem.y, score)
        assert local is not None
        start = np.vstack([ensemble.coef, ensemble.intercept[None]]) if free else ensemble.coef
        coef = np.array(start, order="C")
        shape = (self.strength, coef, problem.penalty.kernel, problem.penalty.positive, free)
        if coef.size <= GRAM_PER_SWEEP * self.sweeps and coef.size <= LARGEST_GRAM:
            gram = _gram(self.columns, weight, local, loss.multiclass)
            diagonal = _gram_diagonal(gram, loss.multiclass)
            promise, _ = kernels.quadratic.gram_sweeps(
                gram, gradient, diagonal, *shape, loss.multiclass, GRAM_SWEEPS, GRAM_FRACTION
            )
        else:
            spread = 2.0 * local * (1.0 - local) if loss.multiclass else local
            diagonal = _floor(self._squares.correlate(weight[:, None] * spread))
            promise, self.sweeps = kernels.quadratic.model_sweeps(
                *self.columns.flat, gradient, diagonal, *shape, weight, local, loss.multiclass, np.zeros_like(score),
                MOST_SWEEPS, MODEL_FRACTION,
            )  # fmt: skip
        push = self.columns.dot(coef - start)
        if free:
            return _Aim(coef[:-1], coef[-1], push, promise)
        return _Aim(coef, ensemble.intercept, push, promise)

    @cached_property
    def _squares(self) -> Columns:
        matrix = self.columns.matrix
        return Columns(matrix.power(2) if sp.issparse(matrix) else matrix**2)


def _floor(diagonal: Array) -> Array:
    """Keep the model bounded below where the curvature vanishes."""
    return np.maximum(diagonal, 1e-12 * diagonal.max() + 1e-300)


def _gram(columns: Columns, weight: Array, local: Array, coupled: bool) -> Array:
    """The Hessian of the model as `kernels.quadratic.gram_sweeps` reads it."""
    n, k = columns.size, local.shape[1]
    gram = np.empty((n, k, n * k if coupled else n))
    if not coupled:
        for r in range(k):
            gram[:, r] = columns.inner(weight * local[:, r])
        return gram
    joined = np.empty((n, k, n, k))
    for r in range(k):
        for s in range(r + 1):
            block = columns.inner(weight * local[:, r] * ((r == s) - local[:, s]))
            joined[:, r, :, s] = block
            joined[:, s, :, r] = block
    return joined.reshape(n, k, n * k)


def _gram_diagonal(gram: Array, coupled: bool) -> Array:
    """Per row, a diagonal that bounds its own block of the Hessian."""
    n, k = gram.shape[:2]
    if not coupled:
        return _floor(np.einsum("jrj->jr", gram).copy())
    blocks = np.einsum("jrjs->jrs", gram.reshape(n, k, n, k))
    return _floor(2.0 * np.einsum("jrr->jr", blocks))
