"""Clusters fail: workers die, schedulers vanish, users lose patience. Nothing but time may be lost."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("distributed", reason="Dask is an extra")

import dask
import dask.array as da
import distributed
from dask import delayed

from sparseboost.dask import ClusterLostError, DaskMultiBoostClassifier, DaskSparseBoostClassifier
from sparseboost.dask.executor import PREFIX

Array = np.ndarray


def data(m: int = 400, d: int = 30) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, d))
    return X, (X[:, :5].sum(axis=1) + rng.normal(size=m) > 0).astype(int)


def cut(data: Array, rows: int = 100) -> Any:
    return da.from_array(data, chunks=(rows, *(-1 for _ in data.shape[1:])))


def tasks_left(client: Any) -> list[str]:
    return [key for key in client.run_on_scheduler(_keys) if PREFIX in key]


def _keys(dask_scheduler: Any) -> list[str]:
    return [str(key) for key in dask_scheduler.tasks]


def nothing_left(client: Any) -> bool:
    for _ in range(100):
        if not tasks_left(client):
            return True
        time.sleep(0.1)
    return False


class Kill:
    """A callback that kills a worker process, once, while the fit is on its way."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.victim: int | None = None

    def __call__(self, record: dict[str, Any]) -> None:
        if record["round"] == 1 and self.victim is None:
            assert tasks_left(self.client)
            self.victim = next(iter(self.client.run(os.getpid).values()))
            os.kill(self.victim, signal.SIGKILL)


@pytest.mark.parametrize("model", [DaskSparseBoostClassifier, DaskMultiBoostClassifier])
def test_a_killed_worker_changes_nothing_but_the_time(model, client):
    X, y = data(d=6)
    setting = {"alpha": 0.05} if model is DaskSparseBoostClassifier else {"nu": 0.02, "hypotheses": "features"}
    setting |= {"tol": 1e-4, "induce": 1, "client": client}
    calm = model(**setting).fit(cut(X), cut(y))
    killer = Kill(client)
    struck = model(**setting, callbacks=[killer]).fit(cut(X), cut(y))
    assert killer.victim is not None
    assert killer.victim not in client.run(os.getpid).values()
    assert struck.n_rounds_ == calm.n_rounds_ > 2
    np.testing.assert_array_equal(struck.coef_, calm.coef_)
    assert struck.objective_ == calm.objective_
    assert nothing_left(client)


def test_a_worker_killed_during_consensus(client):
    X, y = data()
    setting = {"alpha": 0.05, "tol": 1e-2, "gather_limit": 0, "client": client}
    calm = DaskSparseBoostClassifier(**setting).fit(cut(X, 200), cut(y, 200))
    struck = DaskSparseBoostClassifier(**setting, callbacks=[Kill(client)]).fit(cut(X, 200), cut(y, 200))
    np.testing.assert_array_equal(struck.coef_, calm.coef_)


def test_a_cluster_that_dies_gives_one_clear_error():
    X, y = data()
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as own:
        client = distributed.Client(own)
        model = DaskSparseBoostClassifier(alpha=0.01, client=client, callbacks=[lambda record: own.close()])
        with pytest.raises(ClusterLostError, match=r"cluster was lost during fit .*; nothing was fitted"):
            model.fit(cut(X), cut(y))
        assert not hasattr(model, "coef_")
        client.close()


def test_a_cluster_without_workers_gives_one_clear_error():
    X, y = data()
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as own,
        distributed.Client(own) as client,
    ):
        model = DaskSparseBoostClassifier(alpha=0.01, client=client, callbacks=[lambda record: own.scale(0)])
        with pytest.raises(ClusterLostError, match="no worker for 2 s"):
            model.fit(cut(X), cut(y))


def test_an_interrupt_leaves_no_task_and_no_half_fitted_model(client):
    X, y = data()

    def interrupt(record: dict[str, Any]) -> None:
        assert tasks_left(client)
        raise KeyboardInterrupt

    model = DaskSparseBoostClassifier(alpha=0.01, client=client, callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        model.fit(cut(X), cut(y))
    assert nothing_left(client)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "classes_")


def test_a_fit_that_ends_leaves_no_task(client):
    X, y = data()
    model = DaskSparseBoostClassifier(alpha=0.01, client=client).fit(cut(X), cut(y))
    assert nothing_left(client)
    assert model.converged_


def held(dask_worker: Any) -> dict[str, list[int]]:
    """Bytes of inputs that a worker holds, by the kind of object; arrays that share memory count once."""
    from sparseboost.dask.prepare import RawBlock
    from sparseboost.dask.rows import RowBlock

    found: dict[str, list[int]] = {"partition": [], "block": [], "user": []}
    seen = set()
    for value in list(dask_worker.data.values()):
        kind = "partition" if isinstance(value, RawBlock) else "block" if isinstance(value, RowBlock) else "user"
        X = value.dictionary.X if kind == "block" else getattr(value, "X", value)
        if not sp.issparse(X) and np.ndim(X) != 2:
            continue
        X = X.data if sp.issparse(X) else X
        if X.size > 1000:
            address = X.__array_interface__["data"][0]
            if address not in seen:
                seen.add(address)
                found[kind].append(X.nbytes)
    return found


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_are_copied_at_most_once(sparse, client):
    """Blocks of a user who keeps the data on the cluster: what a fit holds besides is at most one copy."""
    X = da.random.default_rng(0).normal(size=(40_000, 100), chunks=(10_000, -1))
    X, y = client.persist([da.where(abs(X) > 1, X, 0.0), (X[:, 0] > 0).astype(int)])
    blocks, size = X, X.nbytes
    if sparse:
        blocks = client.persist([delayed(sp.csr_array)(part) for part in X.to_delayed().ravel()])
        size = 8 * int((X != 0).sum().compute())
        del X
    distributed.wait(blocks)
    looks = []

    def look(record: dict[str, Any]) -> None:
        if record["round"] == 1:
            time.sleep(3)  # partitions that were read are let go of; Dask drops replicas every two seconds
            found = client.run(held).values()
            looks.append({kind: sum(sum(part[kind]) for part in found) for kind in ("user", "partition", "block")})

    DaskSparseBoostClassifier(alpha=0.01, client=client, callbacks=[look]).fit(blocks, y)
    assert looks[0]["user"] == size
    assert looks[0]["partition"] == 0
    assert looks[0]["block"] <= size
