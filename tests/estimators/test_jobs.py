"""Laws of jobs that are shared with other processes."""

from __future__ import annotations

import os
import pickle
import platform
import subprocess
import sys
import time
from concurrent.futures import Future
from functools import partial
from threading import Lock

import numpy as np
import pytest
import scipy.sparse as sp

from sparseboost.estimators import jobs as module
from sparseboost.estimators.jobs import do_all, lend

HERE = os.getpid()


def number(value):
    return value, os.getpid()


def fatal(value, here):
    """Ends any process but this one."""
    if os.getpid() != here:
        os._exit(1)
    return value


def total(lent):
    return float(sum(np.sum(value) for value in lent.values if value is not None)), os.getpid()


class Asleep:
    """Helpers that have not started yet."""

    def __init__(self):
        self.futures = []

    def submit(self, job):
        self.futures.append(Future())
        return self.futures[-1]


@pytest.fixture
def patient(monkeypatch):
    """However long helpers take to start."""
    monkeypatch.setattr(module, "PATIENCE", 1e9)


def test_results_come_in_order_and_helpers_take_part(patient):
    found = do_all([partial(number, i) for i in range(6)], 1)
    assert [value for value, _ in found] == list(range(6))
    assert found[0][1] == HERE
    assert any(owner != HERE for _, owner in found)


def test_nobody_waits_for_helpers_that_are_still_starting(monkeypatch):
    pool = Asleep()
    monkeypatch.setattr(module, "_pool", lambda helpers: pool)
    assert do_all([partial(number, i) for i in range(5)], 2) == [(i, HERE) for i in range(5)]
    assert len(pool.futures) == 2


def test_a_helper_that_answered_once_is_waited_for(monkeypatch):
    pool = Asleep()
    monkeypatch.setattr(module, "_pool", lambda helpers: pool)

    def slow(value):
        if value == 0:  # while this is done here, a helper ends its first job and begins its second
            pool.futures[0].set_result((1, "helper"))
        if value == 2:
            pytest.fail("a job that a helper was doing")
        return value, HERE

    monkeypatch.setattr(module, "wait", lambda futures, _: futures[0].done() or futures[0].set_result((2, "helper")))
    assert do_all([partial(slow, i) for i in range(3)], 1) == [(0, HERE), (1, "helper"), (2, "helper")]


def test_a_helper_that_dies_costs_time_only(patient):
    assert do_all([partial(fatal, i, HERE) for i in range(4)], 1) == list(range(4))
    assert any(owner != HERE for _, owner in do_all([partial(number, i) for i in range(4)], 1))


def test_an_exception_is_raised_here_and_ends_all(patient):
    done = []

    def fails(value):
        done.append(value)
        raise ZeroDivisionError("of this job")

    with pytest.raises(ZeroDivisionError, match="of this job"):
        do_all([partial(number, 0), *(partial(fails, i) for i in range(1, 9))], 1)
    assert len(done) == 1
    assert not module._pools  # helpers are sent away, and others come next time


def test_what_cannot_be_sent_is_done_here(patient):
    lock = Lock()
    assert do_all([lambda: 1, lambda: 2 if not lock.locked() else 3], 1) == [1, 2]


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csc_array])
def test_helpers_read_what_is_lent_from_a_file_that_is_gone_afterwards(kind, patient, rng):
    X = kind(rng.normal(size=(40, 30)))
    with lend(X, None) as lent:
        file = lent._file
        (here, _), (there, owner) = do_all([partial(total, lent), partial(total, lent)], 1)
        borrowed = pickle.loads(pickle.dumps(lent)).values[0]
        np.testing.assert_array_equal((borrowed - X).sum(), 0.0)
        data = borrowed.data if sp.issparse(X) else borrowed
        assert isinstance(data, np.memmap)
    assert there == here
    assert owner != HERE
    assert not file.parent.exists()
    with lend(X, None, in_file=False) as lent:
        np.testing.assert_array_equal((pickle.loads(pickle.dumps(lent)).values[0] - X).sum(), 0.0)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mode", ["r", "r+"])
def test_an_array_that_is_in_a_file_stays_there(order, mode, tmp_path, rng):
    values = rng.normal(size=(7, 5))
    np.save(tmp_path / "X.npy", np.asarray(values, order=order))
    X = np.asarray(np.load(tmp_path / "X.npy", mmap_mode=mode))
    part = X[2:] if order == "C" else X[:, 2:]
    with lend(X, part) as lent:
        assert lent._file.stat().st_size < 1000
        whole, some = pickle.loads(pickle.dumps(lent)).values
    for one, expected in ((whole, X), (some, part)):
        assert os.path.samefile(one.filename, tmp_path / "X.npy")
        np.testing.assert_array_equal(one, expected)
        assert one.flags.c_contiguous == expected.flags.c_contiguous


def test_an_array_that_may_differ_from_its_file_is_copied(tmp_path, rng):
    np.save(tmp_path / "X.npy", rng.normal(size=(7, 5)))
    X = np.load(tmp_path / "X.npy", mmap_mode="c")
    X[0] = 1.0
    with lend(X, X.base[::2] if isinstance(X.base, np.ndarray) else X[::2]) as lent:
        whole, some = pickle.loads(pickle.dumps(lent)).values
        np.testing.assert_array_equal(whole, X)
        np.testing.assert_array_equal(some, X[::2])


def test_helpers_end_by_themselves(patient, monkeypatch):
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.1)
    module._pools.clear()
    (_, _), (_, helper) = do_all([partial(number, 0), partial(number, 1)], 1)
    assert helper != HERE
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline:
        try:
            os.kill(helper, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a helper is still there")


FAULTS = """
import resource, sys
import numpy as np
from sparseboost.estimators.jobs import keep_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    pieces = [np.ones(300_000) for _ in range(10)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if sys.argv[1] == "keep":
    keep_memory()
faults(), faults()
print(faults())
"""


def test_memory_that_a_job_gave_back_serves_the_next_one() -> None:
    def faults(*given: str) -> int:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
        call = [sys.executable, "-c", FAULTS, *given]
        return int(subprocess.run(call, env=environment, capture_output=True, text=True, check=True).stdout)

    if platform.libc_ver()[0] != "glibc" or faults("release") < 1000:
        pytest.skip("this system keeps memory by itself")
    assert faults("keep") < 100
