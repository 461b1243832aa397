"""GradBoost: the quadratic bound."""

from __future__ import annotations

import numpy as np

from sparseboost.hypotheses.columns import Columns
from sparseboost.problem import Problem
from sparseboost.solvers.updates import Array, Force, Update


class GradBoost(Update):
    r"""W_j ← prox(W_j − η_j g_j): the exact minimiser of the quadratic bound B2.

    References
    ----------
    MATH.md T2 (B2), D5–D7, D8 (scores), D10 (sharper templates), D12.
    """

    name = "gradboost"
    exponential = False

    def check(self, problem: Problem) -> None:
        if problem.driving_loss.curvature is None:
            raise ValueError(
                f"update='gradboost' needs a loss with a bound on its curvature, which {problem.loss!r} has not; "
                + ("use update='adaboost'." if problem.driving_loss.room is not None else "set its `curvature`.")
            )

    def propose(
        self, problem: Problem, columns: Columns, rows: Array, room: Array, strength: Array, parts: Force
    ) -> tuple[Array, Array]:
        return self._step(problem, rows, columns.correlate(parts[0] - parts[1]), room, strength)

    def rank(self, problem: Problem, score: Array, keys: Array, correlation: Array) -> Array:
        room = self._inverse(problem.energy_of(keys), problem)
        strength = problem.alpha * problem.dictionary.cost(keys)
        return self._step(problem, np.zeros_like(correlation), correlation, room, strength)[1]

    def single_room(self, problem: Problem, columns: Columns) -> Array:
        return self._inverse(columns.energy(problem.weight), problem)

    def dense_room(self, problem: Problem, columns: Columns) -> Array:
        size = abs(columns.matrix)
        together = np.asarray((size != 0).sum(axis=1)).ravel()
        by_count = columns.energy(problem.weight * together)
        by_size = np.asarray(size.T @ (problem.weight * np.asarray(size.sum(axis=1)).ravel()))
        with np.errstate(divide="ignore"):
            smaller_by_size = np.sum(np.log(by_size) < np.log(by_count)) > 0.5 * by_size.size
        return self._inverse(by_size if smaller_by_size else by_count, problem)

    def template_room(self, problem: Problem, template: Array) -> Array:
        return template / problem.driving_loss.curvature

    def template_size(self, problem: Problem, template: Array) -> tuple[float, float, str]:
        return float(template @ problem.energy), 1.0, "Σ_j a_j Σ_i s_i x_ij² (sample weights s sum to 1)"

    @staticmethod
    def _inverse(energy: Array, problem: Problem) -> Array:
        """η = 1/(κ·energy); 0 for a zero column, which no update can move."""
        curvature = problem.driving_loss.curvature
        assert curvature is not None
        return np.divide(1.0, curvature * energy, out=np.zeros_like(energy), where=energy > 0)

    @staticmethod
    def _step(problem: Problem, rows: Array, gradient: Array, room: Array, strength: Array) -> tuple[Array, Array]:
        penalty = problem.penalty
        moved = penalty.prox(rows - room[:, None] * gradient, room * strength)
        change = moved - rows
        with np.errstate(divide="ignore", invalid="ignore"):
            decrease = (
                -(gradient * change).sum(axis=1)
                - (change**2).sum(axis=1) / (2.0 * room)
                + strength * (penalty.value(rows) - penalty.value(moved))
            )
        still = (room == 0.0) | ~np.any(change != 0, axis=1)
        return np.where(still[:, None], rows, moved), np.where(still, 0.0, decrease)
