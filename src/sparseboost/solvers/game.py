"""The game behind margins: one side mixes hypotheses, the other mixes examples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseboost.hypotheses import Dictionary, Enumerable

Array = np.ndarray
Atom = tuple[int, int]  # key of a hypothesis, and the sign it is used with


class Reply(NamedTuple):
    """The hypothesis, or negated hypothesis, with the largest edge under a distribution over the examples.

    Attributes
    ----------
    atom : (key, sign)
        Which one.
    edge : float
        Σ_i d_i y_i h(x_i), at least 0.
    column : array of shape (m,)
        y_i h(x_i) of every example.
    reach : float
        max_i |h(x_i)|, at least 1.
    """

    atom: Atom
    edge: float
    column: Array
    reach: float


class Game:
    r"""θ* = max over α ∈ Δ of min_i (Mα)_i = min over d ∈ Δ of max_j (Mᵀd)_j, where M_ij = y_i h_j(x_i).

    Every hypothesis also plays negated, so θ* ≥ 0. Columns of an enumerable space that leave [−1, 1] are divided by
    their largest absolute value; other spaces keep their scale, and their reach enters steps and bounds.

    Parameters
    ----------
    dictionary : Dictionary
        The hypotheses, bound to the examples.
    y : array of shape (m,)
        Labels ±1.
    prior : array of shape (m,)
        Where distributions over the examples start: positive, with sum 1.

    References
    ----------
    MATH.md X1, section 8.8.
    """

    def __init__(self, dictionary: Dictionary, y: Array, prior: Array) -> None:
        self.within_one = dictionary.within_one or isinstance(dictionary, Enumerable)
        if isinstance(dictionary, Enumerable):
            reach, cost = dictionary.reach(prior), dictionary.cost(np.arange(dictionary.size))
            if np.any(reach > cost):
                dictionary = dictionary.at_cost(np.maximum(reach, cost))
        self.dictionary = dictionary
        self.y = y
        self.prior = prior
        self.log_prior = np.log(prior)
        self.entropy = -float(self.log_prior.min())  # ln m for equal weights: how far a distribution can be from s

    def reply(self, weight: Array) -> Reply | None:
        """The best hypothesis under this distribution; None if every edge is 0."""
        found = self.dictionary.strongest(-(weight * self.y))  # the gradient, as every search has it
        if found is None:
            return None
        return self._reply(found.key, found.correlation, found.cost, found.outputs, found.violation)

    def replies(self, weight: Array, count: int) -> list[Reply]:
        """The best hypotheses under this distribution, at most `count`."""
        force = -(weight * self.y)[:, None]
        found = self.dictionary.search(force, lambda correlation: np.abs(correlation[:, 0]), count)
        columns, cost = self.dictionary.columns(found.keys), self.dictionary.cost(found.keys)
        dense = columns.matrix.toarray() if sp.issparse(columns.matrix) else columns.matrix
        correlation = columns.correlate(force)[:, 0]
        return [
            self._reply(int(key), correlation[j], cost[j], dense[:, j], abs(correlation[j]) / cost[j])
            for j, key in enumerate(found.keys)
        ]

    def _reply(self, key: int, correlation: float, cost: float, outputs: Array, edge: float) -> Reply:
        sign = -1 if correlation > 0.0 else 1
        column = outputs * self.y
        if sign < 0 or cost != 1.0:
            column *= sign / cost
        reach = 1.0 if self.within_one else max(1.0, float(np.abs(column).max()))
        return Reply((key, sign), edge, column, reach)


class Mixture:
    """Non-negative weights of signed hypotheses, the margins they give, and how they came about.

    A hypothesis and its negation have weights of their own.

    Parameters
    ----------
    n_examples : int
        m.
    keep_columns : bool
        Whether the columns of all hypotheses stay in memory.

    Attributes
    ----------
    atoms : list of (key, sign)
        Every hypothesis that ever entered.
    score : array of shape (m,)
        Σ_j α_j y_i h_j(x_i), not normalised.
    trail : list of (scale, positions, amounts)
        One entry per round: weights were multiplied by scale, then amounts were added at these positions.
    """

    def __init__(self, n_examples: int, keep_columns: bool = False) -> None:
        self.atoms: list[Atom] = []
        self.score = np.zeros(n_examples)
        self.trail: list[tuple[float, Array, Array]] = []
        self._position: dict[Atom, int] = {}
        self._weight = np.zeros(64)
        self._columns = np.empty((n_examples, 64 if keep_columns else 0), order="F")
        self._keeps_columns = keep_columns

    @property
    def weight(self) -> Array:
        """α ≥ 0 of all atoms; a view that may be written to."""
        return self._weight[: len(self.atoms)]

    @property
    def columns(self) -> Array:
        """y_i h_j(x_i) of all atoms, where they are kept."""
        return self._columns[:, : len(self.atoms)]

    @property
    def total(self) -> float:
        """‖α‖₁."""
        return float(self.weight.sum())

    @property
    def active(self) -> int:
        """How many weights are positive."""
        return int(np.count_nonzero(self.weight))

    @property
    def margin(self) -> float:
        """min_i of the margins of the normalised classifier; 0 while there is none."""
        total = self.total
        return float(self.score.min()) / total if total > 0.0 else 0.0

    def enter(self, reply: Reply) -> int:
        """Position of a hypothesis, which enters with weight 0 unless it is there."""
        position = self._position.get(reply.atom)
        if position is not None:
            return position
        position = len(self.atoms)
        if position == self._weight.size:
            self._weight = np.concatenate([self._weight, np.zeros(position)])
            if self._keeps_columns:
                self._columns = np.asfortranarray(np.hstack([self._columns, np.empty_like(self._columns)]))
        self._position[reply.atom] = position
        self.atoms.append(reply.atom)
        if self._keeps_columns:
            self._columns[:, position] = reply.column
        return position

    def move(self, scale: float, positions: Array, amounts: Array) -> None:
        """α ← scale · α, then α += amounts at these positions; the caller brings the score along."""
        weight = self.weight
        if scale != 1.0:
            weight *= scale
        weight[positions] += amounts
        self.trail.append((scale, positions, amounts))

    def replace(self, weight: Array) -> None:
        """Give all atoms new weights, and the score that belongs to them."""
        self.weight[:] = weight
        used = np.flatnonzero(weight)
        self.score = self.columns[:, used] @ weight[used]
        self.trail.append((0.0, used, weight[used]))
