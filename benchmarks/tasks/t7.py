"""T7: how our time grows with examples m, features n, outputs k and stored numbers nnz, each doubled four times."""

from __future__ import annotations

import numpy as np

from benchmarks.datasets import correlated, power_law, signal
from benchmarks.problem import Problem
from benchmarks.tasks.base import Case, Cases, Task, at

DIVISOR = 10


def dense(m: int, n: int, k: int) -> Problem:
    X = correlated(m, n)
    return at(X, signal(X, k, 20).argmax(axis=1), "softmax", "l1/l2", DIVISOR, fit_intercept=True)


def sparse(m: int, n: int, per_row: int) -> Problem:
    X = power_law(m, n, per_row)
    return at(X, (signal(X, 1, 500)[:, 0] > 0).astype(np.int64), "logistic", "l1", DIVISOR, fit_intercept=True)


def cases(size: str) -> Cases:
    m, n, k, per_row = (100, 50, 3, 5) if size == "small" else (1000, 500, 4, 10)
    for factor in 2 ** np.arange(5):
        f = int(factor)
        yield Case(f"m = {f * m}", lambda f=f: dense(f * m, n, k), "m", f * m)
        yield Case(f"n = {f * n}", lambda f=f: dense(m, f * n, k), "n", f * n)
        yield Case(f"k = {f * k}", lambda f=f: dense(m, n, f * k), "k", f * k)
        yield Case(f"{f * per_row} per row", lambda f=f: sparse(10 * m, 20 * n, f * per_row), "nnz", f * per_row)


TASK = Task("T7", "growth of our own time", cases, grows=True)
