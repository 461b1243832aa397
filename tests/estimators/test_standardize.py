"""`standardize=True` gives the model of standardised columns, on the scale of X, without touching X."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, alpha_max


def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = rng.normal(size=(80, 6)) * [1.0, 100.0, 0.01, 5.0, 1.0, 3.0] + [0.0, 50.0, 2.0, 0.0, 0.0, 0.0]
    X[rng.random(X.shape) < 0.3] = 0.0
    X[:, 4] = 7.0  # a constant
    spread = X.std(axis=0)
    score = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0) @ rng.normal(size=(6, 3))
    return X, (score + rng.gumbel(size=score.shape)).argmax(axis=1), score + rng.normal(size=score.shape)


@pytest.mark.parametrize("penalty", ["l1", "l1/l2", "l1/linf", "l2"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("update", ["auto", "gradboost"])
def test_equals_a_fit_on_standardised_columns(
    penalty: str, intercept: bool, sparse: bool, update: str, rng: np.random.Generator
) -> None:
    X, y, _ = data(rng)
    weight = rng.integers(1, 4, size=len(y)).astype(float)
    mean = np.average(X, axis=0, weights=weight) if intercept else np.zeros(6)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    scale[scale < 1e-9] = 1.0
    settings = {"penalty": penalty, "fit_intercept": intercept, "tol": 1e-9, "update": update}
    plain = SparseBoostClassifier(0.01, **settings).fit((X - mean) / scale, y, weight)
    given = sp.csr_array(X) if sparse else X
    ours = SparseBoostClassifier(0.01, standardize=True, **settings).fit(given, y, weight)
    assert ours.objective_ == pytest.approx(plain.objective_, abs=1e-8)
    np.testing.assert_allclose(ours.coef_ * scale, plain.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.predict_proba(given), plain.predict_proba((X - mean) / scale), atol=1e-3)


def test_costs_multiply_and_alpha_max_follows(rng: np.random.Generator) -> None:
    X, _, y = data(rng)
    cost = rng.uniform(0.5, 2.0, size=6)
    scale = X.std(axis=0)
    scale[scale < 1e-9] = 1.0
    limit = alpha_max(X, y, standardize=True, feature_costs=cost)
    assert limit == pytest.approx(alpha_max(X, y, feature_costs=cost * scale), rel=1e-9)
    assert SparseBoostRegressor(limit, standardize=True, feature_costs=cost).fit(X, y).n_active_ == 0
    model = SparseBoostRegressor(limit * (1 - 1e-6), standardize=True, feature_costs=cost).fit(X, y)
    assert model.n_active_ == 1


def test_units_do_not_matter(rng: np.random.Generator) -> None:
    X, y, _ = data(rng)
    unit = np.array([1e3, 1e-3, 1.0, 60.0, 2.0, 0.1])
    first = SparseBoostClassifier(0.02, standardize=True, tol=1e-9).fit(X, y)
    second = SparseBoostClassifier(0.02, standardize=True, tol=1e-9).fit(X * unit, y)
    np.testing.assert_array_equal(first.get_support(), second.get_support())
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X * unit), atol=1e-4)


def test_refusals(rng: np.random.Generator) -> None:
    X, y, _ = data(rng)
    with pytest.raises(ValueError, match="standardize=True needs a norm"):
        SparseBoostClassifier(penalty="smooth-l1", standardize=True).fit(X, y)
    with pytest.raises(TypeError, match="standardize must be True or False"):
        SparseBoostClassifier(standardize="yes").fit(X, y)
