"""Predictions to CSV."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import numpy as np


def check_writable(path: str | os.PathLike[str]) -> None:
    """Complain about an output file before the work is done, not after it.

    Parameters
    ----------
    path : str or path-like
        A file to be written; its folder must exist.
    """
    place = Path(path)
    if place.is_dir():
        raise ValueError(f"{str(place)!r} is a folder; give a file name.")
    if not place.absolute().parent.is_dir():
        raise ValueError(f"There is no folder {str(place.parent)!r} to write {place.name!r} to.")


def write_columns(path: str | os.PathLike[str] | None, header: Sequence[str], values: np.ndarray) -> None:
    """Write an array as CSV.

    Parameters
    ----------
    path : str, path-like or None
        The file; None is the standard output.
    header : sequence of str
        Column names.
    values : ndarray of shape (n_rows,) or (n_rows, n_columns)
        Numbers or text; numbers are written with all their digits.
    """
    if path is None:
        _write(sys.stdout, header, values)
        return
    with open(path, "w", newline="", encoding="utf-8") as stream:
        _write(stream, header, values)


def _write(stream: TextIO, header: Sequence[str], values: np.ndarray) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(values.reshape(len(values), -1).tolist())
