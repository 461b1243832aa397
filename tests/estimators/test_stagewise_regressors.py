"""ForwardStagewiseRegressor and FrankWolfeLasso as estimators: their path, inputs, words, and the lasso they solve."""

from __future__ import annotations

import re
import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Lasso, LinearRegression, lasso_path
from sklearn.preprocessing import scale
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparseboost
from sparseboost import ForwardStagewiseRegressor, FrankWolfeLasso
from sparseboost.estimators import stagewise_base
from sparseboost.hypotheses import Context, Features, Kernel, Products, Stumps, Union

RNG = np.random.default_rng(5)
X = RNG.normal(size=(50, 8)) * (RNG.random((50, 8)) < 0.7) + 0.0
Y = X @ [1.0, -0.8, 0.6, 0, 0, 0.4, 0, 0] + 0.2 * RNG.normal(size=50) + 3.0
WEIGHT = RNG.uniform(0.5, 2.0, size=50)
MODELS: list[Any] = [
    ForwardStagewiseRegressor(0.02, max_rounds=300),
    ForwardStagewiseRegressor(0.02, radius=2.0, max_rounds=300),
    FrankWolfeLasso(2.0, max_rounds=300),
    FrankWolfeLasso(2.0, step="2/(k+2)", max_rounds=300),
    FrankWolfeLasso(2.0, step=0.02, max_rounds=300),
    FrankWolfeLasso(2.0, step="away", max_rounds=300),
]
TIES = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "stumps that differ only on examples without weight are equally good",
)
by_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model).replace(" ", ""))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@parametrize_with_checks(
    [
        ForwardStagewiseRegressor(max_rounds=300),
        ForwardStagewiseRegressor(radius=5.0, max_rounds=300),
        FrankWolfeLasso(),
        FrankWolfeLasso(step="2/(k+2)"),
        FrankWolfeLasso(step=0.02),
        FrankWolfeLasso(step="away"),
        ForwardStagewiseRegressor(hypotheses="stumps", max_rounds=100),
    ],
    expected_failed_checks=lambda estimator: TIES if estimator.hypotheses == "stumps" else {},
)
def test_sklearn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def fit(model: Any, data: Any = X, y: Any = Y, weight: Any = None, **settings: Any) -> Any:
    return clone(model).set_params(**settings).fit(data, y, weight)


# -- what is solved ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [0.5, 1.5, 50.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_optimum_is_that_of_cvxpy(radius, intercept):
    model = FrankWolfeLasso(radius, step="away", tol=1e-11, max_rounds=20_000, fit_intercept=intercept)
    model.fit(X, Y, sample_weight=WEIGHT)
    coef, constant = cp.Variable(8), cp.Variable() if intercept else 0.0
    weight = WEIGHT / WEIGHT.sum()
    loss = 0.5 * cp.sum(cp.multiply(weight, cp.square(Y - X @ coef - constant)))
    problem = cp.Problem(cp.Minimize(loss), [cp.norm1(coef) <= radius])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    assert model.converged_
    assert model.objective_ == pytest.approx(problem.value, rel=1e-8)
    np.testing.assert_allclose(model.coef_, coef.value, atol=1e-5)
    assert model.intercept_ == pytest.approx(float(constant.value) if intercept else 0.0, abs=1e-5)
    assert model.objective_ - problem.value <= model.dual_gap_ + 1e-10


@pytest.mark.parametrize("alpha", [0.3, 0.1, 0.02])
def test_every_step_rule_meets_the_lasso_of_scikit_learn(alpha):
    """The penalised lasso with weight alpha is the constrained one whose radius is the norm of its solution."""
    lasso = Lasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit(X, Y)
    radius = float(np.abs(lasso.coef_).sum())
    for step, tol in (("away", 1e-9), ("line-search", 1e-3), ("2/(k+2)", 1e-3)):
        model = FrankWolfeLasso(radius, step=step, tol=tol, max_rounds=20_000).fit(X, Y)
        assert model.converged_
        assert model.stopping_reason_ == "gap"
        assert model.objective_ >= 0.5 * np.mean((Y - lasso.predict(X)) ** 2) - 1e-9
        np.testing.assert_allclose(model.coef_, lasso.coef_, atol=10 * np.sqrt(tol))
    exact = FrankWolfeLasso(radius, step="away", tol=1e-10, max_rounds=20_000).fit(X, Y)
    assert exact.history_[-1]["correlation"] == pytest.approx(alpha, rel=1e-3)  # ‖Xᵀr‖∞ is the multiplier


