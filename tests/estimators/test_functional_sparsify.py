"""Pruning boosted functions with `sparsify`, and files of functional models."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from sparseboost import FunctionalBoostClassifier, FunctionalBoostRanker, FunctionalBoostRegressor, load, save
from sparseboost.estimators.sparsify import dictionary_of
from sparseboost.losses import Absolute, MulticlassHinge, Softmax
from sparseboost.solvers.functional import VectorTrees

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "exponential"])
@pytest.mark.parametrize("penalty", ["l1", "l1/l2"])
def test_sparsify_keeps_few_learners_with_a_certificate(loss: str, penalty: str) -> None:
    X, y = make_classification(300, 10, n_informative=5, random_state=0)
    model = FunctionalBoostClassifier(loss, max_rounds=80).fit(X, y)
    small = model.sparsify(0.01, penalty=penalty)
    assert small.certificate_scope_ == "space"
    assert small.converged_
    assert small.n_active_ < 0.8 * len(model.hypotheses_)
    assert small.score(X, y) > model.score(X, y) - 0.08
    asked = {(int(h.nodes[0, 0]), float(h.thresholds[0])) for h in model.hypotheses_}
    assert {(h.feature, h.threshold) for h in small.hypotheses_} <= asked


@pytest.mark.parametrize("learner", ["stumps", "trees", KNeighborsRegressor(9)], ids=lambda learner: str(learner)[:10])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_dictionary_can_give_back_the_boosted_function(learner: Any, loss: str) -> None:
    X, y = IRIS
    model = FunctionalBoostClassifier(loss, learner=learner, max_rounds=8).fit(X, y)
    space = dictionary_of(model.hypotheses_, X, np.full(150, 1 / 150))
    columns = np.column_stack([np.ones(150), *(h(X) for h in space.hypotheses)])
    score = model.decision_function(X)
    found = columns @ np.linalg.lstsq(columns, score, rcond=None)[0]
    np.testing.assert_allclose(found, score, atol=1e-8)


def test_sparsify_of_other_learners_and_outputs(rng: np.random.Generator) -> None:
    X, y = IRIS
    model = FunctionalBoostClassifier("hinge", learner="trees", max_rounds=6).fit(X, y)
    small = model.sparsify(0.01)
    assert {type(h).__name__ for h in small.hypotheses_} == {"Component"}
    assert small.score(X, y) > 0.9
    np.testing.assert_allclose(small.hypotheses_[0](X), small.hypotheses_[0].outputs(small.hypotheses_, X)[:, 0])
    assert small.hypotheses_[0].inputs
    assert "output" in repr(small.hypotheses_[0])
    targets = np.column_stack([DIABETES[1], DIABETES[0][:, 2] * 1000])
    regressor = FunctionalBoostRegressor(learner=KNeighborsRegressor(15), algorithm="naive", max_rounds=5)
    sparse = regressor.fit(DIABETES[0], targets).sparsify(1.0)
    assert sparse.score(DIABETES[0], targets) > 0.3
    with pytest.raises(ValueError, match="a constant"):
        FunctionalBoostRegressor(max_rounds=0).fit(*DIABETES).sparsify(1.0)


def test_sparsify_after_a_file_needs_data(tmp_path: Any) -> None:
    X, y = IRIS
    model = FunctionalBoostClassifier("hinge", max_rounds=20).fit(X, y)
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    with pytest.raises(ValueError, match="pass X and y"):
        again.sparsify(0.01)
    one, other = model.sparsify(0.01), again.sparsify(0.01, X=X, y=y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    save(one, tmp_path / "s.skops")
    np.testing.assert_array_equal(load(tmp_path / "s.skops").predict(X), one.predict(X))
    assert not hasattr(pickle.loads(pickle.dumps(model)), "_data")


@pytest.mark.parametrize(
    "model",
    [
        FunctionalBoostClassifier(MulticlassHinge(3), learner=VectorTrees(2), max_rounds=5),
        FunctionalBoostClassifier(Softmax(3), learner=Ridge(), max_rounds=4),
        FunctionalBoostRegressor(Absolute(), max_rounds=5),
        FunctionalBoostRanker(max_rounds=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_files_keep_everything(model: Any, tmp_path: Any) -> None:
    X, y = IRIS
    model.fit(X, y)
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for one, other in zip(again.staged_predict(X), model.staged_predict(X), strict=True):
        np.testing.assert_array_equal(one, other)
    more = again.set_params(warm_start=True, max_rounds=8).fit(X, y)
    assert more.n_rounds_ == 8
