"""The step of one row of the quadratic model that Newton's method minimises.

The model of a row is ½ Σ_r d_r w_r² − b_r w_r + strength·ρ(w), with the diagonal d at least the row's own block of
the Hessian, so that every row step lowers the model.
"""

from __future__ import annotations

import math

from sparseboost.kernels.compile import compiled, compiled_inside
from sparseboost.kernels.kinds import L1, L1_L2, L1_LINF, NO_PENALTY, RIDGE
from sparseboost.kernels.rows import descending, row_value, smooth_l1_entry


@compiled_inside
def _group_step(row, d, b, strength):
    """ℓ1/ℓ2: the size n of the row solves Σ_r (b_r / (d_r n + strength))² = 1; Newton on the reciprocal root."""
    k = row.size
    size, largest = 0.0, 0.0
    for r in range(k):
        size += b[r] * b[r]
        largest = max(largest, d[r])
    size = math.sqrt(size)
    if size <= strength:
        for r in range(k):
            row[r] = 0.0
        return
    n = (size - strength) / largest  # at most the solution, so Newton climbs to it
    for _ in range(50):
        total, slope = 0.0, 0.0
        for r in range(k):
            below = d[r] * n + strength
            part = (b[r] / below) ** 2
            total += part
            slope += part * d[r] / below
        step = total * (math.sqrt(total) - 1.0) / slope
        n += step
        if abs(step) <= 1e-14 * n:
            break
    for r in range(k):
        row[r] = b[r] * n / (d[r] * n + strength)


@compiled_inside
def _clipped_step(row, d, b, strength, scratch, order):
    """ℓ1/ℓ∞: D2 with quadratic functions."""
    k = row.size
    pull = 0.0
    for r in range(k):
        pull += abs(b[r])
        scratch[r] = abs(b[r]) / d[r]
    if pull <= strength:
        for r in range(k):
            row[r] = 0.0
        return
    descending(scratch, order)
    above, below, level = 0.0, 0.0, 0.0
    for position in range(k):
        above += abs(b[order[position]])
        below += d[order[position]]
        level = (above - strength) / below
        if position + 1 == k or level >= scratch[order[position + 1]]:
            break
    for r in range(k):
        row[r] = math.copysign(min(scratch[r], level), b[r])


@compiled
def quadratic_row(kind, row, d, b, strength, positive, scratch, order):
    """Minimiser of the model of one row, in place; `b` may be changed.

    `order` is room for k places, for ℓ1/ℓ∞ only; where it is None the code for that norm is not compiled.
    """
    k = row.size
    if positive:
        for r in range(k):
            b[r] = max(b[r], 0.0)
    if order is not None and kind == L1_LINF and k > 1 and strength > 0.0:
        _clipped_step(row, d, b, strength, scratch[0], order)
    elif kind == L1_L2 and k > 1 and strength > 0.0:
        _group_step(row, d, b, strength)
    elif kind == L1 or kind == L1_L2 or kind == L1_LINF:
        for r in range(k):
            row[r] = math.copysign(max(abs(b[r]) - strength, 0.0), b[r]) / d[r]
    elif kind == RIDGE:
        for r in range(k):
            row[r] = b[r] / (d[r] + strength)
    elif kind == NO_PENALTY:
        for r in range(k):
            row[r] = b[r] / d[r]
    else:
        for r in range(k):
            row[r] = smooth_l1_entry(b[r] / d[r], strength / d[r])


@compiled_inside
def row_decrease(kind, old, row, d, force, strength):
    """How much the model falls when one row moves."""
    fall = 0.0
    for r in range(row.size):
        change = row[r] - old[r]
        fall -= change * force[r] + 0.5 * d[r] * change * change
    if strength > 0.0:
        fall += strength * (row_value(kind, old) - row_value(kind, row))
    return fall
