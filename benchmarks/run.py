"""Plumbing: writes problems, starts workers, gathers what they report."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import environments, store
from benchmarks.problem import Problem
from benchmarks.solvers import OURS, SOLVERS
from benchmarks.tables import is_peer
from benchmarks.tasks import Case

HERE = Path(__file__).parent
CACHE = HERE / ".cache"
REFERENCE_TOL = 1e-10
LEAST_REFERENCE_SECONDS = 180.0
SLOW = 0.25  # of the limit: a fit that takes longer is not run once more for its first call
GROWTH_SETTING = 1e-4
GRACE = 60.0  # seconds that a worker may take for everything but fitting
Facts = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """How to run."""

    size: str = "full"
    threads: int = 1
    limit: float = 60.0  # seconds of fitting per worker
    only: tuple[str, ...] = ()  # solvers beside ours; all if empty


def spawn(mode: str, solver: str, file: Path, options: Options, **more: Any) -> list[Facts]:
    """Run one worker; what it reported before it ended or was stopped."""
    count = str(options.threads)
    variables = ("OMP", "OPENBLAS", "MKL", "NUMBA", "BLIS", "VECLIB")
    environment = {**os.environ, **{f"{name}_NUM_THREADS": count for name in variables}, "PYTHONWARNINGS": "ignore"}
    if mode == "first":  # what is freed goes back to the system, so that the next fit's memory can be seen
        environment |= {f"MALLOC_{name}_THRESHOLD_": "131072" for name in ("MMAP", "TRIM")}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        command = [environments.python(SOLVERS[solver].environment), "-m", "benchmarks.worker", mode, str(file), solver]
        command += [str(report), "--limit", str(options.limit)]
        for name, value in more.items():
            command += [f"--{name}", json.dumps(value)]
        ending = ""
        worker = subprocess.Popen(
            command, cwd=HERE.parent, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            _, complaints = worker.communicate(timeout=3 * options.limit + GRACE)
            if worker.returncode:
                last = [line for line in complaints.splitlines() if line.strip()]
                ending = f"ended with code {worker.returncode}" + (f": {last[-1].strip()}" if last else "")
        except subprocess.TimeoutExpired:
            ending = "time limit"
        finally:
            if worker.returncode is None:  # what it has started goes too: R would go on alone
                os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()
        facts = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
        return facts + ([{"stopped" if ending == "time limit" else "error": ending}] if ending else [])


def written(task: str, case: Case, size: str) -> tuple[Path, Problem]:
    """The problem's file, written unless it is there; a change of any definition asks for a new one."""
    sources = [HERE / "datasets.py", HERE / "problem.py", *sorted((HERE / "tasks").glob("*.py"))]
    stamp = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:8]
    slug = re.sub(r"[^a-z0-9]+", "-", f"{task} {case.name}".lower()).strip("-")
    file = CACHE / f"{size}-{stamp}" / f"{slug}.npz"
    if not file.exists():
        store.save(case.build(), file)
    return file, store.load(file)


def reference(file: Path, options: Options) -> Facts:
    """Our certified optimum, kept beside the problem's file."""
    kept = file.with_suffix(".reference.json")
    if kept.exists():
        return json.loads(kept.read_text())
    generous = Options(options.size, options.threads, max(3 * options.limit, LEAST_REFERENCE_SECONDS))
    facts = spawn("reference", OURS.name, file, generous, setting=REFERENCE_TOL)
    found = next((fact for fact in facts if "objectives" in fact), None)
    if found is None:
        return {"failed": facts[-1] if facts else "no report"}
    kept.write_text(json.dumps(found))
    return found


def compare(task: str, case: Case, options: Options) -> Facts:
    """Every solver that takes the problem, tuned against the certified optimum."""
    file, problem = written(task, case, options.size)
    sure = reference(file, options)
    if "failed" in sure:
        return {"case": case.name, "failed": sure["failed"]}
    objectives, gaps = np.array(sure["objectives"]), np.array(sure["gaps"])
    certified = float(np.max(gaps / objectives))
    aim = objectives if certified <= 1e-7 else objectives - gaps  # an unproven optimum must not end a peer's tuning
    runs = []
    for name, solver in SOLVERS.items():
        if solver.refuses(problem) or (options.only and is_peer(name) and name not in options.only):
            continue
        print(f"  {case.name}: {name} ...", flush=True)
        runs.append(_one(name, file, aim, options))
    return {
        "case": case.name, "kind": problem.kind, "shape": list(problem.X.shape), "outputs": problem.n_outputs,
        "sparse": problem.is_sparse, "input_bytes": problem.input_bytes,
        "needed_bytes": problem.needed_bytes(sure["active"]), "alphas": problem.alphas.tolist(),
        "reference": sure, "certified": certified, "runs": runs,
    }  # fmt: skip


def _one(name: str, file: Path, aim: np.ndarray, options: Options) -> Facts:
    try:
        facts = spawn("tune", name, file, options, best=aim.tolist())
    except environments.Unavailable as reason:
        return {"solver": name, "unavailable": str(reason)}
    tried = [fact for fact in facts if "objectives" in fact]
    run: Facts = {"solver": name, "tried": tried}
    for fact in facts:
        run.update({key: fact[key] for key in ("error", "stopped") if key in fact})
    quick = [fact for fact in tried if fact["seconds"] <= SLOW * options.limit]
    if quick and options.size == "full":
        for fact in spawn("first", name, file, options, setting=quick[-1]["setting"]):
            run.update({key: fact[key] for key in ("first_seconds", "extra_bytes") if key in fact})
    return run


def grow(task: str, case: Case, options: Options) -> Facts:
    """Our own time on one case of a growth task."""
    file, problem = written(task, case, options.size)
    print(f"  {case.name} ...", flush=True)
    facts = spawn("clock", OURS.name, file, options, setting=GROWTH_SETTING)
    found = next((fact for fact in facts if "seconds" in fact), {"failed": facts[-1] if facts else "no report"})
    amount = problem.X.nnz if case.axis == "nnz" else case.amount
    return {"case": case.name, "axis": case.axis, "amount": float(amount), **found}
