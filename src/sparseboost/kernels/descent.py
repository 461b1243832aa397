"""Block coordinate descent on the quadratic model that one Newton step minimises, with extrapolation between sweeps.

Sweeps run over columns, or on the Hessian of the weights where it is small. Columns come as in `kernels.sweeps`. What
sums over examples may be in single precision: the model is an approximation, and the gradient it starts from is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseboost.kernels.anderson import combine_past
from sparseboost.kernels.borrow import borrowed
from sparseboost.kernels.compile import compiled_inside, compiled_sum, compiled_sum_inside
from sparseboost.kernels.kinds import NO_PENALTY
from sparseboost.kernels.lanes import WIDTH, blank, wide
from sparseboost.kernels.model_columns import edged, examples, pull, push, spread
from sparseboost.kernels.quadratic import quadratic_row, row_decrease
from sparseboost.kernels.rows import row_value

Array = np.ndarray
DEPTH = 5  # past sweeps that are combined into one step
CONSTANT = 1e-6  # share of a row's curvature that is left to a column which is nearly constant
PATIENCE = 2  # times that a row may stay zero before its column is not looked at any more


@compiled_sum_inside
def _push_slope(gram, factor, j, change, slope):
    """Add what the Hessian makes of the change of a row to the slopes of all rows."""
    n = gram.shape[0]
    coupled = gram.shape[1] > 1 and gram.shape[2] > n
    if factor.shape[1] > 1:  # between all outputs, of one matrix that serves them all
        line = gram[j, 0]
        for s in range(slope.shape[0]):
            one = 0.0
            for r in range(change.size):
                one += factor[s, r] * change[r]
            part = slope[s]
            for p in range(n):
                part[p] += one * line[p]
        return
    for r in range(change.size):
        if change[r] == 0.0:
            continue
        line = gram[j, r if gram.shape[1] > 1 else 0]
        if coupled:
            for s in range(slope.shape[0]):
                part, some = slope[s], line[s * n : s * n + n]
                for p in range(n):
                    part[p] += change[r] * some[p]
        else:
            part, one = slope[r], change[r] * factor[r, 0]
            for p in range(n):
                part[p] += one * line[p]


# In what follows either `gram` or `columns` and `curve` are None, and the code for it is not compiled; the same holds
# for `follows`, which is None where no intercept follows: its slope, its curvature, and that between rows and it.


@compiled_inside
def _column(j, free, columns):
    """Numbers and examples of a column; the intercept's is all ones."""
    data, indices, where, ones, everyone = columns
    if j == free:
        return ones, everyone
    return data[where[0, j] : where[1, j]], examples(indices, where[0, j], where[1, j])


@compiled_inside
def _force(j, free, columns, gram, follows, gradient, curve, pushed, shift, force):
    """Slope of the model in one row."""
    k = gradient.shape[1]
    if gram is not None:
        for r in range(k):
            force[r] = pushed[r, j]
    if columns is not None:
        for r in range(k):
            force[r] = gradient[j, r]
        x, rows = _column(j, free, columns)
        pull(x, rows, pushed, curve[4], force)
    if follows is not None:
        edge = follows[2]
        for r in range(k):
            force[r] += edge[j, r] * shift[r]


@compiled_inside
def _move(j, free, change, columns, gram, factor, curve, follows, pushed, shift):
    """Let the other rows know that one has changed."""
    if gram is not None:
        _push_slope(gram, factor, j, change, pushed)
    if columns is not None:
        weight, _bound, local, pivot, room, rounded = curve
        x, rows = _column(j, free, columns)
        for r in range(change.size):
            rounded[r] = change[r]
        push(x, rows, rounded, weight, local, pivot, pushed, room)
    if follows is not None:
        _slope, corner, edge = follows
        for r in range(change.size):
            shift[r] -= edge[j, r] * change[r] / corner[r]


