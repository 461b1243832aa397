"""AdaBoost as mirror descent on the edge, with any step; ε-AdaBoost is its constant step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sparseboost.solvers.game import Game, Mixture, Reply
from sparseboost.solvers.margins import Bracket, MarginSolver, MarginState
from sparseboost.solvers.tilts import ExponentialTilt, line_search

Array = np.ndarray
StepRule = Callable[[int, Reply, MarginState], float]
LONGEST_STEP = 30.0  # of steps that have no end because a hypothesis makes no mistake


def optimal_step(rounds: int, reply: Reply, state: MarginState) -> float:
    """atanh(edge): minimises the exponential loss exactly for outputs ±1, and a bound on it for outputs in [−1, 1]."""
    share = reply.edge / reply.reach
    return min(math.atanh(share) if share < 1.0 else LONGEST_STEP, LONGEST_STEP) / reply.reach


def searched_step(rounds: int, reply: Reply, state: MarginState) -> float:
    """The step that lowers the exponential loss most."""
    with np.errstate(divide="ignore"):
        logits = np.log(state.weight)
    return line_search(logits, reply.column, LONGEST_STEP / reply.reach)


def constant_step(step: float) -> StepRule:
    """The same step every round, in units of the reach."""
    return lambda rounds, reply, state: step / state.reach


def scheduled_step(schedule: Sequence[float] | Callable[[int], float]) -> StepRule:
    """Steps of a function of the round 0, 1, …, or of a list whose last entry repeats."""

    def rule(rounds: int, reply: Reply, state: MarginState) -> float:
        step = schedule(rounds) if callable(schedule) else schedule[min(rounds, len(schedule) - 1)]
        if not (math.isfinite(step) and step >= 0.0):
            raise ValueError(f"step must be finite and >= 0 in every round; it is {step!r} in round {rounds}.")
        return float(step)

    return rule


@dataclass
class MirrorState(MarginState):
    """A margin state that remembers its steps."""

    length: float = 0.0  # Σ steps
    squares: float = 0.0  # Σ (step · reach)²


class MirrorDescent(MarginSolver):
    r"""Mirror descent with the entropy: d_i ∝ s_i exp(−(Mα)_i), and the best hypothesis gains `step`.

    The margin p of the normalised classifier obeys θ* − p ≤ (ln(1/min s) + ½ Σ steps²) / Σ steps.

    Parameters
    ----------
    step : callable
        (round, reply, state) → step ≥ 0.
    eps : float, optional
        Say that all steps are this long; the bound of ε-AdaBoost takes the place of the general one.

    References
    ----------
    MATH.md F1, F5, X4.
    """

    def __init__(self, step: StepRule, eps: float | None = None) -> None:
        self.rule = step
        self.eps = eps
        self._tilt = ExponentialTilt()

    def init(self, game: Game) -> MirrorState:
        return MirrorState(Mixture(game.y.size), game.prior, 0.0)

    def step(self, game: Game, state: MarginState, reply: Reply, rounds: int) -> None:
        assert isinstance(state, MirrorState)
        amount = self.rule(rounds, reply, state)
        mixture = state.mixture
        mixture.move(1.0, np.array([mixture.enter(reply)]), np.array([amount]))
        mixture.score += amount * reply.column
        state.length += amount
        state.squares += (amount * reply.reach) ** 2
        tilted = self._tilt(mixture.score, game.log_prior)
        state.loss, state.weight = tilted.value, tilted.weight

    def bound(self, game: Game, state: MarginState, bracket: Bracket, gap: float) -> float:
        assert isinstance(state, MirrorState)
        if state.length == 0.0:
            return math.inf
        if self.eps is None:
            return (game.entropy + 0.5 * state.squares) / state.length
        reach = state.reach
        return (
            reach * _constant_step_excess(self.eps, bracket.low / reach, bracket.high / reach)
            + game.entropy / state.length
        )


def _constant_step_excess(eps: float, low: float, high: float) -> float:
    """Largest θ + (1/ε) ln(cosh ε − θ sinh ε) over low ≤ θ ≤ high; concave in θ, with its top at coth ε − 1/ε."""
    theta = min(max(1.0 / math.tanh(eps) - 1.0 / eps, low), high, 1.0)
    # cosh ε − θ sinh ε = e^−ε + (1 − θ) sinh ε, without overflow for large ε
    return theta + math.log(math.exp(-2.0 * eps) + (1.0 - theta) * -0.5 * math.expm1(-2.0 * eps)) / eps + 1.0
