"""A lower bound from the line through the last two dual points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sparseboost.hypotheses import Enumerable
from sparseboost.penalties import Norm
from sparseboost.problem import Problem, Survey

Array = np.ndarray
# beyond the present point, as shares of the way from the last one to it; one that does not help ends its side
SIDES = ((-0.1, -0.2, -0.5), (0.1, 0.3))
ROWS = 8192  # that are combined at a time
WITHIN = 2.0  # times the gap that is wanted: from further away a better bound does not end the fit


class DualLine:
    """Dual points between and beyond the last two, which cost no pass over the hypotheses.

    Correlations are linear in the dual point, so the largest dual norm anywhere on the line follows from those at two
    of its points. Gradients swing around the best dual point from round to round; between or shortly beyond two of
    them the scaled point often gives a bound that is a fifth to a third tighter. It is valid wherever it is tried.
    """

    def __init__(self) -> None:
        self._last: tuple[Problem, Array, Any, Array | None] | None = None

    def tighten(self, problem: Problem, score: Array, dual: Any, survey: Survey, target: float) -> Survey:
        """The survey, with the best bound on the line if that may be what the fit is waiting for."""
        last, self._last = self._last, None
        if not isinstance(problem.penalty, Norm) or not isinstance(score, np.ndarray):
            return survey
        if not isinstance(problem.dictionary, Enumerable) or score.size <= problem.dictionary.entries:
            # else it takes more memory than the data
            self._last = (problem, score, dual, survey.candidates.correlation)
        waits = target < survey.gap <= WITHIN * target
        if not waits or last is None:
            return survey
        here, there = survey.candidates.correlation, last[3]
        if here is None or there is None or here.shape != there.shape:
            return survey
        point = problem.dual_point(score, dual)
        way = point - last[0].dual_point(last[1], last[2])
        cost, best = problem.dictionary.cost(np.arange(len(here))), survey.lower_bound
        for side in SIDES:
            for step in side:
                violation = max(
                    float(problem.penalty.violation(some + step * (some - there[part]), cost[part]).max(initial=0.0))
                    for part, some in _parts(here)
                )
                with np.errstate(invalid="ignore"):  # outside its domain the conjugate is infinite: that bounds nothing
                    bound = problem.lower_bound(point + step * way, violation)
                if not bound > best:
                    break
                best = bound
        return replace(survey, lower_bound=best)


def _parts(correlation: Array) -> Iterator[tuple[slice, Array]]:
    """Some rows after the others: correlations may take as much memory as the data."""
    for first in range(0, max(len(correlation), 1), ROWS):
        part = slice(first, first + ROWS)
        yield part, correlation[part]
