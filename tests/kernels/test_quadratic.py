"""The row step of the quadratic model against slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from components import PENALTIES, name
from scipy.optimize import minimize as scipy_minimize

from sparseboost import kernels
from sparseboost.penalties import Penalty


def row_step(penalty: Penalty, d: np.ndarray, b: np.ndarray, strength: float) -> np.ndarray:
    row, k = np.zeros(d.size), d.size
    kernels.quadratic.quadratic_row(
        penalty.kernel, row, d, b.copy(), strength, penalty.positive, np.empty((4, k)), np.empty(k, dtype=np.int64)
    )
    return row


def row_model(penalty: Penalty, d: np.ndarray, b: np.ndarray, strength: float, row: np.ndarray) -> float:
    if penalty.positive and row.min() < 0:
        return np.inf
    return 0.5 * d @ row**2 - b @ row + strength * float(penalty.value(row[None])[0])


@pytest.mark.parametrize("penalty", PENALTIES, ids=name)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_row_step_is_the_minimiser(penalty: Penalty, k: int, rng: np.random.Generator) -> None:
    for trial in range(25):
        d = np.exp(rng.normal(size=k) * 2.0)
        b = rng.normal(size=k) * np.exp(rng.normal())
        strength = [0.0, 0.3, 1.0, 5.0][trial % 4]
        best = row_step(penalty, d, b, strength)
        value = row_model(penalty, d, b, strength, best)
        assert np.isfinite(value)
        for scale in (1e-6, 1e-3, 1e-1, 1.0):
            for _ in range(20):
                other = best + scale * rng.normal(size=k) * (rng.random(k) < 0.7)
                assert value <= row_model(penalty, d, b, strength, other) + 1e-12 * (1.0 + abs(value))
        assert value <= row_model(penalty, d, b, strength, np.zeros(k)) + 1e-14
        # coordinates shrunk together: the direction in which ties of the largest entries leave
        for factor in (0.9, 0.999, 1.001, 1.1):
            assert value <= row_model(penalty, d, b, strength, factor * best) + 1e-12 * (1.0 + abs(value))


def test_row_step_against_scipy_for_the_group_norm(rng: np.random.Generator) -> None:
    from sparseboost.penalties import L1L2

    d, b = np.array([0.01, 3.0, 40.0]), np.array([1.0, -2.0, 5.0])
    found = row_step(L1L2(), d, b, 0.7)
    oracle = scipy_minimize(
        lambda w: row_model(L1L2(), d, b, 0.7, w), found + 0.1, method="BFGS", options={"gtol": 1e-10}
    )
    np.testing.assert_allclose(found, oracle.x, rtol=1e-5, atol=1e-5)
