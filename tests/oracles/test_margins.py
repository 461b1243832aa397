"""Optima of the margin problems as CVXPY and SciPy find them on the full matrix (X1, X2, F3)."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from margin_games import doubled, largest_margin, random_question

from sparseboost import MarginBoostClassifier

SEEDS = range(6)


def fitted(seed: int, kind: str, separable: bool = True, **parameters: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    H, y, prior = random_question(seed, kind, separable)
    model = MarginBoostClassifier(hypotheses="features", max_rounds=2000, **parameters)
    return model.fit(H, y, sample_weight=prior), doubled(H, y), prior


def loss_value(M: np.ndarray, prior: np.ndarray, radius: float, loss: str) -> float:
    alpha = cp.Variable(M.shape[1], nonneg=True)
    score = M @ alpha
    objective = {
        "exponential": cp.log_sum_exp(np.log(prior) - score),
        "logistic": prior @ cp.logistic(-score),
        "hinge": prior @ cp.pos(1 - score),
    }[loss]
    problem = cp.Problem(cp.Minimize(objective), [cp.sum(alpha) <= radius])
    problem.solve(solver="CLARABEL")
    return float(problem.value)


@pytest.mark.parametrize("kind", ["signs", "confident"])
@pytest.mark.parametrize("separable", [True, False])
def test_lpboost_has_the_largest_margin(kind: str, separable: bool) -> None:
    for seed in SEEDS:
        model, M, _ = fitted(seed, kind, separable, method="lpboost", tol=1e-9)
        theta = largest_margin(M)
        assert model.converged_
        assert model.edge_ == pytest.approx(theta, abs=1e-7)
        assert model.margin_ == pytest.approx(theta, abs=1e-7) or model.stopping_reason_ == "not_separable"


@pytest.mark.parametrize("share", [0.1, 0.35, 1.0])
@pytest.mark.parametrize("separable", [True, False])
def test_lpboost_has_the_largest_soft_margin(share: float, separable: bool) -> None:
    for seed in SEEDS:
        model, M, prior = fitted(seed, "signs", separable, method="lpboost", soft_margin=share, tol=1e-9)
        assert model.converged_
        assert -model.history_[-1]["loss"] == pytest.approx(largest_margin(M, prior / share), abs=1e-7)
        alpha = model.weights_ / model.weights_.sum()
        assert alpha.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("loss", ["exponential", "logistic", "hinge"])
@pytest.mark.parametrize("kind", ["signs", "confident"])
@pytest.mark.parametrize("radius", [1.0, 8.0])
@pytest.mark.parametrize("separable", [True, False])
def test_rlmp(loss: str, kind: str, radius: float, separable: bool) -> None:
    for seed in SEEDS:
        model, M, prior = fitted(seed, kind, separable, method="rlmp", loss=loss, radius=radius, tol=1e-9)
        assert model.converged_
        best = loss_value(M, prior, radius, loss)
        found = model.history_[-1]["loss"]
        assert (np.exp(found) if loss == "logistic" else found) == pytest.approx(best, abs=1e-6)
        assert model.weights_.sum() <= radius * (1 + 1e-9)


@pytest.mark.parametrize("step", ["pairwise", "away"])
def test_cg_boost_and_rlmp_share_their_optimum(step: str) -> None:
    for seed in SEEDS:
        model, M, prior = fitted(seed, "confident", method="cg-boost", step=step, radius=4.0, tol=1e-6)
        assert model.converged_
        best = loss_value(M, prior, 4.0, "exponential")
        assert best - 1e-7 <= model.history_[-1]["loss"] <= best + 1e-6 + 1e-7


@pytest.mark.slow
def test_stumps_on_real_numbers() -> None:
    """θ* of all stumps, written down as a matrix for SciPy."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = np.where(X[:, 0] + X[:, 1] * np.abs(X[:, 2]) > 0, 1.0, -1.0)
    columns = [np.where(X[:, j] <= t, 1.0, -1.0) for j in range(4) for t in np.sort(X[:, j])[:-1]]
    theta = largest_margin(doubled(np.column_stack(columns), y))
    for method, tol in (("lpboost", 1e-9), ("adaboost+l1", 1e-3)):
        model = MarginBoostClassifier(method, tol=tol, max_rounds=20_000).fit(X, y)
        assert model.converged_
        assert theta - tol - 1e-7 <= model.margin_ <= theta + 1e-7
