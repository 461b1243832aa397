"""All thresholds of one input at once, for several outputs: rows of jumps are descended on sums per bin.

A sum of stumps of one input is a step function, and their weights are its jumps: by how much it falls after a bin.
Codes have a row per input; input j owns the bins starts[j] … starts[j+1] − 1. Only inputs in use are given.
"""

from __future__ import annotations

import math

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_inside, compiled_sum_inside
from sparseboost.kernels.kinds import L1, L1_L2, L1_LINF
from sparseboost.kernels.quadratic import quadratic_row
from sparseboost.kernels.rows import row_value

Array = np.ndarray
TOGETHER = 64  # rows that go through all inputs before the next ones
PHASES = 4  # how often thresholds are chosen anew within one input
COUPLING = 1.4  # diag(q) − qqᵀ is at most 2·diag(q(1 − q)), and mostly less than this; a search along the line watches


@compiled_inside
def _dual_size(kind, positive, force):
    """Dual norm of one row; only what pulls upwards counts where rows may not be negative."""
    total = 0.0
    for r in range(force.size):
        size = max(-force[r], 0.0) if positive else abs(force[r])
        if kind == L1:
            total = max(total, size)
        elif kind == L1_L2:
            total += size * size
        else:
            total += size
    return math.sqrt(total) if kind == L1_L2 else total


@compiled_inside
def _choose(kind, positive, force, strength, jump, chosen):
    """Thresholds in use, and those where the pull is too strong and stronger than beside them; return how many."""
    n, count = strength.size, 0
    before, here = -1.0, _dual_size(kind, positive, force[0]) / strength[0]
    for t in range(n):
        after = _dual_size(kind, positive, force[t + 1]) / strength[t + 1] if t + 1 < n else -1.0
        used = False
        for r in range(jump.shape[1]):
            used = used or jump[t, r] != 0.0
        if used or (here > 1.0 and here >= before and here > after):
            chosen[count] = t
            count += 1
        before, here = here, after
    return count


@compiled_inside
def _round(kind, positive, chosen, count, force, left, right, strength, jump, change, scratch, order):
    """Minimise over the chosen rows once each, in order; return the decrease. Forces of the chosen rows follow.

    Rows t ≤ u have the common curvature left[t]·right[u], so that forces follow from two running sums.
    """
    k = jump.shape[1]
    d, b, old, behind = scratch[4], scratch[5], scratch[6], scratch[7]
    for r in range(k):
        behind[r] = 0.0
    gained = 0.0
    for place in range(count):
        t = chosen[place]
        row = jump[t]
        for r in range(k):
            force[t, r] += right[t, r] * behind[r]
            d[r] = max(left[t, r] * right[t, r], 1e-12 * left[-1, r] + 1e-300)
            old[r] = row[r]
            b[r] = d[r] * row[r] - force[t, r]
        quadratic_row(kind, row, d, b, strength[t], positive, scratch, order)
        gained += strength[t] * (row_value(kind, old) - row_value(kind, row))
        for r in range(k):
            step = row[r] - old[r]
            gained -= step * (force[t, r] + 0.5 * d[r] * step)
            behind[r] += left[t, r] * step
            scratch[8 + place, r] = step
            change[t, r] += step
    for r in range(k):
        behind[r] = 0.0
    for place in range(count - 1, -1, -1):
        t = chosen[place]
        for r in range(k):
            behind[r] += right[t, r] * scratch[8 + place, r]
            force[t, r] += left[t, r] * behind[r]
    return gained


@compiled_inside
def _refresh(start, left, right, change, force):
    """Forces of all rows after these changes."""
    n, k = change.shape
    for r in range(k):
        behind = 0.0
        for t in range(n):
            force[t, r] = start[t, r] + right[t, r] * behind
            behind += left[t, r] * change[t, r]
        behind = 0.0
        for t in range(n - 1, -1, -1):
            behind += right[t, r] * change[t, r]
            force[t, r] += left[t, r] * behind


@compiled_inside
def _solve_rows(kind, positive, slope, bend, strength, rounds, jump, work, chosen, scratch, order):
    """Lower the model of one input over its jumps and the intercept; slope becomes the change per bin.

    slope, bend : (bins, k) sums of gradient and curvature; bend becomes their running sums.
    """
    n, k = slope.shape
    change, right, force = work[0, :n], work[1, :n], work[2, :n]
    total, decrease = scratch[3], 0.0
    for r in range(k):
        for t in range(1, n):
            slope[t, r] += slope[t - 1, r]
            bend[t, r] += bend[t - 1, r]
        total[r] = slope[n - 1, r]
        decrease += 0.5 * total[r] * total[r] / bend[n - 1, r]
        for t in range(n):  # the best intercept follows every move
            share = bend[t, r] / bend[n - 1, r]
            right[t, r] = 1.0 - share
            slope[t, r] -= share * total[r]
            force[t, r] = slope[t, r]
            change[t, r] = 0.0
    for _ in range(PHASES if n > 1 else 0):
        count = _choose(kind, positive, force[: n - 1], strength, jump, chosen)
        fallen = 0.0
        for _ in range(rounds if count else 0):
            gained = _round(kind, positive, chosen, count, force, bend, right, strength, jump, change, scratch, order)
            fallen += gained
            if gained <= 0.01 * fallen:
                break
        if fallen <= 0.01 * decrease:
            decrease += fallen
            break
        decrease += fallen
        _refresh(slope, bend, right, change, force)
    for r in range(k):
        moved = total[r]
        for t in range(n - 1):
            moved += bend[t, r] * change[t, r]
        slope[n - 1, r] = -moved / bend[n - 1, r]
        for t in range(n - 2, -1, -1):
            slope[t, r] = slope[t + 1, r] + change[t, r]
    return decrease