def test_many_small_steps_follow_the_lasso_path_and_end_at_least_squares():
    data, y = load_diabetes(return_X_y=True)
    data, y = scale(data)[:, [0, 1, 2, 3, 8, 9]], scale(y)  # without the collinear ones both paths are monotone
    model = ForwardStagewiseRegressor(1e-3, max_rounds=20_000).fit(data, y)
    path = model.coef_path_
    norms = np.abs(path).sum(axis=1)
    _, coefs, _ = lasso_path(data, y, alphas=30)
    for coef in coefs.T:
        nearest = path[np.argmin(np.abs(norms - np.abs(coef).sum()))]
        np.testing.assert_allclose(nearest, coef, atol=5e-3)
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(data, y).coef_, atol=5e-3)
    assert model.converged_


def test_shrinking_ends_at_the_lasso_of_that_radius():
    model = ForwardStagewiseRegressor(1e-3, radius=1.5, max_rounds=30_000).fit(X, Y)
    exact = FrankWolfeLasso(1.5, step="away", tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=5e-3)
    assert np.abs(model.coef_path_).sum(axis=1).max() <= 1.5 * (1 + 1e-12)


# -- inputs -----------------------------------------------------------------------------------------------------


@by_model
@pytest.mark.parametrize("make", [sp.csc_array, sp.csr_array, sp.coo_array, sp.csr_matrix, np.asfortranarray])
def test_sparse_is_dense_and_stays_sparse(model, make, monkeypatch):
    plain = fit(model, weight=WEIGHT)
    data = make(X)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a sparse input was made dense")

    for kind in (sp.csc_array, sp.csr_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    found = fit(model, data, weight=WEIGHT)
    np.testing.assert_allclose(found.coef_path_, plain.coef_path_, atol=1e-10)
    assert found.intercept_ == pytest.approx(plain.intercept_, abs=1e-10)
    np.testing.assert_allclose(found.predict(data), plain.predict(X), atol=1e-10)


@by_model
def test_an_intercept_is_centring_by_hand(model):
    found = fit(model, weight=WEIGHT)
    mean, constant = np.average(X, axis=0, weights=WEIGHT), np.average(Y, weights=WEIGHT)
    by_hand = fit(model, X - mean, Y - constant, WEIGHT, fit_intercept=False)
    np.testing.assert_allclose(found.coef_path_, by_hand.coef_path_, atol=1e-10)
    assert by_hand.intercept_ == 0.0
    assert found.intercept_ == pytest.approx(constant - mean @ found.coef_)
    for one, two in zip(found.history_, by_hand.history_, strict=True):
        for name in set(one) - {"seconds"}:
            assert one[name] == pytest.approx(two[name], rel=1e-6, abs=1e-10)


@by_model
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(model):
    weight = np.ones(50)
    weight[:10], weight[40:] = 2.0, 0.0
    weighted = fit(model, weight=weight)
    repeated = fit(model, np.vstack([X[:40], X[:10]]), np.concatenate([Y[:40], Y[:10]]))
    np.testing.assert_allclose(weighted.coef_path_, repeated.coef_path_, atol=1e-10)
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, abs=1e-10)
    assert weighted.dual_gap_ == pytest.approx(repeated.dual_gap_, rel=1e-6, abs=1e-10)
    np.testing.assert_allclose(fit(model, weight=7.0 * weight).coef_, weighted.coef_, atol=1e-10)


def test_names_of_a_frame():
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = fit(MODELS[2], frame)
    assert [repr(hypothesis) for hypothesis in model.hypotheses_] == [
        name for name, weight in zip("abcdefgh", model.coef_, strict=True) if weight
    ]
    assert model.feature_names_in_.tolist() == list("abcdefgh")
    with pytest.raises(ValueError, match="in another order"):
        model.predict(frame[list("hgfedcba")])