@compiled_inside
def _begin(gram, columns, follows, gradient, pushed, shift):
    """What is pushed before any row has moved."""
    if gram is not None:
        for j in range(gradient.shape[0]):
            for r in range(gradient.shape[1]):
                pushed[r, j] = gradient[j, r]
    if columns is not None:
        for a in range(pushed.shape[0]):
            for b in range(pushed.shape[1]):
                pushed[a, b] = 0.0
    if follows is not None:
        slope, corner, _edge = follows
        for r in range(shift.size):
            shift[r] = -slope[r] / corner[r]


@compiled_inside
def _fall(trial, start, columns, gram, factor, follows, gradient, strength, kind, free, curve, pushed, shift):
    """How much lower the model is at other weights; `pushed` and `shift` are made for them."""
    trial, start, gradient, strength = borrowed((trial, start, gradient, strength))
    n, k = trial.shape
    change, force, moved = np.empty((n, k)), np.empty(k), np.zeros(n, np.bool_)
    _begin(gram, columns, follows, gradient, pushed, shift)
    for j in range(n):
        for r in range(k):
            change[j, r] = trial[j, r] - start[j, r]
            moved[j] |= change[j, r] != 0.0
        if moved[j]:
            _move(j, free, change[j], columns, gram, factor, curve, follows, pushed, shift)
    fall = 0.0
    if follows is not None:  # beyond what the intercept gains alone
        slope, corner, _edge = follows
        for r in range(k):
            fall -= 0.5 * slope[r] * (shift[r] + slope[r] / corner[r])
    for j in range(n):
        if not moved[j]:
            continue
        _force(j, free, columns, gram, follows, gradient, curve, pushed, shift, force)
        for r in range(k):
            fall -= 0.5 * change[j, r] * (force[r] + gradient[j, r])
        if j != free:
            fall += strength[j] * (row_value(kind, start[j]) - row_value(kind, trial[j]))
    return fall


@compiled_inside
def _sweep(
    first, watched, columns, gram, factor, follows, gradient, diagonal, strength, coef, kind, positive, free, curve,
    floor, pushed, shift, scratch, order,
):  # fmt: skip
    """One step of every watched row; how much the model falls.

    What is taken out of a tuple, or cut out of an array, is counted at run time: all of that which can be is done once,
    outside the loop, because a short column takes less time than that.
    """
    watched, gradient, diagonal, strength, coef = borrowed((watched, gradient, diagonal, strength, coef))
    pushed, shift, scratch, order = borrowed((pushed, shift, scratch, order))
    n, k = coef.shape
    old, force, b, rest = scratch[0], scratch[1], scratch[2], scratch[3:]
    if gram is not None:
        products, times = borrowed((gram, factor))
    if columns is not None:
        data, indices, where, ones, everyone = borrowed(columns)
        weight, bound, local, pivot, room, rounded = borrowed(curve)
    if follows is not None:
        _slope, corner, edge = borrowed(follows)
    gained = 0.0
    for j in range(n):
        if watched[j] <= 0:
            continue
        row, d = coef[j], diagonal[j]
        lam = 0.0 if j == free else strength[j]
        if gram is not None:
            for r in range(k):
                force[r] = pushed[r, j]
        if columns is not None:
            if j == free:
                x, rows = ones, everyone
            else:
                x, rows = data[where[0, j] : where[1, j]], examples(indices, where[0, j], where[1, j])
            for r in range(k):
                force[r] = gradient[j, r]
            if first and follows is None:
                spread(x, rows, bound, local, pivot, floor, d)
            if first and follows is not None:
                edged(x, rows, bound, local, pivot, floor, room, d, edge[j])
                for r in range(k):
                    d[r] = max(d[r] - edge[j, r] * edge[j, r] / corner[r], CONSTANT * d[r])
            pull(x, rows, pushed, room, force)
        if follows is not None:
            for r in range(k):
                force[r] += edge[j, r] * shift[r]
        for r in range(k):
            old[r] = row[r]
            b[r] = d[r] * row[r] - force[r]
        quadratic_row(NO_PENALTY if j == free else kind, row, d, b, lam, positive and j != free, rest, order)
        moved, empty = False, True
        for r in range(k):
            moved = moved or row[r] != old[r]
            empty = empty and row[r] == 0.0
        if gram is None:
            watched[j] = PATIENCE if moved or not empty or j == free else watched[j] - 1
        if not moved:
            continue
        gained += row_decrease(kind, old, row, d, force, lam)
        for r in range(k):
            old[r] = row[r] - old[r]
        if gram is not None:
            _push_slope(products, times, j, old, pushed)
        if columns is not None:
            for r in range(k):
                rounded[r] = old[r]
            push(x, rows, rounded, weight, local, pivot, pushed, room)
        if follows is not None:
            for r in range(k):
                shift[r] -= edge[j, r] * old[r] / corner[r]
    return gained


