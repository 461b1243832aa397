"""Bins of inputs, sums of forces per bin and the scores of all thresholds; callers give disjoint ranges of inputs.

Input j owns the bins starts[j] … starts[j+1] − 1: first its n_values[j] values in order, then, where some rows have
none of them (missing, or no known category), one bin for those.
"""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_inside


@compiled_inside
def _runs(values, mass, implicit, zero_mass, run_value, run_mass):
    """Distinct values of one sorted input with their mass, among them the implicit zeros of a sparse input."""
    n, waiting, before, gathered = 0, implicit, np.nan, 0.0
    for p in range(values.size):
        value = values[p]
        if value != value:  # sorted: only missing values follow
            break
        if waiting and value >= 0.0:
            run_value[n], run_mass[n] = 0.0, zero_mass
            n, waiting, before, gathered = n + 1, False, 0.0, zero_mass
        if value != before:
            run_value[n] = value
            n, before, gathered = n + 1, value, 0.0
        gathered += mass[p] if mass.size else 1.0
        run_mass[n - 1] = gathered
    if waiting:
        run_value[n], run_mass[n] = 0.0, zero_mass
        n += 1
    return n


@compiled_inside
def _merge(run_value, run_mass, n, most, lows, highs):
    """At most `most` bins of neighbouring values with nearly the same mass; return how many."""
    if n <= most:
        for q in range(n):
            lows[q], highs[q] = run_value[q], run_value[q]
        return n
    heavy = 0.0
    for q in range(n):
        heavy += run_mass[q] / most  # such a value closes its bin; the others share the bins it leaves
    alone, left = 0, 0.0
    for q in range(n):
        if run_mass[q] >= heavy:
            alone += 1
        else:
            left += run_mass[q]
    gathered, b = 0.0, 0
    lows[0] = run_value[0]
    for q in range(n - 1):
        closes = run_mass[q] >= heavy
        if closes:
            alone -= 1
        else:
            gathered += run_mass[q]
            share = left / max(most - b - alone, 1)
            closes = gathered >= (1.0 - 1e-9) * share or n - q - 1 <= most - b - 1
        if closes and b + 1 < most:
            highs[b] = run_value[q]
            b += 1
            lows[b] = run_value[q + 1]
            left -= gathered
            gathered = 0.0
    highs[b] = run_value[n - 1]
    return b + 1


@compiled
def cut(values, mass, indptr, implicit, zero_mass, most, room, lows, highs, n_values):
    """Bins of sorted inputs: their smallest and largest values from room[j] on, and how many there are.

    `mass` may be empty: all rows weigh the same.
    """
    longest = 0
    for j in range(n_values.size):
        longest = max(longest, indptr[j + 1] - indptr[j])
    run_value, run_mass = np.empty(longest + 1), np.empty(longest + 1)
    for j in range(n_values.size):
        first, last = indptr[j], indptr[j + 1]
        own = mass[first:last] if mass.size else mass
        n = _runs(values[first:last], own, implicit[j], zero_mass[j], run_value, run_mass)
        at, end = room[j], room[j + 1]
        n_values[j] = _merge(run_value, run_mass, n, most[j], lows[at:end], highs[at:end])


@compiled
def encode(values, indptr, starts, highs, n_values, codes):
    """Bin of every value: the first whose largest value is not below it; one past the last for missing values.

    The lowest bin needs no search: it often has most of the rows. Many binary searches go step by step together: the
    processor need not guess, and works on several at once.
    """
    together = 256
    place, waiting = np.empty(together, dtype=np.uint32), np.empty(together, dtype=np.int64)
    value = np.empty(together)
    most = 1
    for j in range(n_values.size):
        most = max(most, n_values[j])
    edges = np.empty(2 * most)
    for j in range(n_values.size):
        n, size = n_values[j], 1
        while size < n:
            size *= 2
        for b in range(size):
            edges[b] = highs[starts[j] + b] if b < n - 1 else np.inf
        for first in range(indptr[j], indptr[j + 1], together):
            count = 0
            for i in range(first, min(first + together, indptr[j + 1])):
                codes[i] = 0
                value[count], waiting[count], place[count] = values[i], i, 0
                count += not values[i] <= edges[0]
            half = np.uint32(size >> 1)
            while half > 0:
                for i in range(count):
                    beyond = np.uint32(place[i] + half)
                    place[i] = beyond if edges[beyond - np.uint32(1)] < value[i] else place[i]
                half >>= np.uint32(1)
            for i in range(count):
                codes[waiting[i]] = n if value[i] != value[i] else place[i]


