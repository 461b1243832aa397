"""One column in the quadratic model of a Newton step: what the scores pull it by, and what it pushes them by.

Columns come as in `kernels.sweeps`: numbers `x` and the examples `rows` they belong to, none for a dense column. The
curvature `local`, `weight` and `pivot` are those of `kernels.descent.descend`. What is pushed has the digits of
`local`, and so must everything that makes it: converting many numbers takes longer than multiplying them. Sparse
numbers are converted one by one as they are met.
"""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled_inside, compiled_sum_inside

BLOCK = 4096  # examples that are summed in few digits before the sum goes on in double precision


@compiled_sum_inside
def pull(x, rows, pushed, force):
    """Add Σ_i x_i pushed_i to the force on a row."""
    k = force.size
    if rows.size == 0:
        for r in range(k):
            for start in range(0, x.size, BLOCK):
                some, line, part = x[start : start + BLOCK], pushed[r, start : start + BLOCK], pushed.dtype.type(0.0)
                for i in range(some.size):
                    part += some[i] * line[i]
                force[r] += part
    elif k == 1:
        total = 0.0
        for p in range(x.size):
            total += pushed.dtype.type(x[p]) * pushed[np.uint32(rows[p]), 0]
        force[0] += total
    else:
        for p in range(x.size):
            line, one = pushed[np.uint32(rows[p])], pushed.dtype.type(x[p])
            for r in range(k):
                force[r] += one * line[r]


@compiled_sum_inside
def _spread_dense(x, bound, local, pivot, floor, d):
    """`spread` of a dense column."""
    floor, one = local.dtype.type(floor), local.dtype.type(1.0)
    for r in range(d.size):
        d[r] = 1e-300
        for start in range(0, x.size, BLOCK):
            some, own, part = x[start : start + BLOCK], local[r, start : start + BLOCK], local.dtype.type(0.0)
            times = bound[start : start + BLOCK]
            if pivot.size == 0:
                for i in range(some.size):
                    part += some[i] * some[i] * (own[i] + floor)
            elif pivot[0] < 0:
                for i in range(some.size):
                    part += some[i] * some[i] * times[i] * (min(own[i], one - own[i]) + floor)
            else:
                for i in range(some.size):
                    part += some[i] * some[i] * times[i] * (own[i] + floor)
            d[r] += part


@compiled_sum_inside
def _spread_sparse(x, rows, bound, local, pivot, floor, d):
    """`spread` of a sparse column."""
    k = d.size
    for r in range(k):
        d[r] = 1e-300
    for p in range(x.size):
        i = np.uint32(rows[p])
        square = x[p] * x[p]
        if pivot.size == 0:
            for r in range(k):
                d[r] += square * (local[i, r] + floor)
        elif pivot[0] < 0:
            for r in range(k):
                d[r] += square * bound[i] * (min(local[i, r], 1.0 - local[i, r]) + floor)
        else:
            for r in range(k):
                d[r] += square * bound[i] * (local[i, r] + floor)


@compiled_inside
def spread(x, rows, bound, local, pivot, floor, d):
    """A diagonal that bounds the row's own block of the Hessian, by the `bound` of every example's."""
    if rows.size == 0:
        _spread_dense(x, bound, local, pivot, floor, d)
    else:
        _spread_sparse(x, rows, bound, local, pivot, floor, d)


@compiled_sum_inside
def _push_dense(x, change, weight, local, pivot, pushed, mean):
    """`push` of a dense column."""
    k = change.size
    if pivot.size == 0:
        for r in range(k):
            line, own, one = pushed[r], local[r], change[r]
            for i in range(x.size):
                line[i] += own[i] * (x[i] * one)
        return
    if pivot[0] < 0:
        for i in range(x.size):
            mean[i] = 0.0
        for r in range(k):
            own, one = local[r], change[r]
            for i in range(x.size):
                mean[i] += own[i] * one
    else:
        for i in range(x.size):
            mean[i] = change[pivot[i]]
    for r in range(k):
        line, own, one = pushed[r], local[r], change[r]
        for i in range(x.size):
            line[i] += x[i] * weight[i] * own[i] * (one - mean[i])
    if pivot[0] >= 0:
        for i in range(x.size):
            total = local.dtype.type(0.0)
            for r in range(k):
                total += local[r, i] * (change[r] - mean[i])
            pushed[pivot[i], i] -= x[i] * weight[i] * total


@compiled_sum_inside
def _push_sparse(x, rows, change, weight, local, pivot, pushed):
    """`push` of a sparse column. An array cut out for every example would cost more than what is done with it."""
    k = change.size
    if k == 1:
        for p in range(x.size):
            i = np.uint32(rows[p])
            pushed[i, 0] += local[i, 0] * (local.dtype.type(x[p]) * change[0])
    elif pivot.size == 0:
        for p in range(x.size):
            i, one = np.uint32(rows[p]), local.dtype.type(x[p])
            for r in range(k):
                pushed[i, r] += local[i, r] * (one * change[r])
    elif pivot[0] < 0:
        for p in range(x.size):
            i = np.uint32(rows[p])
            centre, size = local.dtype.type(0.0), local.dtype.type(x[p]) * weight[i]
            for r in range(k):
                centre += local[i, r] * change[r]
            for r in range(k):
                pushed[i, r] += size * local[i, r] * (change[r] - centre)
    else:
        for p in range(x.size):
            i = np.uint32(rows[p])
            centre, total, size = change[pivot[i]], local.dtype.type(0.0), local.dtype.type(x[p]) * weight[i]
            for r in range(k):
                part = size * local[i, r] * (change[r] - centre)
                pushed[i, r] += part
                total += part
            pushed[i, pivot[i]] -= total


@compiled_inside
def push(x, rows, change, weight, local, pivot, pushed, mean):
    """Add to `pushed` the curvature times the change of the scores when a row changes."""
    if rows.size == 0:
        _push_dense(x, change, weight, local, pivot, pushed, mean)
    else:
        _push_sparse(x, rows, change, weight, local, pivot, pushed)
