"""exp and log that the compiler turns into vector instructions, and the functions of losses built on them.

The C library's versions are calls, which keep a loop from being vectorised; these are within two units in the last
place of them.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from sparseboost.kernels.compile import compiled, compiled_exact, compiled_sum

FURTHEST = 3.0  # how far on the wrong side an example may be, for its curvature to count as it is
LEAST = math.exp(-FURTHEST) / (1.0 + math.exp(-FURTHEST)) ** 2  # curvature there
BEHIND = math.exp(-FURTHEST)  # share of the own class there, of that of the likeliest
LANES = 512  # entries of a block of examples
_ROUND = 6755399441055744.0  # 1.5·2⁵²: adding it leaves the nearest integer in the lowest bits
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_MANTISSA, _ONE = (1 << 52) - 1, 1023 << 52
_ROOT_HALF = 0x3FE6A09E667F3BCD  # bits of √½


@intrinsic
def _bits(context, number):
    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), code


@intrinsic
def _number(context, bits):
    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), code


@compiled_exact
def exp(x):
    """e^x for |x| ≤ 708; beyond that the value there."""
    x = min(max(x, -708.0), 708.0)
    shifted = x * 1.4426950408889634 + _ROUND
    n = shifted - _ROUND
    r = (x - n * _LOG2_HIGH) - n * _LOG2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r * r + r + 1.0
    return p * _number((_bits(shifted) + 1023) << 52)


@compiled_exact
def _two_atanh(s):
    """ln((1 + s)/(1 − s)) for |s| ≤ 1/3."""
    z = s * s
    p = 1.0 / 33.0
    p = p * z + 1.0 / 31.0
    p = p * z + 1.0 / 29.0
    p = p * z + 1.0 / 27.0
    p = p * z + 1.0 / 25.0
    p = p * z + 1.0 / 23.0
    p = p * z + 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    return 2.0 * s + 2.0 * s * z * p


@compiled_exact
def log1p(e):
    """ln(1 + e) for 0 ≤ e ≤ 1."""
    return _two_atanh(e / (2.0 + e))


@compiled_exact
def log(x):
    """Natural logarithm of a normal positive number; of anything smaller, that of the smallest."""
    bits = _bits(max(x, 2.2250738585072014e-308)) + (_ONE - _ROOT_HALF)
    n = float((bits >> 52) - 1023)
    mantissa = _number((bits & _MANTISSA) + _ROOT_HALF)  # between √½ and √2
    return n * _LOG2_HIGH + (n * _LOG2_LOW + _two_atanh((mantissa - 1.0) / (mantissa + 1.0)))


@compiled_sum
def softplus(t, out):
    """Out = ln(1 + e^t); NaN stays NaN."""
    for i in range(t.size):
        size = abs(t[i])
        out[i] = 0.5 * (size + t[i]) + log1p(exp(-size))


@compiled_sum
def sigmoid(t, out):
    """Out = 1/(1 + e^−t)."""
    for i in range(t.size):
        e = exp(-abs(t[i]))
        out[i] = (1.0 if t[i] >= 0.0 else e) / (1.0 + e)


@compiled_sum
def softplus_and_sigmoid(t, value, slope):
    """Both of the above, from one exponential."""
    for i in range(t.size):
        size = abs(t[i])
        e = exp(-size)
        value[i] = 0.5 * (size + t[i]) + log1p(e)
        slope[i] = (1.0 if t[i] >= 0.0 else e) / (1.0 + e)


@compiled_sum
def entropy(u, out):
    """Out = −u ln u, for 0 ≤ u."""
    for i in range(u.size):
        out[i] = -u[i] * log(u[i])


@compiled_sum
def binary_entropy(u, out):
    """Out = −u ln u − (1 − u) ln(1 − u) in [0, 1], −∞ outside."""
    for i in range(u.size):
        value = -u[i] * log(u[i]) - (1.0 - u[i]) * log(1.0 - u[i])
        out[i] = value if u[i] >= 0.0 and u[i] <= 1.0 else -math.inf


@compiled_sum
def sums_by_sign(weight, dual, out):
    """Weighted sums of the positive entries of every column, and of the sizes of the negative ones below them."""
    m, k = dual.shape
    for r in range(k):
        out[0, r] = out[1, r] = 0.0
    if k == 1:
        up, down, single = 0.0, 0.0, dual.reshape(m)
        for i in range(m):
            up += weight[i] * max(single[i], 0.0)
            down -= weight[i] * min(single[i], 0.0)
        out[0, 0], out[1, 0] = up, down
        return
    for i in range(m):
        for r in range(k):
            out[0, r] += weight[i] * max(dual[i, r], 0.0)
            out[1, r] -= weight[i] * min(dual[i, r], 0.0)


@compiled
def times_rows(factor, values, out):
    """Out = every row times a factor of its own; NumPy takes four times as long where rows are short."""
    for i in range(values.shape[0]):
        for r in range(values.shape[1]):
            out[i, r] = factor[i] * values[i, r]


@compiled
def over_rows(divisor, values, out):
    """Out = every row over a divisor of its own, and zero where that is zero."""
    for i in range(values.shape[0]):
        one = divisor[i] if divisor[i] > 0.0 else 1.0
        for r in range(values.shape[1]):
            out[i, r] = values[i, r] / one


@compiled_sum
def scale_by_sign(dual, scales, out):
    """Out = positive entries times the first row of scales, negative ones times the second."""
    for i in range(dual.shape[0]):
        for r in range(dual.shape[1]):
            out[i, r] = max(dual[i, r], 0.0) * scales[0, r] + min(dual[i, r], 0.0) * scales[1, r]


@compiled_sum
def _logistic_part(y, weight, score, force, local):
    total = 0.0
    for p in range(y.size):
        margin = y[p] * score[p]
        size = abs(margin)
        e = exp(-size)
        share = 1.0 / (1.0 + e)
        total += weight[p] * (0.5 * (size - margin) + log1p(e))
        force[p] = -weight[p] * y[p] * ((1.0 if margin < 0.0 else e) * share)
        local[p] = e * share * share
        if margin < -FURTHEST:
            local[p] = LEAST
    return total


@compiled_sum
def _repeated(weight, k, room):
    """Every weight k times, in `room` or, for a single output, where they are."""
    if k == 1:
        return weight
    for i in range(weight.size):
        for r in range(k):
            room[i * k + r] = weight[i]
    return room


@compiled_sum
def logistic_model(y, weight, score, force, local):
    """Weighted logistic loss; its weighted gradient and its unweighted curvature, in one pass.

    An example far on the wrong side has a gradient and hardly any curvature: a quadratic model would send it off to
    infinity, and all others wait. Its curvature is taken to be that of a nearer one.
    """
    m, k = score.shape
    rows = max(1, LANES // k)  # together they fill vectors, whatever the number of outputs
    room = np.empty(rows * k)
    y, score, force, local = y.reshape(m * k), score.reshape(m * k), force.reshape(m * k), local.reshape(m * k)
    total = 0.0
    for first in range(0, m, rows):
        last = min(first + rows, m)
        part, each = slice(first * k, last * k), _repeated(weight[first:last], k, room)
        total += _logistic_part(y[part], each, score[part], force[part], local[part])
    return total


@compiled_sum
def _entropy_part(y, weight, dual, scale):
    total = 0.0
    for p in range(y.size):
        share = -scale * y[p] * dual[p]
        value = -share * log(share) - (1.0 - share) * log(1.0 - share)
        total += weight[p] * (value if share >= 0.0 and share <= 1.0 else -math.inf)
    return total


@compiled_sum
def logistic_entropy(y, weight, dual, scale):
    """−Σ s_i ℓ*(y_i, scale · v_i) of the logistic loss; −∞ outside its domain."""
    m, k = dual.shape
    rows = max(1, LANES // k)
    room = np.empty(rows * k)
    y, dual = y.reshape(m * k), dual.reshape(m * k)
    total = 0.0
    for first in range(0, m, rows):
        last = min(first + rows, m)
        part, each = slice(first * k, last * k), _repeated(weight[first:last], k, room)
        total += _entropy_part(y[part], each, dual[part], scale)
    return total


@compiled_sum
def softmax_model(y, weight, score, loss, force, local):
    """Softmax loss of every example, its weighted gradient and the probabilities of its curvature, in one pass.

    As in `logistic_model`, an example far on the wrong side gets the curvature of a nearer one: that with the own class
    this far behind the likeliest.
    """
    m, k = score.shape
    rows = max(1, LANES // k)
    flat = local.reshape(m * k)
    for first in range(0, m, rows):
        last = min(first + rows, m)
        for i in range(first, last):
            top = score[i, 0]
            for r in range(1, k):
                top = max(top, score[i, r])
            for r in range(k):
                local[i, r] = score[i, r] - top
            loss[i] = -local[i, int(y[i, 0])]
        for p in range(first * k, last * k):
            flat[p] = exp(flat[p])
        for i in range(first, last):
            own, rest = int(y[i, 0]), 0.0
            share = local[i, own]
            local[i, own] = 0.0
            for r in range(k):
                rest += local[i, r]
            local[i, own] = share
            share += rest
            loss[i] += math.log(share)
            for r in range(k):
                local[i, r] /= share
                force[i, r] = weight[i] * local[i, r]
            force[i, own] = -weight[i] * rest / share  # 1 − q of the own class without subtraction
            lift = BEHIND / share - local[i, own]  # the likeliest has 1 / share
            if lift > 0.0:
                local[i, own] += lift
                for r in range(k):
                    local[i, r] /= 1.0 + lift
