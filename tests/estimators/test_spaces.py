"""What holds for every space of hypotheses, seen through the estimators."""

from __future__ import annotations

import gc
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeRegressor

from sparseboost import (
    SparseBoostClassifier,
    SparseBoostClassifierCV,
    SparseBoostRegressor,
    SparseBoostRegressorCV,
    alpha_max,
    load,
    save,
    sparse_boost_path,
)
from sparseboost.hypotheses import Dictionary, Features, InformationGain, Kernel, Products, Stumps, Trees, evaluate

SPACES = {
    "stumps": Stumps(),
    "binned stumps": Stumps(thresholds="quantile", n_bins=16, outputs="indicator"),
    "products": Products(degree=2),
    "grown products": Products(degree=3, search="grow"),
    "kernel": Kernel("rbf", gamma=0.5, support="all"),
    "trees": Trees(max_depth=2),
    "union": Features() + Stumps(),
    "learner": DecisionTreeRegressor(max_depth=1),
}
HEURISTIC = {"grown products", "trees", "learner"}
TASKS = ("binary", "classes", "regression")
every_space = pytest.mark.parametrize("name", SPACES)
every_task = pytest.mark.parametrize("task", TASKS)


def data(task, m=90, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    signal = 2.0 * (X[:, 0] > 0.3) - X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    if task == "binary":
        return X, np.where(signal + 0.3 * rng.normal(size=m) > signal.mean(), "yes", "no")
    if task == "classes":
        return X, np.digitize(signal, np.quantile(signal, [0.33, 0.66]))
    return X, signal + 0.1 * rng.normal(size=m)


def fitted(name, task, share=0.3, **parameters):
    X, y = data(task)
    family = SparseBoostRegressor if task == "regression" else SparseBoostClassifier
    options = {"tol": 1e-4, "random_state": 0, "max_rounds": 60, **parameters}
    alpha = share * alpha_max(X, y, hypotheses=SPACES[name], random_state=0)
    return family(alpha, hypotheses=SPACES[name], **options).fit(X, y), X, y


def scores(model, X):
    if hasattr(model, "decision_function"):
        score = model.decision_function(X)
        return score[:, None] if score.ndim == 1 else score
    return model.predict(X).reshape(len(X), -1)


@every_task
@every_space
def test_a_model_is_the_sum_of_its_hypotheses(name, task):
    model, X, _ = fitted(name, task)
    assert model.n_active_ == len(model.hypotheses_) > 0
    assert model.coef_.shape[1] == model.n_active_
    by_hand = sum(np.outer(h(X), model.coef_[:, j]) for j, h in enumerate(model.hypotheses_)) + model.intercept_
    np.testing.assert_allclose(scores(model, X), by_hand, atol=1e-10)
    np.testing.assert_allclose(evaluate(model.hypotheses_, X), np.column_stack([h(X) for h in model.hypotheses_]))


@every_task
@every_space
def test_the_certificate_says_what_it_covers(name, task):
    model, _, _ = fitted(name, task)
    assert model.certificate_scope_ == ("induced" if name in HEURISTIC else "space")
    assert model.dual_gap_ >= 0.0
    if name not in HEURISTIC:
        assert model.converged_, model.stopping_reason_
    assert ("heuristic" in model.summary()) == (name in HEURISTIC)


@every_space
def test_support_transform_and_inputs_speak_of_the_original_inputs(name):
    model, X, _ = fitted(name, "binary")
    used = sorted({j for h in model.hypotheses_ for j in h.inputs})
    assert model.inputs_used_.tolist() == used
    assert np.flatnonzero(model.get_support()).tolist() == used
    np.testing.assert_array_equal(model.transform(X), X[:, used])
    assert model.get_feature_names_out().tolist() == [f"x{j}" for j in used]


@every_space
def test_prediction_looks_at_no_other_input(name):
    model, X, _ = fitted(name, "binary", max_features=3 if name != "kernel" else None)
    other = np.array(X)
    other[:, ~model.get_support()] = 1e6
    np.testing.assert_array_equal(scores(model, other), scores(model, X))


@pytest.mark.parametrize("name", [name for name in SPACES if name != "kernel"])
def test_the_number_of_inputs_can_be_limited(name):
    model, _, _ = fitted(name, "binary", share=0.05, max_features=3)  # a tree of depth 2 looks at up to three
    assert 1 <= model.inputs_used_.size <= 3
    assert model.stopping_reason_ in ("max_features", "gap")


@every_task
@every_space
def test_stages_end_with_the_model(name, task):
    model, X, _ = fitted(name, task)
    staged = model.staged_decision_function if hasattr(model, "staged_decision_function") else model.staged_predict
    *_, last = staged(X)
    np.testing.assert_allclose(last.reshape(len(X), -1), scores(model, X), atol=1e-10)


@every_space
def test_a_second_fit_starts_where_the_first_ended(name):
    model, X, y = fitted(name, "regression", warm_start=True)
    before = model.objective_
    model.fit(X, y)
    assert model.history_[0]["objective"] <= before * (1 + 1e-9)
    assert model.n_rounds_ <= 1 or name in HEURISTIC


@every_space
def test_models_can_be_copied_and_kept(name, tmp_path):
    model, X, y = fitted(name, "classes")
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)  # learners too: a seed makes them repeatable
    np.testing.assert_array_equal(scores(pickle.loads(pickle.dumps(model)), X), scores(model, X))
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(scores(load(tmp_path / "model.skops"), X), scores(model, X))


