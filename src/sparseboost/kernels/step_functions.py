"""All thresholds of one input at once, for one output: the best step function under a quadratic model.

A sum of stumps of one input is a step function, and their weights are its jumps: by how much it falls after a bin.
"""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_inside

Array = np.ndarray


@compiled_inside
def _step_function(curvature, pull, down, up, level, scratch):
    """Minimise Σ_b ½ curvature_b u_b² − pull_b u_b + Σ_t down_t (u_t − u_{t+1})⁺ + up_t (u_{t+1} − u_t)⁺ exactly.

    Dynamic programming over the derivative of the cost so far as a function of the last level: it is piecewise linear
    and increasing, and a jump clips it to [−down_t, up_t]. An infinite price forbids that jump. Every knot enters and
    leaves once, so the work is linear in the number of bins.
    """
    n = level.size
    knot, slope, height = scratch[0], scratch[1], scratch[2]  # where the line changes, and by how much
    lowest, highest = scratch[3], scratch[4]  # levels beyond which the clipped derivative is constant
    first, last = n, n - 1  # knots in use
    slope_left, height_left = curvature[0], -pull[0]
    slope_right, height_right = curvature[0], -pull[0]
    for t in range(n - 1):
        lowest[t], highest[t] = -np.inf, np.inf
        if down[t] < np.inf:
            while first <= last and slope_left * knot[first] + height_left <= -down[t]:
                slope_left += slope[first]
                height_left += height[first]
                first += 1
            lowest[t] = (-down[t] - height_left) / slope_left
        if up[t] < np.inf:
            while first <= last and slope_right * knot[last] + height_right >= up[t]:
                slope_right -= slope[last]
                height_right -= height[last]
                last -= 1
            highest[t] = (up[t] - height_right) / slope_right
        if down[t] < np.inf:
            first -= 1
            knot[first], slope[first], height[first] = lowest[t], slope_left, height_left + down[t]
            slope_left, height_left = 0.0, -down[t]
        if up[t] < np.inf:
            last += 1
            knot[last], slope[last], height[last] = highest[t], -slope_right, up[t] - height_right
            slope_right, height_right = 0.0, up[t]
        slope_left += curvature[t + 1]
        slope_right += curvature[t + 1]
        height_left -= pull[t + 1]
        height_right -= pull[t + 1]
    while first <= last and slope_left * knot[first] + height_left <= 0.0:
        slope_left += slope[first]
        height_left += height[first]
        first += 1
    level[n - 1] = -height_left / slope_left
    for t in range(n - 2, -1, -1):
        level[t] = min(max(level[t + 1], lowest[t]), highest[t])


def step_room(most: int) -> tuple[Array, Array, Array]:
    """Room for `step_sweep`, for inputs of at most this many bins."""
    return np.empty((2, most, 2)), np.empty((4, most)), np.empty((5, 2 * most + 2))


@compiled
def step_function(curvature, pull, down, up):
    """The levels that `_step_function` finds."""
    level = np.empty(curvature.size)
    _step_function(curvature, pull, down, up, level, np.empty((5, 2 * curvature.size + 2)))
    return level


@compiled_inside
def _price(jump, down, up):
    """Price of one jump."""
    if jump == 0.0:
        return 0.0
    return down * jump if jump > 0.0 else -up * jump


@compiled_inside
def _slope_and_bend(own, gradient, curvature, push, both, slope, bend):
    """Sums per bin of the gradient of the model and of the curvature.

    The two halves of the examples have sums of their own: an addition need not wait for the one before it, which often
    is to the same bin.
    """
    for b in range(slope.size):
        for part in range(2):
            both[part, b, 0], both[part, b, 1] = 0.0, 0.0
    half = own.size // 2
    for i in range(half):
        j = half + i
        one, other = both[0, own[i]], both[1, own[j]]
        one[0] += gradient[i] + curvature[i] * push[i]
        one[1] += curvature[i]
        other[0] += gradient[j] + curvature[j] * push[j]
        other[1] += curvature[j]
    for i in range(2 * half, own.size):
        both[0, own[i], 0] += gradient[i] + curvature[i] * push[i]
        both[0, own[i], 1] += curvature[i]
    for b in range(slope.size):
        slope[b] = both[0, b, 0] + both[1, b, 0]
        bend[b] = both[0, b, 1] + both[1, b, 1]


