"""Multi-output regression trees on binned inputs: one split search, and the evaluation of whole ensembles.

`codes` has one line of small integers per input, `offsets` says how many values each input has, and a row of `pull`
is (weight · target, weight), so that one addition serves all outputs and the weight.
"""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_sum

EMPTY = 1e-12
ROWS = 1024  # a block of rows that stays in the cache while all inputs of a group pass over it


@compiled_sum
def best_cuts(codes, offsets, rows, pull, least, first, last, gain, cut):
    """For inputs first ≤ j < last: the cut (codes ≤ cut go left) that lowers the squared error most, and by how much.

    `rows` are the examples of the node; none means all of them. A side must weigh more than `least`. gain[j] is
    −inf where there is no cut. Ties go to the lowest cut.
    """
    width = pull.shape[1]
    k = width - 1
    n = rows.size if rows.size else codes.shape[1]
    start = offsets[first]
    sums = np.zeros((offsets[last] - start, width))
    for low in range(0, n, ROWS):
        high = min(low + ROWS, n)
        for j in range(first, last):
            line = codes[j]
            base = offsets[j] - start
            if rows.size:
                for p in range(low, high):
                    i = rows[p]
                    bucket = base + line[i]
                    for r in range(width):
                        sums[bucket, r] += pull[i, r]
            else:
                for i in range(low, high):
                    bucket = base + line[i]
                    for r in range(width):
                        sums[bucket, r] += pull[i, r]
    total, left = np.empty(width), np.empty(width)
    for j in range(first, last):
        base, count = offsets[j] - start, offsets[j + 1] - offsets[j]
        total[:] = 0.0
        for b in range(count):
            for r in range(width):
                total[r] += sums[base + b, r]
        whole = 0.0
        for r in range(k):
            whole += total[r] * total[r]
        whole = whole / total[k] if total[k] > 0.0 else 0.0
        left[:] = 0.0
        gain[j], cut[j] = -np.inf, -1
        floor = max(least, EMPTY * total[k])  # what rounding leaves of an empty side is no side
        for b in range(count - 1):
            for r in range(width):
                left[r] += sums[base + b, r]
            below, above = left[k], total[k] - left[k]
            if below <= floor or above <= floor:
                continue
            lower, upper = 0.0, 0.0
            for r in range(k):
                lower += left[r] * left[r]
                upper += (total[r] - left[r]) * (total[r] - left[r])
            found = lower / below + upper / above - whole
            if found > gain[j]:
                gain[j], cut[j] = found, b


@compiled_sum
def leaf_sums(leaf, pull, out):
    """out[l] = Σ of the rows of pull whose example lies in leaf l."""
    out[:] = 0.0
    for i in range(leaf.size):
        for r in range(pull.shape[1]):
            out[leaf[i], r] += pull[i, r]


@compiled
def leaves(X, inputs, thresholds, left, right, out):
    """out[i] = the leaf that example i reaches in one tree; inputs are −1 at leaves."""
    for i in range(X.shape[0]):
        node = 0
        while inputs[node] >= 0:
            node = left[node] if X[i, inputs[node]] <= thresholds[node] else right[node]
        out[i] = node


@compiled
def add_trees(X, inputs, thresholds, left, right, values, roots, coef, out):
    """out[i] += Σ_t coef[t] · (value of the leaf that example i reaches in tree t), in the order of the trees."""
    k = values.shape[1]
    for i in range(X.shape[0]):
        for t in range(roots.size):
            node = roots[t]
            while inputs[node] >= 0:
                node = left[node] if X[i, inputs[node]] <= thresholds[node] else right[node]
            for r in range(k):
                out[i, r] += coef[t] * values[node, r]
