"""Laws of the estimators that choose alpha."""

from __future__ import annotations

import pickle
import tempfile
from threading import Lock
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, make_scorer, mean_squared_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseboost import (
    SparseBoostClassifier,
    SparseBoostClassifierCV,
    SparseBoostRegressor,
    SparseBoostRegressorCV,
    SparsePath,
    alpha_max,
    sparse_boost_path,
)
from sparseboost.estimators import cv_base, jobs
from sparseboost.estimators.model_choice import take_rows
from sparseboost.estimators.path import make_path
from sparseboost.hypotheses import Kernel, Stumps

FEW = {"alphas": 8, "eps": 0.05, "cv": 3}


@pytest.fixture
def regression(rng):
    X = rng.normal(size=(60, 12))
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + 0.5 * rng.normal(size=60)


@pytest.fixture
def classification(rng):
    X = rng.normal(size=(90, 10))
    return X, np.argmax(X[:, :3] + 0.7 * rng.gumbel(size=(90, 3)), axis=1)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        SparseBoostClassifierCV(alphas=5, cv=3),
        SparseBoostRegressorCV(alphas=5, cv=3),
        SparseBoostRegressorCV(alphas=5, criterion="ebic"),
    ]
)
def test_sklearn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([SparseBoostClassifierCV(), SparseBoostRegressorCV(rule="1se", scoring="r2")])
def test_sklearn_check_of_defaults(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_model_is_that_of_the_path_at_the_chosen_alpha(classification):
    X, y = classification
    model = SparseBoostClassifierCV(**FEW).fit(X, y)
    np.testing.assert_array_equal(model.coef_, model.path_.coef(model.best_index_))
    np.testing.assert_array_equal(model.intercept_, model.path_.intercepts[model.best_index_])
    assert model.converged_
    assert model.dual_gap_ == pytest.approx(model.path_.dual_gaps[model.best_index_], abs=1e-12)
    assert model.alpha == model.alpha_ == model.alphas_[model.best_index_]
    assert "SparseBoostClassifierCV" in model.summary()
    assert len(list(model.staged_decision_function(X))) == len(model.history_) == model.n_rounds_ + 1
    assert "alpha" not in model.get_params()


@pytest.mark.parametrize("space", ["features", "stumps"])
def test_the_model_is_as_good_as_the_plain_one_at_the_chosen_alpha(space, classification):
    X, y = classification
    model = SparseBoostClassifierCV(**FEW, hypotheses=space, tol=1e-7).fit(X, y)
    plain = SparseBoostClassifier(alpha=model.alpha_, hypotheses=space, tol=1e-7).fit(X, y)
    assert model.objective_ - model.dual_gap_ <= plain.objective_
    assert plain.objective_ - plain.dual_gap_ <= model.objective_
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-3)
    assert set(plain.inputs_used_) == set(model.inputs_used_)


def test_the_model_goes_on_where_the_path_had_to_stop(classification):
    X, y = classification
    with pytest.warns(ConvergenceWarning):
        model = SparseBoostClassifierCV(alphas=[1e-3], update="gradboost", induce=1, tol=1e-8, max_rounds=2).fit(X, y)
    assert not model.path_.converged[0]
    assert model.n_rounds_ == 2
    assert model.objective_ < model.path_.objectives[0]


def test_results_hold_every_split(regression):
    X, y = regression
    model = SparseBoostRegressorCV(**FEW).fit(X, y)
    results = model.cv_results_
    assert {"alphas", "mean_test_score", "std_test_score", "se", "mean_n_active", "split2_test_score"} <= set(results)
    assert all(value.shape == (8,) for value in results.values())
    splits = np.array([results[f"split{i}_test_score"] for i in range(3)])
    np.testing.assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], splits.std(axis=0))
    np.testing.assert_allclose(results["se"], splits.std(axis=0, ddof=1) / np.sqrt(3))
    np.testing.assert_array_equal(results["alphas"], model.alphas_)
    assert isinstance(model.path_, SparsePath)
    np.testing.assert_array_equal(model.alphas_, sparse_boost_path(X, y, alphas=8, eps=0.05).alphas)
    assert model.best_index_ == np.argmax(results["mean_test_score"])


