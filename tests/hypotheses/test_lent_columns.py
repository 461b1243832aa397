"""Columns that are read where they are, against columns of their own, through any sequence of growing and shrinking."""

from __future__ import annotations

import numpy as np
import pytest

from sparseboost.hypotheses import Columns, Features
from sparseboost.hypotheses.lent_columns import LentColumns
from sparseboost.kernels.passes import MOST


def check(lent: Columns, own: Columns, rng: np.random.Generator, written: bool) -> None:
    m, n = own.matrix.shape
    for k in (1, 3, MOST + 1) if written else (1, 3):
        coef, force = rng.normal(size=(n, k)) * (rng.random((n, 1)) < 0.7), rng.normal(size=(m, k))
        np.testing.assert_allclose(lent.dot(coef), own.dot(coef), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(lent.correlate(force), own.correlate(force), rtol=1e-12, atol=1e-12)
    for digits in (np.float32, np.float64) if written else (np.float32,):
        for one, two in zip(lent.packed(digits), own.packed(digits), strict=True):
            np.testing.assert_array_equal(one, two)
    lines, which = lent.lines
    np.testing.assert_array_equal(lines[which].T, own.matrix)
    np.testing.assert_array_equal(lent.some(np.array([n - 1, 0])), own.some(np.array([n - 1, 0])))
    assert (lent.size, lent.sparse, lent.mean_entries) == (own.size, own.sparse, own.mean_entries)
    assert written or "matrix" not in vars(lent)


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [5, 5000])
def test_equal_to_columns_of_their_own(m: int, dtype: type, written: bool, rng: np.random.Generator) -> None:
    X = np.asfortranarray(rng.normal(size=(m, 60)), dtype=dtype)
    dictionary = Features().bind(X)

    def both(keys: np.ndarray) -> tuple[Columns, Columns]:
        return dictionary.columns(keys), Columns(np.asfortranarray(X[:, keys], dtype=np.float64))

    lent, own = both(np.array([7, 3, 50]))
    assert isinstance(lent, LentColumns)
    check(lent, own, rng, written)
    first = lent
    for round_, count in enumerate((2, 1, 12, 2, 9)):
        more, plain = both(np.arange(10 * round_, 10 * round_ + count))
        lent, own = lent.append(more), own.append(plain)
        check(lent, own, rng, written)
        if round_ in (1, 3):
            mask = rng.random(lent.size) < 0.6
            lent, own = lent.keep(mask), own.keep(mask)
            check(lent, own, rng, written)
    # what grew out of the first columns has left them as they were, and they can grow in another way
    other, plain = both(np.arange(10, 22))
    before = Columns(np.asfortranarray(X[:, [7, 3, 50]], dtype=np.float64))
    check(first, before, rng, written)
    check(first.append(other), before.append(plain), rng, written)
