"""Products of columns that are kept from step to step, against products computed anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from components import LOSSES, LossCase, name
from runs import full_ensemble, random_problem

from sparseboost.hypotheses import Features
from sparseboost.penalties import L1L2
from sparseboost.problem import Problem
from sparseboost.solvers import gram_cache
from sparseboost.solvers.constant_gram import ConstantGram
from sparseboost.solvers.gram_cache import GramCache
from sparseboost.solvers.panel import places

Array = np.ndarray
CURVED = [case for case in LOSSES if case.loss.smooth and not case.loss.quadratic]


def with_ones(problem: Problem, columns: Array) -> Array:
    return np.hstack([columns, np.ones((columns.shape[0], 1))]) if problem.fit_intercept else columns


def bound(problem: Problem, sparse: bool) -> tuple[Problem, Array]:
    X = full_ensemble(problem).columns.matrix
    X = np.asarray(X.toarray() if sp.issparse(X) else X)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    return replace(problem, dictionary=Features().bind(sp.csc_array(X) if sparse else X)), X


@pytest.mark.parametrize("sparse", [False, True])
def test_constant_products_grow_and_never_change(sparse: bool) -> None:
    case = next(case for case in LOSSES if case.loss.quadratic)
    problem, X = bound(random_problem(case, L1L2(), 4, m=20, n=8), sparse)
    gram, everything = ConstantGram(), full_ensemble(problem)
    A = np.hstack([np.ones((20, 1)), X])
    for keys in ([3, 1], [1, 5, 3], [0, 1, 2, 7], [7, 3, 0]):
        part = everything.keep(np.isin(everything.keys, keys))
        new = np.flatnonzero(~gram.follow(problem, part, 10_000))
        if new.size:
            gram.add(problem, part, new)
        place = np.append(0, 1 + gram.keys)
        truth = A[:, place].T @ (problem.weight[:, None] * A[:, place])
        np.testing.assert_allclose(gram.matrix[:, 0, : place.size], truth, atol=1e-13)
    assert sorted(gram.keys) == [0, 1, 2, 3, 5, 7]
    assert np.all(gram.follow(problem, everything, 10_000) == np.isin(everything.keys, gram.keys))
    assert not np.any(gram.follow(problem, everything, 64))  # too many to keep
    gram.add(problem, everything, np.arange(8))
    assert not np.any(gram.follow(replace(problem, weight=problem.weight.copy()), everything, 10_000))


@pytest.mark.parametrize("case", CURVED, ids=name)
@pytest.mark.parametrize("sparse", [False, True])
def test_hessian_of_the_weights(case: LossCase, sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gram_cache, "NEGLIGIBLE", 0.0)
    problem, X = bound(random_problem(case, L1L2(), 4, m=30, n=8), sparse)
    loss, k = problem.driving_loss, problem.n_outputs
    score = np.random.default_rng(0).normal(size=(30, k))
    _, _, local = loss.model(problem.y, problem.weight, score)
    if local is None:
        pytest.skip("no curvature")
    step, h = 1e-5, np.einsum("ir,rs->irs", local * loss.sharpness, np.eye(k))
    for s in range(k if loss.multiclass else 0):  # Hessian of every example, by differences
        move = step * np.eye(k)[s]
        h[:, :, s] = (loss.gradient(problem.y, score + move) - loss.gradient(problem.y, score - move)) / (2 * step)
    cache, everything = GramCache(), full_ensemble(problem)
    for keys in ([3, 1], [1, 5, 3], [0, 1, 2, 7]):
        part = everything.keep(np.isin(everything.keys, keys))
        found = cache.hessian(problem, part, np.arange(part.size), local)
        A = with_ones(problem, X[:, part.keys])
        truth = np.einsum("i,ij,irs,il->jrsl", problem.weight, A, h, A)
        if not loss.multiclass:
            truth = np.einsum("jrrl->jrl", truth)
        np.testing.assert_allclose(found, truth.reshape(found.shape), atol=1e-5 * np.abs(truth).max())
    assert np.all(cache.known(problem, part, local))
    assert not np.any(cache.known(problem, part, 2.0 * local))


def test_places() -> None:
    assert places(np.array([7, 2]), np.array([2, 9, 7])).tolist() == [2, 0]
    assert places(np.array([1, 7, 99, 5]), np.array([2, 9, 7])).tolist() == [-1, 2, -1, -1]
    assert places(np.array([1]), np.empty(0, np.int64)).tolist() == [-1]
