"""Inner products of functions on the training points, without temporary arrays."""

from __future__ import annotations

from sparseboost.kernels.compile import compiled_sum


@compiled_sum
def inner(weight, f, g):
    """Σ_i w_i ⟨f_i, g_i⟩."""
    total = 0.0
    for i in range(f.shape[0]):
        line = 0.0
        for r in range(f.shape[1]):
            line += f[i, r] * g[i, r]
        total += weight[i] * line
    return total


@compiled_sum
def squared_distance(weight, f, g):
    """Σ_i w_i ‖f_i − g_i‖²."""
    total = 0.0
    for i in range(f.shape[0]):
        line = 0.0
        for r in range(f.shape[1]):
            line += (f[i, r] - g[i, r]) ** 2
        total += weight[i] * line
    return total
