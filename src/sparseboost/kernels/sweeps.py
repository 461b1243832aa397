"""One pass of single-row updates over the active columns: the inner loop of AdaBoost and GradBoost.

Columns come as (data, indices, indptr) of a CSC matrix; a dense matrix in column order has an empty `indices`.
`up` and `down` hold the weighted parts of the loss gradient and are kept in step with `score`.
"""

from __future__ import annotations

import math

import numpy as np

from sparseboost.kernels.compile import compiled
from sparseboost.kernels.pointwise import refresh
from sparseboost.kernels.rows import exponential_decrease, exponential_row, row_value, shrink_row


@compiled
def sweep(exponential, data, indices, indptr, room, strength, coef, kind, positive, loss, y, weight, score, up, down):
    """Update every row once, in order; return the decrease the bounds guarantee.

    `room` is a_j of the exponential bound (AdaBoost) or the step η_j of the quadratic one (GradBoost); rows with
    room 0 are left alone. `loss` is (kind, p0, p1).
    """
    k = coef.shape[1]
    dense = indices.size == 0
    plus, minus, old = np.empty(k), np.empty(k), np.empty(k)
    scratch, order = np.empty((4, k)), np.empty(k, dtype=np.int64)
    loss_kind, p0, p1 = loss
    decrease = 0.0
    for j in range(coef.shape[0]):
        if room[j] == 0.0:
            continue
        row = coef[j]
        for r in range(k):
            plus[r], minus[r], old[r] = 0.0, 0.0, row[r]
        start, stop = indptr[j], indptr[j + 1]
        for p in range(start, stop):
            i = p - start if dense else indices[p]
            x = data[p]
            for r in range(k):
                if x > 0.0:
                    plus[r] += x * down[i, r]
                    minus[r] += x * up[i, r]
                else:
                    plus[r] -= x * up[i, r]
                    minus[r] -= x * down[i, r]
        if exponential:
            exponential_row(kind, row, plus, minus, room[j], strength[j], positive, scratch, order)
        else:
            for r in range(k):
                row[r] -= room[j] * (minus[r] - plus[r])
            shrink_row(kind, row, room[j] * strength[j], positive, scratch, order)
        moved = False
        for r in range(k):
            moved = moved or row[r] != old[r]
        if not moved:
            continue
        if exponential:
            decrease += exponential_decrease(kind, old, row, plus, minus, room[j], strength[j])
        else:
            gain = strength[j] * (row_value(kind, old) - row_value(kind, row)) if strength[j] > 0.0 else 0.0
            for r in range(k):
                d = row[r] - old[r]
                gain -= d * (minus[r] - plus[r]) + d * d / (2.0 * room[j])
            decrease += gain
        for p in range(start, stop):
            i = p - start if dense else indices[p]
            x = data[p]
            if x != 0.0:
                for r in range(k):
                    score[i, r] += x * (row[r] - old[r])
                refresh(loss_kind, p0, p1, i, y, weight, score, up, down)
    return decrease


@compiled
def shift(exponential, room, intercept, loss, y, weight, score, up, down):
    """Update the unpenalised intercept once; return the decrease its bound guarantees."""
    m, k = score.shape
    loss_kind, p0, p1 = loss
    decrease = 0.0
    step = np.empty(k)
    for r in range(k):
        plus, minus = 0.0, 0.0
        for i in range(m):
            plus += down[i, r]
            minus += up[i, r]
        step[r] = 0.0
        if exponential:
            if plus > 0.0 and minus > 0.0:
                step[r] = 0.5 * room * (math.log(plus) - math.log(minus))
                decrease += room * (math.sqrt(plus) - math.sqrt(minus)) ** 2
        else:
            step[r] = room * (plus - minus)
            decrease += 0.5 * room * (plus - minus) ** 2
    for r in range(k):
        intercept[r] += step[r]
    for i in range(m):
        for r in range(k):
            score[i, r] += step[r]
        refresh(loss_kind, p0, p1, i, y, weight, score, up, down)
    return decrease
