"""What a fitted model promises: empty above alpha_max, the same bits every time, honest records, usual company."""

from __future__ import annotations

import pickle
import re
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import coverage_error as sklearn_coverage_error
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, alpha_max, coverage_error, row_sparsity
from sparseboost.losses import EpsInsensitive, Huber, Logistic
from sparseboost.penalties import L1Linf

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 7))
Z = X @ RNG.normal(size=(7, 3)) + RNG.normal(size=(60, 3)) + [0.4, 0.0, -0.3]
TARGETS = {
    "binary": (Z[:, 0] > 0).astype(int),
    "classes": Z.argmax(axis=1),
    "labels": (Z > 0).astype(int),
    "real": Z[:, 0],
    "reals": Z,
}
KINDS = [
    ("logistic", "binary"),
    ("logistic", "classes"),
    ("logistic", "labels"),
    ("exponential", "binary"),
    ("exponential", "labels"),
    ("squared", "real"),
    ("squared", "reals"),
    ("eps-insensitive", "real"),
    ("eps-insensitive", "reals"),
    ("huber", "real"),
    ("huber", "reals"),
    ("absolute", "real"),
    ("absolute", "reals"),
]
NORMS = ("l1", "l1/l2", "l1/linf")
WEIGHT, COSTS = RNG.uniform(0.2, 2.0, 60), RNG.uniform(0.5, 2.0, 7)


def family(loss: str) -> Any:
    return SparseBoostClassifier if loss in ("logistic", "exponential") else SparseBoostRegressor


def quiet(model: Any, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*arguments, **options)


# -- the largest useful alpha ----------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("options", ["plain", "weights", "costs", "positive", "all"])
@pytest.mark.parametrize("penalty", NORMS)
@pytest.mark.parametrize(("loss", "target"), KINDS)
def test_alpha_max(loss: str, target: str, penalty: str, options: str, intercept: bool) -> None:
    settings: dict[str, Any] = {"loss": loss, "penalty": penalty, "fit_intercept": intercept}
    if options in ("costs", "all"):
        settings["feature_costs"] = COSTS
    if options in ("positive", "all"):
        settings["positive"] = True
    weight = WEIGHT if options in ("weights", "all") else None
    y = TARGETS[target]
    top = alpha_max(X, y, sample_weight=weight, **settings)
    for factor in (1.0, 1.5):
        model = quiet(family(loss)(factor * top, tol=1e-10, **settings), X, y, weight)
        assert not model.coef_.any()
        assert model.n_active_ == 0
        assert model.converged_
    if loss == "absolute":  # its gradient at the median is a set: alpha_max is an upper bound there
        return
    below = quiet(family(loss)((1 - 1e-6) * top, tol=0.0, max_rounds=20, **settings), X, y, weight)
    assert below.get_support().sum() == 1
    assert below.objective_ <= model.history_[0]["objective"]


def test_alpha_max_takes_every_option() -> None:
    y = TARGETS["binary"]
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    balanced = alpha_max(X, y, class_weight="balanced")
    assert not quiet(SparseBoostClassifier(balanced, class_weight="balanced"), X, y).coef_.any()
    by_place = alpha_max(X, y, feature_costs=[2.0, 1, 1, 1, 1, 1, 1])
    assert alpha_max(frame, y, feature_costs={"a": 2.0}) == pytest.approx(by_place, rel=1e-12)
    assert alpha_max(sp.csr_array(X), y) == pytest.approx(alpha_max(X, y), rel=1e-12)
    assert alpha_max(X, y, loss=Logistic()) == alpha_max(X, y)
    assert alpha_max(X, TARGETS["real"], loss=Huber(2.0)) != alpha_max(X, TARGETS["real"], loss="huber")
    assert alpha_max(X, TARGETS["classes"], penalty=L1Linf()) == alpha_max(X, TARGETS["classes"], penalty="l1/linf")
    assert alpha_max(X, TARGETS["real"]) == alpha_max(X, TARGETS["real"], loss="squared")
    assert alpha_max(10 * X, y) == pytest.approx(10 * alpha_max(X, y), rel=1e-12)
    assert alpha_max(X, y, sample_weight=3 * WEIGHT) == pytest.approx(alpha_max(X, y, sample_weight=WEIGHT), rel=1e-12)
    # T5 written out: the gradient at the best constant
    centred = TARGETS["real"] - TARGETS["real"].mean()
    assert alpha_max(X, TARGETS["real"]) == pytest.approx(np.abs(X.T @ centred).max() / 60, rel=1e-12)
    assert alpha_max(X, y) == pytest.approx(np.abs(X.T @ (y - y.mean())).max() / 60, rel=1e-12)


