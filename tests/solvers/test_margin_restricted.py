"""The inner problem of AdaBoost+L1 is solved to its certificate, at any radius, also where it is singular."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import pytest
from margin_games import doubled, largest_margin, random_question

from sparseboost.solvers.simplex_newton import _newton_step, solve_restricted
from sparseboost.solvers.tilts import ExponentialTilt, LogisticTilt, Tilt, line_search

TILTS: dict[str, Tilt] = {"exponential": ExponentialTilt(), "logistic": LogisticTilt()}


def exact_value(M: np.ndarray, prior: np.ndarray, radius: float, loss: str) -> float:
    alpha = cp.Variable(M.shape[1], nonneg=True)
    if loss == "exponential":
        objective = cp.log_sum_exp(np.log(prior) - M @ alpha)
    else:
        objective = prior @ cp.logistic(-M @ alpha)
    problem = cp.Problem(cp.Minimize(objective), [cp.sum(alpha) <= radius])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "may be inaccurate": beyond 1e-10 it cannot go
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(problem.value if loss == "exponential" else np.log(problem.value))


def solved(M: np.ndarray, prior: np.ndarray, radius: float, loss: str, start: np.ndarray | None = None):
    start = np.zeros(M.shape[1]) if start is None else start
    found = solve_restricted(np.asfortranarray(M), start, radius, np.log(prior), TILTS[loss], 1e-11)
    assert np.all(found.weight >= 0)
    assert found.weight.sum() <= radius * (1 + 1e-12)
    return found


@pytest.mark.parametrize("loss", TILTS)
@pytest.mark.parametrize("kind", ["signs", "confident"])
@pytest.mark.parametrize("radius", [0.3, 3.0, 20.0])
@pytest.mark.parametrize("separable", [True, False])
def test_optimum(loss: str, kind: str, radius: float, separable: bool) -> None:
    for seed in range(3):
        H, y, prior = random_question(seed, kind, separable)
        M = doubled(H, y)
        found = solved(M, prior, radius, loss)
        assert found.gap <= 1e-10
        assert found.tilted.value == pytest.approx(exact_value(M, prior, radius, loss), abs=1e-8)
        edges = found.tilted.weight @ M
        active = found.weight > 1e-7 * radius
        np.testing.assert_allclose(edges[active], edges.max(), atol=1e-7)


@pytest.mark.parametrize("loss", TILTS)
def test_any_start_ends_at_the_same_value(loss: str) -> None:
    H, y, prior = random_question(5)
    M, rng = doubled(H, y), np.random.default_rng(0)
    values = [
        solved(M, prior, 4.0, loss, 4.0 * share * rng.dirichlet(np.ones(M.shape[1]))).tilted.value
        for share in (0.0, 0.5, 1.0)
    ]
    np.testing.assert_allclose(values, values[0], atol=1e-10)


@pytest.mark.parametrize("loss", TILTS)
def test_radius_may_grow_without_end(loss: str) -> None:
    """In the log domain nothing underflows; the margin closes in on θ* as ln m / r (X5)."""
    H, y, prior = random_question(7)
    M = doubled(H, y)
    theta, weight = largest_margin(M), None
    for radius in 10.0 ** np.arange(1, 6):
        start = None if weight is None else weight * 10.0
        found = solved(M, prior, radius, loss, start)
        weight = found.weight
        slack = 0.0 if loss == "exponential" else -np.log(np.log(2.0))
        assert np.all(np.isfinite(weight))
        assert found.gap <= 1e-10 * max(10.0, radius)  # of margins up to r, in double precision
        assert weight.sum() == pytest.approx(radius, rel=1e-9)
        assert theta - (M @ weight).min() / radius <= (-np.log(prior.min()) + slack) / radius + 1e-9


def test_hypotheses_that_agree_are_no_obstacle() -> None:
    H, y, prior = random_question(9)
    M = doubled(H, y)
    twice = np.hstack([M, M, np.zeros((len(y), 1)), M.mean(axis=1, keepdims=True)])
    value = solved(M, prior, 5.0, "exponential").tilted.value
    assert solved(twice, prior, 5.0, "exponential").tilted.value == pytest.approx(value, abs=1e-9)


def test_ball_does_not_hold_what_has_an_end() -> None:
    """Data that is not separable: beyond some radius the minimum lies inside the ball, and all edges there are 0."""
    H = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    M, prior = doubled(H, y), np.full(6, 1 / 6)
    small, large = (solved(M, prior, radius, "exponential") for radius in (50.0, 5000.0))
    assert large.weight.sum() < 50.0
    np.testing.assert_allclose(large.tilted.weight @ M, 0.0, atol=1e-8)
    assert small.tilted.value == pytest.approx(large.tilted.value, abs=1e-10)


@pytest.mark.parametrize("loss", TILTS)
def test_steps_never_raise_the_loss(loss: str) -> None:
    """Also not where the ball, and not a weight that vanishes, ends a step: starts lie just inside the ball."""
    rng = np.random.default_rng(0)
    for seed in range(30):
        H, y, prior = random_question(seed, "signs", separable=seed % 2 == 0)
        M = np.asfortranarray(doubled(H, y))
        radius = rng.uniform(2.0, 20.0)
        weight = radius * rng.uniform(0.9, 1.0) * rng.dirichlet(np.full(M.shape[1], 0.3))
        weight[weight < 0.02] = 0.0
        log_prior, value = np.log(prior), np.inf
        for _ in range(40):
            tilted = TILTS[loss](M @ weight, log_prior)
            assert tilted.value <= value + 1e-10
            value, edges = tilted.value, M.T @ tilted.weight
            free = weight > 0.0
            free[edges.argmax()] = True
            moved = _newton_step(M, weight, radius, edges, free, tilted, log_prior, TILTS[loss])
            if moved is None:
                break
            weight = moved[0]


@pytest.mark.parametrize("loss", TILTS)
def test_tilt_is_the_loss_and_its_derivatives(loss: str) -> None:
    rng = np.random.default_rng(3)
    score, prior = rng.normal(size=9) * 4, rng.dirichlet(np.ones(9))
    value, slope, curve = {
        "exponential": (lambda z: np.exp(-z), lambda z: -np.exp(-z), lambda z: np.exp(-z)),
        "logistic": (
            lambda z: np.log1p(np.exp(-z)),
            lambda z: -1 / (1 + np.exp(z)),
            lambda z: 1 / ((1 + np.exp(z)) * (1 + np.exp(-z))),
        ),
    }[loss]
    tilted = TILTS[loss](score, np.log(prior))
    force = -(prior * slope(score))
    assert tilted.value == pytest.approx(np.log(prior @ value(score)))
    np.testing.assert_allclose(tilted.weight, force / force.sum())
    np.testing.assert_allclose(tilted.curvature, prior * curve(score) / force.sum())
    assert tilted.ratio == pytest.approx(force.sum() / (prior @ value(score)))
    far = TILTS[loss](score + 2000.0, np.log(prior))
    assert far.value == pytest.approx(np.log(prior @ np.exp(-score)) - 2000.0, abs=1e-9)
    np.testing.assert_allclose(far.weight, prior * np.exp(-score) / (prior @ np.exp(-score)), rtol=1e-9)


def test_line_search_ends_at_its_limit_or_where_the_slope_is_zero() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        logits, direction = rng.normal(size=7) * 3, rng.normal(size=7)
        direction *= np.sign(direction @ np.exp(logits)) or 1.0
        a = line_search(logits, direction, 5.0)
        weight = np.exp(logits - a * direction)
        slope = -(weight @ direction) / weight.sum()
        assert slope == pytest.approx(0.0, abs=1e-10) or (a == 5.0 and slope < 0)
    assert line_search(np.zeros(3), np.array([1.0, 0.5, 0.1]), 30.0) == 30.0
