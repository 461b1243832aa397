"""Where the experiments find their data sets: a folder of .npz files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

Array = np.ndarray
VARIABLE = "SPARSEBOOST_DATA"


def read(name: str, folder: Path | None = None) -> dict[str, Array]:
    """All arrays of a data set.

    Parameters
    ----------
    name : str
        File name without ``.npz``.
    folder : path, optional
        Where it is; the folder that SPARSEBOOST_DATA names by default.

    Raises
    ------
    FileNotFoundError
        In one sentence that names the file.
    """
    if folder is None:
        named = os.environ.get(VARIABLE)
        if not named:
            raise FileNotFoundError(f"{name}.npz is needed; give the folder it is in with --data or {VARIABLE}.")
        folder = Path(named)
    path = folder / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"There is no {path}; give the folder that has {name}.npz with --data or {VARIABLE}.")
    with np.load(path, allow_pickle=False) as stored:
        return {key: stored[key] for key in stored.files}
