"""A path by Newton's method on the active columns, for any loss with a curvature."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparseboost.ensemble import Ensemble
from sparseboost.monitors import Monitor
from sparseboost.problem import Problem
from sparseboost.solvers.correction import Corrector, Goal
from sparseboost.solvers.stepper import Stepper, Weights, padded

Array = np.ndarray


class NewtonStepper(Stepper):
    """The active columns as an ensemble whose weights change from alpha to alpha.

    Parameters
    ----------
    problem : Problem
        The question, at any alpha.
    corrector : Corrector
        What moves the weights.
    keys : array of shape (n,)
        Hypotheses to begin with.
    """

    def __init__(self, problem: Problem, corrector: Corrector, keys: Array) -> None:
        self._corrector = corrector
        self._active = Ensemble.empty(problem.dictionary, problem.start).extend(problem.dictionary, keys)

    @property
    def keys(self) -> Array:  # type: ignore[override]
        """The active hypotheses."""
        return self._active.keys

    def takes(self, problem: Problem, more: int) -> bool:
        return True

    def tidy(self, weights: list[Weights]) -> list[Weights]:
        alive = np.any(padded(weights[-1].coef, self._active.size) != 0.0, axis=1)
        if np.count_nonzero(~alive) <= self._corrector.idle * alive.size:
            return weights
        self._active = self._active.keep(alive)
        return [some._replace(coef=padded(some.coef, alive.size)[alive]) for some in weights]

    def enter(self, problem: Problem, keys: Array) -> None:
        self._active = self._active.extend(problem.dictionary, keys)

    def solve(self, problem: Problem, starts: list[Weights], gap: float, monitor: Monitor) -> tuple[Weights, bool]:
        scores = self.scores(problem, starts)
        tried = [(self._at(weights), score) for weights, score in zip(starts, scores, strict=True)]
        start, score = min(tried, key=lambda pair: problem.driving_objective(*pair)) if len(tried) > 1 else tried[0]
        found = self._corrector.run(problem, start, score, Goal(gap), monitor)
        return Weights(found.ensemble.coef, found.ensemble.intercept, found.score), found.stalled

    def scores(self, problem: Problem, weights: list[Weights]) -> list[Array]:
        return [self._at(some).score() if some.score is None else some.score for some in weights]

    def correlate(self, force: Array) -> Array:
        return self._active.columns.correlate(force)

    def _at(self, weights: Weights) -> Ensemble:
        coef = padded(weights.coef, self._active.size)
        return replace(self._active, coef=coef, intercept=weights.intercept)