# -- determinism, warm start ----------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("update", ["auto", "adaboost", "gradboost"])
@pytest.mark.parametrize("target", ["binary", "classes"])
def test_same_bits(target: str, update: str, sparse: bool) -> None:
    data = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)) if sparse else X
    models = [
        quiet(SparseBoostClassifier(0.01, penalty="l1/linf", update=update, n_jobs=jobs), data, TARGETS[target])
        for jobs in (1, 1, 2, None, -1)
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(other.coef_, models[0].coef_)
        np.testing.assert_array_equal(other.intercept_, models[0].intercept_)
        assert other.objective_ == models[0].objective_
        assert other.dual_gap_ == models[0].dual_gap_


@pytest.mark.parametrize("update", ["auto", "adaboost", "gradboost"])
def test_warm_start(update: str) -> None:
    y = TARGETS["classes"]
    model = SparseBoostClassifier(0.02, penalty="l1/linf", update=update, warm_start=True, induce=1, tol=1e-5).fit(X, y)
    first, objective = model.n_rounds_, model.objective_
    model.fit(X, y)
    assert model.n_rounds_ <= 1 < first
    assert model.objective_ == pytest.approx(objective, rel=1e-5)
    model.set_params(alpha=0.018).fit(X, y)
    cold = clone(model).fit(X, y)
    assert model.n_rounds_ < cold.n_rounds_
    assert abs(model.objective_ - cold.objective_) <= model.dual_gap_ + cold.dual_gap_
    model.set_params(fit_intercept=False).fit(X, y)
    assert not model.intercept_.any()
    model.fit(X[:, :3], y)  # other data: starts anew instead of failing
    assert model.coef_.shape == (3, 3)
    model.fit(X, TARGETS["binary"])
    assert model.coef_.shape == (1, 7)


def test_warm_start_from_a_model_that_breaks_the_constraint() -> None:
    model = SparseBoostRegressor(0.05, warm_start=True, tol=1e-6).fit(X, TARGETS["real"])
    assert model.coef_.min() < 0
    model.set_params(positive=True).fit(X, TARGETS["real"])
    cold = SparseBoostRegressor(0.05, positive=True, tol=1e-6).fit(X, TARGETS["real"])
    assert model.coef_.min() >= 0
    assert model.objective_ == pytest.approx(cold.objective_, rel=1e-5)


# -- records ----------------------------------------------------------------------


@pytest.mark.parametrize("corrective", [True, False, "alternate"])
@pytest.mark.parametrize("update", ["auto", "adaboost", "gradboost"])
@pytest.mark.parametrize("target", ["binary", "classes"])
def test_history(target: str, update: str, corrective: Any) -> None:
    model = SparseBoostClassifier(
        0.01, penalty="l1/linf", update=update, corrective=corrective, induce=2, max_rounds=40
    )
    quiet(model, X, TARGETS[target])
    history = model.history_
    assert len(history) == model.n_rounds_ + 1
    assert [record["round"] for record in history] == list(range(len(history)))
    for record in history:
        assert {"objective", "gap", "active", "added", "pruned", "seconds"} <= record.keys()
        assert record["gap"] >= 0
    for before, after in pairwise(history):
        assert after["objective"] <= before["objective"] + 1e-12
        assert after["gap"] <= before["gap"] + 1e-12, "the best bound so far stays"
        assert after["seconds"] >= before["seconds"]
        assert 0 <= after["added"] <= 2 or corrective is False
    assert history[-1]["objective"] == model.objective_
    assert history[-1]["gap"] == model.dual_gap_
    assert history[-1]["active"] == model.n_active_ == len(model.hypotheses_) == model.get_support().sum()
    assert history[0]["active"] == 0
    frame = pd.DataFrame(history)
    assert len(frame) == len(history)
    assert not frame.isna().any().any()


@pytest.mark.parametrize("target", ["binary", "classes", "labels"])
def test_staged_decision_function(target: str) -> None:
    model = SparseBoostClassifier(0.01, induce=1, tol=1e-6).fit(X, TARGETS[target])
    stages = list(model.staged_decision_function(X))
    assert len(stages) == model.n_rounds_ + 1 > 2
    np.testing.assert_allclose(stages[-1], model.decision_function(X), rtol=1e-9, atol=1e-12)
    assert np.ptp(stages[0], axis=0).max() == 0, "the first stage is the empty model"
    assert all(stage.shape == stages[-1].shape for stage in stages)


@pytest.mark.parametrize("target", ["real", "reals"])
def test_staged_predict(target: str) -> None:
    model = SparseBoostRegressor(0.01, induce=1, tol=1e-6).fit(X, TARGETS[target])
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_rounds_ + 1 > 2
    np.testing.assert_allclose(stages[-1], model.predict(X), rtol=1e-9, atol=1e-12)
    errors = [((stage - TARGETS[target]) ** 2).mean() for stage in stages]
    assert errors[-1] < errors[0]


def test_converged_means_the_gap_was_reached() -> None:
    for tol in (1e-1, 1e-3, 1e-6):
        model = SparseBoostClassifier(0.01, tol=tol).fit(X, TARGETS["classes"])
        assert model.converged_
        assert model.stopping_reason_ == "gap"
        assert model.dual_gap_ <= tol * model.history_[0]["objective"]


# -- ways to stop ----------------------------------------------------------------------


def test_max_rounds_warns() -> None:
    model = SparseBoostClassifier(0.001, induce=1, max_rounds=2, tol=1e-6)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, TARGETS["classes"])
    message = str(caught[0].message)
    wanted = 1e-6 * model.history_[0]["objective"]
    assert f"{model.dual_gap_:.2g}" in message
    assert f"{wanted:.2g}" in message
    assert re.search("raise max_rounds", message)
    assert caught[0].filename == __file__, "the warning points into the library instead of the user's line"
    assert not model.converged_
    assert model.stopping_reason_ == "max_rounds"
    assert model.n_rounds_ == 2


