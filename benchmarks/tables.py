"""From what workers reported to tables of ratios, as Markdown. Losses read as plainly as wins."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.problem import suboptimality

Facts = dict[str, Any]
THRESHOLDS = (1e-3, 1e-6)
OURS = "sparseboost"
FAMILY = "sparseboost "  # our own slower updates are no peers
HEAD = (
    "solver", "s to 1e-3", "s to 1e-6", "time / best peer, 1e-3", "time / best peer, 1e-6", "first call s",
    "memory / needed", "active rows", "note",
)  # fmt: skip


def best_objectives(result: Facts) -> np.ndarray:
    """P*: the best objective by anyone, at every alpha."""
    every = [result["reference"]["objectives"]]
    every += [tried["objectives"] for run in result["runs"] for tried in run.get("tried", ())]
    return np.min(np.array(every), axis=0)


def seconds_to(run: Facts, best: np.ndarray, threshold: float) -> Facts | None:
    """The cheapest setting that gets there, or None for never."""
    there = [tried for tried in run.get("tried", ()) if suboptimality(tried["objectives"], best) <= threshold]
    return min(there, key=lambda tried: tried["seconds"], default=None)


def is_peer(name: str) -> bool:
    return name != OURS and not name.startswith(FAMILY)


def case_table(result: Facts) -> str:
    """One case: a heading, a row per solver, a line on who wins."""
    if "failed" in result:
        return f"### {result['case']}\n\nNo reference optimum: {result['failed']}\n"
    best = best_objectives(result)
    reached = {run["solver"]: [seconds_to(run, best, threshold) for threshold in THRESHOLDS] for run in result["runs"]}
    peers = [_best([(name, found[i]) for name, found in reached.items() if is_peer(name)]) for i in range(2)]
    rows = [_row(run, reached[run["solver"]], peers, best, result) for run in result["runs"]]
    shape = " x ".join(str(part) for part in result["shape"])
    facts = f"{result['kind']}, {shape}, {result['outputs']} output{'s' * (result['outputs'] > 1)}"
    facts += f", input {result['input_bytes'] / 1e6:.3g} MB, needed {result['needed_bytes'] / 1e6:.3g} MB"
    lines = [f"### {result['case']}", "", f"{facts}; optimum certified to {result['certified']:.0e} (relative)", ""]
    lines += markdown(HEAD, rows)
    lines += ["", *(verdict(reached, i) for i in range(2)), ""]
    return "\n".join(lines)


def verdict(reached: dict[str, list[Facts | None]], i: int) -> str:
    """Who wins by what ratio."""
    label = f"To {THRESHOLDS[i]:.0e}:"
    ours = reached.get(OURS, [None, None])[i]
    name, peer = _best([(name, found[i]) for name, found in reached.items() if is_peer(name)])
    if ours is None and peer is None:
        return f"{label} nobody gets there within the limit."
    if peer is None:
        return f"{label} sparseboost wins; no peer gets there within the limit."
    if ours is None:
        return f"{label} sparseboost LOSES: it never gets there, {name} does in {peer['seconds']:.3g} s."
    ratio = peer["seconds"] / ours["seconds"]
    if ratio >= 1:
        return f"{label} sparseboost wins, {ratio:.2f} times as fast as {name}."
    return f"{label} sparseboost LOSES to {name}, which is {1 / ratio:.2f} times as fast."


def growth_table(results: list[Facts]) -> str:
    """Seconds per size and the exponent of a line through their logarithms, per axis."""
    lines: list[str] = []
    for axis in dict.fromkeys(result["axis"] for result in results):
        found = [result for result in results if result["axis"] == axis and "seconds" in result]
        rows = [[f"{r['amount']:.0f}", f"{r['seconds']:.4f}", str(r["active"])] for r in found]
        lines += markdown((axis, "seconds", "active rows"), rows)
        if len(found) > 1:
            slope = exponent([r["amount"] for r in found], [r["seconds"] for r in found])
            lines += ["", f"Time grows like {axis}^{slope:.2f}.", ""]
    return "\n".join(lines)


def exponent(amounts: list[float], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(amounts), np.log(seconds), 1)[0])


def markdown(head: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    """Lines of a table whose columns line up in plain text too."""
    cells = [list(head), *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]


def _best(found: list[tuple[str, Facts | None]]) -> tuple[str, Facts | None]:
    there = [(name, fact) for name, fact in found if fact is not None]
    return min(there, key=lambda pair: pair[1]["seconds"], default=("", None))


def _row(run: Facts, found: list[Facts | None], peers: list[Any], best: np.ndarray, result: Facts) -> list[str]:
    if "unavailable" in run:
        return [run["solver"], *["–"] * 7, f"not installed: {run['unavailable']}"]
    times = ["never" if fact is None else f"{fact['seconds']:.4g}" for fact in found]
    ratios = [
        "–" if fact is None or peer is None else f"{fact['seconds'] / peer['seconds']:.2f}"
        for fact, (_, peer) in zip(found, peers, strict=True)
    ]
    tried = run.get("tried", [])
    first = f"{run['first_seconds']:.3g}" if "first_seconds" in run else "–"
    memory = (
        f"{(result['input_bytes'] + run['extra_bytes']) / result['needed_bytes']:.2f}" if "extra_bytes" in run else "–"
    )
    last = found[1] or found[0] or (tried[-1] if tried else None)
    notes = [str(run[key]) for key in ("error", "stopped") if key in run]
    if tried and found[1] is None:
        notes.append(f"reached {min(suboptimality(fact['objectives'], best) for fact in tried):.0e}")
    return [
        run["solver"], *times, *ratios, first, memory, "–" if last is None else str(last["active"]), "; ".join(notes)
    ]  # fmt: skip
