"""What a space of hypotheses must answer.

A `HypothesisSpace` is a description. Bound to data it becomes a `Dictionary`, the only thing that sees X.
Inside a fit a hypothesis is known by its key, an integer the dictionary hands out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseboost.hypotheses.columns import Columns

Array = np.ndarray
DualNorm = Callable[[Array], Array]
Rank = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Candidates:
    """What a search found.

    Attributes
    ----------
    keys : array of int
        The best hypotheses, best first.
    violation : float
        max over all hypotheses of dual_norm(Σ_i force_i h(x_i)) / cost: the costly part of the certificate.
    correlation : array of shape (n, k) or None
        Σ_i force_i h_j(x_i) of every hypothesis where the space can be written down.
    """

    keys: Array
    violation: float
    correlation: Array | None = None


class Hypothesis(ABC):
    """One weak hypothesis; its `repr` is what a person reads."""

    @abstractmethod
    def __call__(self, X: Any) -> Array:
        """Outputs on new data, shape (m,)."""


class Dictionary(ABC):
    """A space of hypotheses bound to data.

    Attributes
    ----------
    exact : bool
        Whether `search` returns true maxima, so that certificates hold over the whole space.
    """

    exact: bool = True

    @abstractmethod
    def search(
        self,
        force: Array,
        dual_norm: DualNorm,
        count: int,
        *,
        above: float = 0.0,
        exclude: Array | None = None,
        rank: Rank | None = None,
    ) -> Candidates:
        """Find the hypotheses that promise most.

        Parameters
        ----------
        force : array of shape (m, k)
            Weighted gradient (or dual point) per example.
        dual_norm : callable
            Maps correlations (n, k) to their dual norm (n,).
        count : int
            How many to return at most.
        above : float
            Only hypotheses whose dual norm over cost exceeds this are returned.
        exclude : array of int, optional
            Keys not to return; they still count for `violation`.
        rank : callable, optional
            (keys, correlations) → scores; larger is better and only positive ones are returned.
            The default ranks by dual norm over cost.
        """

    @abstractmethod
    def columns(self, keys: Array) -> Columns:
        """Outputs of these hypotheses on the bound data."""

    @abstractmethod
    def cost(self, keys: Array) -> Array:
        """Cost c_j > 0 of these hypotheses."""

    @abstractmethod
    def hypothesis(self, key: int) -> Hypothesis:
        """The hypothesis behind a key, free of the bound data."""


class Enumerable(Dictionary):
    """A dictionary whose hypotheses can be written down: keys are 0 … size − 1, and search is exact."""

    size: int

    @abstractmethod
    def correlate(self, force: Array) -> Array:
        """Σ_i h_j(x_i) force_i of every hypothesis, shape (size, k)."""

    @abstractmethod
    def split_correlate(self, keys: Array, up: Array, down: Array) -> tuple[Array, Array]:
        """μ⁺ and μ⁻ of these hypotheses (T1), each of shape (len(keys), k)."""

    @abstractmethod
    def energy(self, weight: Array) -> Array:
        """Σ_i s_i h_j(x_i)² of every hypothesis."""

    @abstractmethod
    def reach(self, weight: Array) -> Array:
        """max_i |h_j(x_i)| of every hypothesis, over examples that have weight."""

    @abstractmethod
    def at_cost(self, cost: Array) -> Enumerable:
        """The same hypotheses on the same data, with other costs."""

    @abstractmethod
    def absolute_scores(self, template: Array) -> Array:
        """Σ_j a_j |h_j(x_i)| of every example."""


class HypothesisSpace(ABC):
    """A description of hypotheses, before any data."""

    @abstractmethod
    def bind(
        self,
        X: Any,
        *,
        feature_names: Sequence[str] | None = None,
        feature_costs: Array | None = None,
        n_jobs: int = 1,
    ) -> Dictionary:
        """Do the expensive preparation once and return the dictionary over X."""

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in sorted(vars(self).items()))
        return f"{type(self).__name__}({inside})"
