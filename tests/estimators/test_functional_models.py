"""The functional boosting estimators as a user meets them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sparseboost import (
    FunctionalBoostClassifier,
    FunctionalBoostRanker,
    FunctionalBoostRegressor,
)
from sparseboost.losses import Hinge, Logistic, Quantile, Softmax, Squared
from sparseboost.solvers.functional import VectorTrees

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


# -- what is learned -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("algorithm", ["residual", "repeated", "naive"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifiers_learn(loss: str, algorithm: str) -> None:
    X, y = IRIS
    names = np.array(["a", "b", "c"])[y]
    model = FunctionalBoostClassifier(loss, algorithm=algorithm, max_rounds=40).fit(X, names)
    assert model.score(X, names) > 0.9
    assert model.decision_function(X).shape == (150, 3)
    assert hasattr(model, "predict_proba") == (loss == "logistic")
    if loss == "logistic":
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    two = FunctionalBoostClassifier(loss, algorithm=algorithm, max_rounds=40).fit(X[:100], names[:100])
    assert two.decision_function(X).shape == (150,)
    assert two.score(X[:100], names[:100]) == 1.0
    labels = np.column_stack([y == 0, y > 0, X[:, 0] > 5.8]).astype(int)
    many = FunctionalBoostClassifier(loss, algorithm=algorithm, max_rounds=40).fit(X, labels)
    assert many.predict(X).shape == (150, 3)
    assert many.score(X, labels) > 0.9


def test_naive_squared_boosting_is_gradient_boosting() -> None:
    """The plain loop over scikit-learn's trees: fit the residuals, add a share of the tree."""
    X, y = DIABETES
    # no ties between cuts, and numbers of single precision, which scikit-learn's trees round to
    X = (X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)).astype(np.float32)
    ours = FunctionalBoostRegressor(
        algorithm="naive", learner=VectorTrees(2), step_size=0.3, output="last", max_rounds=25
    )
    stages = list(ours.fit(X, y).staged_predict(X))
    f = np.full(y.size, y.mean())
    for stage in stages:
        np.testing.assert_allclose(stage, f, rtol=1e-9)
        f = f + 0.3 * DecisionTreeRegressor(max_depth=2).fit(X, y - f).predict(X)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantiles_are_quantiles(q: float) -> None:
    X, y = DIABETES
    model = FunctionalBoostRegressor(Quantile(q), max_rounds=150).fit(X, y)
    assert abs(np.mean(y <= model.predict(X)) - q) < 0.07


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "quantile", "eps-insensitive"])
def test_several_outputs_are_learned_together(loss: str, rng: np.random.Generator) -> None:
    X = rng.normal(size=(150, 3))
    y = np.column_stack([X[:, 0] > 0, np.abs(X[:, 1]), X[:, 2]])
    model = FunctionalBoostRegressor(loss, max_rounds=80).fit(X, y)
    assert model.predict(X).shape == (150, 3)
    least = model.loss_.value(y, y).mean()  # a smooth loss is not zero at its minimum
    assert min(record["loss"] for record in model.history_) - least < 0.5 * (model.history_[0]["loss"] - least)
    assert model.hypotheses_[0].values.shape[1] == 3
    assert FunctionalBoostRegressor(loss, max_rounds=3).fit(X, y[:, 0]).predict(X).shape == (150,)


LEARNERS = [
    (MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=40), 1),
    (KNeighborsRegressor(5), 1),
    (SVR(), 3),
    (make_pipeline(StandardScaler(), SVR()), 3),
    (make_pipeline(StandardScaler(), Ridge()), 1),
    (DecisionTreeRegressor(max_depth=2), 1),
    (DecisionTreeClassifier(max_depth=2), 3),
    (KNeighborsClassifier(7), 3),
    (make_pipeline(StandardScaler(), LogisticRegression()), 3),
]


