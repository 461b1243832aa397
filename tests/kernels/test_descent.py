"""Sweeps over the quadratic model, on columns and on the Hessian, against slow twins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from components import PENALTIES, name

from sparseboost import kernels
from sparseboost.hypotheses import Columns, Features
from sparseboost.penalties import L1, L1L2, L1Linf, NoPenalty, Penalty

Array = np.ndarray


def hessians(local: Array, pivot: Array) -> Array:
    """Hessian of every example, from what the kernels are given."""
    k = local.shape[1]
    diagonal = np.einsum("ir,rs->irs", local, np.eye(k))
    if pivot.size == 0:
        return diagonal
    if pivot[0] < 0:
        return diagonal - np.einsum("ir,is->irs", local, local)
    edges = np.eye(k)[None] - np.eye(k)[pivot][:, None, :]  # e_r − e_c
    return np.einsum("ir,irs,irt->ist", local, edges, edges)


class Model:
    """A random model with the Hessian written out."""

    def __init__(self, columns: Columns, penalty: Penalty, local: Array, pivot: Array, free: bool, rng) -> None:  # type: ignore[no-untyped-def]
        m, k = local.shape
        A = columns.matrix.toarray() if sp.issparse(columns.matrix) else columns.matrix
        A = np.hstack([A, np.ones((m, 1))]) if free else A
        self.columns, self.penalty, self.local, self.pivot, self.free = columns, penalty, local, pivot, free
        self.weight, self.strength = rng.uniform(0.5, 1.5, size=m), rng.uniform(0.1, 0.5, size=columns.size)
        self.gradient = rng.normal(size=(A.shape[1], k))
        if pivot.size:  # as gradients of coupled losses do, so that the model is bounded below
            self.gradient -= self.gradient.mean(axis=1, keepdims=True)
        self.hessian = np.einsum("i,ij,irs,il->jrsl", self.weight, A, hessians(local, pivot), A)

    def value(self, coef: Array) -> float:
        kept = coef[:-1] if self.free else coef
        quadratic = 0.5 * np.einsum("jr,jrsl,ls->", coef, self.hessian, coef) + (self.gradient * coef).sum()
        return float(quadratic + self.strength @ self.penalty.value(kept))

    def descend(self, columns: Any, gram: Array | None, diagonal: Array, curve: Any) -> tuple[Array, float]:
        coef = np.zeros(self.gradient.shape)
        gained, sweeps, _, slope, pushed = kernels.descent.descend(
            columns, gram, self.gradient, diagonal, self.strength, coef, self.penalty.kernel, self.penalty.positive,
            coef.shape[0] - 1 if self.free else -1, np.full(coef.shape[0], 2, np.int8), curve, 0.0, 400, 0.0, True,
        )  # fmt: skip
        assert 1 <= sweeps <= 400
        if gram is not None:
            expected = self.gradient + np.einsum("jrsl,ls->jr", self.hessian, coef)
            np.testing.assert_allclose(slope, expected, atol=1e-10)
        elif not self.pivot.size:
            self.check_pushed(pushed, coef)
        return coef, gained

    def check_pushed(self, pushed: Array, coef: Array) -> None:
        """It is the curvature times what the columns add to the scores."""
        expected = self.weight[:, None] * self.local * (self.columns.matrix @ coef[: self.columns.size])
        pushed = pushed if sp.issparse(self.columns.matrix) else pushed.T
        np.testing.assert_allclose(pushed[:, : expected.shape[1]], expected, atol=1e-5 * (1.0 + np.abs(expected).max()))

    def on_columns(self) -> tuple[Array, float]:
        local = self.local if self.pivot.size else self.weight[:, None] * self.local
        data, indices, indptr = self.columns.flat
        sparse = sp.issparse(self.columns.matrix)
        local = np.ascontiguousarray(local if sparse else local.T, dtype=np.float32)
        columns, curve = (data, indices if sparse else None, indptr), (self.weight, local, self.pivot)
        if not self.free or self.pivot.size:
            return self.descend(columns, None, np.empty(self.gradient.shape), curve)
        n, k = self.gradient.shape  # the intercept is no row: it follows
        coef, corner = np.zeros((n, k)), np.einsum("rr->r", self.hessian[-1, :, :, -1])
        gained, _, coef[-1], _, pushed = kernels.descent.descend(
            columns, None, self.gradient[:-1], np.empty((n - 1, k)), self.strength, coef[:-1], self.penalty.kernel,
            self.penalty.positive, -1, np.full(n - 1, 2, np.int8), curve, 0.0, 400, 0.0, True,
            (self.gradient[-1], corner),
        )  # fmt: skip
        self.check_pushed(pushed, coef)
        return coef, gained + 0.5 * float((self.gradient[-1] ** 2 / corner).sum())

    def on_hessian(self) -> tuple[Array, float]:
        n, k = self.gradient.shape
        diagonal = np.maximum(np.einsum("jrrj->jr", self.hessian) * (2.0 if self.pivot.size else 1.0), 1e-12)
        gram = self.hessian if self.pivot.size else np.einsum("jrrl->jrl", self.hessian)
        gram = np.ascontiguousarray(gram).reshape(n, k, -1)
        return self.descend(None, gram, diagonal, None)


@pytest.mark.parametrize("penalty", PENALTIES, ids=name)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("coupling", ["none", "softmax", "pairs"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_sweeps_on_columns_and_on_the_hessian_lower_the_same_model(
    penalty: Penalty, k: int, coupling: str, sparse: bool, free: bool, rng: np.random.Generator
) -> None:
    if coupling != "none" and k == 1:
        return
    m, n = 30, 5
    X = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.6)
    columns = Features().bind(sp.csc_array(X) if sparse else X).columns(np.arange(n))
    local = rng.dirichlet(np.ones(k), size=m) if coupling == "softmax" else rng.uniform(0.1, 0.3, size=(m, k))
    pivot = np.full(0 if coupling == "none" else m, -1)
    if coupling == "pairs":  # the own class is bound to all others
        pivot = rng.integers(k, size=m)
        local[np.arange(m), pivot] = local.sum(axis=1) - local[np.arange(m), pivot]
    model = Model(columns, penalty, local, pivot, free, rng)
    (found, gained), (other, again) = model.on_hessian(), model.on_columns()
    fall = model.value(np.zeros_like(found)) - model.value(found)
    if coupling == "none" and penalty.kernel is not None:  # the diagonal is exact, so is the decrease
        assert fall == pytest.approx(gained, rel=1e-9, abs=1e-10)
    assert fall >= gained * (1.0 - 1e-9) - 1e-10
    lowest = model.value(found)
    # sums over examples are in single precision, and a row that stayed zero once is not looked at again
    assert model.value(other) == pytest.approx(lowest, abs=1e-4 * (1.0 + abs(lowest)))
    assert model.value(np.zeros_like(found)) - model.value(other) >= again * (1.0 - 1e-4) - 1e-5
    for _ in range(200):
        moved = found + rng.normal(size=found.shape) * 10.0 ** rng.uniform(-4, 0) * (rng.random(found.shape) < 0.5)
        if penalty.positive:
            moved[:n] = np.maximum(moved[:n], 0.0)
        assert lowest <= model.value(moved) + 1e-7


def plain(gram: Array, gradient: Array, watched: Array, most: int, coef: Array | None = None) -> Array:
    """Sweeps without a penalty on one output."""
    n = gram.shape[0]
    coef = np.zeros((n, 1)) if coef is None else coef
    kernels.descent.descend(
        None, np.ascontiguousarray(gram[:, None, :]), gradient, np.diag(gram)[:, None].copy(), np.zeros(n), coef,
        NoPenalty.kernel, False, -1, watched, None, 0.0, most, 0.0, True,
    )  # fmt: skip
    return coef[:, 0]


def test_rows_that_are_not_watched_stay(rng: np.random.Generator) -> None:
    A = rng.normal(size=(20, 3))
    coef = plain(A.T @ A, rng.normal(size=(3, 1)), np.array([1, 0, 1], np.int8), 50, np.ones((3, 1)))
    assert coef[1] == 1.0
    assert np.all(coef[[0, 2]] != 1.0)


def test_extrapolation_jumps_along_the_valley_that_sweeps_creep_through(rng: np.random.Generator) -> None:
    n = 30
    A = rng.normal(size=(200, 1)) + 0.1 * rng.normal(size=(200, n))
    gram, gradient = A.T @ A, rng.normal(size=(n, 1))

    def value(coef: Array) -> float:
        return float(0.5 * coef @ gram @ coef + gradient[:, 0] @ coef)

    creeping = np.zeros(n)  # one coordinate after the other
    for _ in range(60):
        for j in range(n):
            creeping[j] -= (gradient[j, 0] + gram[j] @ creeping) / gram[j, j]
    values = [value(plain(gram, gradient, np.ones(n, np.int8), most)) for most in (5, 6, 12, 24, 60)]
    assert np.all(np.diff(values) <= 1e-12)
    best = value(-np.linalg.solve(gram, gradient[:, 0]))
    assert values[-1] - best <= 0.5 * (value(creeping) - best)


def test_sweeps_end_when_one_gains_no_more_than_what_is_enough(rng: np.random.Generator) -> None:
    n = 12
    A = rng.normal(size=(50, 1)) + 0.3 * rng.normal(size=(50, n))
    gram, gradient = np.ascontiguousarray((A.T @ A)[:, None, :]), rng.normal(size=(n, 1))
    watched, diagonal = np.ones(n, np.int8), gram[:, 0].diagonal()[:, None].copy()

    def sweep(most: int, enough: float) -> tuple[float, int]:
        gained, done, *_ = kernels.descent.descend(
            None, gram, gradient, diagonal, np.zeros(n), np.zeros((n, 1)), NoPenalty.kernel, False, -1, watched, None,
            0.0, most, 0.0, False, None, enough,
        )  # fmt: skip
        return gained, done

    gains = np.diff([0.0, *(sweep(most, -np.inf)[0] for most in range(1, 41))])
    assert sweep(40, -np.inf)[1] == 40
    for enough in (gains[0], gains[4], gains[20]):
        assert sweep(40, enough * (1.0 + 1e-6))[1] == 1 + int(np.argmax(gains <= enough * (1.0 + 1e-6)))


def test_few_sweeps_jump_already_and_nothing_is_enough_before(rng: np.random.Generator) -> None:
    """Columns that all examples have hold up each other: three sweeps and a jump are worth more than five sweeps."""
    n = 12
    A = 1.0 + 0.2 * rng.normal(size=(50, n))
    gram, gradient = np.ascontiguousarray((A.T @ A)[:, None, :]), A.T @ np.ones((50, 1)) + rng.normal(size=(n, 1))
    watched, diagonal = np.ones(n, np.int8), gram[:, 0].diagonal()[:, None].copy()

    def sweep(most: int, enough: float, early: int) -> tuple[float, int]:
        gained, done, *_ = kernels.descent.descend(
            None, gram, gradient, diagonal, np.zeros(n), np.zeros((n, 1)), NoPenalty.kernel, False, -1, watched, None,
            0.0, most, 0.0, True, None, enough, early,
        )  # fmt: skip
        return gained, done

    assert sweep(2, -np.inf, 2)[0] == sweep(2, -np.inf, 0)[0]
    assert sweep(3, -np.inf, 2)[0] > sweep(5, -np.inf, 0)[0]
    assert sweep(40, np.inf, 0)[1] == 1
    assert sweep(40, np.inf, 2)[1] == 3


def test_one_matrix_serves_all_outputs(rng: np.random.Generator) -> None:
    n, k = 4, 3
    A = rng.normal(size=(20, n))
    alone = np.ascontiguousarray((A.T @ A)[:, None, :])
    roomy = np.full((n + 2, 2 * n), np.nan)  # as matrices that grow are
    roomy[:n, :n] = A.T @ A
    gradient, diagonal = rng.normal(size=(n, k)), np.repeat(np.diag(A.T @ A)[:, None], k, axis=1).copy()
    results = []
    for gram in (alone, np.repeat(alone, k, axis=1), roomy[:n, None, :]):
        coef = np.zeros((n, k))
        kernels.descent.descend(
            None, gram, gradient, diagonal, np.zeros(n), coef, NoPenalty.kernel, False, -1, np.ones(n, np.int8), None,
            0.0, 500, 0.0, True,
        )  # fmt: skip
        results.append(coef)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_allclose(results[0], -np.linalg.solve(A.T @ A, gradient), atol=1e-6)


def test_one_matrix_serves_outputs_with_factors(rng: np.random.Generator) -> None:
    n, k = 4, 3
    A, factor = rng.normal(size=(20, n)), rng.uniform(0.5, 2.0, size=k)
    gram, gradient = A.T @ A, rng.normal(size=(n, k))
    diagonal = np.diag(gram)[:, None] * factor
    coef = np.zeros((n, k))
    kernels.descent.descend(
        None, np.ascontiguousarray(gram[:, None, :]), gradient, diagonal, np.zeros(n), coef, NoPenalty.kernel, False,
        -1, np.ones(n, np.int8), None, 0.0, 500, 0.0, True, factor=factor[:, None],
    )  # fmt: skip
    np.testing.assert_allclose(coef, -np.linalg.solve(gram, gradient) / factor, atol=1e-6)


@pytest.mark.parametrize("penalty", [L1(), L1L2(), L1Linf()], ids=repr)
def test_one_matrix_serves_pairs_of_outputs_with_factors(penalty: Penalty, rng: np.random.Generator) -> None:
    n, k = 5, 3
    A, q = rng.normal(size=(20, n)), rng.dirichlet(np.ones(k))
    gram, gradient, factor = A.T @ A, rng.normal(size=(n, k)), np.diag(q) - np.outer(q, q)
    gradient -= gradient.mean(axis=1, keepdims=True)
    diagonal = 2.0 * np.diag(gram)[:, None] * np.diag(factor)
    written = np.einsum("jl,rs->jrsl", gram, factor).reshape(n, k, k * n)
    results = []
    for matrix, times in ((gram[:, None, :], factor), (written, None)):
        coef = np.zeros((n, k))
        found = kernels.descent.descend(
            None, np.ascontiguousarray(matrix), gradient, diagonal, np.full(n, 0.3), coef, penalty.kernel, False,
            -1, np.ones(n, np.int8), None, 0.0, 30, 0.0, True, factor=times,
        )  # fmt: skip
        results.append((coef, found.slope, found.gained))
    assert np.any(results[0][0] != 0.0)
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-8)  # sweeps carry rounding on


@pytest.mark.parametrize("digits", [np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 8, 9, 17, 25, 32, 33, 70])
@pytest.mark.parametrize("coupling", ["none", "softmax", "pairs"])
def test_sparse_columns_take_the_steps_of_dense_ones(
    k: int, coupling: str, digits: type, rng: np.random.Generator
) -> None:
    """Sparse columns hold outputs in vectors, as many at a time as there are; dense ones hold examples."""
    m, n = 40, 6
    X = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.5)
    local = rng.dirichlet(np.ones(k), size=m) if coupling == "softmax" else rng.uniform(0.1, 0.3, size=(m, k))
    pivot = np.full(0 if coupling == "none" else m, -1)
    if coupling == "pairs":
        pivot = rng.integers(k, size=m)
    weight, gradient = rng.uniform(0.5, 1.5, size=m) / m, rng.normal(size=(n, k))
    if coupling != "none":
        gradient -= gradient.mean(axis=1, keepdims=True)
    found, A = [], sp.csc_array(X)
    flat = np.asfortranarray(X, dtype=digits).ravel(order="F")
    for columns, curvature in (
        ((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int64)), local),
        ((flat, None, m * np.arange(n + 1)), local.T),
    ):
        coef, diagonal = np.zeros((n, k)), np.empty((n, k))
        gained, *_ = kernels.descent.descend(
            columns, None, gradient, diagonal, np.full(n, 0.1), coef, PENALTIES[0].kernel, False, -1,
            np.full(n, 2, np.int8), (weight, np.ascontiguousarray(curvature, dtype=digits), pivot), 1e-12, 7, -1.0,
            True,
        )  # fmt: skip
        found.append((coef, diagonal, gained))
    rough = 1e-3 if digits is np.float32 else 1e-10
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=rough)
    np.testing.assert_allclose(found[0][0], found[1][0], atol=rough * np.abs(found[1][0]).max())
    assert found[0][2] == pytest.approx(found[1][2], rel=rough)
    assert np.any(found[0][0] != 0.0)


def test_sums_over_long_sparse_columns_keep_their_digits(rng: np.random.Generator) -> None:
    """Sums in single precision are short ones."""
    m, k = 20_000, 3
    columns = (np.ones(m), np.arange(m, dtype=np.int32), np.array([0, m], np.int64))
    coef, gradient = np.zeros((1, k)), np.full((1, k), -1.0)
    local = np.full((m, k), 1.0 / m, np.float32)
    kernels.descent.descend(
        columns, None, gradient, np.empty((1, k)), np.zeros(1), coef, NoPenalty.kernel, False, -1,
        np.full(1, 2, np.int8), (np.ones(m), local, np.empty(0, int)), 0.0, 2, -1.0, False,
    )  # fmt: skip
    np.testing.assert_allclose(coef, 1.0, rtol=1e-5)


def test_wide_matrices_are_filled_up_with_zeros(rng: np.random.Generator) -> None:
    lanes = kernels.lanes
    for k, width in ((1, 1), (2, 8), (8, 8), (9, 16), (20, 24)):
        values = rng.normal(size=(5, k))
        found = lanes.wide(values, np.float32)
        assert found.shape == (5, width)
        assert found.ctypes.data % lanes.LINE == 0
        np.testing.assert_array_equal(found[:, :k], values.astype(np.float32))
        assert not np.any(found[:, k:])


@pytest.mark.parametrize("sparse", [False, True])
def test_inner_products(sparse: bool, rng: np.random.Generator) -> None:
    X = rng.normal(size=(25, 6)) * (rng.random((25, 6)) < 0.5)
    weight, some = rng.random(25), np.array([3, 7, 20])
    columns = Features().bind(sp.csc_array(X) if sparse else X).columns(np.arange(6))
    np.testing.assert_allclose(columns.inner(weight), X.T @ (weight[:, None] * X), atol=1e-13)
    part = columns.rows(some).inner(weight[some])
    np.testing.assert_allclose(part, X[some].T @ (weight[some, None] * X[some]), atol=1e-13)


def vectorised(function: Callable[[Array, Array], None], values: Array) -> Array:
    out = np.empty_like(values)
    function(values, out)
    return out


def test_elementary_functions_are_those_of_numpy(rng: np.random.Generator) -> None:
    from scipy.special import entr, expit

    few = 8 * np.finfo(float).eps
    t = np.concatenate([5.0 * rng.normal(size=1000), np.linspace(-690.0, 690.0, 1001), [0.0, 1e-300, -1e-12, 1e4]])
    np.testing.assert_allclose(vectorised(kernels.elementary.softplus, t), np.logaddexp(0.0, t), rtol=few)
    np.testing.assert_allclose(vectorised(kernels.elementary.sigmoid, t), expit(t), rtol=few)
    u = np.concatenate([rng.random(1000), 10.0 ** -np.arange(0.0, 300.0, 0.7), [0.0]])
    np.testing.assert_allclose(vectorised(kernels.elementary.entropy, u), entr(u), rtol=few, atol=few)
    both = vectorised(kernels.elementary.binary_entropy, u)
    np.testing.assert_allclose(both, entr(u) + entr(1.0 - u), rtol=few, atol=few)
    outside = vectorised(kernels.elementary.binary_entropy, np.array([-1e-9, 1.0 + 1e-9, np.nan]))
    assert np.all(outside == -np.inf)
    assert np.all(np.isnan(vectorised(kernels.elementary.softplus, np.array([np.nan]))))
