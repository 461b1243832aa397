"""A long compilation is announced once, a short one never."""

from __future__ import annotations

import time

import pytest

from sparseboost.kernels import compile as compiling

EVENT = None  # the listener does not look at it


@pytest.fixture
def notice(monkeypatch):
    monkeypatch.setattr(compiling, "SECONDS_BEFORE_NOTICE", 0.1)
    return compiling.CompileNotice()


def said(capsys) -> int:
    return capsys.readouterr().err.count("compiling")


def test_short_compilations_are_silent(notice, capsys):
    for _ in range(5):
        notice.on_start(EVENT)
        notice.on_end(EVENT)
    time.sleep(0.15)  # the timer of the last one must have been taken down
    assert said(capsys) == 0


def test_a_long_compilation_is_announced_once(notice, capsys):
    for _ in range(2):
        notice.on_start(EVENT)
        time.sleep(0.2)
        notice.on_end(EVENT)
    assert said(capsys) == 1


def test_many_short_compilations_add_up(notice, capsys):
    for _ in range(4):
        notice.on_start(EVENT)
        time.sleep(0.04)
        notice.on_end(EVENT)
    assert said(capsys) == 1


def test_nested_compilations_are_timed_once(notice, capsys):
    notice.on_start(EVENT)
    for _ in range(3):
        notice.on_start(EVENT)
        notice.on_end(EVENT)
    notice.on_end(EVENT)
    time.sleep(0.15)
    assert said(capsys) == 0
    notice.on_start(EVENT)
    notice.on_start(EVENT)
    time.sleep(0.2)
    notice.on_end(EVENT)
    notice.on_end(EVENT)
    assert said(capsys) == 1


def test_the_listener_is_registered():
    from numba.core import event

    listeners = event._registered["numba:compile"]
    assert any(isinstance(one, compiling.CompileNotice) for one in listeners)


def test_compiled_code_is_cached_on_disk_and_releases_the_lock():
    from sparseboost.kernels import columns, rows, sweeps

    for kernel in (sweeps.sweep, sweeps.shift, rows.shrink_row, rows.exponential_row, columns.correlate):
        assert kernel.targetoptions["nogil"]
        assert kernel._cache.__class__.__name__ == "FunctionCache"
