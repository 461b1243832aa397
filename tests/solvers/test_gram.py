"""Products of columns that are kept from step to step, against products computed anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from components import LOSSES, LossCase, name
from runs import full_ensemble, random_problem

from sparseboost.hypotheses import Features
from sparseboost.losses import Logistic, Softmax
from sparseboost.penalties import L1L2
from sparseboost.problem import Problem
from sparseboost.solvers import gram_cache
from sparseboost.solvers.constant_gram import ConstantGram
from sparseboost.solvers.following import Following
from sparseboost.solvers.gram_cache import GramCache, uniform
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
@pytest.mark.parametrize("free", [False, True])
def test_constant_products_grow_and_never_change(sparse: bool, free: bool) -> None:
    case = next(case for case in LOSSES if case.loss.quadratic)
    problem, X = bound(random_problem(case, L1L2(), 4, m=20, n=8), sparse)
    problem = replace(problem, fit_intercept=free)
    gram, everything = ConstantGram(), full_ensemble(problem)
    A = X - problem.weight @ X if free else X
    for keys in ([3, 1], [1, 5, 3], [0, 1, 2, 7], [7, 3, 0]):
        part = everything.keep(np.isin(everything.keys, keys))
        new = np.flatnonzero(~gram.follow(problem, part, 10_000))
        if new.size:
            gram.add(problem, part, new)
        known = A[:, gram.keys]
        truth = known.T @ (problem.weight[:, None] * known)
        np.testing.assert_allclose(gram.matrix[:, 0, : gram.keys.size], truth, atol=1e-13)
        np.testing.assert_allclose(gram.edge, problem.weight @ X[:, gram.keys], atol=1e-13)
        assert gram.corner == pytest.approx(1.0)
    assert sorted(gram.keys) == [0, 1, 2, 3, 5, 7]
    assert np.all(gram.follow(problem, everything, 10_000) == np.isin(everything.keys, gram.keys))
    assert not np.any(gram.follow(problem, everything, 63))  # too many to keep
    gram.add(problem, everything, np.arange(8))
    assert not np.any(gram.follow(replace(problem, weight=problem.weight.copy()), everything, 10_000))


@pytest.mark.parametrize("case", CURVED, ids=name)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("alike", [False, True], ids=["", "alike"])
def test_hessian_of_the_weights(case: LossCase, sparse: bool, alike: bool) -> None:
    problem, X = bound(random_problem(case, L1L2(), 4, m=30, n=8), sparse)
    loss, k = problem.driving_loss, problem.n_outputs
    score = np.random.default_rng(0).normal(size=(30, k))
    score = np.tile(score[:1], (30, 1)) if alike else score
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
            truth = np.einsum("jrrl->jrl", truth)[:, :, None, :]
        found = found * cache.factor(k)[..., None]
        np.testing.assert_allclose(found, truth, atol=1e-5 * np.abs(truth).max())
    if isinstance(loss, (Logistic, Softmax)) and k > 1:
        assert uniform(local) == alike
        assert cache._hessian.shape[1] == (1 if alike else k)
    assert np.all(cache.known(problem, part, local))
    assert not np.any(cache.known(problem, part, 2.0 * local))
    few = np.array([1, 0, 3])  # of four: sparse columns are stored by rows whole; of all eight they are not
    alone = GramCache().hessian(problem, everything, np.searchsorted(everything.keys, part.keys[few]), local)
    np.testing.assert_allclose(alone, GramCache().hessian(problem, part, few, local), atol=1e-12)


@pytest.mark.parametrize("coupled", [False, True])
def test_an_intercept_that_follows_is_always_at_its_best(coupled: bool, rng: np.random.Generator) -> None:
    n, k = 4, 3
    root = rng.normal(size=((n + 1) * k, 30))
    if coupled:  # as for softmax: a constant added to all outputs of a row changes nothing
        root = (root.reshape(n + 1, k, -1) - root.reshape(n + 1, k, -1).mean(axis=1, keepdims=True)).reshape(-1, 30)
    whole = (root @ root.T).reshape(n + 1, k, n + 1, k)
    if not coupled:
        whole = whole * np.eye(k)[:, None, :]
    hessian = whole.transpose(0, 1, 3, 2) if coupled else np.einsum("jrlr->jrl", whole)[:, :, None, :]
    gradient = rng.normal(size=(n + 1, k))
    gradient -= gradient.mean(axis=1, keepdims=True) if coupled else 0.0
    follows = Following.of(hessian[:-1, ..., -1], hessian[-1, ..., -1], gradient[-1], 1e-12)
    left, slope = follows.hessian(hessian[:-1, ..., :-1]), follows.gradient(gradient[:-1])

    def value(change: Array) -> float:
        return float(0.5 * np.einsum("jr,jrls,ls->", change, whole, change) + (gradient * change).sum())

    assert value(np.vstack([np.zeros((n, k)), follows.change(np.zeros((n, k)))])) == pytest.approx(-follows.gain)
    for _ in range(5):
        rows = rng.normal(size=(n, k))
        best = np.vstack([rows, follows.change(rows)])
        curved = (
            np.einsum("jr,jrsl,ls->", rows, left, rows)
            if coupled
            else np.einsum("jr,jrl,lr->", rows, left[:, :, 0], rows)
        )
        assert value(best) == pytest.approx(0.5 * curved + (slope * rows).sum() - follows.gain)
        for step in 0.1 * rng.normal(size=(5, k)):
            assert value(best) <= value(np.vstack([rows, best[-1] + step])) + 1e-9


def test_examples_with_little_curvature_are_left_out_until_everything_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gram_cache, "SINGLE", 0)
    case = next(case for case in CURVED if isinstance(case.loss, Softmax))
    problem, _ = bound(random_problem(case, L1L2(), 4, m=30, n=8), False)
    everything, cache = full_ensemble(problem), GramCache()
    local = np.random.default_rng(0).dirichlet(np.full(case.k, 0.05), size=30)
    rough = cache.hessian(problem, everything, np.arange(8), local)
    cache.sharpen()
    exact = cache.hessian(problem, everything, np.arange(8), local)
    assert 1e-6 < np.abs(rough - exact).max() < 0.1 * np.abs(exact).max()


def test_places() -> None:
    assert places(np.array([7, 2]), np.array([2, 9, 7])).tolist() == [2, 0]
    assert places(np.array([1, 7, 99, 5]), np.array([2, 9, 7])).tolist() == [-1, 2, -1, -1]
    assert places(np.array([1]), np.empty(0, np.int64)).tolist() == [-1]
