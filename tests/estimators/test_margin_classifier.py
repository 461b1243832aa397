"""MarginBoostClassifier as its users meet it: parameters, fitted attributes, spaces, stages, files, words."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeRegressor

import sparseboost
from sparseboost import MarginBoostClassifier, margins
from sparseboost.hypotheses import Features, Kernel, Products, Stumps, Trees, evaluate

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
METHODS: dict[str, dict[str, Any]] = {
    "adaboost": {"method": "adaboost"},
    "adaboost constant": {"method": "adaboost", "step": "constant"},
    "adaboost line-search": {"method": "adaboost", "step": "line-search"},
    "adaboost number": {"method": "adaboost", "step": 0.2},
    "adaboost list": {"method": "adaboost", "step": [0.5, 0.1]},
    "eps-adaboost": {"method": "eps-adaboost", "eps": 0.2},
    "adaboost+l1": {"method": "adaboost+l1"},
    "adaboost+l1 logistic": {"method": "adaboost+l1", "loss": "logistic", "nu": 0.3},
    "rlmp": {"method": "rlmp"},
    "rlmp logistic": {"method": "rlmp", "loss": "logistic"},
    "rlmp hinge": {"method": "rlmp", "loss": "hinge"},
    "cg-boost": {"method": "cg-boost"},
    "cg-boost 2/(k+2)": {"method": "cg-boost", "step": "2/(k+2)"},
    "cg-boost line-search": {"method": "cg-boost", "step": "line-search"},
    "cg-boost constant": {"method": "cg-boost", "step": "constant"},
    "cg-boost away": {"method": "cg-boost", "step": "away"},
    "lpboost": {"method": "lpboost"},
    "lpboost soft": {"method": "lpboost", "soft_margin": 0.2},
}
SPACES: dict[str, Any] = {
    "features": "features",
    "stumps": "stumps",
    "indicators": Stumps(outputs="indicator"),
    "bins": Stumps(thresholds="quantile", n_bins=6),
    "products": Products(degree=2),
    "kernel": Kernel("rbf"),
    "trees": Trees(),
    "learner": DecisionTreeRegressor(max_depth=2),
    "union": Stumps() + Features(),
}


def data(m: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 5)) * [1.0, 3.0, 0.2, 1.0, 10.0]
    return X, np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, "yes", "no")


@pytest.mark.parametrize("name", METHODS)
def test_what_every_method_leaves_behind(name: str) -> None:
    X, y = data()
    model = MarginBoostClassifier(**METHODS[name], max_rounds=25).fit(X, y)
    assert np.all(model.weights_ > 0)
    assert len(model.hypotheses_) == len(model.weights_) == model.n_active_ > 0
    votes = evaluate(model.hypotheses_, X) @ model.weights_ / model.weights_.sum()
    np.testing.assert_allclose(model.decision_function(X), votes)
    assert np.abs(votes).max() <= 1 + 1e-12
    assert margins(model, X, y).min() == pytest.approx(model.margin_, abs=1e-9)
    assert model.margin_ <= model.edge_ + 1e-12
    assert model.stopping_reason_ in ("gap", "max_rounds", "not_separable", "stalled")
    assert [record["round"] for record in model.history_] == list(range(model.n_rounds_ + 1))
    for record in model.history_:
        assert set(record) == {"round", "edge", "margin", "loss", "active", "gap", "bound", "seconds"}
    assert set(model.inputs_used_) == {j for h in model.hypotheses_ for j in h.inputs}
    assert set(model.predict(X)) <= {"yes", "no"}
    if hasattr(model, "predict_proba"):
        assert np.all((model.predict_proba(X)[:, 1] > 0.5) == (model.predict(X) == "yes"))
    stages = list(model.staged_decision_function(X))
    assert len(stages) == model.n_rounds_ + 1
    np.testing.assert_allclose(stages[-1], model.decision_function(X), atol=1e-9)
    assert not stages[0].any()
    for votes, record in zip(stages, model.history_, strict=True):
        assert np.where(y == "yes", votes, -votes).min() == pytest.approx(record["margin"], abs=1e-9)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "name", ["adaboost", "eps-adaboost", "adaboost+l1", "rlmp", "rlmp hinge", "cg-boost", "lpboost"]
)
def test_every_space(name: str, space: str, tmp_path: Path) -> None:
    X, y = data(40)
    model = MarginBoostClassifier(**METHODS[name], hypotheses=SPACES[space], max_rounds=6).fit(X, y)
    assert margins(model, X, y).min() == pytest.approx(model.margin_, abs=1e-9)
    assert model.certificate_scope_ == ("induced" if space in ("trees", "learner") else "space")
    sparseboost.save(model, tmp_path / "model.skops")
    again = sparseboost.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(list(again.staged_predict(X)), list(model.staged_predict(X)))
    assert repr(again.hypotheses_) == repr(model.hypotheses_)


def test_dense_and_sparse_agree() -> None:
    X, y = data()
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    for space in ("stumps", "features"):
        dense, sparse = (
            MarginBoostClassifier(hypotheses=space, max_rounds=15).fit(matrix, y) for matrix in (X, sp.csr_array(X))
        )
        np.testing.assert_allclose(dense.decision_function(X), sparse.decision_function(sp.coo_array(X)), atol=1e-8)


def test_a_negated_hypothesis_says_so() -> None:
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([1, 1, 0, 0])
    assert repr(MarginBoostClassifier().fit(X, y).hypotheses_) == "[x0 <= 2.5]"
    assert repr(MarginBoostClassifier().fit(X, 1 - y).hypotheses_) == "[x0 > 2.5]"
    assert repr(MarginBoostClassifier(hypotheses="features").fit(X - 2.5, 1 - y).hypotheses_) == "[x0 / 1.5]"
    assert repr(MarginBoostClassifier(hypotheses="features").fit(X - 2.5, y).hypotheses_) == "[-x0 / 1.5]"


def test_stumps_with_missing_values_and_categories() -> None:
    rng = np.random.default_rng(0)
    age, town = rng.uniform(20, 70, 80), rng.choice(["Rome", "Oslo", "Lima"], 80)
    y = np.where((age > 40) == (town == "Oslo"), "b", "a")
    age[::9] = np.nan
    frame = pd.DataFrame({"age": age, "town": pd.Categorical(town)})
    model = MarginBoostClassifier("lpboost", soft_margin=0.3, max_rounds=50).fit(frame, y)
    text = repr(model.hypotheses_)
    assert "town" in text
    assert "age" in text
    assert margins(model, frame, y).min() == pytest.approx(model.margin_, abs=1e-9)


def test_examples_without_weight_do_not_count() -> None:
    X, y = data()
    weight = np.ones(len(y))
    weight[::7] = 0.0
    kept = weight > 0
    for name in ("adaboost", "adaboost+l1", "lpboost soft"):
        one = MarginBoostClassifier(**METHODS[name], max_rounds=20).fit(X, y, sample_weight=weight)
        two = MarginBoostClassifier(**METHODS[name], max_rounds=20).fit(X[kept], y[kept])
        assert repr(one.hypotheses_) == repr(two.hypotheses_)
        assert one.margin_ == pytest.approx(two.margin_)


def test_several_classes_are_sent_to_one_vs_rest() -> None:
    X, y = make_classification(120, 6, n_informative=4, n_classes=3, random_state=0)
    with pytest.raises(ValueError, match=r"Only binary .* y has 3 classes; use OneVsRestClassifier"):
        MarginBoostClassifier().fit(X, y)
    model = OneVsRestClassifier(MarginBoostClassifier(max_rounds=30)).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.predict_proba(X).shape == (120, 3)


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), ("a", "b"), (2.0, 7.0)])
def test_labels_of_any_kind(labels: tuple[Any, Any]) -> None:
    X, y = data()
    named = np.where(y == "yes", labels[1], labels[0])
    model = MarginBoostClassifier(max_rounds=10).fit(X, named)
    assert model.predict(X).dtype == model.classes_.dtype
    other = MarginBoostClassifier(max_rounds=10).fit(X, y)
    np.testing.assert_array_equal(model.predict(X) == labels[1], other.predict(X) == "yes")


def test_probabilities_exist_where_a_loss_implies_them() -> None:
    X, y = data()
    for parameters in (METHODS["lpboost"], METHODS["rlmp hinge"]):
        model = MarginBoostClassifier(**parameters, max_rounds=3).fit(X, y)
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match="predict_proba"):
            model.predict_proba(X)
    log_odds = []
    for loss in ("exponential", "logistic"):
        model = MarginBoostClassifier("rlmp", loss=loss, radius=2.0).fit(X, y)
        score = evaluate(model.hypotheses_, X) @ model.weights_
        probability = model.predict_proba(X)
        log_odds.append(np.log(probability[:, 1] / probability[:, 0]) / score)
    np.testing.assert_allclose(log_odds[0], 2.0)
    np.testing.assert_allclose(log_odds[1], 1.0)


BAD = [
    ({"method": "boost"}, ValueError, "method must be one of 'adaboost', 'eps-adaboost'"),
    ({"eps": 0.0}, ValueError, "eps must be a finite number > 0"),
    ({"nu": 1.5}, ValueError, "nu must be at most 1, got 1.5"),
    ({"radius": -1}, ValueError, "radius must be a finite number > 0"),
    ({"soft_margin": 2}, ValueError, "soft_margin must be at most 1"),
    ({"loss": "hinge"}, ValueError, "loss must be one of 'exponential', 'logistic', got 'hinge'"),
    ({"method": "rlmp", "loss": "squared"}, ValueError, "loss must be one of 'exponential', 'logistic', 'hinge'"),
    ({"method": "adaboost", "step": "pairwise"}, ValueError, "step of method='adaboost' must be 'auto', 'optimal'"),
    ({"method": "adaboost", "step": -0.1}, ValueError, r"a list of numbers \(numbers >= 0\), got -0.1"),
    ({"method": "adaboost", "step": []}, ValueError, r"numbers >= 0\), got \[\]"),
    ({"method": "adaboost", "step": True}, ValueError, "got True"),
    ({"method": "cg-boost", "step": 1.5}, ValueError, r"numbers from 0 to 1\), got 1.5"),
    ({"method": "cg-boost", "step": "optimal"}, ValueError, r"step of method='cg-boost' must be 'auto', '2/\(k\+2\)'"),
    ({"tol": -1}, ValueError, "tol must be a finite number >= 0"),
    ({"max_rounds": 1.5}, TypeError, "max_rounds must be an integer"),
    ({"hypotheses": "forest"}, ValueError, "hypotheses must be one of 'features'"),
    ({"callbacks": print}, TypeError, "callbacks must be a list"),
]


@pytest.mark.parametrize(("parameters", "kind", "words"), BAD, ids=[str(p) for p, _, _ in BAD])
def test_bad_parameters_get_one_sentence(parameters: dict[str, Any], kind: type[Exception], words: str) -> None:
    X, y = data()
    model = MarginBoostClassifier(**parameters)
    before = dict(vars(model))
    with pytest.raises(kind, match=words) as caught:
        model.fit(X, y)
    assert str(caught.value).count(". ") == 0
    assert vars(model) == before


def test_bad_data_gets_one_sentence() -> None:
    X, y = data()
    with pytest.raises(ValueError, match=r"two classes among .* one class only, \['no'\]"):
        MarginBoostClassifier().fit(X, y, sample_weight=(y == "no").astype(float))
    with pytest.raises(ValueError, match="one class only"):
        MarginBoostClassifier().fit(X, np.full(len(y), "no"))
    model = MarginBoostClassifier(max_rounds=3).fit(X, y)
    with pytest.raises(ValueError, match=r"y must hold the classes of the fit, .* got 'maybe'"):
        margins(model, X, np.where(y == "yes", "maybe", y))
    with pytest.raises(ValueError, match="same length, got 60 and 3"):
        margins(model, X, y[:3])


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    X, y = data()
    model = MarginBoostClassifier(max_rounds=5).fit(X, y)
    before = model.decision_function(X)

    def interrupt(record: dict[str, Any]) -> None:
        if record["round"] == 3:
            raise KeyboardInterrupt

    model.callbacks = [interrupt]
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:30], y[:30])
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_limits_stop_the_fit_and_only_optimisers_complain() -> None:
    X, y = data()
    stop = MarginBoostClassifier(callbacks=[lambda record: record["round"] == 4]).fit(X, y)
    assert (stop.stopping_reason_, stop.n_rounds_) == ("callback", 4)
    late = MarginBoostClassifier("eps-adaboost", eps=1e-4, max_rounds=10**6, time_budget=0.1).fit(X, y)
    assert late.stopping_reason_ == "time_budget"
    assert len(late.history_) == late.n_rounds_ + 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MarginBoostClassifier("adaboost", max_rounds=5).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"stopped by max_rounds with a gap .* max_rounds or use step='p"):
        MarginBoostClassifier("cg-boost", step="2/(k+2)", max_rounds=5).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="raise max_rounds"):
        MarginBoostClassifier("lpboost", max_rounds=2).fit(X, y)
    twice = np.vstack([X, X]), np.concatenate([y, np.where(y == "yes", "no", "yes")])
    with pytest.warns(ConvergenceWarning, match=r"not separable .* use soft_margin > 0"):
        MarginBoostClassifier("lpboost").fit(*twice)


def test_data_without_any_edge_gives_an_empty_model() -> None:
    X, y = np.ones((6, 2)), np.array([0, 1, 0, 1, 0, 1])
    model = MarginBoostClassifier().fit(X, y)
    assert (model.stopping_reason_, model.n_rounds_, model.n_active_) == ("not_separable", 0, 0)
    assert model.margin_ == 0.0
    assert set(model.predict(X)) == {0}
    assert len(list(model.staged_decision_function(X))) == 1


def test_parameters_and_copies() -> None:
    model = MarginBoostClassifier("cg-boost", step=[0.5, 0.25], radius=3.0, max_rounds=4)
    assert clone(model).get_params() == model.get_params()
    X, y = data()
    np.testing.assert_array_equal(clone(model).fit(X, y).decision_function(X), model.fit(X, y).decision_function(X))
    shares = MarginBoostClassifier("cg-boost", step=lambda k: [0.5, 0.25, 0.25, 0.25][k], radius=3.0, max_rounds=4)
    np.testing.assert_allclose(shares.fit(X, y).decision_function(X), model.decision_function(X))


def test_verbose_shows_the_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = data()
    MarginBoostClassifier(max_rounds=3, verbose=2).fit(X, y)
    lines = capsys.readouterr().err.strip().splitlines()
    assert len([line for line in lines if line.startswith("round")]) == 4
    assert "margin" in lines[-1]
    assert "edge" in lines[-1]


def test_summary_tells_bracket_reason_and_hypotheses() -> None:
    X, y = data()
    model = MarginBoostClassifier(max_rounds=40).fit(X, y)
    text = model.summary()
    assert f"{model.n_active_} hypotheses on {len(model.inputs_used_)} of 5 inputs, method adaboost+l1" in text
    assert f"between {max(model.margin_, 0.0):.6g} and " in text
    assert "stopped after 40 rounds" in text
    assert repr(model.hypotheses_[int(model.weights_.argmax())]) in text.splitlines()[5]
    empty = MarginBoostClassifier().fit(np.ones((4, 1)), [0, 1, 0, 1])
    assert "the data is not separable" in empty.summary()
