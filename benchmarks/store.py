"""Problems on disk: written once by the runner, read by the workers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.problem import Problem


def save(problem: Problem, path: Path) -> None:
    """Uncompressed, so that reading needs no more memory than the data."""
    X = problem.X
    arrays = (
        {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
        if problem.is_sparse
        else {"X": X}
    )
    facts = {"loss": problem.loss, "penalty": problem.penalty, "fit_intercept": problem.fit_intercept}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    np.savez(part, y=problem.y, alphas=problem.alphas, facts=np.array(json.dumps(facts)), **arrays)
    part.replace(path)


def load(path: Path) -> Problem:
    with np.load(path, allow_pickle=False) as file:
        facts = json.loads(str(file["facts"]))
        if "indptr" in file:
            parts = (file["data"], file["indices"], file["indptr"])
            X = sp.csc_matrix(parts, shape=tuple(file["shape"]))
        else:
            X = file["X"]
        return Problem(X, file["y"], alphas=file["alphas"], **facts)