@compiled_inside
def _copy(source, target):
    """Copy a matrix; this compiles in a tenth of the time of `target[:] = source`."""
    for j in range(target.shape[0]):
        for r in range(target.shape[1]):
            target[j, r] = source[j, r]


@compiled_sum
def _sweeps(
    columns, gram, factor, follows, gradient, diagonal, strength, coef, kind, positive, free, watched, curve, floor,
    most, fraction, enough, extrapolate, early, pushed, other, moved, slope,
):  # fmt: skip
    n, k = coef.shape
    start, trial, past, kept = np.empty((n, k)), np.empty((n, k)), np.empty((DEPTH + 1, n, k)), 0
    scratch, order = np.empty((4, k)), np.empty(k, dtype=np.int64)
    total, done, depth = 0.0, 0, early if early else DEPTH
    _copy(coef, start)
    shift, other_shift = np.zeros(k), np.zeros(k)
    _begin(gram, columns, follows, gradient, pushed, shift)
    while done < most:
        gained = _sweep(
            done == 0, watched, columns, gram, factor, follows, gradient, diagonal, strength, coef, kind, positive,
            free, curve, floor, pushed, shift, scratch, order,
        )  # fmt: skip
        done += 1
        _copy(coef, past[kept])
        kept += 1
        if kept > depth:
            if extrapolate and combine_past(past[:kept], coef, positive, free, trial):
                fall = _fall(
                    trial, start, columns, gram, factor, follows, gradient, strength, kind, free, curve, other,
                    other_shift,
                )  # fmt: skip
                if fall > total + gained:
                    gained = fall - total
                    _copy(trial, coef)
                    pushed, other = other, pushed
                    shift, other_shift = other_shift, shift
            _copy(coef, past[0])
            kept, depth = 1, DEPTH
        total += gained
        if fraction >= 0.0 and gained <= max(fraction * total, enough if done > early else 0.0):
            break
    for r in range(k):
        moved[r] = shift[r]
    if gram is not None:
        for j in range(n):
            for r in range(k):
                slope[j, r] = pushed[r, j]
    return total, done, pushed


def _bound(weight: Array, local: Array, pivot: Array, dense: bool) -> Array:
    """Times which a diagonal bounds the Hessian of every example.

    Softmax: diag(q) − qqᵀ ≼ max(1, 2 max_r q_r) · diag(min(q, 1 − q)). Pairs: twice the diagonal, as its rows sum to 0.
    """
    if pivot.size == 0 or pivot[0] >= 0:
        return 2.0 * weight
    return weight * np.maximum(1.0, 2.0 * local.max(axis=0 if dense else 1))


class Descent(NamedTuple):
    """What sweeps did.

    Attributes
    ----------
    gained : float
        Decrease of the model.
    sweeps : int
        How many there were.
    moved : array of shape (k,)
        Move of an intercept that follows.
    slope : array of shape (n, k)
        With a Hessian, the slope of every row.
    pushed : array
        With columns, the curvature times the change of the scores, shaped as `local`.
    """

    gained: float
    sweeps: int
    moved: Array
    slope: Array
    pushed: Array


