"""Sums over pairs of examples of one query, without writing the pairs down: two sorted sweeps and a Fenwick tree."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_inside


@compiled_inside
def _add(tree, level, mass, moment):
    """Add to the entry of a level; `tree` holds partial sums of (mass, moment)."""
    p = level + 1
    while p < tree.shape[0]:
        tree[p, 0] += mass
        tree[p, 1] += moment
        p += p & -p


@compiled_inside
def _below(tree, level):
    """Sums over all smaller levels."""
    mass, moment = 0.0, 0.0
    p = level
    while p > 0:
        mass += tree[p, 0]
        moment += tree[p, 1]
        p -= p & -p
    return mass, moment


@compiled
def violated_pairs(order, starts, level, n_levels, score, weight, value, gradient):
    """Hinge sums over pairs (a above b) of one query: value[a] = Σ_b w_b [1 − f_a + f_b]₊, and the slopes.

    `order` lists the examples by query and, within a query, by falling score; query q is order[starts[q]:starts[q+1]].
    gradient[n] = Σ w_a over violated pairs with n below − Σ w_b over violated pairs with n above. Returns Σ w_a w_b
    over all pairs, violated or not.
    """
    tree = np.zeros((n_levels + 1, 2))
    everything = 0.0
    for q in range(starts.size - 1):
        first, last = starts[q], starts[q + 1]
        tree[:] = 0.0
        entering = first
        for p in range(first, last):  # falling score: every partner that violates enters once and stays
            a = order[p]
            while entering < last and 1.0 - score[a] + score[order[entering]] > 0.0:
                b = order[entering]
                _add(tree, level[b], weight[b], weight[b] * score[b])
                entering += 1
            mass, moment = _below(tree, level[a])
            value[a] = mass * (1.0 - score[a]) + moment
            gradient[a] = -mass
        tree[:] = 0.0
        entering = last - 1
        for p in range(last - 1, first - 1, -1):  # rising score, and levels counted from the top
            b = order[p]
            while entering >= first and 1.0 - score[order[entering]] + score[b] > 0.0:
                a = order[entering]
                _add(tree, n_levels - 1 - level[a], weight[a], 0.0)
                entering -= 1
            mass, _ = _below(tree, n_levels - 1 - level[b])
            gradient[b] += mass
        tree[:] = 0.0
        for p in range(first, last):
            _add(tree, level[order[p]], weight[order[p]], 0.0)
        for p in range(first, last):
            everything += weight[order[p]] * _below(tree, level[order[p]])[0]
    return everything


@compiled
def wrong_pairs(order, starts, level, n_levels, score):
    """Pairs of one query that are ranked the wrong way round, ties counted half, and all pairs; `order` as above."""
    tree = np.zeros((n_levels + 1, 2))
    wrong, pairs = 0.0, 0.0
    for q in range(starts.size - 1):
        first, last = starts[q], starts[q + 1]
        tree[:] = 0.0
        p = first
        while p < last:
            end = p
            while end < last and score[order[end]] == score[order[p]]:
                end += 1
            for place in range(p, end):  # lower levels with larger scores, and with the same or larger ones: half each
                wrong += 0.5 * _below(tree, level[order[place]])[0]
            for place in range(p, end):
                _add(tree, level[order[place]], 1.0, 0.0)
            for place in range(p, end):
                wrong += 0.5 * _below(tree, level[order[place]])[0]
            p = end
        for p in range(first, last):
            pairs += _below(tree, level[order[p]])[0]
    return wrong, pairs
