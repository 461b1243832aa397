"""python -m benchmarks.accuracy [satimage ...]: test error and number of inputs, beside boosters that keep them all."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks import environments
from benchmarks.datasets import Missing, read
from sparseboost import SparseBoostClassifier, SparseBoostRegressor, sparse_boost_path
from sparseboost.hypotheses import Features, Products, Stumps

Array = np.ndarray
SETS = {
    "satimage": "classification", "pendigits": "classification", "vowel": "classification",
    "spambase": "classification", "boston": "regression", "ailerons": "regression",
}  # fmt: skip
SPACES = {
    "features": Features(), "stumps": Stumps(thresholds="quantile"), "products, degree 2": Products(degree=2),
    "features + stumps": Features() + Stumps(thresholds="quantile"),
}  # fmt: skip
ALPHAS, EPS, TOL = 30, 1e-3, 1e-3
RESULTS = Path(__file__).parent / "results"


def split(name: str) -> dict[str, Array]:
    """Training, validation and test part; targets of a regression in standard deviations."""
    X, y, rest = read(name)
    if "X_test" in rest:
        Xt, yt = rest["X_test"].astype(float), rest["y_test"]
    else:
        X, Xt, y, yt = train_test_split(X, y, test_size=1 / 3, random_state=0)
    if SETS[name] == "regression":
        y, yt = y / y.std(), yt / y.std()
    else:
        classes, y = np.unique(y, return_inverse=True)
        yt = np.searchsorted(classes, yt)
    stratify = y if SETS[name] == "classification" else None
    X, Xv, y, yv = train_test_split(X, y, test_size=0.2, random_state=0, stratify=stratify)
    return {"X": X, "y": y, "Xv": Xv, "yv": yv, "Xt": Xt, "yt": yt}


def ours(kind: str, parts: dict[str, Array], spaces: list[str]) -> list[dict[str, Any]]:
    """One path per space; alpha by the validation part: the best one, and the largest within one standard error."""
    return [row for name in spaces for row in _along_path(name, SPACES[name], kind, parts)]


def _along_path(name: str, space: Any, kind: str, parts: dict[str, Array]) -> list[dict[str, Any]]:
    family = SparseBoostRegressor if kind == "regression" else SparseBoostClassifier
    loss = "squared" if kind == "regression" else "logistic"
    scale = parts["X"].std(axis=0)
    scale[scale == 0] = 1.0
    centre = parts["X"].mean(axis=0)
    X, Xv, Xt = ((parts[key] - centre) / scale for key in ("X", "Xv", "Xt"))
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = sparse_boost_path(X, parts["y"], alphas=ALPHAS, eps=EPS, loss=loss, hypotheses=space, tol=TOL)
        wrong = np.array([_errors(kind, score, parts["yv"]) for score in path.scores(Xv)])
        seconds = time.process_time() - started
        mean, best = wrong.mean(axis=1), int(wrong.mean(axis=1).argmin())
        spread = wrong[best].std() / np.sqrt(wrong.shape[1])
        rows = []
        for rule, chosen in (("", best), (", 1 SE", int(np.argmax(mean <= mean[best] + spread)))):
            model = family(path.alphas[chosen], loss=loss, hypotheses=space, tol=TOL).fit(X, parts["y"])
            score = model.predict(Xt)
            error = (
                np.sqrt(np.mean((score - parts["yt"]) ** 2)) if kind == "regression" else np.mean(score != parts["yt"])
            )
            rows.append({
                "method": f"sparseboost, {name}{rule}", "error_rate": float(error), "inputs": model.inputs_used_.size,
                "hypotheses": model.n_active_, "seconds": seconds,
            })  # fmt: skip
        return rows


def _errors(kind: str, score: Array, y: Array) -> Array:
    if kind == "regression":
        return (score[:, 0] - y) ** 2
    found = score.argmax(axis=1) if score.shape[1] > 1 else (score[:, 0] > 0).astype(int)
    return (found != y).astype(float)


def peers(kind: str, parts: dict[str, Array], limit: float | None) -> list[dict[str, Any]]:
    """The same split for the boosters, each with its own early stopping; those that are done within the limit."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "split.npz"
        np.savez(file, **parts)
        script = Path(__file__).parent / "accuracy_peers.py"
        command = [environments.python("boosters"), str(script), str(file), kind]
        try:
            lines = subprocess.run(command, capture_output=True, check=False, timeout=limit).stdout
        except subprocess.TimeoutExpired as late:
            lines = late.stdout or b""
    return [json.loads(line) for line in lines.decode().splitlines() if line.startswith("{")]


def table(name: str, kind: str, parts: dict[str, Array], rows: list[dict[str, Any]]) -> str:
    """Best error first."""
    measure = "test RMSE / σ" if kind == "regression" else "test error"
    lines = [
        f"### {name}: {parts['X'].shape[0]} training rows, {parts['X'].shape[1]} inputs", "",
        f"| method | {measure} | inputs used | hypotheses | CPU seconds |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for row in sorted(rows, key=lambda row: row.get("error_rate", np.inf)):
        if "error" in row:
            lines.append(f"| {row['method']} | {row['error']} | | | |")
        else:
            size = row.get("hypotheses", "")
            lines.append(
                f"| {row['method']} | {row['error_rate']:.4f} | {row['inputs']} | {size} | {row['seconds']:.1f} |"
            )
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--spaces", nargs="*", choices=list(SPACES), default=list(SPACES))
    parser.add_argument("--limit", type=float, help="seconds for all peers of a set")
    given = parser.parse_args()
    parts_of_page = []
    for name in given.sets:
        try:
            parts = split(name)
        except Missing as sentence:
            print(f"skipped {name}: {sentence}")
            continue
        rows = ours(SETS[name], parts, given.spaces)
        try:
            rows += peers(SETS[name], parts, given.limit)
        except environments.Unavailable as reason:
            print(f"the peers are not available: {reason}")
        parts_of_page.append(table(name, SETS[name], parts, rows))
        print(parts_of_page[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "accuracy.md").write_text("\n".join(parts_of_page))


if __name__ == "__main__":
    main()