def test_no_rounds_at_all() -> None:
    model = quiet(SparseBoostClassifier(0.001, max_rounds=0), X, TARGETS["classes"])
    assert model.n_active_ == 0
    np.testing.assert_allclose(model.predict_proba(X)[0], np.bincount(TARGETS["classes"]) / 60)


def test_time_budget() -> None:
    settings: dict[str, Any] = {"update": "adaboost", "penalty": "l1", "tol": 1e-12, "max_rounds": 10**6}
    model = SparseBoostClassifier(1e-6, time_budget=0.05, **settings)
    with pytest.warns(ConvergenceWarning, match="time budget.*raise time_budget"):
        model.fit(X, TARGETS["classes"])
    assert model.stopping_reason_ == "time_budget"
    assert not model.converged_
    assert 0.05 <= model.history_[-1]["seconds"] < 5.0


@pytest.mark.parametrize("update", ["auto", "gradboost"])
def test_max_features(update: str) -> None:
    for limit in (1, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a limit that was asked for is no reason to warn
            model = SparseBoostClassifier(1e-3, max_features=limit, update=update).fit(X, TARGETS["classes"])
        assert model.n_active_ == limit
        assert model.stopping_reason_ == "max_features"
        assert not model.converged_


@pytest.mark.parametrize("stop_after", [0, 2])
def test_callbacks(stop_after: int) -> None:
    seen: list[int] = []

    def stop(record: dict[str, Any]) -> bool:
        seen.append(record["round"])
        return record["round"] >= stop_after

    others: list[dict[str, Any]] = []
    model = SparseBoostClassifier(0.001, induce=1, tol=1e-6, callbacks=[stop, others.append])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, TARGETS["classes"])
    assert seen == list(range(stop_after + 1))
    assert others == model.history_
    assert model.stopping_reason_ == "callback"
    assert model.n_rounds_ == stop_after
    assert not model.converged_