def test_the_default_score_is_the_loss_of_examples_not_seen(regression, rng):
    X, y = regression
    weight = rng.uniform(0.5, 2.0, 60)
    model = SparseBoostRegressorCV(**FEW, tol=1e-8).fit(X, y, sample_weight=weight)
    for number, (train, test) in enumerate(KFold(3).split(X)):
        for i, alpha in enumerate(model.alphas_):
            part = SparseBoostRegressor(alpha=alpha, tol=1e-8).fit(X[train], y[train], sample_weight=weight[train])
            error = mean_squared_error(y[test], part.predict(X[test]), sample_weight=weight[test])
            assert model.cv_results_[f"split{number}_test_score"][i] == pytest.approx(-error / 2, rel=1e-3)


def test_scorers_get_fitted_models(classification):
    X, y = classification
    model = SparseBoostClassifierCV(**FEW, scoring="neg_log_loss").fit(X, y)
    default = SparseBoostClassifierCV(**FEW).fit(X, y)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], default.cv_results_["mean_test_score"], rtol=1e-9)
    own = SparseBoostClassifierCV(**FEW, scoring=lambda model, X, y: -model.n_features_in_).fit(X, y)
    np.testing.assert_array_equal(own.cv_results_["mean_test_score"], -10)
    assert own.best_index_ == 0  # among equals the largest alpha


def test_scorers_get_weights_where_they_take_them(regression, rng):
    X, y = regression
    weight = rng.uniform(0.1, 3.0, 60)
    named = SparseBoostRegressorCV(**FEW, scoring="neg_mean_squared_error").fit(X, y, sample_weight=weight)
    default = SparseBoostRegressorCV(**FEW).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(named.cv_results_["mean_test_score"], 2 * default.cv_results_["mean_test_score"])
    SparseBoostRegressorCV(**FEW, scoring=lambda model, X, y: 0.0).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("seed", range(5))
def test_the_one_standard_error_alpha_is_never_below_the_best(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 15))
    y = X[:, 0] + 2.0 * rng.normal(size=40)
    best, simple = (SparseBoostRegressorCV(alphas=10, cv=4, rule=rule).fit(X, y) for rule in ("min", "1se"))
    assert simple.alpha_ >= best.alpha_
    results = simple.cv_results_
    bar = results["mean_test_score"][best.best_index_] - results["se"][best.best_index_]
    assert results["mean_test_score"][simple.best_index_] >= bar
    assert np.all(results["mean_test_score"][: simple.best_index_] < bar)


def test_one_split_is_enough(regression):
    model = SparseBoostRegressorCV(alphas=5, cv=ShuffleSplit(1, random_state=0), rule="1se").fit(*regression)
    assert model.best_index_ == np.argmax(model.cv_results_["mean_test_score"])


