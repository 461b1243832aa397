"""T5: multi-label logistic regression with ℓ1/ℓ2 rows, which tie the labels."""

from __future__ import annotations

import scipy.sparse as sp

from benchmarks.datasets import read, standardized, text
from benchmarks.tasks.base import Cases, Task, each


def labels(name: str, rows: int | None, most: int | None = None):
    X, y, _ = read(name, rows)
    y = y.toarray() if sp.issparse(y) else y
    y = (y[:, y.std(axis=0) > 0][:, :most] > 0).astype(int)
    return (text(X) if sp.issparse(X) else standardized(X)), y


def cases(size: str) -> Cases:
    small = size == "small"
    for name, data in {
        "ml_yeast": lambda: labels("ml_yeast", 300 if small else None),
        "ml_bibtex": lambda: labels("ml_bibtex", 500 if small else None, 20 if small else None),
    }.items():
        yield from each(name, data, "multilabel", "l1/l2", (10,) if small else (10, 50))


TASK = Task("T5", "multi-label logistic regression with ℓ1/ℓ2 rows", cases)
