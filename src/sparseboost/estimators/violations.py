"""How much every hypothesis pulls at zero, at several models of a path at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseboost.hypotheses.blocks import BlockDictionary
from sparseboost.penalties import Penalty
from sparseboost.problem import Problem
from sparseboost.solvers.stepper import Stepper

Array = np.ndarray
ROUNDING = 1.0 + 1e-12  # what sums of products may add to a bound
MOST_DUE = 0.25  # share of all hypotheses: where more are due, all are looked at, which tightens every bound


class Seen(NamedTuple):
    """What pulls at the examples, and of every hypothesis a dual norm over cost that it does not exceed then."""

    force: Array
    violation: Array


class Violations:
    r"""Dual norms over cost of all hypotheses, by a pass over X for several models.

    A model that is repaired moves little. When the force on the examples changes by Δ, the correlation with a column h
    changes by at most ‖h‖·‖Δ_r‖ in output r (Cauchy–Schwarz), and a dual norm by at most the dual norm of these
    changes: nearly all hypotheses are seen to stay below alpha without a look.
    """

    def __init__(self, problem: Problem) -> None:
        self.cost = problem.dictionary.cost(np.arange(problem.enumerable.size))
        self._lengths: Array | None = None

    def everywhere(self, problem: Problem, forces: list[Array]) -> list[Seen]:
        """Of all hypotheses."""
        parts = np.split(problem.enumerable.correlate(np.hstack(forces)), len(forces), axis=1)
        violations = [problem.penalty.violation(part, self.cost) for part in parts]
        return [Seen(*pair) for pair in zip(forces, violations, strict=True)]

    def again(self, problems: list[Problem], forces: list[Array], before: list[Seen], stepper: Stepper) -> list[Seen]:
        """The same when models have moved a little since; a bound for hypotheses that have to stay below alpha."""
        dictionary, penalty = problems[0].dictionary, problems[0].penalty
        if not isinstance(dictionary, BlockDictionary):
            return self.everywhere(problems[0], forces)
        if self._lengths is None:
            self._lengths = dictionary.lengths() / self.cost
        bounds = [
            seen.violation + self._lengths * _change(penalty, force - seen.force)
            for force, seen in zip(forces, before, strict=True)
        ]
        due = np.zeros(self.cost.size, dtype=bool)
        for problem, bound in zip(problems, bounds, strict=True):
            due |= bound * ROUNDING > problem.alpha
        due[stepper.keys] = False
        others = np.flatnonzero(due)
        if others.size > MOST_DUE * self.cost.size:
            return self.everywhere(problems[0], forces)
        every = np.hstack(forces)
        looks = [(stepper.keys, stepper.correlate(every)), (others, dictionary.correlate_some(others, every))]
        for keys, correlation in looks:
            for bound, part in zip(bounds, np.split(correlation, len(forces), axis=1), strict=True):
                bound[keys] = penalty.violation(part, self.cost[keys])
        return [Seen(*pair) for pair in zip(forces, bounds, strict=True)]


def _change(penalty: Penalty, move: Array) -> float:
    """Dual norm of what a column of length one can make of this move."""
    lengths = np.sqrt(np.square(move).sum(axis=0))
    return float(penalty.dual_norm(-lengths[None, :])[0]) * ROUNDING
