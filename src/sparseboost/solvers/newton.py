"""Prox-Newton steps on the active hypotheses: the solver behind update="auto"."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Enumerable
from sparseboost.monitors import Monitor
from sparseboost.penalties import Norm
from sparseboost.problem import Problem, Proof
from sparseboost.solvers.constant_gram import ConstantGram
from sparseboost.solvers.correction import Corrected, Corrector, Goal
from sparseboost.solvers.gram_cache import GramCache, digits
from sparseboost.solvers.quadratic_model import BLIND_SWEEPS, FEW_BLIND, Aim, QuadraticModel, least_gap
from sparseboost.solvers.support_step import support_cost, support_step

Array = np.ndarray
MOST_STEPS = 20
MOST_INDUCED, INDUCED_ENTRIES = 100, 2000  # rows, and weights, that the first round takes in: too few cost rounds
# dense columns resemble each other: the best ones are alike, and where many will be needed too few bring little
STRONG_PULL, MOST_TIMES, SHARE_PER_PULL = 5.0, 4.0, 0.02
FEW_MORE = 1.25  # times as many: if there are no more hypotheses than that, none has to wait for a round of its own
SMALLEST_STEP = 1e-6
ROUNDING = 1e-13
SPARE = 0.3  # of the gap that is wanted: what sweeps on a Hessian may leave, for steps and rounding to add to it
ENOUGH = 0.003  # share of the gap that is wanted: a sweep that gains less is the last
SLOW = 0.1  # share of the last step's promise: Newton's method does better
KEPT = 0.5  # share of a step's promise: where less came true the model is to blame, a shorter step may be better, and
# solving the model better is no use
MINOR = 0.03  # share of all gains: a step that gains less is the last where others wait to enter
QUICK, THOROUGH = 0.3, 0.03  # share of the gap that is left to the active hypotheses while others wait to enter
# of all that a search reads: steps on active columns that have fewer cost less than the search
FEW_DENSE, FEW_SPARSE = 0.2, 0.07
MANY_EXAMPLES = 10  # per active row: with fewer, the rows of a round of softmax are often not those of the next
MOST_CARE = 1e-5
MOST_IDLE = 3  # steps below rounding in a row that bring no smaller gap than any before
MOST_ADDED = 3  # corrections
RENT = 2.0  # times what a step on the support costs: as much must have gone into sweeps before one is taken; half as
LEAST_RENT = 0.25  # much after each that helped, down to this, and twice as much after each that did not
BALANCED = 100.0  # times the slope in the intercept: if that is below the gap that is wanted, it hardly adds to it
WORTH_DOUBLING = 0.1  # share of what a step gained that a longer one must be able to add
_NOTHING = np.empty((0, 0))


class Point(NamedTuple):
    """Weights, with the loss and its derivatives there."""

    ensemble: Ensemble
    score: Array
    loss: float
    objective: float
    force: Array  # weighted gradient in the scores
    local: Array  # curvature, as `Loss.model_curvature` gives it
    gradient: Array | None = None  # in the rows and, in the last row, the intercept, where that is known
    proof: Proof | None = None  # of its gap, where that was asked for


class Newton(Corrector):
    r"""Block prox-Newton: minimise the quadratic model of the loss plus the penalty, then search along the line.

    The model's curvature is the loss's own at the current scores, not a bound over all scores; rows are solved one
    at a time with a diagonal that bounds their block of the Hessian.
    """

    name = "newton"
    idle = 0.3  # steps leave out rows that are zero and want to stay so

    def __init__(self) -> None:
        self._cache, self._constant = GramCache(), ConstantGram()
        self._added = 0  # corrections since scores were computed from the weights
        self._spent = 0.0  # on sweeps since the last step on the support, in about nanoseconds
        self._rent = RENT

    def check(self, problem: Problem) -> None:
        if not self.applies(problem):
            raise ValueError(f"Newton needs a loss with curvature and a built-in penalty, not {problem.loss!r}.")

    @staticmethod
    def applies(problem: Problem) -> bool:
        """Whether the loss has a curvature and the penalty a compiled form."""
        curvature = problem.driving_loss.model_curvature(problem.y[:1], np.zeros((1, problem.n_outputs)))
        return curvature is not None and problem.penalty.kernel is not None

    def rank(self, problem: Problem, score: Array, keys: Array, correlation: Array) -> Array:
        return problem.steepness(keys, correlation)

    def appetite(self, problem: Problem, pull: float = np.inf) -> int:
        k, dictionary = problem.n_outputs, problem.dictionary
        most = max(1, min(MOST_INDUCED, INDUCED_ENTRIES // k))
        if not isinstance(dictionary, Enumerable):
            return most
        if k == 1 and _dense(problem):
            more = most * np.clip(pull / STRONG_PULL, 1.0, MOST_TIMES)
            most = int(max(most, min(more, SHARE_PER_PULL * pull * dictionary.size)))
        return dictionary.size if dictionary.size <= FEW_MORE * most else most

    def leaves(self, problem: Problem, ensemble: Ensemble) -> float:
        if problem.driving_loss.multiclass:
            # in small problems one example of weight two is as good as two of weight one: their number does not count
            many = digits(problem) is np.float32 and MANY_EXAMPLES * ensemble.size < problem.y.shape[0]
            return THOROUGH if many else QUICK
        read = ensemble.size * ensemble.columns.mean_entries
        few = FEW_DENSE if _dense(problem) else FEW_SPARSE
        return THOROUGH if read < few * problem.dictionary.entries else QUICK

    def run(self, problem: Problem, ensemble: Ensemble, score: Array, goal: Goal, monitor: Monitor) -> Corrected:
        if ensemble.size == 0 and not problem.fit_intercept:
            return Corrected(ensemble, score, 0.0, True)
        start = [look(problem, ensemble, score)._replace(gradient=goal.gradient)]
        del score  # nobody but `improve` holds on to large arrays
        point, bound, stalled = self.improve(problem, start.pop(), goal, monitor)
        # steps add to the scores, each with a rounding error: after a few of them scores are computed anew
        self._added += 1
        if stalled or self._added > MOST_ADDED:
            self._added = 0
            return Corrected(point.ensemble, point.ensemble.score(), bound, stalled)
        return Corrected(point.ensemble, point.score, bound, stalled)

    def improve(self, problem: Problem, point: Point, goal: Goal, monitor: Monitor) -> tuple[Point, float, bool]:
        """Take steps from a point to the goal: where they end, what they gained, and whether nothing moves any more."""
        model = QuadraticModel(problem, point.ensemble, self._cache, self._constant)
        model.enough, model.rough, model.wanted = ENOUGH * goal.gap, goal.waiting, SPARE * goal.gap
        gradient = model.gradient(point.force) if point.gradient is None else point.gradient
        gap, gained, bound, stalled, promise = np.inf, np.inf, 0.0, False, np.inf
        proof: Proof | None = None
        aim: Aim | None
        least, idle = np.inf, 0
        for _ in range(MOST_STEPS):
            point, proof = point._replace(force=_NOTHING), None  # what large arrays were needed for is done
            aim, old = model.step(point.ensemble, gradient, point.local), self._cache.is_old(point.local)
            point = _bare(point)
            found = _search(problem, point, aim)
            if found is None:
                point, stalled = look(problem, point.ensemble, point.score), not old
                if stalled:
                    break
                self._cache.sharpen()
                continue
            slow, true = aim.promise > SLOW * promise, gained >= KEPT * promise
            promise, gained, aim = aim.promise, max(point.objective - found.objective, 0.0), None
            bound += gained
            point, found = found, None  # nobody else holds on to large arrays
            self._spent, model.spent = self._spent + model.spent, 0.0
            minor = goal.waiting and gained < MINOR * bound
            if minor and not slow:  # the search comes next, and sees the gradient of all rows
                return point, bound, False
            gradient = model.gradient(point.force)
            further = self._on_support(problem, point, gradient) if slow else None
            if further is not None:
                bound += max(point.objective - further.objective, 0.0)
                point, further = further, None
                gradient = model.gradient(point.force)
            elif slow:  # the Hessian is too old, or sweeps stop before the end of a valley
                self._cache.sharpen()
                if true:
                    model.care, model.enough = max(0.1 * model.care, MOST_CARE), 0.1 * model.enough
            lost = promise <= ROUNDING * abs(point.objective)
            if lost or _least_gap(problem, point.ensemble, gradient) <= goal.gap:
                gap, proof = _gap(problem, point, gradient, goal.gap)
                # below the rounding of the objective only the gap still shows progress, and not every time
                patient = 0 < model.blind < BLIND_SWEEPS  # more sweeps may do what these did not
                idle = idle + (not patient) if lost and gap > 0.9 * least else 0
                least, stalled = min(gap, least), idle >= MOST_IDLE
                model.blind = min(max(2 * model.blind, FEW_BLIND), BLIND_SWEEPS) if lost else 0
            if stalled or gap <= goal.gap or minor or monitor.out_of_time:
                break
        return point._replace(gradient=gradient, proof=proof), bound, stalled

    def _on_support(self, problem: Problem, point: Point, gradient: Array) -> Point | None:
        """A step on the weights that are not zero, if it helps, and when sweeps have cost more than it does."""
        # small problems sweep on their Hessian, and the number of examples does not count there
        if digits(problem) is np.float64 or self._rent * support_cost(problem, point.ensemble) > self._spent:
            return None
        self._spent = 0.0
        aim = support_step(problem, point.ensemble, gradient, point.local)
        found = None if aim is None else _search(problem, point, aim)
        self._rent = 2.0 * self._rent if found is None else max(0.5 * self._rent, LEAST_RENT)
        return found


def look(problem: Problem, ensemble: Ensemble, score: Array) -> Point:
    """The loss and its derivatives at these weights."""
    loss, force, local = problem.driving_loss.model(problem.y, problem.weight, score)
    assert local is not None
    return Point(ensemble, score, loss, loss + problem.penalty_value(ensemble), force, local)


def good(problem: Problem, point: Point, wanted: float) -> Point | None:
    """A point whose gradient is known, if the gap of the active hypotheses is as small as wanted there."""
    gradient = point.gradient
    assert gradient is not None
    if _least_gap(problem, point.ensemble, gradient) > wanted:
        return None
    gap, proof = _gap(problem, point, gradient, wanted)
    return point._replace(proof=proof) if gap <= wanted else None


def _bare(point: Point) -> Point:
    """The point without its derivatives: where outputs are many, each of them takes more memory than the data."""
    return point._replace(force=_NOTHING, local=_NOTHING)


def _dense(problem: Problem) -> bool:
    """Whether hypotheses have an output for every example, and can be counted."""
    dictionary = problem.dictionary
    return isinstance(dictionary, Enumerable) and dictionary.entries == problem.y.shape[0] * dictionary.size


def _gap(problem: Problem, point: Point, gradient: Array, wanted: float) -> tuple[float, Proof | None]:
    """Gap of the active hypotheses, or nearly so, and its proof; what the loss and its gradient are is known."""
    if problem.driving_loss is not problem.loss:
        return problem.restricted_gap(point.ensemble, point.score), None
    dual = problem.dual_of(point.force)
    if problem.fit_intercept and BALANCED * float(np.abs(gradient[-1]).sum()) <= wanted:
        # the intercept is so near its best that a dual point which respects it would tell the same
        rows, ensemble = gradient[:-1], point.ensemble
        violation = float(problem.penalty.violation(rows, ensemble.cost).max(initial=0.0))
        return point.objective - problem.lower_bound(dual, violation, rows, ensemble), None
    proof = problem.restricted_proof(point.ensemble, point.score, dual, gradient)
    return point.objective - proof.bound, proof


def _least_gap(problem: Problem, ensemble: Ensemble, gradient: Array) -> float:
    """What the gap of the active hypotheses is at least, from their gradients alone."""
    if not isinstance(problem.penalty, Norm) or problem.driving_loss.quadratic or not problem.loss.smooth:
        return 0.0
    return least_gap(problem, ensemble.coef, gradient[: ensemble.size], problem.strength(ensemble))


def _search(problem: Problem, start: Point, aim: Aim) -> Point | None:
    """Halve the step until the objective falls as promised, or would rise again.

    A promise below rounding is taken at its word.

    Where a whole step went too far, some examples have more curvature on the way than at its start, and would hold up
    all rows again: the next model takes the mean of both ends of the last stretch.

    Sweeps may creep along a narrow valley and stop far from the model's minimum: the step is doubled as long as the
    objective falls.
    """
    before, value = start.ensemble, start.objective
    blur = ROUNDING * abs(value)
    noise = blur if aim.promise <= blur else 0.0

    def moved(step: float) -> Ensemble:
        coef = aim.coef if step == 1.0 else before.coef + step * (aim.coef - before.coef)
        return before.at(coef, before.intercept + step * (aim.intercept - before.intercept))

    def at(step: float) -> Point:
        score = step * aim.push
        score += start.score
        return look(problem, moved(step), score)

    step, found, beyond = 1.0, at(1.0), None
    while True:
        falls = found.objective < value + noise
        if falls and value + blur - found.objective >= KEPT * step * aim.promise:
            break
        if step < SMALLEST_STEP:
            return found if falls else None
        found = found._replace(force=_NOTHING, score=found.score if falls else _NOTHING)  # it makes room
        nearer = at(0.5 * step)
        if falls and not nearer.objective < found.objective:
            del nearer
            found = look(problem, found.ensemble, found.score)
            break
        step, found, beyond = 0.5 * step, nearer, found.local
        del nearer
    if beyond is not None:
        beyond = beyond + found.local
        beyond *= 0.5
        return found._replace(local=beyond)
    while step >= 1.0 and noise == 0.0 and not problem.penalty.positive:
        # the loss is convex, so it lies above its tangent here: most steps are seen to be long enough without trying
        slope = step * float(np.vdot(found.force, aim.push))
        rise = problem.penalty_value(moved(2.0 * step)) - problem.penalty_value(found.ensemble)
        fall = -(slope + rise)
        if fall < WORTH_DOUBLING * (value - found.objective) or fall < _bend(problem, found, step, aim.push):
            break
        lowest = found.objective
        del found  # it makes room
        found = at(2.0 * step)
        if not found.objective < lowest:
            del found
            return at(step)
        step *= 2.0
    return found


def _bend(problem: Problem, point: Point, step: float, push: Array) -> float:
    """By how much the loss will be above its tangent one step further; 0 where outputs depend on each other.

    That is what half of the curvature here would do: on the way most examples lose some of theirs.
    """
    loss = problem.driving_loss
    if loss.multiclass:
        return 0.0
    bent = np.einsum("ir,ir,ir->i", point.local, push, push)
    return 0.25 * step * step * loss.sharpness * float(problem.weight @ bent)
