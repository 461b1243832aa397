"""The quadratic model of the loss on the active columns that one Newton step minimises."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseboost import kernels
from sparseboost.ensemble import Ensemble
from sparseboost.losses.base import over_examples
from sparseboost.penalties import Norm
from sparseboost.problem import Problem
from sparseboost.solvers.constant_gram import ConstantGram
from sparseboost.solvers.following import Following
from sparseboost.solvers.gram_cache import GramCache, digits, shared, uniform
from sparseboost.solvers.panel import places

Array = np.ndarray
COLUMN_SWEEPS, FEWEST_SWEEPS = 50, 10
EARLY = 2  # sweeps that softmax combines first: columns that most examples have move together, and only so get far
COLUMN_FRACTION = 0.01  # sweeps stop when one gains less than this share of all before it
LATER_SWEEPS = 4  # that the models after the first are expected to take
GRAM_SWEEPS = 1000
FEW_BLIND, BLIND_SWEEPS = 12, 300  # below rounding, at first and after doubling; two extrapolations
GRAM_FRACTION = 1e-3
TINY_HESSIAN = 10_000  # entries: extrapolation saves nothing, and magnifies rounding
LARGEST_HESSIAN, SMALL_HESSIAN = 10_000_000, 1_000_000  # entries
CHEAP_HESSIAN = 100_000  # entries: sweeps cost less than the step around them, and go on beyond what is enough, as
# they do on any Hessian that the next step would have to build again
ROUGH_HESSIAN, ROUGH_SWEEPS = 10_000, 10  # entries and sweeps in double precision where others wait to enter
GRAM_SWEEP = 0.4  # nanoseconds per entry of a matrix of products
RIDGE: dict[type, float] = {np.float32: 1e-6, np.float64: 1e-12}  # share of the diagonal, by the digits of a Hessian
LEAST_CURVATURE = 1e-200  # of all examples: then the change of scores is as exact as what sweeps push
FLOOR = 1e-12  # of the curvature, as a share of the largest, where it vanishes


class Aim(NamedTuple):
    """Where the model wants to go, and the decrease it promises there."""

    coef: Array
    intercept: Array
    push: Array  # change of the scores
    promise: float


class QuadraticModel:
    """½ Σ_i s_i δz_iᵀ H_i δz_i + ⟨gradient, δz⟩ + penalty, solved by block coordinate descent.

    With few active columns the sweeps run on the Hessian of the weights, which BLAS builds and whose size does not
    depend on the number of examples; otherwise on the columns themselves.
    """

    def __init__(self, problem: Problem, ensemble: Ensemble, cache: GramCache, constant: ConstantGram) -> None:
        self.problem = problem
        self.cache, self.constant = cache, constant
        self.columns = ensemble.columns
        self.strength = problem.strength(ensemble)
        self.digits = digits(problem)
        self.pivot = problem.driving_loss.pivot(problem.y)
        self.rough = False  # whether others wait to enter: a few sweeps are enough, over columns unless they creep
        self.care = 1.0  # times the gain at which sweeps stop
        self.enough = 0.0  # or this gain, whatever the others were
        self.wanted = 0.0  # gap
        self.blind = 0  # how many sweeps to make where what one gains is lost in rounding, and says nothing
        # how many sweeps the model is expected to take, or, where products are kept for good, all that follow
        self.sweeps = 30 if problem.driving_loss.quadratic else 7
        self.most_sweeps = COLUMN_SWEEPS  # over columns, before a Hessian would have been cheaper
        self.spent = 0.0  # on sweeps, in about nanoseconds

    def gradient(self, force: Array) -> Array:
        """Gradient of the loss in the active rows and, in the last row, the intercept."""
        rows = self.columns.correlate(force)
        return np.vstack([rows, over_examples(force)]) if self.problem.fit_intercept else rows

    def step(self, ensemble: Ensemble, gradient: Array, local: Array) -> Aim:
        """Nearly minimise the model with this gradient in the rows and this curvature in the scores."""
        free = self.problem.fit_intercept
        start = np.vstack([ensemble.coef, ensemble.intercept]) if free else ensemble.coef
        coef = np.array(start, order="C")
        alive = self._alive(ensemble, gradient)
        known = self._known(ensemble, local)
        push = None
        if not self._worth_a_hessian(alive, known, local):
            promise, push = self._on_columns(alive, gradient, local, coef)
        elif self.problem.driving_loss.quadratic:
            promise = self._on_constant_gram(ensemble, alive, known, gradient, coef)
        else:
            promise = self._on_hessian(ensemble, alive, gradient, local, coef)
            self.sweeps = min(self.sweeps, LATER_SWEEPS) if uniform(local) else self.sweeps
        change = coef - start
        if push is None:
            push = self.columns.dot(change[: ensemble.size])
        if free:
            return Aim(coef[:-1], coef[-1], push + change[-1], promise)
        return Aim(coef, ensemble.intercept, push, promise)

    def _alive(self, ensemble: Ensemble, gradient: Array) -> Array:
        """Rows that may move: those that are not zero or that the gradient pulls away from zero."""
        penalty = self.problem.penalty
        if not penalty.zeroes_blocks:
            return np.ones(ensemble.size, dtype=bool)
        pulled = penalty.violation(gradient[: ensemble.size], ensemble.cost) > self.problem.alpha
        return pulled | np.any(ensemble.coef != 0.0, axis=1)

    def _known(self, ensemble: Ensemble, local: Array) -> Array:
        """Which active columns need no products any more."""
        if self.problem.driving_loss.quadratic:
            return self.constant.follow(self.problem, ensemble, LARGEST_HESSIAN)
        return self.cache.known(self.problem, ensemble, local)

    def _worth_a_hessian(self, alive: Array, known: Array, local: Array) -> bool:
        """Whether multiplying columns costs less than the sweeps it saves, by nanoseconds per operation."""
        loss, (m, k), n = self.problem.driving_loss, local.shape, int(alive.sum())
        one = loss.quadratic or shared(self.problem, local)  # matrix for all outputs
        size = n * n * (1 if one else k * k if loss.multiclass else k)
        self.most_sweeps = COLUMN_SWEEPS
        if size > LARGEST_HESSIAN:
            return False
        if self.digits is np.float64 and (loss.multiclass or size <= SMALL_HESSIAN):
            # whatever the number of examples: one of weight two is as good as two of weight one
            quick = self.rough and not loss.quadratic and not self.cache.creeps
            return size <= (CHEAP_HESSIAN if loss.multiclass else ROUGH_HESSIAN if quick else SMALL_HESSIAN)
        new = int((alive & ~known).sum())
        products = 1 if one else k * (k + 1) // 2 if loss.multiclass else k
        entries, sweep = self.columns.mean_entries, self._column_sweep(n, k)
        if self.columns.sparse:
            build = 3.0 * products * new * n * entries * entries / m
        else:
            slow = 1.0 if self.digits is np.float32 else 2.0
            symmetric = new == n and (one or not loss.multiclass)
            build = slow * products * n * m * (1.0 + new * (0.013 if symmetric else 0.026)) if new else 0.0
        self.most_sweeps = int(np.clip(build / max(sweep, 1.0), FEWEST_SWEEPS, COLUMN_SWEEPS))
        return build + self.sweeps * GRAM_SWEEP * size * (k if one else 1) <= self.sweeps * sweep

    def _column_sweep(self, n: int, k: int) -> float:
        """About how many nanoseconds a sweep over n columns takes."""
        multiclass, entries = self.problem.driving_loss.multiclass, self.columns.mean_entries
        if self.columns.sparse:
            return n * entries * (6.0 + 0.6 * k if multiclass else 2.0 + 0.5 * k)
        return (1.0 if self.digits is np.float32 else 2.0) * n * entries * k * (0.5 if multiclass else 0.35)

    def _on_hessian(self, ensemble: Ensemble, alive: Array, gradient: Array, local: Array, coef: Array) -> float:
        hessian = self.cache.hessian(self.problem, ensemble, np.flatnonzero(alive), local)
        rows, factor = np.flatnonzero(alive), self.cache.factor(coef.shape[1])
        slope, follows = gradient[rows], None
        if self.problem.fit_intercept:
            edge, corner, ridge = hessian[:-1, ..., -1], hessian[-1, ..., -1], RIDGE[self.digits]
            follows = inner = Following.of(edge, corner, gradient[-1], ridge)
            if hessian.shape[1] == 1:
                follows = Following.of(edge * factor, corner * factor, gradient[-1], ridge)
            hessian, slope = inner.hessian(hessian[:-1, ..., :-1]), follows.gradient(slope)
        n, g, h, _ = hessian.shape
        gram = np.ascontiguousarray(hessian).reshape(n, g, h * n)
        part = coef[rows]
        diagonal = _own_blocks(gram, h > 1) * (_block_bound(factor[None]) if factor.shape[1] > 1 else factor[:, 0])
        promise = self._sweep_gram(
            gram, slope, _floor(diagonal), self.strength[alive], part, np.ones(rows.size, np.int8), factor
        )
        if follows is not None:
            coef[-1] += follows.change(part - coef[rows])
            promise += follows.gain
        coef[rows] = part
        return promise

    def _on_constant_gram(self, ensemble: Ensemble, alive: Array, known: Array, gradient: Array, coef: Array) -> float:
        """Sweep over all columns that were ever met, in their order, watching those that are alive."""
        constant, (_, k) = self.constant, coef.shape
        new = np.flatnonzero(alive & ~known)
        if new.size or not constant.keys.size:
            constant.add(self.problem, ensemble, new)
        rows = np.flatnonzero(alive)
        place = places(ensemble.keys[rows], constant.keys)
        gram, slope, follows = constant.matrix, gradient[rows], None
        if self.problem.fit_intercept:
            edge = np.repeat(constant.edge[place, None, None], k, axis=1)
            follows = Following.of(edge, np.full(k, constant.corner), gradient[-1], 0.0)
            slope = follows.gradient(slope)
        n = gram.shape[0]
        inside, pull = np.zeros((n, k)), np.zeros((n, k))
        inside[place], pull[place] = coef[rows], slope
        strength, watched = np.zeros(n), np.zeros(n, np.int8)
        strength[place], watched[place] = self.strength[alive], 1
        diagonal = _floor(np.repeat(gram.diagonal(axis1=0, axis2=2).T, k, axis=1))
        promise = self._sweep_gram(gram, pull, diagonal, strength, inside, watched, np.ones((k, 1)))
        if follows is not None:
            coef[-1] += follows.change(inside[place] - coef[rows])
            promise += follows.gain
        coef[rows] = inside[place]
        return promise

    def _sweep_gram(
        self, gram: Array, gradient: Array, diagonal: Array, strength: Array, coef: Array, watched: Array, factor: Array
    ) -> float:
        problem = self.problem
        entries = gram.size if problem.driving_loss.quadratic else gram.size // gram.shape[1] * len(factor)
        ends = problem.driving_loss.quadratic and gram.size >= CHEAP_HESSIAN
        most, fraction = (self.blind, -1.0) if self.blind else (GRAM_SWEEPS, GRAM_FRACTION)
        promise, slope = 0.0, gradient
        while True:
            gained, done, _, slope, _ = kernels.descent.descend(
                None, gram, slope, diagonal, strength, coef, problem.penalty.kernel, problem.penalty.positive,
                -1, watched, None, 0.0, most, fraction, entries > TINY_HESSIAN or self.blind > 0, None,
                self.enough if ends else -np.inf, 0, factor,
            )  # fmt: skip
            promise, most = promise + gained, most - done
            self.spent += done * GRAM_SWEEP * entries
            if self.blind or most <= 0 or gained <= self.care * promise:
                return promise
            # the steps before wanted more than they got: go on, but not beyond what the goal needs
            rows = watched > 0
            if least_gap(problem, coef[rows], slope[rows], strength[rows]) <= self.wanted:
                return promise

    def _on_columns(self, alive: Array, gradient: Array, local: Array, coef: Array) -> tuple[float, Array | None]:
        """The promise and, where sweeps tell it, what the columns add to the scores."""
        problem, free = self.problem, self.problem.fit_intercept
        weight = problem.weight * problem.driving_loss.sharpness
        curvature = local if self.pivot.size else weight[:, None] * local
        if self.pivot.size and self.digits is np.float32:
            self.cache.make_room()  # from the second step on the Hessian of softmax has entries for pairs of outputs
        dense = not self.columns.sparse
        # numbers of a sparse column are met one by one: for a single output, to convert them takes longer than it saves
        digits = self.digits if dense or coef.shape[1] > 1 else np.float64
        data, indices, where = self.columns.packed(digits)
        if dense:
            curvature = np.ascontiguousarray(curvature.T, dtype=digits)
        else:
            curvature = kernels.lanes.wide(curvature, digits)
        patience = np.int8(kernels.descent.PATIENCE)
        follows = None
        if free and not self.pivot.size:  # outputs that do not depend on each other
            corner = curvature.sum(axis=1 if dense else 0, dtype=np.float64)[: coef.shape[1]]
            follows = gradient[-1], np.maximum(corner, FLOOR * corner.max() + np.finfo(float).tiny)
        last = -1 if follows is not None or not free else coef.shape[0] - 1
        watched = (alive if last < 0 else np.append(alive, True)) * patience
        part = coef[: watched.size]
        most, fraction = (self.blind, -1.0) if self.blind else (self.most_sweeps, COLUMN_FRACTION * self.care)
        quick = self.rough and self.digits is np.float64 and not problem.driving_loss.multiclass
        most = min(most, ROUGH_SWEEPS) if quick else most
        promise, done, moved, _, pushed = kernels.descent.descend(
            (data, None if dense else indices, where), None, gradient[: watched.size], np.empty(part.shape),
            self.strength, part, problem.penalty.kernel, problem.penalty.positive, last, watched,
            (weight, curvature, self.pivot), FLOOR * float(curvature.max()), most, fraction, True, follows, self.enough,
            EARLY if self.pivot.size else 0,
        )  # fmt: skip
        if follows is not None:
            coef[-1] += moved
            promise += 0.5 * float((follows[0] * follows[0] / follows[1]).sum())
        self.sweeps = done if done < self.most_sweeps else COLUMN_SWEEPS
        self.spent += done * self._column_sweep(int(alive.sum()), coef.shape[1])
        self.cache.creeps |= quick and done >= ROUGH_SWEEPS
        alone = coef.shape[1] == 1 and digits is np.float64 and not self.pivot.size
        return promise, (pushed / curvature).reshape(-1, 1) if alone and curvature.min() > LEAST_CURVATURE else None


def least_gap(problem: Problem, coef: Array, slope: Array, strength: Array) -> float:
    """What the gap of these rows is at least, from the slope of the loss in them alone.

    The dual is concave along the ray through a gradient, so it lies below its tangent there, whose slope is
    ⟨gradient, score⟩ = ⟨gradients of the rows, rows⟩.
    """
    if not isinstance(problem.penalty, Norm):
        return np.inf
    violation = float(problem.penalty.violation(slope, strength).max(initial=0.0))  # in units of alpha
    scale = min(1.0, 1.0 / violation) if violation > 0.0 else 1.0
    return float(strength @ problem.penalty.value(coef)) + scale * float(np.vdot(slope, coef))


def _own_blocks(gram: Array, coupled: bool) -> Array:
    """Per row, a diagonal that bounds the row's own block of the Hessian."""
    n, k = gram.shape[:2]
    if not coupled:
        return _floor(np.einsum("jrj->jr", gram).copy())
    return _block_bound(np.einsum("jrsj->jrs", gram.reshape(n, k, k, n)))


def _block_bound(blocks: Array) -> Array:
    """Of each matrix, the diagonal of one that bounds it."""
    diagonal = _floor(np.einsum("jrr->jr", blocks).copy())
    root = 1.0 / np.sqrt(diagonal)
    largest = np.linalg.eigvalsh(blocks * root[:, :, None] * root[:, None, :])[:, -1]
    return diagonal * np.maximum(largest, 1.0)[:, None]


def _floor(diagonal: Array) -> Array:
    """Keep the model bounded below where the curvature vanishes."""
    return np.maximum(diagonal, FLOOR * diagonal.max(initial=0.0) + 1e-300)
