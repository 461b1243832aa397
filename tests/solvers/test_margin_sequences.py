"""F1, X4 and F3 take exactly the steps that a plain implementation on the full matrix takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from margin_games import doubled, make_game, random_question
from scipy.optimize import minimize_scalar

from sparseboost.solvers.conditional_gradient import ConditionalGradient, constant_share, open_loop
from sparseboost.solvers.margins import MarginSolver, play
from sparseboost.solvers.mirror_descent import MirrorDescent, constant_step, optimal_step, searched_step

ROUNDS = 20


def weights_of(M: np.ndarray, prior: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    weight = prior * np.exp(-(M @ alpha))
    return weight / weight.sum()


def plain_adaboost(M: np.ndarray, prior: np.ndarray, step: Callable[[float, np.ndarray, np.ndarray], float]):
    alpha = np.zeros(M.shape[1])
    for _ in range(ROUNDS):
        weight = weights_of(M, prior, alpha)
        edges = weight @ M
        j = int(edges.argmax())
        alpha[j] += step(float(edges[j]), weight, M[:, j])
        yield alpha.copy()


def plain_cg_boost(M: np.ndarray, prior: np.ndarray, radius: float, rule: str | float):
    alpha = np.zeros(M.shape[1])
    for k in range(ROUNDS):
        edges = weights_of(M, prior, alpha) @ M
        vertex = np.zeros_like(alpha)
        vertex[int(edges.argmax())] = radius
        if rule == "line-search":
            found = minimize_scalar(
                lambda a, at=alpha, to=vertex: np.log(prior @ np.exp(-M @ ((1 - a) * at + a * to))),
                bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-12},
            )  # fmt: skip
            share = min(found.x, 1.0) if found.x < 1 - 1e-9 else 1.0
        else:
            share = 2.0 / (k + 2.0) if rule == "2/(k+2)" else float(rule)
        alpha = (1 - share) * alpha + share * vertex
        yield alpha.copy()


def taken(solver: MarginSolver, H: np.ndarray, y: np.ndarray, prior: np.ndarray) -> list[np.ndarray]:
    """Weights after every round, in the order of `doubled`."""
    game = make_game(H, y, prior)
    mixture = play(game, solver, tol=0.0, max_rounds=ROUNDS).mixture
    columns = [key + (H.shape[1] if sign < 0 else 0) for key, sign in mixture.atoms]
    alpha, out = np.zeros(2 * H.shape[1]), []
    for scale, positions, amounts in mixture.trail:
        alpha *= scale
        alpha[[columns[p] for p in positions]] += amounts
        out.append(alpha.copy())
    np.testing.assert_allclose(alpha[columns], mixture.weight, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(doubled(H, y) @ alpha, mixture.score, rtol=1e-9, atol=1e-12)
    return out


def searched(edge: float, weight: np.ndarray, column: np.ndarray) -> float:
    found = minimize_scalar(lambda a: weight @ np.exp(-a * column), bracket=(0.0, np.arctanh(edge)), tol=1e-15)
    return float(found.x)


STEPS = {
    "optimal": (optimal_step, lambda edge, weight, column: np.arctanh(edge)),
    "eps": (constant_step(0.1), lambda edge, weight, column: 0.1),
    "line-search": (searched_step, searched),
}


@pytest.mark.parametrize("kind", ["signs", "confident"])
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("seed", range(0, 8, 2))  # priors that are not uniform: no ties
def test_adaboost(name: str, kind: str, seed: int) -> None:
    H, y, prior = random_question(seed, kind, separable=False)
    ours, theirs = STEPS[name]
    expected = list(plain_adaboost(doubled(H, y), prior, theirs))
    tight = 1e-6 if name == "line-search" else 1e-9  # a scalar minimiser finds a flat minimum to 1e-8
    found = taken(MirrorDescent(ours), H, y, prior)
    np.testing.assert_allclose(found, expected[: len(found)], rtol=tight, atol=tight)
    assert len(found) == ROUNDS
    if name == "eps":
        np.testing.assert_allclose(np.sum(found, axis=1), 0.1 * np.arange(1, ROUNDS + 1), rtol=1e-12)


def test_line_search_is_the_classical_step_for_signs() -> None:
    H, y, prior = random_question(4, "signs", separable=False)
    np.testing.assert_allclose(
        taken(MirrorDescent(searched_step), H, y, prior), taken(MirrorDescent(optimal_step), H, y, prior), rtol=1e-9
    )


@pytest.mark.parametrize("kind", ["signs", "confident"])
@pytest.mark.parametrize("rule", ["2/(k+2)", "line-search", 0.07])
@pytest.mark.parametrize("seed", range(0, 8, 2))
def test_cg_boost(rule: str | float, kind: str, seed: int) -> None:
    H, y, prior = random_question(seed, kind)
    radius = 6.0
    solver = ConditionalGradient(radius)
    if rule != "line-search":
        solver = ConditionalGradient(radius, open_loop if rule == "2/(k+2)" else constant_share(float(rule)))
    expected = list(plain_cg_boost(doubled(H, y), prior, radius, rule))
    found = taken(solver, H, y, prior)
    tight = 1e-5 if rule == "line-search" else 1e-9
    np.testing.assert_allclose(found, expected[: len(found)], rtol=tight, atol=tight)
    assert len(found) == ROUNDS
    if rule == "2/(k+2)":
        np.testing.assert_allclose(np.sum(found, axis=1), radius, rtol=1e-12)


def test_a_schedule_is_followed_and_checked() -> None:
    from sparseboost.solvers.conditional_gradient import scheduled_share
    from sparseboost.solvers.mirror_descent import scheduled_step

    H, y, prior = random_question(2, separable=False)
    listed = taken(MirrorDescent(scheduled_step([0.3, 0.2, 0.1])), H, y, prior)
    np.testing.assert_allclose(np.sum(listed, axis=1)[:4], [0.3, 0.5, 0.6, 0.7])
    called = taken(MirrorDescent(scheduled_step(lambda k: 1.0 / (k + 1))), H, y, prior)
    np.testing.assert_allclose(np.sum(called, axis=1), np.cumsum(1.0 / np.arange(1, ROUNDS + 1)))
    shares = taken(ConditionalGradient(3.0, scheduled_share(lambda k: 2.0 / (k + 2))), H, y, prior)
    np.testing.assert_allclose(shares, taken(ConditionalGradient(3.0, open_loop), H, y, prior))
    with pytest.raises(ValueError, match="finite and >= 0 in every round; it is -1"):
        taken(MirrorDescent(scheduled_step([0.1, -1.0])), H, y, prior)
    with pytest.raises(ValueError, match=r"between 0 and 1 in every round; it is 1\.5 in round 1"):
        taken(ConditionalGradient(3.0, scheduled_share(lambda k: 1.0 + k / 2)), H, y, prior)
