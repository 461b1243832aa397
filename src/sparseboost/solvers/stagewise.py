"""Forward stagewise regression (F2), and the course that it shares with Frank–Wolfe (F4).

Every round multiplies all weights by a factor and sets one of them: F2 and F4 differ in these two numbers only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sparseboost.hypotheses import Enumerable
from sparseboost.kernels.kinds import FORWARD
from sparseboost.monitors import Monitor, Record
from sparseboost.solvers.base import Course, Look, run
from sparseboost.solvers.least_squares import LeastSquares
from sparseboost.solvers.walks import GramWalk, Measures, SearchWalk, Steps, Walk
from sparseboost.threads import one_blas_thread

Array = np.ndarray


class Rule(ABC):
    """How far a round goes, and what that promises.

    Attributes
    ----------
    kind : int
        The compiled form in `kernels.stagewise`.
    number : float
        Its parameter: the step of F2, the constant share of F4.
    radius : float
        Of the ℓ1 ball; infinite without one.
    measure : str
        The field of the records that has a target.
    """

    kind: int
    number: float = 0.0
    radius: float = np.inf
    measure: str = "gap"

    @abstractmethod
    def bounds(self, rounds: Array, kept: Array, excess: Array, energy: float, fitted: float) -> dict[str, Array]:
        """What theory promises after this many rounds.

        Parameters
        ----------
        rounds, kept : array of int
            Rounds made, and those of them that did not just drop a vertex.
        excess : array
            L(0) minus the best lower bound known so far: no less than L(0) − L*.
        energy, fitted : float
            max_j ‖X_j‖², and ‖Xβ_LS‖² or a bound of it.
        """

    def floor(self, energy: float) -> float:
        """What the measure can be promised to come down to, however many rounds are made."""
        return 0.0


@dataclass(frozen=True)
class ForwardStagewise(Rule):
    r"""FS_ε: the weight with the largest |X_jᵀr| moves by ε.

    min_{i ≤ k} ‖Xᵀr^i‖∞ ≤ ‖Xβ_LS‖²/(2ε(k+1)) + ε max_j‖X_j‖²/2, and ‖β^k‖₁ ≤ kε.

    References
    ----------
    Freund, Grigas & Mazumder; MATH.md F2.
    """

    number: float  # ε
    kind = FORWARD
    measure = "correlation"

    def bounds(self, rounds: Array, kept: Array, excess: Array, energy: float, fitted: float) -> dict[str, Array]:
        return {"bound": fitted / (2.0 * self.number * (rounds + 1)) + self.floor(energy)}

    def floor(self, energy: float) -> float:
        return 0.5 * self.number * energy


@dataclass(frozen=True)
class Trace:
    """Every round of a run, where it ended, and why."""

    steps: Steps
    keys: Array  # hypotheses met, in the order of their entry
    means: Array  # of their outputs, or 0 without an intercept
    coef: Array
    intercept: float
    reached: float  # smallest value of what had a target: the gap, or the correlation
    wanted: float  # its target, or the floor of the rule if that is higher
    reason: str
    n_rounds: int
    history: list[Record]


def start(question: LeastSquares, rule: Rule) -> Walk:
    """The empty model: in compiled blocks on Gram columns, or by search where a space cannot be written down."""
    kind = GramWalk if isinstance(question.dictionary, Enumerable) else SearchWalk
    with one_blas_thread():
        return kind(question, rule.kind, rule.number, rule.radius)


def trace(
    question: LeastSquares,
    rule: Rule,
    *,
    tol: float = 1e-4,
    max_rounds: int = 1000,
    monitor: Monitor | None = None,
    walk: Walk | None = None,
) -> Trace:
    """Run a rule until the gap is `tol` times the loss of the empty model, or a limit ends it.

    F2 has no gap: it stops when ‖Xᵀr‖∞ is `tol` times that of the empty model. A `walk` from `start` can be followed
    by callbacks.
    """
    monitor = monitor or Monitor(measure=rule.measure)
    walk = walk or start(question, rule)
    with one_blas_thread():
        _, look, reason, rounds = run(StagewiseCourse(question, rule, tol, max_rounds), walk, max_rounds, monitor)
    return Trace(
        steps=walk.steps,
        keys=walk.keys,
        means=walk.means * question.dictionary.cost(walk.keys),
        coef=walk.coef,
        intercept=walk.intercept,
        reached=min(record[rule.measure] for record in monitor.history),
        wanted=max(look.target, rule.floor(walk.largest_energy)),
        reason=reason,
        n_rounds=rounds,
        history=monitor.history,
    )


class StagewiseCourse(Course):
    """A rule at work: measures every round, and stops at the target."""

    def __init__(self, question: LeastSquares, rule: Rule, tol: float, max_rounds: int) -> None:
        self.question, self.rule, self.tol, self.max_rounds = question, rule, tol, max_rounds
        self.target = np.nan
        self.lower = 0.0  # no sum of squares is smaller
        self.dropped = 0

    def look(self, state: Walk, rounds: int) -> Look:
        measures = state.measure()
        if rounds == 0:
            start = measures.pulls[0] if self.rule.kind == FORWARD else measures.losses[0]
            self.target = self.tol * float(start)
        small = self._small(measures)
        if (small or rounds >= self.max_rounds) and state.refresh():  # nothing is certified by what was carried along
            measures = state.measure()
            small = self._small(measures)
        reason = "stalled" if state.stuck else None
        if small:
            reason = "stationary" if self.rule.kind == FORWARD else "gap"
        return Look(self._records(state, measures, rounds)[0], self.target, reason, small, None)

    def step(self, state: Walk, look: Look, monitor: Monitor) -> Walk:
        before = state.rounds
        measures = state.advance(1 if monitor.listening else self.max_rounds - before, self.target, monitor)
        if measures.losses.size > 1:
            for record in self._records(state, measures, before)[1:]:
                monitor.record(self.target, **record)
        self.dropped += int(measures.left.sum())
        return state

    def _small(self, measures: Measures) -> bool:
        watched = measures.pulls if self.rule.kind == FORWARD else measures.gaps
        return bool(watched[0] <= self.target)

    def _records(self, walk: Walk, measures: Measures, first: int) -> list[Record]:
        """What the history keeps of rounds first, first + 1, …"""
        rounds = first + np.arange(measures.losses.size)
        lower = np.maximum.accumulate(np.maximum(measures.losses - measures.gaps, self.lower))
        self.lower = float(lower[-1])
        dropped = self.dropped + np.cumsum(measures.left) - measures.left
        bounds = self.rule.bounds(
            rounds,
            rounds - dropped,
            0.5 * self.question.energy - lower,
            walk.largest_energy,
            self.question.fitted_energy,
        )
        if not self.question.dictionary.exact:  # the promises are about the best hypothesis
            bounds = {name: np.full(rounds.size, np.inf) for name in bounds}
        fields = {
            "loss": measures.losses,
            "correlation": measures.pulls,
            "gap": np.maximum(measures.gaps, 0.0),
            "active": measures.active,
            **bounds,
        }
        return [dict(zip(fields, row, strict=True)) for row in zip(*(f.tolist() for f in fields.values()), strict=True)]