def descend(
    columns: tuple[Array, Array | None, Array] | None, gram: Array | None, gradient: Array, diagonal: Array,
    strength: Array, coef: Array, kind: int, positive: bool, free: int, watched: Array,
    curve: tuple[Array, Array, Array] | None, floor: float, most: int, fraction: float, extrapolate: bool,
    follows: tuple[Array, Array] | None = None, enough: float = -np.inf, early: int = 0, factor: Array | None = None,
) -> Descent:  # fmt: skip
    """Sweep over the watched rows until one sweep gains little.

    Little is a `fraction` of all gains so far, or what is `enough`; if the fraction is negative, nothing is. With
    `early` > 0 the first extrapolation combines that many sweeps, and before it nothing is enough.

    `watched` says how often each row may stay zero before it is not looked at any more; 0 leaves it out. With a Hessian
    a look costs nothing, and all that are watched stay so. `free` is the row of the intercept, −1 if there is none; it
    has no column, because it would be all ones. Where outputs do not depend on each other, an intercept that is no row
    can follow them instead, at its best all the time: `follows` are its slope and curvature, of shape (k,); what it
    gains by itself is not counted.

    The model is given by `columns` and `curve`, or by the Hessian `gram`; the others are None. `columns` are numbers,
    examples (None where all are there) and where each column begins, of shape (n + 1,), or where each begins and where
    it ends, of shape (2, n). `curve` is (weight, local, pivot), where `local` is the curvature per example: (m, k) for
    sparse columns, or as `kernels.lanes.wide` makes it, (k, m) for dense ones. Where `pivot` is empty it is weighted;
    pivot −1: probabilities q of softmax, whose curvature is diag(q) − qqᵀ; pivot c: numbers q of the pairs
    (r, c), with Σ_r q_r (e_r − e_c)(e_r − e_c)ᵀ. The `diagonal` of the first sweep over columns is computed here, from
    `local` + `floor`.

    gram[j, r] belongs to output r of row j: its entries run over the rows l of the same output or, where outputs depend
    on each other, over those of all outputs s at s·n + l. gram[j, 0] serves all outputs if it is alone, times
    the `factor` of each, of shape (k, 1), and may be longer than the rows are many. Where outputs depend on each other
    and all examples have the same curvature, that factor is of shape (k, k).
    """
    full_columns, full_curve = None, None
    pushed, other = np.empty(coef.shape[::-1]), np.empty(coef.shape[::-1])
    if columns is not None and curve is not None:
        (data, indices, where), (weight, local, pivot) = columns, curve
        where = where if where.ndim == 2 else np.stack([where[:-1], where[1:]])
        ones = np.ones(weight.size if free >= 0 else 0, data.dtype)
        everyone = None if indices is None else np.arange(ones.size, dtype=np.int32)
        full_columns = data, indices, where, ones, everyone
        own, k = local.dtype, coef.shape[1]
        if indices is not None and k > 1 and local.shape[1] % WIDTH:
            local = wide(local, own)
        many = weight.size if indices is None else local.shape[1]
        weight, bound = weight.astype(own, copy=False), _bound(weight, local, pivot, indices is None).astype(own)
        rounded = np.zeros(k if indices is None else many, own)
        full_curve = weight, bound, local, pivot, np.empty(many, own), rounded
        pushed, other = blank(local.shape, own), blank(local.shape, own)
    slope = np.empty(coef.shape if columns is None else (0, 0))
    moved, factor = np.empty(coef.shape[1]), np.ones((coef.shape[1], 1)) if factor is None else factor
    total, done, pushed = _sweeps(
        full_columns, gram, factor, None if follows is None else (*follows, np.empty(coef.shape)), gradient, diagonal,
        strength, coef, kind, positive, free, watched, full_curve, floor, most, fraction, enough, extrapolate, early,
        pushed, other, moved, slope,
    )  # fmt: skip
    return Descent(float(total), done, moved, slope, pushed)
