"""Memory of this process, in bytes."""

from __future__ import annotations

import resource
from pathlib import Path


def resident() -> int:
    return _status("VmRSS") or peak()


def peak() -> int:
    """High-water mark. Where the system tells, not by getrusage, which a process inherits from the one that made it."""
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def forget_peak() -> None:
    """Start a new high-water mark where the system allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _status(name: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)
