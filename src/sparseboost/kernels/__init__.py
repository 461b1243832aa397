"""Compiled loops on plain arrays. numba is imported when the first of them is used, not before."""

from __future__ import annotations

import importlib
from types import ModuleType

_MODULES = (
    "carry",
    "classes",
    "columns",
    "descent",
    "elementary",
    "lanes",
    "outline",
    "passes",
    "pointwise",
    "products",
    "quadratic",
    "ranking",
    "rows",
    "spaces",
    "stagewise",
    "step_functions",
    "stump_rows",
    "stumps",
    "sweeps",
    "trees",
    "walks",
)


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
