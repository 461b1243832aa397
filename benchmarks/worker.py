"""One process, one solver, one problem. Reports lines of JSON; a killed worker has reported what it knew.

python -m benchmarks.worker MODE PROBLEM SOLVER REPORT [--limit SECONDS] [--setting S] [--best JSON]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import memory, store
from benchmarks.problem import Problem, active_rows, suboptimality, tiny
from benchmarks.solvers import SOLVERS
from benchmarks.solvers.base import Fit, Solver

THRESHOLDS = (1e-3, 1e-6)
# CPU seconds with one thread, so that other work on the machine does not count; wall clock with more threads
CLOCK = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter
CLOSER = 2  # settings tried between the tightest that fails and the loosest that passes
FEWEST, MOST, ENOUGH = 3, 15, 0.5  # repetitions: at least 3, more while they add up to less than this many seconds


class Report:
    """Appends facts to a file as they become known."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, **facts: Any) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(facts) + "\n")


def timed(solver: Solver, problem: Problem, setting: float) -> tuple[float, Fit]:
    start = CLOCK()
    fit = solver.fit(problem, setting)
    seconds = CLOCK() - start
    return (seconds if fit.seconds is None else fit.seconds), fit


def repeat(solver: Solver, problem: Problem, setting: float, first: float, limit: float) -> tuple[float, int]:
    """Median seconds of several fits, the first included; fewer if they would take longer than the limit."""
    times = [first]
    while len(times) < FEWEST or (sum(times) < ENOUGH and len(times) < MOST):
        if sum(times) + first > limit:
            break
        times.append(timed(solver, problem, setting)[0])
    return statistics.median(times), len(times)


def tune(solver: Solver, problem: Problem, best: np.ndarray, limit: float, report: Report) -> None:
    """Tighten the setting until the last threshold is reached, then close in on the loosest that reaches each."""
    timed(solver, solver.prepare(tiny(problem)), solver.settings[1])
    problem = solver.prepare(problem)
    trial = Trial(solver, problem, best, limit, report)
    reached: dict[float, float] = {}  # by setting, the loosest first
    for setting in solver.settings:
        reached[setting] = trial(setting, [t for t in THRESHOLDS if min(reached.values(), default=np.inf) > t])
        if reached[setting] <= THRESHOLDS[-1] or trial.over:
            break
    for threshold in THRESHOLDS:
        for _ in range(CLOSER):
            setting = closer(reached, threshold, solver.settings)
            if setting is None or trial.over:
                break
            reached[setting] = trial(setting, [threshold])
    if trial.over:
        report(stopped="time limit")


class Trial:
    """Fits at one setting after another until the time is over."""

    def __init__(self, solver: Solver, problem: Problem, best: np.ndarray, limit: float, report: Report) -> None:
        self.solver, self.problem, self.best, self.limit, self.report = solver, problem, best, limit, report
        self.spent, self.last = 0.0, 0.0

    @property
    def over(self) -> bool:
        return self.spent + self.last > self.limit

    def __call__(self, setting: float, wanted: list[float]) -> float:
        """The suboptimality reached; a fit that reaches something wanted is repeated."""
        seconds, fit = timed(self.solver, self.problem, setting)
        found = self.problem.objectives(fit.coefs, fit.intercepts)
        reached = suboptimality(found, self.best)
        count = 1
        if any(reached <= threshold for threshold in wanted) and fit.seconds is None:
            seconds, count = repeat(self.solver, self.problem, setting, seconds, self.limit)
        self.report(
            setting=setting, seconds=seconds, repetitions=count, objectives=found.tolist(),
            active=active_rows(fit.coefs),
        )  # fmt: skip
        self.spent += seconds
        self.last = seconds
        return reached


def closer(reached: dict[float, float], threshold: float, settings: tuple[float, ...]) -> float | None:
    """A setting between the tightest that fails and the loosest that passes; looser than all if none fails."""
    step = settings[1] / settings[0]  # of a setting towards tighter: below 1 for tolerances, above 1 for iterations
    order = sorted(reached, reverse=step < 1)
    passing = next((i for i, setting in enumerate(order) if reached[setting] <= threshold), None)
    if passing is None:
        return None
    middle = order[0] / step if passing == 0 else float(np.sqrt(order[passing - 1] * order[passing]))
    middle = middle if step < 1 else float(round(middle))
    return None if middle in reached else middle


def first(solver: Solver, problem: Problem, setting: float, report: Report) -> None:
    """Import and fit, in a process that has done neither; then the memory of another fit, when all code is loaded."""
    problem = solver.prepare(problem)
    seconds, fit = timed(solver, problem, setting)
    if fit.seconds is not None:  # the solver ran in a process that this one cannot see
        return
    report(first_seconds=seconds)
    del fit
    gc.collect()
    base = memory.resident()
    memory.forget_peak()
    solver.fit(problem, setting)
    report(extra_bytes=memory.peak() - base)


def clock(solver: Solver, problem: Problem, setting: float, limit: float, report: Report) -> None:
    """Seconds at one setting."""
    problem = solver.prepare(problem)
    timed(solver, problem, setting)
    seconds, fit = timed(solver, problem, setting)
    seconds, count = repeat(solver, problem, setting, seconds, limit)
    report(setting=setting, seconds=seconds, repetitions=count, active=active_rows(fit.coefs))


def reference(solver: Any, problem: Problem, setting: float, limit: float, report: Report) -> None:
    """The certified optimum."""
    problem = solver.prepare(problem)
    fit, gaps = solver.reference(problem, setting, limit)
    objectives = problem.objectives(fit.coefs, fit.intercepts)
    report(objectives=objectives.tolist(), gaps=gaps.tolist(), active=active_rows(fit.coefs))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["tune", "first", "clock", "reference"])
    parser.add_argument("problem", type=Path)
    parser.add_argument("solver")
    parser.add_argument("report", type=Path)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--setting", type=float, default=1e-4)
    parser.add_argument("--best", type=json.loads)
    given = parser.parse_args()
    solver, problem, report = SOLVERS[given.solver], store.load(given.problem), Report(given.report)
    try:
        if given.mode == "tune":
            tune(solver, problem, np.array(given.best), given.limit, report)
        elif given.mode == "first":
            first(solver, problem, given.setting, report)
        elif given.mode == "clock":
            clock(solver, problem, given.setting, given.limit, report)
        else:
            reference(solver, problem, given.setting, given.limit, report)
    except Exception as error:
        report(error=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")


if __name__ == "__main__":
    main()
