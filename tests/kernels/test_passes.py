"""A pass of dense columns over a few forces."""

from __future__ import annotations

import numpy as np
import pytest

from sparseboost import kernels
from sparseboost.hypotheses import Context, Features


@pytest.mark.parametrize("m", [1, 7, 1024, 2500])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("k", [1, 3, 4, 9])
def test_a_pass_is_a_product(rng, m, n, k):
    X, force = np.asfortranarray(rng.normal(size=(m, n))), rng.normal(size=(m, k))
    rows = kernels.passes.rows_of(force)
    out = np.full((n, len(rows)), np.nan)
    kernels.passes.correlate(X.T, rows, out, 0, n)
    np.testing.assert_allclose(out[:, :k], X.T @ force, rtol=1e-12, atol=1e-11)


def test_bits_do_not_depend_on_the_number_of_threads(rng):
    X, force = np.asfortranarray(rng.normal(size=(3001, 1001))), rng.normal(size=(3001, 5))
    one, two = (Features().bind(X, Context(n_jobs=jobs)).correlate(force) for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one, X.T @ force, rtol=1e-10, atol=1e-10)
