"""Products of columns with per-example arrays; parallel callers give disjoint ranges of columns."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.borrow import borrowed
from sparseboost.kernels.compile import compiled, compiled_exact, compiled_sum, compiled_sum_inside

TINY = float(np.finfo(float).tiny)
LANES = 32  # entries that are compared at a time
# Indices of sparse entries are unsigned: to ask whether one counts from the end would take longer than to load it. Sums
# over them are compiled in the order written: gathering examples into vectors takes longer, on many processors twice as
# long. Four sums at a time let additions overlap, and stay in registers: those of few outputs are written out, which
# takes a quarter to three quarters of the time of a loop over outputs. Most columns of text are so short that one sum
# takes less time, and so does reading them where they are instead of cutting arrays out.
NONE, ONE, TWO, THREE, FOUR = np.arange(5, dtype=np.uint64)
FEW_OUTPUTS = 8
LONG = np.uint64(64)  # entries: shorter columns are summed one by one


@compiled_sum_inside
def sum_of_squares(x):
    """Σ_i x_i²."""
    total = 0.0
    for i in range(x.size):
        total += np.float64(x[i]) * np.float64(x[i])
    return total


@compiled_sum_inside
def extremes(x, low, high):
    """Smallest and largest number of a column; `low` and `high` are room for one of each per lane.

    Lanes make vectors of it, which the compiler does not do by itself because of NaN.
    """
    whole = x.size - x.size % LANES
    for p in range(LANES):
        low[p], high[p] = x[0], x[0]
    for start in range(0, whole, LANES):
        part = x[start : start + LANES]
        for p in range(LANES):
            low[p] = part[p] if part[p] < low[p] else low[p]
            high[p] = part[p] if part[p] > high[p] else high[p]
    least, most = low[0], high[0]
    for p in range(1, LANES):
        least, most = min(least, low[p]), max(most, high[p])
    for i in range(whole, x.size):
        least, most = min(least, x[i]), max(most, x[i])
    return least, most


@compiled_exact
def gathered_sum(data, rows, start, stop, force, r):
    """Σ_p data_p force[rows_p, r] of a part of sparse columns, products in the digits of `force`, the sum in double."""
    a, some = 0.0, force.dtype.type
    if stop - start > LONG:
        b, c, d, last = 0.0, 0.0, 0.0, stop - THREE
        while start < last:
            a += some(data[start]) * force[np.uint32(rows[start]), r]
            b += some(data[start + ONE]) * force[np.uint32(rows[start + ONE]), r]
            c += some(data[start + TWO]) * force[np.uint32(rows[start + TWO]), r]
            d += some(data[start + THREE]) * force[np.uint32(rows[start + THREE]), r]
            start += FOUR
        a += b + (c + d)
    for p in range(start, stop):
        a += some(data[p]) * force[np.uint32(rows[p]), r]
    return a


@compiled_exact
def _two_sums(data, rows, start, stop, force, r, out, place):
    """Those of outputs r and r + 1."""
    a, b, c, d, last = 0.0, 0.0, 0.0, 0.0, stop - (stop - start) % TWO
    for p in range(start, last, TWO):
        x, y, i, j = data[p], data[p + ONE], np.uint32(rows[p]), np.uint32(rows[p + ONE])
        a += x * force[i, r]
        b += x * force[i, r + ONE]
        c += y * force[j, r]
        d += y * force[j, r + ONE]
    for p in range(last, stop):
        i = np.uint32(rows[p])
        a += data[p] * force[i, r]
        b += data[p] * force[i, r + ONE]
    out[place, r], out[place, r + ONE] = a + c, b + d


@compiled_exact
def _four_sums(data, rows, start, stop, force, r, out, place):
    """Those of outputs r to r + 3."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for p in range(start, stop):
        x, i = data[p], np.uint32(rows[p])
        a += x * force[i, r]
        b += x * force[i, r + ONE]
        c += x * force[i, r + TWO]
        d += x * force[i, r + THREE]
    out[place, r], out[place, r + ONE], out[place, r + TWO], out[place, r + THREE] = a, b, c, d


@compiled
def correlate(data, indices, indptr, keys, force, out, squares):
    """out[c] = Σ_i x_ij force[i] of sparse columns j = keys[c]; if there is room for them, their squares too."""
    k, sums = force.shape[1], np.empty(force.shape[1])
    data, indices, force, out = borrowed((data, indices, force, out))
    if k == 1 and squares.size == 0:
        for c in range(np.uint64(keys.size)):
            j = np.uint64(keys[c])
            out[c, 0] = gathered_sum(data, indices, np.uint64(indptr[j]), np.uint64(indptr[j + ONE]), force, NONE)
        return
    for c in range(np.uint64(keys.size)):
        j = np.uint64(keys[c])
        start, stop = np.uint64(indptr[j]), np.uint64(indptr[j + ONE])
        if k <= FEW_OUTPUTS:
            four = np.uint64(k - k % 4)
            two = np.uint64(k - k % 2)
            for r in range(NONE, four, FOUR):
                _four_sums(data, indices, start, stop, force, r, out, c)
            if four < two:
                _two_sums(data, indices, start, stop, force, four, out, c)
            if two < np.uint64(k):
                out[c, two] = gathered_sum(data, indices, start, stop, force, two)
        else:
            for r in range(k):
                sums[r] = 0.0
            for p in range(start, stop):
                x, line = data[p], force[np.uint64(indices[p])]
                for r in range(k):
                    sums[r] += x * line[r]
            for r in range(k):
                out[c, r] = sums[r]
        if squares.size:
            squares[c] = sum_of_squares(data[start:stop])


