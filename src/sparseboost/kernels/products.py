"""One level of the tree of products over sparse inputs: correlations and bounds of products that share a parent."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_inside


@compiled_inside
def _size(extent, each, together, round_norm):
    """The dual norm of an extent ≥ 0: exact for ℓ1, ℓ2 and ℓ∞, an upper bound for any other monotone norm."""
    total, largest, squares = 0.0, 0.0, 0.0
    for r in range(extent.size):
        part = each[r] * extent[r]
        total += part
        squares += part * part
        largest = max(largest, extent[r])
    if round_norm:
        return np.sqrt(squares)
    return min(total, together * largest)


@compiled_inside
def _parent(data, indices, indptr, prefix, place, rows, value):
    """Rows where the product of the prefix is not zero, and its values there; place[i] is the position of row i."""
    count = place.size
    if prefix.size == 0:
        for i in range(count):
            rows[i], value[i] = i, 1.0
    else:
        count = 0
        for p in range(indptr[prefix[0]], indptr[prefix[0] + 1]):
            rows[count], value[count] = indices[p], data[p]
            count += 1
    for q in range(1, prefix.size):
        kept, n = 0, 0
        for p in range(indptr[prefix[q]], indptr[prefix[q] + 1]):  # two sorted lists of rows
            while n < count and rows[n] < indices[p]:
                n += 1
            if n < count and rows[n] == indices[p]:
                rows[kept], value[kept] = rows[n], value[n] * data[p]
                kept += 1
                n += 1
        count = kept
    for n in range(count):
        place[rows[n]] = n
    return count


@compiled_inside
def _rows_of(data, indices, indptr, member, low, high, top, place, count, ends, item, entry, cursor):
    """Members low ≤ e < high by rows of the parent; cursor stands behind the members e ≤ top of each row."""
    for n in range(count + 1):
        ends[n] = 0
    for e in range(low, high):
        for p in range(indptr[member[e]], indptr[member[e] + 1]):
            n = place[indices[p]]
            if n >= 0:
                ends[n + 1] += 1
    for n in range(count):
        ends[n + 1] += ends[n]
        cursor[n] = ends[n]
    for e in range(low, high):
        for p in range(indptr[member[e]], indptr[member[e] + 1]):
            n = place[indices[p]]
            if n >= 0:
                item[cursor[n]], entry[cursor[n]] = e - low, data[p]
                cursor[n] += 1
    for n in range(count):
        while cursor[n] > ends[n] and item[cursor[n] - 1] > top - low:
            cursor[n] -= 1


@compiled_inside
def _add(item, entry, first, last, times, force, i, sums):
    """Add times · entry · force[i] to the sums of items, and its size where sums have room for it."""
    k = force.shape[1]
    both = sums.shape[1] > k
    if k == 1:
        part = times * force[i, 0]
        if both:
            for z in range(first, last):
                sums[item[z], 0] += part * entry[z]
                sums[item[z], 1] += abs(part * entry[z])
        else:
            for z in range(first, last):
                sums[item[z], 0] += part * entry[z]
        return
    for z in range(first, last):
        x = times * entry[z]
        for r in range(k):
            sums[item[z], r] += x * force[i, r]
            if both:
                sums[item[z], k + r] += abs(x * force[i, r])


@compiled
def expand(
    data, indices, indptr, force, prefix, start, member, bound, cost, base, powers, leaf, signed, one_sided,
    each, together, round_norm, threshold, limit, group, top, budget, left, right, correlation, absolute,
):  # fmt: skip
    """Products of two members of a group, times what the group shares, whose size may exceed the limit.

    Groups are walked upwards from `group`, the members of a group downwards from `top`: a member meets itself (with
    `powers`) and the members behind it. Members whose bound is at most `threshold` take no part. The walk ends when
    the output is full or the budget of additions is spent.

    Returns
    -------
    found, visited : int
        Entries written, and products whose rows meet.
    group, top : int
        Where to go on; group is the number of groups at the end.
    """
    m, k = force.shape
    place, rows, value = np.full(m, -1, np.int32), np.empty(m, np.int32), np.empty(m)
    ends, cursor = np.empty(m + 1, np.int64), np.empty(m, np.int64)
    widest, entries = 0, 0
    for g in range(group, start.size - 1):
        widest = max(widest, start[g + 1] - start[g])
        total = 0
        for e in range(start[g], start[g + 1]):
            total += indptr[member[e] + 1] - indptr[member[e]]
        entries = max(entries, total)
    item, entry = np.empty(entries, np.uint32), np.empty(entries)
    sums = np.empty((widest, k if leaf else 2 * k))
    touched, seen = np.empty(widest, np.int32), np.full(widest, -1, np.int64)
    extent = np.empty(k)
    found, visited, work = 0, 0, 0
    for g in range(group, start.size - 1):
        low, high = start[g], start[g + 1]
        while low < high and bound[low] <= threshold:
            low += 1
        if g != group or top < 0:
            top = high - 1
        if low > top:
            continue
        count = _parent(data, indices, indptr, prefix[g], place, rows, value)
        _rows_of(data, indices, indptr, member, low, high, top, place, count, ends, item, entry, cursor)
        for b in range(top, low - 1, -1):
            if found + high - b > left.size or work > budget:
                for n in range(count):
                    place[rows[n]] = -1
                return found, visited, g, b
            n_touched, more = 0, 0
            for p in range(indptr[member[b]], indptr[member[b] + 1]):
                n = place[indices[p]]
                if n >= 0:
                    cursor[n] -= 1  # now at b itself
                    more += ends[n + 1] - cursor[n]
            work += more
            behind = b - low if powers else b - low + 1
            if more > high - b:  # most members behind b will be met: all of them are cleared at once
                for e in range(behind, high - low):
                    touched[n_touched] = e
                    n_touched += 1
                sums[behind : high - low] = 0.0
            for p in range(indptr[member[b]], indptr[member[b] + 1]):
                i = indices[p]
                n = place[i]
                if n < 0:
                    continue
                first = cursor[n] if powers else cursor[n] + 1
                if more <= high - b:
                    for z in range(first, ends[n + 1]):
                        e = item[z]
                        if seen[e] != b:
                            seen[e], touched[n_touched] = b, e
                            n_touched += 1
                            sums[e] = 0.0
                _add(item, entry, first, ends[n + 1], value[n] * data[p], force, i, sums)
            visited += n_touched
            least = limit * cost[b] / each[0]
            for t in range(n_touched):
                if k == 1 and abs(sums[touched[t], -1]) <= least:
                    continue  # the common case, before anything else
                total, e = sums[touched[t]], touched[t] + low
                for r in range(k):
                    if leaf:
                        extent[r] = max(-total[r], 0.0) if one_sided else abs(total[r])
                    elif signed:
                        extent[r] = total[k + r]
                    else:
                        extent[r] = 0.5 * (total[k + r] - total[r] if one_sided else total[k + r] + abs(total[r]))
                spent = cost[b] if e == b else cost[b] + cost[e] - base[g]
                if _size(extent, each, together, round_norm) > limit * spent:
                    left[found], right[found], correlation[found] = b, e, total[:k]
                    if not leaf:
                        absolute[found] = total[k:]
                    found += 1
        for n in range(count):
            place[rows[n]] = -1
    return found, visited, start.size - 1, -1
