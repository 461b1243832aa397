"""Arrays without an owner."""

from __future__ import annotations

import sys

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.kernels.borrow import borrowed


@numba.njit
def _add_rows(whole, others, nothing):
    rows, (one, two) = borrowed(whole), borrowed(others)
    for j in range(rows.shape[0]):
        row = rows[j]
        for r in range(row.size):
            row[r] += one[j, r] * two[r]
    return borrowed(nothing), rows.shape


def test_what_is_borrowed_is_the_same_array():
    whole, one, two = np.ones((3, 2)), np.arange(6.0).reshape(3, 2), np.array([1.0, 10.0])
    nothing, shape = _add_rows(whole, (one, two), None)
    np.testing.assert_array_equal(whole, 1.0 + np.arange(6.0).reshape(3, 2) * [1.0, 10.0])
    assert nothing is None
    assert shape == (3, 2)


def test_borrowers_are_not_counted_and_owners_are():
    whole, one, two = np.ones((300, 20)), np.ones((300, 20)), np.ones(20)
    counts = [sys.getrefcount(array) for array in (whole, one, two)]
    for _ in range(50):
        _add_rows(whole, (one, two), None)
    assert [sys.getrefcount(array) for array in (whole, one, two)] == counts
    np.testing.assert_array_equal(whole, 51.0)


@pytest.mark.parametrize("k", [1, 3])
def test_sums_over_sparse_columns_of_any_length(k, rng):
    """With one output four sums run side by side, and a few entries are left over."""
    m, lengths = 40, np.arange(14)
    X = sp.lil_array((m, lengths.size))
    for j, length in enumerate(lengths):
        X[rng.permutation(m)[:length], j] = rng.normal(size=length)
    X, force, keys = X.tocsc(), rng.normal(size=(m, k)), rng.permutation(lengths.size)
    out, squares = np.full((keys.size, k), np.nan), np.full(keys.size, np.nan)
    kernels.columns.correlate(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64), keys, force, out, squares)
    np.testing.assert_allclose(out, (X.T @ force)[keys], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(squares, X.power(2).sum(axis=0)[keys], rtol=1e-12)
