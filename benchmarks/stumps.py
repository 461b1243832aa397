"""Seconds to the test log-loss that 300 rounds of other boosters with depth 1 reach.

    python -m benchmarks.stumps [synthetic letter spambase] [--data FOLDER] [--tol TOL]

Every peer has the defaults of its package but for the depth; its time is that of `fit` from a NumPy array, binning
included. Ours is the same, of the cheapest model along a fixed list of penalties (shares of the largest useful one,
stumps as they are and standardized) whose test log-loss is at least as good: 12 models, where every peer has one. All
have `tol=0.1`, a gap that one round closes: early stopping, as 300 rounds are for the others. It was chosen by looking
at the test log-losses of these sets; `--tol 0.02` shows what a closer fit costs. Processor time, one thread, compiled
code warm, median of the repetitions. The peers run in their own environment (benchmarks/.envs/boosters). Wanted: at
least 5 times as fast as the best of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SETS = ("synthetic", "letter", "spambase")
ROUNDS = 300
PEERS = ("LightGBM", "XGBoost", "XGBoost, rate 0.1", "HistGradientBoosting", "AdaBoost")
SHARES = (0.1, 0.05, 0.03, 0.02, 0.01, 0.005)  # alpha over the largest useful one
TOL = 0.1  # certified gap, of the objective of the empty model
REPEATS = 5
Array = np.ndarray


def synthetic(m: int = 20_000, m_test: int = 10_000, n: int = 50) -> tuple[Array, Array, Array, Array]:
    """Classes from steps, waves and slopes of ten of fifty correlated inputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m + m_test, n)) + 0.5 * rng.normal(size=(m + m_test, 1))
    score = sum(np.sin(2.0 * X[:, j]) for j in range(3)) + sum(np.abs(X[:, j]) - 0.9 for j in range(3, 6))
    score += 2.0 * ((X[:, 6] > 0.3) - 0.4) + X[:, 7] - X[:, 8] + (X[:, 9] > 1.0)
    y = (rng.random(m + m_test) < 1.0 / (1.0 + np.exp(-2.0 * score))).astype(int)
    return X[:m], y[:m], X[m:], y[m:]


def split(name: str, folder: str) -> tuple[Array, Array, Array, Array]:
    """Two thirds for training, the rest for the log-loss."""
    if name == "synthetic":
        return synthetic()
    with np.load(Path(folder) / f"{name}.npz") as data:
        X, y = data["X"].astype(np.float64), np.unique(data["y"], return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(y.size)
    train, test = order[: 2 * y.size // 3], order[2 * y.size // 3 :]
    return X[train], y[train], X[test], y[test]


def log_loss(probability: Array, y: Array) -> float:
    return float(-np.log(np.maximum(probability[np.arange(y.size), y], 1e-15)).mean())


def peer(name: str) -> Any:
    """An unfitted model of 300 rounds of depth 1 on one thread."""
    if name == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=ROUNDS, num_leaves=2, n_jobs=1, verbose=-1)
    if name.startswith("XGBoost"):
        from xgboost import XGBClassifier

        rate = 0.1 if name.endswith("0.1") else None
        return XGBClassifier(n_estimators=ROUNDS, max_depth=1, tree_method="hist", n_jobs=1, learning_rate=rate)
    from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
    from sklearn.tree import DecisionTreeClassifier

    if name == "AdaBoost":
        return AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=ROUNDS)
    return HistGradientBoostingClassifier(max_iter=ROUNDS, max_leaf_nodes=2, early_stopping=False)


def timed(make: Any, X: Array, y: Array, repeats: int) -> tuple[float, Any]:
    """Median processor seconds of `fit`, and the last model."""
    taken = []
    for _ in range(repeats):
        model = make()
        start = time.process_time()
        model.fit(X, y)
        taken.append(time.process_time() - start)
    return float(np.median(taken)), model


