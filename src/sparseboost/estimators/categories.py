"""Categorical inputs become codes: columns of category type in a data frame, and columns a space calls categorical."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray
UNKNOWN = -1.0  # the code of a label that the fit never saw


def encode_categories(X: Any, listed: Any, known: dict[int, list[Any]] | None) -> tuple[Any, dict[int, list[Any]]]:
    """Replace the labels of categorical inputs by codes 0, 1, …; missing labels become NaN, unknown ones −1.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        Data; it is not changed.
    listed : sequence of int, str or bool, or None
        Inputs that are categorical whatever their type says: indices, column names or a mask.
    known : dict of int to list, or None
        Labels of a fit; None to take them from X.
    """
    columns = list(getattr(X, "columns", [])) if _is_frame(X) else None
    if known is None:
        width = 0 if listed is None else np.shape(X)[1] if np.ndim(X) == 2 or columns is not None else 0
        names = _listed(listed, columns, width)
        chosen = sorted(names | ({j for j, c in enumerate(columns) if _is_category(X[c])} if columns else set()))
        known = {j: _labels(X[columns[j]] if columns else _column(X, j)) for j in chosen}
    if not known:
        return X, known
    if columns is None:
        data = X.toarray() if sp.issparse(X) else np.array(X, dtype=float)
        for j, labels in known.items():
            data[:, j] = _codes(data[:, j], labels)
        return (type(X)(data) if sp.issparse(X) else data), known
    codes = {columns[j]: _codes(X[columns[j]], labels) for j, labels in known.items() if j < len(columns)}
    return _with_columns(X, codes), known


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and not callable(X.columns)


def _is_category(column: Any) -> bool:
    return str(column.dtype).lower().split("(")[0] in ("category", "categorical", "enum")


def _listed(listed: Any, columns: Sequence[Any] | None, width: int) -> set[int]:
    if listed is None:
        return set()
    entries = list(listed)
    if entries and all(isinstance(entry, (bool, np.bool_)) for entry in entries):
        if len(entries) != width:
            raise ValueError(
                f"categorical_features as a mask needs {width} entries, one per input, got {len(entries)}."
            )
        return {j for j, entry in enumerate(entries) if entry}
    found = set()
    for entry in entries:
        if isinstance(entry, str):
            if columns is None or entry not in columns:
                raise ValueError(f"categorical_features names {entry!r}, which is not a column of X.")
            found.add(list(columns).index(entry))
        elif isinstance(entry, (int, np.integer)) and 0 <= entry < width:
            found.add(int(entry))
        else:
            raise ValueError(f"categorical_features must hold column names or indices below {width}, got {entry!r}.")
    return found


def _column(X: Any, j: int) -> Array:
    return X[:, [j]].toarray().ravel() if sp.issparse(X) else np.asarray(X)[:, j].astype(float)


def _labels(column: Any) -> list[Any]:
    if isinstance(column, np.ndarray):
        return np.unique(column[~np.isnan(column)]).tolist()
    if hasattr(column, "cat") and hasattr(column.cat, "categories"):  # pandas
        return list(column.cat.categories)
    if hasattr(column, "cat") and hasattr(column.cat, "get_categories") and _is_category(column):  # polars
        return column.cat.get_categories().to_list()
    values = column.drop_nulls() if hasattr(column, "drop_nulls") else column.dropna()
    return sorted(values.unique(), key=lambda label: (str(type(label)), label))


def _codes(column: Any, labels: list[Any]) -> Array:
    if isinstance(column, np.ndarray):
        known = np.asarray(labels, dtype=float)
        place = np.minimum(np.searchsorted(known, column), max(known.size - 1, 0))
        same = known[place] == column if known.size else np.zeros(column.shape, dtype=bool)
        codes = np.where(same, place, UNKNOWN)
        return np.where(np.isnan(column), np.nan, codes)
    table = {label: float(code) for code, label in enumerate(labels)}
    if hasattr(column, "replace_strict"):  # polars
        plain = column.cast(str) if _is_category(column) else column
        return plain.replace_strict(table, default=UNKNOWN, return_dtype=float).to_numpy() + np.where(
            column.is_null().to_numpy(), np.nan, 0.0
        )
    codes = column.astype(object).map(table).astype(float).to_numpy()
    return np.where(np.isnan(codes) & column.notna().to_numpy(), UNKNOWN, codes)


def _with_columns(X: Any, codes: dict[Any, Array]) -> Any:
    if hasattr(X, "with_columns"):  # polars
        return X.with_columns([type(X[name])(name, values) for name, values in codes.items()])
    X = X.copy()
    for name, values in codes.items():
        X[name] = values
    return X
