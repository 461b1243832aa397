"""What a newcomer waits for: the import, the first fit ever (compilation), the first fit of a later process.

Every number comes from a fresh process and is its processor time, so that other work on the machine does not count;
the wall clock stands beside it. Run with `python benchmarks/first_use.py`; it prints, it does not assert.
Wanted: import at most 0.3 s beyond scikit-learn's, compilation below 10 s, a warm first fit below 1 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

REPEATS = 3
DATA = """
import numpy as np, scipy.sparse as sp
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 20))
z = X @ rng.normal(size=(20, 3)) + rng.normal(size=(300, 3))
"""
FITS = {
    "binary logistic, dense": "SparseBoostClassifier().fit(X, z[:, 0] > 0)",
    "softmax, sparse": "SparseBoostClassifier().fit(sp.csr_array(np.where(abs(X) > 1, X, 0)), z.argmax(axis=1))",
    "regression, dense": "SparseBoostRegressor().fit(X, z[:, 0])",
    "adaboost, dense": "SparseBoostClassifier(update='adaboost').fit(X, z[:, 0] > 0)",
}
IMPORTS = {
    "scikit-learn": "import sklearn.linear_model",
    "scikit-learn, then sparseboost": "import sklearn.linear_model\nimport sparseboost",
    "sparseboost alone": "import sparseboost",
}


def seconds(setup: str, timed: str, cache: str) -> tuple[float, float]:
    """(processor, wall) time of `timed` after `setup`, in a new interpreter with this folder for compiled code."""
    clocks = "(time.process_time(), time.perf_counter())"
    code = (
        f"{setup}\nimport time\nstart = {clocks}\n{timed}\nend = {clocks}\nprint(end[0] - start[0], end[1] - start[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    processor, wall = map(float, done.stdout.split()[-2:])
    return processor, wall


def typical(setup: str, timed: str, cache: str) -> tuple[float, float]:
    """The repetition with the median processor time."""
    return sorted(seconds(setup, timed, cache) for _ in range(REPEATS))[REPEATS // 2]


def shown(times: tuple[float, float]) -> str:
    return f"{times[0]:6.2f} s ({times[1]:.2f} s wall)"


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        seconds("", "import sparseboost", cache)  # byte code of all packages
        found = {name: typical("", code, cache) for name, code in IMPORTS.items()}
    for name, times in found.items():
        print(f"import {name:<32} {shown(times)}")
    extra = found["scikit-learn, then sparseboost"][0] - found["scikit-learn"][0]
    print(f"import of sparseboost beyond scikit-learn {extra:.2f} s; wanted: at most 0.30")
    setup = f"from sparseboost import SparseBoostClassifier, SparseBoostRegressor\n{DATA}"
    for name, code in FITS.items():
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = seconds(setup, code, cache), typical(setup, code, cache)
        print(f"first fit, {name:<24} compiling {shown(cold)}, wanted: < 10; cached {shown(warm)}, wanted: < 1")


if __name__ == "__main__":
    main()
