"""The only loop: look at all hypotheses, stop by certificate, or take one step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from sparseboost.ensemble import Ensemble, Stage
from sparseboost.hypotheses.base import Rank
from sparseboost.monitors import Monitor, Record
from sparseboost.problem import Problem, Survey
from sparseboost.threads import one_blas_thread

Array = np.ndarray


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

    ensemble: Ensemble
    objective: float
    gap: float
    target: float
    converged: bool
    reason: str
    n_rounds: int
    history: list[Record]


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
    with one_blas_thread():
        return _loop(problem, solver, tol, max_rounds, monitor or Monitor(), warm, stages)


def _loop(
    problem: Problem,
    solver: Solver,
    tol: float,
    max_rounds: int,
    monitor: Monitor,
    warm: Stage | None,
    stages: list[Stage] | None,
) -> Solution:
    target = tol * abs(problem.empty_objective)
    state = solver.init(problem, warm)
    best_lower, first_slope, rounds = -np.inf, np.inf, 0
    while True:
        wish = solver.request(state)
        survey = state.problem.survey(state.ensemble, state.score, wish.count, wish.rank)
        # a bound over the hypotheses of a heuristic search says nothing of those it finds later
        best_lower = max(best_lower, survey.lower_bound) if problem.dictionary.exact else survey.lower_bound
        survey = replace(survey, lower_bound=best_lower)
        if stages is not None:
            stages.append(state.ensemble.stage)
        asked = monitor.record(
            target,
            objective=survey.objective,
            gap=survey.gap,
            active=state.ensemble.support,
            added=state.added,
            pruned=state.pruned,
            **({} if survey.candidates.visited is None else {"visited": survey.candidates.visited}),
        )
        slope = 0.0 if problem.certifiable else problem.steepest(survey.candidates)
        if rounds == 0:
            first_slope = slope
        converged, reason = _verdict(problem, solver, state, survey, target, slope <= tol * first_slope)
        if reason == "gap" and rounds == 0 and max_rounds > 0 and _should_not_be_empty(state, survey):
            converged, reason = False, None
        if reason is None:
            if asked:
                reason = "callback"
            elif monitor.out_of_time:
                reason = "time_budget"
            elif rounds >= max_rounds:
                reason = "max_rounds"
        if reason is not None:
            ensemble = state.ensemble.prune() if problem.penalty.zeroes_blocks else state.ensemble
            return Solution(ensemble, survey.objective, survey.gap, target, converged, reason, rounds, monitor.history)
        state = solver.step(state, survey, target, monitor)
        rounds += 1


def _should_not_be_empty(state: State, survey: Survey) -> bool:
    """Below the largest useful alpha some row is not zero at the optimum, however small the gap of the empty model."""
    return state.ensemble.size == 0 and survey.candidates.keys.size > 0


def _verdict(
    problem: Problem, solver: Solver, state: State, survey: Survey, target: float, flat: bool
) -> tuple[bool, str | None]:
    if survey.gap <= target:
        return True, "gap"
    if not problem.certifiable and flat:
        return True, "stationary"
    own = solver.finished(state)
    if own is not None:
        return False, own
    if state.stalled and survey.candidates.keys.size == 0:
        return False, "stalled"
    return False, None
