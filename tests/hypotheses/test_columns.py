"""Columns that grow in place, against columns put together anew."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.hypotheses.columns import Columns

Array = np.ndarray
M = 7


def dense(rng: np.random.Generator, n: int) -> Columns:
    return Columns(np.asfortranarray(rng.normal(size=(M, n))))


def check(columns: Columns, truth: Array) -> None:
    np.testing.assert_array_equal(columns.matrix, truth)
    assert columns.matrix.flags.f_contiguous
    np.testing.assert_array_equal(columns.rounded, truth.astype(np.float32).ravel(order="F"))
    np.testing.assert_array_equal(columns.flat[0], truth.ravel(order="F"))


def test_columns_that_grow_do_not_disturb_those_that_were_there(rng: np.random.Generator) -> None:
    """Several sets may begin with the same columns; only one of them can go on in the same memory."""
    parts = [dense(rng, n) for n in (3, 2, 1, 4, 9, 1)]
    grown, truth = parts[0], parts[0].matrix
    older = []
    for part in parts[1:]:
        older.append((grown, truth))
        grown, truth = grown.append(part), np.hstack([truth, part.matrix])
        check(grown, truth)
    for columns, was in older:
        check(columns, was)
        other = columns.append(parts[2])
        check(other, np.hstack([was, parts[2].matrix]))
        check(columns, was)
    check(grown, truth)
    kept = np.arange(truth.shape[1]) % 2 == 0
    check(grown.keep(kept).append(parts[1]), np.hstack([truth[:, kept], parts[1].matrix]))


def test_most_columns_are_not_moved_when_others_come(rng: np.random.Generator) -> None:
    grown, places = dense(rng, 10), set()
    for _ in range(90):
        grown = grown.append(dense(rng, 1))
        places.add(grown.matrix.ctypes.data)
    assert len(places) <= 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_condensed_columns_are_centred_and_at_most_one(dtype: type, rng: np.random.Generator) -> None:
    X = rng.normal(size=(5, M)) * np.array([1e-9, 1.0, 1e6, 0.0, 1.0])[:, None] + 3.0
    which, (centre, scale) = np.array([4, 0, 3, 2]), np.empty((2, 4))
    out = np.empty((4, M), dtype)
    kernels.columns.condense(X, which, out, centre, scale)
    np.testing.assert_allclose(scale[:, None] * out + centre[:, None], X[which], rtol=1e-6)
    np.testing.assert_allclose(centre, X[which].mean(axis=1))
    assert np.abs(out).max() <= 1.0


@pytest.mark.parametrize("first", [0, 1, 4, 6])
def test_sparse_products(first: int, rng: np.random.Generator) -> None:
    X = sp.csc_array(np.where(rng.uniform(size=(30, 7)) < 0.3, rng.normal(size=(30, 7)), 0.0))
    weight, gram, spread = rng.uniform(size=30), np.full((7, 8), 5.0), np.zeros((30, 4))
    kernels.columns.sparse_products(X.data, X.indices, X.indptr, weight, first, spread, gram)
    truth = X.toarray().T @ (weight[:, None] * X.toarray())
    np.testing.assert_allclose(gram[:, first:7], truth[:, first:], atol=1e-14)
    np.testing.assert_allclose(gram[first:7, :7], truth[first:], atol=1e-14)
    assert np.all(gram[:first, :first] == 5.0)
    assert np.all(gram[:, 7] == 5.0)
    assert not np.any(spread)
