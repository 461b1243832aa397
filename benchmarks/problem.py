"""The one objective of all solvers: mean loss + alpha · Σ_j ‖W_j‖, at one alpha or along a path.

Needs NumPy and SciPy only: it is imported in every environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logsumexp, softmax

Array = np.ndarray
LOSSES = ("logistic", "softmax", "multilabel", "squared")
PENALTIES = ("l1", "l1/l2", "l1/linf")


@dataclass(frozen=True)
class Problem:
    """Data and objective.

    `y` is 0/1 (logistic), 0..k-1 (softmax), a 0/1 matrix (multilabel), or real of one or two dimensions (squared).
    With one output all penalties are ℓ1. Weights have shape (alphas, k, n), intercepts (alphas, k).
    """

    X: Any
    y: Array
    loss: str
    penalty: str
    alphas: Array
    fit_intercept: bool = False

    @property
    def alpha(self) -> float:
        """The only alpha."""
        (alpha,) = self.alphas
        return float(alpha)

    @property
    def is_path(self) -> bool:
        return len(self.alphas) > 1

    @property
    def is_sparse(self) -> bool:
        return sp.issparse(self.X)

    @property
    def n_outputs(self) -> int:
        if self.loss == "softmax":
            return int(self.y.max()) + 1
        return 1 if self.y.ndim == 1 else self.y.shape[1]

    @property
    def kind(self) -> str:
        """What a solver must be able to do, in one word; ℓ1 covers every penalty of one output."""
        penalty = "l1" if self.n_outputs == 1 else self.penalty
        return f"{self.loss} {penalty}" + (" path" if self.is_path else "")

    @property
    def input_bytes(self) -> int:
        if self.is_sparse:
            return self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes
        return self.X.nbytes

    def needed_bytes(self, active: int) -> int:
        """The input, and in double precision what a solver with so many active columns cannot do without.

        Targets, scores, their gradients and curvatures: one number each per example and output. Weights and their
        gradients: one each per feature and output, and along a path the weights of all alphas. The active columns,
        once more.
        """
        (m, n), k = self.X.shape, self.n_outputs
        return int(self.input_bytes * (1.0 + active / n)) + 8 * k * (4 * m + (1 + self.alphas.size) * n)

    def target(self) -> Array:
        """y as a matrix with one column per output; classes become 0/1 columns."""
        if self.loss == "softmax":
            return (np.arange(self.n_outputs) == self.y[:, None]).astype(np.float64)
        return self.y.reshape(len(self.y), -1).astype(np.float64)

    def loss_value(self, score: Array) -> float:
        """Mean over examples, summed over outputs, of scores (m, k)."""
        if self.loss == "softmax":
            return float(np.mean(logsumexp(score, axis=1) - score[np.arange(len(self.y)), self.y]))
        target = self.target()
        if self.loss == "squared":
            return 0.5 * float(np.mean(((score - target) ** 2).sum(axis=1)))
        return float(np.mean((np.logaddexp(0.0, score) - target * score).sum(axis=1)))

    def norms(self, coef: Array) -> Array:
        """Norm of every feature's weights; `coef` is (k, n)."""
        if self.penalty == "l1":
            return np.abs(coef).sum(axis=0)
        return np.sqrt((coef**2).sum(axis=0)) if self.penalty == "l1/l2" else np.abs(coef).max(axis=0)

    def scores(self, coef: Array, intercept: Array) -> Array:
        """Scores (m, k), from the active columns alone and in double precision."""
        active = np.flatnonzero(np.any(coef != 0, axis=0))
        score = np.zeros((self.X.shape[0], coef.shape[0])) + intercept
        for part in _parts(active):
            score += np.asarray(self.X[:, part].astype(np.float64) @ coef[:, part].T)
        return score

    def objectives(self, coefs: Array, intercepts: Array) -> Array:
        """Objective at every alpha."""
        coefs, intercepts = np.asarray(coefs, np.float64), np.asarray(intercepts, np.float64)
        return np.array(
            [
                self.loss_value(self.scores(coef, intercept)) + alpha * self.norms(coef).sum()
                for alpha, coef, intercept in zip(self.alphas, coefs, intercepts, strict=True)
            ]
        )

    def alpha_max(self) -> float:
        """Smallest alpha at which all weights are zero."""
        residual = self._empty_mean() - self.target()
        gradient = np.asarray(self.X.T @ residual) / len(residual)
        if self.penalty == "l1" or gradient.shape[1] == 1:
            return float(np.abs(gradient).max())
        dual = np.sqrt((gradient**2).sum(axis=1)) if self.penalty == "l1/l2" else np.abs(gradient).sum(axis=1)
        return float(dual.max())

    def _empty_mean(self) -> Array:
        """Mean prediction of the best model without features."""
        if self.fit_intercept:
            return self.target().mean(axis=0)
        zero = np.zeros(self.n_outputs)
        return {"softmax": softmax, "squared": lambda z: z}.get(self.loss, expit)(zero)


def _parts(active: Array, largest: int = 256) -> Iterator[Array]:
    """Pieces of the active set, so that checking a solution needs little memory."""
    for start in range(0, len(active), largest):
        yield active[start : start + largest]


def suboptimality(objectives: Array, best: Array) -> float:
    """Worst (P − P*) / P* along the path."""
    return float(np.max((np.asarray(objectives) - best) / best))


def active_rows(coefs: Array) -> int:
    """Features with a non-zero weight, at the last alpha."""
    return int(np.any(coefs[-1] != 0, axis=0).sum())


def tiny(like: Problem) -> Problem:
    """A problem of the same kind, storage and number of outputs: to compile and load code before measuring memory."""
    rng = np.random.default_rng(0)
    k = like.n_outputs
    m, n = max(60, 3 * k), 20
    X = rng.standard_normal((m, n)).astype(like.X.dtype)
    y = {
        "logistic": np.arange(m) % 2,
        "softmax": np.arange(m) % k,
        "multilabel": (rng.random((m, k)) < 0.5).astype(int),
        "squared": rng.standard_normal((m, k)) if like.y.ndim == 2 else rng.standard_normal(m),
    }[like.loss]
    X = sp.csc_matrix(X) if like.is_sparse else np.asfortranarray(X)
    small = Problem(X, y, like.loss, like.penalty, np.ones(1), like.fit_intercept)
    grid = np.geomspace(0.5, 0.1, len(like.alphas)) * small.alpha_max()
    return Problem(X, y, like.loss, like.penalty, grid, like.fit_intercept)
