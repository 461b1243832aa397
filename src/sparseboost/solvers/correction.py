"""Re-optimising the weights of the active hypotheses with rounds of one update."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sparseboost import kernels
from sparseboost.ensemble import Ensemble
from sparseboost.monitors import Monitor
from sparseboost.problem import Problem
from sparseboost.solvers.updates import Update, force

Array = np.ndarray
ROUNDS_PER_CHECK = 10
MOST_CHECKS = 100
INDUCED_ENTRIES = 300  # the first round takes in about this many weights: more cost little and save rounds
NOTHING = 1e-24  # a guaranteed decrease below this share of the empty objective moves no certificate


class Workspace:
    """Weights, scores and gradient parts that one correction moves in step."""

    def __init__(self, problem: Problem, ensemble: Ensemble, score: Array) -> None:
        self.problem = problem
        self.columns = ensemble.columns
        self.strength = problem.strength(ensemble)
        self.coef = np.array(ensemble.coef, order="C")
        self.intercept = ensemble.intercept.copy()
        self.score = score.copy()
        self.up, self.down = force(problem, score)
        self.compiled = problem.driving_loss.kernel is not None and problem.penalty.kernel is not None

    def shift(self, update: Update) -> float:
        """Move the intercept; return the guaranteed decrease."""
        if not self.problem.fit_intercept:
            return 0.0
        exponential, room = update.intercept_room(self.problem)
        loss = self.problem.driving_loss
        if loss.kernel is not None:
            return kernels.sweeps.shift(
                exponential, room, self.intercept, loss.kernel, self.problem.y, self.problem.weight,
                self.score, self.up, self.down,
            )  # fmt: skip
        plus, minus = self.down.sum(axis=0), self.up.sum(axis=0)
        if exponential:
            both = (plus > 0) & (minus > 0)
            step = np.where(both, 0.5 * room * (np.log(np.where(both, plus / minus, 1.0))), 0.0)
            decrease = float((room * (np.sqrt(plus) - np.sqrt(minus)) ** 2)[both].sum())
        else:
            step = room * (plus - minus)
            decrease = 0.5 * room * float(((plus - minus) ** 2).sum())
        self.intercept += step
        self.score += step
        self.up, self.down = force(self.problem, self.score)
        return decrease

    def sweep(self, update: Update, room: Array) -> float:
        """Move every row that has room once, one after the other; return the guaranteed decrease."""
        if self.compiled:
            problem = self.problem
            return kernels.sweeps.sweep(
                update.exponential, *self.columns.flat, room, self.strength, self.coef, problem.penalty.kernel,
                problem.penalty.positive, problem.driving_loss.kernel, problem.y, problem.weight,
                self.score, self.up, self.down,
            )  # fmt: skip
        decrease = 0.0
        for j in np.flatnonzero(room):
            only = np.arange(self.columns.size) == j
            decrease += self.together(update, np.where(only, room, 0.0))
        return decrease

    def together(self, update: Update, room: Array) -> float:
        """Move all rows that have room at once; the room must have been made for that."""
        rows, decrease = update.propose(
            self.problem, self.columns, self.coef, room, self.strength, (self.up, self.down)
        )
        self._move(rows)
        return float(decrease.sum())

    def best(self, update: Update, room: Array) -> float:
        """Move only the row that promises most."""
        rows, decrease = update.propose(
            self.problem, self.columns, self.coef, room, self.strength, (self.up, self.down)
        )
        chosen = int(np.argmax(decrease))
        if not decrease[chosen] > 0:
            return 0.0
        moved = self.coef.copy()
        moved[chosen] = rows[chosen]
        self._move(moved)
        return float(decrease[chosen])

    def _move(self, rows: Array) -> None:
        self.score += self.columns.dot(rows - self.coef)
        self.coef = rows
        self.up, self.down = force(self.problem, self.score)

    def ensemble(self, ensemble: Ensemble) -> Ensemble:
        """The ensemble with the weights found here."""
        return replace(ensemble, coef=self.coef, intercept=self.intercept)


class Corrected(NamedTuple):
    """Weights after a correction, the decrease that its bounds guaranteed, and the dual point it found if it did."""

    ensemble: Ensemble
    score: Array
    bound: float
    stalled: bool
    dual: Any = None


class Goal(NamedTuple):
    """The gap of the active hypotheses that is wanted, and whether others wait to enter.

    Where they do, one may stop earlier, when little more is to be gained without them. The look at all hypotheses may
    have told the gradient of the loss in the active rows.
    """

    gap: float
    waiting: bool = False
    gradient: Array | None = None


class Corrector(ABC):
    """A way of re-optimising the weights of the active hypotheses.

    Attributes
    ----------
    takes_kinks : bool
        Whether it works on a non-smooth loss itself, not on smooth ones that come close.
    idle : float
        Which share of the active hypotheses may have no weight before those are dropped: that copies all others.
    """

    name: str
    takes_kinks: bool = False
    idle: float = 0.0

    @abstractmethod
    def check(self, problem: Problem) -> None:
        """Raise a ValueError that names the remedy if this does not work for the problem."""

    @abstractmethod
    def run(self, problem: Problem, ensemble: Ensemble, score: Array, goal: Goal, monitor: Monitor) -> Corrected:
        """Repeat until the goal is reached, or nothing moves any more."""

    @abstractmethod
    def rank(self, problem: Problem, score: Array, keys: Array, correlation: Array) -> Array:
        """How much hypotheses outside the active set promise."""

    def leaves(self, problem: Problem, ensemble: Ensemble) -> float:
        """Share of the gap that may be left to these active hypotheses as long as others wait to enter."""
        return 0.1

    def appetite(self, problem: Problem, pull: float = np.inf) -> int:
        """How many hypotheses a first round may take in; `pull`: the largest violation, as a multiple of alpha."""
        return INDUCED_ENTRIES // (problem.n_outputs + 2)


class Correction(Corrector):
    """Rounds of one update under one template.

    Parameters
    ----------
    update : Update
        AdaBoost or GradBoost.
    template : str or array
        ``"single"``: rows one after the other; ``"greedy"``: only the row that promises most; ``"dense"``: all rows
        at once; an array a_j over all hypotheses: these rows at once, with this room.

    References
    ----------
    MATH.md D9, D10.
    """

    def __init__(self, update: Update, template: str | Array = "single") -> None:
        self.update = update
        self.template = template
        self.name = update.name
        self._together = not isinstance(template, str) or template == "dense"
        self._greedy = isinstance(template, str) and template == "greedy"

    def check(self, problem: Problem) -> None:
        self.update.check(problem)
        if isinstance(self.template, str):
            return
        size, limit, formula = self.update.template_size(problem, self.template)
        if size > limit * (1.0 + 1e-9):
            raise ValueError(
                f"template is too large for update={self.update.name!r}: {formula} is {size:.6g} but may be at most "
                f"{limit:g}; divide the template by {size / limit:.6g}."
            )

    def run(self, problem: Problem, ensemble: Ensemble, score: Array, goal: Goal, monitor: Monitor) -> Corrected:
        work = Workspace(problem, ensemble, score)
        room = self._room(problem, ensemble)
        bound, stalled = 0.0, False
        for _ in range(MOST_CHECKS):
            recent = 0.0
            for _ in range(ROUNDS_PER_CHECK):
                recent += work.shift(self.update) + self._round(work, room)
            bound += recent
            stalled = recent <= NOTHING * abs(problem.empty_objective)
            if stalled or monitor.out_of_time:
                break
            if problem.restricted_gap(work.ensemble(ensemble), work.score) <= goal.gap:
                break
        corrected = self._clear_empty_columns(problem, work.ensemble(ensemble), room)
        return Corrected(corrected, corrected.score(), bound, stalled)

    def once(self, problem: Problem, ensemble: Ensemble, score: Array, chosen: Array) -> Corrected:
        """One update of the chosen rows only (and of the intercept)."""
        work = Workspace(problem, ensemble, score)
        bound = work.shift(self.update)
        if isinstance(self.template, str) and self.template == "dense":
            room = np.zeros(ensemble.size)
            room[chosen] = self.update.dense_room(problem, ensemble.columns.keep(chosen))
            bound += work.together(self.update, room)
        else:
            bound += self._round(work, np.where(chosen, self._room(problem, ensemble), 0.0))
        moved = work.ensemble(ensemble)
        return Corrected(moved, work.score, bound, bound <= NOTHING * abs(problem.empty_objective))

    def rank(self, problem: Problem, score: Array, keys: Array, correlation: Array) -> Array:
        scores = self.update.rank(problem, score, keys, correlation)
        return scores if isinstance(self.template, str) else np.where(self.template[keys] > 0, scores, 0.0)

    def _room(self, problem: Problem, ensemble: Ensemble) -> Array:
        if not isinstance(self.template, str):
            return self.update.template_room(problem, self.template[ensemble.keys])
        if self.template == "dense":
            return self.update.dense_room(problem, ensemble.columns)
        return self.update.single_room(problem, ensemble.columns)

    def _round(self, work: Workspace, room: Array) -> float:
        if room.size == 0:
            return 0.0
        if self._together:
            return work.together(self.update, room)
        return work.best(self.update, room) if self._greedy else work.sweep(self.update, room)

    def _clear_empty_columns(self, problem: Problem, ensemble: Ensemble, room: Array) -> Ensemble:
        """A column of zeros has weight 0 at every penalised optimum, and no update that could find it."""
        if not isinstance(self.template, str) or problem.alpha == 0.0 or np.all(room > 0):
            return ensemble
        return replace(ensemble, coef=np.where(room[:, None] > 0, ensemble.coef, 0.0))
