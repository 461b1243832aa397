"""Totally corrective boosting: after every new hypothesis all weights are re-optimised over a ball."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseboost.solvers.game import Game, Mixture, Reply
from sparseboost.solvers.margins import Bracket, MarginSolver, MarginState
from sparseboost.solvers.mirror_descent import optimal_step
from sparseboost.solvers.simplex_newton import solve_restricted
from sparseboost.solvers.tilts import Tilt

Array = np.ndarray
INNER_GAP = 1e-11


@dataclass
class CorrectiveState(MarginState):
    """A margin state that knows its ball, and how well the problem over its hypotheses is solved."""

    radius: float = 0.0
    inner_gap: float = 0.0
    ratio: float = 1.0


class GrowingBall(MarginSolver):
    r"""AdaBoost+L1: AdaBoost's steps only widen the ball Σα ≤ r, in which the loss is minimised anew every round.

    r ← r + ν atanh(edge); α ← argmin Σ_i s_i L((Mα)_i) over α ≥ 0, Σα ≤ r, on the hypotheses met so far. Then all
    active edges are equal, and θ*(met so far) − margin ≤ ln(1/min s)/r for the exponential loss.

    Parameters
    ----------
    tilt : Tilt
        The loss.
    nu : float
        ν in (0, 1].

    References
    ----------
    MATH.md X3, X5.
    """

    def __init__(self, tilt: Tilt, nu: float = 1.0) -> None:
        self.tilt = tilt
        self.nu = nu

    def init(self, game: Game) -> CorrectiveState:
        return _empty(game, self.tilt, 0.0)

    def step(self, game: Game, state: MarginState, reply: Reply, rounds: int) -> None:
        assert isinstance(state, CorrectiveState)
        more = self.nu * optimal_step(rounds, reply, state)
        position = state.mixture.enter(reply)
        start = state.mixture.weight.copy()
        start[position] += more  # AdaBoost's own step is where the inner problem starts
        state.radius += more
        _correct(game, state, self.tilt, start)

    def bound(self, game: Game, state: MarginState, bracket: Bracket, gap: float) -> float:
        assert isinstance(state, CorrectiveState)
        return _ball_bound(game, state, self.tilt, state.inner_gap)


class FixedBall(MarginSolver):
    r"""RLMP: min Σ_i s_i L((Mα)_i) over α ≥ 0, Σα ≤ r and all hypotheses, by column generation.

    Parameters
    ----------
    tilt : Tilt
        The loss.
    radius : float
        r.

    References
    ----------
    MATH.md X2, X5, T3.
    """

    seeks_margin = False

    def __init__(self, tilt: Tilt, radius: float) -> None:
        self.tilt = tilt
        self.radius = radius

    def init(self, game: Game) -> CorrectiveState:
        return _empty(game, self.tilt, self.radius)

    def step(self, game: Game, state: MarginState, reply: Reply, rounds: int) -> None:
        assert isinstance(state, CorrectiveState)
        before = state.loss
        known = len(state.mixture.atoms)
        state.mixture.enter(reply)
        _correct(game, state, self.tilt, state.mixture.weight.copy())
        state.stalled = len(state.mixture.atoms) == known and state.loss >= before

    def gap(self, game: Game, state: MarginState, bracket: Bracket) -> float:
        """How much ln of the loss can be above its minimum, at most."""
        assert isinstance(state, CorrectiveState)
        return self.tilt.gap(state.ratio, self.radius * bracket.edge - float(state.weight @ state.mixture.score))

    def bound(self, game: Game, state: MarginState, bracket: Bracket, gap: float) -> float:
        assert isinstance(state, CorrectiveState)
        return _ball_bound(game, state, self.tilt, gap)


def _empty(game: Game, tilt: Tilt, radius: float) -> CorrectiveState:
    mixture = Mixture(game.y.size, keep_columns=True)
    tilted = tilt(mixture.score, game.log_prior)
    return CorrectiveState(mixture, tilted.weight, tilted.value, radius=radius, ratio=tilted.ratio)


def _correct(game: Game, state: CorrectiveState, tilt: Tilt, start: Array) -> None:
    found = solve_restricted(state.mixture.columns, start, state.radius, game.log_prior, tilt, INNER_GAP)
    state.mixture.replace(found.weight)
    state.weight, state.loss, state.ratio = found.tilted.weight, found.tilted.value, found.tilted.ratio
    state.inner_gap = found.gap


def _ball_bound(game: Game, state: CorrectiveState, tilt: Tilt, gap: float) -> float:
    """(ln(1/min s) + slack + gap)/Σα: e^−p/slack is below L at the smallest margin p, and L* is below e^{−rθ*} (X5)."""
    total = state.mixture.total
    if total == 0.0 or (tilt.slack > 0.0 and state.mixture.margin < 0.0):
        return np.inf
    return (game.entropy + tilt.slack + gap) / total
