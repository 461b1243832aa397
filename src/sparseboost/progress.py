"""A progress bar for the gap, or another measure: full when it reaches its target. Needs rich."""

from __future__ import annotations

import math

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from sparseboost.monitors import Record, _Silent


class GapBar(_Silent):
    """Shows how many of the decades between the first gap and the target are done."""

    def __init__(self, measure: str = "gap") -> None:
        self._measure = measure
        self._bar = Progress(
            TextColumn("sparseboost"),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._task: TaskID | None = None
        self._first = 0.0

    def show(self, entry: Record, target: float) -> None:
        gap = max(entry[self._measure], 1e-300)
        if self._task is None:
            self._first = gap
            self._task = self._bar.add_task("", total=1.0 if target > 0 else None)  # without a target: only alive
            self._bar.start()
        words = [f"round {entry['round']}"]
        if target > 0:
            words.append(f"{self._measure} {gap:.1e} (target {target:.1e})")
        words += [f"{entry[name]} {name}" for name in ("active", "learners") if name in entry]
        words += [f"{name} {entry[name]:.6g}" for name in ("objective", "loss") if name in entry]
        self._bar.update(self._task, completed=self._done(gap, target), description="  ".join(words))

    def _done(self, gap: float, target: float) -> float:
        decades = math.log(self._first / target) if target > 0 else 0.0
        done = 1.0 if gap <= target or decades <= 0 else math.log(self._first / gap) / decades
        return min(max(done, 0.0), 1.0)

    def close(self) -> None:
        self._bar.stop()
