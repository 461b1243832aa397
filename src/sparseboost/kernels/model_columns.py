"""One column in the quadratic model of a Newton step: what the scores pull it by, and what it pushes them by.

Columns come as in `kernels.sweeps`: numbers `x` and the examples `rows` they belong to, None for a dense column. The
curvature `local`, `weight` and `pivot` are those of `kernels.descent.descend`. What is pushed has the digits of
`local`, and so must everything that makes it: converting many numbers takes longer than multiplying them. Sparse
numbers are converted one by one as they are met. With several outputs and sparse columns, `local`, what is pushed and
the change of a row are as wide as `kernels.lanes.wide` makes them.

`room` is for one number per example of a dense column, or per output, as wide, of a sparse one.
"""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import overload

from sparseboost.kernels.columns import gathered_sum
from sparseboost.kernels.compile import compiled_exact, compiled_sum_inside
from sparseboost.kernels.lanes import (
    FOUR,
    MOST,
    ONE,
    THREE,
    TWO,
    WIDTH,
    add_times,
    below,
    double,
    load,
    nearest_end,
    pick,
    store,
    times,
    total,
    zeros,
)

# examples that are summed in few digits before the sum goes on in double precision: those of dense columns go into many
# sums at a time, those of sparse ones into a single one
BLOCK, SPARSE_BLOCK = 4096, 256


@compiled_sum_inside
def _pull_some(x, rows, start, stop, pushed, first, like, room):
    """Σ_i x_i pushed_i of some outputs and examples."""
    sums = zeros(pushed, like)
    for p in range(start, stop):
        sums = add_times(sums, pushed.dtype.type(x[p]), load(pushed, np.uint32(rows[p]), first, like))
    store(sums, room, 0, first)


@compiled_sum_inside
def _pull_sparse(x, rows, pushed, room, force):
    """`pull` of a sparse column."""
    width = pushed.shape[1]
    if width == 1:
        force[0] += gathered_sum(x, rows, np.uint64(0), np.uint64(x.size), pushed, np.uint64(0))
        return
    for start in range(0, x.size, SPARSE_BLOCK):
        stop = min(start + SPARSE_BLOCK, x.size)
        for first in range(0, width, MOST):
            if first + 4 * WIDTH <= width:
                _pull_some(x, rows, start, stop, pushed, first, FOUR, room)
            elif first + 3 * WIDTH == width:
                _pull_some(x, rows, start, stop, pushed, first, THREE, room)
            elif first + 2 * WIDTH == width:
                _pull_some(x, rows, start, stop, pushed, first, TWO, room)
            else:
                _pull_some(x, rows, start, stop, pushed, first, ONE, room)
        for r in range(force.size):
            force[r] += room[r]


@compiled_sum_inside
def _pull_dense(x, pushed, force):
    """`pull` of a dense column."""
    for r in range(force.size):
        for start in range(0, x.size, BLOCK):
            some, line, part = x[start : start + BLOCK], pushed[r, start : start + BLOCK], pushed.dtype.type(0.0)
            for i in range(some.size):
                part += some[i] * line[i]
            force[r] += part


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


@compiled_exact
def _spread_alone(x, rows, local, floor):
    """`spread` and `edge` of a sparse column on one output, in the order written: see `kernels.columns`."""
    one, two, three, four, last = 1e-300, 0.0, 0.0, 0.0, np.uint64(x.size - x.size % 2)
    for p in range(np.uint64(0), last, np.uint64(2)):
        q = p + np.uint64(1)
        own, other = local[np.uint32(rows[p]), 0], local[np.uint32(rows[q]), 0]
        one += x[p] * x[p] * (own + floor)
        two += x[q] * x[q] * (other + floor)
        three += x[p] * own
        four += x[q] * other
    for p in range(last, np.uint64(x.size)):
        own = local[np.uint32(rows[p]), 0]
        one += x[p] * x[p] * (own + floor)
        three += x[p] * own
    return one + two, three + four


@compiled_sum_inside
def _edged_sparse(x, rows, bound, local, pivot, floor, room, d, edge):
    """`edged` of a sparse column."""
    if d.size == 1:
        d[0], edge[0] = _spread_alone(x, rows, local, floor)
        return
    _spread_sparse(x, rows, bound, local, pivot, floor, d)
    edge[:] = 0.0
    _pull_sparse(x, rows, local, room, edge)


@compiled_sum_inside
def _edged_dense(x, bound, local, pivot, floor, d, edge):
    """`edged` of a dense column."""
    _spread_dense(x, bound, local, pivot, floor, d)
    edge[:] = 0.0
    _pull_dense(x, local, edge)


@compiled_sum_inside
def _spread_sparse(x, rows, bound, local, pivot, floor, d):
    """`spread` of a sparse column, in double precision because squares may be too small for less."""
    k = d.size
    if k == 1:
        d[0], _ = _spread_alone(x, rows, local, floor)
        return
    for first in range(0, k, WIDTH):
        sums, whole = double(zeros(local, ONE)), 0.0
        for p in range(x.size):
            i = np.uint32(rows[p])
            size = np.float64(x[p]) * x[p]
            own = load(local, i, first, ONE)
            if pivot.size:
                size *= bound[i]
                if pivot[0] < 0:
                    own = nearest_end(own)
            sums = add_times(sums, size, double(own))
            whole += size
        for r in range(first, min(first + WIDTH, k)):
            d[r] = 1e-300 + whole * floor + pick(sums, r - first)


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
def _push_some(x, rows, change, local, pushed, first, like):
    """`push` on some outputs that do not depend on each other."""
    moved = load(change, 0, first, like)
    for p in range(x.size):
        i = np.uint32(rows[p])
        push = times(load(local, i, first, like), moved)
        store(add_times(load(pushed, i, first, like), local.dtype.type(x[p]), push), pushed, i, first)


