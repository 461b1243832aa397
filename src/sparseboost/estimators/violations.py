"""How much every hypothesis pulls at zero, at several models of a path at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseboost.hypotheses.blocks import BlockDictionary
from sparseboost.losses.base import over_examples
from sparseboost.penalties import Penalty
from sparseboost.problem import Problem
from sparseboost.solvers.stepper import Stepper

Array = np.ndarray
ROUNDING = 1.0 + 1e-12  # what sums of products may add to a bound
FEW_DUE = 0.03  # share of all hypotheses: to look at more costs as much as a pass over their outline
MOST_DUE = 0.25  # share of all hypotheses: where more are due, all are looked at, which tightens every bound


class Seen(NamedTuple):
    """What pulls at the examples, and of every hypothesis a dual norm over cost that it does not exceed then."""

    force: Array
    violation: Array


class Violations:
    r"""Dual norms over cost of all hypotheses, by a pass over X for several models.

    From one model to the next the force on the examples changes from f to a·f + Δ with a ≥ 0. The correlation with a
    column h is a times what it was, and at most ‖h‖·‖Δ_r‖ more in output r (Cauchy–Schwarz); a is chosen so that Δ is
    short. Most hypotheses are seen to stay below the alphas that matter without a look.
    """

    def __init__(self, problem: Problem) -> None:
        self.cost = problem.dictionary.cost(np.arange(problem.enumerable.size))
        self._lengths: Array | None = None

    def everywhere(self, problem: Problem, forces: list[Array]) -> list[Seen]:
        """Of all hypotheses."""
        correlation = problem.enumerable.correlate(np.hstack(forces))
        norms = problem.penalty.dual_norm(correlation.reshape(-1, problem.n_outputs))
        violations = np.empty((len(forces), self.cost.size))
        np.divide(norms.reshape(-1, len(forces)).T, self.cost, out=violations)
        return [Seen(*pair) for pair in zip(forces, violations, strict=True)]

    def since(
        self,
        problems: list[Problem],
        forces: list[Array],
        before: list[Seen],
        level: float,
        stepper: Stepper,
        slopes: list[Array | None],
    ) -> list[Seen]:
        """The same for models that have moved since; a bound for hypotheses that have to stay below the level.

        `slopes` are correlations of the active hypotheses where they are known.
        """
        problem = problems[0]
        dictionary, penalty = problem.dictionary, problem.penalty
        if not isinstance(dictionary, BlockDictionary):
            return self.everywhere(problem, forces)
        outline = dictionary.outline()
        if self._lengths is None:
            self._lengths = dictionary.lengths() / self.cost
        bounds = [self._bound(penalty, force, seen) for force, seen in zip(forces, before, strict=True)]
        others = self._due(bounds, [level] * len(bounds), stepper)
        if others.size > MOST_DUE * self.cost.size and outline is None:
            return self.everywhere(problem, forces)
        if others.size > FEW_DUE * self.cost.size and outline is not None:
            # these bounds are so tight that they serve for any level; what is above alpha decides on a certificate
            tight = outline.bounds(others, forces, penalty.dual_norm, dictionary.share)
            for bound, some in zip(bounds, tight, strict=True):
                bound[others] = some / self.cost[others]
            others = self._due(bounds, [one.alpha for one in problems], stepper)
        every, known = np.hstack(forces), [slope for slope in slopes if slope is not None]
        own = np.hstack(known) if len(known) == len(forces) else stepper.correlate(every)
        looks = [(stepper.keys, own), (others, dictionary.correlate_some(others, every))]
        for keys, correlation in looks:
            for bound, part in zip(bounds, np.split(correlation, len(forces), axis=1), strict=True):
                bound[keys] = penalty.violation(part, self.cost[keys])
        return [Seen(*pair) for pair in zip(forces, bounds, strict=True)]

    def _due(self, bounds: list[Array], levels: list[float], stepper: Stepper) -> Array:
        """Hypotheses outside the active set that may be above the level of some model."""
        due = np.zeros(self.cost.size, dtype=bool)
        for bound, level in zip(bounds, levels, strict=True):
            due |= ~(bound <= level)
        due[stepper.keys] = False
        return np.flatnonzero(due)

    def _bound(self, penalty: Penalty, force: Array, seen: Seen) -> Array:
        """What dual norms over cost are at most under this force."""
        assert self._lengths is not None
        size = float(np.vdot(seen.force, seen.force))
        share = max(float(np.vdot(seen.force, force)) / size, 0.0) if size > 0.0 else 0.0
        change = np.sqrt(over_examples(np.square(force - share * seen.force)))
        bound = seen.violation * (share * ROUNDING)
        bound += self._lengths * (float(penalty.dual_norm(-change[None, :])[0]) * ROUNDING)
        return bound
