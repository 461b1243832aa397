"""T8: far more features than examples; the largest in single precision."""

from __future__ import annotations

import numpy as np

from benchmarks.datasets import correlated, signal
from benchmarks.tasks.base import Cases, Task, each


def wide(m: int, n: int, dtype: type):
    X = correlated(m, n, dtype=dtype)
    return X, (signal(X, support=30)[:, 0] > 0).astype(int)


def cases(size: str) -> Cases:
    shapes = [(500, 10_000, np.float64), (4300, 29_000, np.float64), (900, 860_000, np.float32)]
    if size == "small":
        shapes = [(100, 1000, np.float64), (90, 5000, np.float32)]
    for m, n, dtype in shapes:
        yield from each(f"{m} x {n} {np.dtype(dtype)}", lambda s=(m, n, dtype): wide(*s), "logistic", "l1", (10,))


TASK = Task("T8", "wide shapes, ℓ1 logistic regression", cases)
