"""Walking down a sequence of alphas: each problem is solved from the solution of the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np

from sparseboost.ensemble import Stage
from sparseboost.estimators.violations import Seen, Violations
from sparseboost.hypotheses import Enumerable
from sparseboost.monitors import Monitor
from sparseboost.penalties import Norm
from sparseboost.problem import Problem
from sparseboost.solvers import Boosting, Newton, minimize
from sparseboost.solvers.newton_stepper import NewtonStepper
from sparseboost.solvers.product_stepper import ProductStepper
from sparseboost.solvers.stepper import Stepper, Weights, foreseen

Array = np.ndarray
ASKED = tuple(field.name for field in fields(Problem))
FREE_OF_ALPHA: tuple[str, ...] = ("start", "energy", "reach", "largest_alpha")  # cached answers that hold at any alpha
MOST_AHEAD = 8  # alphas that one pass over X certifies, at most
FEWEST_SEEDS = 50  # hypotheses that may enter ahead of time whatever the support: few columns cost less than a pass
SEED_SHARE = 0.3  # of the support: a block of alphas ends where more than this would have to enter ahead of time
MOST_SEEDS = 2  # times the support: no more enter at once, however far apart alphas are
FORESIGHT = 3e-3  # tol: weights that are known less exactly do not tell where the next ones are
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
    known = FREE_OF_ALPHA
    if alpha == 0.0 or not isinstance(problem.penalty, Norm):
        moved = replace(problem, alpha=alpha)
    else:  # paths ask for hundreds: `replace` would take six times as long
        moved, known = object.__new__(Problem), (*ASKED, *FREE_OF_ALPHA, "empty_objective")
    vars(moved).update({name: vars(problem)[name] for name in known if name in vars(problem)} | {"alpha": alpha})
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

    def __init__(self, problem: Problem, weights: Weights, known: tuple[Seen, ...] = ()) -> None:
        self.problem = problem
        self.keys = np.empty(0, dtype=np.int64)
        self.weights = weights
        self.known = known  # of the last certificate, or of those of the last models before
        self.objective = np.inf
        self.lower = -np.inf
        self.rounds = 0
        self.seconds = 0.0
        self.stuck = False  # the last correction changed nothing

    @property
    def gap(self) -> float:
        return max(self.objective - self.lower, 0.0)

    @property
    def violation(self) -> Array:
        """Dual norm over cost of every hypothesis, or a bound on it."""
        return self.known[0].violation

    @property
    def pull(self) -> Array:
        """What these dual norms probably are: bounds are seldom reached."""
        return self.violation - self.known[0].off

    @property
    def support(self) -> int:
        """Number of hypotheses in use."""
        return int(np.any(self.weights.coef != 0.0, axis=1).sum())

    def missed(self) -> Array:
        """Violating hypotheses outside the active set, worst first, at most as many as are in use."""
        outside = self.violation > self.problem.alpha
        outside[self.keys] = False
        return _worst(self.violation, outside, max(10, self.support))

    def point(self, target: float) -> Point:
        coef = self.weights.coef
        alive = np.flatnonzero(np.any(coef != 0.0, axis=1))
        return Point(
            (self.keys[alive], coef[alive], self.weights.intercept),
            self.objective,
            self.gap,
            self.gap <= target,
            self.rounds,
            self.seconds,
        )


class Sequential:
    """Active are the support and what is likely to join it; one pass over X certifies several alphas.

    A hypothesis enters ahead of time where its dual norm will be above alpha if correlations go on as they did between
    the last two certificates. The sequential strong rule lets in many that stay zero, and nearly no hypothesis breaks
    it. Here some are missed, and the pass that computes the gaps sees them. Models that fall short are repaired, which
    hardly needs another pass: `Violations.since`.

    References
    ----------
    MATH.md T3. Tibshirani et al. (2012), Strong rules for discarding predictors in lasso-type problems.
    """

    def __init__(self, problem: Problem, solver: Boosting, tol: float, max_rounds: int, monitor: Monitor) -> None:
        assert isinstance(solver.correction, Newton)
        self.newton = solver.correction
        self.max_rounds = max_rounds
        self.monitor = monitor
        self.target = tol * abs(problem.empty_objective)
        self.stopped = False
        self.foresees = tol <= FORESIGHT
        self.violations = Violations(problem)
        self.stepper: Stepper = NewtonStepper(problem, self.newton, np.empty(0, dtype=np.int64))
        start = _Trial(problem, Weights(np.zeros((0, problem.n_outputs)), problem.start))
        self._certify([start])
        if ProductStepper.applies(problem):
            self.stepper = ProductStepper(problem)
        self.last, self.alpha = start, float(start.violation.max(initial=0.0))
        self.known, self.older = start.known, self.alpha  # at the last two models, and the alpha of the first of them
        self.earlier, self.before = start.weights, self.alpha  # of the model before the last

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
            # the empty model is optimal: only its certificate is missing
            trials = [_Trial(problem, self.last.weights, self.last.known) for problem in some]
            self._certify(trials)
            yield from (trial.point(self.target) for trial in trials)
        first = len(empty)
        while first < len(problems):
            count = self._ahead(problems[first : first + MOST_AHEAD])
            last = first + count
            trials = [_Trial(problem, self.last.weights, self.known) for problem in problems[first:last]]
            self._solve(trials)
            self.known, self.older = (*trials[-1].known, *self.last.known), self.alpha
            self.last, self.alpha = trials[-1], trials[-1].problem.alpha
            yield from (trial.point(self.target) for trial in trials)
            first = last

    def _room(self, problem: Problem) -> int:
        """How many alphas one pass can certify without a large temporary array."""
        return max(1, min(MOST_AHEAD, LARGEST_PASS // max(1, self.violations.cost.size * problem.n_outputs)))

    def _ahead(self, problems: list[Problem]) -> int:
        """How many of the next alphas to certify in one pass: as long as few hypotheses enter ahead of time."""
        support = self.last.support
        most = support + max(FEWEST_SEEDS, int(SEED_SHARE * support))
        room = min(len(problems), self._room(problems[0]))
        count = 1
        while count < room and self._near(problems[count]).sum() <= most:
            count += 1
        return count

    def _near(self, problem: Problem) -> Array:
        """Hypotheses that are not far from entering when the next alpha to be certified is that of this problem."""
        return self.last.pull > problem.alpha + self.stepper.near * (self.alpha - problem.alpha)

    def _foreseen(self, problem: Problem) -> Array:
        """What dual norms will be at this problem, if correlations go on as they did from one model to the next."""
        if not self.older > self.alpha:
            return self.last.pull
        last, before = self.known
        ratio = (self.alpha - problem.alpha) / (self.older - self.alpha)
        centre = last.centre + ratio * (last.centre - before.centre)
        return problem.penalty.violation(centre, self.violations.cost)

    def _solve(self, trials: list[_Trial]) -> None:
        """Correct and certify until every trial has its gap, or cannot get nearer to it."""
        earlier, last = self.stepper.tidy([self.earlier, self.last.weights])
        furthest = trials[-1].problem
        pull = self._foreseen(furthest)
        near = pull > furthest.alpha
        near[self.stepper.keys] = False
        self._enter(furthest, _worst(pull, near, max(FEWEST_SEEDS, MOST_SEEDS * self.last.support)))
        alphas = [self.before, self.alpha, *(trial.problem.alpha for trial in trials)]
        for trial, a, b, c in zip(trials, alphas, alphas[1:], alphas[2:], strict=False):
            trial.weights = last._replace(proof=None)  # which is of another alpha
            ahead = self.foresees and a > b
            self._correct(trial, foreseen(earlier, last, (b - c) / (a - b)) if ahead else None)
            earlier, last = last, trial.weights
        self.earlier, self.before = earlier, alphas[-2]
        self._certify(trials)
        while trials := [trial for trial in trials if not self._settled(trial)]:
            self._enter(trials[0].problem, _union([trial.missed() for trial in trials]))
            for trial in trials:
                self._correct(trial)
            self._certify(trials)

    def _enter(self, problem: Problem, keys: Array) -> None:
        """Make hypotheses active."""
        if not self.stepper.takes(problem, keys.size):
            self.stepper = NewtonStepper(problem, self.newton, self.stepper.keys)
        self.stepper.enter(problem, keys)

    def _settled(self, trial: _Trial) -> bool:
        if trial.gap <= self.target or self.stopped or trial.rounds >= self.max_rounds:
            return True
        return trial.stuck and trial.missed().size == 0

    def _correct(self, trial: _Trial, guess: Weights | None = None) -> None:
        started = self.monitor.seconds
        trial.stuck = True
        if not self.stopped and trial.rounds < self.max_rounds and self.stepper.keys.size:
            starts = [trial.weights] if guess is None else [trial.weights, guess]
            trial.weights, trial.stuck = self.stepper.solve(trial.problem, starts, 0.5 * self.target, self.monitor)
            trial.rounds += 1
        trial.keys = self.stepper.keys
        trial.seconds += self.monitor.seconds - started

    def _certify(self, trials: list[_Trial]) -> None:
        """Objectives and lower bounds of all trials (T3), from one pass over X or what is left of it in a repair."""
        started = self.monitor.seconds
        problems = [trial.problem for trial in trials]
        scores = self.stepper.scores(problems[0], [trial.weights for trial in trials])
        looks = [self._look(problems[0], trial.weights, score) for trial, score in zip(trials, scores, strict=True)]
        losses, duals = zip(*looks, strict=True)
        forces = [problems[0].force(dual) for dual in duals]
        before = [trial.known for trial in trials]
        if all(before):
            slopes = [self._slope(trial) for trial in trials]
            found = self.violations.since(problems, forces, before, self.stepper, slopes)
        else:
            found = self.violations.everywhere(problems[0], forces)
        share = (self.monitor.seconds - started) / len(trials)
        for trial, loss, dual, seen in zip(trials, losses, duals, found, strict=True):
            problem, coef = trial.problem, trial.weights.coef
            trial.known = (seen,)
            trial.lower = max(trial.lower, self._lower(trial, dual))
            held = float(self.violations.cost[trial.keys[: len(coef)]] @ problem.penalty.value(coef))
            trial.objective = loss + problem.alpha * held
            trial.seconds += share
            self._report(trial)

    @staticmethod
    def _lower(trial: _Trial, dual: Array) -> float:
        """What no weights are below; the stepper may know it, if no other hypothesis pulls more than the active."""
        violation, proof = float(trial.violation.max(initial=0.0)), trial.weights.proof
        if proof is not None and proof.violation == violation:
            return proof.bound
        return trial.problem.lower_bound(dual, violation)

    def _slope(self, trial: _Trial) -> Array | None:
        """Correlations of the rows with the dual point, if the stepper has seen them."""
        proof, slope = trial.weights.proof, trial.weights.slope
        if proof is not None:
            slope = proof.correlation
        balanced = proof is not None or not trial.problem.fit_intercept or isinstance(self.stepper, ProductStepper)
        return slope if balanced and slope is not None and len(slope) == self.stepper.keys.size else None

    @staticmethod
    def _look(problem: Problem, weights: Weights, score: Array) -> tuple[float, Array]:
        """Loss and dual point of a model; the stepper may have seen both."""
        if weights.loss is None or weights.force is None:
            return problem.loss_and_dual_point(score)
        if weights.proof is not None:
            return weights.loss, weights.proof.dual
        return weights.loss, problem.dual_point(score, problem.dual_of(weights.force))

    def _report(self, trial: _Trial) -> None:
        asked = self.monitor.record(
            self.target, alpha=trial.problem.alpha, objective=trial.objective, gap=trial.gap, active=trial.support,
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


def _union(keys: list[Array]) -> Array:
    """Each key once, in the order they come."""
    every = np.concatenate(keys)
    _, first = np.unique(every, return_index=True)
    return every[np.sort(first)]
