"""Boosting by linear programs: HiGHS solves the problem over the hypotheses met so far, and prices the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseboost.solvers.game import Game, Mixture, Reply
from sparseboost.solvers.margins import Bracket, MarginSolver, MarginState

Array = np.ndarray
COLUMNS_PER_ROUND = 20


@dataclass
class ProgramState(MarginState):
    """A margin state with the value of its linear program, and the sum of the dual weights."""

    value: float = 0.0
    mass: float = 1.0


class LPBoost(MarginSolver):
    r"""max ρ − Σ_i (s_i/ν) ξ_i over α ∈ Δ, ξ ≥ 0 with Mα ≥ ρ − ξ; with ν = 0 there is no ξ: the hard margin.

    The dual weights d ∈ Δ, d_i ≤ s_i/ν, are the next distribution over the examples. Examples of total weight at most
    ν fall short of ρ.

    Parameters
    ----------
    soft_margin : float
        ν in [0, 1].

    References
    ----------
    MATH.md X1.
    """

    def __init__(self, soft_margin: float = 0.0) -> None:
        self.soft_margin = soft_margin

    def init(self, game: Game) -> ProgramState:
        return ProgramState(Mixture(game.y.size, keep_columns=True), game.prior, 0.0)

    def step(self, game: Game, state: MarginState, reply: Reply, rounds: int) -> None:
        assert isinstance(state, ProgramState)
        known = len(state.mixture.atoms)
        _enter(game, state, reply)
        cap = game.prior / self.soft_margin if self.soft_margin > 0.0 else None
        weight, dual = margin_program(state.mixture.columns, cap)
        state.mixture.replace(weight)
        state.weight = dual
        state.value = _soft_margin(state.mixture.score, cap)
        state.loss = -state.value
        state.stalled = len(state.mixture.atoms) == known

    def gap(self, game: Game, state: MarginState, bracket: Bracket) -> float:
        """Any d that the program allows bounds its optimum by the best edge."""
        assert isinstance(state, ProgramState)
        return bracket.high - state.value

    def bound(self, game: Game, state: MarginState, bracket: Bracket, gap: float) -> float:
        return bracket.high - bracket.margin  # column generation ends, but nobody knows when


class HingeBall(MarginSolver):
    r"""RLMP with the hinge loss: min Σ_i s_i max(0, 1 − (Mα)_i) over α ≥ 0, Σα ≤ r and all hypotheses.

    Parameters
    ----------
    radius : float
        r.

    References
    ----------
    MATH.md X2, X5, T3.
    """

    seeks_margin = False

    def __init__(self, radius: float) -> None:
        self.radius = radius

    def init(self, game: Game) -> ProgramState:
        return ProgramState(Mixture(game.y.size, keep_columns=True), game.prior, 1.0)

    def step(self, game: Game, state: MarginState, reply: Reply, rounds: int) -> None:
        assert isinstance(state, ProgramState)
        known = len(state.mixture.atoms)
        _enter(game, state, reply)
        weight, dual = hinge_program(state.mixture.columns, game.prior, self.radius)
        state.mixture.replace(weight)
        state.loss = float(game.prior @ np.maximum(1.0 - state.mixture.score, 0.0))
        state.mass = float(dual.sum())
        state.weight = dual / state.mass if state.mass > 0.0 else game.prior
        state.stalled = len(state.mixture.atoms) == known

    def gap(self, game: Game, state: MarginState, bracket: Bracket) -> float:
        """Loss minus the dual value Σu − r · max_j (Mᵀu)_j of the program's dual weights u (T3)."""
        assert isinstance(state, ProgramState)
        return state.loss - state.mass * (1.0 - self.radius * bracket.edge)

    def bound(self, game: Game, state: MarginState, bracket: Bracket, gap: float) -> float:
        """From s_i (1 − r·margin) ≤ loss ≤ gap + max(0, 1 − rθ*): convex in θ*, so largest at an end of the bracket."""
        if state.mixture.total == 0.0:
            return np.inf
        least, radius = float(game.prior.min()), self.radius
        short = [theta - 1.0 / radius + max(0.0, 1.0 / radius - theta) / least for theta in (bracket.low, bracket.high)]
        return (max(short) + gap / (least * radius)) * radius / state.mixture.total


def _enter(game: Game, state: MarginState, reply: Reply) -> None:
    """Let the best hypotheses in: solving a program costs far more than a few of them that stay unused."""
    for one in (reply, *game.replies(state.weight, COLUMNS_PER_ROUND)):
        state.reach = max(state.reach, one.reach)
        state.mixture.enter(one)


def margin_program(columns: Array, cap: Array | None = None) -> tuple[Array, Array]:
    """Weights α ∈ Δ of the largest (soft) margin over some hypotheses, and the distribution over the examples.

    The examples' side is solved, min γ with Mᵀd ≤ γ, d ∈ Δ, d ≤ cap: it has few rows; α are its multipliers.
    """
    m, n = columns.shape
    above = np.hstack([columns.T, -np.ones((n, 1))])
    one = np.append(np.ones(m), 0.0)[None, :]
    top = np.append(np.full(m, np.inf) if cap is None else cap, np.inf)
    bounds = np.column_stack([np.append(np.zeros(m), -np.inf), top])
    found = _solve(np.append(np.zeros(m), 1.0), A_ub=above, b_ub=np.zeros(n), A_eq=one, b_eq=[1.0], bounds=bounds)
    weight, dual = np.maximum(-found.ineqlin.marginals, 0.0), np.maximum(found.x[:m], 0.0)
    return weight / weight.sum(), dual / dual.sum()


def hinge_program(columns: Array, prior: Array, radius: float) -> tuple[Array, Array]:
    """Weights of the least hinge loss over some hypotheses in a ball, and the examples' weights 0 ≤ u ≤ s.

    The examples' side is solved, max Σu − rγ with Mᵀu ≤ γ, γ ≥ 0.
    """
    m, n = columns.shape
    above = np.hstack([columns.T, -np.ones((n, 1))])
    bounds = np.column_stack([np.zeros(m + 1), np.append(prior, np.inf)])
    found = _solve(np.append(-np.ones(m), radius), A_ub=above, b_ub=np.zeros(n), bounds=bounds)
    weight = np.maximum(-found.ineqlin.marginals, 0.0)
    weight *= min(1.0, radius / max(weight.sum(), np.finfo(float).tiny))
    return weight, np.clip(found.x[:m], 0.0, prior)


def _solve(cost: Array, **program: Any) -> Any:
    from scipy.optimize import linprog  # slow to import, and only linear programs need it

    found = linprog(cost, method="highs", **program)
    if found.status != 0:
        raise RuntimeError(f"The linear program over the hypotheses met so far was not solved: {found.message}")
    return found


def _soft_margin(score: Array, cap: Array | None) -> float:
    """The largest ρ − Σ_i cap_i [ρ − score_i]₊ over all ρ, which is reached at one of the scores."""
    if cap is None:
        return float(score.min())
    order = np.argsort(score)
    below = np.concatenate([[0.0], np.cumsum(cap[order])[:-1]])
    place = max(int(np.searchsorted(below, 1.0, side="left")) - 1, 0)  # the last score where ρ still gains
    rho = score[order[place]]
    return float(rho - cap @ np.maximum(rho - score, 0.0))
