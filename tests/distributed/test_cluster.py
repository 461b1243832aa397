"""Fits on a real cluster of two processes end where fits on one machine do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

pytest.importorskip("distributed", reason="Dask is an extra")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from dask import delayed

import sparseboost
from sparseboost import MultiBoostClassifier, SparseBoostClassifier, SparseBoostRegressor
from sparseboost.dask import DaskMultiBoostClassifier, DaskSparseBoostClassifier, DaskSparseBoostRegressor
from sparseboost.hypotheses import Stumps

Array = np.ndarray
PAIRS = {
    "classifier": (DaskSparseBoostClassifier, SparseBoostClassifier),
    "regressor": (DaskSparseBoostRegressor, SparseBoostRegressor),
    "multiboost": (DaskMultiBoostClassifier, MultiBoostClassifier),
}


def data(kind: str) -> tuple[Array, Array]:
    load = {"classifier": load_breast_cancer, "regressor": load_diabetes, "multiboost": load_iris}[kind]
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.where(np.abs(X) > 0.3, X, 0.0), y / y.std() if kind == "regressor" else y


def rows(data: Any) -> tuple[int, ...]:
    m = data.shape[0]
    return (7, m // 3, m - 7 - m // 3)


def cut(data: Any) -> Any:
    return da.from_array(data, chunks=(rows(data), *(-1 for _ in data.shape[1:])))


def sparse_blocks(X: Array) -> list[Any]:
    parts = np.split(X, np.cumsum(rows(X))[:-1])
    return [delayed(sp.csr_array)(part) for part in parts]


def agree(far: Any, near: Any, X: Array) -> None:
    """Both are certified, so that their objectives differ by no more than their gaps; and predictions agree."""
    assert far.converged_
    assert near.converged_
    assert abs(far.objective_ - near.objective_) <= max(far.dual_gap_, near.dual_gap_) + 1e-12
    score = "predict" if hasattr(near, "_flat") else "decision_function"
    np.testing.assert_allclose(
        getattr(far, score)(X), getattr(near, score)(X), atol=0.02 * np.ptp(getattr(near, score)(X))
    )


SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("classifier", {"alpha": 0.02}),
    ("classifier", {"alpha": 0.02, "hypotheses": "stumps"}),
    ("classifier", {"alpha": 0.05, "loss": "exponential", "standardize": True}),
    ("regressor", {"alpha": 0.05}),
    ("regressor", {"alpha": 0.05, "loss": "huber", "fit_intercept": False}),
    ("regressor", {"alpha": 0.05, "loss": "eps-insensitive", "hypotheses": Stumps("quantile", n_bins=8)}),
    ("multiboost", {"nu": 0.02, "penalty": "l1/l2"}),
    ("multiboost", {"nu": 0.02, "penalty": "l1/linf", "hypotheses": "features", "fit_intercept": True}),
    ("multiboost", {"nu": 0.05, "loss": "hinge", "penalty": "l1", "tol": 1e-3}),
]


@pytest.mark.parametrize(("kind", "setting"), SETTINGS, ids=str)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_the_optimum_is_that_of_one_machine(kind, setting, sparse, client):
    X, y = data(kind)
    far, near = PAIRS[kind]
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    setting = {"tol": 1e-6, **setting}
    on_cluster = far(client=client, **setting)
    on_cluster.fit(sparse_blocks(X) if sparse else cut(X), cut(y), sample_weight=cut(weight))
    agree(on_cluster, near(**setting).fit(sp.csr_array(X) if sparse else X, y, sample_weight=weight), X)


@pytest.mark.parametrize("penalty", ["l1", "l1/l2", "l1/linf"])
def test_several_classes_and_several_labels(penalty, client):
    X, y = load_iris(return_X_y=True)
    for target in (y, np.column_stack([y == 0, y > 0, X[:, 0] > 6]).astype(int)):
        far = DaskSparseBoostClassifier(alpha=0.02, penalty=penalty, tol=1e-5, client=client).fit(cut(X), cut(target))
        near = SparseBoostClassifier(alpha=0.02, penalty=penalty, tol=1e-5).fit(X, target)
        agree(far, near, X)
        np.testing.assert_array_equal(far.predict(X), near.predict(X))


def test_consensus_where_columns_do_not_fit(client):
    X, y = data("classifier")
    far = DaskSparseBoostClassifier(alpha=0.05, tol=1e-3, gather_limit=0, client=client).fit(cut(X), cut(y))
    near = SparseBoostClassifier(alpha=0.05, tol=1e-3).fit(X, y)
    assert far.solver_ == "admm"
    assert abs(far.objective_ - near.objective_) <= max(far.dual_gap_, near.dual_gap_)
    assert far.bytes_moved_["received"] < X.nbytes  # nothing like the data came here


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_consensus_for_multiboost(loss, client):
    X, y = data("multiboost")
    setting = {"nu": 0.05, "loss": loss, "hypotheses": "features", "tol": 1e-2}
    far = DaskMultiBoostClassifier(solver="admm", client=client, **setting).fit(cut(X), cut(y))
    near = MultiBoostClassifier(**setting).fit(X, y)
    assert far.solver_ == "admm"
    assert abs(far.objective_ - near.objective_) <= max(far.dual_gap_, near.dual_gap_)
    assert far.coef_.min() >= 0.0


def test_class_weights_names_and_data_frames(client):
    X, y = data("classifier")
    names = [f"input {j}" for j in range(X.shape[1])]
    labels = np.array(["no", "yes"], dtype=object)[y]
    frame = pd.DataFrame(X, columns=names).assign(label=labels)
    far_frame = dd.from_pandas(frame, npartitions=3)
    setting = {"alpha": 0.02, "class_weight": "balanced", "tol": 1e-6, "feature_costs": {"input 3": 2.0}}
    far = DaskSparseBoostClassifier(client=client, **setting).fit(far_frame[names], far_frame["label"])
    near = SparseBoostClassifier(**setting).fit(frame[names], labels)
    agree(far, near, frame[names])
    assert list(far.feature_names_in_) == names
    assert far.hypotheses_[0].name.startswith("input ")
    found = far.predict(far_frame[names])
    assert isinstance(found, dd.Series)
    np.testing.assert_array_equal(found.compute().to_numpy(), near.predict(frame[names]))
    assert far.predict_proba(far_frame[names]).compute().shape == (len(y), 2)
    empty = far_frame[names].partitions[:1][far_frame[names].partitions[:1]["input 0"] > 1e9]
    assert len(far.predict(empty).compute()) == 0


def test_predictions_are_lazy_on_collections_and_plain_on_arrays(client):
    X, y = data("multiboost")
    model = DaskMultiBoostClassifier(nu=0.02, client=client).fit(cut(X), cut(y))
    for method, width in (("predict", ()), ("predict_proba", (3,)), ("decision_function", (3,))):
        lazy = getattr(model, method)(cut(X))
        assert isinstance(lazy, da.Array)
        assert lazy.shape == (len(y), *width)
        plain = getattr(model, method)(X)
        assert isinstance(plain, np.ndarray)
        assert lazy.dtype == plain.dtype
        np.testing.assert_array_equal(lazy.compute(), plain)
    blocks = model.predict(sparse_blocks(X))
    np.testing.assert_array_equal(np.concatenate([block.compute() for block in blocks]), model.predict(X))
    assert model.score(cut(X), cut(y)) == model.score(X, y) == model.to_local().score(X, y)
    selected = model.transform(cut(X))
    assert isinstance(selected, da.Array)
    np.testing.assert_array_equal(selected.compute(), model.to_local().transform(X))


def test_the_model_inside_is_the_ordinary_one(client, tmp_path):
    X, y = data("regressor")
    model = DaskSparseBoostRegressor(alpha=0.05, client=client).fit(cut(X), cut(y))
    plain = model.to_local()
    assert type(plain) is SparseBoostRegressor
    assert plain.summary().splitlines()[1:] == model.summary().splitlines()[1:]
    sparseboost.save(model, tmp_path / "model.skops")
    again = sparseboost.load(tmp_path / "model.skops")
    assert type(again) is SparseBoostRegressor
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    fresh = clone(model)
    assert fresh.client is client
    assert not hasattr(fresh, "coef_")
    assert fresh.get_params()["alpha"] == 0.05


def test_a_second_fit_goes_on_from_the_first(client):
    X, y = data("classifier")
    model = DaskSparseBoostClassifier(alpha=0.02, warm_start=True, client=client).fit(cut(X), cut(y))
    before = model.objective_
    model.fit(cut(X), cut(y))
    assert model.n_rounds_ == 0
    assert model.objective_ == pytest.approx(before, abs=1e-12)


def test_the_current_client_or_a_local_cluster_is_used(client):
    X, y = data("multiboost")
    with client.as_current():
        one = DaskMultiBoostClassifier(nu=0.02).fit(cut(X), cut(y))
    np.testing.assert_array_equal(one.coef_, DaskMultiBoostClassifier(nu=0.02, client=client).fit(cut(X), cut(y)).coef_)


def test_without_any_client_there_is_a_local_cluster():
    X, y = data("multiboost")
    far = DaskMultiBoostClassifier(nu=0.02, hypotheses="features").fit(cut(X), cut(y))
    agree(far, MultiBoostClassifier(nu=0.02, hypotheses="features").fit(X, y), X)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"penalty": "l2"}, "needs a penalty that leaves hypotheses out"),
    ({"alpha": 0.0}, "needs a penalty that leaves hypotheses out"),
    ({"hypotheses": "products"}, "searches 'features' and 'stumps'"),
    ({"update": "gradboost"}, "needs update='auto'"),
    ({"corrective": False}, "needs corrective=True"),
    ({"gather_limit": "much"}, "gather_limit must be a number of bytes"),
    ({"gather_limit": -1}, "gather_limit must be a number of bytes"),
    ({"tol": -1.0}, "tol must be"),
]


@pytest.mark.parametrize(("parameters", "words"), BAD, ids=[str(bad[0]) for bad in BAD])
def test_bad_parameters_get_one_sentence(parameters, words):
    X, y = data("classifier")
    with pytest.raises(ValueError, match=words):
        DaskSparseBoostClassifier(**parameters).fit(cut(X), cut(y))


def test_bad_data_get_one_sentence(client):
    X, y = data("classifier")
    model = DaskSparseBoostClassifier(client=client)
    with pytest.raises(TypeError, match="for data in memory use SparseBoostClassifier"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="partitioned like X, which has 3 partitions; y has 2"):
        model.fit(sparse_blocks(X), [delayed(y), delayed(y)])
    with pytest.raises(ValueError, match="partition 0 of X has 7 rows, that of y 189"):
        model.fit(sparse_blocks(X), [delayed(part) for part in (y[7:196], y[:7], y[196:])])
    with pytest.raises(ValueError, match="X has 569 rows and y 568"):
        model.fit(cut(X), da.from_array(y[:-1], chunks=100))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(da.where(cut(X) > 2.0, np.nan, cut(X)), cut(y))
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(cut(X), cut(np.zeros(569, int)))
    with pytest.raises(ValueError, match="same columns: partition 1 has 29"):
        model.fit([delayed(X), delayed(X[:, 1:])], [delayed(y), delayed(y)])
    with pytest.raises(ValueError, match="continuous"):
        model.fit(cut(X), cut(y + 0.5 * X[:, 0]))
    with pytest.raises(ValueError, match="all weights are zero"):
        model.fit(cut(X), cut(y), sample_weight=cut(np.zeros(569)))
    with pytest.raises(ValueError, match="all its partitions are empty"):
        model.fit([delayed(X[:0])], [delayed(y[:0])])
    assert not hasattr(model, "coef_")


def test_many_inputs_and_rounds(client, rng: np.random.Generator) -> None:
    """From a thousand inputs on, searches on one machine use what earlier ones saw; those over blocks do not."""
    X = rng.normal(size=(80, 1200))
    y = (X[:, :4].sum(axis=1) > 0).astype(int)
    setting = {"alpha": 0.05, "tol": 1e-6, "induce": 3}
    far = DaskSparseBoostClassifier(client=client, **setting).fit(cut(X), cut(y))
    assert far.n_rounds_ > 3
    agree(far, SparseBoostClassifier(**setting).fit(X, y), X)
