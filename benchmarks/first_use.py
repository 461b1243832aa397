"""What a newcomer waits for: the import, the first fit ever (compilation), the first fit of a later process.

Every number comes from a fresh process. Run with `python benchmarks/first_use.py`; it prints, it does not assert.
Wanted: import at most 0.3 s beyond scikit-learn's, compilation below 10 s, a warm first fit below 1 s.
"""

from __future__ import annotations

import os
import statistics
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


def seconds(setup: str, timed: str, cache: str) -> float:
    """Time of `timed` after `setup`, in a new interpreter with this folder for compiled code."""
    code = f"{setup}\nimport time\nstart = time.perf_counter()\n{timed}\nprint(time.perf_counter() - start)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        seconds("", "import sparseboost", cache)  # byte code of all packages
        found = {
            name: statistics.median(seconds("", code, cache) for _ in range(REPEATS)) for name, code in IMPORTS.items()
        }
    for name, value in found.items():
        print(f"import {name:<32} {value:6.2f} s")
    extra = found["scikit-learn, then sparseboost"] - found["scikit-learn"]
    print(f"import {'of sparseboost beyond scikit-learn':<32} {extra:6.2f} s   (wanted: at most 0.30)")
    setup = f"from sparseboost import SparseBoostClassifier, SparseBoostRegressor\n{DATA}"
    for name, code in FITS.items():
        with tempfile.TemporaryDirectory() as cache:
            cold = seconds(setup, code, cache)
            warm = statistics.median(seconds(setup, code, cache) for _ in range(REPEATS))
        print(f"first fit, {name:<24} compiling {cold:6.2f} s (wanted: < 10)   cached {warm:6.2f} s (wanted: < 1)")


if __name__ == "__main__":
    main()
