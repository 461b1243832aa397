"""A path by Newton's method on the active columns, for any loss with a curvature."""

from __future__ import annotations

import numpy as np

from sparseboost.ensemble import Ensemble
from sparseboost.losses.base import over_examples
from sparseboost.monitors import Monitor
from sparseboost.problem import Problem
from sparseboost.solvers.correction import Goal
from sparseboost.solvers.newton import Newton, Point, good, look
from sparseboost.solvers.stepper import Stepper, Weights, padded

Array = np.ndarray


class NewtonStepper(Stepper):
    """The active columns as an ensemble whose weights change from alpha to alpha.

    Parameters
    ----------
    problem : Problem
        The question, at any alpha.
    newton : Newton
        What moves the weights.
    keys : array of shape (n,)
        Hypotheses to begin with.
    """

    def __init__(self, problem: Problem, newton: Newton, keys: Array) -> None:
        self._newton = newton
        self._active = Ensemble.empty(problem.dictionary, problem.start).extend(problem.dictionary, keys)

    @property
    def keys(self) -> Array:  # type: ignore[override]
        """The active hypotheses."""
        return self._active.keys

    def takes(self, problem: Problem, more: int) -> bool:
        return True

    def tidy(self, weights: list[Weights]) -> list[Weights]:
        alive = np.any(padded(weights[-1].coef, self._active.size) != 0.0, axis=1)
        if np.count_nonzero(~alive) <= self._newton.idle * alive.size:
            return weights
        self._active = self._active.keep(alive)
        return [
            some._replace(
                coef=padded(some.coef, alive.size)[alive],
                slope=None if some.slope is None else some.slope[alive[: len(some.slope)]],
                proof=None,
            )
            for some in weights
        ]

    def enter(self, problem: Problem, keys: Array) -> None:
        self._active = self._active.extend(problem.dictionary, keys)

    def solve(self, problem: Problem, starts: list[Weights], gap: float, monitor: Monitor) -> tuple[Weights, bool]:
        start, stalled = self._best(problem, starts), False
        # what was foreseen may be good enough; what is repaired was not, whatever the active hypotheses say
        found = good(problem, start, gap) if len(starts) > 1 else None
        if found is None:
            found, _, stalled = self._newton.improve(problem, start, Goal(gap), monitor)
        model = found.ensemble
        slope = None if found.gradient is None else found.gradient[: model.size]
        return Weights(model.coef, model.intercept, found.score, slope, found.loss, found.force, found.proof), stalled

    def _best(self, problem: Problem, starts: list[Weights]) -> Point:
        """The start with the smallest objective; that of the first may be known without a look."""
        first, *others = starts
        points = [self._look(problem, other) for other in others]
        if first.loss is not None:
            known = first.loss + problem.penalty_value(self._at(first))
            points = [point for point in points if point.objective < known]
        if first.loss is None or not points:
            points.append(self._look(problem, first))
        best = min(points, key=lambda point: point.objective)
        if best.gradient is None:
            best = self._with_gradient(problem, best, np.empty((0, problem.n_outputs)))
        return best

    def _look(self, problem: Problem, weights: Weights) -> Point:
        ensemble = self._at(weights)
        point = look(problem, ensemble, ensemble.score() if weights.score is None else weights.score)
        return point if weights.slope is None else self._with_gradient(problem, point, weights.slope)

    def _with_gradient(self, problem: Problem, point: Point, known: Array) -> Point:
        """The point with its gradient, of which the first rows are known."""
        fresh = problem.dictionary.columns(self.keys[len(known) :]) if len(known) else self._active.columns
        rows = [known, fresh.correlate(point.force)]
        if problem.fit_intercept:
            rows.append(over_examples(point.force)[None])
        return point._replace(gradient=np.concatenate(rows))

    def scores(self, problem: Problem, weights: list[Weights]) -> list[Array]:
        return [self._at(some).score() if some.score is None else some.score for some in weights]

    def correlate(self, force: Array) -> Array:
        return self._active.columns.correlate(force)

    def _at(self, weights: Weights) -> Ensemble:
        coef = padded(weights.coef, self._active.size)
        return self._active.at(coef, weights.intercept)
