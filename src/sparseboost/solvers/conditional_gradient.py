"""CG-Boost: the conditional gradient method on the log-exponential loss over a ball, with steps that can also prune."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sparseboost.solvers.game import Game, Mixture, Reply
from sparseboost.solvers.margins import Bracket, MarginSolver, MarginState
from sparseboost.solvers.tilts import ExponentialTilt, line_search

Array = np.ndarray
Share = Callable[[int], float]
Direction = Literal["toward", "away", "pairwise"]
NOTHING = 1e-12  # a share of the ball that rounding leaves


def open_loop(rounds: int) -> float:
    """2/(k+2)."""
    return 2.0 / (rounds + 2.0)


def constant_share(share: float) -> Share:
    """The same share every round."""
    return lambda rounds: share


def scheduled_share(schedule: Sequence[float] | Callable[[int], float]) -> Share:
    """Shares of a function of the round 0, 1, …, or of a list whose last entry repeats."""

    def rule(rounds: int) -> float:
        share = schedule(rounds) if callable(schedule) else schedule[min(rounds, len(schedule) - 1)]
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"step must be between 0 and 1 in every round; it is {share!r} in round {rounds}.")
        return float(share)

    return rule


@dataclass
class ConditionalState(MarginState):
    """A margin state that counts the steps for which the theory promises progress."""

    good: int = 0
    decrease: float = 1.0  # Π (1 − a) of a constant step


class ConditionalGradient(MarginSolver):
    r"""min over λ ≥ 0, Σλ ≤ δ of ln Σ_i s_i exp(−(Mλ)_i), one hypothesis per round: λ ← (1 − a) λ + a δ e_j.

    Away-steps take from the hypothesis with the smallest edge and give to all others; pairwise steps give to the best
    one. Both use line search and set weights to exactly zero.

    Parameters
    ----------
    radius : float
        δ.
    share : callable, optional
        Round → a in [0, 1]; line search where it is not given.
    direction : {"toward", "away", "pairwise"}
        Which steps are allowed.
    constant : float, optional
        Say that all shares are this large; its own bound takes the place of the general one.

    References
    ----------
    MATH.md F3, F5, T3.
    """

    seeks_margin = False

    def __init__(
        self,
        radius: float,
        share: Share | None = None,
        direction: Direction = "toward",
        constant: float | None = None,
    ) -> None:
        self.radius = radius
        self.share = share
        self.direction = direction
        self.constant = constant
        self._tilt = ExponentialTilt()

    def init(self, game: Game) -> ConditionalState:
        mixture = Mixture(game.y.size, keep_columns=self.direction != "toward")
        return ConditionalState(mixture, game.prior, 0.0)

    def gap(self, game: Game, state: MarginState, bracket: Bracket) -> float:
        """Frank–Wolfe gap of the loss (T3)."""
        return self.radius * bracket.edge - float(state.weight @ state.mixture.score)

    def step(self, game: Game, state: MarginState, reply: Reply, rounds: int) -> None:
        assert isinstance(state, ConditionalState)
        mixture, radius = state.mixture, self.radius
        position = mixture.enter(reply)
        logits = game.log_prior - mixture.score
        forward = radius * reply.column - mixture.score
        if self.direction == "toward":
            a = self.share(rounds) if self.share is not None else line_search(logits, forward, 1.0)
            mixture.move(1.0 - a, np.array([position]), np.array([a * radius]))
            mixture.score += a * forward
            state.good += 1
        else:
            self._correct(state, reply, position, logits, forward)
        if self.constant is not None:
            state.decrease *= 1.0 - self.constant
        tilted = self._tilt(mixture.score, game.log_prior)
        state.loss, state.weight = tilted.value, tilted.weight

    def _correct(self, state: ConditionalState, reply: Reply, position: int, logits: Array, forward: Array) -> None:
        """A step along, away from, or between vertices of the ball; the origin is one of them."""
        mixture, radius = state.mixture, self.radius
        worst, share, column = self._worst(state)
        if worst == position:  # no vertex is better than any other: the optimum
            state.stalled = True
            mixture.move(1.0, np.array([position]), np.zeros(1))
            return
        at_score = float(state.weight @ mixture.score)
        edge_of_worst = float(state.weight @ column)
        if self.direction == "pairwise":
            limit, move = share, radius * (reply.column - column)
        elif radius * reply.edge - at_score >= at_score - radius * edge_of_worst:
            limit, move = 1.0, forward
        else:
            limit, move = share / (1.0 - share), mixture.score - radius * column
        a = line_search(logits, move, limit)
        state.good += int(a < limit or limit >= 1.0)  # a step cut short removes a vertex and promises nothing
        scale, gains = 1.0, {}
        if move is forward:
            scale, gains = 1.0 - a, {position: a * radius}
        else:
            if self.direction == "away":
                scale = 1.0 + a
            else:
                gains[position] = a * radius
            if worst >= 0:
                gains[worst] = -scale * mixture.weight[worst] if a == limit else -a * radius
        mixture.move(scale, np.array(list(gains), dtype=np.int64), np.array(list(gains.values())))
        mixture.score += a * move

    def _worst(self, state: ConditionalState) -> tuple[int, float, Array]:
        """The vertex in use with the smallest edge: its position (−1: the origin), its share, its column."""
        mixture = state.mixture
        weight = mixture.weight
        used = np.flatnonzero(weight)
        slack = 1.0 - mixture.total / self.radius
        edges = mixture.columns[:, used].T @ state.weight
        if used.size == 0 or (slack > NOTHING and edges.min() >= 0.0):
            return -1, slack, np.zeros_like(mixture.score)
        worst = int(used[edges.argmin()])
        return worst, float(weight[worst] / self.radius), mixture.columns[:, worst]

    def bound(self, game: Game, state: MarginState, bracket: Bracket, gap: float) -> float:
        assert isinstance(state, ConditionalState)
        total, radius = state.mixture.total, self.radius
        if total == 0.0:
            return np.inf
        curvature = (radius * state.reach) ** 2
        if self.constant is not None:
            loss = state.decrease * radius * state.reach + 2.0 * self.constant * curvature
        elif self.share is not None and self.share is not open_loop:
            return np.inf  # a schedule of the user's own has no theorem
        else:
            loss = 8.0 * curvature / (state.good + 3.0) if state.good else radius * state.reach
        # θ* − p(λ/δ) ≤ (loss + ln 1/min s)/δ; the classifier is divided by Σλ instead, which can only cost δ/Σλ
        return (loss + game.entropy) / total
