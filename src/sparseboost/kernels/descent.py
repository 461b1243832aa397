"""Block coordinate descent on the quadratic model that one Newton step minimises, with extrapolation between sweeps.

Sweeps run over columns, or on the Hessian of the weights where it is small. Columns come as in `kernels.sweeps`. What
sums over examples is kept in single precision: the model is an approximation, and the gradient it starts from is not.
"""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled_inside, compiled_sum
from sparseboost.kernels.kinds import NO_PENALTY
from sparseboost.kernels.quadratic import quadratic_row, row_decrease
from sparseboost.kernels.rows import row_value

DEPTH = 5  # past sweeps that are combined into one step
PATIENCE = 2  # times that a row may stay zero before its column is not looked at any more


@compiled_sum
def _pull(x, rows, sparse, pushed, force):
    """Add Σ_i x_i pushed_i to the force on a row."""
    k = force.size
    if k == 1:
        total = 0.0
        if sparse:
            for p in range(x.size):
                total += x[p] * pushed[rows[p], 0]
        else:
            for i in range(x.size):
                total += x[i] * pushed[i, 0]
        force[0] += total
        return
    for p in range(x.size):
        line = pushed[rows[p] if sparse else p]
        for r in range(k):
            force[r] += x[p] * line[r]


@compiled_sum
def _spread(x, rows, sparse, weight, local, pivot, floor, d):
    """A diagonal that bounds the row's own block of the Hessian: twice the diagonal where its rows sum to zero."""
    k = d.size
    for r in range(k):
        d[r] = 1e-300
    if k == 1:
        total = 0.0
        if sparse:
            for p in range(x.size):
                total += x[p] * x[p] * (local[rows[p], 0] + floor)
        else:
            for i in range(x.size):
                total += x[i] * x[i] * (local[i, 0] + floor)
        d[0] += total
        return
    for p in range(x.size):
        i = rows[p] if sparse else p
        line, square = local[i], x[p] * x[p]
        if pivot.size == 0:
            for r in range(k):
                d[r] += square * (line[r] + floor)
        elif pivot[i] < 0:
            for r in range(k):
                d[r] += 2.0 * square * weight[i] * (line[r] * (1.0 - line[r]) + floor)
        else:
            for r in range(k):
                d[r] += 2.0 * square * weight[i] * (line[r] + floor)


@compiled_sum
def _push(x, rows, sparse, change, weight, local, pivot, pushed):
    """Add to `pushed` the curvature times the change of the scores when a row changes."""
    k = change.size
    if k == 1:
        if sparse:
            for p in range(x.size):
                pushed[rows[p], 0] += local[rows[p], 0] * (x[p] * change[0])
        else:
            for i in range(x.size):
                pushed[i, 0] += local[i, 0] * (x[i] * change[0])
        return
    for p in range(x.size):
        i = rows[p] if sparse else p
        line, own = pushed[i], local[i]
        if pivot.size == 0:
            for r in range(k):
                line[r] += own[r] * (x[p] * change[r])
        elif pivot[i] < 0:
            mean = 0.0
            for r in range(k):
                mean += own[r] * change[r]
            for r in range(k):
                line[r] += x[p] * weight[i] * own[r] * (change[r] - mean)
        else:
            centre, total = change[pivot[i]], 0.0
            for r in range(k):
                part = x[p] * weight[i] * own[r] * (change[r] - centre)
                line[r] += part
                total += part
            line[pivot[i]] -= total


@compiled_sum
def _push_slope(gram, j, change, coupled, slope):
    """Add what the Hessian makes of the change of a row to the slopes of all rows."""
    n = gram.shape[0]
    for r in range(change.size):
        if change[r] != 0.0:
            line = gram[j, r if gram.shape[1] > 1 else 0]
            first = 0 if coupled else r * n
            for p in range(line.size):
                slope[first + p] += change[r] * line[p]


