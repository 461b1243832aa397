"""P1, P2 and P6 as the paper writes them, solved by CVXPY over all hypotheses, beside MultiBoostClassifier."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from sparseboost import MultiBoostClassifier
from sparseboost.hypotheses import Stumps
from sparseboost.losses import Exponential, Hinge

Array = np.ndarray
PENALTIES = ("l1", "l1/l2", "l1/linf")
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 300}
ACCURACY = {"logistic": 1e-6, "exponential": 1e-6, "hinge": 1e-5, "pairs of hinges": 1e-5}
LOSSES: dict[str, Any] = {
    "logistic": "logistic", "hinge": "hinge", "exponential": Exponential(), "pairs of hinges": Hinge(),
}  # fmt: skip


def data(k: int, m: int = 60, n: int = 8, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(m, n)), 1)
    truth = rng.normal(size=(n, k)) * (rng.random((n, 1)) < 0.6)
    y = (X @ truth + 1.5 * rng.normal(size=(m, k))).argmax(axis=1)
    y[:k] = np.arange(k)
    return X, y


def margins(H: Array, W: Any, y: Array) -> Any:
    """ρ_ir = H_i w_{y_i} − H_i w_r, shape (m, k)."""
    hot = np.eye(W.shape[1])[y]
    scores = H @ W
    if isinstance(scores, np.ndarray):
        return (scores * hot).sum(axis=1)[:, None] - scores
    own = cp.sum(cp.multiply(scores, hot), axis=1)
    return cp.reshape(own, (len(y), 1), order="F") @ np.ones((1, W.shape[1])) - scores


def loss(kind: str, rho: Any, y: Array) -> Any:
    """(1/m) of the loss of P1, or (1/mk) of that of P2 and P6 without the constant of r = y."""
    m, k = rho.shape
    other = 1.0 - np.eye(k)[y]
    if isinstance(rho, np.ndarray):
        each = {
            "logistic": lambda: (other * np.logaddexp(0, -rho)).sum() / k,
            "exponential": lambda: (other * np.exp(-rho)).sum() / k,
            "pairs of hinges": lambda: (other * np.maximum(1 - rho, 0)).sum() / k,
            "hinge": lambda: (other - rho).max(axis=1).sum(),
        }
    else:
        each = {
            "logistic": lambda: cp.sum(cp.multiply(other, cp.logistic(-rho))) / k,
            "exponential": lambda: cp.sum(cp.multiply(other, cp.exp(-rho))) / k,
            "pairs of hinges": lambda: cp.sum(cp.multiply(other, cp.pos(1 - rho))) / k,
            "hinge": lambda: cp.sum(cp.max(other - rho, axis=1)),
        }
    return each[kind]() / m


def norm(penalty: str, W: Any) -> Any:
    if isinstance(W, np.ndarray):
        return np.linalg.norm(W, {"l1": 1, "l1/l2": 2, "l1/linf": np.inf}[penalty], axis=1).sum()
    return cp.sum(cp.abs(W)) if penalty == "l1" else cp.sum(cp.norm(W, 2 if penalty == "l1/l2" else "inf", axis=1))


def objective(kind: str, penalty: str, nu: float, H: Array, W: Array, y: Array) -> float:
    return float(loss(kind, margins(H, W, y), y) + nu * norm(penalty, W))


def all_stumps(X: Array, negated: bool) -> Array:
    """±1 for every input and every threshold between two of its values, and the negatives of these."""
    columns = [np.where(x <= t, 1.0, -1.0) for x in X.T for t in np.unique(x)[:-1]]
    return np.column_stack(columns + [-column for column in columns] * negated)


@cache
def optimum(kind: str, penalty: str, nu: float, k: int, stumps: bool, negated: bool = False) -> float:
    X, y = data(k)
    H = all_stumps(X, negated) if stumps else X
    W = cp.Variable((H.shape[1], k), nonneg=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        cp.Problem(cp.Minimize(loss(kind, margins(H, W, y), y) + nu * norm(penalty, W))).solve("CLARABEL", **TIGHT)
    return objective(kind, penalty, nu, H, np.maximum(W.value, 0.0), y)


def check(model: MultiBoostClassifier, kind: str, best: float, X: Array, y: Array) -> None:
    H = np.column_stack([hypothesis(X) for hypothesis in model.hypotheses_])
    reached = objective(kind, model.penalty, model.nu, H, model.coef_, y)
    assert model.converged_
    assert model.coef_.min() >= 0.0
    assert reached == pytest.approx(model.objective_, abs=1e-10)
    assert reached <= best + ACCURACY[kind]
    assert reached >= best - 1e-9
    assert reached - model.dual_gap_ <= best + 1e-9


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", ["logistic", "hinge"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("solver", ["auto", "admm"])
def test_features(kind, penalty, k, solver):
    X, y = data(k)
    nu = 0.01 if kind == "logistic" else 0.03
    model = MultiBoostClassifier(LOSSES[kind], penalty, nu, hypotheses="features", solver=solver, tol=1e-7).fit(X, y)
    check(model, kind, optimum(kind, penalty, nu, k, stumps=False), X, y)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", ["logistic", "hinge"])
@pytest.mark.parametrize("solver", ["auto", "admm"])
def test_all_stumps(kind, penalty, solver):
    """Column generation over hundreds of stumps ends at the optimum over all of them."""
    X, y = data(3)
    nu = 0.01 if kind == "logistic" else 0.03
    space = Stumps(negated=True)
    tol = 1e-7 if kind == "logistic" else 3e-6
    model = MultiBoostClassifier(LOSSES[kind], penalty, nu, hypotheses=space, solver=solver, tol=tol).fit(X, y)
    check(model, kind, optimum(kind, penalty, nu, 3, stumps=True, negated=True), X, y)
    assert model.dual_violation_ < 1e-2


@pytest.mark.parametrize("kind", ["exponential", "pairs of hinges"])
@pytest.mark.parametrize("penalty", ["l1/l2", "l1/linf"])
def test_any_loss_of_the_margin(kind, penalty):
    X, y = data(3)
    tol = 1e-7 if kind == "exponential" else 1e-5
    model = MultiBoostClassifier(LOSSES[kind], penalty, 0.02, hypotheses="features", tol=tol).fit(X, y)
    check(model, kind, optimum(kind, penalty, 0.02, 3, stumps=False), X, y)


def test_default_stumps_hold_both_directions_where_that_changes_the_price():
    X, y = data(3)
    for penalty in PENALTIES:
        both, one = (optimum("logistic", penalty, 0.01, 3, True, negated) for negated in (True, False))
        reached = MultiBoostClassifier("logistic", penalty, 0.01, tol=1e-7).fit(X, y).objective_
        assert reached == pytest.approx(both, abs=1e-6)
        if penalty == "l1/linf":
            assert both == pytest.approx(one, abs=1e-8)
        else:
            assert both < one - 1e-4


def test_two_classes_have_equal_optima_under_both_group_norms():
    """MATH.md section 9, 12: with k = 2 one entry of every row is zero, so ℓ2 and ℓ∞ are the same."""
    for kind in ("logistic", "hinge"):
        values = [optimum(kind, penalty, 0.01, 2, stumps=True, negated=True) for penalty in ("l1/l2", "l1/linf")]
        assert values[0] == pytest.approx(values[1], abs=1e-7)