@pytest.mark.parametrize(("learner", "copies"), LEARNERS, ids=[type(one).__name__ + str(n) for one, n in LEARNERS])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_scikit_learn_estimator_is_a_weak_learner(learner: Any, copies: int, weighted: bool, rng) -> None:
    X, y = IRIS
    weight = rng.random(150) + 0.2 if weighted else None
    model = FunctionalBoostClassifier("hinge", learner=learner, max_rounds=12, random_state=0).fit(X, y, weight)
    assert model.score(X, y) > 0.7
    assert len(model.hypotheses_[0].estimators) == copies
    assert 0 < model.history_[1]["edge"] <= 1
    outputs = model.hypotheses_[0](X)
    assert outputs.shape == (150, 3)
    if copies == 3 and not isinstance(learner, SVR) and "svr" not in str(learner).lower():
        assert set(np.unique(outputs)) <= {-1.0, 1.0}
    again = FunctionalBoostClassifier("hinge", learner=learner, max_rounds=12, random_state=0).fit(X, y, weight)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))


def test_a_classifier_projects_by_the_inner_product(rng: np.random.Generator) -> None:
    """Labels sgn ∇ with weights |∇|: an exact stump classifier has the largest inner product of all stumps."""
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    model = FunctionalBoostRegressor(learner=DecisionTreeClassifier(max_depth=1, criterion="gini"), max_rounds=1)
    model.fit(X, y)
    gradient = y.mean() - y
    h = model.hypotheses_[0](X)[:, 0]
    assert model.history_[1]["edge"] == pytest.approx(abs(gradient @ h) / np.linalg.norm(gradient) / np.sqrt(40))
    coefficient = gradient @ h / 40
    np.testing.assert_allclose(model.predict(X), y.mean() - model.history_[1]["step"] * coefficient * h)


def test_a_users_loss_has_two_methods() -> None:
    class LogCosh:
        smooth, curvature = True, 1.0

        def value(self, y, score):
            return np.logaddexp(score - y, y - score)[:, 0]

        def gradient(self, y, score):
            return np.tanh(score - y)

    X, y = DIABETES
    y = (y - y.mean()) / y.std()
    model = FunctionalBoostRegressor(LogCosh(), algorithm="naive", max_rounds=60, output="last").fit(X, y)
    assert model.score(X, y) > 0.4
    assert np.all(np.diff([record["loss"] for record in model.history_]) <= 1e-12), "1/Λ never goes up"
    assert model.history_[1]["step"] == 1.0

    class Indicator:
        def value(self, y, score):
            assert y.shape == score.shape == (150, 3)
            return ((y - score) ** 2).sum(axis=1)

        def gradient(self, y, score):
            return 2 * (score - y)

    model = FunctionalBoostClassifier(Indicator(), max_rounds=40).fit(*IRIS)
    assert model.score(*IRIS) > 0.9
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ValueError, match="sparseboost's losses"):
        model.sparsify(0.1)


# -- output, stages, early stopping, warm start -----------------------------------------------------------------------


