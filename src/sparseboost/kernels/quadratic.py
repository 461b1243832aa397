"""Block coordinate descent on the quadratic model that one Newton step solves.

The model of a row is ½ Σ_r d_r w_r² − b_r w_r + strength·ρ(w), with the diagonal d at least the row's own block of
the Hessian, so that every row step lowers the model. Columns come as in `kernels.sweeps`.
"""

from __future__ import annotations

import math

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_inside, compiled_sum
from sparseboost.kernels.kinds import L1, L1_L2, L1_LINF, NO_PENALTY, RIDGE
from sparseboost.kernels.rows import descending, row_value, smooth_l1_entry


@compiled_inside
def _group_step(row, d, b, strength):
    """ℓ1/ℓ2: the size n of the row solves Σ_r (b_r / (d_r n + strength))² = 1; Newton on the reciprocal root."""
    k = row.size
    size, largest = 0.0, 0.0
    for r in range(k):
        size += b[r] * b[r]
        largest = max(largest, d[r])
    size = math.sqrt(size)
    if size <= strength:
        for r in range(k):
            row[r] = 0.0
        return
    n = (size - strength) / largest  # at most the solution, so Newton climbs to it
    for _ in range(50):
        total, slope = 0.0, 0.0
        for r in range(k):
            below = d[r] * n + strength
            part = (b[r] / below) ** 2
            total += part
            slope += part * d[r] / below
        step = total * (math.sqrt(total) - 1.0) / slope
        n += step
        if abs(step) <= 1e-14 * n:
            break
    for r in range(k):
        row[r] = b[r] * n / (d[r] * n + strength)


@compiled_inside
def _clipped_step(row, d, b, strength, scratch, order):
    """ℓ1/ℓ∞: D2 with quadratic functions."""
    k = row.size
    pull = 0.0
    for r in range(k):
        pull += abs(b[r])
        scratch[r] = abs(b[r]) / d[r]
    if pull <= strength:
        for r in range(k):
            row[r] = 0.0
        return
    descending(scratch, order)
    above, below, level = 0.0, 0.0, 0.0
    for position in range(k):
        above += abs(b[order[position]])
        below += d[order[position]]
        level = (above - strength) / below
        if position + 1 == k or level >= scratch[order[position + 1]]:
            break
    for r in range(k):
        row[r] = math.copysign(min(scratch[r], level), b[r])


@compiled
def quadratic_row(kind, row, d, b, strength, positive, scratch, order):
    """Minimiser of the model of one row, in place; `b` may be changed."""
    k = row.size
    if positive:
        for r in range(k):
            b[r] = max(b[r], 0.0)
    if kind == L1_L2 and k > 1 and strength > 0.0:
        _group_step(row, d, b, strength)
    elif kind == L1_LINF and k > 1 and strength > 0.0:
        _clipped_step(row, d, b, strength, scratch[0], order)
    elif kind == L1 or kind == L1_L2 or kind == L1_LINF:
        for r in range(k):
            row[r] = math.copysign(max(abs(b[r]) - strength, 0.0), b[r]) / d[r]
    elif kind == RIDGE:
        for r in range(k):
            row[r] = b[r] / (d[r] + strength)
    elif kind == NO_PENALTY:
        for r in range(k):
            row[r] = b[r] / d[r]
    else:
        for r in range(k):
            row[r] = smooth_l1_entry(b[r] / d[r], strength / d[r])


@compiled_inside
def _row_decrease(kind, old, row, d, force, strength):
    """How much the model falls when one row moves."""
    fall = 0.0
    for r in range(row.size):
        change = row[r] - old[r]
        fall -= change * force[r] + 0.5 * d[r] * change * change
    if strength > 0.0:
        fall += strength * (row_value(kind, old) - row_value(kind, row))
    return fall


