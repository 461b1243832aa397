"""Theorems about margins as experiments (Xi et al. Lemma 1, Theorems 2 and 4; Rudin et al. on AdaBoost)."""

from __future__ import annotations

import numpy as np
import pytest
from margin_games import RUDIN, doubled, largest_margin, make_game, random_question
from scipy.optimize import minimize

from sparseboost.solvers.linear_program import HingeBall, LPBoost
from sparseboost.solvers.margins import MarginSolver, play
from sparseboost.solvers.mirror_descent import MirrorDescent, constant_step, optimal_step, searched_step
from sparseboost.solvers.tilts import ExponentialTilt, LogisticTilt
from sparseboost.solvers.totally_corrective import FixedBall, GrowingBall

UNIFORM = np.full(8, 1 / 8)


def rudin(solver: MarginSolver, rounds: int, tol: float = 1e-3):
    return play(make_game(RUDIN, np.ones(8), UNIFORM), solver, tol=tol, max_rounds=rounds)


def test_the_example_is_the_known_one() -> None:
    """The 8 × 8 matrix of Rudin, Daubechies & Schapire (2004): largest margin 3/8."""
    assert largest_margin(doubled(RUDIN, np.ones(8))) == pytest.approx(3 / 8)


@pytest.mark.parametrize("step", [optimal_step, searched_step])
def test_adaboost_misses_the_largest_margin(step) -> None:
    """It goes round three hypotheses for ever; its margin tends to 1/3."""
    found = rudin(MirrorDescent(step), 3000)
    assert found.reason == "max_rounds"
    assert found.margin == pytest.approx(1 / 3, abs=1e-3)
    assert [h["active"] for h in found.history[3:]] == [3] * 2998


def test_other_steps_do_not_miss_it() -> None:
    m, rounds = 8, 3000
    constant = rudin(MirrorDescent(constant_step(np.sqrt(2 * np.log(m) / rounds))), rounds)
    assert constant.margin > 3 / 8 - 0.02
    small = rudin(MirrorDescent(constant_step(0.02), eps=0.02), 6000)
    assert small.margin > 3 / 8 - 0.02
    for tilt in (ExponentialTilt(), LogisticTilt()):
        corrective = rudin(GrowingBall(tilt), 3000, tol=2e-3)
        assert corrective.reason == "gap"
        assert corrective.margin > 3 / 8 - 2e-3
    assert rudin(LPBoost(), 50).margin == pytest.approx(3 / 8)


@pytest.mark.parametrize("tilt", [ExponentialTilt(), LogisticTilt()], ids=["exponential", "logistic"])
def test_uniform_learning(tilt) -> None:
    """After every inner solve all active hypotheses have the same edge, and no hypothesis met has a larger one."""
    for seed in range(6):
        H, y, prior = random_question(seed)
        game, solver = make_game(H, y, prior), GrowingBall(tilt)
        state = solver.init(game)
        for rounds in range(15):
            reply = game.reply(state.weight)
            solver.step(game, state, reply, rounds)
            edges = state.mixture.columns.T @ state.weight
            active = state.mixture.weight > 1e-6 * state.radius
            np.testing.assert_allclose(edges[active], edges.max(), atol=1e-6)
            assert state.mixture.total == pytest.approx(state.radius) or edges.max() == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("nu", [1.0, 0.3])
def test_the_ball_grows_by_the_steps_of_adaboost(nu: float) -> None:
    """r_t = ν Σ atanh(edge), every weight of a separable game is spent, and the inner optimum is that of SciPy."""
    H, y, prior = random_question(4)
    game, solver = make_game(H, y, prior), GrowingBall(ExponentialTilt(), nu)
    state, radius = solver.init(game), 0.0
    for rounds in range(12):
        radius += nu * np.arctanh((state.weight @ doubled(H, y)).max())
        solver.step(game, state, game.reply(state.weight), rounds)
        columns = state.mixture.columns.copy()
        found = minimize(
            lambda alpha, A=columns: np.log(prior @ np.exp(-A @ alpha)), np.full(columns.shape[1], 1e-3),
            jac=lambda alpha, A=columns: -A.T @ (prior * np.exp(-A @ alpha)) / (prior @ np.exp(-A @ alpha)),
            bounds=[(0.0, None)] * columns.shape[1], method="SLSQP", options={"ftol": 1e-14, "maxiter": 1000},
            constraints={"type": "ineq", "fun": lambda a, r=radius: r - a.sum(), "jac": lambda a: -np.ones(a.size)},
        )  # fmt: skip
        assert state.radius == pytest.approx(radius, rel=1e-9)
        assert state.loss == pytest.approx(found.fun, abs=1e-8)
        np.testing.assert_allclose(columns @ found.x, state.mixture.score, atol=1e-4)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_adaboost_l1_reaches_the_largest_margin(loss: str) -> None:
    tilt = {"exponential": ExponentialTilt(), "logistic": LogisticTilt()}[loss]
    for seed in (1, 2):
        H, y, prior = random_question(seed)
        theta = largest_margin(doubled(H, y))
        found = play(make_game(H, y, prior), GrowingBall(tilt), tol=1e-3, max_rounds=10_000)
        assert found.reason == "gap"
        assert theta - 1e-3 <= found.margin <= theta + 1e-9


