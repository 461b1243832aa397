"""How much every hypothesis pulls at zero, at several models of a path at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseboost import kernels
from sparseboost.hypotheses.blocks import BlockDictionary
from sparseboost.penalties import Penalty
from sparseboost.problem import Problem
from sparseboost.solvers.stepper import Stepper

Array = np.ndarray
ROUNDING = 1e-12  # of ‖column‖·‖force‖: what sums of products may be off by
FEW_DUE = 0.03  # share of all hypotheses: to look at more costs as much as a pass over their outline
MOST_DUE = 0.25  # share of all hypotheses: where more are due, all are looked at, which tightens every bound


class Seen(NamedTuple):
    """What pulls at the examples, and what is known of its correlation with every hypothesis."""

    force: Array
    centre: Array  # the correlation, nearly
    off: Array  # dual norm over cost of what that may be off by, at most
    violation: Array  # dual norm over cost of the correlation, which it does not exceed

    def learn(self, keys: Array, correlation: Array, off: Array | float, violation: Array) -> None:
        """Write down what a look at some hypotheses has shown."""
        self.centre[keys], self.off[keys], self.violation[keys] = correlation, off, violation


class Violations:
    r"""Dual norms over cost of all hypotheses, by a pass over X for several models.

    The force f on the examples is nearly a combination a·f₁ + b·f₂ of those at two models before, because it is nearly
    linear in alpha: f = a·f₁ + b·f₂ + Δ with short Δ. The correlation with a column h is then the same combination
    of what it was, and at most ‖h‖·‖Δ_r‖ off in output r (Cauchy–Schwarz), besides what was unknown before. Most
    hypotheses are seen to stay below the alphas that matter without a look. Where less is unknown of the first model
    than of both, f₁ alone is better.
    """

    def __init__(self, problem: Problem) -> None:
        self.cost = problem.dictionary.cost(np.arange(problem.enumerable.size))
        self._lengths: Array | None = None

    def everywhere(self, problem: Problem, forces: list[Array]) -> list[Seen]:
        """Of all hypotheses."""
        correlation = problem.enumerable.correlate(np.hstack(forces))
        every = [np.ascontiguousarray(part) for part in np.split(correlation, len(forces), axis=1)]
        return [
            Seen(force, part, np.zeros(self.cost.size), problem.penalty.violation(part, self.cost))
            for force, part in zip(forces, every, strict=True)
        ]

    def since(
        self,
        problems: list[Problem],
        forces: list[Array],
        before: list[tuple[Seen, ...]],
        stepper: Stepper,
        slopes: list[Array | None],
    ) -> list[Seen]:
        """The same from one or two models before each; a bound for hypotheses that stay below alpha.

        The models of a block of alphas lie between its last one and the one before it. `slopes` are correlations of the
        active hypotheses where they are known.
        """
        problem = problems[0]
        if not isinstance(problem.dictionary, BlockDictionary):
            return self.everywhere(problem, forces)
        if self._lengths is None:
            self._lengths = problem.dictionary.lengths() / self.cost
        if before[0] is not before[-1]:  # every model is known from a look before
            return self._looked_at(problems, forces, before, stepper, slopes)
        (last,) = self._looked_at(problems[-1:], forces[-1:], before[-1:], stepper, slopes[-1:])
        if len(forces) == 1:
            return [last]
        ends: tuple[Seen, ...] = (before[0][0], last)
        between = self._looked_at(problems[:-1], forces[:-1], [ends] * (len(forces) - 1), stepper, slopes[:-1])
        return [*between, last]

    def _looked_at(
        self,
        problems: list[Problem],
        forces: list[Array],
        before: list[tuple[Seen, ...]],
        stepper: Stepper,
        slopes: list[Array | None],
    ) -> list[Seen]:
        """What other models tell, and a look at all hypotheses that may be above alpha all the same."""
        dictionary, penalty = problems[0].dictionary, problems[0].penalty
        assert isinstance(dictionary, BlockDictionary)
        outline = dictionary.outline(problems[0].n_outputs)
        found = [self._carried(penalty, force, known) for force, known in zip(forces, before, strict=True)]
        others = self._due(problems, found, stepper)
        if others.size > MOST_DUE * self.cost.size and outline is None:
            return self.everywhere(problems[0], forces)
        if others.size > FEW_DUE * self.cost.size and outline is not None:
            nearly = outline.nearly(others, forces, penalty.dual_norm, dictionary.share)
            for seen, (correlation, off) in zip(found, nearly, strict=True):
                off /= self.cost[others]
                seen.learn(others, correlation, off, penalty.violation(correlation, self.cost[others]) + off)
            others = self._due(problems, found, stepper)
        every, known = np.hstack(forces), [slope for slope in slopes if slope is not None]
        own = np.hstack(known) if len(known) == len(forces) else stepper.correlate(every)
        looks = [(stepper.keys, own), (others, dictionary.correlate_some(others, every))]
        for keys, correlation in looks:
            for seen, part in zip(found, np.split(correlation, len(forces), axis=1), strict=True):
                seen.learn(keys, part, 0.0, penalty.violation(part, self.cost[keys]))
        return found

    def _due(self, problems: list[Problem], found: list[Seen], stepper: Stepper) -> Array:
        """Hypotheses outside the active set that may be above the alpha of some model."""
        due = np.zeros(self.cost.size, dtype=bool)
        for problem, seen in zip(problems, found, strict=True):
            due |= ~(seen.violation <= problem.alpha)
        due[stepper.keys] = False
        return np.flatnonzero(due)

    def _carried(self, penalty: Penalty, force: Array, known: tuple[Seen, ...]) -> Seen:
        """What the models before tell about this force."""
        one, two = known[0], known[-1]
        shares, lengths = np.empty((2, 2)), np.empty((4, force.shape[1]))
        kernels.carry.combine(force, one.force, two.force, shares, lengths)
        norms = penalty.dual_norm(-lengths)
        more = norms[:2] + ROUNDING * (norms[:2] + np.abs(shares) @ norms[2:])
        seen = Seen(force, np.empty(one.centre.shape), *np.empty((2, self.cost.size)))
        kernels.carry.carry(
            penalty.kernel, penalty.positive, shares, more, one.centre, one.off, two.centre, two.off, self._lengths,
            self.cost, seen.centre, seen.off, seen.violation,
        )  # fmt: skip
        return seen
