"""Shared by all tests: the catalogue of components is importable as `components`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import sparseboost

sys.path.insert(0, str(Path(__file__).parent / "laws"))


def pytest_configure() -> None:
    """Forget compiled kernels that are older than any kernel's source.

    numba looks only at the file a function stands in, so a change in `rows.py` would leave an old copy of it inside
    the cached `sweeps.py`.
    """
    folder = Path(sparseboost.__file__).parent / "kernels"
    newest = max(path.stat().st_mtime for path in folder.glob("*.py"))
    for index in folder.glob("__pycache__/*.nbi"):
        try:
            if index.stat().st_mtime < newest:
                index.unlink()
        except FileNotFoundError:  # another worker was faster
            continue


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)
