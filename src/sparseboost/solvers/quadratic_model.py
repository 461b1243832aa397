"""The quadratic model of the loss on the active columns that one Newton step minimises."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Columns
from sparseboost.problem import Problem
from sparseboost.solvers.gram_cache import GramCache

Array = np.ndarray
COLUMN_SWEEPS = 50
COLUMN_FRACTION = 0.02  # sweeps stop when one gains less than this share of all before it
GRAM_SWEEPS = 1000
GRAM_FRACTION = 1e-3
LARGEST_GRAM = 3000


class Aim(NamedTuple):
    """Where the model wants to go, and the decrease it promises there."""

    coef: Array
    intercept: Array
    push: Array  # change of the scores
    promise: float


class QuadraticModel:
    """½ Σ_i s_i δz_iᵀ H_i δz_i + ⟨gradient, δz⟩ + penalty, solved by block coordinate descent.

    With few active columns the sweeps run on the Hessian of the weights (a weighted Gram matrix), which BLAS builds
    once and whose size does not depend on the number of examples; otherwise on the columns themselves.
    """

    def __init__(self, problem: Problem, ensemble: Ensemble, cache: GramCache) -> None:
        self.problem = problem
        self.cache = cache
        self.columns = ensemble.columns
        self.strength = problem.strength(ensemble)
        self.weight = problem.weight * problem.driving_loss.sharpness  # of curvatures
        self._by_class: dict[int, tuple[Array, Columns]] | None = None
        self.sweeps = 10  # how many sweeps over the columns the model is expected to take

    def step(self, ensemble: Ensemble, score: Array) -> Aim:
        """Nearly minimise the model at these scores."""
        problem, free = self.problem, self.problem.fit_intercept
        loss = problem.driving_loss
        force = problem.weight[:, None] * loss.gradient(problem.y, score)
        local = loss.model_curvature(problem.y, score)
        assert local is not None
        gradient, start = self.columns.correlate(force), ensemble.coef
        if free:
            gradient = np.vstack([gradient, force.sum(axis=0)])
            start = np.vstack([start, ensemble.intercept])
        coef = np.array(start, order="C")
        shape = (self.strength, coef, problem.penalty.kernel, problem.penalty.positive, free)
        if coef.size <= min(LARGEST_GRAM, self.sweeps * self._gram_size_worth_a_sweep(local.shape[1])):
            gram = self._gram(ensemble, local)
            diagonal = _own_blocks(gram, local.shape[1], loss.multiclass)
            promise, _ = kernels.quadratic.gram_sweeps(
                gram, gradient, diagonal, *shape, loss.multiclass, GRAM_SWEEPS, GRAM_FRACTION
            )
        else:
            pivot = loss.pivot(problem.y)
            spread = self.weight[:, None] * _diagonal(local, pivot)
            diagonal = self.columns.energies(spread)
            diagonal = _floor(np.vstack([diagonal, spread.sum(axis=0)]) if free else diagonal)
            promise, self.sweeps = kernels.quadratic.model_sweeps(
                *self.columns.flat, gradient, diagonal, *shape, self.weight, local, pivot,
                np.zeros_like(score), COLUMN_SWEEPS, COLUMN_FRACTION,
            )  # fmt: skip
        change = coef - start
        if free:
            return Aim(coef[:-1], coef[-1], self.columns.dot(change[:-1]) + change[-1], promise)
        return Aim(coef, ensemble.intercept, self.columns.dot(change), promise)

    def _gram_size_worth_a_sweep(self, n_outputs: int) -> int:
        """Rows times outputs at which building the Hessian costs about as much as one sweep over the columns."""
        if sp.issparse(self.columns.matrix):
            return 50 if n_outputs == 1 else 5
        if self.problem.driving_loss.quadratic:  # cached, and one matrix serves all outputs
            return LARGEST_GRAM
        return 20 if n_outputs == 1 else 60

    def _gram(self, ensemble: Ensemble, local: Array) -> Array:
        """The Hessian as `kernels.quadratic.gram_sweeps` reads it."""
        weight, k = self.weight, local.shape[1]
        if self.problem.driving_loss.quadratic:
            return self._with_intercept(self.cache.inner(self.problem, ensemble), weight, self.columns)[:, None, :]
        if not self.problem.driving_loss.multiclass:
            return np.stack([self._inner(weight * local[:, r]) for r in range(k)], axis=1)
        n = self.columns.size + self.problem.fit_intercept
        pivot = self.problem.driving_loss.pivot(self.problem.y)
        if pivot[0] >= 0:
            return self._gram_of_pairs(local, pivot, n).reshape(n, k, n * k)
        gram = np.empty((n, k, n, k))
        for r in range(k):
            for s in range(r + 1):
                block = self._inner(weight * local[:, r] * ((r == s) - local[:, s]))
                gram[:, r, :, s] = block
                gram[:, s, :, r] = block
        return gram.reshape(n, k, n * k)

    def _gram_of_pairs(self, local: Array, pivot: Array, n: int) -> Array:
        """The Hessian of a pairwise loss: examples of class c bind the outputs c and r, and no others."""
        k = local.shape[1]
        gram = np.zeros((n, k, n, k))
        for c, (rows, columns) in self._classes(pivot).items():
            for r in range(k):
                if r == c:
                    continue
                weight = self.weight[rows] * local[rows, r]
                block = self._with_intercept(columns.inner(weight), weight, columns)
                gram[:, r, :, r] += block
                gram[:, c, :, c] += block
                gram[:, r, :, c] -= block
                gram[:, c, :, r] -= block
        return gram

    def _classes(self, pivot: Array) -> dict[int, tuple[Array, Columns]]:
        """Examples of every class, and the active columns on them."""
        if self._by_class is None:
            groups = {int(c): np.flatnonzero(pivot == c) for c in np.unique(pivot)}
            matrix = self.columns.matrix.tocsr() if sp.issparse(self.columns.matrix) else self.columns.matrix
            self._by_class = {c: (rows, Columns(matrix[rows])) for c, rows in groups.items()}
        return self._by_class

    def _inner(self, weight: Array) -> Array:
        return self._with_intercept(self.columns.inner(weight), weight, self.columns)

    def _with_intercept(self, inner: Array, weight: Array, columns: Columns) -> Array:
        """Inner products of the columns, with those of the intercept's column of ones."""
        if not self.problem.fit_intercept:
            return inner
        edge = columns.correlate(weight[:, None])
        return np.block([[inner, edge], [edge.T, weight.sum()]])


def _diagonal(local: Array, pivot: Array) -> Array:
    """Per example, a diagonal that bounds its Hessian: twice the diagonal of one whose rows sum to zero."""
    if pivot.size == 0:
        return local
    return 2.0 * local if pivot[0] >= 0 else 2.0 * local * (1.0 - local)


def _floor(diagonal: Array) -> Array:
    """Keep the model bounded below where the curvature vanishes."""
    return np.maximum(diagonal, 1e-12 * diagonal.max() + 1e-300)


def _own_blocks(gram: Array, k: int, coupled: bool) -> Array:
    """Per row, a diagonal that bounds the row's own block of the Hessian."""
    n = gram.shape[0]
    if not coupled:
        return _floor(np.broadcast_to(np.einsum("jrj->jr", gram), (n, k)).copy())
    blocks = np.einsum("jrjs->jrs", gram.reshape(n, k, n, k))
    diagonal = _floor(np.einsum("jrr->jr", blocks).copy())
    root = 1.0 / np.sqrt(diagonal)
    largest = np.linalg.eigvalsh(blocks * root[:, :, None] * root[:, None, :])[:, -1]
    return diagonal * np.maximum(largest, 1.0)[:, None]
