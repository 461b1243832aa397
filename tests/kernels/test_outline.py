"""Columns in few bits: sums over them are those of NumPy, and as near to the columns' own as they claim."""

import numpy as np
import pytest

from sparseboost import kernels
from sparseboost.hypotheses.outline import Outline
from sparseboost.penalties import L1, L1L2, L1Linf


def columns(rng, m):
    """Columns that round well, and such that hardly do."""
    plain = rng.normal(size=(5, m))
    odd = [
        np.zeros(m), np.full(m, 3.7), 1e6 + rng.normal(size=m), 1e11 + rng.normal(size=m),
        *(size + rng.normal(size=m) for size in (5e11, 1e12, 2e12, 1e13)),
        np.where(np.arange(m) == m // 2, 1e9, plain[0]),
        1e-200 * plain[1], 1e-308 * plain[2], 1e60 * plain[3], rng.exponential(size=m) ** 3,
        (rng.random(m) < 0.1).astype(float), np.linspace(-1.0, 1.0, m),
    ]  # fmt: skip
    return np.ascontiguousarray(np.vstack([plain, *odd]))


def drawn(lines, dtype):
    n, m = lines.shape
    out, (scale, centre, error, squares) = np.empty((n, m), dtype), np.empty((4, n))
    kernels.outline.draw(lines, int(np.iinfo(dtype).max), out, scale, centre, error, squares)
    return out, scale, centre, error, squares


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
@pytest.mark.parametrize("m", [1, 7, 32, 1000, 3001])
def test_steps_are_the_nearest_ones(m, dtype, rng):
    lines = columns(rng, m)
    out, scale, centre, error, squares = drawn(lines, dtype)
    np.testing.assert_allclose(squares, np.square(lines).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(centre, 0.5 * lines.min(axis=1) + 0.5 * lines.max(axis=1), rtol=1e-15)
    rest = np.abs(lines - centre[:, None] - scale[:, None] * out)
    size = np.abs(lines).max(axis=1)
    coarse = scale <= kernels.outline.TINY
    assert np.all(rest.max(axis=1)[~coarse] <= (0.50001 * scale + 1e-12 * size)[~coarse])
    assert np.all(error >= np.sqrt(np.square(rest).sum(axis=1)))


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
@pytest.mark.parametrize("k", [1, 4, 12])
@pytest.mark.parametrize("m", [1, 600, 2500])
def test_sums_are_those_of_numpy(m, k, dtype, rng):
    most = int(np.iinfo(dtype).max)
    lines = rng.integers(-most, most + 1, size=(9, m)).astype(dtype)
    forces = rng.normal(size=(k, m)).astype(np.float32)
    keys, out = np.array([8, 0, 3, 3, 5]), np.full((5, k), np.nan)
    scale, centre, totals = *rng.normal(size=(2, 9)), rng.normal(size=k)
    kernels.outline.correlate(lines, scale, centre, keys, forces, totals, out)
    exact = (lines[keys] * scale[keys, None]) @ forces.T.astype(float) + np.outer(centre[keys], totals)
    drawn = np.abs(scale[keys]) * np.linalg.norm(lines[keys].astype(float), axis=1)
    length = np.outer(drawn, np.linalg.norm(forces.astype(float), axis=1))
    assert np.all(np.abs(out - exact) <= kernels.outline.ROUNDING * length)


def share(work, length):
    return [work(part) for part in (slice(0, length // 3), slice(length // 3, length))]


@pytest.mark.parametrize("penalty", [L1(), L1L2(), L1Linf(), L1L2(positive=True)], ids=repr)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("size", [1.0, 1e-60, 1e60])
@pytest.mark.parametrize(("dtype", "near"), [(np.int8, 0.05), (np.int16, 1e-3)])
def test_no_dual_norm_is_above_its_bound(penalty, k, count, size, dtype, near, rng):
    lines = columns(rng, 1500)
    outline = Outline(lines, share, dtype)
    np.testing.assert_allclose(outline.lengths, np.linalg.norm(lines, axis=1), rtol=1e-12)
    forces = [size * rng.normal(size=(1500, k)) * 10.0**-t for t in range(count)]
    keys = rng.permutation(len(lines))
    nearly = outline.nearly(keys, forces, penalty.dual_norm, share)
    for force, (sums, off) in zip(forces, nearly, strict=True):
        true, bound = penalty.dual_norm(lines[keys] @ force), penalty.dual_norm(sums) + off
        assert np.all(off >= penalty.dual_norm(-np.abs(sums - lines[keys] @ force)) * (1.0 - 1e-12))
        assert np.all(bound >= true * (1.0 - 1e-12))
        usual = keys < 5  # of those that round well, the bound is close
        reach = np.linalg.norm(lines[keys], axis=1) * float(penalty.dual_norm(-np.linalg.norm(force, axis=0)[None])[0])
        assert np.all((bound - true)[usual] <= near * reach[usual])


def test_forces_that_are_zero_have_bounds_of_zero(rng):
    outline = Outline(columns(rng, 50), share, np.int8)
    ((sums, off),) = outline.nearly(np.arange(15), [np.zeros((50, 2))], L1().dual_norm, share)
    np.testing.assert_array_equal(sums, 0.0)
    np.testing.assert_array_equal(off, 0.0)