@compiled_inside
def _listed_slope_and_bend(
    own, rows, usual, gradient, curvature, push, level, rest_slope, rest_bend, both, slope, bend
):  # fmt: skip
    """`_slope_and_bend` from the rows that are listed; those that are not have code `usual`.

    level : what all rows were pushed by beyond `push`. rest_slope, rest_bend : sums over all rows.
    """
    for b in range(slope.size):
        both[0, b, 0], both[0, b, 1] = 0.0, 0.0
    for p in range(own.size):
        i, one = rows[p], both[0, own[p]]
        one[0] += gradient[i] + curvature[i] * (push[i] + level)
        one[1] += curvature[i]
    for b in range(slope.size):
        slope[b], bend[b] = both[0, b, 0], both[0, b, 1]
        rest_slope -= slope[b]
        rest_bend -= bend[b]
    if usual >= 0:
        slope[usual] += rest_slope
        bend[usual] += rest_bend


@compiled
def step_sweep(
    codes, indices, indptr, usual, inputs, starts, gradient, curvature, down, up, watched, jump, push, both, work,
    scratch,
):  # fmt: skip
    """One output: minimise the quadratic model over all thresholds of one input after the other.

    codes, indices, indptr, usual : of all inputs, as in `stump_bins.Entries`.
    inputs : those in use. starts : where their bins start.
    gradient, curvature : (m,) weighted, of the loss at the current scores.
    down, up : (bins,) prices of a jump after each bin. jump : (bins,), changed in place.
    watched : (inputs,) which ones to visit; only those that are not flat remain.
    push : (m,) zeros that become the change of the scores.
    both, work, scratch : what `step_room` makes.
    Return the decrease of the model, and the change of the intercept.
    """
    m, listed = gradient.size, usual.size > 0
    slope, bend, pull, new = work[0], work[1], work[2], work[3]
    decrease, shift, level, total_slope, total_bend = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        total_slope += gradient[i]
        total_bend += curvature[i]
    for place in range(inputs.size):
        if not watched[place]:
            continue
        j, at = inputs[place], starts[place]
        n = starts[place + 1] - at
        if listed:
            first, last = indptr[j], indptr[j + 1]
            own, rows = codes[first:last], indices[first:last]
            _listed_slope_and_bend(
                own, rows, usual[j], gradient, curvature, push, level, total_slope, total_bend, both, slope[:n],
                bend[:n],
            )  # fmt: skip
        else:
            own, rows = codes[j * m : (j + 1) * m], indices
            _slope_and_bend(own, gradient, curvature, push, both, slope[:n], bend[:n])
        largest = 0.0
        for b in range(n):
            largest = max(largest, bend[b])
        old = 0.0
        for b in range(n - 1, -1, -1):
            if b < n - 1:
                old += jump[at + b]
            bend[b] = max(bend[b], 1e-12 * largest + 1e-300)
            pull[b] = bend[b] * old - slope[b]
        _step_function(bend[:n], pull[:n], down[at : at + n], up[at : at + n], new[:n], scratch)
        shift += new[n - 1]
        old, changed, flat = 0.0, False, True
        for b in range(n - 1, -1, -1):
            if b < n - 1:
                before, after = jump[at + b], new[b] - new[b + 1]
                decrease += _price(before, down[at + b], up[at + b]) - _price(after, down[at + b], up[at + b])
                jump[at + b] = after
                old += before
                flat = flat and after == 0.0
            pull[b] = new[b] - old
            changed = changed or pull[b] != 0.0
            decrease -= pull[b] * (slope[b] + 0.5 * bend[b] * pull[b])
            total_slope += bend[b] * pull[b]
        watched[place] = not flat
        if not changed:
            continue
        if not listed:
            for i in range(m):
                push[i] += pull[own[i]]
            continue
        usually = pull[usual[j]] if usual[j] >= 0 else 0.0
        level += usually
        for p in range(own.size):
            push[rows[p]] += pull[own[p]] - usually
    for i in range(m):
        push[i] += level
    return decrease, shift
