"""Dense columns rounded to eight or sixteen bits: less memory to go through, where a bound on sums will do."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.columns import LANES, extremes
from sparseboost.kernels.compile import compiled_sum, compiled_sum_inside
from sparseboost.kernels.passes import TOGETHER

SUMMED = 1024  # products that are added in single precision before the sum goes on in double precision
CACHED = 32_768  # numbers of all forces that stay in the cache while columns pass by
# of ‖column‖·‖force‖: what rounding of the force, of products and of such sums may add up to
ROUNDING = 1.01 * (SUMMED + 4) * 2.0**-24
TINY = 1e-290


@compiled_sum_inside
def _round(x, centre, per_step, top, out):
    """Write steps from the centre, at most so many, into `out`; the sum of squares of the column."""
    square, above, last = 0.0, np.int32(top + 1), np.int32(top)
    shift = above + 0.5 - centre * per_step
    for i in range(x.size):
        near = np.int32(x[i] * per_step + shift) - above
        out[i] = min(max(near, -last), last)
        square += x[i] * x[i]
    return square


@compiled_sum
def draw(lines, top, out, scale, centre, error, squares):
    """Columns x_j = lines[j] as scale_j · out[j] + centre_j, where entries of `out` are at most `top` in size.

    error_j · ‖force‖ is at least how far `correlate` is from the sum over the column itself; squares_j = Σ_i x_ij².
    """
    low, high, root = np.empty(LANES), np.empty(LANES), np.sqrt(lines.shape[1])
    for j in range(lines.shape[0]):
        least, most = extremes(lines[j], low, high)
        step = (most - least) / (2.0 * top)
        per_step = 1.0 / step if step > TINY else 0.0
        centre[j] = 0.5 * least + 0.5 * most
        squares[j] = _round(lines[j], centre[j], per_step, top, out[j])
        scale[j] = step
        # an entry is off by half a step, and a little more where steps are near the digits of the numbers themselves
        off = (0.50001 * step if per_step > 0.0 else most - least) + 1e-12 * max(abs(least), abs(most))
        error[j] = (off + ROUNDING * abs(centre[j])) * root + ROUNDING * np.sqrt(squares[j])


@compiled_sum_inside
def _alone(x, force):
    """Σ_i x_i force_i, by blocks of few examples in single precision."""
    total = 0.0
    for start in range(0, x.size, SUMMED):
        some, pull, part = x[start : start + SUMMED], force[start : start + SUMMED], np.float32(0.0)
        for i in range(some.size):
            part += np.float32(some[i]) * pull[i]
        total += part
    return total


@compiled_sum
def correlate(lines, scale, centre, keys, forces, totals, out):
    """out[c, r] = scale_j Σ_i lines[j, i] forces[r, i] + centre_j totals_r, j = keys[c].

    For one force or a multiple of TOGETHER; totals_r is Σ_i forces[r, i].
    """
    m, k, n, none = lines.shape[1], forces.shape[0], keys.size, np.float32(0.0)
    if k == 1:
        for c in range(n):
            out[c, 0] = scale[keys[c]] * _alone(lines[keys[c]], forces[0]) + centre[keys[c]] * totals[0]
        return
    out[:] = 0.0
    half = (n + 1) // 2
    examples = max(1, CACHED // (k * SUMMED)) * SUMMED
    for first in range(0, m, examples):
        for one in range(half):
            other = min(half + one, n - 1)  # two long ways through memory; the last one may be alone
            for start in range(first, min(first + examples, m), SUMMED):
                stop = min(start + SUMMED, m)
                x, y = lines[keys[one], start:stop], lines[keys[other], start:stop]
                for r in range(0, k, TOGETHER):
                    a, b = forces[r, start:stop], forces[r + 1, start:stop]
                    c, d = forces[r + 2, start:stop], forces[r + 3, start:stop]
                    xa, xb, xc, xd, ya, yb, yc, yd = none, none, none, none, none, none, none, none
                    for i in range(stop - start):
                        p, q = np.float32(x[i]), np.float32(y[i])
                        xa += p * a[i]
                        xb += p * b[i]
                        xc += p * c[i]
                        xd += p * d[i]
                        ya += q * a[i]
                        yb += q * b[i]
                        yc += q * c[i]
                        yd += q * d[i]
                    out[one, r] += xa
                    out[one, r + 1] += xb
                    out[one, r + 2] += xc
                    out[one, r + 3] += xd
                    if half + one < n:
                        out[other, r] += ya
                        out[other, r + 1] += yb
                        out[other, r + 2] += yc
                        out[other, r + 3] += yd
    for c in range(n):
        j = keys[c]
        for r in range(k):
            out[c, r] = scale[j] * out[c, r] + centre[j] * totals[r]