@compiled_inside
def _extrapolate(past, coef, positive, trial):
    """Anderson: the affine combination of past weights whose last changes cancel best; rows that are zero stay so."""
    last, n, k = past.shape[0] - 1, coef.shape[0], coef.shape[1]
    system, share = np.zeros((last, last)), np.ones(last)
    for a in range(last):
        for b in range(a + 1):
            total = 0.0
            for j in range(n):
                for r in range(k):
                    total += (past[a + 1, j, r] - past[a, j, r]) * (past[b + 1, j, r] - past[b, j, r])
            system[a, b] = total
            system[b, a] = total
    ridge = 1e-12 * np.trace(system)
    for a in range(last):  # elimination without pivots: the matrix is positive definite
        system[a, a] += ridge
        if not system[a, a] > 0.0:
            return False
        for b in range(a + 1, last):
            factor = system[b, a] / system[a, a]
            for c in range(a, last):
                system[b, c] -= factor * system[a, c]
            share[b] -= factor * share[a]
    for a in range(last - 1, -1, -1):
        for b in range(a + 1, last):
            share[a] -= system[a, b] * share[b]
        share[a] /= system[a, a]
    whole = share.sum()
    if not abs(whole) > 0.0:
        return False
    for j in range(n):
        empty = True
        for r in range(k):
            empty = empty and coef[j, r] == 0.0
        for r in range(k):
            total = 0.0
            for a in range(last):
                total += share[a] * past[a + 1, j, r]
            trial[j, r] = 0.0 if empty else total / whole
            if positive:
                trial[j, r] = max(trial[j, r], 0.0)
    return True


@compiled_inside
def _column(j, last, data, indices, indptr, ones):
    """Numbers and examples of a column; the intercept's is all ones."""
    if last:
        return ones, indices[:0]
    return data[indptr[j] : indptr[j + 1]], indices[indptr[j] : indptr[j + 1]]


@compiled_inside
def _force(j, last, data, indices, indptr, ones, gram, gradient, pivot, pushed, slope, force):
    """Slope of the model in one row."""
    n, k = gradient.shape
    for r in range(k):
        force[r] = gradient[j, r] if gram.size == 0 else slope[r * n + j]
    if gram.size == 0:
        x, rows = _column(j, last, data, indices, indptr, ones)
        _pull(x, rows, rows.size > 0, pushed, force)


@compiled_inside
def _move(j, last, change, data, indices, indptr, ones, gram, weight, local, pivot, pushed, slope):
    """Let the other rows know that one has changed."""
    if gram.size == 0:
        x, rows = _column(j, last, data, indices, indptr, ones)
        _push(x, rows, rows.size > 0, change, weight, local, pivot, pushed)
    else:
        _push_slope(gram, j, change, pivot.size > 0, slope)


@compiled_inside
def _slopes(gradient, slope):
    """Slopes of all rows at the start, one output after the other."""
    n, k = gradient.shape
    for j in range(n):
        for r in range(k):
            slope[r * n + j] = gradient[j, r]


@compiled_inside
def _fall(
    trial, start, data, indices, indptr, ones, gram, gradient, strength, kind, free, weight, local, pivot, pushed, slope
):
    """How much lower the model is at other weights; `pushed` or `slope` are made for them."""
    n, k = trial.shape
    change, force = np.empty((n, k)), np.empty(k)
    pushed[:] = 0.0
    if gram.size:
        _slopes(gradient, slope)
    for j in range(n):
        for r in range(k):
            change[j, r] = trial[j, r] - start[j, r]
        _move(j, free and j == n - 1, change[j], data, indices, indptr, ones, gram, weight, local, pivot, pushed, slope)
    fall = 0.0
    for j in range(n):
        last = free and j == n - 1
        moved = False
        for r in range(k):
            moved = moved or change[j, r] != 0.0
        if not moved:
            continue
        _force(j, last, data, indices, indptr, ones, gram, gradient, pivot, pushed, slope, force)
        for r in range(k):
            fall -= 0.5 * change[j, r] * (force[r] + gradient[j, r])
        if not last:
            fall += strength[j] * (row_value(kind, start[j]) - row_value(kind, trial[j]))
    return fall


