"""AdaBoost: the exponential bound."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from sparseboost.hypotheses.columns import Columns
from sparseboost.penalties import SmoothL1
from sparseboost.problem import Problem
from sparseboost.solvers.updates import Array, Force, Update, force


class AdaBoost(Update):
    r"""W_j ← argmin of a_j Σ_r [μ⁺e^{−δ_r/a_j} + μ⁻e^{δ_r/a_j}] + α c_j ρ(W_j + δ): the minimiser of bound B1.

    References
    ----------
    MATH.md T2 (B1), D1–D4, D8 (scores), D10 (templates), D12, D13 (smooth ℓ1).
    """

    name = "adaboost"
    exponential = True

    def check(self, problem: Problem) -> None:
        if problem.driving_loss.room is None:
            raise ValueError(
                f"update='adaboost' is not defined for {problem.loss!r}: it needs the logistic, exponential or "
                f"eps-insensitive loss; "
                + ("use update='gradboost'." if problem.driving_loss.curvature is not None else "set its `curvature`.")
            )
        if not problem.penalty.has_exponential_step(problem.n_outputs):
            raise ValueError(
                f"update='adaboost' has no step for {problem.penalty!r} with {problem.n_outputs} outputs; "
                f"use update='gradboost', or penalty='l1/linf'."
            )

    def propose(
        self, problem: Problem, columns: Columns, rows: Array, room: Array, strength: Array, parts: Force
    ) -> tuple[Array, Array]:
        plus, minus = columns.split_correlate(*parts)
        return self._step(problem, rows, plus, minus, room, strength)

    def rank(self, problem: Problem, score: Array, keys: Array, correlation: Array) -> Array:
        plus, minus = problem.split_correlate(keys, *force(problem, score))
        room = self._inverse(problem.reach_of(keys), problem)
        strength = problem.alpha * problem.dictionary.cost(keys)
        return self._step(problem, np.zeros_like(plus), plus, minus, room, strength)[1]

    def single_room(self, problem: Problem, columns: Columns) -> Array:
        return self._inverse(columns.reach(problem.weight), problem)

    def dense_room(self, problem: Problem, columns: Columns) -> Array:
        sums = np.asarray(abs(columns.matrix).sum(axis=1)).ravel()[problem.weight > 0]
        room = self._inverse(np.array([sums.max(initial=0.0)]), problem)
        return np.repeat(room, columns.size) * (columns.reach(problem.weight) > 0)

    def template_room(self, problem: Problem, template: Array) -> Array:
        return template

    def template_size(self, problem: Problem, template: Array) -> tuple[float, float, str]:
        room = problem.driving_loss.room
        assert room is not None
        sums = problem.enumerable.absolute_scores(template)[problem.weight > 0]
        if isinstance(problem.penalty, SmoothL1):
            sums = np.append(sums, room * template.max(initial=0.0))
        return float(sums.max(initial=0.0)), room, "max_i Σ_j a_j |x_ij|"

    @staticmethod
    def _inverse(reach: Array, problem: Problem) -> Array:
        """A = β/reach; 0 for a zero column. Smooth ℓ1 brings pseudo-examples of size 1, so a ≤ 1 there."""
        room = problem.driving_loss.room
        assert room is not None
        inverse = np.divide(room, reach, out=np.zeros_like(reach), where=reach > 0)
        return np.minimum(inverse, 1.0) if isinstance(problem.penalty, SmoothL1) else inverse

    @staticmethod
    def _step(
        problem: Problem, rows: Array, plus: Array, minus: Array, room: Array, strength: Array
    ) -> tuple[Array, Array]:
        penalty = problem.penalty
        safe = np.where(room > 0, room, 1.0)
        moved = penalty.exponential_step(rows, plus, minus, safe, strength)
        change = (moved - rows) / safe[:, None]
        if isinstance(penalty, SmoothL1):  # its bound covers loss and penalty together (D13)
            plus = plus + strength[:, None] * expit(-rows)
            minus = minus + strength[:, None] * expit(rows)
            saved = np.zeros(rows.shape[0])
        else:
            saved = strength * (penalty.value(rows) - penalty.value(moved))
        decrease = safe * (_gain(plus, change) + _gain(minus, -change)).sum(axis=1) + saved
        still = (room == 0.0) | ~np.any(change != 0, axis=1)
        return np.where(still[:, None], rows, moved), np.where(still, 0.0, decrease)


def _gain(mu: Array, change: Array) -> Array:
    """μ(1 − e^{−d}), finite whenever the product is, and 0 where μ is."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        far = mu - np.exp(np.log(mu) - change)
        return np.where(mu == 0.0, 0.0, np.where(change > -700.0, mu * -np.expm1(-change), far))
