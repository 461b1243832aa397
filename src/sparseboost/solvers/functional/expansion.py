"""The function while it is learned: a start and weighted weak learners, and what is read off it at the end."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np

from sparseboost.solvers.functional.projection import Array, VectorHypothesis, total

OUTPUTS = ("best", "average", "last")


class Expansion:
    """f_t = start − Σ_s η_s coef_s h_s over the learners of rounds 1 … t, with η_s the step of the round of s.

    Attributes
    ----------
    start : array of shape (k,)
        f₀.
    hypotheses : list
        The weak learners, in the order they were found.
    coef : list of float
        Their coefficients in the direction of their round, without its step.
    rounds : list of int
        The round that found each.
    steps : list of float
        η_t of every round.
    edges : list of float
        The smallest measured edge of every round.
    """

    def __init__(self, start: Array) -> None:
        self.start = start
        self.hypotheses: list[VectorHypothesis] = []
        self.coef: list[float] = []
        self.rounds: list[int] = []
        self.steps: list[float] = []
        self.edges: list[float] = []

    @property
    def size(self) -> int:
        """Number of weak learners."""
        return len(self.hypotheses)

    @property
    def n_rounds(self) -> int:
        """T, the number of rounds."""
        return len(self.steps)

    def extend(self, hypotheses: list[VectorHypothesis], coef: Array, step: float, edge: float) -> None:
        """Add the learners of one more round."""
        self.steps.append(step)
        self.edges.append(edge)
        self.hypotheses += hypotheses
        self.coef += [float(c) for c in coef]
        self.rounds += [self.n_rounds] * len(hypotheses)

    def of_round(self, t: int) -> tuple[list[VectorHypothesis], Array]:
        """Learners and coefficients of round t = 1, 2, …"""
        mine = range(bisect_left(self.rounds, t), bisect_right(self.rounds, t))
        return [self.hypotheses[s] for s in mine], np.array([self.coef[s] for s in mine])

    def weights(self, output: str, n_rounds: int, best: int) -> Array:
        """Weights of the learners in the function that is returned after this many rounds.

        "last" is f_T, "best" is f_best, "average" is (1/T) Σ f_t over t = 0 … T−1, again a weighted sum: learners of
        round t are in T − t of these functions.
        """
        rounds = np.array(self.rounds, dtype=int)
        coef = -np.array(self.steps, dtype=float)[rounds - 1] * np.array(self.coef, dtype=float)
        if output == "last":
            return np.where(rounds <= n_rounds, coef, 0.0)
        if output == "best":
            return np.where(rounds <= best, coef, 0.0)
        return coef * np.maximum(n_rounds - rounds, 0) / max(n_rounds, 1)

    def iterates(self, X: Any) -> Iterator[Array]:
        """Scores of f₀, f₁, … on new data, each of shape (m, k)."""
        score = np.tile(np.asarray(self.start, dtype=float), (X.shape[0], 1))
        yield score
        for t, step in enumerate(self.steps, start=1):
            hypotheses, coef = self.of_round(t)
            if hypotheses:
                score = score + total(hypotheses, -step * coef, X, np.zeros(score.shape[1]))
            yield score
