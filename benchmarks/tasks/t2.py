"""T2: ℓ1 logistic regression on dense correlated data."""

from __future__ import annotations

from benchmarks.datasets import correlated, read, signal, standardized
from benchmarks.tasks.base import Cases, Task, each


def gaussian(m: int, n: int):
    X = correlated(m, n)
    return X, (signal(X)[:, 0] > 0).astype(int)


def digits(rows: int):
    X, y, _ = read("mnist", rows)
    return standardized(X.reshape(len(X), -1)), (y == 8).astype(int)


def cases(size: str) -> Cases:
    small = size == "small"
    for name, data in {
        "correlated": lambda: gaussian(*((500, 200) if small else (5000, 2000))),
        "mnist digit 8": lambda: digits(500 if small else 10_000),
    }.items():
        yield from each(name, data, "logistic", "l1", (10,) if small else (10, 100))


TASK = Task("T2", "ℓ1 logistic regression on dense data", cases)
