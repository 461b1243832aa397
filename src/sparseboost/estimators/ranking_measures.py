"""How good a ranking is, query by query: NDCG and disagreement, as functions and as scorers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.utils.validation import check_consistent_length, column_or_1d

from sparseboost import kernels

Array = np.ndarray


def ndcg(y_true: Any, y_score: Any, qid: Any = None, k: int | None = None) -> float:
    """Normalised discounted cumulative gain, averaged over queries.

    DCG = Σ_p (2^{relevance at place p} − 1) / log₂(p + 1) over the first k places, divided by that of the best order.
    Equal scores share their places. Queries without any relevant document have no best order and are left out.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance ≥ 0.
    y_score : array-like of shape (n_samples,)
        Scores to rank by, largest first.
    qid : array-like of shape (n_samples,), optional
        Query of every document; one query by default.
    k : int, optional
        Places that count; all by default.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from sparseboost import ndcg
    >>> ndcg([2, 0, 1, 0], [0.5, 0.1, 0.3, 0.9], qid=[1, 1, 1, 2])
    1.0
    """
    relevance, score, query = _checked(y_true, y_score, qid)
    found = [_ndcg(relevance[rows], score[rows], k) for rows in _queries(query)]
    known = [value for value in found if value is not None]
    if not known:
        raise ValueError("ndcg needs a query with a document whose relevance is greater than 0.")
    return float(np.mean(known))


def disagreement(y_true: Any, y_score: Any, qid: Any = None) -> float:
    """Share of pairs that are ranked the wrong way round, or not apart, over all queries.

    A pair is two documents of one query with different relevance; a tie in score counts as one half.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance.
    y_score : array-like of shape (n_samples,)
        Scores to rank by, largest first.
    qid : array-like of shape (n_samples,), optional
        Query of every document; one query by default.

    Returns
    -------
    float
        Between 0 (all pairs right) and 1. With two levels of relevance and one query it is 1 − AUC.

    Examples
    --------
    >>> from sparseboost import disagreement
    >>> disagreement([2, 1, 0], [0.1, 0.3, 0.2])
    0.6666666666666666
    """
    relevance, score, query = _checked(y_true, y_score, qid)
    level = np.unique(relevance, return_inverse=True)[1]
    order = np.lexsort((-score, query))
    starts = np.flatnonzero(np.diff(query[order], prepend=-1, append=query.size))
    wrong, pairs = kernels.ranking.wrong_pairs(order, starts, level, int(level.max()) + 1, score)
    if pairs == 0:
        raise ValueError("disagreement needs a query with two documents of different relevance.")
    return float(wrong / pairs)


def _checked(y_true: Any, y_score: Any, qid: Any) -> tuple[Array, Array, Array]:
    relevance, score = column_or_1d(y_true), column_or_1d(y_score)
    qid = np.zeros(relevance.size, dtype=int) if qid is None else column_or_1d(qid)
    check_consistent_length(relevance, score, qid)
    return relevance.astype(float), score.astype(float), np.unique(qid, return_inverse=True)[1]


def _queries(query: Array) -> list[Array]:
    order = np.argsort(query, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(query[order])) + 1)


def _ndcg(relevance: Array, score: Array, k: int | None) -> float | None:
    gain = np.exp2(relevance) - 1.0
    discount = 1.0 / np.log2(np.arange(gain.size) + 2.0)
    if k is not None:
        discount[k:] = 0.0
    best = float(np.sort(gain)[::-1] @ discount)
    if best <= 0.0:
        return None
    order = np.argsort(-score, kind="stable")
    group = np.unique(-score[order], return_inverse=True)[1]
    shared = np.bincount(group, discount) / np.bincount(group)
    return float(gain[order] @ shared[group] / best)


ndcg_scorer = make_scorer(ndcg)
"""Scorer by `ndcg`; larger is better. With metadata routing it asks for `qid` after ``set_score_request(qid=True)``."""

disagreement_scorer = make_scorer(disagreement, greater_is_better=False)
"""Scorer by the negative of `disagreement`; larger is better."""
