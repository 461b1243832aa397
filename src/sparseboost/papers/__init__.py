"""Experiments of the papers, one module each; `sparseboost reproduce NAME` runs one."""

from __future__ import annotations

import importlib
import shutil
from dataclasses import dataclass
from pathlib import Path

EXPERIMENTS = {
    "grubb2011": "Naive, repeated and residual projection on planning, ranking and classes: Figures 1 to 3 of Grubb & "
    "Bagnell (2011)",
    "multiboost2012": "Test error against distinct hypotheses for three norms and SAMME, many classes, after "
    "Paisitkriangkrai, Shen & van den Hengel (2012)",
    "xi2009": "AdaBoost beside AdaBoost+L1 on five data sets: Tables 1 and 2, Figures 2 and 3 of Xi et al. (2009)",
}


@dataclass(frozen=True)
class Options:
    """What a user may say about an experiment.

    Attributes
    ----------
    output : path
        Folder for the pictures; created if it is missing.
    data : path or None
        Folder of the data sets; the environment variable SPARSEBOOST_DATA by default.
    repetitions : int or None
        How often to repeat it; as often as the paper by default.
    quick : bool
        Less of everything, to see that it works.
    peers : path or None
        A Python interpreter that has the libraries compared with; the running one by default.
    """

    output: Path
    data: Path | None = None
    repetitions: int | None = None
    quick: bool = False
    peers: Path | None = None


def reproduce(name: str, options: Options) -> None:
    """Run the experiment of this name and print its numbers beside the paper's."""
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}; there are {', '.join(sorted(EXPERIMENTS))}.")
    if options.repetitions is not None and options.repetitions < 1:
        raise ValueError(f"--repetitions must be at least 1, got {options.repetitions}.")
    if options.peers is not None and shutil.which(options.peers) is None:
        raise ValueError(f"--peers must be a Python interpreter; {options.peers} is none.")
    importlib.import_module(f"sparseboost.papers.{name}").run(options)
