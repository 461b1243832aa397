"""The only loop: look at all hypotheses, stop by certificate, or take one step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sparseboost.ensemble import Ensemble, Stage
from sparseboost.hypotheses.base import Rank
from sparseboost.monitors import Monitor, Record
from sparseboost.problem import Problem, Survey
from sparseboost.solvers.dual_line import DualLine
from sparseboost.threads import one_blas_thread

Array = np.ndarray
MOST_STALLS = 10  # steps that change nothing to be seen: each starts anew, and the next may still close the gap


@dataclass(frozen=True)
class State:
    """Where a solver stands between two rounds."""

    ensemble: Ensemble
    score: Array
    problem: Problem
    inducing: bool = True  # whether the next round may add hypotheses
    added: int = 0
    pruned: int = 0
    bound: float = 0.0  # decrease of the objective that the last step guaranteed
    stalled: bool = False  # the last step changed nothing that double precision can see
    dual: Any = None  # a dual point that the last step found; by default the gradient is one
    unaffordable: bool = False  # all hypotheses that wanted to enter need more inputs than are allowed

    def give_score(self) -> Array:
        """The scores, for a step that makes new ones: of many outputs they take more memory than the data."""
        score = self.score
        object.__setattr__(self, "score", None)
        return score


@dataclass(frozen=True)
class Request:
    """What a solver wants from the next look at all hypotheses."""

    count: int
    rank: Rank | None = None


class Solver(ABC):
    """One way of moving the weights; `minimize` does everything else."""

    def init(self, problem: Problem, warm: Stage | None = None) -> State:
        """Start empty, or from (keys, coef, intercept) of an earlier fit."""
        ensemble = Ensemble.empty(problem.dictionary, problem.start)
        if warm is not None:
            keys, coef, intercept = warm
            ensemble = replace(ensemble.extend(problem.dictionary, keys), coef=coef.copy(), intercept=intercept.copy())
        return State(ensemble, ensemble.score(), problem)

    @abstractmethod
    def request(self, state: State) -> Request:
        """How many hypotheses may enter next, and how they are ranked."""

    @abstractmethod
    def step(self, state: State, survey: Survey, target: float, monitor: Monitor) -> State:
        """One round."""

    def finished(self, state: State) -> str | None:
        """A reason of the solver's own to stop, if there is one."""
        return None


@dataclass(frozen=True)
class Solution:
    """Where a solver stopped, and why."""

    left: Ensemble  # as the last round left it
    prunes: bool  # whether hypotheses without weight do not belong to the model
    objective: float
    gap: float
    target: float
    converged: bool
    reason: str
    n_rounds: int
    history: list[Record]
    violation: float = 0.0  # the largest dual norm over cost; at most alpha at the optimum

    @cached_property
    def ensemble(self) -> Ensemble:
        """The model with its columns, which are copied if some go."""
        return self.left.prune() if self.prunes else self.left

    @property
    def stage(self) -> Stage:
        """The model without its data."""
        return self.left.busy if self.prunes else self.left.stage


@dataclass(frozen=True)
class Look:
    """What one look at a fit showed.

    Attributes
    ----------
    record : dict
        What the history keeps of this round.
    target : float
        The gap that was asked for.
    reason : str or None
        Why the fit should stop here, if it should.
    converged : bool
        Whether that reason is the answer that was asked for.
    found : object
        What the next step needs to know.
    """

    record: Record
    target: float
    reason: str | None
    converged: bool
    found: Any


class Course(ABC):
    """A fit as the loop sees it: something to look at, that takes steps.

    A step is one round, or a block of rounds: then it records all of them but the last, which the next look shows.
    """

    @abstractmethod
    def look(self, state: Any, rounds: int) -> Look:
        """What the state shows after this many rounds."""

    @abstractmethod
    def step(self, state: Any, look: Look, monitor: Monitor) -> Any:
        """One round, or a block of them."""


def run(course: Course, state: Any, max_rounds: int, monitor: Monitor) -> tuple[Any, Look, str, int]:
    """Take steps until a look, a limit or a callback ends it; the last state, what it showed, why, after how many."""
    rounds, before = 0, len(monitor.history)
    while True:
        look = course.look(state, rounds)
        asked = monitor.record(look.target, **look.record)
        reason = look.reason
        if reason is None:
            if asked:
                reason = "callback"
            elif monitor.out_of_time:
                reason = "time_budget"
            elif rounds >= max_rounds:
                reason = "max_rounds"
        if reason is not None:
            return state, look, reason, rounds
        state = course.step(state, look, monitor)
        rounds = len(monitor.history) - before


