"""Linear equations for the weights that are not zero, as if the penalty were smooth there: one way for every norm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

from sparseboost.penalties import L1, L1L2, L1Linf, Norm, Penalty

Array = np.ndarray
Hessians = Callable[[Array, range], Array]  # of some rows, one per output of the range, or one for all of them
# nanoseconds of equations with n unknowns: whatever n is, times n², and times n³
SINGLE_WEIGHTS, WHOLE_ROWS, TIED_ROWS = (6e4, 8.0, 0.02), (1.5e5, 25.0, 0.1), (8e4, 10.0, 0.025)
MOST_TIMES = 10  # that weights are taken out because they would change their sign
TIE = 1e-12  # share of the largest entry of a row: entries that near are equal to it


def solution_cost(penalty: Penalty, coef: Array, matrices: int) -> float:
    """About how many nanoseconds the equations take where so many matrices, one per output or one for all, are given.

    Infinitely many where there are none: entries of a row that may not be negative would have to be held one by one.
    """
    k = coef.shape[1]
    if apart(penalty, k):
        return sum(_nanoseconds(SINGLE_WEIGHTS, int(np.count_nonzero(column))) for column in coef.T)
    if not isinstance(penalty, (L1L2, L1Linf)) or penalty.positive:
        return np.inf
    size = int(np.any(coef != 0.0, axis=1).sum())
    tied = isinstance(penalty, L1Linf)
    return k * _nanoseconds(TIED_ROWS, size) if tied else matrices * _nanoseconds(WHOLE_ROWS, size)


def _nanoseconds(powers: tuple[float, float, float], size: int) -> float:
    each, square, cube = powers
    return each + size * size * (square + cube * size)


def apart(penalty: Penalty, k: int) -> bool:
    """Whether the penalty of rows of k weights is a sum over single weights."""
    return isinstance(penalty, L1) or (isinstance(penalty, Norm) and k == 1)


def support_change(
    penalty: Penalty, hessians: Hessians, coef: Array, strength: Array, gradient: Array, free: bool
) -> Array | None:
    """Change of the weights that are not zero, and of an intercept behind them if it is `free`; None if there is none.

    `hessians` are those of the loss in some rows, and in the intercept.
    """
    try:
        if apart(penalty, coef.shape[1]):
            return _weights_apart(hessians, coef, strength, gradient, free)
        rows = np.flatnonzero(np.any(coef != 0.0, axis=1))
        solve = _largest_tied if isinstance(penalty, L1Linf) else _rows_together
        return solve(hessians(rows, range(coef.shape[1])), rows, coef, strength, gradient, free)
    except LinAlgError:
        return None


def _weights_apart(hessians: Hessians, coef: Array, strength: Array, gradient: Array, free: bool) -> Array | None:
    """On its support the ℓ1 norm is linear: every output has equations of its own."""
    change = np.zeros_like(gradient)
    for r in range(coef.shape[1]):
        rows = np.flatnonzero(coef[:, r])
        every = np.append(rows, [len(coef)]) if free else rows
        if not every.size:
            continue
        pull, here = gradient[every, r].copy(), coef[rows, r]
        pull[: rows.size] += strength[rows] * np.sign(here)
        matrix = hessians(rows, range(r, r + 1))[0]
        kept = np.ones(every.size, dtype=bool)
        for _ in range(MOST_TIMES):
            step = np.zeros(every.size)
            step[: rows.size][~kept[: rows.size]] = -here[~kept[: rows.size]]
            fixed = pull[kept] + matrix[np.ix_(kept, ~kept)] @ step[~kept]
            step[kept] = -cho_solve(cho_factor(matrix[np.ix_(kept, kept)], check_finite=False), fixed)
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


def _rows_together(
    hessians: Array, rows: Array, coef: Array, strength: Array, gradient: Array, free: bool
) -> Array | None:
    r"""The ℓ2 norm of a row w = ‖w‖u has the Hessian (I − uuᵀ)/‖w‖.

    Without its second part, every output r has equations of its own, with a matrix M_r. The second part has rank one
    in each row: by the identity of Woodbury it takes equations with one unknown per row more, whose matrix is
    diag(‖w‖/strength) − Σ_r u_r u_rᵀ ∘ M_r⁻¹.
    """
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
        fixed = pull[every] + _times(hessians[:, every][:, :, ~every], step[~every])
        inverse = np.stack([_inverse(matrix[np.ix_(every, every)], stiff) for matrix in hessians])
        direct = _times(inverse, -fixed)
        radial = unit[kept]
        coupling = np.diag(1.0 / stiff) - _radial(inverse[:, :n, :n], radial)
        along = cho_solve(cho_factor(coupling, check_finite=False), (radial * direct[:n]).sum(axis=1))
        step[every] = direct + _times(inverse[:, :, :n], radial * along[:, None])
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


def _largest_tied(
    hessians: Array, rows: Array, coef: Array, strength: Array, gradient: Array, free: bool
) -> Array | None:
    r"""The ℓ∞ norm of a row is that of its largest entries, which move together; the others move freely.

    Once the free entries of every output are eliminated, what is left are equations with one unknown per row: by how
    much its largest entries grow.
    """
    k, n = coef.shape[1], rows.size
    here, top = coef[rows], np.abs(coef[rows]).max(axis=1)
    tied, sign, kept = np.abs(here) >= top[:, None] * (1.0 - TIE), np.sign(here), np.ones(n, dtype=bool)
    pull = gradient[np.append(rows, [len(coef)]) if free else rows]
    for _ in range(MOST_TIMES):
        step = np.zeros_like(pull)
        step[:n] = np.where(kept[:, None], np.where(tied, sign * top[:, None] - here, 0.0), -here)
        fixed = pull + _times(hessians, step)
        left, right, solved = np.zeros((n, n)), strength[rows] * kept, []
        for r in range(k):
            matrix = hessians[r if len(hessians) > 1 else 0]
            bound = np.flatnonzero(kept & tied[:, r])
            loose = np.flatnonzero(np.append(kept & ~tied[:, r], True)) if free else np.flatnonzero(kept & ~tied[:, r])
            side = sign[bound, r]
            cross = matrix[np.ix_(loose, bound)] * side
            answer = np.column_stack([cross, fixed[loose, r]])
            if loose.size:
                answer = cho_solve(cho_factor(matrix[np.ix_(loose, loose)], check_finite=False), answer)
            left[np.ix_(bound, bound)] += side[:, None] * matrix[np.ix_(bound, bound)] * side - cross.T @ answer[:, :-1]
            right[bound] += side * fixed[bound, r] - cross.T @ answer[:, -1]
            solved.append((bound, loose, side, answer))
        growth = np.zeros(n)
        growth[kept] = -cho_solve(cho_factor(left[np.ix_(kept, kept)], check_finite=False), right[kept])
        for r, (bound, loose, side, answer) in enumerate(solved):
            step[bound, r] += side * growth[bound]
            step[loose, r] -= answer[:, -1] + answer[:, :-1] @ growth[bound]
        moved, largest = here + step[:n], top + growth
        gone = kept & (largest < 0.0)
        over = (kept & ~gone)[:, None] & ~tied & (np.abs(moved) > largest[:, None])
        if not (gone.any() or over.any()):
            change = np.zeros_like(gradient)
            change[np.append(rows, [len(coef)]) if free else rows] = step
            return change
        kept &= ~gone
        sign, tied = np.where(over, np.sign(moved), sign), tied | over
        if not kept.any():
            return None
    return None


def _times(matrices: Array, columns: Array) -> Array:
    """Each matrix times the column of its output; one matrix alone serves all outputs."""
    if len(matrices) == 1:
        return matrices[0] @ columns
    return np.matmul(matrices, columns.T[:, :, None])[:, :, 0].T


def _radial(inverse: Array, unit: Array) -> Array:
    """Σ_r u_r u_rᵀ ∘ M_r⁻¹."""
    if len(inverse) == 1:
        return inverse[0] * (unit @ unit.T)
    return np.einsum("rjl,jr,lr->jl", inverse, unit, unit, optimize=True)


def _inverse(matrix: Array, more: Array) -> Array:
    """The inverse of a positive definite matrix with more on the diagonal of its first lines."""
    matrix[np.arange(more.size), np.arange(more.size)] += more
    factor, wrong = dpotrf(matrix, lower=1, overwrite_a=1)
    if wrong:
        raise LinAlgError("not positive definite")
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    return np.tril(lower) + np.tril(lower, -1).T
