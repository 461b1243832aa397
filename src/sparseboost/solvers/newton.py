"""Prox-Newton steps on the active hypotheses: the solver behind update="auto"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparseboost.ensemble import Ensemble
from sparseboost.monitors import Monitor
from sparseboost.problem import Problem
from sparseboost.solvers.correction import Corrected, Corrector
from sparseboost.solvers.gram_cache import GramCache
from sparseboost.solvers.quadratic_model import Aim, QuadraticModel

Array = np.ndarray
MOST_STEPS = 20
SMALLEST_STEP = 1e-6
ROUNDING = 1e-13


class Newton(Corrector):
    r"""Block prox-Newton: minimise the quadratic model of the loss plus the penalty, then search along the line.

    The model's curvature is the loss's own at the current scores, not a bound over all scores; rows are solved one
    at a time with a diagonal that bounds their block of the Hessian (for softmax, 2·diag bounds diag(q) − qqᵀ).
    """

    name = "newton"

    def __init__(self) -> None:
        self._cache = GramCache()

    def check(self, problem: Problem) -> None:
        if not self.applies(problem):
            raise ValueError(f"Newton needs a loss with curvature and a built-in penalty, not {problem.loss!r}.")

    @staticmethod
    def applies(problem: Problem) -> bool:
        """Whether the loss has a curvature and the penalty a compiled form."""
        curvature = problem.driving_loss.model_curvature(problem.y[:1], np.zeros((1, problem.n_outputs)))
        return curvature is not None and problem.penalty.kernel is not None

    def rank(self, problem: Problem, score: Array, keys: Array, correlation: Array) -> Array:
        return problem.steepness(keys, correlation)

    def run(self, problem: Problem, ensemble: Ensemble, score: Array, target: float, monitor: Monitor) -> Corrected:
        if ensemble.size == 0 and not problem.fit_intercept:
            return Corrected(ensemble, score, 0.0, True)
        model = QuadraticModel(problem, ensemble, self._cache)
        value, gap = problem.driving_objective(ensemble, score), np.inf
        bound, stalled = 0.0, False
        for _ in range(MOST_STEPS):
            aim = model.step(ensemble, score)
            found = _search(problem, ensemble, score, value, aim)
            if found is None:
                stalled = True
                break
            ensemble, score, new_value = found
            bound += max(value - new_value, 0.0)
            value, last_gap = new_value, gap
            gap = problem.restricted_gap(ensemble, score)
            # below the rounding of the objective the gap is the only thing that still shows progress
            stalled = aim.promise <= ROUNDING * abs(value) and gap > 0.9 * last_gap
            if stalled or gap <= target or monitor.out_of_time:
                break
        return Corrected(ensemble, ensemble.score(), bound, stalled)


def _search(
    problem: Problem, ensemble: Ensemble, score: Array, value: float, aim: Aim
) -> tuple[Ensemble, Array, float] | None:
    """Halve the step until the objective falls; a promise below rounding is taken at its word.

    Sweeps may creep along a narrow valley and stop far from the model's minimum: the step is doubled as long as the
    objective falls.
    """
    noise = ROUNDING * abs(value) if aim.promise <= ROUNDING * abs(value) else 0.0

    def at(step: float) -> tuple[Ensemble, Array, float]:
        coef = aim.coef if step == 1.0 else ensemble.coef + step * (aim.coef - ensemble.coef)
        intercept = ensemble.intercept + step * (aim.intercept - ensemble.intercept)
        trial = replace(ensemble, coef=coef, intercept=intercept)
        moved = score + step * aim.push
        return trial, moved, problem.driving_objective(trial, moved)

    step = 1.0
    found = at(step)
    while not found[2] < value + noise:
        step *= 0.5
        if step < SMALLEST_STEP:
            return None
        found = at(step)
    while step >= 1.0 and not problem.penalty.positive:
        step *= 2.0
        further = at(step)
        if not further[2] < found[2]:
            break
        found = further
    return found