@compiled_sum_inside
def _push_classes(x, rows, change, weight, local, pushed, like):
    """`push` on the classes of softmax, all of them at once."""
    moved = load(change, 0, 0, like)
    for p in range(x.size):
        i = np.uint32(rows[p])
        own = load(local, i, 0, like)
        push = times(own, below(moved, total(times(own, moved))))
        store(add_times(load(pushed, i, 0, like), local.dtype.type(x[p]) * weight[i], push), pushed, i, 0)


@compiled_sum_inside
def _push_many_classes(x, rows, change, weight, local, pushed):
    """`push` on more classes than can be held at once."""
    width = pushed.shape[1]
    for p in range(x.size):
        i, centre = np.uint32(rows[p]), local.dtype.type(0.0)
        size = local.dtype.type(x[p]) * weight[i]
        for first in range(0, width, WIDTH):
            centre += total(times(load(local, i, first, ONE), load(change, 0, first, ONE)))
        for first in range(0, width, WIDTH):
            push = times(load(local, i, first, ONE), below(load(change, 0, first, ONE), centre))
            store(add_times(load(pushed, i, first, ONE), size, push), pushed, i, first)


@compiled_sum_inside
def _push_sparse(x, rows, change, weight, local, pivot, pushed):
    """`push` of a sparse column. An array cut out for every example would cost more than what is done with it."""
    width = pushed.shape[1]
    if width == 1:
        moved = change[0]
        for p in range(np.uint64(x.size)):
            i = np.uint32(rows[p])
            pushed[i, 0] += local[i, 0] * (local.dtype.type(x[p]) * moved)
    elif pivot.size == 0:
        for first in range(0, width, MOST):
            if first + 4 * WIDTH <= width:
                _push_some(x, rows, change, local, pushed, first, FOUR)
            elif first + 3 * WIDTH == width:
                _push_some(x, rows, change, local, pushed, first, THREE)
            elif first + 2 * WIDTH == width:
                _push_some(x, rows, change, local, pushed, first, TWO)
            else:
                _push_some(x, rows, change, local, pushed, first, ONE)
    elif pivot[0] >= 0:
        for p in range(x.size):
            i = np.uint32(rows[p])
            centre, whole, size = change[pivot[i]], local.dtype.type(0.0), local.dtype.type(x[p]) * weight[i]
            for r in range(width):
                part = size * local[i, r] * (change[r] - centre)
                pushed[i, r] += part
                whole += part
            pushed[i, pivot[i]] -= whole
    elif width == WIDTH:
        _push_classes(x, rows, change, weight, local, pushed, ONE)
    elif width == 2 * WIDTH:
        _push_classes(x, rows, change, weight, local, pushed, TWO)
    elif width == 3 * WIDTH:
        _push_classes(x, rows, change, weight, local, pushed, THREE)
    elif width == 4 * WIDTH:
        _push_classes(x, rows, change, weight, local, pushed, FOUR)
    else:
        _push_many_classes(x, rows, change, weight, local, pushed)


# What follows is chosen when code is compiled, and the other kind of column is left out of it.


def examples(indices, start, stop):
    """Examples of a column; None where all are there."""


def pull(x, rows, pushed, room, force):
    """Add Σ_i x_i pushed_i to the force on a row."""


def spread(x, rows, bound, local, pivot, floor, d):
    """A diagonal that bounds the row's own block of the Hessian, by the `bound` of every example's."""


def edged(x, rows, bound, local, pivot, floor, room, d, edge):
    """The same diagonal, and the Hessian between the row and an intercept."""


def push(x, rows, change, weight, local, pivot, pushed, room):
    """Add to `pushed` the curvature times the change of the scores when a row changes."""


@overload(examples)
def _examples(indices, start, stop):
    if isinstance(indices, types.NoneType):
        return lambda indices, start, stop: None
    return lambda indices, start, stop: indices[start:stop]


@overload(pull)
def _pull(x, rows, pushed, room, force):
    if isinstance(rows, types.NoneType):
        return lambda x, rows, pushed, room, force: _pull_dense(x, pushed, force)
    return lambda x, rows, pushed, room, force: _pull_sparse(x, rows, pushed, room, force)


@overload(spread)
def _spread(x, rows, bound, local, pivot, floor, d):
    if isinstance(rows, types.NoneType):
        return lambda x, rows, bound, local, pivot, floor, d: _spread_dense(x, bound, local, pivot, floor, d)
    return lambda x, rows, bound, local, pivot, floor, d: _spread_sparse(x, rows, bound, local, pivot, floor, d)


@overload(edged)
def _edged(x, rows, bound, local, pivot, floor, room, d, edge):
    if isinstance(rows, types.NoneType):
        return lambda x, rows, bound, local, pivot, floor, room, d, edge: _edged_dense(
            x, bound, local, pivot, floor, d, edge
        )
    return lambda x, rows, bound, local, pivot, floor, room, d, edge: _edged_sparse(
        x, rows, bound, local, pivot, floor, room, d, edge
    )


@overload(push)
def _push(x, rows, change, weight, local, pivot, pushed, room):
    if isinstance(rows, types.NoneType):
        return lambda x, rows, change, weight, local, pivot, pushed, room: _push_dense(
            x, change, weight, local, pivot, pushed, room
        )
    return lambda x, rows, change, weight, local, pivot, pushed, room: _push_sparse(
        x, rows, change, weight, local, pivot, pushed
    )
