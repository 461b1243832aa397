"""Products of sparse inputs: their columns, and one level of the tree of products with correlations and bounds."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_inside


@compiled
def multiply(data, indices, indptr, factors, ends):
    """Columns of products of columns of a CSC matrix, each given by a row of `factors`; `ends` are their ends."""
    room = 0
    for n in range(factors.shape[0]):
        room += indptr[factors[n, 0] + 1] - indptr[factors[n, 0]]
    rows, values = np.empty(room, np.int32), np.empty(room)
    last = 0
    for n in range(factors.shape[0]):
        first = last
        for p in range(indptr[factors[n, 0]], indptr[factors[n, 0] + 1]):
            rows[last], values[last] = indices[p], data[p]
            last += 1
        for q in range(1, factors.shape[1]):
            kept, at = first, first
            for p in range(indptr[factors[n, q]], indptr[factors[n, q] + 1]):  # two sorted lists of rows
                while at < last and rows[at] < indices[p]:
                    at += 1
                if at < last and rows[at] == indices[p]:
                    rows[kept], values[kept] = rows[at], values[at] * data[p]
                    kept += 1
                    at += 1
            last = kept
        ends[n] = last
    return values[:last], rows[:last]


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
def _by_rows(indptr, indices, entries, at, low, high, top, place, rows, ends, item, entry, cursor):
    """Members low ≤ e < high by rows; cursor stands behind the members e ≤ top of each row. Returns how many rows."""
    count = 0
    ends[0] = 0
    for e in range(low, high):
        for p in range(indptr[at[e]], indptr[at[e] + 1]):
            i = indices[p]
            if place[i] < 0:
                place[i], rows[count] = count, i
                count += 1
                ends[count] = 0
            ends[place[i] + 1] += 1
    for n in range(count):
        ends[n + 1] += ends[n]
        cursor[n] = ends[n]
    for e in range(low, high):
        for p in range(indptr[at[e]], indptr[at[e] + 1]):
            n = place[indices[p]]
            item[cursor[n]], entry[cursor[n]] = e - low, entries[p]
            cursor[n] += 1
    for n in range(count):
        while cursor[n] > ends[n] and item[cursor[n] - 1] > top - low:
            cursor[n] -= 1
    return count


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
    indptr, indices, entries, values, at, force, start, bound, cost, base, powers, leaf, signed, one_sided,
    each, together, round_norm, threshold, limit, group, top, budget, left, right, correlation, absolute,
    new_indptr, new_indices, new_entries, new_values,
):  # fmt: skip
    """Products of two members of a group, times what the group shares, whose size may exceed the limit.

    A member e is the product of what its group shares with one more input; column at[e] holds the rows where it is not
    zero, the input's entries there, and the product's values. Groups are walked upwards from `group`, the members of a
    group downwards from `top`: a member meets itself (with `powers`) and the members behind it. Members whose bound is
    at most `threshold` take no part. The walk ends when the output is full or the budget of additions is spent. The
    same columns of what was found, unless these are leaves, are the next level's.

    Returns
    -------
    found, visited : int
        Entries written, and products looked at.
    group, top : int
        Where to go on; group is the number of groups at the end.
    """
    m, k = force.shape
    place, rows = np.full(m, -1, np.int32), np.empty(m, np.int32)
    ends, cursor = np.empty(m + 1, np.int64), np.empty(m, np.int64)
    widest, most = 0, 0
    for g in range(group, start.size - 1):
        widest = max(widest, start[g + 1] - start[g])
        total = 0
        for e in range(start[g], start[g + 1]):
            total += indptr[at[e] + 1] - indptr[at[e]]
        most = max(most, total)
    item, entry = np.empty(most, np.uint32), np.empty(most)
    sums, slot = np.empty((widest, k if leaf else 2 * k)), np.full(widest, -1, np.int64)
    touched, seen = np.empty(widest, np.int32), np.full(widest, -1, np.int64)
    extent = np.empty(k)
    found, visited, work = 0, 0, 0
    new_indptr[0] = 0
    for g in range(group, start.size - 1):
        low, high = start[g], start[g + 1]
        while low < high and bound[low] <= threshold:
            low += 1
        if g != group or top < 0:
            top = high - 1
        if low > top:
            continue
        count = _by_rows(indptr, indices, entries, at, low, high, top, place, rows, ends, item, entry, cursor)
        for b in range(top, low - 1, -1):
            n_touched, more = 0, 0
            for p in range(indptr[at[b]], indptr[at[b] + 1]):
                n = place[indices[p]]
                cursor[n] -= 1  # now at b itself
                more += ends[n + 1] - cursor[n]
            full = found + high - b > left.size or (not leaf and new_indptr[found] + more > new_indices.size)
            if full or work > budget:
                return found, visited, g, b
            work += more
            behind = b - low if powers else b - low + 1
            skip = 0 if powers else 1
            all_of_them = more > high - b  # most members behind b will be met: they are cleared at once
            if all_of_them:
                for e in range(behind, high - low):
                    touched[n_touched] = e
                    n_touched += 1
                sums[behind : high - low] = 0.0
            for p in range(indptr[at[b]], indptr[at[b] + 1]):
                n = place[indices[p]]
                if not all_of_them:
                    for z in range(cursor[n] + skip, ends[n + 1]):
                        e = item[z]
                        if seen[e] != b:
                            seen[e], touched[n_touched] = b, e
                            n_touched += 1
                            sums[e] = 0.0
                _add(item, entry, cursor[n] + skip, ends[n + 1], values[p], force, indices[p], sums)
            visited += n_touched
            least, old = limit * cost[b] / each[0], found
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
                        slot[e - low] = found
                        new_indptr[found + 1] = 0
                    found += 1
            if leaf or found == old:
                continue
            for p in range(indptr[at[b]], indptr[at[b] + 1]):
                n = place[indices[p]]
                for z in range(cursor[n] + skip, ends[n + 1]):
                    if slot[item[z]] >= 0:
                        new_indptr[slot[item[z]] + 1] += 1
            begin = new_indptr[old]
            for f in range(old, found):
                new_indptr[f + 1] += new_indptr[f]
            for p in range(indptr[at[b]], indptr[at[b] + 1]):
                n = place[indices[p]]
                for z in range(cursor[n] + skip, ends[n + 1]):
                    f = slot[item[z]]
                    if f >= 0:
                        q = new_indptr[f]
                        new_indices[q], new_entries[q] = indices[p], entry[z]
                        new_values[q] = values[p] * entry[z]
                        new_indptr[f] += 1
            for f in range(found, old, -1):  # filling moved every start to its end
                new_indptr[f] = new_indptr[f - 1]
            new_indptr[old] = begin
            for f in range(old, found):
                slot[right[f] - low] = -1
        for n in range(count):
            place[rows[n]] = -1
    return found, visited, start.size - 1, -1
