"""How kernels are compiled: cached on disk, without the interpreter lock, and announced when it takes long."""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

SECONDS_BEFORE_NOTICE = 2.0
# sums may be reordered (vector instructions); infinities and NaN keep their meaning
_FAST = {"reassoc", "contract", "arcp", "nsz"}
_ALWAYS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_PROCESS = uuid.uuid4().hex[:8]  # in the names of files that this process writes


def _jit(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A compiled function that is kept on disk in files of this process's own.

    numba numbers files from one, and names a file in the index before it writes it: two processes that compile for
    different arguments at the same time may take the same number, and one that reads in between finds what an older
    version of the function left there. Either would run the wrong code.
    """
    kernel = numba.njit(**_ALWAYS, **options)(function)
    files: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    pattern = getattr(files, "_data_name_pattern", None)
    if isinstance(pattern, str):
        files._data_name_pattern = pattern.replace("{number", f"{_PROCESS}-{{number")
    return kernel


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for the exact arithmetic written."""
    return _jit(function)


def compiled_inside(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for other kernels only; what Python would need to call it costs compile time and is left out."""
    return _jit(function, no_cpython_wrapper=True)


def compiled_exact(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for other kernels, in the order written even inside `compiled_sum`: instructions with flags keep them."""
    return _jit(function, fastmath={"contract"}, no_cpython_wrapper=True)


def compiled_sum(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop whose sums may be reordered. The same inputs give the same bits on every call."""
    return _jit(function, fastmath=_FAST)


def compiled_sum_inside(function: Callable[..., Any]) -> Callable[..., Any]:
    """`compiled_sum` for other kernels only."""
    return _jit(function, fastmath=_FAST, no_cpython_wrapper=True)


class CompileNotice(event.Listener):
    """Say once per process that code is being compiled, when compilations have taken two seconds in all."""

    def __init__(self) -> None:
        self._depth = 0
        self._spent = 0.0
        self._since = 0.0
        self._said = False
        self._timer: threading.Timer | None = None

    def on_start(self, event: event.Event) -> None:
        self._depth += 1
        if self._depth > 1 or self._said:
            return
        self._since = time.perf_counter()
        self._timer = threading.Timer(max(SECONDS_BEFORE_NOTICE - self._spent, 0.0), self._say)
        self._timer.daemon = True
        self._timer.start()

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._spent += time.perf_counter() - self._since

    def _say(self) -> None:
        self._said = True
        print(
            "sparseboost: compiling its numerical kernels; this happens once per machine and takes some seconds.",
            file=sys.stderr,
            flush=True,
        )


event.register("numba:compile", CompileNotice())
