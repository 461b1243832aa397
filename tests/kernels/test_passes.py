"""A pass of dense columns over a few forces."""

from __future__ import annotations

import numpy as np
import pytest

from sparseboost import kernels
from sparseboost.hypotheses import Context, Features


@pytest.mark.parametrize("m", [1, 7, 1024, 2500])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("k", [1, 3, 4, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pass_is_a_product(rng, m, n, k, dtype):
    lines, keys, force = rng.normal(size=(n + 2, m)).astype(dtype), rng.permutation(n + 2)[:n], rng.normal(size=(m, k))
    rows = kernels.passes.rows_of(force)
    out = np.full((n, len(rows)), np.nan)
    kernels.passes.correlate(lines, keys, rows, out)
    np.testing.assert_allclose(out[:, :k], lines[keys].astype(float) @ force, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("m", [1, 7, 1024, 2500])
@pytest.mark.parametrize("n", [1, 4, 5, 11])
@pytest.mark.parametrize("k", [1, 2, 3, 10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_a_product(rng, m, n, k, dtype):
    lines, keys, coef = rng.normal(size=(n + 2, m)).astype(dtype), rng.permutation(n + 2)[:n], rng.normal(size=(n, k))
    out = np.ones((k, m))
    kernels.passes.dot(lines, keys, coef, out)
    np.testing.assert_allclose(out, 1.0 + coef.T @ lines[keys].astype(float), rtol=1e-12, atol=1e-11)


def test_bits_do_not_depend_on_the_number_of_threads(rng):
    X, force = np.asfortranarray(rng.normal(size=(3001, 1001))), rng.normal(size=(3001, 5))
    one, two = (Features().bind(X, Context(n_jobs=jobs)).correlate(force) for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one, X.T @ force, rtol=1e-10, atol=1e-10)