@pytest.mark.parametrize("enough", [0.0, np.inf], ids=["processes", "threads"])
@pytest.mark.parametrize("data", [np.asarray, sp.csr_array])
def test_results_do_not_depend_on_n_jobs(classification, data, enough, monkeypatch):
    monkeypatch.setattr(cv_base, "WORTH_PROCESSES", enough)
    monkeypatch.setattr(jobs, "PATIENCE", 1e9)  # so that processes do take part
    X, y = classification
    one, two = (SparseBoostClassifierCV(**FEW, n_jobs=jobs).fit(data(X), y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.path_.coefs, two.path_.coefs)
    for name, value in one.cv_results_.items():
        np.testing.assert_array_equal(value, two.cv_results_[name])


@pytest.mark.parametrize("enough", [0.0, np.inf], ids=["processes", "threads"])
def test_results_do_not_depend_on_who_draws_first(classification, enough, monkeypatch):
    monkeypatch.setattr(cv_base, "WORTH_PROCESSES", enough)
    monkeypatch.setattr(jobs, "PATIENCE", 1e9)  # so that processes do take part
    X, y = classification
    space = Kernel("rbf", gamma=0.1, support="perceptron")
    one, two = (
        SparseBoostClassifierCV(**FEW, hypotheses=space, random_state=np.random.RandomState(0), n_jobs=jobs).fit(X, y)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


def test_processes_leave_no_file_behind(classification, monkeypatch, tmp_path):
    monkeypatch.setattr(cv_base, "WORTH_PROCESSES", 0.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lent, lend = [], cv_base.lend
    monkeypatch.setattr(
        cv_base, "lend", lambda *values, in_file: (lent.append(in_file), lend(*values, in_file=in_file))[1]
    )
    X, y = classification
    SparseBoostClassifierCV(**FEW, n_jobs=2).fit(X, y)
    with pytest.raises(ZeroDivisionError):
        SparseBoostClassifierCV(**FEW, n_jobs=2, scoring=lambda model, X, y: 1 / 0).fit(X, y)
    assert lent == [True, True]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("setting", [{}, {"n_jobs": 2, "backend": "threading"}, {"n_jobs": 2}])
def test_processes_start_only_where_they_are_wanted(classification, setting, monkeypatch):
    monkeypatch.setattr(cv_base, "WORTH_PROCESSES", 0.0)
    asked, do_all = [], cv_base.do_all
    monkeypatch.setattr(cv_base, "do_all", lambda jobs, helpers: (asked.append(helpers), do_all(jobs, helpers))[1])
    with joblib.parallel_config(**setting):
        SparseBoostClassifierCV(**FEW).fit(*classification)
    assert asked == ([1] if setting == {"n_jobs": 2} else [])


@pytest.mark.parametrize(("tol", "rough"), [(1e-6, 1e-5), (3e-4, 1e-3), (1e-2, 1e-2)])
def test_models_of_folds_are_solved_roughly(regression, tol, rough, monkeypatch):
    wanted = []

    def spy(problem, solver, alphas, tol, *rest):
        wanted.append(tol)
        return make_path(problem, solver, alphas, tol, *rest)

    monkeypatch.setattr(cv_base, "make_path", spy)
    model = SparseBoostRegressorCV(**FEW, tol=tol).fit(*regression)
    assert wanted == pytest.approx([tol, rough, rough, rough])
    assert model.dual_gap_ <= tol * np.mean(np.square(regression[1] - regression[1].mean())) / 2


def test_processes_do_not_need_to_know_callbacks(classification, monkeypatch):
    monkeypatch.setattr(cv_base, "WORTH_PROCESSES", 0.0)
    lock, rounds = Lock(), []  # a lock cannot be sent to another process

    def callback(record):
        with lock:
            rounds.append(record["round"])

    SparseBoostClassifierCV(**FEW, n_jobs=2, callbacks=[callback]).fit(*classification)
    assert rounds


class Spy(GroupKFold):
    """A grouped splitter that remembers what it split."""

    seen: list[Any] = []  # noqa: RUF012

    def split(self, X, y=None, groups=None):
        for train, test in super().split(X, y, groups):
            Spy.seen.append((np.asarray(groups)[train], np.asarray(groups)[test]))
            yield train, test


def check_groups(X, y, groups):
    Spy.seen.clear()
    model = SparseBoostRegressorCV(alphas=4, cv=Spy(3)).fit(X, y, groups=groups)
    assert len(Spy.seen) == 3
    for train, test in Spy.seen:
        assert not set(train) & set(test)
    wanted = [(train, test) for train, test in GroupKFold(3).split(X, y, groups)]
    same = SparseBoostRegressorCV(alphas=4, cv=wanted).fit(X, y)
    np.testing.assert_array_equal(model.cv_results_["mean_test_score"], same.cv_results_["mean_test_score"])


def test_groups_stay_together(regression):
    check_groups(*regression, np.arange(60) % 6)


def test_groups_are_routed(regression, routing):
    check_groups(*regression, np.arange(60) % 6)


def test_weights_are_routed_to_scorers_that_ask(regression, routing, rng):
    X, y = regression
    weight = rng.uniform(0.1, 3.0, 60)
    scores = []
    for asked in (True, False):
        scorer = get_scorer("neg_mean_squared_error").set_score_request(sample_weight=asked)
        model = SparseBoostRegressorCV(**FEW, scoring=scorer).fit(X, y, sample_weight=weight)
        scores.append(model.cv_results_["mean_test_score"])
    default = SparseBoostRegressorCV(**FEW).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(scores[0], 2 * default.cv_results_["mean_test_score"])
    assert not np.allclose(scores[0], scores[1])
    with pytest.raises(TypeError, match="groups"):
        SparseBoostRegressorCV(**FEW).fit(X, y, groups=np.arange(60))


def test_other_metadata_is_routed_to_a_scorer(regression, routing):
    X, y = regression
    price = np.linspace(1.0, 2.0, 60)

    def priced(y, prediction, price):
        return -float(np.mean(price * (y - prediction) ** 2))

    scorer = make_scorer(priced).set_score_request(price=True)
    model = SparseBoostRegressorCV(**FEW, scoring=scorer).fit(X, y, price=price)
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()


def test_a_pipeline_routes_groups_to_the_splitter(regression, routing):
    X, y = regression
    model = make_pipeline(StandardScaler(), SparseBoostRegressorCV(alphas=3, cv=GroupKFold(3)))
    assert model.fit(X, y, groups=np.arange(60) % 5)[-1].converged_


def test_weights_and_repetition_choose_the_same_model(regression, rng):
    X, y = regression
    times = rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), times)
    splits = list(KFold(3).split(X))
    repeated = [tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in splits]
    options = {"alphas": 6, "tol": 1e-9}
    one = SparseBoostRegressorCV(**options, cv=splits).fit(X, y, sample_weight=times)
    two = SparseBoostRegressorCV(**options, cv=repeated).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], rtol=1e-5)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-4)