@compiled_sum
def model_sweeps(
    data, indices, indptr, gradient, diagonal, strength, coef, kind, positive, free, weight, local, pivot, pushed,
    most, fraction,
):  # fmt: skip
    """Sweep over all rows once and then over those that matter, until a sweep gains little; return (decrease, sweeps).

    `local` (m, k) is the unweighted curvature per example where `pivot` is empty. Pivot −1: probabilities q of softmax,
    whose curvature is diag(q) − qqᵀ; pivot c: weights q of the pairs (r, c): Σ_r q_r (e_r − e_c)(e_r − e_c)ᵀ.
    `pushed` (m, k) holds weight · curvature · change of score and must start at zero.
    The last row is the intercept if `free`; it has no column, because it would be all ones.
    """
    n, k = coef.shape
    sparse, coupled = indices.size > 0, pivot.size > 0
    ones = np.ones(weight.size)
    scaled = weight * local[:, 0]
    old, force, b = np.empty(k), np.empty(k), np.empty(k)
    scratch, order = np.empty((4, k)), np.empty(k, dtype=np.int64)
    watched = np.ones(n, dtype=np.bool_)
    total, done = 0.0, 0
    for _ in range(most):
        done += 1
        gained = 0.0
        for j in range(n):
            if not watched[j]:
                continue
            row, d = coef[j], diagonal[j]
            last = free and j == n - 1
            if last:
                rows, x = indices[:0], ones
            else:
                rows, x = indices[indptr[j] : indptr[j + 1]], data[indptr[j] : indptr[j + 1]]
            indirect = sparse and not last
            if k == 1:
                s = 0.0
                if indirect:
                    for p in range(x.size):
                        s += x[p] * pushed[rows[p], 0]
                else:
                    for i in range(x.size):
                        s += x[i] * pushed[i, 0]
                force[0] = gradient[j, 0] + s
            else:
                for r in range(k):
                    force[r] = gradient[j, r]
                for p in range(x.size):
                    i = rows[p] if indirect else p
                    for r in range(k):
                        force[r] += x[p] * pushed[i, r]
            for r in range(k):
                old[r] = row[r]
                b[r] = d[r] * row[r] - force[r]
            lam = 0.0 if last else strength[j]
            quadratic_row(NO_PENALTY if last else kind, row, d, b, lam, positive and not last, scratch, order)
            moved, empty = False, True
            for r in range(k):
                moved = moved or row[r] != old[r]
                empty = empty and row[r] == 0.0
            watched[j] = moved or not empty or last
            if not moved:
                continue
            gained += _row_decrease(kind, old, row, d, force, lam)
            for r in range(k):
                old[r] = row[r] - old[r]
            if k == 1 and indirect:
                for p in range(x.size):
                    i = rows[p]
                    pushed[i, 0] += scaled[i] * x[p] * old[0]
            elif k == 1:
                for i in range(x.size):
                    pushed[i, 0] += scaled[i] * x[i] * old[0]
            else:
                for p in range(x.size):
                    i = rows[p] if indirect else p
                    centre = pivot[i] if coupled else 0
                    mean = 0.0
                    if coupled and centre >= 0:
                        mean = old[centre]
                    elif coupled:
                        for r in range(k):
                            mean += local[i, r] * old[r]
                    total_push = 0.0
                    for r in range(k):
                        push = x[p] * weight[i] * local[i, r] * (old[r] - mean)
                        pushed[i, r] += push
                        total_push += push
                    if coupled and centre >= 0:
                        pushed[i, centre] -= total_push
        total += gained
        if gained <= fraction * total:
            break
    return total, done


@compiled_sum
def gram_sweeps(gram, gradient, diagonal, strength, coef, kind, positive, free, coupled, most, fraction):
    """`model_sweeps` on the Hessian itself, whose cost does not depend on the number of examples.

    gram[j, r] is the row of the Hessian that belongs to output r of row j: its entries run over the rows l of the
    same output, or (`coupled`) over all outputs s of all rows at l·k + s. gram[j, 0] serves all outputs if it is alone.
    """
    n, k = coef.shape
    by_row, by_output = (k, 1) if coupled else (1, n)
    slope = np.empty(n * k)
    for j in range(n):
        for r in range(k):
            slope[j * by_row + r * by_output] = gradient[j, r]
    old, force, b = np.empty(k), np.empty(k), np.empty(k)
    scratch, order = np.empty((4, k)), np.empty(k, dtype=np.int64)
    watched = np.ones(n, dtype=np.bool_)
    total, done = 0.0, 0
    for _ in range(most):
        done += 1
        gained = 0.0
        for j in range(n):
            if not watched[j]:
                continue
            row, d = coef[j], diagonal[j]
            for r in range(k):
                force[r] = slope[j * by_row + r * by_output]
                old[r] = row[r]
                b[r] = d[r] * row[r] - force[r]
            last = free and j == n - 1
            lam = 0.0 if last else strength[j]
            quadratic_row(NO_PENALTY if last else kind, row, d, b, lam, positive and not last, scratch, order)
            moved, empty = False, True
            for r in range(k):
                moved = moved or row[r] != old[r]
                empty = empty and row[r] == 0.0
            watched[j] = moved or not empty or last
            if not moved:
                continue
            gained += _row_decrease(kind, old, row, d, force, lam)
            for r in range(k):
                change = row[r] - old[r]
                if change != 0.0:
                    line = gram[j, r if gram.shape[1] > 1 else 0]
                    first = 0 if coupled else r * n
                    for p in range(line.size):
                        slope[first + p] += change * line[p]
        total += gained
        if gained <= fraction * total:
            break
    return total, done
