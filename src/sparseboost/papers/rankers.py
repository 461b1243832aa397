"""Other libraries' rankers, where they are installed: LightGBM's lambdarank and XGBoost's rank:ndcg."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np

Array = np.ndarray
Parts = tuple[Array, Array, Array]  # documents, relevance, query


def _sizes(query: Array) -> Array:
    """Documents per query, for rows that stand together."""
    return np.diff(np.flatnonzero(np.r_[True, query[1:] != query[:-1], True]))


def _lightgbm(train: Parts, documents: Array, trees: int) -> Array:
    import lightgbm

    model = lightgbm.LGBMRanker(objective="lambdarank", n_estimators=trees, random_state=0, n_jobs=1, verbose=-1)
    return model.fit(train[0], train[1], group=_sizes(train[2])).predict(documents)


def _xgboost(train: Parts, documents: Array, trees: int) -> Array:
    import xgboost

    model = xgboost.XGBRanker(objective="rank:ndcg", n_estimators=trees, random_state=0, n_jobs=1, tree_method="hist")
    return model.fit(train[0], train[1], qid=train[2]).predict(documents)


PEERS: dict[str, tuple[str, Callable[[Parts, Array, int], Array]]] = {
    "LightGBM, lambdarank": ("lightgbm", _lightgbm),
    "XGBoost, rank:ndcg": ("xgboost", _xgboost),
}


def peer_scores(train: Parts, documents: Array, trees: int) -> dict[str, Array | None]:
    """Scores of every peer with its own defaults and this many trees; None where it is not installed."""
    order = np.argsort(train[2], kind="stable")  # they want the documents of a query together
    together = (train[0][order], train[1][order], train[2][order])
    return {
        name: fit(together, documents, trees) if importlib.util.find_spec(module) is not None else None
        for name, (module, fit) in PEERS.items()
    }
