"""glmnet in R, through files; R times the fit itself."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.problem import Problem
from benchmarks.solvers.base import Fit, Solver, path

SCRIPT = Path(__file__).with_name("glmnet.R")
FAMILIES = {"logistic": "binomial", "softmax": "multinomial", "squared": "gaussian"}


class Glmnet(Solver):
    name = "glmnet"
    environment = "R"
    kinds = (
        "logistic l1", "softmax l1/l2", "squared l1", "squared l1/l2", "squared l1 path", "squared l1/l2 path",
    )  # fmt: skip
    settings = tuple(10.0**-e for e in (4, 6, 8, 11, 15))
    single_precision = False

    def fit(self, problem: Problem, setting: float) -> Fit:
        k, n = problem.n_outputs, problem.X.shape[1]
        family = "mgaussian" if problem.loss == "squared" and k > 1 else FAMILIES[problem.loss]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _write(folder, problem)
            command = ["Rscript", str(SCRIPT), name, family, repr(setting)]
            ended = subprocess.run(command, check=False, capture_output=True, text=True)
            if ended.returncode:
                last = ended.stderr.strip().splitlines()[-1:]
                raise RuntimeError(" ".join([f"R ended with code {ended.returncode}", *last]))
            coefs = np.fromfile(folder / "coefs").reshape(len(problem.alphas), k, n)
            seconds = float(np.fromfile(folder / "seconds")[0])
        return path(problem, coefs)._replace(seconds=seconds)


def _write(folder: Path, problem: Problem) -> None:
    """Column by column, in double precision; a sparse matrix as its three arrays."""
    X = problem.X
    if problem.is_sparse:
        X.data.astype(np.float64).tofile(folder / "x")
        X.indices.astype(np.int32).tofile(folder / "i")
        X.indptr.astype(np.int32).tofile(folder / "p")
    else:
        np.asarray(X, dtype=np.float64).T.tofile(folder / "x")
    y = problem.y if problem.loss == "softmax" else problem.target().T
    y.astype(np.float64).tofile(folder / "y")
    problem.alphas.astype(np.float64).tofile(folder / "lambda")
    np.array([*X.shape, problem.n_outputs], dtype=np.int32).tofile(folder / "shape")
