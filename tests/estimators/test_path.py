"""Laws of regularisation paths."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, SparsePath, alpha_max, sparse_boost_path
from sparseboost.estimators import path as path_module
from sparseboost.solvers import newton_stepper

TOL = 1e-5


def regression(rng, m=60, n=25, k=1):
    X = rng.normal(size=(m, n)) + 0.5 * rng.normal(size=(m, 1))
    y = X[:, :4] @ rng.normal(size=(4, k)) + 0.5 * rng.normal(size=(m, k))
    return X, y[:, 0] if k == 1 else y


def classes(rng, m=90, n=20, k=2):
    X = rng.normal(size=(m, n))
    return X, np.argmax(X[:, :k] + 0.7 * rng.gumbel(size=(m, k)), axis=1)


def settings(rng):
    X, y = regression(rng)
    yield "lasso", SparseBoostRegressor, X, y, {}
    yield "wide", SparseBoostRegressor, *regression(rng, 30, 80), {}
    yield "no intercept, positive", SparseBoostRegressor, X, y, {"fit_intercept": False, "positive": True}
    yield "costs", SparseBoostRegressor, X, y, {"feature_costs": rng.uniform(0.5, 2.0, 25)}
    yield "multitask l1/linf", SparseBoostRegressor, *regression(rng, k=3), {"penalty": "l1/linf"}
    yield "huber", SparseBoostRegressor, X, y, {"loss": "huber"}
    yield "absolute", SparseBoostRegressor, X, y, {"loss": "absolute", "tol": 1e-2}
    yield "gradboost", SparseBoostRegressor, X, y, {"update": "gradboost", "tol": 1e-4}
    X, y = classes(rng)
    yield "logistic", SparseBoostClassifier, X, y, {"class_weight": "balanced"}
    yield "sparse", SparseBoostClassifier, sp.csr_array(np.where(np.abs(X) > 1, X, 0.0)), y, {}
    yield "exponential", SparseBoostClassifier, X, y, {"loss": "exponential"}
    yield "multilabel", SparseBoostClassifier, X, np.column_stack([y, X[:, 3] > 0]).astype(int), {"penalty": "l1"}
    yield "softmax", SparseBoostClassifier, *classes(rng, k=3), {}


SETTINGS = list(settings(np.random.default_rng(5)))
every_setting = pytest.mark.parametrize(
    ("family", "X", "y", "parameters"), [s[1:] for s in SETTINGS], ids=[s[0] for s in SETTINGS]
)


def walk(family, X, y, parameters, **more):
    loss = parameters.get("loss", "logistic" if family is SparseBoostClassifier else "squared")
    return sparse_boost_path(X, y, **{"tol": TOL, **parameters, "loss": loss, **more})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_setting
def test_every_point_is_as_good_as_a_fit_of_its_own(family, X, y, parameters):
    path = walk(family, X, y, parameters, alphas=6, eps=0.05)
    assert path.converged.all()
    for i, alpha in enumerate(path.alphas):
        model = family(alpha=alpha, **{"tol": TOL, **parameters}).fit(X, y)
        gap = path.dual_gaps[i]
        assert abs(path.objectives[i] - model.objective_) <= gap + model.dual_gap_ + 1e-12
        # the objective of the path's own weights, by the plain estimator's own bookkeeping
        again = family(alpha=alpha, warm_start=True, **{**parameters, "max_rounds": 0, "tol": 0.0})
        again.coef_, again.intercept_ = path.coef(i), path.intercepts[i]
        again.fit(X, y)
        assert again.objective_ == pytest.approx(path.objectives[i], rel=1e-10)
        if parameters.get("loss") != "absolute":  # whose dual points are the solver's
            assert again.dual_gap_ == pytest.approx(gap, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("free", [False, True])
def test_rough_gaps_are_those_of_a_look_at_all_inputs(free, labels, rng, monkeypatch):
    X = rng.normal(size=(120, 40)) + 0.5
    y = (X[:, :labels] + rng.normal(size=(120, labels)) > 0.5).astype(int)
    kept, good = [], newton_stepper.good
    monkeypatch.setattr(newton_stepper, "good", lambda *given: (found := good(*given), kept.append(found))[0])
    settings = {"tol": 3e-3, "fit_intercept": free}
    path = sparse_boost_path(X, y if labels > 1 else y[:, 0], alphas=150, loss="logistic", **settings)
    assert sum(found is not None for found in kept) > 5  # foreseen, and good enough
    for i in range(0, 150, 7):
        again = SparseBoostClassifier(path.alphas[i], warm_start=True, max_rounds=0, **settings)
        again.coef_, again.intercept_, again._over_features = path.coef(i), path.intercepts[i], True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again.fit(X, y if labels > 1 else y[:, 0])
        assert again.objective_ == pytest.approx(path.objectives[i], rel=1e-12)
        assert again.dual_gap_ == pytest.approx(path.dual_gaps[i], rel=1e-9, abs=1e-13)


@every_setting
def test_gaps_meet_the_target_of_a_fit(family, X, y, parameters):
    path = walk(family, X, y, parameters, alphas=5, eps=0.1)
    empty = family(alpha=2 * path.alphas[0], **parameters).fit(X, y).objective_
    assert np.all(path.dual_gaps >= 0)
    assert np.all(path.dual_gaps <= parameters.get("tol", TOL) * empty * (1 + 1e-9))


def test_the_grid_is_geometric_from_the_largest_useful_alpha_and_starts_empty(rng):
    X, y = regression(rng)
    path = sparse_boost_path(X, y, alphas=7, eps=0.02)
    assert path.alphas[0] == alpha_max(X, y)
    assert path.alphas[-1] == pytest.approx(0.02 * path.alphas[0])
    np.testing.assert_allclose(path.alphas[1:] / path.alphas[:-1], 0.02 ** (1 / 6))
    assert path.n_active[0] == 0
    assert not path.coef(0).any()
    assert path.n_active[1] >= 1
    assert np.corrcoef(np.arange(7), path.n_active)[0, 1] > 0.8
    assert np.all(np.diff(path.objectives) <= path.dual_gaps[1:])  # a smaller alpha never has a larger optimum


def test_eps_is_larger_for_wide_data(rng):
    tall = sparse_boost_path(*regression(rng, 40, 10), alphas=3)
    wide = sparse_boost_path(*regression(rng, 10, 40), alphas=3)
    assert tall.alphas[-1] / tall.alphas[0] == pytest.approx(1e-3)
    assert wide.alphas[-1] / wide.alphas[0] == pytest.approx(1e-2)


def test_alphas_come_in_any_order_and_may_start_above_the_largest_useful_one_or_end_at_zero(rng):
    X, y = regression(rng)
    top = alpha_max(X, y)
    path = sparse_boost_path(X, y, alphas=[0.1 * top, 3 * top, 0.0, 0.5 * top], tol=1e-8)
    np.testing.assert_array_equal(path.alphas, [3 * top, 0.5 * top, 0.1 * top, 0.0])
    assert path.n_active[0] == 0
    assert path.converged.all()
    design = np.column_stack([X, np.ones(X.shape[0])])
    np.testing.assert_allclose(path.coef(-1)[0], np.linalg.lstsq(design, y)[0][:-1], atol=1e-3)


def test_alphas_far_apart_are_certified_too(rng):
    X, y = classes(rng, 80, 150)
    path = sparse_boost_path(X, y, alphas=[alpha_max(X, y) * 1e-2])
    model = SparseBoostClassifier(alpha=path.alphas[0]).fit(X, y)
    assert path.converged.all()
    assert abs(path.objectives[0] - model.objective_) <= path.dual_gaps[0] + model.dual_gap_


def test_weights_and_repetition_give_the_same_path(rng):
    X, y = classes(rng, 60, 12)
    times = rng.integers(0, 4, 60)
    weighted = sparse_boost_path(X, y, alphas=8, tol=1e-10, sample_weight=times)
    repeated = sparse_boost_path(np.repeat(X, times, axis=0), np.repeat(y, times), alphas=8, tol=1e-10)
    np.testing.assert_allclose(weighted.alphas, repeated.alphas, rtol=1e-10)
    np.testing.assert_allclose(weighted.coefs, repeated.coefs, atol=1e-4)
    np.testing.assert_array_equal(weighted.n_active, repeated.n_active)


def test_decision_is_the_score_of_every_model(rng, monkeypatch):
    X, y = classes(rng, k=3)
    path = sparse_boost_path(X, y, alphas=5)
    new = rng.normal(size=(7, X.shape[1]))
    wanted = np.stack([new @ path.coefs[i].T + path.intercepts[i] for i in range(5)])
    np.testing.assert_allclose(path.decision(new), wanted, atol=1e-12)
    np.testing.assert_allclose(path.decision(sp.csc_array(new)), wanted, atol=1e-12)
    monkeypatch.setattr(path_module, "MOST_SCORES", 2 * wanted[0].size)  # of two alphas at a time
    np.testing.assert_allclose(path.decision(new), wanted, atol=1e-12)
    assert isinstance(path, SparsePath)
    assert len(path) == 5
    assert path.coefs.shape == (5, 3, X.shape[1])
    np.testing.assert_array_equal(path.features, np.flatnonzero(path.coefs.any(axis=(0, 1))))
    np.testing.assert_array_equal(path.n_active, path.coefs.any(axis=1).sum(axis=1))


def test_dense_and_sparse_data_give_the_same_path(rng):
    X, y = classes(rng)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    dense, sparse = (sparse_boost_path(data, y, alphas=10, tol=1e-8) for data in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense.coefs, sparse.coefs, atol=1e-3)


def test_one_pass_over_the_data_certifies_several_alphas(rng, monkeypatch):
    from sparseboost.hypotheses.features import FeatureDictionary

    passes, correlate = [], FeatureDictionary.correlate
    monkeypatch.setattr(FeatureDictionary, "correlate", lambda self, force: passes.append(1) or correlate(self, force))
    path = sparse_boost_path(*regression(rng, 100, 300), alphas=50)
    assert path.converged.all()
    assert len(passes) < 50


def test_a_time_budget_or_a_callback_stops_the_work_but_not_the_certificates(rng):
    X, y = classes(rng, 200, 100)
    seen = []

    def impatient(record):
        seen.append(record)
        return len(seen) > 3

    for limits in ({"time_budget": 1e-9}, {"callbacks": [impatient]}, {"max_rounds": 0}):
        started = time.perf_counter()
        with pytest.warns(ConvergenceWarning, match="of 30 models along the path"):
            path = sparse_boost_path(X, y, alphas=30, tol=1e-12, **limits)
        assert time.perf_counter() - started < 20
        assert not path.converged.all()
        best = sparse_boost_path(X, y, alphas=30)
        assert np.all(path.objectives - path.dual_gaps <= best.objectives + 1e-12)


def test_a_constant_target_has_an_empty_path(rng):
    path = sparse_boost_path(rng.normal(size=(10, 3)), np.full(10, 2.5), loss="squared", alphas=4)
    assert path.n_active.sum() == 0
    assert path.converged.all()
    assert np.all(np.diff(path.alphas) < 0)
    np.testing.assert_allclose(path.intercepts, 2.5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alphas": []}, "alphas must be an integer >= 1 or a list"),
        ({"alphas": [0.1, -1.0]}, "alphas must be an integer >= 1 or a list"),
        ({"alphas": [np.nan]}, "alphas must be an integer >= 1 or a list"),
        ({"alphas": "many"}, "alphas must be an integer >= 1 or a list"),
        ({"alphas": [[1.0]]}, "alphas must be an integer >= 1 or a list"),
        ({"alphas": 0}, "alphas must be an integer >= 1"),
        ({"eps": 1.5}, "eps must be 'auto' or a number between 0 and 1"),
        ({"eps": "small"}, "eps must be 'auto' or a number between 0 and 1"),
        ({"penalty": "l2"}, "alphas must be a list of values for penalty Ridge"),
        ({"tol": -1.0}, "tol must be"),
    ],
)
def test_errors_are_one_sentence(rng, parameters, message):
    with pytest.raises(ValueError, match=message) as caught:
        sparse_boost_path(*regression(rng), **parameters)
    assert "\n" not in str(caught.value)


def test_ridge_paths_take_given_alphas(rng):
    X, y = regression(rng)
    path = sparse_boost_path(X, y, alphas=[1.0, 0.1], penalty="l2")
    assert path.converged.all()
    np.testing.assert_array_equal(path.n_active, 25)


@pytest.mark.parametrize("tol", [0.1, 1e-2, 1e-3, 1e-7])
def test_every_tolerance_is_met_and_every_gap_is_true(rng, tol):
    X, y = regression(rng, 40, 90)
    path = sparse_boost_path(X, y, alphas=20, tol=tol)
    exact = sparse_boost_path(X, y, alphas=path.alphas, tol=1e-10)
    assert path.converged.all()
    assert np.all(path.objectives - exact.objectives <= path.dual_gaps + 1e-12)
    assert np.all(path.dual_gaps <= tol * path.objectives[0] * (1 + 1e-9))
