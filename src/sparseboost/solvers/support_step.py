"""A step on the weights that are not zero, by linear equations: sweeps creep where columns are much alike."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Columns
from sparseboost.penalties import L1, L1L2, Norm
from sparseboost.problem import Problem
from sparseboost.solvers.quadratic_model import LARGEST_HESSIAN, Aim

Array = np.ndarray
LARGEST_COPY = 10_000_000  # entries of the columns that are copied
EACH = 3e5  # nanoseconds for an output, whatever its size
RIDGE = 1e-10  # share of the diagonal
MOST_TIMES = 10  # that weights are taken out because they would change their sign


def support_cost(problem: Problem, ensemble: Ensemble) -> float:
    """About how many nanoseconds `support_step` takes; infinitely many where it does not apply."""
    columns, m = ensemble.columns, problem.y.shape[0]
    apart, rows = _apart(problem), float(ensemble.support)
    # entries of a row that may not be negative would have to be held one by one
    bound = isinstance(problem.penalty, L1L2) and not problem.penalty.positive
    bound = bound and rows * rows * problem.n_outputs <= LARGEST_HESSIAN
    if problem.driving_loss.multiclass or not (apart or bound):
        return np.inf
    sizes = np.count_nonzero(ensemble.coef, axis=0) if apart else np.full(problem.n_outputs, rows)
    entries = columns.mean_entries
    if entries * sizes.max(initial=0.0) > LARGEST_COPY:
        return np.inf
    products = 3.0 * entries * entries / m if columns.sparse else 0.1 * m
    solution = (0.1 if apart else 0.15) * sizes
    return float((sizes * sizes * (products + solution) + 10.0 * sizes * entries + EACH).sum())


def support_step(problem: Problem, ensemble: Ensemble, gradient: Array, local: Array) -> Aim | None:
    """Minimise the quadratic model over the weights that are not zero, as if the penalty were smooth there.

    Weights of ℓ1 that would change their sign become zero, and rows of ℓ1/ℓ2 that would turn back. None where equations
    have no solution, or the model promises nothing.
    """
    penalty, free = problem.penalty, problem.fit_intercept
    coef, strength = ensemble.coef, problem.strength(ensemble)
    weight = (problem.weight * problem.driving_loss.sharpness)[:, None] * local
    try:
        step = _weights_apart if _apart(problem) else _rows_together
        change = step(ensemble, weight, strength, gradient, free)
    except LinAlgError:
        return None
    if change is None:
        return None
    rows, shift = change[: len(coef)], change[-1] if free else np.zeros(coef.shape[1])
    push = ensemble.columns.dot(rows) + shift
    linear = float(np.vdot(gradient[: len(change)], change))
    rise = float(strength @ (penalty.value(coef + rows) - penalty.value(coef)))
    promise = -(linear + rise + 0.5 * float(np.vdot(weight, push * push)))
    return Aim(coef + rows, ensemble.intercept + shift, push, promise) if promise > 0.0 else None


def _apart(problem: Problem) -> bool:
    """Whether the penalty is a sum over single weights."""
    return isinstance(problem.penalty, L1) or (isinstance(problem.penalty, Norm) and problem.n_outputs == 1)


def _weights_apart(ensemble: Ensemble, weight: Array, strength: Array, gradient: Array, free: bool) -> Array | None:
    """On its support the ℓ1 norm is linear: every output has equations of its own."""
    coef = ensemble.coef
    change = np.zeros_like(gradient)
    for r in range(coef.shape[1]):
        rows = np.flatnonzero(coef[:, r])
        every = np.append(rows, [len(coef)]) if free else rows
        if not every.size:
            continue
        pull, here = gradient[every, r].copy(), coef[rows, r]
        pull[: rows.size] += strength[rows] * np.sign(here)
        hessian = _hessian(Columns(ensemble.columns.some(rows)), weight[:, r], free)
        kept = np.ones(every.size, dtype=bool)
        for _ in range(MOST_TIMES):
            step = np.zeros(every.size)
            step[: rows.size][~kept[: rows.size]] = -here[~kept[: rows.size]]
            fixed = pull[kept] + hessian[np.ix_(kept, ~kept)] @ step[~kept]
            step[kept] = -cho_solve(cho_factor(hessian[np.ix_(kept, kept)], check_finite=False), fixed)
            over = kept[: rows.size] & ((here + step[: rows.size]) * here < 0.0)
            if not over.any():
                break
            kept[: rows.size] &= ~over
            if not kept.any():
                return None
        else:
            return None
        change[every, r] = step
    return change


def _rows_together(ensemble: Ensemble, weight: Array, strength: Array, gradient: Array, free: bool) -> Array | None:
    r"""The ℓ2 norm of a row w = ‖w‖u has the Hessian (I − uuᵀ)/‖w‖.

    Without its second part, every output r has equations of its own, with a matrix M_r. The second part has rank one
    in each row: by the identity of Woodbury it takes equations with one unknown per row more, whose matrix is
    diag(‖w‖/strength) − Σ_r u_r u_rᵀ ∘ M_r⁻¹.
    """
    coef, k = ensemble.coef, ensemble.coef.shape[1]
    rows = np.flatnonzero(np.any(coef != 0.0, axis=1))
    columns = Columns(ensemble.columns.some(rows))
    hessians = np.stack([_hessian(columns, weight[:, r], free) for r in range(k)])
    size = np.sqrt(np.square(coef[rows]).sum(axis=1))
    unit = coef[rows] / size[:, None]
    pull = gradient[np.append(rows, [len(coef)]) if free else rows].copy()
    pull[: rows.size] += strength[rows, None] * unit
    change, kept = np.zeros_like(gradient), np.ones(rows.size, dtype=bool)
    for _ in range(MOST_TIMES):
        step = np.zeros_like(pull)
        step[: rows.size][~kept] = -coef[rows[~kept]]
        every = np.append(kept, True) if free else kept
        stiff = strength[rows[kept]] / size[kept]
        n = stiff.size
        fixed = pull[every] + np.einsum("rjl,lr->jr", hessians[:, every][:, :, ~every], step[~every])
        inverse = np.stack([_inverse(hessian[np.ix_(every, every)], stiff) for hessian in hessians])
        direct = np.matmul(inverse, -fixed.T[:, :, None])[:, :, 0].T
        radial = unit[kept]
        coupling = np.diag(1.0 / stiff) - np.einsum("rjl,jr,lr->jl", inverse[:, :n, :n], radial, radial, optimize=True)
        along = cho_solve(cho_factor(coupling, check_finite=False), (radial * direct[:n]).sum(axis=1))
        back = np.matmul(inverse[:, :, :n], (radial * along[:, None]).T[:, :, None])[:, :, 0].T
        step[every] = direct + back
        over = kept & (((coef[rows] + step[: rows.size]) * unit).sum(axis=1) < 0.0)
        if not over.any():
            change[rows] = step[: rows.size]
            if free:
                change[-1] = step[-1]
            return change
        kept &= ~over
        if not kept.any():
            return None
    return None


def _inverse(matrix: Array, more: Array) -> Array:
    """The inverse of a positive definite matrix with more on the diagonal of its first lines."""
    matrix[np.arange(more.size), np.arange(more.size)] += more
    factor, wrong = dpotrf(matrix, lower=1, overwrite_a=1)
    if wrong:
        raise LinAlgError("not positive definite")
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    return np.tril(lower) + np.tril(lower, -1).T


def _hessian(columns: Columns, weight: Array, free: bool) -> Array:
    """Weighted products of columns, and of ones behind them."""
    hessian = columns.inner(weight)
    if free:
        edge = columns.correlate(weight[:, None])
        hessian = np.block([[hessian, edge], [edge.T, np.full((1, 1), weight.sum())]])
    hessian[np.diag_indices_from(hessian)] *= 1.0 + RIDGE
    return hessian
