"""Rounds of multi-output stumps beside rounds of LightGBM and XGBoost with depth 1, which grow a tree per class.

    python -m benchmarks.functional [--rounds 50] [--threads 1] [--data FOLDER]

Per data set the seconds of one round: (seconds of a fit of n rounds − seconds of a fit of one round) / (n − 1), so that
binning and start-up do not count; processor time with one thread, the clock with more. Every process reports the median
of five repetitions. The peers run in their own environment (benchmarks/.envs/boosters).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
SETS = ("letter", "connect4", "pendigits", "satimage")
PEERS = ("lightgbm", "xgboost")
REPEATS = 5


def timed(fit, rounds: int, threads: int) -> float:
    """Seconds of one round."""
    clock = time.process_time if threads == 1 else time.perf_counter

    def seconds(n: int) -> float:
        start = clock()
        fit(n)
        return clock() - start

    fit(2)  # compiled code, caches
    found = sorted((seconds(rounds) - seconds(1)) / (rounds - 1) for _ in range(REPEATS))
    return found[REPEATS // 2]


def fitter(solver: str, X, y, threads: int):
    """A function of the number of rounds that fits a model."""
    if solver.startswith("sparseboost"):
        import warnings

        from sparseboost import FunctionalBoostClassifier

        warnings.simplefilter("ignore")
        loss, algorithm = ("hinge", "residual") if solver.endswith("hinge") else ("logistic", "naive")

        def fit(n):
            model = FunctionalBoostClassifier(loss, algorithm=algorithm, max_rounds=n, n_jobs=threads)
            assert model.fit(X, y).n_rounds_ == n

        return fit
    if solver == "lightgbm":
        import lightgbm

        given = {"objective": "multiclass", "num_class": int(y.max()) + 1, "num_leaves": 2, "max_depth": 1,
                 "verbose": -1, "num_threads": threads, "min_data_in_leaf": 1}  # fmt: skip
        data = lightgbm.Dataset(X, y, params=given).construct()
        return lambda n: lightgbm.train(given, data, num_boost_round=n)
    import xgboost

    data = xgboost.QuantileDMatrix(X, y, nthread=threads)
    given = {"objective": "multi:softprob", "num_class": int(y.max()) + 1, "max_depth": 1, "tree_method": "hist",
             "nthread": threads, "verbosity": 0, "min_child_weight": 0}  # fmt: skip
    if solver.endswith("vector"):
        given["multi_strategy"] = "multi_output_tree"
    return lambda n: xgboost.train(given, data, num_boost_round=n)


def worker(name: str, solver: str, rounds: int, threads: int, folder: str) -> None:
    import numpy as np

    with np.load(Path(folder) / f"{name}.npz") as data:
        X, y = data["X"].astype(np.float64), data["y"].astype(int)
    print(
        json.dumps(
            {"seconds": timed(fitter(solver, X, y, threads), rounds, threads), "shape": [*X.shape, int(y.max()) + 1]}
        )
    )


def measure(name: str, solver: str, options: argparse.Namespace) -> dict:
    """One solver on one data set, in a process of its own."""
    from benchmarks import environments

    interpreter = environments.python("repository" if solver.startswith("sparseboost") else "boosters")
    threads = {f"{key}_NUM_THREADS": str(options.threads) for key in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    command = [interpreter, "-m", "benchmarks.functional", "--worker", name, solver, "--data", options.data]
    command += ["--rounds", str(options.rounds), "--threads", str(options.threads)]
    done = subprocess.run(
        command, cwd=HERE.parent, env={**os.environ, **threads}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["failed"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.functional")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--data", default=os.environ.get("SPARSEBOOST_DATA", ""))
    parser.add_argument("--worker", nargs=2, metavar=("SET", "SOLVER"))
    options = parser.parse_args()
    if options.worker:
        worker(*options.worker, options.rounds, options.threads, options.data)
        return
    if not options.data:
        sys.exit("Say where the data sets are: --data FOLDER, or SPARSEBOOST_DATA.")
    solvers = ("sparseboost, hinge", "sparseboost, logistic", "lightgbm", "xgboost", "xgboost, vector")
    print(f"milliseconds per round, {options.threads} thread(s), {options.rounds} rounds")
    print(f"{'data':<10} {'rows':>7} {'inputs':>6} {'classes':>7} " + " ".join(f"{name:>22}" for name in solvers))
    for name in SETS:
        if not (Path(options.data) / f"{name}.npz").exists():
            print(f"{name:<10} skipped: {name}.npz is not in {options.data}")
            continue
        found = {solver: measure(name, solver, options) for solver in solvers}
        shape = next((one["shape"] for one in found.values() if "shape" in one), ["", "", ""])
        cells = [
            f"{1e3 * one['seconds']:>22.2f}" if "seconds" in one else f"{one['error'][:22]:>22}"
            for one in found.values()
        ]
        print(f"{name:<10} {shape[0]:>7} {shape[1]:>6} {shape[2]:>7} " + " ".join(cells), flush=True)


if __name__ == "__main__":
    main()
