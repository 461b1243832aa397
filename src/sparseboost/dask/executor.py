"""Work on blocks of rows where a Dask cluster has them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import dask.config
from dask.sizeof import sizeof
from dask.utils import parse_timedelta
from distributed import Client, Future, KilledWorker, get_client, wait
from distributed.client import ClosedClientError

from sparseboost.executor import Executor

PREFIX = "sparseboost-"  # of the names of all tasks
GROUP = 8  # parts that are merged by one task
POLL = 1.0  # seconds between two looks at a cluster that is silent


class ClusterLostError(RuntimeError):
    """The cluster went away during a fit."""


class DaskExecutor(Executor):
    """Tasks on a Dask cluster; handles are futures.

    Nothing is scattered: every future follows from the user's data by tasks, so what a dead worker held is computed
    again. `close` lets go of what is left.

    Attributes
    ----------
    sent, received : int
        Bytes of arguments and results that went between this process and the cluster.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.sent = self.received = 0
        self._futures: WeakSet[Future] = WeakSet()

    def apply(self, function: Callable[..., Any], *sequences: Sequence[Any]) -> list[Future]:
        self.sent += sum(
            sizeof(argument) for part in sequences for argument in part if not isinstance(argument, Future)
        )
        with _one_clear_error():
            return self._kept(self.client.map(function, *sequences, key=PREFIX + function.__name__, pure=False))

    def compute(self, parts: Sequence[Any]) -> list[Future]:
        """Handles of delayed objects."""
        with _one_clear_error():
            return self._kept(self.client.compute(list(parts)))

    def _kept(self, futures: list[Future]) -> list[Future]:
        self._futures.update(futures)
        return futures

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        futures = [handle for handle in handles if isinstance(handle, Future)]
        with _one_clear_error():
            self._wait(futures)
            failed = next((future for future in futures if future.status == "error"), None)
            found = iter(self.client.gather(futures if failed is None else [failed]))  # the first error in their order
        out = [next(found) if isinstance(handle, Future) else handle for handle in handles]
        self.received += sizeof(out)
        return out

    def combine(self, merge: Callable[..., Any], handles: Sequence[Any]) -> Any:
        handles = list(handles)
        while len(handles) > GROUP:
            groups = [handles[first : first + GROUP] for first in range(0, len(handles), GROUP)]
            handles = self._kept([
                self.client.submit(merge, *group, key=f"{PREFIX}merge-{id(group)}-{time.monotonic_ns()}", pure=False)
                for group in groups
            ])  # fmt: skip
        return super().combine(merge, handles)

    def _wait(self, futures: list[Future]) -> None:
        """Wait for all of them, or until there is no cluster any more."""
        patience = parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
        deserted: float | None = None
        while True:
            try:
                with self.client.as_current():  # `wait` asks the current client, which may be another one
                    wait(futures, timeout=POLL)
                return
            except TimeoutError:
                if self.client.status != "running":
                    raise
            if self.client.scheduler_info(n_workers=1)["workers"]:
                deserted = None
            elif deserted is None:
                deserted = time.monotonic()
            elif time.monotonic() - deserted > patience:
                raise TimeoutError(f"no worker for {patience:g} s") from None

    def close(self) -> None:
        """Let go of everything that was begun here: what nobody wants is cancelled and forgotten by the cluster."""
        for future in list(self._futures):
            future.release()


@contextmanager
def _one_clear_error() -> Iterator[None]:
    """Say in one sentence what became of the cluster."""
    try:
        yield
    except KilledWorker as error:
        raise ClusterLostError(
            "The Dask cluster gave up on a block of rows that killed its workers again and again, most likely for want "
            "of memory: cut the data into more and smaller partitions, or give workers more memory."
        ) from error
    except (CancelledError, ClosedClientError, OSError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ClusterLostError(
            f"The Dask cluster was lost during fit ({reason}); nothing was fitted. Start a cluster, give fit its "
            f"client and call it again."
        ) from error


@contextmanager
def session(client: Client | None) -> Iterator[DaskExecutor]:
    """An executor on this client, on the current one, or on a local cluster that ends with the session."""
    own = None
    if client is None:
        try:
            client = get_client()
        except ValueError:
            # threads of this process: nothing is copied, and scripts need no `if __name__ == "__main__"`
            client = own = Client(processes=False, dashboard_address=None, set_as_default=False)
    executor = DaskExecutor(client)
    try:
        yield executor
    finally:
        executor.close()
        if own is not None:
            own.close()