def test_ebic_finds_the_true_support():
    truth, exact = {3, 17, 31}, 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 40))
        signal = X[:, sorted(truth)] @ [3.0, -3.0, 2.5]
        y = signal + rng.normal(size=300)
        model = SparseBoostRegressorCV(criterion="ebic", gamma=1.0).fit(X, y)
        found = set(model.get_support(indices=True).tolist())
        assert found >= truth
        assert model.n_active_ <= SparseBoostRegressorCV(alphas=20, cv=3).fit(X, y).n_active_
        assert model.alpha_ == model.alphas_[np.argmin(model.cv_results_["ebic"])]
        exact += found == truth
        classes = SparseBoostClassifierCV(criterion="ebic", gamma=1.0).fit(X, signal + rng.logistic(size=300) > 0)
        assert set(classes.get_support(indices=True).tolist()) >= truth
    assert exact >= 4


def test_ebic_takes_weights_for_repetition(regression, rng):
    X, y = regression
    times = rng.integers(1, 4, 60)
    options = {"alphas": 8, "criterion": "ebic", "tol": 1e-9}
    weighted = SparseBoostRegressorCV(**options).fit(X, y, sample_weight=times)
    repeated = SparseBoostRegressorCV(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.cv_results_["ebic"], repeated.cv_results_["ebic"], rtol=1e-5)


def test_several_outputs_labels_and_frames(classification):
    pandas = pytest.importorskip("pandas")
    X, y = classification
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    model = SparseBoostClassifierCV(**FEW, scoring="accuracy").fit(frame, np.array(["a", "b", "c"])[y])
    assert set(model.predict(frame)) <= {"a", "b", "c"}
    indicator = np.column_stack([y == 0, y == 1]).astype(int)
    assert SparseBoostClassifierCV(**FEW).fit(sp.csr_array(X), indicator).predict(X).shape == (90, 2)
    assert SparseBoostRegressorCV(**FEW).fit(X, X[:, :2]).predict(X).shape == (90, 2)