@compiled
def dot(data, indices, where, coef, out):
    """Add Σ_j x_ij coef[j] of sparse columns, which begin at where[0] and end at where[1], to out[i]."""
    k = coef.shape[1]
    for j in range(coef.shape[0]):
        one = coef[j, 0]
        for p in range(np.uint64(where[0, j]), np.uint64(where[1, j])):
            i, x = np.uint64(indices[p]), data[p]
            if k == 1:
                out[i, 0] += x * one
            else:
                for r in range(k):
                    out[i, r] += x * coef[j, r]


@compiled_sum
def correlate_dense(lines, keys, force, out, squares):
    """out[c] = Σ_i x_ij force[i] of dense columns x_j = lines[j], j = keys[c], and squares as in `correlate`."""
    for c in range(keys.size):
        x, total = lines[keys[c]], 0.0
        for i in range(x.size):
            total += np.float64(x[i]) * force[i]
        out[c] = total
        if squares.size:
            squares[c] = sum_of_squares(x)


@compiled
def convert(lines, keys, out):
    """out[c] = lines[keys[c]], in the precision of `out`."""
    for c in range(keys.size):
        x, line = lines[keys[c]], out[c]
        for i in range(x.size):
            line[i] = x[i]


@compiled_sum
def condense(lines, which, out, centre, scale):
    """out[p] = (x_j − centre_p) / scale_p, at most one in size, for dense columns x_j = lines[j] with j = which[p]."""
    m, low, high = lines.shape[1], np.empty(LANES, lines.dtype), np.empty(LANES, lines.dtype)
    for p in range(which.size):
        x, line, total = lines[which[p]], out[p], 0.0
        for i in range(m):
            total += x[i]
        mean = total / m
        least, most = extremes(x, low, high)
        size = max(most - mean, mean - least, TINY)
        centre[p], scale[p] = mean, size
        for i in range(m):
            line[i] = (x[i] - mean) / size


@compiled_sum
def split_correlate(data, indices, indptr, up, down, plus, minus):
    """μ⁺ and μ⁻ of T1 for all columns; a dense matrix in column order has an empty `indices`."""
    k = up.shape[1]
    dense = indices.size == 0
    for j in range(indptr.size - 1):
        for r in range(k):
            plus[j, r] = 0.0
            minus[j, r] = 0.0
        start = indptr[j]
        for p in range(start, indptr[j + 1]):
            i = p - start if dense else indices[p]
            x = data[p]
            for r in range(k):
                if x > 0.0:
                    plus[j, r] += x * down[i, r]
                    minus[j, r] += x * up[i, r]
                else:
                    plus[j, r] -= x * up[i, r]
                    minus[j, r] -= x * down[i, r]


@compiled
def sparse_inner(data, indices, indptr, weight, place, first, out):
    """out[place_j, place_l − first] = Σ_i weight_i x_ij x_il, from the rows of a CSR matrix; `out` is zero before.

    A negative place leaves a column out; l runs over the columns whose place is at least `first`.
    """
    longest = 0
    for i in range(indptr.size - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    at, x = np.empty(longest, np.int64), np.empty(longest)
    for i in range(indptr.size - 1):
        count = 0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            at[count], x[count] = place[np.uint64(indices[p])], data[p]
            count += at[count] >= 0
        for a in range(count):
            other = at[a] - first
            if other < 0:
                continue
            scaled = weight[i] * x[a]
            for b in range(a + 1 if first == 0 else count):
                out[np.uint64(at[b]), np.uint64(other)] += scaled * x[b]
    if first == 0:  # every pair was met once, in either order
        for j in range(out.shape[0]):
            for c in range(j):
                out[j, c] += out[c, j]
                out[c, j] = out[j, c]


@compiled
def sparse_products(data, indices, indptr, weight, first, spread, gram):
    """gram[j, c] = gram[c, j] = Σ_i weight_i x_ij x_ic of sparse columns, for all c from `first` on.

    Four columns at a time are written out in `spread`, of shape (m, 4), which is zero before and after.
    """
    size = indptr.size - 1
    for start in range(first, size, 4):
        stop = min(start + 4, size)
        for c in range(start, stop):
            for p in range(indptr[c], indptr[c + 1]):
                i = np.uint64(indices[p])
                spread[i, c - start] += weight[i] * data[p]
        for j in range(stop):
            one, two, three, four = 0.0, 0.0, 0.0, 0.0
            for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
                x, line = data[p], spread[np.uint64(indices[p])]
                one += x * line[0]
                two += x * line[1]
                three += x * line[2]
                four += x * line[3]
            sums = (one, two, three, four)
            for c in range(start, stop):
                gram[j, c] = sums[c - start]
                gram[c, j] = sums[c - start]
        for c in range(start, stop):
            for p in range(indptr[c], indptr[c + 1]):
                spread[np.uint64(indices[p]), c - start] = 0.0


@compiled
def some_rows(data, indices, indptr, place, out_data, out_indices, out_indptr):
    """Sparse columns on some examples: example i becomes place[i], or is left out where that is negative."""
    size = NONE
    for j in range(indptr.size - 1):
        out_indptr[j] = size
        for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            # written in any case, and overwritten by the next one: to guess which are left out would take longer
            row = place[np.uint64(indices[p])]
            out_data[size], out_indices[size] = data[p], row
            size += np.uint64(row >= 0)
    out_indptr[indptr.size - 1] = size
    return size
