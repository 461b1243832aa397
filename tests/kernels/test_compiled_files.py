"""What is compiled is kept on disk, by several processes at a time."""

from __future__ import annotations

import os
import subprocess
import sys

KERNEL = """
from sparseboost.kernels.compile import compiled

@compiled
def twice(x):
    return x + x
"""


def run(folder, code):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "kept"), "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def kept(folder, ending):
    return sorted((folder / "kept").rglob(f"kernel_of_two*.{ending}"))


def test_two_processes_that_know_nothing_of_each_other_do_not_write_the_same_file(tmp_path):
    (tmp_path / "kernel_of_two.py").write_text(KERNEL)
    assert run(tmp_path, "from kernel_of_two import twice; print(twice(2))") == "4"
    (first,), (index,) = kept(tmp_path, "nbc"), kept(tmp_path, "nbi")
    index.unlink()  # the second process looked before the first one wrote
    assert run(tmp_path, "from kernel_of_two import twice; print(twice(0.25))") == "0.5"
    assert len(kept(tmp_path, "nbc")) == 2
    assert first in kept(tmp_path, "nbc")
    again = "print(twice(0.25), sum(twice.stats.cache_hits.values()))"
    assert run(tmp_path, f"from kernel_of_two import twice; {again}") == "0.5 1"  # read from disk