def minimize(
    problem: Problem,
    solver: Solver,
    *,
    tol: float = 1e-4,
    max_rounds: int = 1000,
    monitor: Monitor | None = None,
    warm: Stage | None = None,
    stages: list[Stage] | None = None,
) -> Solution:
    """Run a solver until its certificate, a limit or a callback ends it.

    Every lower bound met on the way over an exact space stays valid, so the gap is taken to the best of them. `stages`,
    if given, receives the weights before every round and at the end.
    """
    monitor = monitor or Monitor()
    with one_blas_thread():
        course = _Minimization(problem, solver, tol, max_rounds, stages)
        state, look, reason, rounds = run(course, solver.init(problem, warm), max_rounds, monitor)
    survey, prunes = look.found, problem.penalty.zeroes_blocks
    return Solution(
        state.ensemble, prunes, survey.objective, survey.gap, look.target, look.converged, reason, rounds,
        monitor.history, survey.candidates.violation,
    )  # fmt: skip


class _Minimization(Course):
    """A solver at work on a problem: the gap is the certificate."""

    def __init__(
        self, problem: Problem, solver: Solver, tol: float, max_rounds: int, stages: list[Stage] | None
    ) -> None:
        self.problem, self.solver, self.stages = problem, solver, stages
        self.tol, self.target = tol, tol * abs(problem.empty_objective)
        self.may_stop_empty = max_rounds == 0
        self.best_lower, self.first_slope = -np.inf, np.inf
        self.line = DualLine()
        self.stalled_at: float | None = None  # objective at which the last step changed nothing
        self.stalls = 0  # steps in a row that changed nothing

    def look(self, state: State, rounds: int) -> Look:
        wish = self.solver.request(state)
        survey = state.problem.survey(state.ensemble, state.score, wish.count, wish.rank, state.dual)
        if self.problem.dictionary.exact:  # a bound over what a heuristic search found says nothing of what it may find
            survey = self.line.tighten(state.problem, state.score, state.dual, survey, self.target)
            self.best_lower = max(self.best_lower, survey.lower_bound)
            survey = replace(survey, lower_bound=self.best_lower)
        if self.stages is not None:
            self.stages.append(state.ensemble.busy if self.problem.penalty.zeroes_blocks else state.ensemble.stage)
        record = {
            "objective": survey.objective,
            "gap": survey.gap,
            "active": state.ensemble.support,
            "added": state.added,
            "pruned": state.pruned,
        }
        if survey.candidates.visited is not None:
            record["visited"] = survey.candidates.visited
        converged, reason = self._verdict(state, survey, rounds)
        return Look(record, self.target, reason, converged, survey)

    def step(self, state: State, look: Look, monitor: Monitor) -> State:
        return self.solver.step(state, look.found, look.target, monitor)

    def _verdict(self, state: State, survey: Survey, rounds: int) -> tuple[bool, str | None]:
        slope = 0.0 if self.problem.certifiable else self.problem.steepest(survey.candidates)
        if rounds == 0:
            self.first_slope = slope
        # below the largest useful alpha some row is not zero at the optimum, however small the gap of the empty model
        wrongly_empty = rounds == 0 and not self.may_stop_empty and _should_not_be_empty(state, survey)
        if survey.gap <= self.target and not wrongly_empty:
            return True, "gap"
        if not self.problem.certifiable and slope < np.inf and slope <= self.tol * self.first_slope:
            return True, "stationary"
        own = self.solver.finished(state)
        if own is not None:
            return False, own
        again = self.stalled_at == survey.objective
        self.stalled_at = survey.objective if state.stalled else None
        self.stalls = self.stalls + 1 if state.stalled else 0
        if state.stalled and (again or (self.stalls >= MOST_STALLS and survey.candidates.keys.size == 0)):
            return False, "stalled"
        return False, None


def _should_not_be_empty(state: State, survey: Survey) -> bool:
    return state.ensemble.size == 0 and survey.candidates.keys.size > 0
