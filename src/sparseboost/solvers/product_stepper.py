"""A path of the squared loss on the products of columns alone: examples are met again only in certificates."""

from __future__ import annotations

import numpy as np

from sparseboost import kernels
from sparseboost.losses import Squared
from sparseboost.monitors import Monitor
from sparseboost.penalties import Norm
from sparseboost.problem import Problem
from sparseboost.solvers.constant_gram import ConstantGram
from sparseboost.solvers.gram_cache import digits
from sparseboost.solvers.quadratic_model import CHEAP_HESSIAN, FLOOR, GRAM_SWEEP, LARGEST_HESSIAN
from sparseboost.solvers.stepper import Stepper, Weights, padded
from sparseboost.solvers.support_equations import solution_cost, support_change

Array = np.ndarray
NEAR = 0.6  # of the way to the last alpha, for dense columns
MOST_STEPS = 20  # times that the sweeps may be asked to go on
SWEEPS, FRACTION = 1000, 1e-3  # sweeps at most, and the share of all gains at which they stop at first
ENOUGH = 0.01  # share of the gap that is wanted: a sweep that gains less is the last at first
ROUNDING = 1e-13  # share of the objective: a smaller gain may be an error
BLIND_SWEEPS = 100  # where gains are lost in rounding
PROGRESS = 0.9  # of the gap: where a hundred such sweeps leave more, they are the last
TINY_PRODUCTS = 10_000  # entries: extrapolation saves nothing, and magnifies rounding
RENT = 2.0  # times what a step on the support costs: as much must have gone into sweeps before one is taken
FEWEST_SWEEPS = 12  # before one is taken: two extrapolations
RIDGE = 1e-12  # share of the diagonal, where columns on the support depend on each other
SHORTEST = 1e-3  # of a step on the support
SPARSE_ENTRY, DENSE_ENTRY = 5.0, 2.0  # how much longer an entry of a column takes than one of the products, about


