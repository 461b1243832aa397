"""Products of dense columns with a few outputs, where the columns are: one look at a column serves several outputs."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled_sum

TOGETHER = 4  # forces per look: with two columns at a time, eight sums and what they need fit into registers
MOST = 16  # outputs: for more, BLAS copies the columns into an order of its own, and is faster from then on
EXAMPLES = 1024  # of all outputs at once, so that they stay in the cache while columns pass by


@compiled_sum
def correlate(lines, keys, forces, out):
    """out[c, r] = Σ_i x_ij forces[r, i] of columns x_j = lines[j], j = keys[c]; forces as `rows_of` gives them."""
    m, k, n = lines.shape[1], forces.shape[0], keys.size
    out[:] = 0.0
    for start in range(0, m, EXAMPLES):
        stop = min(start + EXAMPLES, m)
        for one in range(0, n, 2):
            other = min(one + 1, n - 1)  # the last one may be alone
            x, y = lines[keys[one], start:stop], lines[keys[other], start:stop]
            for r in range(0, k, TOGETHER):
                a, b = forces[r, start:stop], forces[r + 1, start:stop]
                c, d = forces[r + 2, start:stop], forces[r + 3, start:stop]
                xa, xb, xc, xd, ya, yb, yc, yd = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for i in range(stop - start):
                    p, q = np.float64(x[i]), np.float64(y[i])
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
                if other > one:
                    out[other, r] += ya
                    out[other, r + 1] += yb
                    out[other, r + 2] += yc
                    out[other, r + 3] += yd


@compiled_sum
def dot(lines, keys, coef, out):
    """Add Σ_c x_ij coef[c, r] of columns x_j = lines[j], j = keys[c], to out[r, i]."""
    (k, m), n = out.shape, keys.size
    for start in range(0, m, EXAMPLES):
        stop = min(start + EXAMPLES, m)
        for c in range(0, n - n % 4, 4):  # four at a time: sums are read and written less often
            x, y = lines[keys[c], start:stop], lines[keys[c + 1], start:stop]
            z, w = lines[keys[c + 2], start:stop], lines[keys[c + 3], start:stop]
            for r in range(0, k - k % 2, 2):
                one, a, b = out[r, start:stop], coef[c, r], coef[c + 1, r]
                d, e = coef[c + 2, r], coef[c + 3, r]
                two, f, g = out[r + 1, start:stop], coef[c, r + 1], coef[c + 1, r + 1]
                h, j = coef[c + 2, r + 1], coef[c + 3, r + 1]
                for i in range(stop - start):
                    p, q, s, t = np.float64(x[i]), np.float64(y[i]), np.float64(z[i]), np.float64(w[i])
                    one[i] += a * p + b * q + d * s + e * t
                    two[i] += f * p + g * q + h * s + j * t
            for r in range(k - k % 2, k):
                one, a, b, d, e = out[r, start:stop], coef[c, r], coef[c + 1, r], coef[c + 2, r], coef[c + 3, r]
                for i in range(stop - start):
                    one[i] += a * x[i] + b * y[i] + d * z[i] + e * w[i]
        for c in range(n - n % 4, n):
            x = lines[keys[c], start:stop]
            for r in range(k):
                one, a = out[r, start:stop], coef[c, r]
                for i in range(stop - start):
                    one[i] += a * x[i]


def rows_of(force: np.ndarray) -> np.ndarray:
    """Forces as rows, with rows of zeros behind them up to a multiple of TOGETHER."""
    m, k = force.shape
    rows = np.zeros((-(-k // TOGETHER) * TOGETHER, m))
    rows[:k] = force.T
    return rows
