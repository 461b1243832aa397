"""What is known of the correlations with one force, from those with two others: a value and how far it may be off."""

from __future__ import annotations

import math

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_sum, compiled_sum_inside
from sparseboost.kernels.kinds import L1, L1_L2

LEAST_ANGLE = 1e-10  # share of ‖one‖²‖two‖² that their plane must span: flatter ones are a line


@compiled_sum_inside
def _products(force, one, two, sums):
    """Per output, the sums over examples of force·one, force·two, one·two, one² and two²."""
    sums[:] = 0.0
    m, k = force.shape
    if k == 1:  # sums in registers
        fa, fb, ab, aa, bb = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(m):
            f, a, b = force[i, 0], one[i, 0], two[i, 0]
            fa, fb, ab, aa, bb = fa + f * a, fb + f * b, ab + a * b, aa + a * a, bb + b * b
        sums[0, 0], sums[1, 0], sums[2, 0], sums[3, 0], sums[4, 0] = fa, fb, ab, aa, bb
        return
    for i in range(m):
        for r in range(k):
            f, a, b = force[i, r], one[i, r], two[i, r]
            sums[0, r] += f * a
            sums[1, r] += f * b
            sums[2, r] += a * b
            sums[3, r] += a * a
            sums[4, r] += b * b


@compiled_sum_inside
def _rests(force, one, two, shares, sums):
    """Per output, the sums over examples of the squares of what both combinations leave."""
    sums[:2] = 0.0
    m, k = force.shape
    line, x, y = shares[0, 0], shares[1, 0], shares[1, 1]
    if k == 1:
        first, second = 0.0, 0.0
        for i in range(m):
            p, q = force[i, 0] - line * one[i, 0], force[i, 0] - x * one[i, 0] - y * two[i, 0]
            first, second = first + p * p, second + q * q
        sums[0, 0], sums[1, 0] = first, second
        return
    for i in range(m):
        for r in range(k):
            p, q = force[i, r] - line * one[i, r], force[i, r] - x * one[i, r] - y * two[i, r]
            sums[0, r] += p * p
            sums[1, r] += q * q


@compiled
def combine(force, one, two, shares, lengths):
    """Force ≈ shares[0] · (one, two) along `one` alone, and ≈ shares[1] · (one, two) in the plane of both.

    Per output, lengths[0] and lengths[1] are of what these two leave, lengths[2] and lengths[3] those of one and two.
    """
    k = force.shape[1]
    sums = np.empty((5, k))
    _products(force, one, two, sums)
    fa, fb, ab, aa, bb = 0.0, 0.0, 0.0, 0.0, 0.0
    for r in range(k):
        fa, fb, ab, aa, bb = fa + sums[0, r], fb + sums[1, r], ab + sums[2, r], aa + sums[3, r], bb + sums[4, r]
        lengths[2, r], lengths[3, r] = math.sqrt(sums[3, r]), math.sqrt(sums[4, r])
    shares[0, 0] = shares[1, 0] = fa / aa if aa > 0.0 else 0.0
    shares[0, 1] = shares[1, 1] = 0.0
    plane = aa * bb - ab * ab
    if plane > LEAST_ANGLE * aa * bb:
        shares[1, 0], shares[1, 1] = (fa * bb - fb * ab) / plane, (fb * aa - fa * ab) / plane
    _rests(force, one, two, shares, sums)
    for r in range(k):
        lengths[0, r], lengths[1, r] = math.sqrt(sums[0, r]), math.sqrt(sums[1, r])


@compiled_sum_inside
def _pull(gradient, positive):
    """How much an entry of a gradient pulls at a weight that is zero."""
    return max(-gradient, 0.0) if positive else abs(gradient)


@compiled_sum_inside
def _carry_single(positive, shares, more, one, one_off, two, two_off, lengths, cost, centre, off, violation):
    """`carry` with one output, for which every norm is the same: a loop without branches."""
    line, x, y = shares[0, 0], shares[1, 0], shares[1, 1]
    sizes, first_more, second_more = (abs(line), abs(x), abs(y)), more[0], more[1]
    for j in range(cost.size):
        first, second = line * one[j], x * one[j] + y * two[j]
        first_off = sizes[0] * one_off[j] + first_more * lengths[j]
        second_off = sizes[1] * one_off[j] + sizes[2] * two_off[j] + second_more * lengths[j]
        first_bound = _pull(first, positive) / cost[j] + first_off
        second_bound = _pull(second, positive) / cost[j] + second_off
        better = second_bound < first_bound
        centre[j] = second if better else first
        off[j] = second_off if better else first_off
        violation[j] = second_bound if better else first_bound


@compiled_sum
def carry(kind, positive, shares, more, one, one_off, two, two_off, lengths, cost, centre, off, violation):
    """Per hypothesis the better of two combinations: centre[j], of which the truth is no further than off[j].

    `one` and `two`, of shape (n, k), are correlations with two forces, known that well; more[o] · lengths[j] is what
    the rest of the force adds to the dual norm of combination o; `violation` is what the dual norm does not exceed.
    Lengths, what may be off and violations are over cost.
    """
    n, k = one.shape
    if k == 1:
        flat = one.reshape(n), one_off, two.reshape(n), two_off, lengths, cost, centre.reshape(n), off, violation
        if positive:
            _carry_single(True, shares, more, *flat)
        else:
            _carry_single(False, shares, more, *flat)
        return
    line, x, y = shares[0, 0], shares[1, 0], shares[1, 1]
    for j in range(n):
        first_off = abs(line) * one_off[j] + more[0] * lengths[j]
        second_off = abs(x) * one_off[j] + abs(y) * two_off[j] + more[1] * lengths[j]
        first, second = 0.0, 0.0
        for r in range(k):
            a = _pull(line * one[j, r], positive)
            b = _pull(x * one[j, r] + y * two[j, r], positive)
            if kind == L1:
                first, second = max(first, a), max(second, b)
            elif kind == L1_L2:
                first, second = first + a * a, second + b * b
            else:
                first, second = first + a, second + b
        if kind == L1_L2:
            first, second = math.sqrt(first), math.sqrt(second)
        first, second = first / cost[j] + first_off, second / cost[j] + second_off
        better = second < first
        violation[j], off[j] = (second, second_off) if better else (first, first_off)
        p, q = (x, y) if better else (line, 0.0)
        for r in range(k):
            centre[j, r] = p * one[j, r] + q * two[j, r]
