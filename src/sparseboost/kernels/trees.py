"""Multi-output regression trees on binned inputs: one split search, and the evaluation of whole ensembles.

Neighbouring inputs with few values share a line of `codes`: with the numbers of values (3, 4, 2) the code is
c₀ + 3·c₁ + 12·c₂, so that one pass over the examples serves all three. A row of `pull` is (weight · target, weight), so
that one addition serves all outputs and the weight.
"""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_sum

EMPTY = 1e-12
TIE = 1e-10  # gains that differ by less are equal, whatever the order of the sums


@compiled
def pulls(target, weight, out):
    """Rows of `out` are (weight · target, weight)."""
    k = target.shape[1]
    for i in range(target.shape[0]):
        for r in range(k):
            out[i, r] = weight[i] * target[i, r]
        out[i, k] = weight[i]


@compiled_sum
def best_cuts(codes, members, counts, rows, pull, least, first, last, gain, cut):
    """For the inputs of lines first ≤ g < last: the cut (codes ≤ cut go left) that lowers the squared error most.

    Line g holds inputs members[g] … members[g+1] − 1, with counts[j] values each. `rows` are the examples of the node;
    none means all of them. A side must weigh at least `least`. gain[j] is the decrease, −inf where there is no cut.
    Ties go to the lowest cut.
    """
    width = pull.shape[1]
    k = width - 1
    largest = 1
    for g in range(first, last):
        size = 1
        for j in range(members[g], members[g + 1]):
            size *= counts[j]
        largest = max(largest, size)
    joint, own = np.empty((largest, width)), np.empty((largest, width))
    total, left = np.empty(width), np.empty(width)
    for g in range(first, last):
        size = 1
        for j in range(members[g], members[g + 1]):
            size *= counts[j]
        for b in range(size):
            joint[b] = 0.0
        line = codes[g]
        if rows.size:
            for p in range(rows.size):
                here, there = joint[line[rows[p]]], pull[rows[p]]
                for r in range(width):
                    here[r] += there[r]
        else:
            for i in range(line.size):
                here, there = joint[line[i]], pull[i]
                for r in range(width):
                    here[r] += there[r]
        stride = 1
        for j in range(members[g], members[g + 1]):
            count = counts[j]
            for b in range(count):
                own[b] = 0.0
            for b in range(size):
                here, there = own[b // stride % count], joint[b]
                for r in range(width):
                    here[r] += there[r]
            stride *= count
            total[:] = 0.0
            for b in range(count):
                for r in range(width):
                    total[r] += own[b, r]
            whole = 0.0
            for r in range(k):
                whole += total[r] * total[r]
            whole = whole / total[k] if total[k] > 0.0 else 0.0
            left[:] = 0.0
            gain[j], cut[j] = -np.inf, -1
            floor = max(least * (1.0 - TIE), EMPTY * total[k])  # what rounding leaves of an empty side is no side
            for b in range(count - 1):
                for r in range(width):
                    left[r] += own[b, r]
                below, above = left[k], total[k] - left[k]
                if below <= floor or above <= floor:
                    continue
                lower, upper = 0.0, 0.0
                for r in range(k):
                    lower += left[r] * left[r]
                    upper += (total[r] - left[r]) * (total[r] - left[r])
                found = lower / below + upper / above - whole
                if found > gain[j] + TIE * (lower / below + upper / above):
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
