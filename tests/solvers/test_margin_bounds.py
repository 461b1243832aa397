"""What theory promises of every method holds after every round, on 200 random problems each (X4, X5, F1, F3)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from margin_games import doubled, largest_margin, make_game, random_question

from sparseboost.monitors import Monitor
from sparseboost.solvers.conditional_gradient import ConditionalGradient, constant_share, open_loop
from sparseboost.solvers.linear_program import HingeBall, LPBoost
from sparseboost.solvers.margins import MarginSolver, play
from sparseboost.solvers.mirror_descent import MirrorDescent, constant_step, optimal_step, searched_step
from sparseboost.solvers.tilts import ExponentialTilt, LogisticTilt
from sparseboost.solvers.totally_corrective import FixedBall, GrowingBall

ROUNDS = 12
SOLVERS: dict[str, Callable[[], MarginSolver]] = {
    "adaboost": lambda: MirrorDescent(optimal_step),
    "adaboost-line-search": lambda: MirrorDescent(searched_step),
    "adaboost-constant": lambda: MirrorDescent(constant_step(0.4)),
    "eps-adaboost": lambda: MirrorDescent(constant_step(0.3), eps=0.3),
    "eps-adaboost-long": lambda: MirrorDescent(constant_step(2.0), eps=2.0),
    "adaboost+l1": lambda: GrowingBall(ExponentialTilt(), nu=0.5),
    "adaboost+l1-logistic": lambda: GrowingBall(LogisticTilt()),
    "rlmp": lambda: FixedBall(ExponentialTilt(), 6.0),
    "rlmp-logistic": lambda: FixedBall(LogisticTilt(), 6.0),
    "rlmp-hinge": lambda: HingeBall(6.0),
    "cg-boost": lambda: ConditionalGradient(6.0, open_loop),
    "cg-boost-line-search": lambda: ConditionalGradient(6.0),
    "cg-boost-constant": lambda: ConditionalGradient(6.0, constant_share(0.1), constant=0.1),
    "cg-boost-away": lambda: ConditionalGradient(6.0, direction="away"),
    "cg-boost-pairwise": lambda: ConditionalGradient(6.0, direction="pairwise"),
    "lpboost": LPBoost,
    "lpboost-soft": lambda: LPBoost(0.3),
}
LOSS_BALL = {"cg-boost", "cg-boost-line-search", "cg-boost-away", "cg-boost-pairwise", "cg-boost-constant"}


def watched(solver: MarginSolver, question: Any, rounds: int = ROUNDS, tol: float = 0.0):
    """The solution, and what `look` says about the state at every round."""
    game = make_game(*question)
    state = solver.init(game)
    seen: list[tuple[np.ndarray, list[Any], np.ndarray]] = []

    def remember(record: dict[str, Any]) -> bool:
        mixture = state.mixture
        seen.append((state.weight.copy(), list(mixture.atoms), mixture.weight.copy()))
        return False

    solution = play(game, solver, state=state, tol=tol, max_rounds=rounds, monitor=Monitor(callbacks=[remember]))
    return solution, seen


def columns_of(atoms: list[Any], H: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.column_stack([sign * y * H[:, key] for key, sign in atoms])


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 200), marks=pytest.mark.slow)], ids=["20", "200"])
@pytest.mark.parametrize("name", SOLVERS)
def test_bounds_and_bracket_at_every_round(name: str, seeds: range) -> None:
    checked = 0
    for seed in seeds:
        question = random_question(seed, "signs" if seed % 3 else "confident", separable=seed % 5 != 0)
        H, y, _ = question
        M = doubled(H, y)
        theta = largest_margin(M)
        solution, seen = watched(SOLVERS[name](), question)
        assert len(seen) == len(solution.history) == solution.n_rounds + 1
        for record, (weight, atoms, alpha) in zip(solution.history, seen, strict=True):
            assert np.all(alpha >= 0)
            assert np.all(weight >= 0)
            assert weight.sum() == pytest.approx(1.0)
            assert record["edge"] == pytest.approx(float((weight @ M).max()), abs=1e-12)
            assert record["margin"] <= theta + 1e-9 <= record["edge"] + 2e-9
            assert record["active"] == np.count_nonzero(alpha)
            if record["round"] == 0:
                assert record["bound"] == np.inf
                continue
            known = columns_of(atoms, H, y)
            assert record["margin"] == pytest.approx(float((known @ alpha).min() / alpha.sum()), abs=1e-9)
            target = theta
            if name.startswith("adaboost+l1"):  # the promise is about the hypotheses met so far, where they separate
                target = largest_margin(known)
                if target <= 1e-9:
                    continue
            assert target - record["margin"] <= record["bound"] + 1e-9
            checked += np.isfinite(record["bound"])
    assert checked >= len(seeds) // 4  # the promises are finite, and were looked at


@pytest.mark.parametrize("name", sorted(LOSS_BALL))
def test_ball_and_loss_of_cg_boost(name: str) -> None:
    """F3: Σλ ≤ δ, at most k hypotheses after k rounds, and L − L* ≤ 8δ²/(k+3); the gap bounds it too."""
    for seed in range(15):
        question = random_question(seed)
        best = play(make_game(*question), FixedBall(ExponentialTilt(), 6.0), tol=1e-10, max_rounds=200).history[-1]
        solution, seen = watched(SOLVERS[name](), question, rounds=30)
        for k, (record, (_, _, alpha)) in enumerate(zip(solution.history, seen, strict=True)):
            assert alpha.sum() <= 6.0 * (1 + 1e-12)
            assert np.count_nonzero(alpha) <= k
            assert record["loss"] - best["loss"] <= record["gap"] + 1e-9
            if k and "constant" not in name and "pairwise" not in name and "away" not in name:
                assert record["loss"] - best["loss"] <= 8 * 6.0**2 / (k + 3) + 1e-9
        smallest = [min(r["gap"] for r in solution.history[1 : k + 1]) for k in range(1, solution.n_rounds + 1)]
        if name in ("cg-boost", "cg-boost-line-search"):
            assert np.all(np.array(smallest) <= 17.4 * 6.0**2 / np.arange(1, len(smallest) + 1))


@pytest.mark.parametrize("direction", ["away", "pairwise"])
def test_corrective_steps_prune_and_reach_the_optimum_sooner(direction: str) -> None:
    rng, pruned = np.random.default_rng(0), 0
    for _ in range(3):
        H = rng.choice([-1.0, 1.0], size=(40, 60))
        question = H, np.sign(H[:, :5].sum(axis=1)), np.full(40, 1 / 40)
        solution, seen = watched(ConditionalGradient(40.0, direction=direction), question, rounds=1500, tol=0.02)
        plain, _ = watched(ConditionalGradient(40.0), question, rounds=solution.n_rounds, tol=0.02)
        assert solution.converged
        assert plain.gap > 10 * solution.gap
        pruned += sum(later < earlier for earlier, later in pairwise(np.count_nonzero(alpha) for _, _, alpha in seen))
        assert np.all(np.diff([record["loss"] for record in solution.history]) <= 1e-12)
    assert pruned > 0


def test_weights_outside_the_unit_interval_are_scaled() -> None:
    """Features are divided by their largest absolute value (MATH.md 8.8); a common scale changes nothing."""
    H, y, prior = random_question(2, "confident")
    H = H / np.abs(H).max(axis=0)
    plain = play(make_game(H, y, prior), MirrorDescent(optimal_step), max_rounds=15)
    large = play(make_game(H * 1000.0, y, prior), MirrorDescent(optimal_step), max_rounds=15)
    np.testing.assert_allclose(large.mixture.weight, plain.mixture.weight, rtol=1e-9)
    assert large.margin == pytest.approx(plain.margin)


@pytest.mark.parametrize("name", ["adaboost", "eps-adaboost", "cg-boost", "cg-boost-pairwise", "adaboost+l1", "rlmp"])
def test_bounds_hold_for_spaces_that_keep_their_scale(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseboost.solvers.game import Game

    def keep(self: Game, dictionary: Any, y: np.ndarray, prior: np.ndarray) -> None:
        self.dictionary, self.y, self.prior, self.within_one = dictionary, y, prior, False
        self.log_prior = np.log(prior)
        self.entropy = -float(self.log_prior.min())

    monkeypatch.setattr(Game, "__init__", keep)
    for seed in range(10):
        H, y, prior = random_question(seed, "confident")
        H = H * np.random.default_rng(seed).uniform(0.5, 4.0, size=H.shape[1])
        theta = largest_margin(doubled(H, y))
        solution, seen = watched(SOLVERS[name](), (H, y, prior))
        for record, (_, atoms, _) in zip(solution.history[1:], seen[1:], strict=True):
            target = largest_margin(columns_of(atoms, H, y)) if name == "adaboost+l1" else theta
            if target > 0:
                assert target - record["margin"] <= record["bound"] + 1e-9
