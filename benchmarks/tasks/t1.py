"""T1: ℓ1 logistic regression on sparse text, one class against the rest."""

from __future__ import annotations

import numpy as np

from benchmarks.datasets import frequent_signal, power_law, read, sample, text
from benchmarks.tasks.base import Cases, Task, each


def reuters(rows: int | None):
    X, y, rest = read("reuters21578_bigrams", rows)
    earn = list(np.char.decode(rest["classes"]) if rest["classes"].dtype.kind == "S" else rest["classes"]).index("earn")
    return text(X), (y[:, earn] > 0).astype(int)


def news(rows: int | None):
    X, y = sample(*read("news20_bydate")[:2], rows)
    return text(X), (y == y.max()).astype(int)


def synthetic(m: int, n: int):
    X = power_law(m, n, 75)
    return X, (frequent_signal(X)[:, 0] > 0).astype(int)


def cases(size: str) -> Cases:
    small = size == "small"
    for name, data in {
        "reuters21578_bigrams earn": lambda: reuters(1500 if small else None),
        "news20_bydate one class": lambda: news(1500 if small else None),
        "power law": lambda: synthetic(*((1000, 2500) if small else (20_000, 50_000))),
    }.items():
        yield from each(name, data, "logistic", "l1", (10,) if small else (10, 100))


TASK = Task("T1", "ℓ1 logistic regression on sparse text", cases)
