"""Choosing one model of a path: scores of held-out examples, the one-standard-error rule, and EBIC."""

from __future__ import annotations

import math
from inspect import signature
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.estimators.path import SparsePath
from sparseboost.losses import Loss, Squared
from sparseboost.problem import Problem

Array = np.ndarray
Results = dict[str, Array]
SCORES_TOGETHER = 100_000  # whose losses are computed in one call


def take_rows(X: Any, rows: Array) -> Any:
    """Some examples; sparse columns stay columns, where rows come in their order, each once."""
    if not sp.issparse(X):
        return X[rows]
    rows = np.asarray(rows)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    if X.format != "csc" or not np.all(rows[1:] > rows[:-1]) or rows.min(initial=0) < 0:
        return X.tocsr()[rows]
    place = np.full(X.shape[0], -1, dtype=X.indices.dtype)
    place[rows] = np.arange(rows.size)
    data, indices, indptr = np.empty_like(X.data), np.empty_like(X.indices), np.empty_like(X.indptr)
    size = kernels.columns.some_rows(X.data, X.indices, X.indptr, place, data, indices, indptr)
    part = sp.csc_array((data[:size], indices[:size], indptr), shape=(rows.size, X.shape[1]))
    part.has_canonical_format = X.has_canonical_format
    return part


def held_out_scores(path: SparsePath, X: Any, rows: Array, target: Array, weight: Array, loss: Loss) -> Array:
    """Minus the mean loss of every model of a path on these rows of X, which it has not seen: larger is better.

    NaN if no example has weight.
    """
    total, together = float(weight.sum()), max(1, SCORES_TOGETHER // max(1, target.shape[0] * path.n_outputs))
    if not total > 0:
        return np.full(len(path), np.nan)
    scores, means = path.scores(X, rows), []
    with np.errstate(over="ignore", invalid="ignore"):
        while some := list(islice(scores, together)):  # a call for each would take longer than its few examples
            values = loss.value(np.tile(target, (len(some), 1)), np.concatenate(some))
            means.append(values.reshape(len(some), -1) @ weight / total)
    return -np.concatenate(means)


def takes_sample_weight(scorer: Any) -> bool:
    """Whether a scorer can be given sample weights."""
    if hasattr(scorer, "_accept_sample_weight"):
        return bool(scorer._accept_sample_weight())
    return "sample_weight" in signature(scorer).parameters


def cv_results(alphas: Array, scores: Array, n_active: Array) -> Results:
    """The table of a cross-validation; `scores` and `n_active` have one row per split."""
    splits = scores.shape[0]
    with np.errstate(invalid="ignore"):  # a loss can be infinite on held-out examples
        spread = scores.std(axis=0, ddof=1) / math.sqrt(splits) if splits > 1 else np.zeros(alphas.size)
        results = {
            "alphas": alphas,
            "mean_test_score": scores.mean(axis=0),
            "std_test_score": scores.std(axis=0),
            "se": spread,
            "mean_n_active": n_active.mean(axis=0),
        }
    results.update({f"split{i}_test_score": row for i, row in enumerate(scores)})
    return results


def choose(results: Results, rule: str) -> int:
    """Index of the chosen alpha; alphas decrease, and among equals the largest is chosen."""
    mean = np.where(np.isnan(results["mean_test_score"]), -np.inf, results["mean_test_score"])
    best = int(np.argmax(mean))
    if not np.isfinite(mean[best]):
        raise ValueError("scoring gave no finite mean score at any alpha, so there is no best one; check `scoring`.")
    if rule == "min":
        return best
    spread = results["se"][best]
    return int(np.argmax(mean >= mean[best] - (spread if np.isfinite(spread) else 0.0)))


def ebic_results(path: SparsePath, X: Any, problem: Problem, n_examples: float, gamma: float) -> Results:
    r"""Extended Bayesian information criterion of every model of a path.

    EBIC = 2·n·(mean loss) + log(n)·df + 2·γ·log(p)·df, with n the sum of the sample weights, p the number of
    hypotheses and df the number of weights that are not zero, over all outputs. For the squared loss, whose variance
    is unknown, the first term is n·k·log(RSS / (n·k)) with k outputs.

    References
    ----------
    Chen & Chen (2008), Extended Bayesian information criteria for model selection with large model spaces.
    """
    k, p = path.n_outputs, problem.enumerable.size
    loss = np.array([problem.loss_value(score) for score in path.scores(X)])
    if isinstance(problem.loss, Squared):
        floor = np.finfo(float).eps * max(float(loss.max()), np.finfo(float).tiny)  # a perfect fit has no logarithm
        misfit = n_examples * k * np.log(2.0 * np.maximum(loss, floor) / k)
    else:
        misfit = 2.0 * n_examples * loss
    df = np.diff(path.weights.indptr).reshape(len(path), k).sum(axis=1)
    price = math.log(n_examples) + 2.0 * gamma * math.log(p)
    return {"alphas": path.alphas, "ebic": misfit + price * df, "df": df, "n_active": path.n_active}
