"""What an experiment is told: where data are, where pictures go, how much work to do; and how it shows progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray


@dataclass(frozen=True)
class Setting:
    """How an experiment runs.

    Attributes
    ----------
    data : Path or None
        Folder of the papers' data sets, ``NAME.npz`` each.
    output : Path
        Folder for pictures and tables; made when it is first used.
    repetitions : int or None
        How often to repeat; the paper's number by default.
    quick : bool
        Whether to do a small part of the work, to see that it runs.
    """

    data: Path | None
    output: Path
    repetitions: int | None = None
    quick: bool = False

    def load(self, name: str) -> dict[str, Any]:
        """Everything in the file of a data set; sparse matrices are put together."""
        if self.data is None:
            raise FileNotFoundError(
                f"{name}.npz is needed, and no data folder is known; name it with --data or SPARSEBOOST_DATA."
            )
        path = self.data / f"{name}.npz"
        if not path.is_file():
            raise FileNotFoundError(f"{name}.npz is not in the data folder {os.fspath(self.data)!r}.")
        with np.load(path, allow_pickle=False) as file:
            found: dict[str, Any] = {key: file[key] for key in file.files}
        for part in ("", "_test"):
            if f"indptr{part}" in found:
                entries = tuple(found.pop(f"{key}{part}") for key in ("data", "indices", "indptr"))
                found[f"X{part}"] = sp.csr_matrix(entries, shape=tuple(found.pop(f"shape{part}")))
        return found

    def picture(self, name: str) -> Path:
        """Where a picture goes."""
        self.output.mkdir(parents=True, exist_ok=True)
        return self.output / name


def shown(steps: Iterable[Any], label: str) -> Iterator[Any]:
    """The same steps, with a line on the terminal that says how far they are."""
    known = list(steps)
    for done, step in enumerate(known):
        if sys.stderr.isatty():
            print(f"\r{label}: {done + 1} of {len(known)} ", end="", file=sys.stderr, flush=True)
        yield step
    if sys.stderr.isatty():
        print("\r" + " " * (len(label) + 20) + "\r", end="", file=sys.stderr, flush=True)
