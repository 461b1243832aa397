"""The best sets of categories for a gradient."""

from __future__ import annotations

from functools import cache

import numpy as np

from sparseboost.hypotheses.base import Array

MOST_ENUMERATED = 12  # categories of which all sets are tried; beyond, sets come from orders of the categories


def searched_exactly(n_categories: int, n_outputs: int) -> bool:
    """Whether `candidate_sets` holds the best of all sets."""
    return n_outputs == 1 or n_categories <= MOST_ENUMERATED


def candidate_sets(sums: Array, closed: bool) -> Array:
    """Sets of categories worth a look, as rows of booleans; among them the best one where the search is exact.

    With one output, the best set of each size holds the categories of largest (or smallest) sums, so that cuts of the
    sorted categories are enough. With several outputs all sets are tried, or, if they are too many, cuts of the order
    by every output and by the direction in which the sums differ most.

    Parameters
    ----------
    sums : array of shape (n, k)
        Sum of force over the examples of each category.
    closed : bool
        Whether every example has one of the categories, so that the set of all of them is a constant.
    """
    n, k = sums.shape
    if k > 1 and n <= MOST_ENUMERATED:
        sets = _all_sets(n)
        return sets[:-1] if closed else sets
    keys = sums
    if k > 1:
        centred = sums - sums.mean(axis=0)
        main = np.linalg.svd(centred, full_matrices=False)[2][0]
        keys = np.column_stack([sums, centred @ main])
    ranks = np.argsort(np.argsort(-keys, axis=0, kind="stable"), axis=0)
    sizes = np.arange(1, n if closed else n + 1)
    upper = ranks.T[:, None, :] < sizes[None, :, None]
    lower = ranks.T[:, None, :] >= n - sizes[None, :, None]
    return np.unique(np.concatenate([upper, lower]).reshape(-1, n), axis=0)


@cache
def _all_sets(n: int) -> Array:
    """Every set but the empty one; the full one comes last."""
    sets = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    return sets.astype(bool)


def without_mirrors(sets: Array) -> Array:
    """Of a set and its complement, whose hypotheses are each other's negative, only the smaller one."""
    n, size = sets.shape[1], sets.sum(axis=1)
    return sets[(2 * size < n) | ((2 * size == n) & sets[:, 0])]
