"""T4: lasso and multitask-lasso paths of 100 values, from alpha_max to alpha_max/100."""

from __future__ import annotations

from benchmarks.datasets import correlated, frequent_signal, power_law, signal
from benchmarks.problem import Problem
from benchmarks.tasks.base import Case, Cases, Task, along


def dense(m: int, n: int, k: int, count: int) -> Problem:
    X = correlated(m, n)
    Y = signal(X, k)
    return along(X, Y if k > 1 else Y[:, 0], "squared", "l1/l2" if k > 1 else "l1", count)


def sparse(m: int, n: int, k: int, count: int) -> Problem:
    X = power_law(m, n, 75)
    if k == 1:
        return along(X, frequent_signal(X)[:, 0], "squared", "l1", count)
    return along(X, signal(X, k, 500), "squared", "l1/l2", count)


def cases(size: str) -> Cases:
    small = size == "small"
    count = 10 if small else 100
    m, n = (200, 500) if small else (1000, 10_000)
    rows, columns = (500, 1000) if small else (5000, 20_000)
    yield Case(f"lasso dense {m} x {n}", lambda: dense(m, n, 1, count))
    yield Case(f"multitask lasso dense {m} x {n} x 10", lambda: dense(m, n, 10, count))
    yield Case(f"lasso sparse {rows} x {columns}", lambda: sparse(rows, columns, 1, count))
    yield Case(f"multitask lasso sparse {rows} x {columns} x 10", lambda: sparse(rows, columns, 10, count))


TASK = Task("T4", "lasso and multitask-lasso paths", cases)