@pytest.mark.parametrize("output", ["best", "average", "last"])
@pytest.mark.parametrize("algorithm", ["residual", "repeated", "naive"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_stages_are_what_shorter_fits_return(output: str, algorithm: str) -> None:
    X, y = DIABETES
    given: dict[str, Any] = {"loss": "absolute", "algorithm": algorithm, "output": output, "step_size": 2.0}
    stages = list(FunctionalBoostRegressor(**given, max_rounds=15).fit(X, y).staged_predict(X))
    assert len(stages) == 16
    for rounds in (0, 1, 4, 9, 15):
        model = FunctionalBoostRegressor(**given, max_rounds=rounds).fit(X, y)
        np.testing.assert_allclose(stages[rounds], model.predict(X), rtol=1e-10)


def test_the_best_function_is_that_of_the_smallest_loss() -> None:
    X, y = DIABETES
    model = FunctionalBoostRegressor("absolute", max_rounds=60, step_size=4.0).fit(X, y)
    values = [record["loss"] for record in model.history_]
    assert model.best_round_ == int(np.argmin(values)) < 60
    assert np.abs(model.predict(X) - y).mean() == pytest.approx(min(values))
    last = FunctionalBoostRegressor("absolute", max_rounds=60, step_size=4.0, output="last").fit(X, y)
    assert np.abs(last.predict(X) - y).mean() == pytest.approx(values[-1])


def test_early_stopping_looks_at_data_set_aside() -> None:
    X, y = DIABETES
    given: dict[str, Any] = {"max_rounds": 500, "algorithm": "naive", "validation_fraction": 0.25, "random_state": 3}
    model = FunctionalBoostRegressor(**given, n_iter_no_change=8).fit(X, y)
    held = [record["validation_loss"] for record in model.history_]
    assert model.stopping_reason_ == "no_improvement"
    assert model.n_rounds_ == len(held) - 1 < 500
    assert model.best_round_ == int(np.argmin(held))
    assert min(held) == min(held[:-8]), "the last eight rounds brought nothing"
    assert "validation_loss" not in FunctionalBoostRegressor(**given).set_params(max_rounds=3).fit(X, y).history_[-1]
    patient = FunctionalBoostRegressor(**given, n_iter_no_change=3, tol=1e9).fit(X, y)
    assert patient.n_rounds_ == 3


@pytest.mark.parametrize("algorithm", ["residual", "repeated", "naive"])
@pytest.mark.parametrize("early", [None, 50])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_warm_start_adds_rounds(algorithm: str, early: int | None) -> None:
    X, y = IRIS
    given: dict[str, Any] = {"loss": "hinge", "algorithm": algorithm, "n_iter_no_change": early, "random_state": 0}
    whole = FunctionalBoostClassifier(**given, max_rounds=20).fit(X, y)
    model = FunctionalBoostClassifier(**given, max_rounds=12, warm_start=True).fit(X, y)
    first = model.hypotheses_[0]
    model.set_params(max_rounds=20).fit(X, y)
    assert model.hypotheses_[0] is first
    assert model.n_rounds_ == whole.n_rounds_
    assert [r["loss"] for r in model.history_] == [r["loss"] for r in whole.history_]
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    with pytest.raises(ValueError, match="at least the 20 rounds already done"):
        model.set_params(max_rounds=5).fit(X, y)
    assert model.n_rounds_ == 20, "a refused fit leaves the model as it was"


def test_limits_and_callbacks_stop_a_fit() -> None:
    X, y = DIABETES
    assert FunctionalBoostRegressor(algorithm="repeated", max_learners=20).fit(X, y).n_learners_ == 21
    assert FunctionalBoostRegressor(max_learners=20).fit(X, y).stopping_reason_ == "max_learners"
    seen: list[Any] = []
    model = FunctionalBoostRegressor(callbacks=[lambda record: seen.append(record) or len(seen) > 4]).fit(X, y)
    assert model.stopping_reason_ == "callback"
    assert len(seen) == 5
    assert FunctionalBoostRegressor(time_budget=1e-9).fit(X, y).stopping_reason_ == "time_budget"
    assert FunctionalBoostRegressor(max_rounds=4).fit(X, y).stopping_reason_ == "max_rounds"
    empty = FunctionalBoostRegressor(max_rounds=0).fit(X, y)
    np.testing.assert_allclose(empty.predict(X), y.mean())


@pytest.mark.parametrize("verbose", [1, 2])
def test_progress_is_shown(verbose: int, capsys: pytest.CaptureFixture[str]) -> None:
    FunctionalBoostClassifier("hinge", max_rounds=3, verbose=verbose).fit(*IRIS)
    text = capsys.readouterr().err
    assert "loss" in text


# -- warnings, weights, inputs -----------------------------------------------------------------------------------------


def test_cycles_are_warned_of_with_the_remedy(rng: np.random.Generator) -> None:
    X = rng.integers(0, 2, (400, 6)).astype(float)
    y = (X[:, :4] @ [1, 2, 4, 8]).astype(int)
    with pytest.warns(ConvergenceWarning, match="since round 1 .* algorithm='residual' or algorithm='repeated'"):
        naive = FunctionalBoostClassifier("hinge", algorithm="naive", max_rounds=150).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        residual = FunctionalBoostClassifier("hinge", max_rounds=150).fit(X, y)
    assert residual.history_[-1]["loss"] < 0.8 * naive.history_[-1]["loss"]


def test_slow_progress_is_no_cycle() -> None:
    X, y = make_blobs(1000, 6, centers=8, cluster_std=2.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        naive = FunctionalBoostClassifier("hinge", algorithm="naive", max_rounds=500).fit(X, y)
    values = [record["loss"] for record in naive.history_]
    assert values[-1] > 0.99 * values[-11], "per ten rounds it falls by less than one in a hundred"
    assert values[-1] < 0.2 * values[0]


def test_too_long_steps_are_warned_of() -> None:
    X, y = DIABETES
    with pytest.warns(ConvergenceWarning, match="lower step_size"), np.errstate(all="ignore"):
        model = FunctionalBoostRegressor(algorithm="naive", learner="trees", step=50.0, max_rounds=2000).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_weights_are_copies_and_zero_is_absence(loss: str, rng: np.random.Generator) -> None:
    X, y = IRIS
    count = rng.integers(0, 3, 150)
    copies = np.repeat(np.arange(150), count)
    one = FunctionalBoostClassifier(loss, max_rounds=15).fit(X, y, sample_weight=count)
    many = FunctionalBoostClassifier(loss, max_rounds=15).fit(X[copies], y[copies])
    np.testing.assert_allclose(one.decision_function(X), many.decision_function(X), atol=1e-8)
    balanced = FunctionalBoostClassifier(loss, max_rounds=5, class_weight={0: 2, 1: 0, 2: 1}).fit(X, y)
    weighted = FunctionalBoostClassifier(loss, max_rounds=5).fit(X, y, sample_weight=np.array([2, 0, 1])[y])
    np.testing.assert_array_equal(balanced.decision_function(X), weighted.decision_function(X))


def test_forms_of_input_agree() -> None:
    pd = pytest.importorskip("pandas")
    X, y = IRIS
    wanted = FunctionalBoostClassifier("hinge", max_rounds=10).fit(X, y)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    for form in (sp.csr_array(X), sp.csc_array(X), np.asfortranarray(X), frame, X.astype(np.float32).astype(float)):
        model = FunctionalBoostClassifier("hinge", max_rounds=10, n_jobs=2).fit(form, y)
        np.testing.assert_allclose(model.decision_function(form), wanted.decision_function(X), atol=1e-6)
    named = FunctionalBoostClassifier("hinge", max_rounds=3).fit(frame, y)
    assert any(name in repr(named.hypotheses_[0]) for name in "abcd")
    with pytest.raises(ValueError, match="another order"):
        named.predict(frame[["b", "a", "c", "d"]])


def test_history_has_what_the_docs_say() -> None:
    model = FunctionalBoostClassifier("hinge", max_rounds=5).fit(*IRIS)
    keys = {"round", "loss", "edge", "learners", "step", "projection_error", "gradient_norm", "average_loss", "theorem",
            "bound", "smallest_edge", "largest_gradient", "largest_distance", "seconds"}  # fmt: skip
    assert set(model.history_[-1]) == keys
    assert [record["learners"] for record in model.history_] == [0, 1, 2, 3, 4, 5]
    assert model.history_[-1]["bound"] >= model.history_[-1]["average_loss"]


# -- mistakes ----------------------------------------------------------------------------------------------------------

X_OK, Y_OK = IRIS
BAD = [
    (FunctionalBoostClassifier("log"), {}, ValueError, "loss must be one of"),
    (FunctionalBoostClassifier(Hinge), {}, TypeError, r"value\(y, score\) and gradient"),
    (FunctionalBoostClassifier(Squared()), {}, ValueError, "not for classes"),
    (FunctionalBoostClassifier(Hinge()), {}, ValueError, "two classes"),
    (FunctionalBoostClassifier(Softmax(4)), {}, ValueError, "3 classes"),
    (FunctionalBoostClassifier("exponential"), {}, ValueError, "'logistic' or 'hinge'"),
    (FunctionalBoostClassifier(algorithm="fast"), {}, ValueError, "algorithm must be one of"),
    (FunctionalBoostClassifier(output="first"), {}, ValueError, "output must be one of"),
    (FunctionalBoostClassifier(learner="forest"), {}, ValueError, "learner must be"),
    (FunctionalBoostClassifier(learner=DecisionTreeRegressor), {}, ValueError, "learner must be"),
    (FunctionalBoostClassifier(learner=StandardScaler()), {}, ValueError, "learner must be"),
    (FunctionalBoostClassifier(step="slow"), {}, ValueError, "step must be one of"),
    (FunctionalBoostClassifier("hinge", step="line-search"), {}, ValueError, "smooth loss"),
    (FunctionalBoostClassifier(step=-1.0), {}, ValueError, "step must be"),
    (FunctionalBoostClassifier(step_size=0.0), {}, ValueError, "step_size must be"),
    (FunctionalBoostClassifier(inner="s"), {}, ValueError, "inner must be 't'"),
    (FunctionalBoostClassifier(inner=1.5), {}, ValueError, "inner must be 't'"),
    (FunctionalBoostClassifier(inner=0), {}, ValueError, "inner must be"),
    (FunctionalBoostClassifier(max_rounds=-1), {}, ValueError, "max_rounds must be"),
    (FunctionalBoostClassifier(max_learners=0), {}, ValueError, "max_learners must be"),
    (FunctionalBoostClassifier(validation_fraction=1.0), {}, ValueError, "between 0 and 1"),
    (FunctionalBoostClassifier(n_iter_no_change=0), {}, ValueError, "n_iter_no_change must be"),
    (FunctionalBoostClassifier(orthogonal="yes"), {}, TypeError, "orthogonal must be"),
    (FunctionalBoostClassifier(class_weight=3), {}, ValueError, "class_weight must be"),
    (FunctionalBoostClassifier(), {"y": np.zeros(150)}, ValueError, "at least two classes"),
    (FunctionalBoostClassifier(), {"sample_weight": np.zeros(150)}, ValueError, "non-zero|positive sum"),
    (FunctionalBoostClassifier(), {"X": np.full((150, 2), np.nan)}, ValueError, "NaN"),
    (FunctionalBoostRegressor(Logistic()), {}, ValueError, "FunctionalBoostClassifier"),
    (FunctionalBoostRegressor(None), {}, TypeError, "loss must be one of"),
    (FunctionalBoostRegressor("absolute", step="1/(convexity*t)"), {}, ValueError, "strongly convex"),
    (FunctionalBoostRanker(Squared()), {}, ValueError, "one example at a time"),
    (FunctionalBoostRanker(), {"y": np.zeros(150)}, ValueError, "no pair to rank"),
    (FunctionalBoostRanker(), {"qid": np.arange(150)}, ValueError, "no pair to rank"),
    (FunctionalBoostRanker(), {"qid": np.arange(10)}, ValueError, "inconsistent numbers"),
]


@pytest.mark.parametrize(("model", "changed", "kind", "words"), BAD, ids=[f"{n}" for n in range(len(BAD))])
def test_mistakes_get_a_sentence(model: Any, changed: dict[str, Any], kind: type, words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        model.fit(**{"X": X_OK, "y": Y_OK, **changed})
    assert "\n" not in str(caught.value).strip() or "NaN" in str(caught.value)
    assert not hasattr(model, "history_")


def test_a_label_matrix_says_yes_and_no(rng: np.random.Generator) -> None:
    X, labels = rng.normal(size=(30, 3)), np.eye(2, dtype=int)[np.arange(30) % 2]
    with pytest.raises(ValueError, match="not 4 and 1"):
        FunctionalBoostClassifier().fit(X, 1 + 3 * labels)
