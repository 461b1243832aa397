"""Anderson's extrapolation: weights of past sweeps combined into one step."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled_inside


@compiled_inside
def combine_past(past, coef, positive, free, trial):
    """The affine combination of past weights whose last changes cancel best; rows that are zero stay so."""
    last, n, k = past.shape[0] - 1, coef.shape[0], coef.shape[1]
    system, share = np.zeros((last, last)), np.ones(last)
    for a in range(last):
        for b in range(a + 1):
            total = 0.0
            for j in range(n):
                for r in range(k):
                    total += (past[a + 1, j, r] - past[a, j, r]) * (past[b + 1, j, r] - past[b, j, r])
            system[a, b] = total
            system[b, a] = total
    ridge, whole = 0.0, 0.0
    for a in range(last):
        ridge += 1e-12 * system[a, a]
    for a in range(last):  # elimination without pivots: the matrix is positive definite
        system[a, a] += ridge
        if not system[a, a] > 0.0:
            return False
        for b in range(a + 1, last):
            factor = system[b, a] / system[a, a]
            for c in range(a, last):
                system[b, c] -= factor * system[a, c]
            share[b] -= factor * share[a]
    for a in range(last - 1, -1, -1):
        for b in range(a + 1, last):
            share[a] -= system[a, b] * share[b]
        share[a] /= system[a, a]
        whole += share[a]
    if not abs(whole) > 0.0:
        return False
    for j in range(n):
        empty = True
        for r in range(k):
            empty = empty and coef[j, r] == 0.0
        for r in range(k):
            total = 0.0
            for a in range(last):
                total += share[a] * past[a + 1, j, r]
            trial[j, r] = 0.0 if empty else total / whole
            if positive and j != free:
                trial[j, r] = max(trial[j, r], 0.0)
    return True
