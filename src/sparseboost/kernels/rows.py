"""Steps of one block of weights under every penalty, in place; twins of `Penalty.prox` and `exponential_step`."""

from __future__ import annotations

import math

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_inside
from sparseboost.kernels.kinds import L1, L1_L2, L1_LINF, NO_PENALTY, RIDGE, SMOOTH_L1
from sparseboost.kernels.pointwise import sigmoid

LARGEST_STEP = 30.0


@compiled
def row_value(kind, row):
    """ρ of one block."""
    total = 0.0
    for w in row:
        if kind == L1:
            total += abs(w)
        elif kind == L1_L2 or kind == RIDGE:
            total += w * w
        elif kind == L1_LINF:
            total = max(total, abs(w))
        elif kind == SMOOTH_L1:
            total += abs(w) + 2.0 * math.log1p(math.exp(-abs(w)))
    if kind == L1_L2:
        return math.sqrt(total)
    return 0.5 * total if kind == RIDGE else total


@compiled_inside
def _sift(keys, order, root, size):
    """Restore the heap (smallest key on top) below `root`."""
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and keys[order[child + 1]] < keys[order[child]]:
            child += 1
        if keys[order[root]] <= keys[order[child]]:
            return
        order[root], order[child] = order[child], order[root]
        root = child


