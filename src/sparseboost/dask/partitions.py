"""Dask's collections: what comes in as partitions, and what goes out lazily."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from distributed import Future

Array = np.ndarray


def is_blocks(data: Any) -> bool:
    """Whether this is a list of delayed blocks of rows."""
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(p, (Delayed, Future)) for p in data)


def is_lazy(data: Any) -> bool:
    """Whether this is a Dask collection or a list of delayed blocks."""
    return is_dask_collection(data) or is_blocks(data)


def partitions(X: Any, y: Any, weight: Any, estimator: str) -> list[tuple[Any, Any, Any]]:
    """Blocks of X, y and weight as delayed objects, row by row the same."""
    if not is_lazy(X):
        raise TypeError(
            f"X must be a Dask array, a Dask data frame or a list of delayed blocks of rows, got {type(X).__name__}; "
            f"for data in memory use {estimator.removeprefix('Dask')}."
        )
    rows = _row_chunks(X)
    parts = [_blocks("X", X, rows)]
    for name, data in (("y", y), ("sample_weight", weight)):
        blocks = [None] * len(parts[0]) if data is None and name == "sample_weight" else _blocks(name, data, rows)
        if len(blocks) != len(parts[0]):
            raise ValueError(
                f"{name} must be partitioned like X, which has {len(parts[0])} partitions; {name} has {len(blocks)}."
            )
        parts.append(blocks)
    return list(zip(*parts, strict=True))


def _row_chunks(X: Any) -> tuple[int, ...] | None:
    """How many rows every block has, where that is known without computing it."""
    if not isinstance(X, da.Array) or np.isnan(X.chunks[0]).any():
        return None
    return X.chunks[0]


def _blocks(name: str, data: Any, rows: tuple[int, ...] | None) -> list[Any]:
    if is_blocks(data):
        return [delayed(part) if isinstance(part, Future) else part for part in data]
    if isinstance(data, da.Array):
        if data.ndim not in ((2,) if name == "X" else (1, 2)):
            raise ValueError(f"{name} must have {'two' if name == 'X' else 'one or two'} dimensions, got {data.ndim}.")
        if rows is not None and name != "X" and sum(rows) != data.shape[0] and not np.isnan(data.shape[0]):
            raise ValueError(f"X has {sum(rows)} rows and {name} {data.shape[0]}; they must have the same number.")
        wanted = dict.fromkeys(range(1, data.ndim), -1)
        return list(data.rechunk(wanted if rows is None else {0: rows, **wanted}).to_delayed().ravel())
    if hasattr(data, "to_delayed"):
        return list(data.to_delayed())
    if data is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    data = np.asarray(data)
    if rows is None or sum(rows) != data.shape[0]:
        raise ValueError(
            f"{name} must be a Dask collection or a list of delayed blocks, partitioned like X; an array in memory "
            f"must have as many rows as X, and X must know how many it has (X.compute_chunk_sizes())."
        )
    return [delayed(part) for part in np.split(data, np.cumsum(rows)[:-1])]


def lazily(model: Any, method: str, X: Any) -> Any:
    """What a method of a fitted model gives, block by block, when somebody asks for it."""
    if is_blocks(X):
        return [delayed(_on_array)(part, model, method, None) for part in X]
    if not isinstance(X, da.Array):
        empty = _on_frame(X._meta_nonempty, model, method, None).iloc[:0]
        return X.map_partitions(_on_frame, model, method, empty, meta=empty)
    sample = np.asarray(getattr(model, method)(np.zeros((1, model.n_features_in_))))
    X = X.rechunk({1: -1})
    empty = sample[:0]
    shape = {"drop_axis": 1} if sample.ndim == 1 else {"chunks": (X.chunks[0], (sample.shape[1],))}
    return X.map_blocks(_on_array, model, method, empty, dtype=sample.dtype, meta=empty, **shape)


def _on_array(X: Any, model: Any, method: str, empty: Array | None) -> Any:
    if X.shape[0] == 0:  # scikit-learn refuses to look at no rows
        return np.asarray(getattr(model, method)(np.zeros((1, model.n_features_in_))))[:0] if empty is None else empty
    return getattr(model, method)(X)


def _on_frame(X: Any, model: Any, method: str, empty: Any) -> Any:
    import pandas as pd

    if X.shape[0] == 0 and empty is not None:
        return empty.set_axis(X.index)
    found = getattr(model, method)(X)
    if hasattr(found, "iloc"):
        return found
    return pd.Series(found, index=X.index) if np.ndim(found) == 1 else pd.DataFrame(found, index=X.index)
