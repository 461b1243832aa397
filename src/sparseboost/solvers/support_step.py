"""A step on the weights that are not zero, by linear equations: sweeps creep where columns are much alike."""

from __future__ import annotations

import numpy as np

from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Columns
from sparseboost.problem import Problem
from sparseboost.solvers.quadratic_model import LARGEST_HESSIAN, Aim
from sparseboost.solvers.support_equations import apart, solution_cost, support_change

Array = np.ndarray
LARGEST_COPY = 10_000_000  # entries of the columns that are copied
RIDGE = 1e-10  # share of the diagonal


def support_cost(problem: Problem, ensemble: Ensemble) -> float:
    """About how many nanoseconds `support_step` takes; infinitely many where it does not apply."""
    columns, (m, k) = ensemble.columns, (problem.y.shape[0], problem.n_outputs)
    loss, single = problem.driving_loss, apart(problem.penalty, k)
    matrices = 1 if loss.quadratic and not single else k
    solution = np.inf if loss.multiclass else solution_cost(problem.penalty, ensemble.coef, matrices)
    rows, entries = float(ensemble.support), columns.mean_entries
    sizes = np.count_nonzero(ensemble.coef, axis=0) if single else np.full(matrices, rows)
    many = not single and rows * rows * matrices > LARGEST_HESSIAN
    if not np.isfinite(solution) or many or entries * sizes.max(initial=0.0) > LARGEST_COPY:
        return np.inf
    products = 3.0 * entries * entries / m if columns.sparse else 0.1 * m
    return solution + float((sizes * sizes * products + 10.0 * sizes * entries).sum())


def support_step(problem: Problem, ensemble: Ensemble, gradient: Array, local: Array) -> Aim | None:
    """Minimise the quadratic model over the weights that are not zero, as if the penalty were smooth there.

    Weights of ℓ1 that would change their sign become zero, and rows of ℓ1/ℓ2 that would turn back. None where equations
    have no solution, or the model promises nothing.
    """
    penalty, free = problem.penalty, problem.fit_intercept
    coef, strength = ensemble.coef, problem.strength(ensemble)
    weight = (problem.weight * problem.driving_loss.sharpness)[:, None] * local

    def hessians(rows: Array, outputs: range) -> Array:
        columns = Columns(ensemble.columns.some(rows))
        alike = problem.driving_loss.quadratic  # in all outputs
        return np.stack([_hessian(columns, weight[:, r], free) for r in (outputs[:1] if alike else outputs)])

    change = support_change(penalty, hessians, coef, strength, gradient, free)
    if change is None:
        return None
    rows, shift = change[: len(coef)], change[-1] if free else np.zeros(coef.shape[1])
    push = ensemble.columns.dot(rows) + shift
    linear = float(np.vdot(gradient[: len(change)], change))
    rise = float(strength @ (penalty.value(coef + rows) - penalty.value(coef)))
    promise = -(linear + rise + 0.5 * float(np.vdot(weight, push * push)))
    return Aim(coef + rows, ensemble.intercept + shift, push, promise) if promise > 0.0 else None


def _hessian(columns: Columns, weight: Array, free: bool) -> Array:
    """Weighted products of columns, and of ones behind them."""
    hessian = columns.inner(weight)
    if free:
        edge = columns.correlate(weight[:, None])
        hessian = np.block([[hessian, edge], [edge.T, np.full((1, 1), weight.sum())]])
    hessian[np.diag_indices_from(hessian)] *= 1.0 + RIDGE
    return hessian
