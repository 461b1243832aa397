"""Where the numbers come from: files of the data folder, and generators."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray


class Missing(Exception):
    """A data set is not there; the message is one sentence."""


def read(name: str, rows: int | None = None) -> tuple[Any, Array, dict[str, Array]]:
    """X, y and everything else of a file, or its first rows."""
    folder = os.environ.get("SPARSEBOOST_DATA")
    path = Path(folder or ".") / f"{name}.npz"
    if not folder or not path.exists():
        raise Missing(f"{name}.npz is not in the folder that SPARSEBOOST_DATA names.")
    with np.load(path, allow_pickle=False) as file:
        rest = {key: file[key] for key in file.files}
    if "indptr" in rest:
        parts = (rest.pop("data").astype(np.float64), rest.pop("indices").astype(np.int32), rest.pop("indptr"))
        X = sp.csr_matrix(parts, shape=tuple(rest.pop("shape")))
    else:
        X = rest.pop("X").astype(np.float64)
    return X[:rows], rest.pop("y")[:rows], rest


def sample(X: Any, y: Array, rows: int | None) -> tuple[Any, Array]:
    """Some rows at random; all of them if `rows` is None."""
    if rows is None:
        return X, y
    chosen = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[chosen], y[chosen]


def text(X: sp.csr_matrix) -> sp.csc_matrix:
    """log(1 + count), rows of unit length, words that occur."""
    X = X.astype(np.float64).copy()
    X.data = np.log1p(X.data)
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csc_matrix(sp.diags_array(1.0 / np.maximum(length, 1e-300)) @ X)
    X = X[:, np.diff(X.indptr) > 0]
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def standardized(X: Array) -> Array:
    """Columns of mean 0 and variance 1; constant ones leave."""
    spread = X.std(axis=0)
    X = X[:, spread > 0]
    return np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))


def products(X: Array) -> Array:
    """The columns and all their products, squares included."""
    left, right = np.triu_indices(X.shape[1])
    return np.hstack([X, X[:, left] * X[:, right]])


def power_law(m: int, n: int, per_row: int, seed: int = 0) -> sp.csc_matrix:
    """Sparse rows whose columns are drawn like words: the j-th with probability ∝ 1/(j + 10)."""
    rng = np.random.default_rng(seed)
    share = 1.0 / (np.arange(n) + 10.0)
    columns = rng.choice(n, size=m * per_row, p=share / share.sum())
    rows = np.repeat(np.arange(m), per_row)
    X = sp.csr_matrix((np.ones(m * per_row), (rows, columns)), shape=(m, n))
    return text(X)


def correlated(m: int, n: int, rho: float = 0.6, seed: int = 0, dtype: type = np.float64) -> Array:
    """Dense Gaussian columns with correlation rho^|i - j|."""
    rng = np.random.default_rng(seed)
    X = np.empty((m, n), dtype=dtype, order="F")
    X[:, 0] = rng.standard_normal(m)
    for j in range(1, n):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * rng.standard_normal(m, dtype=np.float64)
    return X


def signal(X: Any, k: int = 1, support: int = 50, noise: float = 0.5, seed: int = 1) -> Array:
    """Scores (m, k) of a sparse truth plus noise, of unit variance before the noise."""
    rng = np.random.default_rng(seed)
    n = X.shape[1]
    used = rng.choice(n, size=min(support, n), replace=False)
    score = np.asarray(X[:, used] @ rng.standard_normal((len(used), k)))
    score = (score - score.mean(axis=0)) / np.maximum(score.std(axis=0), 1e-12)
    return score + noise * rng.standard_normal(score.shape)


def frequent_signal(X: sp.csc_matrix, support: int = 200, noise: float = 0.5, seed: int = 1) -> Array:
    """The same on the columns with most entries, where a sparse matrix can carry a signal."""
    common = np.argsort(-np.diff(X.indptr), kind="stable")[: 5 * support]
    return signal(X[:, np.sort(common)], 1, support, noise, seed)
