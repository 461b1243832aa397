"""The boosting loop: induce hypotheses, correct the weights, prune what became zero."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from sparseboost.ensemble import Ensemble, Stage
from sparseboost.monitors import Monitor
from sparseboost.problem import Problem, Survey
from sparseboost.solvers.base import Request, Solver, State
from sparseboost.solvers.correction import Corrected, Correction

Array = np.ndarray
FEWEST_INDUCED = 10
INNER_FRACTION = 0.2


class Boosting(Solver):
    """Boosting with structural sparsity: one round induces, corrects and prunes.

    Parameters
    ----------
    correction : Correction
        How weights are re-optimised.
    induce : int or "auto"
        How many hypotheses may enter per round; "auto" doubles the active set, from ten.
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
        correction: Correction,
        induce: int | Literal["auto"] = "auto",
        corrective: bool | Literal["alternate"] = True,
        max_active: int | None = None,
    ) -> None:
        self.correction = correction
        self.induce = induce
        self.corrective = corrective
        self.max_active = max_active
        self._inducing = True

    def init(self, problem: Problem, warm: Stage | None = None) -> State:
        if problem.loss.smoothed(1.0) is not problem.loss:
            self.correction.check(problem.smoothed(1.0))
        else:
            self.correction.check(problem)
        self._inducing = True
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
        if self.corrective is True:
            ensemble = before.extend(problem.dictionary, candidates)
            found = self.correction.run(problem, ensemble, state.score, inner, monitor)
        elif self.corrective is False:
            ensemble, found = self._sequential(problem, before, state.score, candidates)
        elif self._inducing and candidates.size:
            ensemble = before.extend(problem.dictionary, candidates)
            fresh = np.arange(ensemble.size) >= before.size
            found = self.correction.once(problem, ensemble, state.score, fresh)
            self._inducing = False
        else:
            ensemble = before
            found = self.correction.run(problem, before, state.score, inner, monitor)
            self._inducing = True
        kept = found.ensemble.prune() if problem.penalty.zeroes_blocks else found.ensemble
        new = int(np.isin(kept.keys, before.keys, invert=True).sum())
        return State(
            kept,
            found.score,
            problem,
            added=new,
            pruned=before.size + new - kept.size,
            bound=found.bound,
            stalled=found.stalled,
        )

    def _sequential(
        self, problem: Problem, before: Ensemble, score: Array, candidates: Array
    ) -> tuple[Ensemble, Corrected]:
        """Update the rows that promise most once, whether they are new or active already (D9, N = induce)."""
        ensemble = before.extend(problem.dictionary, candidates)
        gains = self.correction.update.gains(problem, ensemble, score)
        most = ensemble.size if self.induce == "auto" else int(self.induce)
        chosen = np.zeros(ensemble.size, dtype=bool)
        chosen[np.argsort(-gains, kind="stable")[:most]] = True
        return ensemble, self.correction.once(problem, ensemble, score, chosen)

    def _count(self, state: State) -> int:
        if self.corrective == "alternate" and not self._inducing:
            return 0
        if self.induce != "auto":
            return int(self.induce)
        if self.corrective is False:
            return 1
        if not state.problem.penalty.zeroes_blocks:
            return state.problem.enumerable.size
        return max(FEWEST_INDUCED, state.ensemble.support)

    def _rank(self, state: State, keys: Array, correlation: Array) -> Array:
        problem = state.problem
        if problem.driving_loss.smoothed(1.0) is not problem.driving_loss:  # first look at a non-smooth loss
            return problem.penalty.violation(correlation, problem.dictionary.cost(keys))
        scores = self.correction.update.rank(problem, state.score, keys, correlation)
        if isinstance(self.correction.template, str):
            return scores
        return np.where(self.correction.template[keys] > 0, scores, 0.0)

    @staticmethod
    def _smoothing(problem: Problem, survey: Survey, target: float) -> Problem:
        """A non-smooth loss is replaced by one within a fraction of the gap that is left to close."""
        if problem.loss.smoothed(1.0) is problem.loss:
            return problem
        return problem.smoothed(max(target * 0.5, survey.gap * INNER_FRACTION))