# -- the fitted model -------------------------------------------------------------------------------------------


@by_model
def test_attributes_tell_one_story(model):
    found = fit(model)
    path, history = found.coef_path_, found.history_
    assert path.shape == (found.n_rounds_ + 1, 8) == (len(history), found.n_features_in_)
    assert not path[0].any()
    np.testing.assert_array_equal(path[-1], found.coef_)
    np.testing.assert_allclose(found.intercept_path_[-1], found.intercept_)
    assert np.count_nonzero(found.coef_) == found.n_active_ == len(found.hypotheses_) == history[-1]["active"]
    assert found.inputs_used_.tolist() == np.flatnonzero(found.coef_).tolist()
    assert (found.objective_, found.dual_gap_) == (history[-1]["loss"], history[-1]["gap"])
    assert found.objective_ == pytest.approx(0.5 * np.mean((Y - found.predict(X)) ** 2))
    assert found.certificate_scope_ == "space"
    assert [record["round"] for record in history] == list(range(found.n_rounds_ + 1))
    assert {"loss", "correlation", "gap", "active", "bound", "seconds"} <= set(history[0])
    assert all(isinstance(value, (int, float)) for record in history for value in record.values())
    sparse = found.sparse_coef_path()
    assert sp.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), path)


@by_model
def test_stages(model):
    found = fit(model, max_rounds=30)
    stages = list(found.staged_predict(X))
    assert len(stages) == found.n_rounds_ + 1
    for stage, weights, intercept in zip(stages, found.coef_path_, found.intercept_path_, strict=True):
        np.testing.assert_allclose(stage, X @ weights + intercept, atol=1e-12)
    np.testing.assert_allclose(stages[-1], found.predict(X), atol=1e-12)


def test_coef_alone_decides_over_features():
    model = fit(MODELS[0])
    model.coef_ = np.zeros(8)
    np.testing.assert_array_equal(model.predict(X), model.intercept_)


def test_a_path_that_would_not_fit_is_refused_with_the_way_out(monkeypatch):
    model = fit(MODELS[0], max_rounds=50)
    monkeypatch.setattr(stagewise_base, "LARGEST_PATH", 400)
    with pytest.raises(MemoryError, match=r"51 × 8 entries; use sparse_coef_path\(\)"):
        _ = model.coef_path_
    assert model.sparse_coef_path().shape == (51, 8)


