"""Two ways of making the same rounds: on Gram columns where all hypotheses can be written down, else by searching."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sparseboost import kernels
from sparseboost.hypotheses import Enumerable
from sparseboost.kernels.kinds import AWAY, FORWARD
from sparseboost.monitors import Monitor
from sparseboost.solvers.least_squares import LeastSquares

Array = np.ndarray
GRAM_BYTES = 2**28  # for Gram columns; those that do not fit are computed whenever they are chosen
MOST_AT_ONCE, ENTRIES_AT_ONCE = 32, 2**22  # Gram columns, and outputs they are made of: together they cost less
FEWEST_BETWEEN = 1000  # rounds between two looks at the data, which keep rounding errors from adding up


@dataclass(frozen=True)
class Steps:
    """Rounds: all weights are multiplied by the factor, then the weight of the key is set to the value."""

    keys: Array
    factors: Array
    values: Array

    @classmethod
    def empty(cls, size: int) -> Steps:
        """Room for this many rounds."""
        return cls(np.zeros(size, np.int64), np.ones(size), np.zeros(size))

    def first(self, size: int) -> Steps:
        """The first rounds."""
        return Steps(self.keys[:size], self.factors[:size], self.values[:size])


@dataclass(frozen=True)
class Measures:
    """Where rounds started: one entry per round."""

    losses: Array
    pulls: Array  # ‖Xᵀr‖∞
    gaps: Array
    active: Array
    left: Array  # whether the round did nothing but drop a vertex

    @classmethod
    def empty(cls, size: int) -> Measures:
        """Room for this many rounds."""
        return cls(np.empty(size), np.empty(size), np.empty(size), np.empty(size, np.int64), np.zeros(size, np.bool_))

    def first(self, size: int) -> Measures:
        """The first rounds."""
        return Measures(*(part[:size] for part in (self.losses, self.pulls, self.gaps, self.active, self.left)))


class Walk(ABC):
    """Where a run stands: hypotheses met so far in the order of their entry, their weights, and the rounds made.

    Parameters
    ----------
    question : LeastSquares
        What is asked.
    kind, number, radius : int, float, float
        The rule, as `kernels.stagewise.choose` knows it.
    """

    def __init__(self, question: LeastSquares, kind: int, number: float, radius: float) -> None:
        self.question, self.kind, self.number, self.radius = question, kind, float(number), float(radius)
        self.keys = np.empty(0, np.int64)
        self.means, self.energies, self.weights = np.empty(0), np.empty(0), np.empty(0)
        self.rounds = 0
        self.stuck = False  # the last round changed nothing that double precision can see
        self._steps: list[Steps] = []

    @property
    def coef(self) -> Array:
        """Weights of the hypotheses themselves, not over their cost."""
        return self.weights / self._costs

    @property
    def _costs(self) -> Array:
        return self.question.dictionary.cost(self.keys)

    @property
    def intercept(self) -> float:
        """The best intercept for these weights."""
        return self.question.mean - float(self.means @ self.weights)

    @property
    def steps(self) -> Steps:
        """All rounds, with the weights of the hypotheses themselves."""
        parts = [Steps.empty(0), *self._steps]
        keys, factors, values = (np.concatenate([getattr(p, name) for p in parts]) for name in Steps.__annotations__)
        return Steps(keys, factors, values / self.question.dictionary.cost(keys))

    @property
    def largest_energy(self) -> float:
        """max_j ‖X_j‖²: of all hypotheses where they can be looked at, else of those met so far."""
        return max(self.question.largest_energy, float(self.energies.max(initial=0.0)))

    @abstractmethod
    def measure(self) -> Measures:
        """Where the next round starts."""

    @abstractmethod
    def advance(self, most: int, limit: float, monitor: Monitor) -> Measures:
        """Make at least one round and at most so many; end before a round that starts at or below the limit."""

    def refresh(self) -> bool:
        """Compute from the data what has been carried along; False if that was nothing."""
        return False

    def _meet(self, key: int) -> Array:
        """Give a new hypothesis its place; returns its centred column."""
        columns, means = self.question.columns(np.array([key]))
        column = columns[:, 0]
        self.keys = np.append(self.keys, np.int64(key))
        self.means = np.append(self.means, means)
        self.energies = np.append(self.energies, self.question.inner(column, column))
        self.weights = np.append(self.weights, 0.0)
        return column

    def _measures(self, pull: float, p: float, q: float) -> Measures:
        norm = float(np.abs(self.weights).sum()) if self.kind == FORWARD else self.radius
        measures = Measures.empty(1)
        measures.losses[0] = 0.5 * self.question.energy - p + 0.5 * q
        measures.pulls[0] = pull
        measures.gaps[0] = norm * pull - (p - q) if pull > 0.0 else 0.0
        measures.active[0] = np.count_nonzero(self.weights)
        return measures


class GramWalk(Walk):
    """Keeps c = Xᵀr and updates it by Gram columns, so that a round does not look at the data."""

    def __init__(self, question: LeastSquares, kind: int, number: float, radius: float) -> None:
        super().__init__(question, kind, number, radius)
        assert isinstance(question.dictionary, Enumerable)
        self.dictionary: Enumerable = question.dictionary
        size = self.dictionary.size
        self._cost = self.dictionary.cost(np.arange(size))
        self._slots = np.full(size, -1, np.int64)
        self._rows = np.full(size, -1, np.int64)
        self._gram = np.empty((int(np.clip(GRAM_BYTES // (8 * max(size, 1)), 2, max(size, 2))), size))
        self._used = 0
        self._moments = np.zeros(2)
        self._since = 0
        self.refresh()
        self._start = self._correlation.copy()  # b = Xᵀy

    def refresh(self) -> bool:
        if self.rounds > 0 and self._since == 0:
            return False
        question = self.question
        score = self.dictionary.columns(self.keys).dot(self.coef[:, None])[:, 0] - self.means @ self.weights
        found = question.search(question.target - score)
        assert found.correlation is not None
        self._correlation = found.correlation[:, 0] / self._cost
        self._moments[:] = question.inner(question.target, score), question.inner(score, score)
        self._since = 0
        return True

    def measure(self) -> Measures:
        p, q = self._moments
        return self._measures(float(np.abs(self._correlation).max(initial=0.0)), p, q)

    def advance(self, most: int, limit: float, monitor: Monitor) -> Measures:
        between = max(FEWEST_BETWEEN, self.question.y.size)
        if self._since >= between:
            self.refresh()
        size = min(most, between - self._since)
        steps, measures = Steps.empty(size), Measures.empty(size)
        made = 0
        while made < size:
            more, why, key = self._rounds(steps, measures, made, limit)
            made += more
            self.rounds += more
            self._since += more
            if why == kernels.stagewise.MISSING:
                self._load(int(key))
                if made and monitor.out_of_time:
                    break
            elif why != kernels.stagewise.MADE:
                self.stuck = bool(why == kernels.stagewise.STUCK)
                break
        self._steps.append(steps.first(made))
        return measures.first(made)

    def _rounds(self, steps: Steps, measures: Measures, made: int, limit: float) -> tuple[int, int, int]:
        return kernels.stagewise.rounds(
            self.kind, self.number, self.radius, self.rounds, limit, made > 0,
            self._correlation, self._start, self.keys, self._slots, self._rows, self._gram, self.energies, self.weights,
            self._moments, 0.5 * self.question.energy,
            steps.keys[made:], steps.factors[made:], steps.values[made:], measures.left[made:],
            measures.losses[made:], measures.pulls[made:], measures.gaps[made:], measures.active[made:],
        )  # fmt: skip

    def _load(self, key: int) -> None:
        """Make a hypothesis ready for a round: its place among those met, and its Gram column."""
        if self._slots[key] < 0:
            self._slots[key] = self.keys.size
            self._meet(key)
        if self._rows[key] >= 0:
            return
        keys = self._soon(key)
        force = self.question.weight[:, None] * self.question.columns(keys)[0]
        last = self._gram.shape[0] - 1
        rows = np.minimum(self._used + np.arange(keys.size), last)
        if rows[-1] == last:  # the last row belongs to whoever needs it
            self._rows[self._rows == last] = -1
        self._gram[rows] = self.dictionary.correlate(force).T / self._cost
        self._rows[keys] = rows
        self._used = min(self._used + keys.size, last)

    def _soon(self, key: int) -> Array:
        """Add hypotheses that are likely to be chosen next, as long as there is room: twice as many each time."""
        most = min(MOST_AT_ONCE, ENTRIES_AT_ONCE // self.question.y.size)
        count = min(self._used, most - 1, self._gram.shape[0] - 2 - self._used)
        if count <= 0:
            return np.array([key])
        pull = np.abs(self._correlation)
        pull[self._rows >= 0] = -1.0
        pull[key] = -1.0
        likely = np.argpartition(-pull, min(count, pull.size - 1))[:count]
        return np.concatenate([[key], likely[pull[likely] > 0.0]])


class SearchWalk(Walk):
    """Keeps the residual and searches the space every round."""

    def __init__(self, question: LeastSquares, kind: int, number: float, radius: float) -> None:
        super().__init__(question, kind, number, radius)
        self._residual = question.target
        self._targets = np.empty(0)  # X_jᵀy of the hypotheses met
        self._places: dict[int, int] = {}
        self._look()

    def _look(self) -> None:
        """Search once a round; the rest follows from what was found."""
        question = self.question
        found = question.search(self._residual)
        fit = question.target - self._residual
        self._p, self._q = question.inner(question.target, fit), question.inner(fit, fit)
        self._pull = float(found.violation)
        if found.keys.size == 0:  # nothing pulls, or a heuristic found nothing that does
            self.stuck = True
        else:
            key = int(found.keys[0])
            if key in self._places:
                self._column = question.column(key)
            else:
                self._places[key] = self.keys.size
                self._column = self._meet(key)
                self._targets = np.append(self._targets, question.inner(self._column, question.target))
            self._best = self._places[key]

    def measure(self) -> Measures:
        return self._measures(self._pull, self._p, self._q)

    def advance(self, most: int, limit: float, monitor: Monitor) -> Measures:
        measures = self.measure()
        place, factor, value, measures.left[0] = self._choose()
        column = self._column if place == self._best else self.question.column(int(self.keys[place]))
        self.stuck = bool(factor == 1.0 and value == self.weights[place])
        change = value - factor * self.weights[place]
        self._residual = factor * self._residual + (1.0 - factor) * self.question.target - change * column
        self.weights *= factor
        self.weights[place] = value
        self._steps.append(Steps(self.keys[[place]], np.array([factor]), np.array([value])))
        self.rounds += 1
        self._look()
        return measures

    def _choose(self) -> tuple[int, float, float, bool]:
        """Place, factor and value of the next round, and whether it only drops a vertex."""
        best, question = self._best, self.question
        if self.kind == AWAY:
            pulls = question.dictionary.columns(self.keys).correlate(question.force(self._residual))[:, 0] / self._costs
            away = kernels.stagewise.retreat(
                self.radius, self._pull, pulls, self._targets, self.energies, self.weights, self._p, self._q
            )
            if away[0] >= 0:
                return away
        factor, value = kernels.stagewise.choose(
            self.kind, self.number, self.radius, self.rounds, question.inner(self._column, self._residual),
            self._targets[best], self.energies[best], self._p, self._q, self.weights[best],
        )  # fmt: skip
        return best, factor, value, False
