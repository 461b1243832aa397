"""T6: ℓ1/ℓ∞ rows, which hardly any package offers."""

from __future__ import annotations

import numpy as np

from benchmarks.datasets import correlated, read, signal, standardized
from benchmarks.tasks.base import Cases, Task, each


def gaussian(m: int, n: int, k: int):
    X = correlated(m, n)
    return X, (signal(X, k, 10) > 0).astype(int)


def digits(rows: int):
    X, y, _ = read("pendigits", rows)
    return standardized(X), np.unique(y, return_inverse=True)[1]


def cases(size: str) -> Cases:
    small = size == "small"
    divisors = (10,) if small else (10, 50)
    yield from each("pendigits", lambda: digits(200 if small else 1000), "softmax", "l1/linf", divisors)
    shape = (100, 30, 4) if small else (1000, 300, 6)
    yield from each("correlated", lambda: gaussian(*shape), "multilabel", "l1/linf", divisors)


TASK = Task("T6", "ℓ1/ℓ∞ rows", cases)
