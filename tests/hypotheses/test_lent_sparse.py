"""Sparse columns that are read where they are, against columns of their own, growing and shrinking."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sparseboost.hypotheses import Columns, Features
from sparseboost.hypotheses.lent_sparse import LentSparse


def random_matrix(rng: np.random.Generator, m: int = 40, n: int = 30) -> sp.csc_matrix:
    X = sp.csc_matrix(np.where(rng.random((m, n)) < 0.2, rng.normal(size=(m, n)), 0.0))
    assert np.diff(X.indptr).min() >= 0
    return X


def check(lent: Columns, own: Columns, rng: np.random.Generator) -> None:
    m, n = own.matrix.shape
    assert isinstance(lent, LentSparse)
    assert (lent.size, lent.sparse) == (own.size, own.sparse)
    assert lent.mean_entries == pytest.approx(own.mean_entries)
    for k in (1, 2, 5):
        coef, force = rng.normal(size=(n, k)) * (rng.random((n, 1)) < 0.7), rng.normal(size=(m, k))
        np.testing.assert_allclose(lent.dot(coef), own.dot(coef), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(lent.correlate(force), own.correlate(force), rtol=1e-12, atol=1e-13)
    data, indices, where = lent.packed(np.float32)
    for j, (begin, end) in enumerate(where.T):
        column = np.zeros(m)
        column[indices[begin:end]] = data[begin:end]
        np.testing.assert_array_equal(column, own.matrix[:, [j]].toarray()[:, 0])
    few = np.array([n - 1, 0])
    np.testing.assert_array_equal(lent.some(few).toarray(), own.matrix[:, few].toarray())
    assert "matrix" not in vars(lent)


def test_equal_to_columns_of_their_own(rng: np.random.Generator) -> None:
    X = random_matrix(rng)
    dictionary = Features().bind(X)

    def both(keys: np.ndarray) -> tuple[Columns, Columns]:
        return dictionary.columns(keys), Columns(sp.csc_array(X[:, keys]))

    lent, own = both(np.array([7, 3, 20]))
    check(lent, own, rng)
    for count in (2, 9):
        more, plain = both(rng.permutation(30)[:count])
        lent, own = lent.append(more), own.append(plain)
        check(lent, own, rng)
        mask = rng.random(lent.size) < 0.6
        lent, own = lent.keep(mask), own.keep(mask)
        check(lent, own, rng)
    for one, two in zip(lent.flat, own.flat, strict=True):
        np.testing.assert_array_equal(one, two)


def test_columns_of_another_matrix_are_written_behind(rng: np.random.Generator) -> None:
    one, other = random_matrix(rng), random_matrix(rng)
    joined = Features().bind(one).columns(np.array([4])).append(Features().bind(other).columns(np.array([2, 3])))
    np.testing.assert_array_equal(joined.matrix.toarray(), sp.hstack([one[:, [4]], other[:, [2, 3]]]).toarray())


@pytest.mark.parametrize("kind", ["single precision", "long indices", "read only"])
def test_other_kinds_of_numbers_are_copied(kind: str, rng: np.random.Generator) -> None:
    X = random_matrix(rng)
    other = X.astype(np.float32) if kind == "single precision" else X.copy()
    if kind == "long indices":
        other.indices, other.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    if kind == "read only":  # as a memory map of another process may be
        other.data.flags.writeable = False
    columns = Features().bind(other).columns(np.array([1, 5]))
    assert not isinstance(columns, LentSparse)
    np.testing.assert_allclose(columns.matrix.toarray(), X[:, [1, 5]].toarray(), rtol=1e-6)
