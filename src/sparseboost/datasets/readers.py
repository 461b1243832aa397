"""Tables from CSV, Parquet and svmlight files; every complaint is one sentence."""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray

CSV = (".csv", ".csv.gz")
PARQUET = (".parquet",)
_SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")
SVMLIGHT = (*_SVMLIGHT, *(suffix + ".gz" for suffix in _SVMLIGHT))


def is_svmlight(path: str | os.PathLike[str]) -> bool:
    """Whether a file name ends like an svmlight file.

    Parameters
    ----------
    path : str or path-like
        The file name; the file need not exist.

    Returns
    -------
    bool
        True for ``.svm``, ``.svmlight``, ``.libsvm`` and ``.txt``, also with ``.gz``.

    Examples
    --------
    >>> from sparseboost.datasets import is_svmlight
    >>> is_svmlight("train.svm.gz"), is_svmlight("train.csv")
    (True, False)
    """
    return os.fspath(path).lower().endswith(SVMLIGHT)


def read_table(
    path: str | os.PathLike[str], target: str | Sequence[str] | None = None, *, optional: bool = False
) -> tuple[Any, Array | None]:
    """Read inputs and targets from a file, in the format its suffix names.

    Parameters
    ----------
    path : str or path-like
        A ``.csv``, ``.csv.gz``, ``.parquet``, ``.svm``, ``.svmlight``, ``.libsvm`` or ``.txt`` (svmlight) file.
    target : str or list of str, optional
        Column or columns to predict. Not for svmlight, where every line begins with its target.
    optional : bool, default=False
        Accept tables without the target columns; y is None unless all of them are there.

    Returns
    -------
    X : DataFrame or csr_matrix
        Inputs: all other columns, in their order.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets), or None
        Targets; two-dimensional if several were named, None if none was.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the format is unknown, the file is empty or damaged, a target is not a column, or inputs are not numbers.
    """
    names = [target] if isinstance(target, str) else list(target or [])
    if is_svmlight(path):
        if names:
            raise ValueError(f"{_name(path)} is an svmlight file, which holds its own target; do not name one.")
        return read_svmlight(path)[:2]
    frame = _read_frame(path)
    missing = [name for name in names if name not in frame.columns]
    if missing and not optional:
        raise ValueError(_no_column(path, missing[0], list(frame.columns)))
    present = [name for name in names if name in frame.columns]
    X = _inputs(path, frame.drop(columns=present))
    if not names or missing:
        return X, None
    return X, _targets(path, frame, names, optional)


def read_svmlight(
    path: str | os.PathLike[str], *, zero_based: bool | None = None, n_features: int | None = None
) -> tuple[sparse.csr_matrix, Array, bool]:
    """Read an svmlight file, where every line is ``target index:value index:value ...``.

    Parameters
    ----------
    path : str or path-like
        The file.
    zero_based : bool, optional
        Whether indices count from 0. By default they do if index 0 occurs; give it for files that must match another.
    n_features : int, optional
        Number of inputs, for files whose last ones may be zero everywhere.

    Returns
    -------
    X : csr_matrix
        Inputs.
    y : ndarray of shape (n_samples,)
        Targets.
    zero_based : bool
        Whether indices were read as counting from 0.
    """
    from sklearn.datasets import load_svmlight_file

    _check_file(path)
    try:
        X, y = load_svmlight_file(os.fspath(path), zero_based=True)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(
            f"{_name(path)} could not be read as svmlight, lines of 'target index:value ...' ({_first_line(error)})."
        ) from None
    if X.shape[0] == 0:
        raise ValueError(f"{_name(path)} has no rows.")
    has_zero = bool(np.any(X.indices == 0))
    if zero_based is None:
        zero_based = has_zero
    elif has_zero and not zero_based:
        raise ValueError(f"{_name(path)} uses index 0, but the inputs of the model count from 1.")
    if not zero_based:
        X = X[:, 1:]
    return _widen(path, X, n_features), y, zero_based


def _widen(path: str | os.PathLike[str], X: sparse.csr_matrix, n_features: int | None) -> sparse.csr_matrix:
    if n_features is None or X.shape[1] == n_features:
        return X
    if X.shape[1] > n_features:
        raise ValueError(f"{_name(path)} has {X.shape[1]} inputs, but the model knows {n_features}.")
    return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


