"""The boosting loop: induce hypotheses, correct the weights, prune what became zero."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from sparseboost.ensemble import Ensemble, Stage
from sparseboost.hypotheses import Enumerable
from sparseboost.monitors import Monitor
from sparseboost.problem import Problem, Survey
from sparseboost.solvers.base import Request, Solver, State
from sparseboost.solvers.correction import Corrected, Correction, Corrector, Goal

Array = np.ndarray
FEWEST_INDUCED = 10
SMOOTHING_FRACTION = 0.1


class Boosting(Solver):
    """Boosting with structural sparsity: one round induces, corrects and prunes.

    Parameters
    ----------
    correction : Corrector
        How weights are re-optimised; sequential and alternating boosting need a `Correction`.
    induce : int or "auto"
        How many hypotheses may enter per round; "auto" doubles the active set, from ten to a hundred.
    corrective : bool or "alternate"
        True: all active weights are re-optimised each round. False: sequential boosting, only the chosen rows move,
        once. "alternate": rounds of pure induction and of pure re-optimisation take turns.
    max_inputs : int, optional
        Stop when this many inputs are used.

    References
    ----------
    MATH.md D8, D9.
    """

    def __init__(
        self,
        correction: Corrector,
        induce: int | Literal["auto"] = "auto",
        corrective: bool | Literal["alternate"] = True,
        max_inputs: int | None = None,
    ) -> None:
        self.correction = correction
        self.induce = induce
        self.corrective = corrective
        self.max_inputs = max_inputs

    def init(self, problem: Problem, warm: Stage | None = None) -> State:
        itself = problem.loss.smooth or self.correction.takes_kinks
        self.correction.check(problem if itself else problem.smoothed(1.0))
        return super().init(problem, warm)

    def request(self, state: State) -> Request:
        return Request(self._count(state), partial(self._rank, state))

    def finished(self, state: State) -> str | None:
        return "max_features" if state.unaffordable else None

    def step(self, state: State, survey: Survey, target: float, monitor: Monitor) -> State:
        problem = self._smoothing(state.problem, survey, target)
        before = state.ensemble
        pull = survey.candidates.violation / problem.alpha if problem.alpha > 0.0 else np.inf
        candidates = self._affordable(before, problem, survey.candidates.keys[: self._count(state, pull)])
        ensemble = before.extend(problem.dictionary, candidates)
        all_in = isinstance(problem.dictionary, Enumerable) and ensemble.size == problem.dictionary.size
        waiting = candidates.size > 0 and not all_in
        left = self.correction.leaves(problem, ensemble) if waiting else 0.0
        goal = Goal(max(target * 0.5, survey.gap * left), waiting, _gradient(state, survey, ensemble))
        inducing = True
        if self.corrective is False:
            found = self._sequential(problem, ensemble, state.score)
        elif self.corrective == "alternate" and candidates.size:
            found = self._once(problem, ensemble, state.score, np.arange(ensemble.size) >= before.size)
            inducing = False
        else:
            survey.candidates.forget_correlation()
            found = self.correction.run(problem, ensemble, state.give_score(), goal, monitor)
        # Where the dual point is not unique, a hypothesis without weight may hold it in place: dropped, it would come
        # back round after round. It goes only if the objective fell, which cannot happen for ever.
        holds = found.dual is not None and found.bound <= 0.5 * target
        prunes = problem.penalty.zeroes_blocks and not holds
        # hypotheses without weight may take part again uncounted: not where the number that enters is limited
        limited = self.induce != "auto" or self.max_inputs is not None
        kept = found.ensemble.tidy(0.0 if limited else self.correction.idle) if prunes else found.ensemble
        had, has = before.busy[0], kept.busy[0]
        both = np.intersect1d(had, has, assume_unique=True).size
        return State(
            kept,
            found.score,
            problem,
            inducing=inducing,
            added=has.size - both,
            pruned=had.size - both,
            bound=found.bound,
            stalled=found.stalled and problem is state.problem,
            dual=found.dual,
            unaffordable=survey.candidates.keys.size > 0 and candidates.size == 0,
        )

    def _affordable(self, ensemble: Ensemble, problem: Problem, keys: Array) -> Array:
        """The candidates, best first, that leave the number of inputs within its limit."""
        if self.max_inputs is None or keys.size == 0:
            return keys
        used, kept = _inputs(ensemble, problem), []
        for key in keys:
            more = used | problem.dictionary.inputs(np.array([key]))
            if len(more) <= self.max_inputs:
                used = more
                kept.append(key)
        return np.array(kept, dtype=keys.dtype)

    def _sequential(self, problem: Problem, ensemble: Ensemble, score: Array) -> Corrected:
        """Update the rows that promise most once, whether they are new or active already (D9, N = induce)."""
        assert isinstance(self.correction, Correction)
        gains = self.correction.update.gains(problem, ensemble, score)
        chosen = np.zeros(ensemble.size, dtype=bool)
        chosen[np.argsort(-gains, kind="stable")[: 1 if self.induce == "auto" else self.induce]] = True
        return self._once(problem, ensemble, score, chosen)

    def _once(self, problem: Problem, ensemble: Ensemble, score: Array, chosen: Array) -> Corrected:
        assert isinstance(self.correction, Correction)
        return self.correction.once(problem, ensemble, score, chosen)

    def _count(self, state: State, pull: float = np.inf) -> int:
        if not state.inducing:
            return 0
        if self.induce != "auto":
            return int(self.induce)
        if self.corrective is False:
            return 1
        if not state.problem.penalty.zeroes_blocks and isinstance(state.problem.dictionary, Enumerable):
            return state.problem.dictionary.size
        return max(FEWEST_INDUCED, self.correction.appetite(state.problem, pull), state.ensemble.support)

    def _rank(self, state: State, keys: Array, correlation: Array) -> Array:
        problem = state.problem
        if not problem.driving_loss.smooth:  # the first look at a non-smooth loss: there is no bound to score by
            return problem.steepness(keys, correlation)
        return self.correction.rank(problem, state.score, keys, correlation)

    def _smoothing(self, problem: Problem, survey: Survey, target: float) -> Problem:
        """A non-smooth loss is replaced by one within a fraction of the gap that is left to close."""
        if problem.loss.smooth or self.correction.takes_kinks:
            return problem
        width = max(target * 0.5, survey.gap * SMOOTHING_FRACTION)
        smoothed = problem.smoothed(width)
        return problem if smoothed.driving_loss == problem.driving_loss else smoothed


def _gradient(state: State, survey: Survey, ensemble: Ensemble) -> Array | None:
    """Gradient of the loss in the active rows, if it is what the search correlated all hypotheses with."""
    problem, correlation = state.problem, survey.candidates.correlation
    other = problem.fit_intercept or state.dual is not None or not problem.loss.smooth
    # what a cluster sums depends in its last bits on who has which rows
    elsewhere = not isinstance(state.score, np.ndarray)
    return None if other or elsewhere or correlation is None else correlation[ensemble.keys]


def _inputs(ensemble: Ensemble, problem: Problem) -> set[int]:
    """The inputs that hypotheses with weight look at."""
    return problem.dictionary.inputs(ensemble.keys[np.any(ensemble.coef != 0, axis=1)])
