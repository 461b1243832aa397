"""Products of many dense columns with a few forces: one look at a column serves all of them."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled_sum

TOGETHER = 4  # forces per look: with two columns at a time, eight sums and what they need fit into registers
MOST = 12  # forces: for more, BLAS copies the columns into an order of its own, and is faster from then on
EXAMPLES = 1024  # of all forces at once, so that they stay in the cache while columns pass by


@compiled_sum
def correlate(lines, forces, out, first, last):
    """out[j, r] = Σ_i lines[j, i] forces[r, i] for first ≤ j < last; forces come in multiples of TOGETHER."""
    m, k = lines.shape[1], forces.shape[0]
    for j in range(first, last):
        for r in range(k):
            out[j, r] = 0.0
    for start in range(0, m, EXAMPLES):
        stop = min(start + EXAMPLES, m)
        for j in range(first, last, 2):
            other = min(j + 1, last - 1)  # the last one may be alone
            x, y = lines[j, start:stop], lines[other, start:stop]
            for r in range(0, k, TOGETHER):
                a, b = forces[r, start:stop], forces[r + 1, start:stop]
                c, d = forces[r + 2, start:stop], forces[r + 3, start:stop]
                xa, xb, xc, xd, ya, yb, yc, yd = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for i in range(stop - start):
                    p, q = x[i], y[i]
                    xa += p * a[i]
                    xb += p * b[i]
                    xc += p * c[i]
                    xd += p * d[i]
                    ya += q * a[i]
                    yb += q * b[i]
                    yc += q * c[i]
                    yd += q * d[i]
                out[j, r] += xa
                out[j, r + 1] += xb
                out[j, r + 2] += xc
                out[j, r + 3] += xd
                if other > j:
                    out[other, r] += ya
                    out[other, r + 1] += yb
                    out[other, r + 2] += yc
                    out[other, r + 3] += yd


def rows_of(force: np.ndarray) -> np.ndarray:
    """Forces as rows, with rows of zeros behind them up to a multiple of TOGETHER."""
    m, k = force.shape
    rows = np.zeros((-(-k // TOGETHER) * TOGETHER, m))
    rows[:k] = force.T
    return rows
