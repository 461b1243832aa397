"""Products of columns with per-example arrays; parallel callers give disjoint ranges of columns."""

from __future__ import annotations

from sparseboost.kernels.compile import compiled_sum


@compiled_sum
def correlate(data, indices, indptr, force, out, first, last):
    """out[j] = Σ_i x_ij force[i] for sparse columns first ≤ j < last."""
    k = force.shape[1]
    for j in range(first, last):
        if k == 1:
            total = 0.0
            for p in range(indptr[j], indptr[j + 1]):
                total += data[p] * force[indices[p], 0]
            out[j, 0] = total
            continue
        for r in range(k):
            out[j, r] = 0.0
        for p in range(indptr[j], indptr[j + 1]):
            x = data[p]
            i = indices[p]
            for r in range(k):
                out[j, r] += x * force[i, r]


@compiled_sum
def split_correlate(data, indices, indptr, up, down, plus, minus):
    """μ⁺ and μ⁻ of T1 for all columns; a dense matrix in column order has an empty `indices`."""
    k = up.shape[1]
    dense = indices.size == 0
    for j in range(indptr.size - 1):
        for r in range(k):
            plus[j, r] = 0.0
            minus[j, r] = 0.0
        start = indptr[j]
        for p in range(start, indptr[j + 1]):
            i = p - start if dense else indices[p]
            x = data[p]
            for r in range(k):
                if x > 0.0:
                    plus[j, r] += x * down[i, r]
                    minus[j, r] += x * up[i, r]
                else:
                    plus[j, r] -= x * up[i, r]
                    minus[j, r] -= x * down[i, r]


@compiled_sum
def energies(data, indices, indptr, weights, out):
    """out[j, r] = Σ_i weights[i, r] x_ij² for all columns; a dense matrix in column order has an empty `indices`."""
    k = weights.shape[1]
    dense = indices.size == 0
    for j in range(indptr.size - 1):
        for r in range(k):
            out[j, r] = 0.0
        start = indptr[j]
        for p in range(start, indptr[j + 1]):
            i = p - start if dense else indices[p]
            square = data[p] * data[p]
            for r in range(k):
                out[j, r] += square * weights[i, r]


@compiled_sum
def sparse_inner(data, indices, indptr, weight, out):
    """Add Σ_i weight_i x_ij x_il to the upper triangle of out, from the rows of a CSR matrix."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            x = weight[i] * data[p]
            line = out[indices[p]]
            for q in range(p, indptr[i + 1]):
                line[indices[q]] += x * data[q]
