"""Walking down a sequence of alphas: each problem is solved from the solution of the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparseboost.ensemble import Ensemble, Stage
from sparseboost.hypotheses import Enumerable
from sparseboost.monitors import Monitor
from sparseboost.penalties import Norm
from sparseboost.problem import Problem
from sparseboost.solvers import Boosting, Goal, Newton, minimize

Array = np.ndarray
FREE_OF_ALPHA = ("start", "energy", "reach", "largest_alpha")  # cached answers of a Problem that hold at every alpha
MOST_AHEAD = 8  # alphas that one pass over X certifies, at most
SLOPE = 0.4  # of the strong rule: 1 is safe for nearly all hypotheses, and lets in many that stay zero
FEWEST_SEEDS = 50
LARGEST_PASS = 20_000_000  # entries of the correlations that one pass computes, at most


class Point(NamedTuple):
    """The model at one alpha and its certificate."""

    stage: Stage
    objective: float
    gap: float
    converged: bool
    rounds: int
    seconds: float


def walk(
    problem: Problem, solver: Boosting, alphas: Array, tol: float, max_rounds: int, monitor: Monitor
) -> Iterator[Point]:
    """Solve the problem at every alpha, from the largest down, and certify every solution."""
    _ = problem.empty_objective  # computed once, for all alphas
    problems = [at(problem, float(alpha)) for alpha in alphas]
    if Sequential.applies(problem, solver) and alphas[-1] > 0.0:
        return Sequential(problem, solver, tol, max_rounds, monitor).walk(problems)
    return _restarted(problems, solver, tol, max_rounds, monitor)


def at(problem: Problem, alpha: float) -> Problem:
    """The same question at another alpha; what holds for every alpha is not computed again."""
    moved = replace(problem, alpha=alpha)
    known = (*FREE_OF_ALPHA, "empty_objective") if isinstance(moved.penalty, Norm) else FREE_OF_ALPHA
    vars(moved).update({name: vars(problem)[name] for name in known if name in vars(problem)})
    return moved


def _restarted(
    problems: list[Problem], solver: Boosting, tol: float, max_rounds: int, monitor: Monitor
) -> Iterator[Point]:
    """Any solver, started at each alpha from the weights at the one before."""
    stage: Stage | None = None
    for problem in problems:
        started = monitor.seconds
        found = minimize(problem, solver, tol=tol, max_rounds=max_rounds, monitor=monitor, warm=stage)
        stage = found.stage
        if found.reason in ("callback", "time_budget"):
            max_rounds = 0  # what is left is certified as it is
        seconds = monitor.seconds - started
        yield Point(stage, found.objective, found.gap, found.converged, found.n_rounds, seconds)


class _Trial:
    """The model at one alpha while its block is being solved."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.ensemble: Ensemble
        self.score: Array
        self.violation: Array  # dual norm over cost of every hypothesis
        self.objective = np.inf
        self.lower = -np.inf
        self.rounds = 0
        self.seconds = 0.0
        self.stuck = False  # the last correction changed nothing

    @property
    def gap(self) -> float:
        return max(self.objective - self.lower, 0.0)

    def missed(self) -> Array:
        """Violating hypotheses outside the active set, worst first, at most as many as are in use."""
        outside = self.violation > self.problem.alpha
        outside[self.ensemble.keys] = False
        return _worst(self.violation, outside, max(10, self.ensemble.support))

    def point(self, target: float) -> Point:
        keys, coef, intercept = self.ensemble.stage
        alive = np.any(coef != 0.0, axis=1)
        return Point(
            (keys[alive], coef[alive], intercept),
            self.objective,
            self.gap,
            self.gap <= target,
            self.rounds,
            self.seconds,
        )


