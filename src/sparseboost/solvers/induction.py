"""The boosting loop: induce hypotheses, correct the weights, prune what became zero."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from sparseboost.ensemble import Ensemble, Stage
from sparseboost.monitors import Monitor
from sparseboost.problem import Problem, Survey
from sparseboost.solvers.base import Request, Solver, State
from sparseboost.solvers.correction import Corrected, Correction, Corrector

Array = np.ndarray
FEWEST_INDUCED = 10
INDUCED_ENTRIES = 300  # the first round takes in about this many weights: more cost little and save rounds
INNER_FRACTION = 0.1


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
    max_active : int, optional
        Stop when this many hypotheses are active.

    References
    ----------
    MATH.md D8, D9.
    """

    def __init__(
        self,
        correction: Corrector,
        induce: int | Literal["auto"] = "auto",
        corrective: bool | Literal["alternate"] = True,
        max_active: int | None = None,
    ) -> None:
        self.correction = correction
        self.induce = induce
        self.corrective = corrective
        self.max_active = max_active

    def init(self, problem: Problem, warm: Stage | None = None) -> State:
        self.correction.check(problem if problem.loss.smooth else problem.smoothed(1.0))
        return super().init(problem, warm)

    def request(self, state: State) -> Request:
        count = self._count(state)
        if self.max_active is not None:
            count = min(count, self.max_active - state.ensemble.support)
        return Request(count, partial(self._rank, state))

    def finished(self, state: State) -> str | None:
        full = self.max_active is not None and state.ensemble.support >= self.max_active
        return "max_features" if full and state.added == 0 else None

    def step(self, state: State, survey: Survey, target: float, monitor: Monitor) -> State:
        problem = self._smoothing(state.problem, survey, target)
        before = state.ensemble
        candidates = survey.candidates.keys
        inner = target * 0.5 if candidates.size == 0 else max(target * 0.5, survey.gap * INNER_FRACTION)
        ensemble = before.extend(problem.dictionary, candidates)
        inducing = True
        if self.corrective is False:
            found = self._sequential(problem, ensemble, state.score)
        elif self.corrective == "alternate" and candidates.size:
            found = self._once(problem, ensemble, state.score, np.arange(ensemble.size) >= before.size)
            inducing = False
        else:
            found = self.correction.run(problem, ensemble, state.score, inner, monitor)
        kept = found.ensemble.prune() if problem.penalty.zeroes_blocks else found.ensemble
        new = int(np.isin(kept.keys, before.keys, invert=True).sum())
        return State(
            kept,
            found.score,
            problem,
            inducing=inducing,
            added=new,
            pruned=before.size + new - kept.size,
            bound=found.bound,
            stalled=found.stalled and problem is state.problem,
        )

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

    def _count(self, state: State) -> int:
        if not state.inducing:
            return 0
        if self.induce != "auto":
            return int(self.induce)
        if self.corrective is False:
            return 1
        if not state.problem.penalty.zeroes_blocks:
            return state.problem.enumerable.size
        first = INDUCED_ENTRIES // (state.problem.n_outputs + 2)
        return max(FEWEST_INDUCED, first, state.ensemble.support)

    def _rank(self, state: State, keys: Array, correlation: Array) -> Array:
        problem = state.problem
        if not problem.driving_loss.smooth:  # the first look at a non-smooth loss: there is no bound to score by
            return problem.steepness(keys, correlation)
        return self.correction.rank(problem, state.score, keys, correlation)

    @staticmethod
    def _smoothing(problem: Problem, survey: Survey, target: float) -> Problem:
        """A non-smooth loss is replaced by one within a fraction of the gap that is left to close."""
        if problem.loss.smooth:
            return problem
        width = max(target * 0.5, survey.gap * INNER_FRACTION)
        smoothed = problem.smoothed(width)
        return problem if smoothed.driving_loss == problem.driving_loss else smoothed
