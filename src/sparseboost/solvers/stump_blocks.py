"""Prox-Newton steps for stumps, with all thresholds of an input as one block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseboost import kernels
from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import StumpDictionary
from sparseboost.monitors import Monitor
from sparseboost.penalties import Norm
from sparseboost.problem import Problem
from sparseboost.solvers.correction import Corrected, Corrector, Goal
from sparseboost.solvers.newton import ROUNDING, SMALLEST_STEP, Newton

Array = np.ndarray
MOST_STEPS = 100
ENOUGH = 0.05  # steps that gain less than this share of the gap to close may be the last ones
STEPS_PER_CHECK = 3
UNDERRATED = 1.3  # the objective fell by so many times what the model said
ROW_ROUNDS = 20
INDUCED = 200
MEMORY = 5
FIRST_DAMPING = 0.1
LARGEST_DAMPING = 1e6


class Point(NamedTuple):
    """Weights of the inputs in use: jumps (bins, k) of their step functions, and the intercept (k,)."""

    jump: Array
    intercept: Array


class Place(NamedTuple):
    """A point with its scores, its objective, and the weighted gradient and curvature of the loss; `step` led there."""

    point: Point
    score: Array
    value: float
    force: Array
    local: Array
    step: float = 1.0


class Aim(NamedTuple):
    """Where the model wants to go, the change of the scores there, and the decrease it promises."""

    point: Point
    push: Array
    promise: float


class StumpBlocks(Corrector):
    r"""Block prox-Newton for stumps: one pass over the codes of an input optimises all its thresholds together.

    A sum of stumps of one input is a step function, and the sum of the norms of their weights its total variation.
    With one output, the best step function under the quadratic model of the loss is found exactly, in time linear in
    the number of bins. With several, rows of jumps are descended on sums per bin, from which the examples are gone.
    """

    name = "stump-blocks"

    def __init__(self) -> None:
        self._damping = FIRST_DAMPING  # a later correction goes on where an earlier one ended

    def check(self, problem: Problem) -> None:
        if not self.applies(problem):
            raise ValueError(f"StumpBlocks needs stumps, a norm and a loss with curvature, not {problem.penalty!r}.")

    @staticmethod
    def applies(problem: Problem) -> bool:
        """Whether sums of hypotheses are step functions under a norm, with a free level, and the loss has curvature.

        That is: stumps of numeric inputs without missing values, in a dense array if there are several outputs; no
        negated ones, whose weights would be norms of their own; an intercept; a loss whose outputs are independent, or
        softmax.
        """
        dictionary = problem.dictionary
        if not isinstance(dictionary, StumpDictionary) or not isinstance(problem.penalty, Norm):
            return False
        bins = dictionary.bins
        if np.any(bins.categorical | bins.has_others) or dictionary.stumps.space.negated:
            return False
        if bins.sparse and problem.n_outputs > 1:
            return False
        pairwise = np.any(problem.driving_loss.pivot(problem.y[:1]) >= 0)
        return problem.fit_intercept and Newton.applies(problem) and not pairwise

    def rank(self, problem: Problem, score: Array, keys: Array, correlation: Array) -> Array:
        return problem.steepness(keys, correlation)

    def appetite(self, problem: Problem, pull: float = np.inf) -> int:
        return INDUCED  # what counts is how many inputs they are of

    def run(self, problem: Problem, ensemble: Ensemble, score: Array, goal: Goal, monitor: Monitor) -> Corrected:
        model = _Model(problem, ensemble, self._damping)
        place = model.at(model.start, score, 1.0)
        path = _Path(model)
        bound, gap, stalled, quiet = 0.0, np.inf, False, 0
        for _ in range(MOST_STEPS):
            aim = model.step(place)
            found = path.extrapolate(place, aim, _search(model, place, aim))
            model.trust(found.step)
            gained, place = place.value - found.value, found
            bound += max(gained, 0.0)
            if place.step == 0.0:
                done = stalled = model.damping > LARGEST_DAMPING
            else:
                done, quiet = False, quiet + 1 if gained <= ENOUGH * goal.gap else 0
                if quiet % STEPS_PER_CHECK == 1:  # the gap costs a good part of a step
                    last, gap = gap, problem.restricted_gap(model.ensemble(place.point), place.score)
                    stalled = aim.promise <= ROUNDING * abs(place.value) and gap > 0.97 * last
                    done = gap <= goal.gap or stalled
            if done or monitor.out_of_time:
                break
        ensemble, self._damping = model.ensemble(place.point), model.damping
        return Corrected(ensemble, ensemble.score(), bound, stalled)


def _search(model: _Model, place: Place, aim: Aim) -> Place:
    """Halve the step until the objective falls; a promise below rounding is taken at its word.

    Where the objective falls by more than the model says, the model bends too much: a longer step is tried.
    """
    noise = ROUNDING * abs(place.value) if aim.promise <= ROUNDING * abs(place.value) else 0.0

    def at(step: float) -> Place:
        point = Point(*(a + step * (b - a) for a, b in zip(place.point, aim.point, strict=True)))
        return model.at(aim.point if step == 1.0 else point, place.score + step * aim.push, step)

    step, found = 1.0, at(1.0)
    while not found.value < place.value + noise:
        step *= 0.5
        if step < SMALLEST_STEP:
            return place._replace(step=0.0)
        found = at(step)
    if step == 1.0 and not model.problem.penalty.positive and place.value - found.value > UNDERRATED * aim.promise:
        further = at(2.0)
        found = further if further.value < found.value else found
    return found


class _Path:
    """The last steps of a correction, and the mean of their ends at which steps would nearly vanish (Anderson)."""

    def __init__(self, model: _Model) -> None:
        self.model, self.count = model, 0
        size = model.start.jump.size + model.k
        self.steps = np.empty((MEMORY, size))
        self.ends = np.empty((MEMORY, size + model.k * model.problem.y.shape[0]))

    def extrapolate(self, place: Place, aim: Aim, found: Place) -> Place:
        """What was found, or a better place ahead of it."""
        if found.step < 1.0 or self.model.problem.penalty.positive:
            self.count = 0
            return found
        row, self.count = self.count % MEMORY, self.count + 1
        np.subtract(_flat(aim.point), _flat(place.point), out=self.steps[row])
        self.ends[row] = _flat((*found.point, found.score))
        n = min(self.count, MEMORY)
        if n == 1:
            return found
        inner = self.steps[:n] @ self.steps[:n].T
        share = np.linalg.solve(inner + (1e-10 * np.trace(inner) + 1e-300) * np.eye(n), np.ones(n))
        mean, jump = (share / share.sum()) @ self.ends[:n], found.point.jump
        point = Point(mean[: jump.size].reshape(jump.shape), mean[jump.size : self.steps.shape[1]])
        further = self.model.at(point, mean[self.steps.shape[1] :].reshape(found.score.shape), 1.0)
        return further if further.value < found.value else found


def _flat(parts: tuple[Array, ...]) -> Array:
    return np.concatenate([part.ravel() for part in parts])


class _Model:
    """The quadratic model of the loss over the stumps of the inputs that an ensemble uses."""

    def __init__(self, problem: Problem, ensemble: Ensemble, damping: float) -> None:
        assert isinstance(problem.dictionary, StumpDictionary)
        self.problem, self.stumps = problem, problem.dictionary.stumps
        bins, self.k = self.stumps.bins, problem.n_outputs
        self.weight = problem.weight * problem.driving_loss.sharpness  # of curvatures
        self.damping = damping  # curvature per size of the gradient, against steps to where the model means nothing
        owner = self.stumps.inputs(ensemble.keys)
        self.inputs = np.unique(owner) if owner.size else np.zeros(1, dtype=np.int64)  # its level is the intercept
        self.watched = np.ones(self.inputs.size, dtype=bool)
        widths = bins.n_values[self.inputs]
        self.starts, most = np.concatenate([[0], np.cumsum(widths)]), int(widths.max(initial=1))
        inside = np.arange(self.starts[-1]) - np.repeat(self.starts[:-1], widths)
        self.edges = np.flatnonzero(inside < np.repeat(widths, widths) - 1)  # bins with a threshold after them
        self.keys = (np.repeat(self.stumps.offsets[self.inputs], widths) + inside)[self.edges]
        self.height = 2.0 if self.stumps.space.outputs == "sign" else 1.0  # of the jump where a weight is 1
        self.price = np.zeros(self.starts[-1])  # of jumps
        self.price[self.edges] = problem.alpha * self.stumps.row_cost[self.keys] / self.height
        self.room: tuple[Array | None, ...] = kernels.step_functions.step_room(most)
        if self.k > 1:
            self.codes, kind = bins.codes[self.inputs], problem.penalty.kernel
            self.room = kernels.stump_rows.row_room(problem.y.shape[0], self.k, int(self.starts[-1]), most, kind)
        jump = np.zeros((self.starts[-1], self.k))
        first = self.starts[np.searchsorted(self.inputs, owner)]
        jump[first + ensemble.keys - self.stumps.offsets[owner]] = self.height * ensemble.coef
        self.start = Point(jump, ensemble.intercept - self._constant(jump))

    def _constant(self, jump: Array) -> Array:
        """What the intercept of stumps with these jumps has beyond that of the step functions, which end at 0."""
        return 0.5 * jump.sum(axis=0) if self.height == 2.0 else np.zeros(self.k)

    def trust(self, step: float) -> None:
        """Damp the next step more if this one could not be taken whole, else less."""
        self.damping = self.damping / 4.0 if step >= 1.0 else max(4.0 * self.damping, 0.05)

    def at(self, point: Point, score: Array, step: float) -> Place:
        """What steps need to know of a point."""
        problem = self.problem
        loss, force, local = problem.driving_loss.model(problem.y, problem.weight, score)
        assert local is not None
        value = loss + float(self.price @ problem.penalty.value(point.jump))
        return Place(point, score, value, force, local, step)

    def step(self, place: Place) -> Aim:
        """Nearly minimise the model here."""
        loss, penalty = self.problem.driving_loss, self.problem.penalty
        jump, push = place.point.jump.copy(), np.zeros_like(place.force)
        if self.k == 1:
            force = place.force.ravel()
            curvature = self.weight * place.local.ravel() + self.damping * np.abs(force)
            up = np.full_like(self.price, np.inf) if penalty.positive else self.price
            promise, shift = kernels.step_functions.step_sweep(
                *self.stumps.bins.entries, self.inputs, self.starts, force, curvature, self.price, up, self.watched,
                jump.reshape(-1), push.reshape(-1), *self.room,
            )  # fmt: skip
        else:
            shift = np.zeros(self.k)
            promise = kernels.stump_rows.row_sweep(
                self.codes, self.starts, place.force, self.weight, place.local, loss.multiclass, self.damping,
                self.price, penalty.kernel, penalty.positive, ROW_ROUNDS, self.watched, jump, push, shift, *self.room,
            )  # fmt: skip
        return Aim(Point(jump, place.point.intercept + shift), push, promise)

    def ensemble(self, point: Point) -> Ensemble:
        """The point as stumps with weights."""
        jump, dictionary = point.jump[self.edges], self.problem.dictionary
        used = np.any(jump != 0, axis=1)
        keys, coef = self.keys[used], np.ascontiguousarray(jump[used]) / self.height
        intercept = point.intercept + self._constant(jump)
        return Ensemble(keys, dictionary.columns(keys), dictionary.cost(keys), coef, intercept)