class Sequential:
    """Newton on the support plus what the sequential strong rule lets in; one pass over X certifies several alphas.

    A hypothesis whose dual norm at the previous alpha is below alpha − SLOPE·(previous − alpha) stays zero unless its
    gradient moves faster than SLOPE times alpha does. That is likely, not certain: the pass that computes the gaps sees
    the exceptions.

    References
    ----------
    MATH.md T3. Tibshirani et al. (2012), Strong rules for discarding predictors in lasso-type problems.
    """

    def __init__(self, problem: Problem, solver: Boosting, tol: float, max_rounds: int, monitor: Monitor) -> None:
        self.corrector = solver.correction
        self.max_rounds = max_rounds
        self.monitor = monitor
        self.target = tol * abs(problem.empty_objective)
        self.stopped = False
        start = _Trial(problem)
        start.ensemble = Ensemble.empty(problem.dictionary, problem.start)
        start.score = start.ensemble.score()
        self._certify([start])
        self.last, self.alpha = start, float(start.violation.max(initial=0.0))

    @staticmethod
    def applies(problem: Problem, solver: Boosting) -> bool:
        """Whether Newton can walk: a smooth loss, a norm, and no wish about what enters when."""
        return (
            isinstance(solver.correction, Newton)
            and solver.corrective is True
            and solver.induce == "auto"
            and solver.max_inputs is None
            and problem.loss.smooth
            and isinstance(problem.penalty, Norm)
            and isinstance(problem.dictionary, Enumerable)
        )

    def walk(self, problems: list[Problem]) -> Iterator[Point]:
        """Yield the point of every problem, in their order."""
        empty = [problem for problem in problems if problem.alpha >= self.alpha]
        for some in _parts(empty, self._room(problems[0])):
            trials = [_Trial(problem) for problem in some]
            for trial in trials:  # the empty model is optimal: only its certificate is missing
                trial.ensemble, trial.score = self.last.ensemble, self.last.score
            self._certify(trials)
            yield from (trial.point(self.target) for trial in trials)
        first = len(empty)
        while first < len(problems):
            count = self._ahead(problems[first : first + MOST_AHEAD])
            trials = [_Trial(problem) for problem in problems[first : first + count]]
            self._solve(trials)
            self.last, self.alpha = trials[-1], trials[-1].problem.alpha
            yield from (trial.point(self.target) for trial in trials)
            first += count

    def _room(self, problem: Problem) -> int:
        """How many alphas one pass can certify without a large temporary array."""
        return max(1, min(MOST_AHEAD, LARGEST_PASS // max(1, self.last.violation.size * problem.n_outputs)))

    def _ahead(self, problems: list[Problem]) -> int:
        """How many of the next alphas to certify in one pass: as long as the strong rule lets few hypotheses in."""
        support = self.last.ensemble.support
        most = support + max(FEWEST_SEEDS, support // 2)
        room = min(len(problems), self._room(problems[0]))
        count = 1
        while count < room and self._strong(problems[count]).sum() <= most:
            count += 1
        return count

    def _strong(self, problem: Problem) -> Array:
        return self.last.violation > problem.alpha - SLOPE * (self.alpha - problem.alpha)

    def _solve(self, trials: list[_Trial]) -> None:
        """Correct and certify until every trial has its gap, or cannot get nearer to it."""
        kept = self.last.ensemble.tidy(self.corrector.idle)
        strong = self._strong(trials[-1].problem)
        strong[kept.keys] = False
        seeds = _worst(self.last.violation, strong, max(FEWEST_SEEDS, 2 * kept.support))
        ensemble, score = kept.extend(trials[0].problem.dictionary, seeds), self.last.score
        while trials:
            for trial in trials:
                ensemble, score = self._correct(trial, ensemble, score)
            self._certify(trials)
            while trials and self._settled(trials[0]):
                trials = trials[1:]
            if trials:
                ensemble = trials[0].ensemble.extend(trials[0].problem.dictionary, trials[0].missed())
                score = trials[0].score

    def _settled(self, trial: _Trial) -> bool:
        if trial.gap <= self.target or self.stopped or trial.rounds >= self.max_rounds:
            return True
        return trial.stuck and trial.missed().size == 0

    def _correct(self, trial: _Trial, ensemble: Ensemble, score: Array) -> tuple[Ensemble, Array]:
        started = self.monitor.seconds
        if not self.stopped and trial.rounds < self.max_rounds and ensemble.size:
            found = self.corrector.run(trial.problem, ensemble, score, Goal(0.5 * self.target), self.monitor)
            ensemble, score, trial.stuck = found.ensemble, found.score, found.stalled
            trial.rounds += 1
        else:
            trial.stuck = True
        trial.ensemble, trial.score = ensemble, score
        trial.seconds += self.monitor.seconds - started
        return ensemble, score

    def _certify(self, trials: list[_Trial]) -> None:
        """Objectives and lower bounds of all trials, from one pass over X (T3)."""
        started = self.monitor.seconds
        problem = trials[0].problem
        cost = problem.dictionary.cost(np.arange(problem.enumerable.size))
        duals = [problem.dual_point(trial.score) for trial in trials]
        forces = np.hstack([problem.weight[:, None] * dual for dual in duals])
        correlations = np.split(problem.enumerable.correlate(forces), len(trials), axis=1)
        share = (self.monitor.seconds - started) / len(trials)
        for trial, dual, correlation in zip(trials, duals, correlations, strict=True):
            problem = trial.problem
            trial.violation = problem.penalty.violation(correlation, cost)
            trial.lower = max(trial.lower, problem.lower_bound(dual, float(trial.violation.max(initial=0.0))))
            trial.objective = problem.objective(trial.ensemble, trial.score)
            trial.seconds += share
            self._report(trial)

    def _report(self, trial: _Trial) -> None:
        active = trial.ensemble.support
        asked = self.monitor.record(
            self.target, alpha=trial.problem.alpha, objective=trial.objective, gap=trial.gap, active=active,
            added=0, pruned=0,
        )  # fmt: skip
        self.stopped = self.stopped or asked or self.monitor.out_of_time


def _parts(problems: list[Problem], size: int) -> Iterator[list[Problem]]:
    for first in range(0, len(problems), size):
        yield problems[first : first + size]


def _worst(violation: Array, chosen: Array, count: int) -> Array:
    """The `count` chosen hypotheses with the largest violation, worst first; ties go to the lowest index."""
    keys = np.flatnonzero(chosen)
    return keys[np.argsort(-violation[keys], kind="stable")[:count]]