@compiled_inside
def _sweep(
    first, watched, data, indices, indptr, ones, gram, gradient, diagonal, strength, coef, kind, positive, free,
    weight, local, pivot, floor, pushed, slope, old, force, b, scratch, order,
):  # fmt: skip
    """One step of every watched row; how much the model falls."""
    n, k = coef.shape
    gained = 0.0
    for j in range(n):
        if watched[j] <= 0:
            continue
        row, d = coef[j], diagonal[j]
        last = free and j == n - 1
        lam = 0.0 if last else strength[j]
        if first and gram.size == 0:
            x, rows = _column(j, last, data, indices, indptr, ones)
            _spread(x, rows, rows.size > 0, weight, local, pivot, floor, d)
        _force(j, last, data, indices, indptr, ones, gram, gradient, pivot, pushed, slope, force)
        for r in range(k):
            old[r] = row[r]
            b[r] = d[r] * row[r] - force[r]
        quadratic_row(NO_PENALTY if last else kind, row, d, b, lam, positive and not last, scratch, order)
        moved, empty = False, True
        for r in range(k):
            moved = moved or row[r] != old[r]
            empty = empty and row[r] == 0.0
        watched[j] = PATIENCE if gram.size > 0 or moved or not empty or last else watched[j] - 1
        if moved:
            gained += row_decrease(kind, old, row, d, force, lam)
            for r in range(k):
                old[r] = row[r] - old[r]
            _move(j, last, old, data, indices, indptr, ones, gram, weight, local, pivot, pushed, slope)
    return gained


@compiled_sum
def descend(
    data, indices, indptr, gram, gradient, diagonal, strength, coef, kind, positive, free, watched, weight, local, pivot,
    floor, most, fraction,
):  # fmt: skip
    """Sweep over the watched rows until one sweep gains little; return (decrease, sweeps).

    `watched` says how often each row may stay zero before it is not looked at any more; 0 leaves it out. With a Hessian
    a look costs nothing, and all that are watched stay so.


    `local` (m, k) is the weighted curvature per example where `pivot` is empty; pivot −1: probabilities q of softmax,
    whose curvature is diag(q) − qqᵀ; pivot c: numbers q of the pairs (r, c), with Σ_r q_r (e_r − e_c)(e_r − e_c)ᵀ.
    The `diagonal` of the first sweep over columns is computed here, from `local` + `floor`. The last row is the
    intercept if `free`; it has no column, because it would be all ones.

    With a Hessian the columns are not looked at, and neither are weight, local and floor. gram[j, r] belongs to output
    r of row j: its entries run over the rows l of the same output or, where outputs depend on each other, over those of
    all outputs s at s·n + l. gram[j, 0] serves all outputs if it is alone.
    """
    n, k = coef.shape
    ones = np.ones(local.shape[0] if free else 0)
    pushed, slope = np.zeros(local.shape, local.dtype), np.empty(n * k if gram.size else 0)
    other_pushed, other_slope = np.empty((0, k), local.dtype), slope[:0]
    if gram.size:
        _slopes(gradient, slope)
    start, trial, past, kept = coef.copy(), np.empty((n, k)), np.empty((DEPTH + 1, n, k)), 0
    old, force, b = np.empty(k), np.empty(k), np.empty(k)
    scratch, order = np.empty((4, k)), np.empty(k, dtype=np.int64)
    total, done = 0.0, 0
    while done < most:
        gained = _sweep(
            done == 0, watched, data, indices, indptr, ones, gram, gradient, diagonal, strength, coef, kind, positive,
            free, weight, local, pivot, floor, pushed, slope, old, force, b, scratch, order,
        )  # fmt: skip
        done += 1
        past[kept] = coef
        kept += 1
        if kept > DEPTH:
            if _extrapolate(past, coef, positive, trial):
                if other_pushed.size < pushed.size or other_slope.size < slope.size:
                    other_pushed, other_slope = np.empty_like(pushed), np.empty_like(slope)
                fall = _fall(
                    trial, start, data, indices, indptr, ones, gram, gradient, strength, kind, free, weight, local,
                    pivot, other_pushed, other_slope,
                )  # fmt: skip
                if fall > total + gained:
                    gained = fall - total
                    coef[:] = trial
                    pushed, other_pushed = other_pushed, pushed
                    slope, other_slope = other_slope, slope
            past[0] = coef
            kept = 1
        total += gained
        if gained <= fraction * total:
            break
    return total, done