@pytest.mark.parametrize("corrective", [True, False, "alternate"])
@pytest.mark.parametrize("update", ["adaboost", "gradboost"])
@every_space
def test_the_papers_updates_never_raise_the_objective(name, update, corrective):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, _, _ = fitted(name, "binary", update=update, corrective=corrective, induce=3, max_rounds=12)
    objective = np.array([record["objective"] for record in model.history_])
    assert np.all(np.diff(objective) <= 1e-12)
    assert objective[-1] < objective[0]


@every_space
def test_paths_and_cross_validation(name):
    X, y = data("regression")
    path = sparse_boost_path(X, y, alphas=4, eps=0.1, hypotheses=SPACES[name], random_state=0, tol=1e-3)
    assert path.n_active[0] == 0 < path.n_active[-1]
    assert np.all(path.dual_gaps >= 0)
    parameters = {"hypotheses": SPACES[name], "alphas": 3, "eps": 0.2, "cv": 2, "random_state": 0, "tol": 1e-3}
    model = SparseBoostRegressorCV(**parameters).fit(X, y)
    assert np.isfinite(model.score(X, y))
    X, y = data("classes")
    model = SparseBoostClassifierCV(**parameters, scoring="accuracy").fit(X, y)
    assert model.alpha_ in model.alphas_


def test_names_stand_for_spaces_and_nonsense_is_refused():
    X, y = data("binary")
    for word in ("features", "stumps", "products", "trees"):
        assert SparseBoostClassifier(0.1, hypotheses=word).fit(X, y).n_active_ >= 0
    with pytest.raises(ValueError, match="hypotheses must be one of"):
        SparseBoostClassifier(hypotheses=3).fit(X, y)
    with pytest.raises(ValueError, match="standardize=True is for hypotheses='features'"):
        SparseBoostClassifier(hypotheses="stumps", standardize=True).fit(X, y)
    with pytest.raises(ValueError, match="template can be an array"):
        SparseBoostClassifier(hypotheses="stumps", update="adaboost", template=np.ones(6)).fit(X, y)
    with pytest.raises(ValueError, match="ebic"):
        SparseBoostRegressorCV(hypotheses="stumps", criterion="ebic").fit(X, np.arange(len(X), dtype=float))


def test_pruned_hypotheses_may_come_back():
    """A stump that helps early, is made superfluous by others and pruned, is found again when the data change."""
    X, y = data("regression", m=200)
    model, met, back = SparseBoostRegressor(1.0, hypotheses="stumps", warm_start=True), set(), False
    largest = alpha_max(X, y, hypotheses="stumps")
    for share in (0.5, 0.02, 0.5):
        model.set_params(alpha=share * largest).fit(X, y)
        active = {repr(h) for h in model.hypotheses_}
        back = back or (len(met) > 0 and active <= met and len(active) < len(met))
        met |= active
    assert back


def test_information_gain_chooses_what_tells_most():
    X, y = load_iris(return_X_y=True)
    space = InformationGain(Stumps(outputs="indicator"), 5)
    model = SparseBoostClassifier(0.01, hypotheses=space).fit(X, y)
    assert 1 <= model.n_active_ <= 5
    counted = np.random.default_rng(0).integers(0, 2, size=(200, 12)).astype(float)
    label = np.where(counted[:, 3] + counted[:, 7] + 0.5 * np.random.default_rng(1).normal(size=200) > 1, 1, -1)
    chosen = SparseBoostClassifier(1e-4, hypotheses=InformationGain(Features(), 2)).fit(counted, label)
    assert chosen.inputs_used_.tolist() == [3, 7]
    with pytest.raises(ValueError, match="outputs 0 and 1"):
        SparseBoostClassifier(hypotheses=InformationGain(Features(), 2)).fit(X[:100], y[:100])


def test_information_gain_of_products():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(400, 8)).astype(float)
    y = np.where(X[:, 2] * X[:, 5] + 0.3 * rng.normal(size=400) > 0.5, 1, -1)
    products = Products(degree=2, interaction_only=True)
    model = SparseBoostClassifier(1e-3, hypotheses=InformationGain(products, 1)).fit(X, y)
    assert [repr(h) for h in model.hypotheses_] == ["x2 * x5"]
    written = np.column_stack([X, *(X[:, a] * X[:, b] for a in range(8) for b in range(a + 1, 8))])
    explicit = SparseBoostClassifier(1e-3, hypotheses=InformationGain(Features(), 5)).fit(written, y)
    listed = SparseBoostClassifier(1e-3, hypotheses=InformationGain(products, 5)).fit(X, y)
    assert listed.objective_ == pytest.approx(explicit.objective_, rel=1e-3)
    with pytest.raises(ValueError, match="can be listed; lower the degree"):
        SparseBoostClassifier(hypotheses=InformationGain(Products(degree=12), 5)).fit(np.tile(X, 3), y)


@every_space
def test_the_data_of_a_fit_are_let_go_at_once_and_not_when_garbage_is_collected(name):
    def held():
        return {id(thing) for thing in gc.get_objects() if isinstance(thing, Dictionary)}

    fitted(name, "binary")  # compiles
    gc.collect()
    before = held()
    gc.disable()
    try:
        model, _, _ = fitted(name, "binary")
        left = held() - before
    finally:
        gc.enable()
    assert model.n_active_ > 0
    assert not left
