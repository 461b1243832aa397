"""Data larger than the memory of the cluster: `python -m benchmarks.dask_scale`.

A sparse set is generated block by block on the workers, whose memory limits together are smaller than the set; Dask
keeps what does not fit on disk. Every setting runs on a fresh cluster: rows, workers, seconds, rounds, gap, bytes that
went between this process and the cluster and between workers, per round, and the largest memory of any worker.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

D = 20_000
PER_COLUMN = 560  # entries per column and block: 134 MB of CSC per block
BLOCK_ROWS = 112_000
INFORMATIVE = 20
SETTINGS = ((48, 2), (12, 2), (24, 2), (48, 1))  # blocks, workers


def block(seed: int) -> tuple[Any, np.ndarray]:
    """Rows of a sparse matrix in column order, and labels that depend on its first columns."""
    rng = np.random.default_rng(seed)
    place = np.arange(PER_COLUMN) + rng.random((D, PER_COLUMN))
    indices = (place * (BLOCK_ROWS / PER_COLUMN)).astype(np.int32).ravel()  # one entry in every stretch of rows
    del place
    values = rng.normal(size=indices.size)
    X = sp.csc_array((values, indices, np.arange(D + 1, dtype=np.int32) * PER_COLUMN), shape=(BLOCK_ROWS, D))
    X.has_canonical_format = True
    score = X[:, :INFORMATIVE] @ np.full(INFORMATIVE, 20.0)
    return X, (score + rng.normal(size=BLOCK_ROWS) > 0.5).astype(np.int8)


def memory(dask_worker: Any) -> tuple[int, int]:
    """Memory of the process now, and bytes received from other workers so far."""
    received = sum(entry["total"] for entry in dask_worker.transfer_incoming_log)
    return dask_worker.monitor.get_process_memory(), received


def run(n_blocks: int, n_workers: int, limit: str) -> dict[str, Any]:
    from dask import delayed
    from distributed import Client, LocalCluster

    from sparseboost.dask import DaskSparseBoostClassifier

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, memory_limit=limit, dashboard_address=None, silence_logs=40
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = [delayed(block, nout=2)(seed) for seed in range(n_blocks)]
        peak, rounds = [], []

        def look(record: dict[str, Any]) -> None:
            found = client.run(memory).values()
            peak.append(max(part[0] for part in found))
            rounds.append((record["seconds"], record["gap"], record["active"], sum(part[1] for part in found)))
            print(f"    round {record['round']} gap {record['gap']:.1e} {record['seconds']:.0f} s", flush=True)

        model = DaskSparseBoostClassifier(alpha=3e-4, tol=1e-3, client=client, callbacks=[look])
        started = time.perf_counter()
        model.fit([X for X, _ in parts], [y for _, y in parts])
        seconds = time.perf_counter() - started
        size = n_blocks * D * PER_COLUMN * 12
        n = max(model.n_rounds_, 1)
        return {
            "rows": n_blocks * BLOCK_ROWS,
            "GiB": size / 2**30,
            "workers": n_workers,
            "seconds": seconds,
            "reading": seconds - rounds[-1][0],
            "rounds": model.n_rounds_,
            "active": model.n_active_,
            "relative gap": model.dual_gap_ / model.history_[0]["objective"],
            "MB to this process per round": model.bytes_moved_["received"] / n / 1e6,
            "MB from this process per round": model.bytes_moved_["sent"] / n / 1e6,
            "MB between workers per round": rounds[-1][3] / n / 1e6,
            "peak of a worker, GiB": max(peak) / 2**30,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", default="1.5 GiB", help="memory limit of a worker")
    parser.add_argument("--blocks", type=int, nargs="*", help="these numbers of blocks instead, with --workers")
    parser.add_argument("--workers", type=int, nargs="*", default=[2], help="numbers of workers for --blocks")
    given = parser.parse_args()
    rows = []
    for blocks, workers in product(given.blocks, given.workers) if given.blocks else SETTINGS:
        print(f"{blocks} blocks, {workers} workers", flush=True)
        rows.append(run(blocks, workers, given.limit))
    names = list(rows[0])
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for row in rows:
        cells = [f"{value:.3g}" if isinstance(value, float) else f"{value:,}" for value in row.values()]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