def test_failing_callback_leaves_the_estimator_alone() -> None:
    def fail(record: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    model = SparseBoostClassifier(0.01).fit(X, TARGETS["binary"])
    coef = model.coef_
    model.set_params(callbacks=[fail])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, TARGETS["classes"])
    assert model.coef_ is coef
    assert model.classes_.size == 2
    unfitted = SparseBoostClassifier(callbacks=[fail])
    with pytest.raises(KeyboardInterrupt):
        unfitted.fit(X, TARGETS["binary"])
    assert not hasattr(unfitted, "coef_")
    assert not hasattr(unfitted, "n_features_in_")


class Watcher:
    """A scikit-learn callback that counts, looks at the model so far, and may stop."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at = stop_at
        self.begun, self.ended, self.shapes, self.events = 0, 0, [], []

    def setup(self, estimator: Any, context: Any) -> None:
        self.events.append("setup")

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None, y: Any = None) -> None:
        self.begun += 1

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any = None, y: Any = None, fitted_estimator: Any = None
    ) -> bool:
        self.ended += 1
        if fitted_estimator is not None:
            self.shapes.append(fitted_estimator.predict(X).shape)
        return self.stop_at is not None and self.ended >= self.stop_at

    def teardown(self, estimator: Any, context: Any) -> None:
        self.events.append("teardown")


@pytest.mark.parametrize("target", ["binary", "labels"])
def test_sklearn_callbacks(target: str) -> None:
    pytest.importorskip("sklearn.callback")
    watcher = Watcher()
    model = SparseBoostClassifier(0.01, induce=1).set_callbacks(watcher).fit(X, TARGETS[target])
    assert watcher.events == ["setup", "teardown"]
    # one task per record, and the fit itself
    assert watcher.begun == watcher.ended == len(model.history_) + 1
    assert set(watcher.shapes) == {TARGETS[target].shape}


def test_sklearn_callback_can_stop() -> None:
    pytest.importorskip("sklearn.callback")
    model = SparseBoostRegressor(0.001, induce=1, tol=1e-8).set_callbacks(Watcher(stop_at=2)).fit(X, TARGETS["real"])
    assert model.stopping_reason_ == "callback"
    assert model.n_rounds_ == 1


def test_sklearn_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    SparseBoostClassifier(0.01, induce=1).set_callbacks(callback.ProgressBar()).fit(X, TARGETS["binary"])
    assert "SparseBoostClassifier" in "".join(capsys.readouterr())


@pytest.mark.parametrize("verbose", [1, 2, True])
def test_verbose_goes_to_stderr(verbose: Any, capfd: pytest.CaptureFixture[str]) -> None:
    model = SparseBoostClassifier(0.01, induce=1, verbose=verbose).fit(X, TARGETS["binary"])
    out, err = capfd.readouterr()
    assert out == ""
    assert "gap" in err
    assert "target" in err
    if verbose == 2:
        assert len(re.findall(r"^round", err, flags=re.MULTILINE)) == len(model.history_)
    SparseBoostClassifier(0.01).fit(X, TARGETS["binary"])
    assert capfd.readouterr() == ("", "")


# -- targets ----------------------------------------------------------------------


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 1], [1, 2], [1.0, 3.0], ["b", "a"]])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_binary_labels_of_any_kind(loss: str, labels: list[Any]) -> None:
    codes = TARGETS["binary"]
    y = np.array(sorted(labels))[codes]
    model = SparseBoostClassifier(0.02, loss=loss).fit(X, y)
    plain = SparseBoostClassifier(0.02, loss=loss).fit(X, codes)
    assert list(model.classes_) == sorted(labels)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.coef_.shape == (1, 7)
    assert model.intercept_.shape == (1,)
    assert model.decision_function(X).shape == (60,)
    assert model.predict(X).dtype == y.dtype
    assert model.score(X, y) > 0.7
    probability = model.predict_proba(X)
    assert probability.shape == (60, 2)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("labels", [["x", "y", "z"], [3, 1, 2], [-1.0, 0.0, 7.0]])
def test_multiclass_labels(labels: list[Any]) -> None:
    y = np.array(labels)[TARGETS["classes"]]
    model = SparseBoostClassifier(0.02).fit(X, y)
    assert list(model.classes_) == sorted(labels)
    assert model.coef_.shape == (3, 7)
    assert model.intercept_.shape == (3,)
    assert model.decision_function(X).shape == (60, 3)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("target", ["binary", "classes", "labels"])
@pytest.mark.parametrize("update", ["auto", "gradboost", "adaboost"])
def test_weights_are_repetitions(update: str, target: str) -> None:
    y = TARGETS[target]
    times = np.random.default_rng(3).integers(0, 4, 60)
    settings: dict[str, Any] = {"penalty": "l1/linf", "update": update, "tol": 1e-8}
    weighted = quiet(SparseBoostClassifier(0.02, **settings), X, y, times)
    repeated = quiet(SparseBoostClassifier(0.02, **settings), np.repeat(X, times, axis=0), np.repeat(y, times, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
    assert np.abs(weighted.coef_ - quiet(SparseBoostClassifier(0.02, **settings), X, y).coef_).max() > 1e-3


def test_class_weight() -> None:
    y = np.array(["a", "b", "c"])[TARGETS["classes"]]
    counts = {label: float((y == label).sum()) for label in "abc"}
    by_hand = {label: 60 / (3 * count) for label, count in counts.items()}
    balanced = SparseBoostClassifier(0.02, class_weight="balanced").fit(X, y)
    dictionary = SparseBoostClassifier(0.02, class_weight=by_hand).fit(X, y)
    weights = SparseBoostClassifier(0.02).fit(X, y, [by_hand[label] for label in y])
    np.testing.assert_allclose(balanced.coef_, weights.coef_, atol=1e-9)
    np.testing.assert_allclose(dictionary.coef_, weights.coef_, atol=1e-9)
    # an empty balanced model finds every class equally likely, whatever the sample weights are
    for weight in (None, WEIGHT):
        empty = SparseBoostClassifier(100.0, class_weight="balanced").fit(X, y, weight)
        np.testing.assert_allclose(empty.predict_proba(X), 1 / 3)


@pytest.mark.parametrize("penalty", NORMS)
@pytest.mark.parametrize("sparse", [False, True])
def test_multilabel(sparse: bool, penalty: str) -> None:
    y = np.column_stack([TARGETS["labels"], np.ones(60, int), np.zeros(60, int)])
    given = sp.csr_array(y) if sparse else y
    model = SparseBoostClassifier(0.02, penalty=penalty).fit(X, given)
    assert model.converged_
    assert model.coef_.shape == (5, 7)
    assert model.decision_function(X).shape == (60, 5)
    probability = model.predict_proba(X)
    assert probability.shape == (60, 5)
    assert probability.min() >= 0
    assert probability.max() <= 1
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, probability > 0.5)
    assert predicted[:, 3].all(), "a label that always applies"
    assert not predicted[:, 4].any(), "a label that never applies"
    assert (predicted == y).mean() > 0.8
    assert np.isfinite(model.objective_)
    assert model.score(X, y) > 0.3
    if penalty == "l1":  # entrywise: tasks do not know of each other
        alone = SparseBoostClassifier(0.02, tol=1e-7).fit(X, y[:, 0])
        tight = SparseBoostClassifier(0.02, penalty="l1", tol=1e-7).fit(X, given)
        np.testing.assert_allclose(tight.coef_[0], alone.coef_[0], atol=1e-3)


def test_one_class_by_weight() -> None:
    """Weights may leave one class only: the model is then as sure as double precision lets it be."""
    y = TARGETS["binary"]
    model = quiet(SparseBoostClassifier(), X, y, y.astype(float))
    assert (model.predict(X) == 1).all()


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "eps-insensitive"])
def test_regressor_shapes(loss: str) -> None:
    flat = SparseBoostRegressor(0.05, loss=loss, tol=1e-3).fit(X, TARGETS["real"])
    column = SparseBoostRegressor(0.05, loss=loss, tol=1e-3).fit(X, TARGETS["real"][:, None])
    several = SparseBoostRegressor(0.05, loss=loss, tol=1e-3).fit(X, TARGETS["reals"])
    assert flat.predict(X).shape == (60,)
    assert column.predict(X).shape == (60, 1)
    assert several.predict(X).shape == (60, 3)
    np.testing.assert_array_equal(flat.coef_, column.coef_)
    assert flat.coef_.shape == (1, 7)
    assert several.coef_.shape == (3, 7)
    assert several.intercept_.shape == (3,)
    assert several.score(X, TARGETS["reals"]) > 0.3
    frame = SparseBoostRegressor(0.05, loss=loss, tol=1e-3).fit(X, pd.DataFrame(TARGETS["reals"]))
    np.testing.assert_array_equal(frame.coef_, several.coef_)


def test_regression_moves_with_the_target() -> None:
    """y + c moves the intercept, c·y with c·alpha scales the model (squared loss)."""
    y = TARGETS["real"]
    plain = SparseBoostRegressor(0.1, tol=1e-10).fit(X, y)
    moved = SparseBoostRegressor(0.1, tol=1e-10).fit(X, y + 5.0)
    scaled = SparseBoostRegressor(0.3, tol=1e-10).fit(X, 3.0 * y)
    np.testing.assert_allclose(moved.predict(X), plain.predict(X) + 5.0, atol=1e-4)
    np.testing.assert_allclose(scaled.predict(X), 3.0 * plain.predict(X), atol=1e-4)


def test_constant_target() -> None:
    for loss in ("squared", "huber", "absolute", "eps-insensitive"):
        model = SparseBoostRegressor(0.1, loss=loss).fit(X, np.full(60, 3.0))
        assert model.converged_
        np.testing.assert_allclose(model.predict(X), 3.0, atol=1e-6)


# -- selection ----------------------------------------------------------------------


@pytest.mark.parametrize("target", ["binary", "classes"])
def test_selection(target: str) -> None:
    model = SparseBoostClassifier(0.6 * alpha_max(X, TARGETS[target])).fit(X, TARGETS[target])
    mask, indices = model.get_support(), model.get_support(indices=True)
    assert 0 < mask.sum() < 7
    np.testing.assert_array_equal(mask, (model.coef_ != 0).any(axis=0))
    np.testing.assert_array_equal(indices, np.flatnonzero(mask))
    assert [h.feature for h in model.hypotheses_] == list(indices)
    np.testing.assert_array_equal(model.transform(X), X[:, mask])
    np.testing.assert_array_equal(model.transform(sp.csr_array(X)).toarray(), X[:, mask])
    assert list(model.get_feature_names_out()) == [f"x{j}" for j in indices]
    assert list(model.get_feature_names_out(list("abcdefg"))) == [list("abcdefg")[j] for j in indices]
    for hypothesis in model.hypotheses_:
        np.testing.assert_array_equal(hypothesis(X), X[:, hypothesis.feature])
    assert row_sparsity(model) == row_sparsity(model.coef_) == pytest.approx(1 - mask.sum() / 7)


def test_selection_of_nothing() -> None:
    model = SparseBoostClassifier(100.0).fit(X, TARGETS["classes"])
    assert model.transform(X).shape == (60, 0)
    assert row_sparsity(model) == 1.0
    assert "0 of 7 inputs" in model.summary()
    assert len(list(model.get_feature_names_out())) == 0


def test_set_output() -> None:
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    model = SparseBoostClassifier(0.05).fit(frame, TARGETS["binary"]).set_output(transform="pandas")
    chosen = model.transform(frame)
    assert isinstance(chosen, pd.DataFrame)
    pd.testing.assert_frame_equal(chosen, frame[list(model.get_feature_names_out())])
    polars = model.set_output(transform="polars").transform(frame)
    assert list(polars.columns) == list(model.get_feature_names_out())


# -- company ----------------------------------------------------------------------


@pytest.mark.parametrize("model", [SparseBoostClassifier(0.02), SparseBoostRegressor(0.02, loss=EpsInsensitive(0.2))])
def test_pickle_and_clone(model: Any) -> None:
    y = TARGETS["binary"] if isinstance(model, SparseBoostClassifier) else TARGETS["real"]
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.summary() == model.summary()
    assert again.history_ == model.history_
    fresh = clone(model)
    assert not hasattr(fresh, "coef_")
    assert fresh.get_params() == model.get_params()
    np.testing.assert_array_equal(fresh.fit(X, y).coef_, model.coef_)


def test_pipeline_and_search() -> None:
    pipeline = make_pipeline(StandardScaler(), SparseBoostClassifier())
    search = GridSearchCV(pipeline, {"sparseboostclassifier__alpha": [0.01, 0.1]}, cv=3).fit(X, TARGETS["classes"])
    assert search.best_score_ > 0.5
    selector = make_pipeline(SparseBoostRegressor(0.1), SparseBoostRegressor(0.001))
    selector.fit(X, TARGETS["real"])
    assert selector[-1].n_features_in_ == selector[0].n_active_
    assert selector.score(X, TARGETS["real"]) > 0.5


def test_coverage_error() -> None:
    rng = np.random.default_rng(0)
    score, y = rng.normal(size=(50, 4)), rng.integers(0, 4, 50)
    indicator = np.arange(4) == y[:, None]
    assert coverage_error(y, score) == pytest.approx(sklearn_coverage_error(indicator, score) - 1)
    by_hand = [sum(score[i, r] >= score[i, y[i]] for r in range(4) if r != y[i]) for i in range(50)]
    assert coverage_error(y, score) == pytest.approx(np.mean(by_hand))
    assert coverage_error(y, score) >= np.mean(score.argmax(axis=1) != y)
    labels = rng.random((50, 4)) < 0.4
    labels[labels.sum(axis=1) == 0, 0] = True
    assert coverage_error(labels, score) == pytest.approx(sklearn_coverage_error(labels, score) - 1)
    assert coverage_error(y, 10.0 * indicator) == 0
    assert coverage_error(y, np.zeros((50, 4))) == 3, "ties count"
    for bad_y, bad_score, words in [
        (["a"] * 50, score, "column numbers"),
        (y + 1, score, "column"),
        (y, score[:3], "row"),
    ]:
        with pytest.raises(ValueError, match=words):
            coverage_error(bad_y, bad_score)


def test_row_sparsity() -> None:
    coef = np.zeros((3, 8))
    coef[1, 2] = coef[2, 2] = coef[0, 5] = 1.0
    assert row_sparsity(coef) == 6 / 8
    assert row_sparsity(coef[1]) == 7 / 8
    assert row_sparsity(np.ones((2, 3))) == 0.0


def test_summary() -> None:
    names = ["age", "income", "height", "weight", "shoe", "town", "day"]
    y = np.array(["red", "green", "blue"])[TARGETS["classes"]]
    model = SparseBoostClassifier(0.05).fit(pd.DataFrame(X, columns=names), y)
    page = model.summary()
    assert f"{model.n_active_} of 7 inputs" in page
    for hypothesis in model.hypotheses_:
        assert repr(hypothesis) in page
    for name in set(names) - set(map(repr, model.hypotheses_)):
        assert name not in page.split("\n\n")[1], "an input that is not used has no weights to show"
    for label in ("red", "green", "blue", "(intercept)", "alpha 0.05", model.solver_):
        assert label in page
    assert f"{model.objective_:.6g}" in page
    assert f"{model.dual_gap_:.2g}" in page
    assert "certified gap reached the target" in page
    largest = model.coef_[:, model.hypotheses_[0].feature][0]
    assert f"{largest:.4g}" in page
    stopped = quiet(SparseBoostClassifier(1e-4, induce=1, max_rounds=2), X, TARGETS["binary"])
    assert "max_rounds was reached" in stopped.summary()


@pytest.mark.parametrize("settings", [{"penalty": "l2"}, {"penalty": None}, {"penalty": "smooth-l1"}, {"alpha": 0.0}])
def test_penalties_that_keep_everything(settings: dict[str, Any]) -> None:
    """Ridge, smooth l1 and no penalty shrink, never zero; their fits converge too."""
    y = TARGETS["real"]
    model = SparseBoostRegressor(**{"alpha": 0.05, "tol": 1e-6, **settings}).fit(X, y)
    assert model.converged_
    assert model.n_active_ == 7
    if settings.get("penalty", "") is None or settings.get("alpha") == 0.0:
        least_squares = np.linalg.lstsq(np.column_stack([X, np.ones(60)]), y, rcond=None)[0]
        np.testing.assert_allclose(model.coef_[0], least_squares[:-1], atol=1e-4)
