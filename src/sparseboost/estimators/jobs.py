"""Jobs that are done here and, at the same time, by processes that help; nobody waits for a process to start."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from mmap import mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from joblib import dump, load
from joblib.externals.loky import ProcessPoolExecutor

Job = Callable[[], Any]
PATIENCE = 1.0  # times what the last job took here: so long are helpers waited for that have done nothing yet
LARGEST_KEPT = 31 << 20  # bytes; of a larger piece glibc learns nothing
IDLE_SECONDS = 300  # after which helpers end by themselves
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM")}
_pools: dict[tuple[int, int], ProcessPoolExecutor] = {}  # by owner and number of processes


class Lent:
    """Large things that helpers read from a file, arrays where they are in the file.

    Parameters
    ----------
    values : tuple
        What is lent.
    file : Path, optional
        Where helpers find it; without one it is pickled.
    """

    def __init__(self, values: tuple[Any, ...] | None, file: Path | None = None) -> None:
        self._values, self._file = values, file

    @property
    def values(self) -> tuple[Any, ...]:
        """What is lent; read when it is first asked for, because a job that cannot be unpickled ends its helper."""
        if self._values is None:
            kept = load(self._file, mmap_mode="c")
            self._values = tuple(one.open() if isinstance(one, _Mapped) else one for one in kept)
        return self._values

    def __reduce__(self) -> tuple[Any, ...]:
        return Lent, ((self._values, None) if self._file is None else (None, self._file))


class _Mapped(NamedTuple):
    """Where in which file an array is that its owner has mapped into memory."""

    file: str
    dtype: np.dtype
    offset: int
    shape: tuple[int, ...]
    order: str

    @classmethod
    def of(cls, value: Any) -> Any:
        """The place of such an array; anything else as it is, and what may differ from its file."""
        base = value if isinstance(value, np.ndarray) else None
        while base is not None and not (isinstance(base, np.memmap) and isinstance(base.base, mmap)):
            base = base.base if isinstance(base.base, np.ndarray) else None
        if base is None or base.mode == "c" or base.filename is None:
            return value
        if not (value.flags.c_contiguous or value.flags.f_contiguous):
            return value
        offset = base.offset + value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return cls(str(base.filename), value.dtype, offset, value.shape, "C" if value.flags.c_contiguous else "F")

    def open(self) -> np.ndarray:
        """The array."""
        return np.memmap(self.file, self.dtype, "c", self.offset, self.shape, self.order)  # type: ignore[call-overload]


@contextmanager
def lend(*values: Any, in_file: bool = True) -> Iterator[Lent]:
    """Lend things for as long as the context lasts; pickled as they are if they are not to be `in_file`."""
    if not in_file:
        yield Lent(values)
        return
    # helpers may still hold the file; where that forbids its deletion it is left to the system
    with TemporaryDirectory(prefix="sparseboost-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "lent"
        dump(tuple(map(_Mapped.of, values)), file)
        yield Lent(values, file)


def do_all(jobs: Sequence[Job], helpers: int) -> list[Any]:
    """Results of all jobs, in their order; the first job is done here.

    Whoever is free takes the next job. What a helper failed to do, or did not begin because it was still starting when
    nothing else was left, is done here: an exception of a job is raised here in the end, and a helper that dies costs
    time only.
    """
    results: dict[int, Any] = {}
    waiting, given, lock = deque(range(1, len(jobs))), dict[Future, int](), threading.Lock()
    pool = _pool(helpers)
    fit = True  # helpers, for the next call

    def give(_: Any = None) -> None:
        nonlocal fit
        with lock:
            if not waiting:
                return
            try:
                future = pool.submit(jobs[waiting[0]])
            except RuntimeError:  # there are none left
                fit = False
                return
            given[future] = waiting.popleft()
        future.add_done_callback(give)

    try:
        for _ in range(helpers):
            give()
        number: int | None = 0
        while number is not None:
            started = time.perf_counter()
            results[number] = jobs[number]()
            last = time.perf_counter() - started
            with lock:
                number = waiting.popleft() if waiting else None
        for future, number in given.items():
            wait([future], None if any(one.done() for one in given) else PATIENCE * last)
            done = future.done() and future.exception() is None
            fit = fit and (done or not future.done())
            results[number] = future.result() if done else jobs[number]()
    except BaseException:
        with lock:
            waiting.clear()
        fit = False
        raise
    finally:
        if not fit:
            _dismiss(pool)
    return [results[number] for number in range(len(jobs))]


def keep_memory() -> None:
    """Let this process keep what jobs give back, up to twice LARGEST_KEPT, for those that follow.

    glibc gives memory back to the system as soon as there is twice as much of it as the largest piece that came and
    went, and to get it anew takes up to a tenth of a job's time. A piece that nobody writes to costs nothing.
    """
    np.empty(LARGEST_KEPT, dtype=np.uint8)


def _pool(helpers: int) -> ProcessPoolExecutor:
    """Processes of an earlier call, or new ones."""
    key = (os.getpid(), helpers)
    if key not in _pools:
        _pools[key] = ProcessPoolExecutor(helpers, timeout=IDLE_SECONDS, env=ONE_THREAD)
    return _pools[key]


def _dismiss(pool: ProcessPoolExecutor) -> None:
    for key in [key for key, other in _pools.items() if other is pool]:
        del _pools[key]
    pool.shutdown(wait=False, kill_workers=True)
