"""MultiBoostClassifier as an estimator: scikit-learn's checks, its attributes, other spaces, bad input."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparseboost
from sparseboost import MultiBoostClassifier
from sparseboost.estimators import multiboost
from sparseboost.hypotheses import Features, Stumps, Trees
from sparseboost.losses import Exponential, Softmax
from sparseboost.penalties import L1L2
from sparseboost.solvers import ADMM, admm

CHECKED = [
    MultiBoostClassifier(),
    MultiBoostClassifier("hinge", "l1", nu=0.03, hypotheses="features", tol=1e-2, max_rounds=3),
]
NO_CONSTANT = "without an intercept no sum of ±1 stumps is a constant: one class cannot be predicted everywhere"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=lambda _: {"check_class_weight_classifiers": NO_CONSTANT})
def test_sklearn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    return load_iris(return_X_y=True)


def test_fitted_attributes_belong_together(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    model = MultiBoostClassifier(nu=0.01).fit(X, names[y])
    assert model.coef_.shape == (len(model.hypotheses_), 3) == (model.n_active_, 3)
    assert model.coef_.min() >= 0.0
    assert model.coef_.max(axis=1).min() > 0.0
    np.testing.assert_array_equal(model.intercept_, 0.0)
    H = np.column_stack([hypothesis(X) for hypothesis in model.hypotheses_])
    np.testing.assert_allclose(model.decision_function(X), H @ model.coef_, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), names[(H @ model.coef_).argmax(axis=1)])
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.diff(np.log(proba), axis=1), np.diff(H @ model.coef_, axis=1), atol=1e-9)
    assert 0.0 <= model.dual_violation_ < 0.1
    assert model.dual_gap_ <= 1e-4 * model.history_[0]["objective"]
    assert model.converged_
    assert model.history_[-1]["active"] == model.n_active_
    stages = list(model.staged_decision_function(X))
    assert len(stages) == len(list(model.staged_predict(X))) == len(model.history_)
    np.testing.assert_allclose(stages[-1], model.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert "nu 0.01" in model.summary()
    assert "x > " in model.summary() or "<=" in model.summary()


def test_two_classes_have_one_decision(iris):
    X, y = iris[0][:100], iris[1][:100]
    model = MultiBoostClassifier(nu=0.01).fit(X, y)
    assert model.coef_.shape[1] == 2
    decision = model.decision_function(X)
    assert decision.shape == (100,)
    np.testing.assert_array_equal(model.predict(X), (decision > 0).astype(int))


@pytest.mark.parametrize(
    "hypotheses", ["features", "products", Trees(max_depth=2), Stumps("quantile", n_bins=8)], ids=str
)
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_space(hypotheses, loss):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = MultiBoostClassifier(loss, nu=0.02, hypotheses=hypotheses, tol=1e-3, max_rounds=30).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.coef_.min() >= 0.0
    assert model.dual_gap_ >= 0.0


def test_sparse_data_frames_and_dense_data_agree(iris):
    pd = pytest.importorskip("pandas")
    X, y = iris
    X = np.where(X > 2, X, 0.0)
    for hypotheses in ("features", "stumps"):
        fits = [
            MultiBoostClassifier(nu=0.01, hypotheses=hypotheses, tol=1e-6, induce=5).fit(part, y)
            for part in (X, sp.csr_array(X), sp.csc_matrix(X), pd.DataFrame(X, columns=list("abcd")))
        ]
        for other in fits[1:]:
            assert other.objective_ == pytest.approx(fits[0].objective_, abs=1e-6)
        assert fits[-1].hypotheses_[0].name in "abcd"


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_weights_equal_repeated_rows(loss, iris):
    X, y = iris
    copies = np.repeat(np.arange(150), np.where(y == 2, 2, 1))
    base = MultiBoostClassifier(loss, nu=0.02, hypotheses="features", tol=1e-5)
    repeated = clone(base).fit(X[copies], y[copies]).objective_
    assert clone(base).fit(X, y, sample_weight=np.where(y == 2, 2.0, 1.0)).objective_ == pytest.approx(
        repeated, abs=3e-5
    )


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("solver", ["auto", "admm"])
def test_an_intercept_helps_and_is_certified(loss, solver, iris):
    X, y = iris[0][40:], iris[1][40:]
    base = MultiBoostClassifier(loss, nu=0.05, hypotheses="features", solver=solver, tol=1e-5)
    free = clone(base).set_params(fit_intercept=True).fit(X - X.mean(axis=0), y)
    bound = clone(base).fit(X - X.mean(axis=0), y)
    assert free.converged_
    assert free.objective_ < bound.objective_
    assert np.any(free.intercept_ != 0.0)


def test_warm_start_takes_up_the_weights(iris):
    X, y = iris
    model = MultiBoostClassifier(nu=0.01, hypotheses="features", warm_start=True, tol=1e-6).fit(X, y)
    before = model.objective_
    model.fit(X, y)
    assert model.history_[0]["objective"] == pytest.approx(before, abs=1e-9)
    assert model.n_rounds_ == 0


def test_induce_is_how_many_enter(iris):
    X, y = iris
    model = MultiBoostClassifier(nu=0.005, induce=1, max_rounds=500).fit(X, y)
    assert max(record["added"] for record in model.history_) == 1
    assert model.converged_


@pytest.mark.parametrize("loss", ["logistic", "hinge", Exponential(), Softmax(3)], ids=str)
def test_a_saved_model_predicts_the_same(loss, iris, tmp_path):
    X, y = iris
    model = MultiBoostClassifier(loss, L1L2(positive=True), nu=0.02, tol=1e-2).fit(X, y)
    sparseboost.save(model, tmp_path / "model.skops")
    again = sparseboost.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_hinge_has_no_probabilities(iris):
    model = MultiBoostClassifier("hinge", nu=0.05, tol=1e-2).fit(*iris)
    assert not hasattr(model, "predict_proba")
    assert hasattr(MultiBoostClassifier(), "predict_proba")


def test_large_nu_gives_an_empty_model(iris):
    X, y = iris
    for loss in ("logistic", "hinge"):
        model = MultiBoostClassifier(loss, nu=10.0).fit(X, y)
        assert model.n_active_ == 0
        assert model.predict(X).shape == (150,)
        assert model.dual_violation_ == 0.0


BAD = [
    ({"nu": 0.0}, ValueError, "nu must be a finite number > 0"),
    ({"nu": "1"}, TypeError, "nu must be"),
    ({"loss": "exponential"}, ValueError, "loss must be one of 'logistic', 'hinge'"),
    ({"loss": Softmax(4)}, ValueError, "which has 3 classes"),
    ({"penalty": "l2"}, ValueError, "penalty must be one of 'l1', 'l1/l2', 'l1/linf'"),
    ({"penalty": None}, ValueError, "penalty must be one of"),
    ({"solver": "newton"}, ValueError, "solver must be one of 'auto', 'admm'"),
    ({"blocks": 0}, ValueError, "blocks must be an integer >= 1"),
    ({"blocks": 1.5}, TypeError, "blocks must be an integer >= 1"),
    ({"blocks": [100, 49]}, ValueError, "blocks must sum to the number of rows, 150"),
    ({"induce": 0}, ValueError, "induce must be an integer >= 1"),
    ({"fit_intercept": 1}, TypeError, "fit_intercept must be True or False"),
    ({"hypotheses": "stump"}, ValueError, "hypotheses must be one of"),
]


@pytest.mark.parametrize(("parameters", "error", "words"), BAD, ids=[str(bad[0]) for bad in BAD])
def test_bad_parameters_get_one_sentence(parameters, error, words, iris):
    model = MultiBoostClassifier(**parameters)
    with pytest.raises(error, match=words):
        model.fit(*iris)
    assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]


def test_indicator_targets_are_refused(iris):
    with pytest.raises(ValueError, match="SparseBoostClassifier"):
        MultiBoostClassifier().fit(iris[0], np.eye(3, dtype=int)[iris[1]])


def test_running_out_of_rounds_is_a_warning(iris):
    with pytest.warns(ConvergenceWarning, match="raise max_rounds"):
        MultiBoostClassifier(nu=1e-4, induce=1, max_rounds=2).fit(*iris)


@pytest.mark.parametrize("sharpness", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("blocks", [1, 2, 5, 16, [3, 100, 1, 46]], ids=str)
def test_consensus_meets_at_one_optimum(blocks, sharpness, iris, monkeypatch):
    """Whatever the first penalty of ADMM, over four decades, and however rows are cut."""
    X, y = iris
    kind = functools.partial(ADMM, sharpness=sharpness)
    monkeypatch.setattr(multiboost, "ADMM", _Forwarding(ADMM, kind))
    setting: dict[str, Any] = {"nu": 0.05, "hypotheses": "features", "tol": 1e-5}
    best = MultiBoostClassifier(**setting).fit(X, y)
    found = MultiBoostClassifier(solver="admm", blocks=blocks, **setting).fit(X, y)
    assert found.solver_ == "admm"
    assert abs(found.objective_ - best.objective_) <= max(found.dual_gap_, best.dual_gap_) + 1e-12


class _Forwarding:
    """The class, but made in another way."""

    def __init__(self, kind: type, make: Any) -> None:
        self.kind, self.make = kind, make

    def __call__(self, *arguments: Any) -> Any:
        return self.make(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kind, name)


def test_z_is_sparse_and_feasible_at_every_step(iris, monkeypatch):
    X, y = iris
    seen = []
    consensus = admm._Consensus._consensus

    def watched(self, offer):
        rows = consensus(self, offer)
        seen.append(rows[: self.ensemble.size])
        return rows

    monkeypatch.setattr(admm._Consensus, "_consensus", watched)
    model = MultiBoostClassifier(nu=0.05, solver="admm", blocks=3).fit(X, y)
    assert min(rows.min(initial=0.0) for rows in seen) >= 0.0
    assert any(np.any(np.all(rows == 0.0, axis=1)) for rows in seen)  # whole rows are exactly zero on the way
    assert model.coef_.min() >= 0.0


def test_features_space_given_as_object(iris):
    one = MultiBoostClassifier(nu=0.01, hypotheses=Features()).fit(*iris)
    two = MultiBoostClassifier(nu=0.01, hypotheses="features").fit(*iris)
    np.testing.assert_array_equal(one.coef_, two.coef_)
