"""A virtual environment per group of peers, made on first use. A peer that cannot be had is named with the reason."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / ".envs"
REPOSITORY = sys.executable  # the environment that runs the benchmarks has sparseboost

# grouped by what they need of NumPy and scikit-learn
REQUIREMENTS = {
    "current": ["scikit-learn", "skglm", "adelie"],
    "celer": ["celer", "scikit-learn<1.6"],
    "cyanure": ["cyanure"],
    "snapml": ["snapml"],
    "spams": ["spams-bin"],
    "lightning": ["sklearn-contrib-lightning"],
    "boosters": ["lightgbm", "xgboost", "scikit-learn", "interpret-core"],
}
# built from source, which needs these first
BUILD = {"lightning": ["numpy<2", "scipy<1.12", "scikit-learn<1.4", "cython<3", "setuptools<65", "wheel", "joblib"]}
VERSIONS = {
    "current": ["scikit-learn", "skglm", "adelie", "numpy"],
    "repository": ["sparseboost", "cvxpy", "clarabel", "numpy"],
    "lightning": ["sklearn-contrib-lightning", "numpy"],
    "spams": ["spams-bin", "numpy"],
    "boosters": ["lightgbm", "xgboost", "scikit-learn", "interpret-core"],
}


class Unavailable(Exception):
    """An environment cannot be made; the message says why in one line."""


def python(name: str) -> str:
    """The interpreter of an environment, made if it is not there."""
    if name == "repository":
        return REPOSITORY
    if name == "R":
        return _r()
    folder = FOLDER / name
    done, failed = folder / "installed.txt", folder / "failed.txt"
    if failed.exists():
        raise Unavailable(failed.read_text())
    if not done.exists():
        try:
            _install(name, folder)
        except subprocess.CalledProcessError as error:
            lines = [line for line in (error.stderr or "").splitlines() if line.startswith("ERROR")]
            failed.write_text((lines or ["pip failed"])[-1])
            raise Unavailable(failed.read_text()) from None
        done.write_text(_versions(folder / "bin" / "python", VERSIONS.get(name, [name, "numpy"])))
    return str(folder / "bin" / "python")


def versions(name: str) -> str:
    """What is installed there."""
    if name == "R":
        command = ["Rscript", "-e", "cat(as.character(packageVersion('glmnet')))"]
        return "glmnet " + subprocess.run(command, capture_output=True, text=True, check=False).stdout
    if name == "repository":
        return _versions(Path(REPOSITORY), VERSIONS[name])
    return (FOLDER / name / "installed.txt").read_text()


def _install(name: str, folder: Path) -> None:
    print(f"installing {', '.join(REQUIREMENTS[name])} into benchmarks/.envs/{name} ...", flush=True)
    if not (folder / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True, text=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    if name in BUILD:
        subprocess.run([*pip, *BUILD[name]], check=True, capture_output=True, text=True)
        pip.append("--no-build-isolation")
    subprocess.run([*pip, *REQUIREMENTS[name]], check=True, capture_output=True, text=True)


def _r() -> str:
    """glmnet runs under R; the worker that calls it runs here."""
    if shutil.which("Rscript") is None:
        raise Unavailable("R is not installed (Debian: r-cran-glmnet)")
    found = subprocess.run(["Rscript", "-e", "library(glmnet)"], capture_output=True, check=False)
    if found.returncode:
        raise Unavailable("R has no package glmnet (Debian: r-cran-glmnet)")
    return REPOSITORY


def _versions(interpreter: Path, packages: list[str]) -> str:
    listed = "', '.join(f'{p} {version(p)}' for p in sys.argv[1:])"
    code = f"import sys; from importlib.metadata import version; print({listed})"
    found = subprocess.run([str(interpreter), "-c", code, *packages], capture_output=True, text=True, check=False)
    return found.stdout.strip()
