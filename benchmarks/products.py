"""Exact searches over products of inputs: seconds, nodes visited beside the size of the space, and memory.

    python -m benchmarks.products [ailerons dorothea ...]

Every case is fitted in its own process on one thread, to the default tolerance, after a small fit that compiles. Its
searches are timed one by one in processor time; a round of induction makes one. Memory is the peak of the fit above
what the data and the loaded code occupy. "Explicit" writes all products down first and fits them as features: the same
optimum, where that is possible. Tables are printed, and written to benchmarks/results/products.md if all cases ran.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import memory
from benchmarks.datasets import Missing, read
from benchmarks.tables import markdown

RESULTS = Path(__file__).parent / "results"
HEAD = (
    "data", "inputs", "degree", "products", "alpha / largest", "fit s", "searches", "median s", "slowest s",
    "most visited", "active", "gap / wanted", "extra memory MB",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One question: data, a degree, shares of the largest useful alpha."""

    data: str
    degree: int
    shares: tuple[float, ...]
    powers: bool = False
    explicit: bool = False


CASES = {
    "ailerons": Case("ailerons", 3, (0.1, 0.01, 0.001), powers=True),
    "ailerons-explicit": Case("ailerons", 3, (0.1, 0.01, 0.001), powers=True, explicit=True),
    "satimage": Case("satimage", 3, (0.1, 0.01), powers=True),
    "arcene": Case("arcene", 2, (0.3, 0.1), powers=True),
    "a9a": Case("a9a", 5, (0.1, 0.03)),
    "dorothea": Case("dorothea", 2, (0.3, 0.1, 0.01)),
    "dorothea-3": Case("dorothea", 3, (0.3, 0.1, 0.01)),
    "flags": Case("flags", 3, (0.2, 0.12, 0.1)),
    "noise": Case("noise", 3, (0.9,)),
}


def flags(m: int = 2000, d: int = 20_000, density: float = 0.05, noise: bool = False) -> tuple[Any, np.ndarray]:
    """0/1 inputs: labels from two of their products and one input, or from none of them."""
    rng = np.random.default_rng(0)
    rest = sp.random_array((m, d - 6), density=density, format="csc", rng=rng, data_sampler=lambda size: np.ones(size))
    x = 1.0 * (rng.random((m, 6)) < 0.4)
    X = sp.csc_array(sp.hstack([sp.csc_array(x), rest]))
    score = 3.0 * x[:, 0] * x[:, 1] + 3.0 * x[:, 2] * x[:, 3] * x[:, 4] - 1.5 * x[:, 5]
    return X, (rng.normal(size=m) > 0 if noise else score + 0.5 * rng.normal(size=m) > 0.3)


def load(name: str) -> tuple[Any, np.ndarray]:
    if name in ("flags", "noise"):
        return flags(noise=name == "noise")
    X, y, _ = read(name)
    return X.tocsc() if sp.issparse(X) else X, y / y.std() if name == "ailerons" else y


def measure(case: Case) -> list[dict[str, Any]]:
    """Fit the case at every alpha in this process."""
    from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures

    from sparseboost import SparseBoostClassifier, SparseBoostRegressor, alpha_max
    from sparseboost.hypotheses import Features, Products, features, products

    warnings.simplefilter("ignore")
    X, y = load(case.data)
    d = X.shape[1]
    family, loss = (SparseBoostRegressor, "squared") if case.data == "ailerons" else (SparseBoostClassifier, "logistic")
    space = Features() if case.explicit else Products(case.degree, interaction_only=not case.powers)
    family(1e-3, loss=loss, hypotheses=space).fit(X[:100, :8], y[:100])
    before, started = memory.resident(), time.process_time()
    if case.explicit:
        usable = X[:, np.ptp(X, axis=0) > 0]
        X = PolynomialFeatures(case.degree, include_bias=False).fit_transform(MinMaxScaler().fit_transform(usable))
    writing = time.process_time() - started
    searches: list[tuple[float, int]] = []
    owner = features.FeatureDictionary if case.explicit else products.ProductDictionary
    search = owner.search

    def timed(self, *args, **named):
        begun = time.process_time()
        found = search(self, *args, **named)
        searches.append((time.process_time() - begun, found.visited or X.shape[1]))
        return found

    owner.search = timed
    largest = alpha_max(X, y, loss=loss, hypotheses=space)
    rows = []
    for share in case.shares:
        searches.clear()
        memory.forget_peak()
        started = time.process_time()
        model = family(share * largest, loss=loss, hypotheses=space).fit(X, y)
        seconds = time.process_time() - started + writing
        every = np.array(searches)
        rows.append({
            "share": share, "inputs": d, "seconds": seconds, "searches": len(every),
            "median": float(np.median(every[:, 0])), "slowest": float(every[:, 0].max()),
            "visited": int(every[:, 1].max()), "active": model.n_active_, "objective": model.objective_,
            "gap": model.dual_gap_ / (model.tol * model.history_[0]["objective"]),
            "extra": (memory.peak() - before) / 1e6,
        })  # fmt: skip
    return rows


def size(case: Case, d: int) -> int:
    """How many products there are."""
    return comb(d + case.degree, case.degree) - 1 if case.powers else sum(comb(d, n + 1) for n in range(case.degree))


def lines(name: str, rows: list[dict[str, Any]]) -> list[list[str]]:
    case = CASES[name]
    return [
        [
            case.data + ", explicit" * case.explicit, str(row["inputs"]), str(case.degree),
            f"{size(case, row['inputs']):.3g}", str(row["share"]), f"{row['seconds']:.2f}", str(row["searches"]),
            f"{row['median']:.3f}", f"{row['slowest']:.3f}", f"{row['visited']:.3g}", str(row["active"]),
            f"{row['gap']:.2f}", f"{row['extra']:.0f}",
        ]
        for row in rows
    ]  # fmt: skip


def apart(name: str) -> list[dict[str, Any]]:
    """What `measure` finds in a process of its own."""
    threads = {f"{word}_NUM_THREADS": "1" for word in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    command = [sys.executable, "-m", "benchmarks.products", "--inside", name]
    done = subprocess.run(
        command, cwd=RESULTS.parents[1], env={**os.environ, **threads}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Missing(done.stderr.strip().splitlines()[-1].split(": ", 1)[-1])
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.products")
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--inside", choices=list(CASES), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        print(json.dumps(measure(CASES[given.inside])))
        return
    table: list[list[str]] = []
    for name in given.cases:
        try:
            part = lines(name, apart(name))
        except Missing as sentence:
            print(f"skipped {name}: {sentence}", flush=True)
            continue
        print("\n".join(markdown(HEAD, part)) + "\n", flush=True)
        table += part
    if given.cases == list(CASES):
        (RESULTS / "products.md").write_text(
            "\n".join(["## Exact searches over products", "", *markdown(HEAD, table), ""])
        )


if __name__ == "__main__":
    main()