@by_model
def test_files(model, tmp_path):
    pytest.importorskip("skops")
    found = fit(model, max_rounds=20)
    sparseboost.save(found, tmp_path / "m.skops")
    again = sparseboost.load(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    np.testing.assert_array_equal(again.coef_path_, found.coef_path_)
    assert again.history_ == found.history_


@pytest.mark.parametrize(
    "space", [Stumps(), Products(degree=2), Kernel("rbf", gamma=0.3), DecisionTreeRegressor(max_depth=2)], ids=str
)
@pytest.mark.parametrize("model", [MODELS[0], MODELS[1], MODELS[2], MODELS[5]], ids=str)
def test_other_spaces(model, space):
    found = fit(model, max_rounds=25, hypotheses=space, tol=0.0, random_state=0)
    path = found.coef_path_
    assert path.shape == (found.n_rounds_ + 1, len(found.path_hypotheses_))
    assert found.coef_.shape == (len(found.hypotheses_),)
    np.testing.assert_array_equal(path[-1][path[-1] != 0], found.coef_)
    assert found.objective_ == pytest.approx(0.5 * np.mean((Y - found.predict(X)) ** 2), rel=1e-9)
    np.testing.assert_allclose(list(found.staged_predict(X))[-1], found.predict(X), atol=1e-12)
    outputs = np.column_stack([hypothesis(X) for hypothesis in found.path_hypotheses_])
    centred = outputs - outputs.mean(axis=0)
    residuals = Y - found.intercept_path_[:, None] - path @ outputs.T
    pulls = np.abs(residuals @ centred).max(axis=1) / 50
    recorded = np.array([record["correlation"] for record in found.history_])
    if found.certificate_scope_ == "space":  # every chosen one was the best there is
        assert np.all(pulls <= recorded + 1e-9)
        np.testing.assert_allclose(pulls[:-1], recorded[:-1], atol=1e-9)
        assert all(np.isfinite(record["bound"]) for record in found.history_[1:])
    else:
        assert all(record["bound"] == np.inf for record in found.history_)
    assert found.history_[-1]["loss"] < found.history_[0]["loss"]
    assert sorted({j for h in found.hypotheses_ for j in h.inputs}) == found.inputs_used_.tolist()


@pytest.mark.parametrize("space", [Union([Features(), Stumps()], costs=[1.0, 3.0]), Stumps(standardize=True)], ids=str)
def test_spaces_whose_hypotheses_differ_in_cost(space):
    model = FrankWolfeLasso(1.2, hypotheses=space, step="away", tol=1e-6).fit(X, Y)
    dictionary = space.bind(X, Context(weight=np.full(50, 0.02)))
    cost = dictionary.cost(np.array([dictionary.adopt(hypothesis) for hypothesis in model.hypotheses_]))
    assert model.converged_
    assert cost @ np.abs(model.coef_) == pytest.approx(1.2)
    outputs = np.column_stack([hypothesis(X) for hypothesis in model.hypotheses_])
    pulls = np.abs((Y - model.predict(X)) @ (outputs - outputs.mean(axis=0))) / 50 / cost
    np.testing.assert_allclose(pulls, model.history_[-1]["correlation"], rtol=1e-2)  # all are pulled alike


def test_missing_values_go_where_the_space_takes_them():
    data = X.copy()
    data[::7, 2] = np.nan
    model = fit(MODELS[0], data, hypotheses="stumps", max_rounds=50)
    assert np.all(np.isfinite(model.predict(data)))
    with pytest.raises(ValueError, match="NaN"):
        fit(MODELS[0], data)


# -- words ------------------------------------------------------------------------------------------------------


def warned(model: Any, *arguments: Any) -> str:
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(*arguments)
    assert [one.filename for one in caught] == [__file__]
    return str(caught[0].message)


def test_warnings_name_what_was_reached_what_was_wanted_and_the_remedy():
    text = warned(ForwardStagewiseRegressor(1e-3, max_rounds=20), X, Y)
    assert re.fullmatch(
        r"ForwardStagewiseRegressor stopped because max_rounds was reached: the largest correlation with the residual "
        r"came down to [\d.e-]+, [\d.e-]+ was wanted; raise max_rounds or eps\.",
        text,
    )
    text = warned(FrankWolfeLasso(2.0, max_rounds=3), X, Y)
    assert "the certified gap came down to" in text
    assert text.endswith("raise max_rounds or tol, or use step='away'.")
    assert warned(FrankWolfeLasso(2.0, step="away", max_rounds=3), X, Y).endswith("raise max_rounds or tol.")
    text = warned(FrankWolfeLasso(2.0, time_budget=1e-9), X, Y)
    assert "the time budget ran out" in text
    assert "raise time_budget or tol" in text


def test_no_warning_where_nothing_is_left_to_want():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few = ForwardStagewiseRegressor(1e-3, max_rounds=20, tol=0).fit(X, Y)
        coarse = ForwardStagewiseRegressor(0.1, max_rounds=500).fit(X, Y)
        shrunken = ForwardStagewiseRegressor(0.05, radius=2.0, max_rounds=2000).fit(X, Y)
        gap = FrankWolfeLasso(2.0, step="away").fit(X, Y)
    assert (few.stopping_reason_, few.converged_, few.n_rounds_) == ("max_rounds", False, 20)
    assert (coarse.stopping_reason_, coarse.converged_, coarse.n_rounds_) == ("max_rounds", True, 500)
    assert shrunken.converged_
    assert (gap.stopping_reason_, gap.converged_) == ("gap", True)
    assert gap.dual_gap_ <= 1e-3 * gap.history_[0]["loss"]


def test_callbacks_time_and_displays(capsys):
    seen = []
    model = fit(MODELS[0], callbacks=[lambda record: seen.append(record["round"]) or record["round"] == 12])
    assert (model.stopping_reason_, model.n_rounds_, seen) == ("callback", 12, list(range(13)))
    assert model.coef_path_.shape == (13, 8)
    fit(MODELS[0], max_rounds=3, verbose=2)
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 4
    assert re.search(r"round +3 .*correlation [\d.]+ \(target [\d.e-]+\).*bound", err.splitlines()[-1])
    fit(MODELS[2], max_rounds=3, verbose=1)
    assert capsys.readouterr().out == ""


def test_scikit_learn_callbacks_see_the_model_of_their_round():
    pytest.importorskip("sklearn.callback")
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="r2")
    model = clone(MODELS[0]).set_params(max_rounds=5)
    model.set_callbacks(monitor)
    model.fit(X, Y)
    assert model.n_rounds_ == 5