def _read_frame(path: str | os.PathLike[str]) -> Any:
    lower = os.fspath(path).lower()
    if not lower.endswith((*CSV, *PARQUET)):
        known = ", ".join((*CSV, *PARQUET, *_SVMLIGHT))
        raise ValueError(f"{_name(path)} has an unknown format; use one of {known}.")
    _check_file(path)
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("CSV and Parquet tables need pandas; install it with: pip install sparseboost[cli]") from None
    try:
        frame = pd.read_csv(path) if lower.endswith(CSV) else pd.read_parquet(path)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{_name(path)} is empty.") from None
    except (ValueError, OSError, EOFError) as error:
        kind = "CSV" if lower.endswith(CSV) else "Parquet"
        raise ValueError(f"{_name(path)} could not be read as {kind} ({_first_line(error)}).") from None
    if len(frame) == 0:
        raise ValueError(f"{_name(path)} has no rows.")
    frame.columns = [str(column) for column in frame.columns]
    if len(frame.columns) and frame.columns[0].startswith("Unnamed: 0"):
        warnings.warn(
            f"the first column of {_name(path)} has no name and is used as an input; it may be a row number.",
            UserWarning,
            stacklevel=3,
        )
    return frame


def _inputs(path: str | os.PathLike[str], X: Any) -> Any:
    """Inputs as numbers, or one sentence about the columns that are not."""
    if X.shape[1] == 0:
        raise ValueError(f"{_name(path)} has no input columns beside the target.")
    kinds = {column: _kind(X[column].dtype) for column in X.columns}
    text = [column for column, kind in kinds.items() if kind == "other"]
    if text:
        raise ValueError(
            f"{_name(path)} has {_columns(text)} that {'do' if len(text) > 1 else 'does'} not hold numbers; leave out "
            f"or encode text and dates first, for example with OneHotEncoder."
        )
    holes = [column for column in X.columns if X[column].isna().any()]
    if holes:
        raise ValueError(f"{_name(path)} has missing values in {_columns(holes)}; fill or drop them first.")
    return X.astype({column: float for column, kind in kinds.items() if kind == "flag"})


def _kind(dtype: Any) -> str:
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

    if is_bool_dtype(dtype) or (is_numeric_dtype(dtype) and not isinstance(dtype, np.dtype)):
        return "flag"  # also pandas' nullable numbers: both become plain floats
    return "number" if is_numeric_dtype(dtype) and not is_complex_dtype(dtype) else "other"


def _targets(path: str | os.PathLike[str], frame: Any, names: list[str], optional: bool) -> Array | None:
    part = frame[names]
    holes = [name for name in names if part[name].isna().any()]
    if holes and optional:
        return None
    if holes:
        raise ValueError(f"{_name(path)} has missing values in the target {_listed(holes)}; drop these rows first.")
    if len(names) == 1:
        return np.asarray(part[names[0]].to_numpy())
    text = [name for name in names if _kind(part[name].dtype) == "other"]
    if text:
        raise ValueError(f"Several targets must all be numbers; {_columns(text)} of {_name(path)} is not.")
    whole = all(np.issubdtype(part[name].dtype, np.integer) or part[name].dtype == bool for name in names)
    return np.asarray(part.to_numpy(dtype=np.int64 if whole else np.float64))


def _no_column(path: str | os.PathLike[str], name: str, columns: list[str]) -> str:
    near = difflib.get_close_matches(name, columns, n=3, cutoff=0.5)
    near += [column for column in columns if column.lower() == name.lower() and column not in near]
    if near:
        hint = f"did you mean {' or '.join(map(repr, near))}?"
    else:
        hint = f"its columns are {_listed(columns)}."
    return f"{_name(path)} has no column {name!r}; {hint}"


def _check_file(path: str | os.PathLike[str]) -> None:
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no file {os.fspath(path)!r}.")
    if Path(path).stat().st_size == 0:
        raise ValueError(f"{_name(path)} is empty.")


def _columns(names: list[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {_listed(names)}"


def _listed(names: Iterable[str], most: int = 5) -> str:
    names = list(names)
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + rest


def _name(path: str | os.PathLike[str]) -> str:
    return repr(os.fspath(path))


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
