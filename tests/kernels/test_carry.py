"""What is known of one force from two others: least squares, Cauchy–Schwarz, and the better of two bounds."""

import numpy as np
import pytest

from sparseboost.kernels.carry import carry, combine
from sparseboost.penalties import L1, L1L2, L1Linf

PENALTIES = [L1(), L1L2(), L1Linf(), L1(positive=True), L1L2(positive=True), L1Linf(positive=True)]


@pytest.mark.parametrize("k", [1, 3])
def test_shares_are_those_of_least_squares(k, rng):
    force, one, two = rng.normal(size=(3, 40, k)) + 1.0
    shares, lengths = np.empty((2, 2)), np.empty((4, k))
    combine(force, one, two, shares, lengths)
    line = np.vdot(one, force) / np.vdot(one, one)
    plane = np.linalg.lstsq(np.stack([one.ravel(), two.ravel()], axis=1), force.ravel(), rcond=None)[0]
    np.testing.assert_allclose(shares, [[line, 0.0], plane], rtol=1e-10)
    rests = [force - line * one, force - plane[0] * one - plane[1] * two, one, two]
    np.testing.assert_allclose(lengths, [np.linalg.norm(rest, axis=0) for rest in rests], rtol=1e-10)


def test_forces_that_span_no_plane_span_a_line_or_nothing(rng):
    force, one = rng.normal(size=(2, 40, 2))
    shares, lengths = np.empty((2, 2)), np.empty((4, 2))
    for other in (one, 3.0 * one, np.zeros_like(one)):
        combine(force, one, other, shares, lengths)
        np.testing.assert_array_equal(shares[1], shares[0])
        np.testing.assert_array_equal(lengths[1], lengths[0])
    combine(force, np.zeros_like(one), np.zeros_like(one), shares, lengths)
    np.testing.assert_array_equal(shares, 0.0)
    np.testing.assert_allclose(lengths[:2], np.tile(np.linalg.norm(force, axis=0), (2, 1)), rtol=1e-14)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_each_hypothesis_takes_the_better_combination(penalty, k, rng):
    n = 50
    shares, more = np.array([[0.9, 0.0], [1.8, -0.8]]), np.array([0.3, 0.1])
    one = rng.normal(size=(n, k))
    two = one + 0.2 * rng.normal(size=(n, k))
    one_off, two_off, lengths, cost = rng.exponential(size=(4, n)) * np.array([[0.1], [0.1], [1.0], [1.0]])
    centre, (off, violation) = np.empty((n, k)), np.empty((2, n))
    sign = penalty.kernel, penalty.positive
    carry(*sign, shares, more, one, one_off, two, two_off, lengths, cost, centre, off, violation)
    centres = [share[0] * one + share[1] * two for share in shares]
    offs = [
        abs(share[0]) * one_off + abs(share[1]) * two_off + m * lengths for share, m in zip(shares, more, strict=True)
    ]
    bounds = [penalty.violation(some, cost) + by for some, by in zip(centres, offs, strict=True)]
    better = (bounds[1] < bounds[0]).astype(int)
    assert 5 < better.sum() < 45
    for j in range(n):
        np.testing.assert_allclose(centre[j], centres[better[j]][j], rtol=1e-12)
        np.testing.assert_allclose([off[j], violation[j]], [offs[better[j]][j], bounds[better[j]][j]], rtol=1e-12)