class ProductStepper(Stepper):
    r"""Sweeps over all hypotheses that were ever met, on G = Σ_i s_i x_i x_iᵀ and c = Σ_i s_i x_i y_iᵀ.

    With centred columns and targets the intercept is always at its best. Then the loss is ½(y² − 2⟨c, W⟩ + ⟨W, GW⟩),
    its gradient GW − c, and the gap of the active hypotheses follows from the two: nothing needs a sum over examples.

    Parameters
    ----------
    problem : Problem
        The question, at any alpha.
    """

    def __init__(self, problem: Problem) -> None:
        self._gram = ConstantGram()
        self._target = -problem.dual_point(np.broadcast_to(problem.start, problem.y.shape))  # y, centred
        self._square = float(problem.weight @ np.square(self._target).sum(axis=1))  # y²
        self._own = np.empty((0, problem.n_outputs))  # c of the active hypotheses
        self._cost = np.empty(0)

    @staticmethod
    def applies(problem: Problem) -> bool:
        """Whether the loss is the squared one and the penalty a norm with a compiled form."""
        penalty = problem.penalty
        return isinstance(problem.driving_loss, Squared) and isinstance(penalty, Norm) and penalty.kernel is not None

    @property
    def keys(self) -> Array:  # type: ignore[override]
        """The active hypotheses."""
        return self._gram.keys

    @property
    def near(self) -> float:  # type: ignore[override]
        """Dense columns cost more than a repair: fewer are near, and blocks are longer."""
        return NEAR if self._gram.centred else 0.0

    def takes(self, problem: Problem, more: int) -> bool:
        """Whether products are few enough to be kept, and a line of them takes no longer than a column."""
        size, entries = self.keys.size + more, self._gram.mean_entries
        if size * size > LARGEST_HESSIAN:
            return False
        if entries is None:
            entry = DENSE_ENTRY if digits(problem) is np.float64 else 0.5 * DENSE_ENTRY
            longest = entry * problem.y.shape[0]
        else:
            longest = SPARSE_ENTRY * entries
        return size <= longest or size * size < CHEAP_HESSIAN

    def tidy(self, weights: list[Weights]) -> list[Weights]:
        return weights  # a look at a row that stays zero costs nothing

    def enter(self, problem: Problem, keys: Array) -> None:
        if keys.size == 0:
            return
        columns = problem.dictionary.columns(keys)
        self._gram.take(problem, keys, columns.matrix)
        self._own = np.concatenate([self._own, columns.correlate(problem.force(self._target))])
        self._cost = np.concatenate([self._cost, problem.dictionary.cost(keys)])

    def solve(self, problem: Problem, starts: list[Weights], gap: float, monitor: Monitor) -> tuple[Weights, bool]:
        gram = self._gram.matrix
        products = gram[:, 0, : self.keys.size]
        coef, slope, left = self._best(problem, products, starts)
        own = products.diagonal()
        own = np.maximum(own, FLOOR * own.max(initial=0.0) + np.finfo(float).tiny)
        diagonal = np.repeat(own[:, None], coef.shape[1], axis=1)
        watched, strength = np.ones(coef.shape[0], np.int8), problem.alpha * self._cost
        fraction, enough, most = FRACTION, ENOUGH * gap if gram.size >= CHEAP_HESSIAN else -np.inf, SWEEPS
        stalled, rent = False, RENT
        for _ in range(MOST_STEPS):
            affordable = min(most, self._sweeps_for(problem, coef, rent))
            gained, done, _, slope, _ = kernels.descent.descend(
                None, gram, slope, diagonal, strength, coef, problem.penalty.kernel, problem.penalty.positive,
                -1, watched, None, 0.0, affordable, fraction, gram.size > TINY_PRODUCTS or fraction < 0.0, None, enough,
            )  # fmt: skip
            last, (left, objective) = left, self._gap(problem, coef, slope)
            if left <= gap or monitor.out_of_time:
                break
            if done == affordable < most:
                better = self._on_support(problem, products, coef, slope)
                rent *= 2.0  # sweeps that do not end in spite of it are given more time
                if better is not None:
                    coef, slope = better
                    left, objective = self._gap(problem, coef, slope)
                    if left <= gap:
                        break
                continue
            stalled = fraction < 0.0 and left > PROGRESS * last
            if stalled:
                break
            if gained <= ROUNDING * objective:
                fraction, most, slope = -1.0, BLIND_SWEEPS, products @ coef - self._own
            fraction, enough = 0.1 * fraction, 0.1 * enough
        return Weights(coef, self._intercept(problem, coef), slope=slope), stalled

    def _sweeps_for(self, problem: Problem, coef: Array, times: float) -> int:
        """How many sweeps cost as much as so many steps on the support."""
        cost = solution_cost(problem.penalty, coef, 1)
        sweep = GRAM_SWEEP * max(int(np.count_nonzero(coef)) * self.keys.size, 1)
        return max(FEWEST_SWEEPS, int(min(times * cost / sweep, SWEEPS)))

    def _on_support(self, problem: Problem, products: Array, coef: Array, slope: Array) -> tuple[Array, Array] | None:
        """Weights and gradient after a step on the weights that are not zero, if that lowers the objective."""
        strength, penalty = problem.alpha * self._cost, problem.penalty

        def hessians(rows: Array, outputs: range) -> Array:
            matrix = products[np.ix_(rows, rows)]
            matrix[np.diag_indices_from(matrix)] *= 1.0 + RIDGE
            return matrix[None]

        change = support_change(penalty, hessians, coef, strength, slope, False)
        if change is None:
            return None
        pushed = products @ change
        linear, bend = float(np.vdot(slope, change)), float(np.vdot(change, pushed))
        held, step = float(strength @ penalty.value(coef)), 1.0
        while step >= SHORTEST:
            moved = coef + step * change
            if step * linear + 0.5 * step * step * bend + float(strength @ penalty.value(moved)) < held:
                return moved, slope + step * pushed
            step *= 0.5
        return None

    def _best(self, problem: Problem, products: Array, starts: list[Weights]) -> tuple[Array, Array, float]:
        """Weights with the smallest objective, their gradient, and their gap."""
        found = []
        for start in starts:
            coef, slope = padded(start.coef, self.keys.size), np.empty((0, self._own.shape[1]))
            if start.slope is not None:
                slope = start.slope
            missing = products[len(slope) :] @ coef - self._own[len(slope) :]
            slope = np.concatenate([slope, missing])
            gap, objective = self._gap(problem, coef, slope)
            found.append((objective, coef, slope, gap))
        return min(found, key=lambda one: one[0])[1:]

    def scores(self, problem: Problem, weights: list[Weights]) -> list[Array]:
        every = np.hstack([padded(some.coef, self.keys.size) for some in weights])
        if not self.keys.size:
            return [np.zeros(problem.y.shape) + some.intercept for some in weights]
        parts = np.split(self._gram.dot(every), len(weights), axis=1)
        centred = problem.fit_intercept and self._gram.centred
        rest = [problem.start if centred else some.intercept for some in weights]
        return [np.ascontiguousarray(part + add) for part, add in zip(parts, rest, strict=True)]

    def correlate(self, force: Array) -> Array:
        return self._gram.correlate(force)

    def _intercept(self, problem: Problem, coef: Array) -> Array:
        return problem.start - self._gram.edge @ coef if problem.fit_intercept else problem.start

    def _gap(self, problem: Problem, coef: Array, slope: Array) -> tuple[float, float]:
        """Gap of the problem that has only the active hypotheses, and its objective (T3)."""
        along = float(np.vdot(self._own, coef)) - self._square  # ⟨residual, y⟩
        length = max(float(np.vdot(slope, coef)) - along, 0.0)  # ⟨residual, residual⟩
        violation = float(problem.penalty.violation(slope, self._cost).max(initial=0.0))
        limit = problem.alpha / violation if violation > 0.0 else np.inf
        scale = problem.loss.scale_within(np.array([length, along]), limit)
        objective = 0.5 * length + problem.alpha * float(self._cost @ problem.penalty.value(coef))
        return objective + scale * along + 0.5 * scale * scale * length, objective
