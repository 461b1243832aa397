"""A progress bar for the gap: full when the certificate is reached. Needs rich."""

from __future__ import annotations

import math

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from sparseboost.monitors import Record, _Silent


class GapBar(_Silent):
    """Shows how many of the decades between the first gap and the target are done."""

    def __init__(self) -> None:
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
        gap = max(entry["gap"], 1e-300)
        if self._task is None:
            self._first = gap
            self._task = self._bar.add_task("", total=1.0)
            self._bar.start()
        decades = math.log(self._first / max(target, 1e-300))
        done = 1.0 if gap <= target or decades <= 0 else math.log(self._first / gap) / decades
        text = (
            f"round {entry['round']}  gap {gap:.1e} (target {target:.1e})  {entry['active']} active  "
            f"objective {entry['objective']:.6g}"
        )
        self._bar.update(self._task, completed=min(max(done, 0.0), 1.0), description=text)

    def close(self) -> None:
        self._bar.stop()