def test_given_alphas_and_other_updates(regression):
    X, y = regression
    top = alpha_max(X, y)
    model = SparseBoostRegressorCV(alphas=[0.1 * top, 0.9 * top], cv=3, update="gradboost", loss="huber").fit(X, y)
    np.testing.assert_array_equal(model.alphas_, [0.9 * top, 0.1 * top])
    assert model.solver_ == "gradboost"


def test_clone_pickle_and_search(classification):
    X, y = classification
    model = SparseBoostClassifierCV(**FEW).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "alpha")
    search = GridSearchCV(SparseBoostClassifierCV(alphas=4, cv=2), {"penalty": ["l1", "l1/linf"]}, cv=2).fit(X, y)
    assert search.best_estimator_.converged_


def test_a_failed_fit_leaves_the_model_as_it_was(regression):
    X, y = regression
    model = SparseBoostRegressorCV(**FEW).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="rule"):
        model.set_params(rule="two").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alphas": []}, "alphas must be"),
        ({"alphas": [-1.0]}, "alphas must be"),
        ({"rule": "2se"}, "rule must be one of 'min', '1se'"),
        ({"criterion": "aic"}, "criterion must be one of 'cv', 'ebic'"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"scoring": 3}, "scoring must be"),
        ({"scoring": lambda model, X, y: np.nan}, "no finite mean score"),
        ({"cv": []}, "cv gave no splits"),
        ({"cv": 100}, "greater than the number of samples"),
    ],
)
def test_errors_are_one_sentence(regression, parameters, message):
    with pytest.raises(ValueError, match=message) as caught:
        SparseBoostRegressorCV(**{"alphas": 3, **parameters}).fit(*regression)
    assert "\n" not in str(caught.value)
    assert not hasattr(SparseBoostRegressorCV(**parameters), "alpha_")


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_must_be_in_every_training_part(classification):
    X, y = classification
    y = np.where(np.arange(90) == 4, 9, y)
    with pytest.raises(ValueError, match=r"trains on no example of class 9; use fewer folds"):
        SparseBoostClassifierCV(alphas=3).fit(X, y)
    with pytest.raises(ValueError, match=r"trains on no example of class (True|False)"):
        SparseBoostClassifierCV(alphas=3, cv=KFold(2)).fit(X, np.arange(90) >= 45)
    SparseBoostClassifierCV(alphas=3, cv=StratifiedKFold(2)).fit(X, np.arange(90) >= 45)


def test_unknown_metadata_is_refused(regression):
    with pytest.raises(TypeError, match="enable_metadata_routing"):
        SparseBoostRegressorCV(**FEW).fit(*regression, price=np.ones(60))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_of_sparse_columns_are_those_of_scipy(rng, dtype, index):
    X = sp.csc_array(np.where(rng.random((30, 9)) < 0.3, rng.normal(size=(30, 9)), 0.0).astype(dtype))
    X = sp.csc_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)
    some = np.sort(rng.choice(30, 17, replace=False))
    mask = np.isin(np.arange(30), some)
    for rows in (
        some,
        mask,
        some.tolist(),
        some.astype(np.uint32),
        some[::-1],
        np.repeat(some, 2),
        some - 30,
        some[:0],
    ):
        part = take_rows(X, rows)
        np.testing.assert_array_equal(part.toarray(), X.toarray()[rows])
        assert part.dtype == dtype
    assert take_rows(X, some).format == "csc"
    assert take_rows(X, some).has_canonical_format
    np.testing.assert_array_equal(take_rows(X.toarray(), some), X.toarray()[some])


def test_scores_of_some_rows_are_rows_of_the_scores(rng):
    X, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    rows = np.array([3, 30, 7])
    for data in (X, sp.csc_array(X), sp.csr_array(X)):
        path = sparse_boost_path(data, y, alphas=4)
        wanted = np.stack(list(path.scores(data)))[:, rows]
        np.testing.assert_allclose(np.stack(list(path.scores(data, rows))), wanted, atol=1e-14)
    path = sparse_boost_path(X, y, alphas=4, hypotheses=Stumps())
    np.testing.assert_allclose(
        np.stack(list(path.scores(X, rows))), np.stack(list(path.scores(X)))[:, rows], atol=1e-14
    )