@compiled_sum_inside
def _prepare(codes, starts, watched, force, weight, local, coupled, damping, gradient, share, bound, bend):
    """Sums per bin of a diagonal that bounds the curvature of the model; gradient and curvature in single precision.

    Some rows are taken through all inputs before the next ones, so that their numbers stay near the processor.
    """
    m, k = force.shape
    for b in range(bend.shape[0]):
        for r in range(k):
            bend[b, r] = 1e-300
    for first in range(0, m, TOGETHER):
        last = min(first + TOGETHER, m)
        for i in range(first, last):
            for r in range(k):
                q = local[i, r]
                own = COUPLING * q * (1.0 - q) if coupled else q
                bound[i - first, r] = weight[i] * own + damping * abs(force[i, r])
                gradient[i, r] = force[i, r]
                share[i, r] = q
        for j in range(starts.size - 1):
            if watched[j]:
                at, own = starts[j], codes[j]
                for i in range(first, last):
                    line = bend[at + own[i]]
                    for r in range(k):
                        line[r] += bound[i - first, r]


@compiled_sum_inside
def _sums(own, gradient, out):
    """Sum of the gradient per bin."""
    for b in range(out.shape[0]):
        for r in range(out.shape[1]):
            out[b, r] = 0.0
    for i in range(own.size):
        line = out[own[i]]
        for r in range(gradient.shape[1]):
            line[r] += gradient[i, r]


@compiled_sum_inside
def _move(own, weight, share, coupled, moved, gradient):
    """The gradient of the model follows a move of the scores."""
    k = gradient.shape[1]
    for i in range(own.size):
        line, mean = moved[own[i]], np.float32(0.0)
        if coupled:
            for r in range(k):
                mean += share[i, r] * line[r]
        size = np.float32(weight[i])
        for r in range(k):
            gradient[i, r] += size * share[i, r] * (line[r] - mean)


@compiled_sum_inside
def _add_levels(codes, starts, level, out):
    """Add the levels of the bins every example is in."""
    m, k = out.shape
    for first in range(0, m, TOGETHER):
        last = min(first + TOGETHER, m)
        for j in range(starts.size - 1):
            at, own = starts[j], codes[j]
            for i in range(first, last):
                line = level[at + own[i]]
                for r in range(k):
                    out[i, r] += line[r]


def row_room(m: int, k: int, bins: int, most: int, kind: int) -> tuple[Array | None, ...]:
    """Room for `row_sweep`: m examples, k outputs, and this many bins, at most `most` of one input."""
    example, bin_ = np.empty((2, m, k), dtype=np.float32), np.empty((2, bins, k))
    work = np.empty((5, max(8 + most, TOGETHER), k))
    order = np.empty(k, dtype=np.int64) if kind == L1_LINF else None
    return *example, np.empty((most, k), dtype=np.float32), *bin_, work, np.empty(most, dtype=np.int64), order


@compiled
def row_sweep(
    codes, starts, force, weight, local, coupled, damping, strength, kind, positive, rounds, watched, jump, push,
    shift, gradient, share, moved, bend, level, work, chosen, order,
):  # fmt: skip
    """Several outputs: lower the quadratic model over the thresholds of one input after the other.

    force : (m, k) weighted gradient.
    local : (m, k) unweighted curvature, or (`coupled`) the probabilities of softmax.
    strength : (bins,). jump : (bins, k), changed in place.
    watched : (inputs,) which ones to visit; only those that are not flat remain.
    push, shift : (m, k), (k,) zeros that become the change of the scores and of the intercept.
    The rest is what `row_room` makes. Single precision is enough inside: sums are in double precision, and the next
    sweep starts from the gradient of the loss itself.
    Return the decrease of the model.
    """
    k, decrease, slope = jump.shape[1], 0.0, work[3]
    _prepare(codes, starts, watched, force, weight, local, coupled, damping, gradient, share, work[4], bend)
    for b in range(level.shape[0]):
        for r in range(k):
            level[b, r] = 0.0
    for j in range(starts.size - 1):
        if not watched[j]:
            continue
        at, end = starts[j], starts[j + 1]
        n = end - at
        _sums(codes[j], gradient, slope[:n])
        decrease += _solve_rows(
            kind, positive, slope[:n], bend[at:end], strength[at : end - 1], rounds, jump[at:end], work, chosen,
            work[4], order,
        )  # fmt: skip
        watched[j] = False
        for t in range(n):
            for r in range(k):
                level[at + t, r] = slope[t, r]
                moved[t, r] = slope[t, r]
                watched[j] = watched[j] or jump[at + t, r] != 0.0
        for r in range(k):
            shift[r] += slope[n - 1, r]
        _move(codes[j], weight, share, coupled, moved, gradient)
    _add_levels(codes, starts, level, push)
    return decrease
