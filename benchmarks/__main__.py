"""python -m benchmarks [T1 T2 ...] [--size small] [--threads 2] [--limit 60] [--only celer,skglm]"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
from pathlib import Path

from benchmarks import environments, run, tables
from benchmarks.datasets import Missing
from benchmarks.solvers import SOLVERS
from benchmarks.tasks import TASKS, Task

RESULTS = Path(__file__).parent / "results"
LIMITS = {"small": 3.0, "full": 60.0}


def perform(task: Task, options: run.Options) -> None:
    """Run the cases of a task, print each table as it is known, write all of them."""
    title = f"## {task.name}: {task.title}"
    print(title, flush=True)
    results, parts = [], [title, "", _conditions(options), ""]
    for case in task.cases(options.size):
        try:
            result = (run.grow if task.grows else run.compare)(task.name, case, options)
        except Missing as sentence:
            print(f"  skipped {case.name}: {sentence}", flush=True)
            parts += [f"Skipped {case.name}: {sentence}", ""]
            continue
        results.append(result)
        if not task.grows:
            parts.append(tables.case_table(result))
            print("\n" + parts[-1], flush=True)
    if task.grows:
        parts.append(tables.growth_table(results))
        print("\n" + parts[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{task.name}.json").write_text(json.dumps({"task": task.name, "cases": results}, indent=1))
    (RESULTS / f"{task.name}.md").write_text("\n".join(parts) + "\n")


def _conditions(options: run.Options) -> str:
    threads = f"{options.threads} thread" + "s" * (options.threads > 1)
    clock = "CPU seconds" if options.threads == 1 else "seconds on the wall"
    return (
        f"Size {options.size}, {threads}, {clock}, at most {options.limit:.0f} s of fitting per solver, "
        f"{platform.machine()}, Python {platform.python_version()}, {datetime.date.today()}."
    )


def peers() -> None:
    """Install every environment and say what is in it, or why it is not."""
    print("## Environments")
    for name in dict.fromkeys(solver.environment for solver in SOLVERS.values()):
        try:
            environments.python(name)
            print(f"  {name}: {environments.versions(name)}", flush=True)
        except environments.Unavailable as reason:
            print(f"  {name}: not available, {reason}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--size", choices=list(LIMITS), default="full")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, help="seconds of fitting per solver and case")
    parser.add_argument("--only", default="", help="peers to run, with commas")
    given = parser.parse_args()
    unknown = [name for name in given.tasks if name not in TASKS]
    if unknown:
        parser.error(f"no task {unknown[0]}; there are {', '.join(TASKS)}")
    only = tuple(name.strip() for name in given.only.split(",") if name.strip())
    options = run.Options(given.size, given.threads, given.limit or LIMITS[given.size], only)
    peers()
    for name in given.tasks:
        perform(TASKS[name], options)


if __name__ == "__main__":
    main()