@compiled
def histogram(codes, force, starts, inputs, base, out):
    """Add the sum of force per bin of these inputs; codes has a row per input, out starts with bin `base`."""
    k = force.shape[1]
    for j in inputs:
        own, at = codes[j], starts[j] - base
        if k == 1:
            for i in range(own.size):
                out[at + own[i], 0] += force[i, 0]
            continue
        for i in range(own.size):
            line = out[at + own[i]]
            for r in range(k):
                line[r] += force[i, r]


@compiled
def sparse_histogram(codes, indices, indptr, zero_code, force, total, starts, inputs, base, out):
    """`histogram` from stored entries: the implicit zeros receive what the others leave of the total."""
    k = force.shape[1]
    for j in inputs:
        at = starts[j] - base
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            line = out[at + codes[p]]
            for r in range(k):
                line[r] += force[i, r]
        if zero_code[j] < 0:
            continue
        zeros = out[at + zero_code[j]]
        for r in range(k):
            stored = 0.0
            for b in range(at, at + starts[j + 1] - starts[j]):
                stored += out[b, r]
            zeros[r] += total[r] - stored


@compiled
def look_up(codes, starts, inputs, table, out):
    """Add the entries of a table over all bins, of the bins every example is in."""
    k = out.shape[1]
    for j in inputs:
        own, at = codes[j], starts[j]
        if k == 1:
            for i in range(own.size):
                out[i, 0] += table[at + own[i], 0]
            continue
        for i in range(own.size):
            line = table[at + own[i]]
            for r in range(k):
                out[i, r] += line[r]


@compiled
def sparse_look_up(codes, indices, indptr, zero_code, starts, inputs, table, out):
    """`look_up` for stored entries, beyond what implicit zeros have been given."""
    for j in inputs:
        usual = starts[j] + zero_code[j]
        for p in range(indptr[j], indptr[j + 1]):
            line, i = table[starts[j] + codes[p]], indices[p]
            for r in range(out.shape[1]):
                out[i, r] += line[r] - (table[usual, r] if zero_code[j] >= 0 else 0.0)


@compiled
def add_tables(starts, inputs, lower, upper, extra, inside, outside, coef, out):
    """Add coef times the output of every hypothesis to the bins of its input."""
    for p in range(inputs.size):
        at = starts[inputs[p]]
        for code in range(starts[inputs[p] + 1] - at):
            x = inside[p] if lower[p] <= code <= upper[p] or code == extra[p] else outside[p]
            for r in range(coef.shape[1]):
                out[at + code, r] += x * coef[p, r]


@compiled
def table_sums(starts, inputs, lower, upper, extra, inside, outside, sums, out):
    """Sum of force times output of every hypothesis, from the sums per bin."""
    for p in range(inputs.size):
        for r in range(out.shape[1]):
            out[p, r] = 0.0
        at = starts[inputs[p]]
        for code in range(starts[inputs[p] + 1] - at):
            x = inside[p] if lower[p] <= code <= upper[p] or code == extra[p] else outside[p]
            for r in range(out.shape[1]):
                out[p, r] += x * sums[at + code, r]


@compiled
def inside_sums(sums, starts, n_values, categorical, offsets, first, last, out):
    """Sum of force over the rows where each hypothesis of inputs first ≤ j < last holds, in the order of their keys.

    Numeric input: x <= t for all thresholds; then, if it has missing values, "missing" and "x <= t or missing".
    Categorical input: x == c for all categories.
    """
    for j in range(first, last):
        count = offsets[j + 1] - offsets[j]
        at, to, n = starts[j] - starts[first], offsets[j] - offsets[first], n_values[j]
        for r in range(sums.shape[1] if count else 0):
            running = 0.0
            for t in range(n if categorical[j] else n - 1):
                running = sums[at + t, r] + (0.0 if categorical[j] else running)
                out[to + t, r] = running
            if count > n - 1 and not categorical[j]:
                without = sums[at + n, r]
                out[to + n - 1, r] = without
                for t in range(n - 1):
                    out[to + n + t, r] = out[to + t, r] + without


