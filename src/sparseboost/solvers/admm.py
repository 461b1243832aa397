"""ADMM on the active hypotheses, with the rows in one block or in many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from sparseboost.ensemble import Ensemble
from sparseboost.executor import Executor, Serial
from sparseboost.hypotheses import Columns
from sparseboost.monitors import Monitor
from sparseboost.penalties import Norm
from sparseboost.problem import Problem
from sparseboost.solvers import row_blocks
from sparseboost.solvers.correction import Corrected, Corrector, Goal
from sparseboost.solvers.row_blocks import Block, Meter, Signal

Array = np.ndarray
MOST_STEPS = 20_000
FIRST_BALANCE = 10  # steps before the sharpness is first adapted; the next times come later and later
LATER = 1.3
SHARE_BESIDE_SCORES = 0.1  # rows are tied this much softer than scores that are split off
STEPS_PER_CHECK = 20
LONGEST_CHAIN = 100  # steps after which states that stay with their blocks are fetched once: what a block that is lost
# has to repeat does not grow without end
FALLS_ENOUGH, FALLS_SOME = 0.2, 0.8  # shares of the gap at the last restart that call for the next one
LONGEST_SHARE = 0.36  # of all steps, without a restart
PRECISION = 0.1  # inner minimisations stop at this share of the residuals


class Partition(ABC):
    """How rows are cut into blocks, and where these are.

    Attributes
    ----------
    executor : Executor
        Does the work where the blocks are.
    steps_per_look : int
        How many steps on a smooth loss are taken between two looks at the gap, which may cost more than a step.
    """

    executor: Executor
    steps_per_look: int = 1

    @abstractmethod
    def cut(self, problem: Problem, ensemble: Ensemble) -> list[Any]:
        """Handles of the blocks of the active columns."""

    @abstractmethod
    def scatter(self, dual: Any, blocks: list[Any]) -> Sequence[Any]:
        """The dual point of every block, from what `collect` returned; None where there is none yet."""

    @abstractmethod
    def collect(self, duals: list[Any]) -> Any:
        """A dual point of all rows, from those of the blocks, as the problem understands it."""


class RowBlocks(Partition):
    """Consecutive rows, in this process.

    Parameters
    ----------
    blocks : int or sequence of int
        How many blocks of nearly the same size, or how many rows each of them has.
    """

    def __init__(self, blocks: int | Sequence[int] = 1) -> None:
        self.blocks = blocks
        self.executor = Serial()

    def _edges(self, m: int) -> Array:
        if isinstance(self.blocks, (int, np.integer)):
            return np.linspace(0, m, min(int(self.blocks), m) + 1).astype(int)
        return np.concatenate([[0], np.cumsum(self.blocks)])

    def cut(self, problem: Problem, ensemble: Ensemble) -> list[Block]:
        edges = self._edges(problem.y.shape[0])
        matrix = ensemble.columns.matrix
        if edges.size > 2 and hasattr(matrix, "tocsr"):
            matrix = matrix.tocsr()
        cut = []
        for first, last in pairwise(edges):
            rows = slice(first, last)
            part = ensemble.columns if edges.size == 2 else Columns(_by_columns(matrix[rows]))
            own = (problem.y[rows], problem.weight[rows], problem.driving_loss, problem.fit_intercept)
            cut.append(Block.cut(part, *own))
        return cut

    def scatter(self, dual: Array | None, blocks: list[Block]) -> Sequence[Array | None]:
        if dual is None:
            return [None] * len(blocks)
        return np.split(dual, np.cumsum([block.y.shape[0] for block in blocks])[:-1])

    def collect(self, duals: list[Any]) -> Array:
        return np.concatenate(duals)


def _by_columns(matrix: Any) -> Any:
    return matrix.tocsc() if hasattr(matrix, "tocsc") else np.asfortranarray(matrix)


class ADMM(Corrector):
    r"""Alternating directions for f(W) + Σ_j strength_j ρ(Z_j), W = Z: the loss and the norm take turns.

    Q blocks of rows have a W_q each, all tied to the same Z (consensus); the limit does not depend on Q. A smooth loss
    is minimised by L-BFGS; a loss that is not smooth has scores of its own, S_q = H_q W_q, on which its proximal map is
    exact. The sign constraint is in the step of Z, which is sparse and feasible at every step and is what is returned.

    Parameters
    ----------
    partition : Partition, optional
        The blocks of rows; by default one.
    sharpness : float, default=1.0
        How hard the two sides are tied to each other at first, in units of the curvature of the loss.
    adapt : bool, default=True
        Balance the residuals of the two sides by changing the sharpness.
    relaxation : float, default=1.6
        Over-relaxation, between 0 and 2.

    References
    ----------
    MATH.md P4, P5, T3 (the gap that ends it).
    """

    name = "admm"
    takes_kinks = True

    def __init__(
        self,
        partition: Partition | None = None,
        sharpness: float = 1.0,
        adapt: bool = True,
        relaxation: float = 1.6,
    ) -> None:
        self.partition = partition or RowBlocks()
        self.sharpness = sharpness
        self.adapt = adapt
        self.relaxation = relaxation
        self.dual: Any = None  # of the last run, where the loss has kinks
        self.balanced: float | None = None  # sharpness at the end of the last run

    def check(self, problem: Problem) -> None:
        if not isinstance(problem.penalty, Norm):
            raise ValueError(f"ADMM needs the penalty 'l1', 'l1/l2' or 'l1/linf', not {problem.penalty!r}.")
        if not self.applies(problem):
            raise ValueError(f"ADMM needs a smooth loss or one with a proximal map, not {problem.loss!r}.")

    @staticmethod
    def applies(problem: Problem) -> bool:
        """Whether the loss is smooth or has a proximal map."""
        none = np.zeros((0, problem.n_outputs))
        return problem.loss.smooth or problem.loss.envelope_gradient(problem.y[:0], none, 1.0) is not None

    def rank(self, problem: Problem, score: Array, keys: Array, correlation: Array) -> Array:
        return problem.steepness(keys, correlation)

    def run(self, problem: Problem, ensemble: Ensemble, score: Array, goal: Goal, monitor: Monitor) -> Corrected:
        if ensemble.size == 0 and not problem.fit_intercept:
            return Corrected(ensemble, score, 0.0, True, self.dual)
        consensus = _Consensus(self, problem, ensemble)
        found = consensus.run(goal.gap, monitor)
        self.dual, self.balanced = found.dual, consensus.signal.sharpness
        return found


class _Consensus:
    """One run of ADMM.

    Where the loss has kinks, steps circle around the optimum; their averages are closer to it, and restarting from an
    average whenever its gap has become small turns that into a linear rate.
    """

    def __init__(self, admm: ADMM, problem: Problem, ensemble: Ensemble) -> None:
        self.problem, self.ensemble, self.admm = problem, ensemble, admm
        self.partition, self.executor = admm.partition, admm.partition.executor
        self.blocks = self.partition.cut(problem, ensemble)
        self.kinks = not problem.driving_loss.smooth
        start = np.vstack([ensemble.coef, ensemble.intercept]) if problem.fit_intercept else ensemble.coef
        energy = np.sum(self.executor.map(row_blocks.energy, self.blocks), axis=0)[:, None]
        share = np.maximum(energy, 1e-12 * energy.max(initial=1e-300)) / len(self.blocks)
        share *= SHARE_BESIDE_SCORES if self.kinks else 1.0
        sharpness = admm.balanced or admm.sharpness * (problem.driving_loss.curvature or 1.0)
        self.signal = Signal(start, sharpness, share, admm.relaxation)
        self.total, self.count, self.steps = np.zeros_like(start), 0, 0  # of the offers since the last restart
        self.restart_gap, self.last_gap = np.inf, np.inf
        self.upper, self.lower = np.inf, -np.inf
        self.best: tuple[Ensemble, Any] = (ensemble, None)

    def run(self, target: float, monitor: Monitor) -> Corrected:
        duals = self.partition.scatter(self.admm.dual, self.blocks)
        states = self._apply(row_blocks.begin, duals)
        first = self._look(states, self.signal.consensus, False)
        before, stalled, next_balance = self.upper, True, FIRST_BALANCE
        self.restart_gap = first
        self.signal = self.signal._replace(precision=1e-3 * np.sqrt(max(first, target) / self.signal.consensus.size))
        while self.steps < MOST_STEPS:
            if self.upper - self.lower <= target or monitor.out_of_time:
                stalled = False
                break
            states = self._apply(row_blocks.step, states)
            meter = self._agree(states)
            if not self.kinks:
                if self.steps % self.partition.steps_per_look == 0:
                    self._look(states, self.signal.consensus, False)
                if self.steps >= next_balance:
                    next_balance = int(LATER * next_balance) + 1
                    self._balance(meter)
            elif self.steps % STEPS_PER_CHECK == 0 and self._restart(states):
                self._balance(meter)
        ensemble, dual = self.best
        return Corrected(ensemble, ensemble.score(), max(before - self.upper, 0.0), stalled, dual)

    def _apply(self, function: Any, *sequences: Sequence[Any]) -> list[Any]:
        """Handles of function(block, …, signal); states of a smooth loss are small, and travel as they are."""
        if function is row_blocks.step:
            sequences = (*sequences, [self.signal] * len(self.blocks))
        elif function is row_blocks.begin:
            sequences = ([self.signal] * len(self.blocks), *sequences)
        stay = self.kinks and (self.steps + 1) % LONGEST_CHAIN
        return (self.executor.apply if stay else self.executor.map)(function, self.blocks, *sequences)

    def _agree(self, states: list[Any]) -> Meter:
        """Z ← prox of the mean of the offers."""
        found = self.executor.map(row_blocks.offer, states) if self.kinks else map(row_blocks.offer, states)
        offers, meters = zip(*found, strict=True)
        mean = np.mean(offers, axis=0)
        self.total, self.count, self.steps = self.total + mean, self.count + 1, self.steps + 1
        before, consensus = self.signal.consensus, self._consensus(mean)
        stiffness = len(self.blocks) * self.signal.sharpness * self.signal.share
        total = Meter(*np.sum(meters, axis=0))
        total = total._replace(dual=total.dual + float((stiffness * (consensus - before) ** 2).sum()))
        precision = PRECISION * np.sqrt(max(total.primal, total.dual) / consensus.size)
        self.signal = self.signal._replace(consensus=consensus, precision=precision, restart=False, from_average=False)
        return total

    def _consensus(self, offer: Array) -> Array:
        n = self.ensemble.size
        stiffness = len(self.blocks) * self.signal.sharpness * self.signal.share[:n, 0]
        rows = self.problem.penalty.prox(offer[:n], self.problem.strength(self.ensemble) / stiffness)
        return np.vstack([rows, offer[n:]])

    def _balance(self, meter: Meter) -> None:
        """Bring the relative residuals of both sides together."""
        primal = meter.primal / max(meter.weights, 1e-300)
        dual = meter.dual / max(meter.multipliers, 1e-300)
        if not self.admm.adapt or min(primal, dual) <= 0.0:
            return
        ratio = (primal / dual) ** 0.25  # of squares, and half way
        if not 0.7 < ratio < 1.4:
            self.signal = self.signal._replace(sharpness=self.signal.sharpness * float(np.clip(ratio, 0.1, 10.0)))

    def _restart(self, states: list[Any]) -> bool:
        """Whether steps go on from their average, or forget it because the last of them is better."""
        average = self._consensus(self.total / self.count)
        now = self._look(states, self.signal.consensus, False)
        gap = min(now, self._look(states, average, True))
        due = gap <= FALLS_ENOUGH * self.restart_gap or self.count >= LONGEST_SHARE * self.steps
        if not due and not (gap <= FALLS_SOME * self.restart_gap and gap > self.last_gap):
            self.last_gap = gap
            return False
        self.signal = self.signal._replace(restart=True, from_average=gap < now)
        if gap < now:
            self.signal = self.signal._replace(consensus=average)
        self.total, self.count = np.zeros_like(self.total), 0
        self.restart_gap, self.last_gap = gap, np.inf
        return True

    def _look(self, states: list[Any], consensus: Array, average: bool) -> float:
        """Gap of these weights; the best of them and the best bound met so far are kept."""
        problem, n = self.problem, self.ensemble.size
        intercept = consensus[n] if problem.fit_intercept else self.ensemble.intercept
        ensemble = replace(self.ensemble, coef=np.ascontiguousarray(consensus[:n]), intercept=intercept.copy())
        score, dual = ensemble.score(), None
        if self.kinks:
            which = [average] * len(self.blocks)
            dual = self.partition.collect(self.executor.apply(row_blocks.dual_point, self.blocks, states, which))
        upper, lower = problem.driving_objective(ensemble, score), problem.restricted_proof(ensemble, score, dual).bound
        kept, kept_dual = self.best
        if lower > self.lower:
            self.lower, kept_dual = lower, dual
        if upper < self.upper:
            self.upper, kept = upper, ensemble
        self.best = (kept, kept_dual)
        return upper - lower