def test_small_steps_reach_what_their_length_allows() -> None:
    """X4: θ* − margin tends to at most ε(1 − θ*²)/2 + O(ε²)."""
    H, y, prior = random_question(3)
    theta = largest_margin(doubled(H, y))
    for eps in (0.2, 0.05):
        found = play(make_game(H, y, prior), MirrorDescent(constant_step(eps), eps=eps), tol=0.0, max_rounds=1500)
        limit = theta + np.log(np.cosh(eps) - theta * np.sinh(eps)) / eps
        assert theta - found.margin <= limit + np.log(1 / prior.min()) / (1500 * eps)


def test_hinge_ball_of_the_right_radius_has_the_largest_margin() -> None:
    """Theorem 2: with r = 1/θ* every solution of the hinge problem has margin θ*."""
    for seed in range(5):
        H, y, prior = random_question(seed)
        theta = largest_margin(doubled(H, y))
        found = play(make_game(H, y, prior), HingeBall(1.0 / theta), tol=1e-9, max_rounds=200)
        assert found.converged
        assert found.margin == pytest.approx(theta, abs=1e-6)


@pytest.mark.parametrize(
    "solver",
    [
        MirrorDescent(optimal_step),
        GrowingBall(ExponentialTilt()),
        GrowingBall(LogisticTilt(), nu=0.3),
        LPBoost(),
    ],
    ids=["adaboost", "adaboost+l1", "logistic", "lpboost"],
)
def test_data_that_is_not_separable_is_called_so(solver: MarginSolver) -> None:
    """Every example is there with both labels: all edges tend to 0, and that is the criterion."""
    H = np.repeat([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]], 2, axis=0)
    y = np.tile([1.0, -1.0], 4)
    prior = np.array([0.2, 0.05, 0.15, 0.1, 0.05, 0.2, 0.1, 0.15])
    found = play(make_game(H, y, prior), solver, tol=1e-4, max_rounds=2000)
    assert found.reason == "not_separable"
    assert found.converged
    assert found.edge <= 1e-4
    assert found.margin <= 0


def test_a_perfect_hypothesis_ends_the_game() -> None:
    H, y, prior = random_question(1)
    H[:, 2] = -y
    for solver in (MirrorDescent(optimal_step), MirrorDescent(constant_step(0.1)), GrowingBall(ExponentialTilt(), 0.5)):
        found = play(make_game(H, y, prior), solver, tol=1e-6)
        assert (found.n_rounds, found.margin, found.reason) == (1, 1.0, "gap")
        assert found.mixture.atoms == [(2, -1)]


def test_one_example_more_or_twice_its_weight() -> None:
    H, y, _ = random_question(2)
    weight = np.ones(len(y))
    weight[3] = 2.0
    again = np.r_[np.arange(len(y)), 3]
    for solver in (MirrorDescent(optimal_step), GrowingBall(ExponentialTilt()), FixedBall(LogisticTilt(), 5.0)):
        one = play(make_game(H, y, weight / weight.sum()), solver, max_rounds=20)
        two = play(make_game(H[again], y[again], np.full(again.size, 1 / again.size)), solver, max_rounds=20)
        assert one.mixture.atoms == two.mixture.atoms
        np.testing.assert_allclose(one.mixture.weight, two.mixture.weight, rtol=1e-6, atol=1e-9)