def ours(X: Array, y: Array, Xt: Array, yt: Array, tol: float) -> list[dict[str, Any]]:
    """Time and test log-loss along the list of penalties."""
    from sklearn.base import clone

    from sparseboost import SparseBoostClassifier, alpha_max
    from sparseboost.hypotheses import Stumps

    warnings.simplefilter("ignore")
    rows = []
    for standardize in (False, True):
        space = Stumps("quantile", standardize=standardize)
        largest = alpha_max(X, y, hypotheses=space)
        for share in SHARES:
            model = SparseBoostClassifier(share * largest, hypotheses=space, tol=tol)
            seconds, fitted = timed(lambda model=model: clone(model), X, y, REPEATS)
            rows.append({
                "standardize": standardize, "share": share, "seconds": seconds,
                "loss": log_loss(fitted.predict_proba(Xt), yt), "hypotheses": fitted.n_active_,
                "inputs": int(fitted.inputs_used_.size), "rounds": fitted.n_rounds_,
            })  # fmt: skip
    return rows


def worker(name: str, solver: str, folder: str, tol: float) -> None:
    X, y, Xt, yt = split(name, folder)
    if solver == "sparseboost":
        ours(X[:500], y[:500], Xt, yt, tol)  # compile
        print(json.dumps(ours(X, y, Xt, yt, tol)))
        return
    peer(solver).fit(X[:500], y[:500])
    seconds, model = timed(lambda: peer(solver), X, y, 1 if solver == "AdaBoost" else REPEATS)
    print(json.dumps({"seconds": seconds, "loss": log_loss(model.predict_proba(Xt), yt)}))


def measure(name: str, solver: str, folder: str, tol: float) -> Any:
    """One solver on one data set, in a process of its own."""
    from benchmarks import environments

    interpreter = environments.python("repository" if solver == "sparseboost" else "boosters")
    threads = {f"{key}_NUM_THREADS": "1" for key in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    command = [interpreter, "-m", "benchmarks.stumps", "--worker", name, solver, "--data", folder, "--tol", str(tol)]
    done = subprocess.run(
        command, cwd=HERE.parent, env={**os.environ, **threads}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["failed"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def report(name: str, folder: str, tol: float) -> None:
    path = measure(name, "sparseboost", folder, tol)
    if "error" in path:
        sys.exit(f"sparseboost failed on {name}: {path['error']}")
    print(f"{name}: sparseboost, all thresholds, tol={tol}")
    print("standardized  alpha/largest  seconds  test log-loss  hypotheses  inputs  rounds")
    for row in path:
        print(
            f"{row['standardize']!s:>12}  {row['share']:>13g}  {row['seconds']:>7.3f}  {row['loss']:>13.4f}  "
            f"{row['hypotheses']:>10}  {row['inputs']:>6}  {row['rounds']:>6}"
        )
    print(f"\n{'300 rounds of depth 1':<22} {'seconds':>8} {'log-loss':>9} {'ours, s':>8} {'log-loss':>9} {'ratio':>6}")
    for other in PEERS:
        found = measure(name, other, folder, tol)
        if "error" in found:
            print(f"{other:<22} {found['error']}")
            continue
        good = [row for row in path if row["loss"] <= found["loss"]]
        line = f"{other:<22} {found['seconds']:>8.2f} {found['loss']:>9.4f} "
        if not good:
            print(line + "   never")
            continue
        best = min(good, key=lambda row: row["seconds"])
        print(line + f"{best['seconds']:>8.3f} {best['loss']:>9.4f} {found['seconds'] / best['seconds']:>6.1f}")
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stumps")
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--data", default=os.environ.get("SPARSEBOOST_DATA", ""))
    parser.add_argument("--tol", type=float, default=TOL, help="of our fits")
    parser.add_argument("--worker", nargs=2, metavar=("SET", "SOLVER"))
    options = parser.parse_args()
    if options.worker:
        worker(*options.worker, options.data, options.tol)
        return
    for name in options.sets:
        if name != "synthetic" and not (Path(options.data) / f"{name}.npz").exists():
            print(f"{name} skipped: {name}.npz is not in the folder that --data or SPARSEBOOST_DATA names.")
            continue
        report(name, options.data, options.tol)


if __name__ == "__main__":
    main()
