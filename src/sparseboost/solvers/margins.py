"""Solvers of the margin game behind the one loop: the bracket of margin and edge is the certificate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparseboost.monitors import Monitor, Record
from sparseboost.solvers.base import Course, Look, run
from sparseboost.solvers.game import Game, Mixture, Reply
from sparseboost.threads import one_blas_thread

Array = np.ndarray


@dataclass
class MarginState:
    """Where a margin solver stands between two rounds; it is written to.

    Attributes
    ----------
    mixture : Mixture
        The classifier.
    weight : array of shape (m,)
        The distribution over the examples against which the next hypothesis is sought.
    loss : float
        The solver's objective at the mixture.
    reach : float
        Largest |h(x_i)| among the hypotheses that entered, at least 1.
    stalled : bool
        Whether the last step changed nothing.
    """

    mixture: Mixture
    weight: Array
    loss: float
    reach: float = 1.0
    stalled: bool = False


class Bracket(NamedTuple):
    """What a round knows about the largest margin: margin ≤ θ* ≤ high, the least of the best edges so far."""

    margin: float
    edge: float
    high: float

    @property
    def low(self) -> float:
        """A margin that some classifier has; a hypothesis and its negation together have 0."""
        return max(self.margin, 0.0)


class MarginSolver(ABC):
    """One way of mixing hypotheses; `play` does everything else.

    Attributes
    ----------
    seeks_margin : bool
        Whether the aim is the largest margin: then the gap is that of the bracket margin ≤ θ* ≤ best edge, and data
        on which all edges vanish end the fit. Otherwise the aim is the least loss, and the gap is that of the loss.
    """

    seeks_margin: bool = True

    @abstractmethod
    def init(self, game: Game) -> MarginState:
        """The empty classifier."""

    @abstractmethod
    def step(self, game: Game, state: MarginState, reply: Reply, rounds: int) -> None:
        """One round: let the hypothesis in and move the weights."""

    @abstractmethod
    def bound(self, game: Game, state: MarginState, bracket: Bracket, gap: float) -> float:
        """How far the margin can be from θ* at most, as the theory of the method promises it."""

    def gap(self, game: Game, state: MarginState, bracket: Bracket) -> float:
        """How far the mixture can be from the solver's aim, at most."""
        return bracket.high - bracket.margin


class MarginSolution(NamedTuple):
    """Where a margin solver stopped, and why."""

    mixture: Mixture
    margin: float
    edge: float
    gap: float
    converged: bool
    reason: str
    n_rounds: int
    history: list[Record]


def play(
    game: Game,
    solver: MarginSolver,
    *,
    state: MarginState | None = None,
    tol: float = 1e-3,
    max_rounds: int = 1000,
    monitor: Monitor | None = None,
) -> MarginSolution:
    """Run a margin solver until its certificate, a limit or a callback ends it.

    Parameters
    ----------
    game : Game
        Hypotheses and examples.
    solver : MarginSolver
        How weights move.
    state : MarginState, optional
        What `solver.init(game)` returned, for those who want to watch it.
    tol : float
        The gap that is wanted, absolute.
    max_rounds : int
        Most rounds.
    monitor : Monitor, optional
        Keeps the history and watches the clock.

    Returns
    -------
    MarginSolution
        The mixture, its margin, the best edge under the last distribution, and why it stopped.
    """
    monitor = monitor or Monitor()
    with one_blas_thread():
        course = _MarginCourse(game, solver, tol)
        state, look, reason, rounds = run(course, state or solver.init(game), max_rounds, monitor)
    record = look.record
    return MarginSolution(
        state.mixture, record["margin"], record["edge"], record["gap"], look.converged, reason, rounds, monitor.history
    )


class _MarginCourse(Course):
    """A margin solver at work on a game."""

    def __init__(self, game: Game, solver: MarginSolver, tol: float) -> None:
        self.game, self.solver, self.tol = game, solver, tol
        self.high = np.inf  # least best edge so far
        self.rounds = 0

    def look(self, state: MarginState, rounds: int) -> Look:
        game, solver, self.rounds = self.game, self.solver, rounds
        reply = game.reply(state.weight)
        edge = 0.0 if reply is None else reply.edge
        # the best edge of a heuristic search bounds the margins of the hypotheses it has seen, not of later ones
        self.high = min(self.high, edge) if game.dictionary.exact else edge
        bracket = Bracket(state.mixture.margin, edge, self.high)
        gap = max(solver.gap(game, state, bracket), 0.0)
        record = {
            "edge": edge,
            "margin": bracket.margin,
            "loss": state.loss,
            "active": state.mixture.active,
            "gap": gap,
            "bound": solver.bound(game, state, bracket, gap) if rounds else np.inf,
        }
        reason, converged = None, False
        if reply is None or (rounds and solver.seeks_margin and self.high <= self.tol):
            reason, converged = "not_separable" if solver.seeks_margin else "gap", True
        elif rounds and gap <= self.tol:
            reason, converged = "gap", True
        elif state.stalled:
            reason = "stalled"
        return Look(record, self.tol, reason, converged, reply)

    def step(self, state: MarginState, look: Look, monitor: Monitor) -> MarginState:
        reply: Reply = look.found
        state.reach = max(state.reach, reply.reach)
        self.solver.step(self.game, state, reply, self.rounds)
        return state
