"""Other libraries' rankers, where they are installed: LightGBM's lambdarank and XGBoost's rank:ndcg."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

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


def peer_scores(train: Parts, documents: Array, trees: int, python: Path | None = None) -> dict[str, Array | None]:
    """Scores of every peer with its own defaults and this many trees; None where it is not installed.

    `python` is an interpreter that has the peers; this one by default.
    """
    order = np.argsort(train[2], kind="stable")  # they want the documents of a query together
    together = (train[0][order], train[1][order], train[2][order])
    if python is not None:
        return {name: _elsewhere(python, name, together, documents, trees) for name in PEERS}
    return {
        name: fit(together, documents, trees) if importlib.util.find_spec(module) is not None else None
        for name, (module, fit) in PEERS.items()
    }


def _elsewhere(python: Path, name: str, train: Parts, documents: Array, trees: int) -> Array | None:
    """Scores of one peer under another interpreter, which runs this file."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "given.npz", Path(folder) / "found.npy"
        np.savez(given, X=train[0], y=train[1], query=train[2], documents=documents)
        command = [str(python), __file__, name, str(trees), str(given), str(found)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
            if "ModuleNotFoundError" in last:
                return None
            raise RuntimeError(f"{name} failed under {python}: {last}")
        return np.load(found)


if __name__ == "__main__":
    with np.load(sys.argv[3]) as data:
        parts = data["X"], data["y"], data["query"]
        np.save(sys.argv[4], PEERS[sys.argv[1]][1](parts, data["documents"], int(sys.argv[2])))
