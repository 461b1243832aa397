"""Real sets of the papers: default settings converge with a certificate, beat the baseline, and stay small.

The folder is that of SPARSEBOOST_DATA, or shared/data beside the repository.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, alpha_max, coverage_error, row_sparsity

ROOT = Path(os.environ.get("SPARSEBOOST_DATA") or Path(__file__).parents[3] / "shared" / "data")


def load(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Standardised training and test parts; the last fifth is the test part where the set has none."""
    path = ROOT / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{name}.npz is not in the data folder; set SPARSEBOOST_DATA")
    with np.load(path, allow_pickle=False) as stored:
        parts = dict(stored)
    found = []
    for suffix in ("", "_test"):
        if "indptr" + suffix in parts:
            pieces = [parts[key + suffix] for key in ("data", "indices", "indptr")]
            matrix = sp.csr_matrix((pieces[0].astype(float), pieces[1].astype(np.int32), pieces[2]))
            matrix.resize(*map(int, parts["shape" + suffix]))
            found += [matrix, parts["y" + suffix]]
        elif "X" + suffix in parts:
            found += [parts["X" + suffix].astype(float), parts["y" + suffix]]
    if len(found) == 2:
        order = np.random.default_rng(0).permutation(len(found[1]))
        cut = len(order) * 4 // 5
        X, y = found
        found = [X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]]
    scaler = MaxAbsScaler() if sp.issparse(found[0]) else StandardScaler()
    found[0], found[2] = scaler.fit_transform(found[0]), scaler.transform(found[2])
    return tuple(found)


def certified(model: Any, X: Any, y: np.ndarray) -> Any:
    """Fit without any warning; the certificate must be the one that was asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert model.converged_
    assert model.stopping_reason_ == "gap"
    assert 0 <= model.dual_gap_ <= model.tol * model.history_[0]["objective"]
    assert model.objective_ < model.history_[0]["objective"]
    return model


def share_of_top(X: Any, y: np.ndarray, share: float, **settings: Any) -> float:
    return share * alpha_max(X, y, **settings)


@pytest.mark.parametrize("penalty", ["l1/l2", "l1/linf"])
@pytest.mark.parametrize("name", ["vowel", "satimage"])
def test_multiclass(name: str, penalty: str) -> None:
    X, y, X_test, y_test = load(name)
    alpha = share_of_top(X, y, 0.02, penalty=penalty)
    model = certified(SparseBoostClassifier(alpha, penalty=penalty), X, y)
    majority = np.bincount(y_test).max() / len(y_test)
    assert model.score(X_test, y_test) > majority + 0.15
    assert coverage_error(y_test, model.decision_function(X_test)) >= 1 - model.score(X_test, y_test)
    smaller = certified(SparseBoostClassifier(20 * alpha, penalty=penalty), X, y)
    assert smaller.n_active_ < X.shape[1]
    assert smaller.n_active_ <= model.n_active_


@pytest.mark.parametrize("update", ["auto", "gradboost"])
def test_spambase(update: str) -> None:
    X, y, X_test, y_test = load("spambase")
    model = certified(SparseBoostClassifier(share_of_top(X, y, 0.05), update=update), X, y)
    assert model.score(X_test, y_test) > 0.88 > np.mean(y_test == -1)
    assert model.n_active_ < 57
    assert set(model.classes_) == {-1, 1}


@pytest.mark.parametrize("loss", ["squared", "huber", "eps-insensitive"])
def test_boston(loss: str) -> None:
    X, y, X_test, y_test = load("boston")
    y, y_test = y.astype(float), y_test.astype(float)
    model = certified(SparseBoostRegressor(share_of_top(X, y, 0.1, loss=loss), loss=loss), X, y)
    assert model.score(X_test, y_test) > 0.4  # the mean scores 0 at most
    assert 0 < model.n_active_ < 13


@pytest.mark.parametrize("penalty", ["l1", "l1/l2", "l1/linf"])
def test_emotions(penalty: str) -> None:
    X, y, X_test, y_test = load("ml_emotions")
    model = certified(SparseBoostClassifier(share_of_top(X, y, 0.1, penalty=penalty), penalty=penalty), X, y)
    baseline = np.mean(y_test == (y.mean(axis=0) > 0.5))
    assert np.mean(model.predict(X_test) == y_test) > baseline + 0.03
    assert row_sparsity(model) > 0.1
    # rows are all or nothing under the group norms
    if penalty == "l1/l2":
        assert np.all((model.coef_ != 0).all(axis=0) == model.get_support())


@pytest.mark.parametrize("name", ["rcv1_small", "leukemia"])
def test_many_more_inputs_than_examples(name: str) -> None:
    X, y, X_test, y_test = load(name)
    model = certified(SparseBoostClassifier(share_of_top(X, y, 0.1)), X, y)
    assert model.score(X_test, y_test) > max(np.mean(y_test == 1), np.mean(y_test == -1)) + 0.1
    assert model.n_active_ < 0.05 * X.shape[1]
    assert row_sparsity(model) > 0.95


@pytest.mark.slow
def test_adaboost_agrees_on_satimage() -> None:
    """The papers' update and the fast solver certify the same objective."""
    X, y, _, _ = load("satimage")
    alpha = share_of_top(X, y, 0.1, penalty="l1/linf")
    fast = certified(SparseBoostClassifier(alpha, penalty="l1/linf", tol=1e-3), X, y)
    slow = certified(SparseBoostClassifier(alpha, penalty="l1/linf", update="adaboost", tol=1e-3), X, y)
    assert abs(fast.objective_ - slow.objective_) <= fast.dual_gap_ + slow.dual_gap_