@compiled
def descending(keys, order):
    """Fill `order` so that keys[order] falls: heapsort, because numba's own sort triples the compile time."""
    size = keys.size
    for r in range(size):
        order[r] = r
    for root in range(size // 2 - 1, -1, -1):
        _sift(keys, order, root, size)
    for end in range(size - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        _sift(keys, order, 0, end)


@compiled_inside
def _clip_level(row, threshold, scratch, order):
    """Level ξ with Σ [|w| − ξ]₊ = threshold, by sorting (0 if the sum of |w| is smaller)."""
    for r in range(row.size):
        scratch[r] = abs(row[r])
    descending(scratch, order)
    total, level = 0.0, 0.0
    for r in range(row.size):
        size = scratch[order[r]]
        total += size
        candidate = (total - threshold) / (r + 1)
        if r > 0 and size <= candidate:  # the largest entry is always cut, if only by less than rounding shows
            break
        level = candidate
    return max(level, 0.0)


@compiled_inside
def smooth_l1_entry(v, threshold):
    """Proximal map of smooth ℓ1 for one entry, by Newton's method."""
    size = abs(v)
    w = size
    for _ in range(100):
        slope = math.tanh(0.5 * w)
        step = (w - size + threshold * slope) / (1.0 + 0.5 * threshold * (1.0 - slope * slope))
        w = max(w - step, 0.0)
        if abs(step) <= 1e-15 * (1.0 + size):
            break
    return math.copysign(w, v)


@compiled
def shrink_row(kind, row, threshold, positive, scratch, order):
    """Proximal map of one block, in place; `scratch` has shape (4, k), `order` k integers."""
    k = row.size
    if positive:
        for r in range(k):
            row[r] = max(row[r], 0.0)
    if kind == L1_L2:
        size = 0.0
        for r in range(k):
            size += row[r] * row[r]
        size = math.sqrt(size)
        factor = 1.0 - threshold / size if size > threshold else 0.0
        for r in range(k):
            row[r] *= factor
    elif kind == L1_LINF:
        if threshold > 0.0:
            level = _clip_level(row, threshold, scratch[0], order)
            for r in range(k):
                row[r] = min(max(row[r], -level), level)
    elif kind == L1:
        for r in range(k):
            row[r] = math.copysign(max(abs(row[r]) - threshold, 0.0), row[r])
    elif kind == RIDGE:
        for r in range(k):
            row[r] /= 1.0 + threshold
    elif kind == SMOOTH_L1:
        for r in range(k):
            row[r] = smooth_l1_entry(row[r], threshold)


@compiled_inside
def _log_ratio(x, y):
    """ln(x/y): exact near 0 through the ratio, and through two logarithms where the ratio would leave the range."""
    ratio = x / y
    return math.log(ratio) if 1e-290 < ratio < 1e290 else math.log(x) - math.log(y)


@compiled_inside
def _entry_step(w, plus, minus, room, strength):
    """D1 for one entry."""
    if plus == 0.0 and minus == 0.0:
        return 0.0 if strength > 0.0 else w
    if strength <= 0.0:
        ratio = 0.5 * (math.log(plus) - math.log(minus))
        return w + room * min(max(ratio, -LARGEST_STEP), LARGEST_STEP)
    root = math.hypot(strength, 2.0 * math.sqrt(plus) * math.sqrt(minus))
    rise = room * _log_ratio(2.0 * plus, strength + root) if plus > 0.0 else -np.inf
    fall = room * _log_ratio(strength + root, 2.0 * minus) if minus > 0.0 else np.inf
    return max(w + rise, 0.0) + min(w + fall, 0.0)


@compiled_inside
def _log_add(a, b):
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + math.log1p(math.exp(low - high))


@compiled_inside
def _linf_step(row, plus, minus, room, strength, positive, scratch, order):
    """D2 with exponential f_r (D3, D4) in logarithms, O(k log k); `scratch` has shape (4, k)."""
    k = row.size
    reach, high, low, sign = scratch[0], scratch[1], scratch[2], scratch[3]
    pull = -np.inf
    for r in range(k):
        log_a = (math.log(plus[r]) if plus[r] > 0.0 else -np.inf) + row[r] / room
        log_b = (math.log(minus[r]) if minus[r] > 0.0 else -np.inf) - row[r] / room
        sign[r] = 1.0 if log_a > log_b else (-1.0 if log_a < log_b else 0.0)
        if positive and sign[r] < 0.0:
            sign[r] = 0.0
        high[r], low[r] = max(log_a, log_b), min(log_a, log_b)
        reach[r] = 0.0
        if sign[r] != 0.0:
            reach[r] = 0.5 * (high[r] - low[r])
            pull = _log_add(pull, high[r] + math.log1p(-math.exp(low[r] - high[r])))
        else:  # stays at 0 and must not count for the level, also when rounding makes the search run past the others
            high[r], low[r] = -np.inf, -np.inf
    log_lam = math.log(strength)
    if pull <= log_lam:
        for r in range(k):
            row[r] = 0.0
        return
    descending(reach, order)
    sum_high, sum_low, level = -np.inf, -np.inf, 0.0
    for position in range(k):
        r = order[position]
        sum_high = _log_add(sum_high, high[r])
        sum_low = _log_add(sum_low, low[r])
        root = 0.5 * _log_add(2.0 * log_lam, math.log(4.0) + sum_high + sum_low)
        level = math.log(2.0) + sum_high - _log_add(log_lam, root)
        following = reach[order[position + 1]] if position + 1 < k else 0.0
        if level >= following:
            break
    for r in range(k):
        row[r] = room * sign[r] * min(reach[r], max(level, 0.0))


@compiled
def exponential_row(kind, row, plus, minus, room, strength, positive, scratch, order):
    """AdaBoost's step of one block, in place; `scratch` has shape (4, k)."""
    k = row.size
    if kind == L1_LINF and strength > 0.0 and k > 1:
        _linf_step(row, plus, minus, room, strength, positive, scratch, order)
        return
    for r in range(k):
        if kind == SMOOTH_L1:
            up = plus[r] + strength * sigmoid(-row[r])
            down = minus[r] + strength * sigmoid(row[r])
            row[r] = _entry_step(row[r], up, down, room, 0.0)
        else:
            row[r] = _entry_step(row[r], plus[r], minus[r], room, 0.0 if kind == NO_PENALTY else strength)
        if positive:
            row[r] = max(row[r], 0.0)


@compiled_inside
def _gain(mu, d):
    """μ(1 − e^{−d}), finite whenever the product is."""
    return mu * -math.expm1(-d) if d > -700.0 else mu - math.exp(math.log(mu) - d)


@compiled
def exponential_decrease(kind, old, new, plus, minus, room, strength):
    """B1's guaranteed decrease of the objective when one block moves from old to new."""
    total = 0.0
    for r in range(old.size):
        d = (new[r] - old[r]) / room
        up, down = plus[r], minus[r]
        if kind == SMOOTH_L1:
            up += strength * sigmoid(-old[r])
            down += strength * sigmoid(old[r])
        if up > 0.0:
            total += room * _gain(up, d)
        if down > 0.0:
            total += room * _gain(down, -d)
    if kind != SMOOTH_L1 and strength > 0.0:
        total += strength * (row_value(kind, old) - row_value(kind, new))
    return total
