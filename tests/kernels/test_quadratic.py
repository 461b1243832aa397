"""The row step and the sweeps of the quadratic model against slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from components import PENALTIES, name
from scipy.optimize import minimize as scipy_minimize

from sparseboost import kernels
from sparseboost.hypotheses import Columns, Features
from sparseboost.penalties import NoPenalty, Penalty


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
    np.testing.assert_allclose(found, oracle.x, atol=1e-5)


def hessians(local: np.ndarray, pivot: np.ndarray) -> np.ndarray:
    """Hessian of every example, from what the kernels are given."""
    k = local.shape[1]
    diagonal = np.einsum("ir,rs->irs", local, np.eye(k))
    if pivot.size == 0:
        return diagonal
    if pivot[0] < 0:
        return diagonal - np.einsum("ir,is->irs", local, local)
    edges = np.eye(k)[None] - np.eye(k)[pivot][:, None, :]  # e_r − e_c
    return np.einsum("ir,irs,irt->ist", local, edges, edges)


def model(
    columns: Columns, penalty: Penalty, local: np.ndarray, pivot: np.ndarray, free: bool, rng: np.random.Generator
):  # type: ignore[no-untyped-def]
    m, k = local.shape
    coupled = pivot.size > 0
    weight = rng.uniform(0.5, 1.5, size=m)
    n = columns.size + free
    A = columns.matrix.toarray() if hasattr(columns.matrix, "toarray") else columns.matrix
    A = np.hstack([A, np.ones((m, 1))]) if free else A
    gradient = rng.normal(size=(n, k))
    if coupled:  # as softmax's gradients do, so that the model is bounded below
        gradient -= gradient.mean(axis=1, keepdims=True)
    hessian = np.einsum("i,ij,irs,il->jrls", weight, A, hessians(local, pivot), A)
    own = np.einsum("jrjs->jrs", hessian)
    diagonal = np.maximum(np.einsum("jrr->jr", own) * (2.0 if coupled else 1.0), 1e-12)
    strength = rng.uniform(0.1, 0.5, size=columns.size)

    def value(coef: np.ndarray) -> float:
        kept = coef[:-1] if free else coef
        change = coef - start
        quadratic = 0.5 * np.einsum("jr,jrls,ls->", change, hessian, change) + (gradient * change).sum()
        return float(quadratic + strength @ penalty.value(kept))

    start = np.zeros((n, k))
    gram = hessian.reshape(n, k, n * k) if coupled else np.ascontiguousarray(np.einsum("jrlr->jrl", hessian))
    return weight, gradient, diagonal, strength, gram, start, value


@pytest.mark.parametrize("penalty", PENALTIES, ids=name)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("coupling", ["none", "softmax", "pairs"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_sweeps_on_columns_and_on_the_gram_matrix_lower_the_same_model(
    penalty: Penalty, k: int, coupling: str, sparse: bool, free: bool, rng: np.random.Generator
) -> None:
    coupled = coupling != "none"
    if coupled and k == 1:
        return
    import scipy.sparse as sp

    m, n = 30, 5
    X = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.6)
    columns = Features().bind(sp.csc_array(X) if sparse else X).columns(np.arange(n))
    local = rng.dirichlet(np.ones(k), size=m) if coupling == "softmax" else rng.uniform(0.1, 0.3, size=(m, k))
    pivot = np.full(m if coupled else 0, -1)
    pivot = rng.integers(k, size=m) if coupling == "pairs" else pivot
    weight, gradient, diagonal, strength, gram, start, value = model(columns, penalty, local, pivot, free, rng)
    shape = (penalty.kernel, penalty.positive, free)
    on_columns, on_gram = start.copy(), start.copy()
    gained, sweeps = kernels.quadratic.model_sweeps(
        *columns.flat, gradient, diagonal, strength, on_columns, *shape, weight, local, pivot, np.zeros((m, k)),
        400, 0.0,
    )  # fmt: skip
    again, _ = kernels.quadratic.gram_sweeps(gram, gradient, diagonal, strength, on_gram, *shape, coupled, 400, 0.0)
    assert sweeps >= 1
    np.testing.assert_allclose(on_columns, on_gram, atol=1e-7)
    assert gained == pytest.approx(again, rel=1e-9, abs=1e-12)
    if not coupled:  # the diagonal is exact, so the decrease is the model's own
        assert value(start) - value(on_gram) == pytest.approx(gained, rel=1e-9, abs=1e-10)
    else:
        assert value(start) - value(on_gram) >= gained - 1e-10
    lowest = value(on_gram)
    for _ in range(200):
        other = on_gram + rng.normal(size=start.shape) * 10.0 ** rng.uniform(-4, 0) * (rng.random(start.shape) < 0.5)
        if penalty.positive:
            other[:n] = np.maximum(other[:n], 0.0)
        assert lowest <= value(other) + 1e-7


def test_one_gram_matrix_serves_all_outputs(rng: np.random.Generator) -> None:
    n, k = 4, 3
    A = rng.normal(size=(20, n))
    alone = np.ascontiguousarray((A.T @ A)[:, None, :])
    every = np.repeat(alone, k, axis=1)
    gradient, diagonal = rng.normal(size=(n, k)), np.repeat(np.diag(A.T @ A)[:, None], k, axis=1).copy()
    results = []
    for gram in (alone, every):
        coef = np.zeros((n, k))
        kernels.quadratic.gram_sweeps(
            gram, gradient, diagonal, np.zeros(n), coef, NoPenalty.kernel, False, False, False, 500, 0.0
        )
        results.append(coef)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], -np.linalg.solve(A.T @ A, gradient), atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_inner_products_and_energies(sparse: bool, rng: np.random.Generator) -> None:
    import scipy.sparse as sp

    X = rng.normal(size=(25, 6)) * (rng.random((25, 6)) < 0.5)
    weight, weights = rng.random(25), rng.random((25, 3))
    columns = Features().bind(sp.csc_array(X) if sparse else X).columns(np.arange(6))
    np.testing.assert_allclose(columns.inner(weight), X.T @ (weight[:, None] * X), atol=1e-13)
    np.testing.assert_allclose(columns.energies(weights), (X**2).T @ weights, atol=1e-13)
    other = columns.keep(np.arange(6) < 2)
    np.testing.assert_allclose(columns.cross(other, weight), X.T @ (weight[:, None] * X[:, :2]), atol=1e-13)
