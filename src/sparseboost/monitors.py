"""What watches a fit: its history, the clock, the progress display and the user's callbacks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

Record = dict[str, Any]
Callback = Callable[[Record], Any]


class Monitor:
    """Keeps one record per round and says when to stop for reasons outside the mathematics.

    Parameters
    ----------
    time_budget : float or None
        Seconds after which the fit stops at the next occasion.
    verbose : int
        0 silent, 1 progress bar, 2 a line per round.
    callbacks : sequence of callables
        Each is called with the record of every round; a true return value stops the fit.
    measure : str
        The field of the records that has a target.
    """

    def __init__(
        self,
        time_budget: float | None = None,
        verbose: int = 0,
        callbacks: Sequence[Callback] = (),
        measure: str = "gap",
    ) -> None:
        self.history: list[Record] = []
        self._started = time.perf_counter()
        self._budget = time_budget
        self._callbacks = list(callbacks)
        self._display: _Silent = _Silent()
        if verbose >= 2:
            self._display = _Lines(measure)
        elif verbose == 1:
            self._display = _progress_bar(measure)

    @property
    def listening(self) -> bool:
        """Whether somebody wants to hear of every round as it ends."""
        return bool(self._callbacks)

    @property
    def seconds(self) -> float:
        """Time since the fit began."""
        return time.perf_counter() - self._started

    @property
    def out_of_time(self) -> bool:
        """Whether the time budget is used up."""
        return self._budget is not None and self.seconds >= self._budget

    def record(self, target: float, **fields: Any) -> bool:
        """Keep one round's record; return True if a callback asks to stop."""
        entry: Record = {"round": len(self.history), **fields, "seconds": self.seconds}
        self.history.append(entry)
        self._display.show(entry, target)
        answers = [callback(entry) for callback in self._callbacks]  # all of them are called, every round
        return any(bool(answer) for answer in answers)

    def close(self) -> None:
        """Take the display down."""
        self._display.close()


class _Silent:
    def show(self, entry: Record, target: float) -> None:
        """Show one record."""

    def close(self) -> None:
        """End the display."""


class _Lines(_Silent):
    def __init__(self, measure: str) -> None:
        self._measure = measure

    def show(self, entry: Record, target: float) -> None:
        words = [f"round {entry['round']:4d}"]
        for name, value in entry.items():
            if name not in ("round", "seconds"):
                words.append(f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}")
                words[-1] += f" (target {target:.1e})" if name == self._measure and target > 0 else ""
        print("  ".join(words), f" {entry['seconds']:.2f} s", file=sys.stderr, flush=True)


def _progress_bar(measure: str) -> _Silent:
    try:
        from sparseboost.progress import GapBar
    except ImportError:  # rich is an extra; lines are better than nothing
        return _Lines(measure)
    return GapBar(measure)
