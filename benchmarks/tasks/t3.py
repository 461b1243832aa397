"""T3: softmax with ℓ1/ℓ2 rows, which tie the classes."""

from __future__ import annotations

import numpy as np

from benchmarks.datasets import products, read, sample, standardized, text
from benchmarks.tasks.base import Cases, Task, each


def with_products(name: str, rows: int | None):
    X, y = sample(*read(name)[:2], rows)
    return standardized(products(standardized(X))), np.unique(y, return_inverse=True)[1]


def news(rows: int | None):
    X, y = sample(*read("news20_bydate")[:2], rows)
    return text(X), np.unique(y, return_inverse=True)[1]


def cases(size: str) -> Cases:
    small = size == "small"
    for name, data in {
        "pendigits products": lambda: with_products("pendigits", 500 if small else None),
        "satimage products": lambda: with_products("satimage", 400 if small else None),
        "news20_bydate": lambda: news(800 if small else None),
    }.items():
        yield from each(name, data, "softmax", "l1/l2", (10,) if small else (10, 50))


TASK = Task("T3", "softmax with ℓ1/ℓ2 rows", cases)
