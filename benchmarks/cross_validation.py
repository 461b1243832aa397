"""Choosing alpha beside one path: `python -m benchmarks.cross_validation --data folder`.

The path of 100 alphas on Reuters-21578 (earn against the rest, documents of length one), and the cross-validation of
the same 100 alphas with five folds by one and by two jobs. Every call is divided by the mean of the paths just before
and after it, by the clock on the wall, because machines are faster and slower for seconds at a time.
The first call with two jobs starts the processes that later calls use again.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

ALPHAS = 100
REPEATS = 15


def earn(folder: Path) -> tuple[sp.csc_matrix, np.ndarray]:
    """Documents as columns of words, and whether their topic is earn."""
    with np.load(folder / "reuters21578.npz", allow_pickle=False) as file:
        X = sp.csr_matrix((file["data"].astype(float), file["indices"].astype(np.int32), file["indptr"]), file["shape"])
        names = [name.decode() if isinstance(name, bytes) else str(name) for name in file["classes"]]
        return normalize(X).tocsc(), file["y"][:, names.index("earn")].astype(int)


def main() -> None:
    """Measure and print."""
    from sparseboost import SparseBoostClassifierCV, sparse_boost_path

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("SPARSEBOOST_DATA", "../shared/data"))
    X, y = earn(Path(parser.parse_args().data))
    sparse_boost_path(X[:500], y[:500], alphas=5, loss="logistic")  # compiles

    def seconds(jobs: int | None) -> float:
        started = time.perf_counter()
        if jobs is None:
            sparse_boost_path(X, y, alphas=ALPHAS, loss="logistic")
        else:
            SparseBoostClassifierCV(alphas=ALPHAS, cv=5, n_jobs=jobs).fit(X, y)
        return time.perf_counter() - started

    seconds(None)
    first = {jobs: seconds(jobs) for jobs in (1, 2)}
    paths, ratios = [seconds(None)], []
    for _ in range(REPEATS):
        ratios.append([])
        for jobs in (1, 2):
            whole = seconds(jobs)
            paths.append(seconds(None))
            ratios[-1].append(whole / (0.5 * (paths[-2] + paths[-1])))
    print(f"{X.shape[0]} x {X.shape[1]}, {X.nnz} entries; one path of {ALPHAS} alphas: {np.median(paths):.3f} s")
    for jobs, some in zip((1, 2), np.percentile(ratios, [0, 25, 50, 75, 100], axis=0).T, strict=True):
        low, quarter, middle, most, high = some
        print(
            f"five folds, n_jobs={jobs}: {middle:.2f} paths (half of {REPEATS} calls {quarter:.2f} to {most:.2f}, all "
            f"{low:.2f} to {high:.2f}; first call {first[jobs]:.2f} s)"
        )


if __name__ == "__main__":
    main()
