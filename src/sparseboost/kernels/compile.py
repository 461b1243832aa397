"""How kernels are compiled: cached on disk, without the interpreter lock, and announced when it takes long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

SECONDS_BEFORE_NOTICE = 2.0
# sums may be reordered (vector instructions); infinities and NaN keep their meaning
_FAST = {"reassoc", "contract", "arcp", "nsz"}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for the exact arithmetic written."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


def compiled_sum(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop whose sums may be reordered. The same inputs give the same bits on every call."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)(function)


class _Notice(event.Listener):
    """Say once per process that code is being compiled, when that has been going on for two seconds."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def on_start(self, event: event.Event) -> None:
        if self._timer is None:
            self._timer = threading.Timer(SECONDS_BEFORE_NOTICE, self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: event.Event) -> None:
        """Nothing: compilations come in a row, and the user waits for all of them."""

    def cancel(self) -> None:
        """Stop waiting: the fit is over."""
        if self._timer is not None:
            self._timer.cancel()

    @staticmethod
    def _say() -> None:
        print(
            "sparseboost: compiling its numerical kernels; this happens once per machine and takes some seconds.",
            file=sys.stderr,
            flush=True,
        )


_notice = _Notice()
event.register("numba:compile", _notice)
