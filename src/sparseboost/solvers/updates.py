"""What AdaBoost and GradBoost have in common: a bound, its best step per row, and the room a row has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses.columns import Columns
from sparseboost.problem import Problem

Array = np.ndarray
Force = tuple[Array, Array]  # weighted non-negative parts (up, down) of the loss gradient


def force(problem: Problem, score: Array) -> Force:
    """Weighted parts of the driving loss's gradient."""
    up, down = problem.driving_loss.split(problem.y, score)
    return problem.weight[:, None] * up, problem.weight[:, None] * down


class Update(ABC):
    """A majorant of the objective that is separable over rows, and the exact minimiser of each row's part.

    `room` is what a row's majorant depends on besides the gradient: the template entry a_j of the exponential
    bound, the step η_j = a_j/κ of the quadratic one. Room 0 keeps a row where it is.
    """

    name: ClassVar[str]
    exponential: ClassVar[bool]

    @abstractmethod
    def check(self, problem: Problem) -> None:
        """Raise a ValueError that names the remedy if this update is not defined for the problem."""

    @abstractmethod
    def propose(
        self, problem: Problem, columns: Columns, rows: Array, room: Array, strength: Array, parts: Force
    ) -> tuple[Array, Array]:
        """New rows and the guaranteed decrease of each, as if it moved alone (or all together, if room allows)."""

    @abstractmethod
    def rank(self, problem: Problem, score: Array, keys: Array, correlation: Array) -> Array:
        """Score of candidates whose rows are zero (D8)."""

    @abstractmethod
    def single_room(self, problem: Problem, columns: Columns) -> Array:
        """Largest room of every row when rows move one at a time (T2)."""

    @abstractmethod
    def dense_room(self, problem: Problem, columns: Columns) -> Array:
        """Room of every row when all of them move together (D10)."""

    @abstractmethod
    def template_room(self, problem: Problem, template: Array) -> Array:
        """Room from a user's template entries."""

    @abstractmethod
    def template_size(self, problem: Problem, template: Array) -> tuple[float, float, str]:
        """(left side, right side, formula) of the condition a template over all features must meet (T2)."""

    def intercept_room(self, problem: Problem) -> tuple[bool, float]:
        """(exponential?, room) of the intercept, a row with a column of ones and no penalty.

        The exponential step is used wherever it is valid: near an optimum it is within a factor two of Newton's.
        """
        loss = problem.driving_loss
        if loss.room is not None:
            return True, loss.room
        assert loss.curvature is not None
        return False, 1.0 / loss.curvature

    def gains(self, problem: Problem, ensemble: Ensemble, score: Array) -> Array:
        """Guaranteed decrease of every active row if it moved alone."""
        room = self.single_room(problem, ensemble.columns)
        strength = problem.strength(ensemble)
        return self.propose(problem, ensemble.columns, ensemble.coef, room, strength, force(problem, score))[1]