CASES = [
    (ForwardStagewiseRegressor, {"eps": 0.0}, r"eps must be a finite number > 0, got 0\.0\."),
    (ForwardStagewiseRegressor, {"eps": "small"}, "eps must be a finite number > 0, got 'small'"),
    (ForwardStagewiseRegressor, {"radius": -1.0}, "radius must be a finite number > 0 or None"),
    (FrankWolfeLasso, {"radius": 0}, "radius must be a finite number > 0, got 0"),
    (FrankWolfeLasso, {"radius": None}, "radius must be a finite number > 0, got None"),
    (FrankWolfeLasso, {"step": "best"}, r"step must be one of 'line-search', '2/\(k\+2\)', 'away' or a number > 0 and"),
    (FrankWolfeLasso, {"step": 1.5}, "step must be at most 1, got 1.5"),
    (FrankWolfeLasso, {"step": 0.0}, "step must be a finite number > 0"),
    (FrankWolfeLasso, {"tol": -1}, "tol must be a finite number >= 0"),
    (FrankWolfeLasso, {"max_rounds": 1.5}, "max_rounds must be an integer >= 0"),
    (FrankWolfeLasso, {"fit_intercept": "yes"}, "fit_intercept must be True or False"),
    (FrankWolfeLasso, {"callbacks": 3}, "callbacks must be a list of functions"),
    (FrankWolfeLasso, {"hypotheses": "nonsense"}, "hypotheses must be one of"),
    (FrankWolfeLasso, {"time_budget": 0}, "time_budget must be a finite number > 0 or None"),
]


@pytest.mark.parametrize(("family", "settings", "words"), CASES, ids=[str(case[1]) for case in CASES])
def test_bad_settings_get_one_sentence_and_leave_nothing(family, settings, words):
    model = family(**settings)
    before = dict(vars(model))
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        model.fit(X, Y)
    assert "\n" not in str(caught.value)
    assert vars(model) == before


def test_bad_data():
    model = FrankWolfeLasso().fit(X, Y)
    before = dict(vars(model))
    for data, y, weight, words in (
        (X, Y, np.zeros(50), "all weights are zero|at least one non-zero"),
        (X, Y, -np.ones(50), "[Nn]egative"),
        (X, np.column_stack([Y, Y]), None, "1d array|y should be"),
        (X, np.array(["a"] * 50), None, "could not convert|numeric"),
        (X.astype(object) * np.nan, Y, None, "NaN"),
        (np.array([["a", "b"]] * 50), Y, None, "X must hold numbers only"),
        (X[:40], Y, None, "inconsistent numbers"),
        (X, 1e200 * Y, None, "squares can be added up"),
        (1e200 * X, Y, None, "squares can be added up"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(data, y, weight)
        assert vars(model) == before
    with pytest.raises(ValueError, match="8 features"):
        model.predict(X[:, :3])
    with pytest.raises(NotFittedError):
        _ = FrankWolfeLasso().coef_path_
    assert not hasattr(FrankWolfeLasso(), "coef_path_")