@compiled
def strongest(sums, total, starts, n_values, categorical, cost, offsets, signs, first, last):
    """Largest |Σ_i force_i h(x_i)| / cost over inputs first ≤ j < last, from the sums per bin of a force.

    Return it, and of the first hypothesis that has it up to rounding: its value, its correlation, its key, its input,
    and the lowest, the highest and one more code where it holds.
    """
    largest, best, found, key, own, lower, upper, extra = 0.0, 0.0, 0.0, -1, -1, 0, 0, -1
    for j in range(first, last):
        count, n, at = offsets[j + 1] - offsets[j], n_values[j], starts[j] - starts[first]
        if count == 0:
            continue
        for turn in range(2 if count > n - 1 and not categorical[j] else 1):  # once more with missing values inside
            inside = sums[at + n, 0] if turn else 0.0
            for t in range(-turn, n if categorical[j] else n - 1):
                if categorical[j]:
                    inside = sums[at + t, 0]
                elif t >= 0:
                    inside += sums[at + t, 0]
                correlation = 2.0 * inside - total if signs else inside
                place = offsets[j] + t + (n if turn else 0)
                value = abs(correlation) / cost[place]
                if value <= largest:
                    continue
                largest = value
                if value > best * (1.0 + 1e-12):  # what only rounding makes larger is a tie
                    best, found, own = value, correlation, j
                    lower, upper, extra = (t if categorical[j] else 0), t, (n if turn else -1)
                    key = place
    return largest, best, found, key, own, lower, upper, extra


@compiled_inside
def _peaks(value, other, above, reach, tier):
    """Tier 1 for local maxima along one input that are no smaller than the other direction, 2 within ± reach too."""
    n = value.size
    for t in range(n):
        v = value[t]
        if not v > above or (t > 0 and value[t - 1] >= v) or (t + 1 < n and value[t + 1] > v):
            continue
        if other.size and other[t] > v:
            continue
        tier[t] = 2
        for u in range(max(t - reach, 0), min(t + reach + 1, n)):
            if value[u] > v or (value[u] == v and u < t):
                tier[t] = 1
                break


@compiled
def tiers(value, n_values, categorical, offsets, first, last, above, mirrored, tier):
    """How much a hypothesis adds to its neighbours: 2 a summit of its input, 1 a local maximum, 0 else, −1 a mirror.

    The second of two categories is the mirror of the first.
    """
    for p in range(tier.size):
        tier[p] = 0
    for j in range(first, last):
        count, at, n = offsets[j + 1] - offsets[j], offsets[j] - offsets[first], n_values[j]
        if count == 0:
            continue
        if categorical[j]:
            best = at
            for p in range(at, at + count):
                tier[p] = 1
                if value[p] > value[best]:
                    best = p
            tier[best] = 2
            if mirrored and count == 2:
                tier[at + 1] = -1
            continue
        reach = max(n // 8, 1)
        right, left = value[at : at + n - 1], value[at + n : at + count]
        _peaks(right, left, above, reach, tier[at : at + n - 1])
        if count > n - 1:
            tier[at + n - 1] = 2  # missing or not
            _peaks(left, right, above, reach, tier[at + n : at + count])


@compiled
def interval_columns(codes, indices, indptr, zero_code, inputs, lower, upper, extra, inside, outside, out):
    """out[p, i] = inside if lower ≤ code ≤ upper or code = extra, else outside; dense codes have empty `indices`."""
    sparse = zero_code.size > 0
    m = out.shape[1]
    for p in range(inputs.size):
        j, low, high, more, yes, no = inputs[p], lower[p], upper[p], extra[p], inside[p], outside[p]
        first, last = (indptr[j], indptr[j + 1]) if sparse else (j * m, (j + 1) * m)
        line = out[p]
        if sparse:
            zero = zero_code[j]
            usual = yes if (low <= zero <= high or zero == more) and zero >= 0 else no
            for i in range(m):
                line[i] = usual
        for q in range(first, last):
            code = np.int64(codes[q])
            i = indices[q] if sparse else q - first
            line[i] = yes if low <= code <= high or code == more else no


@compiled
def interval_column(codes, lower, upper, extra, inside, outside, out):
    """One column of `interval_columns`, from the codes of one input of dense data."""
    for i in range(out.size):
        code = np.int64(codes[i])
        out[i] = inside if lower <= code <= upper or code == extra else outside


@compiled
def table_columns(codes, indices, indptr, zero_code, inputs, table, out):
    """out[p, i] = table[p, code]."""
    sparse = zero_code.size > 0
    m = out.shape[1]
    for p in range(inputs.size):
        j = inputs[p]
        first, last = (indptr[j], indptr[j + 1]) if sparse else (j * m, (j + 1) * m)
        if sparse and zero_code[j] >= 0:
            for i in range(m):
                out[p, i] = table[p, zero_code[j]]
        for q in range(first, last):
            i = indices[q] if sparse else q - first
            out[p, i] = table[p, codes[q]]
