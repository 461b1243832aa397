"""What a space of hypotheses must answer.

A `HypothesisSpace` is a description. Bound to data it becomes a `Dictionary`, the only thing that sees X.
Inside a fit a hypothesis is known by its key, an integer the dictionary hands out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

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
    visited : int or None
        How many nodes a tree search looked at.
    """

    keys: Array
    violation: float
    correlation: Array | None = None
    visited: int | None = None

    def forget_correlation(self) -> None:
        """Let go of the correlations: of many outputs they take more memory than the data."""
        object.__setattr__(self, "correlation", None)


class Strongest(NamedTuple):
    """The hypothesis with the largest |Σ_i force_i h(x_i)| / cost: its key, its outputs, and what the search measured.

    `violation` is the maximum over all hypotheses, as in `Candidates`.
    """

    key: int
    violation: float
    correlation: float
    cost: float
    outputs: Array


@dataclass(frozen=True)
class Context:
    """What a space may know besides X when it is bound.

    Attributes
    ----------
    feature_names : sequence of str, optional
        Names of the inputs; ``x3`` stands for input 3 when there are none.
    feature_costs : array of shape (d,), optional
        Cost c_j > 0 of every input; 1 by default.
    categories : mapping of int to sequence
        Labels of the categorical inputs, whose values in X are the codes 0, 1, …
    target, weight : array of shape (m, k), (m,), optional
        Targets as the loss sees them, and example weights that sum to 1.
    n_classes : int or None
        2 where targets are ±1, more where they are one column of codes 0, 1, …, None where they are real numbers.
    random_state : int, RandomState or None
        Seed of spaces that draw at random.
    n_jobs : int
        Threads for passes over X. Results do not depend on it.
    inspect : callable, optional
        Raises if X holds numbers that are not finite; asked when a sum over X is not. None: somebody has looked before.
    """

    feature_names: Sequence[str] | None = None
    feature_costs: Array | None = None
    categories: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    target: Array | None = None
    weight: Array | None = None
    n_classes: int | None = None
    random_state: Any = None
    n_jobs: int = 1
    inspect: Callable[[Any], None] | None = None

    def name(self, j: int) -> str:
        """Name of input j."""
        return str(self.feature_names[j]) if self.feature_names is not None else f"x{j}"

    def costs(self, n_features: int) -> Array:
        """Costs of all inputs."""
        if self.feature_costs is None:
            return np.ones(n_features)
        return np.asarray(self.feature_costs, dtype=float)

    def joint_cost(self, inputs: Sequence[int]) -> float:
        """Cost of a hypothesis that looks at these inputs: what they cost together; 1 where no costs are given."""
        if self.feature_costs is None:
            return 1.0
        cost = np.asarray(self.feature_costs, dtype=float)
        return float(cost[list(inputs)].sum()) if len(inputs) else float(cost.min())


class Hypothesis(ABC):
    """One weak hypothesis; its `repr` is what a person reads.

    Attributes
    ----------
    inputs : tuple of int
        The inputs it looks at; no other is needed to evaluate it.
    """

    inputs: tuple[int, ...]

    @abstractmethod
    def __call__(self, X: Any) -> Array:
        """Outputs on new data, shape (m,)."""

    @classmethod
    def outputs(cls, hypotheses: Sequence[Hypothesis], X: Any) -> Any:
        """Outputs of several hypotheses of this class, shape (m, n): an array, or a sparse matrix where it is one."""
        return np.column_stack([hypothesis(X) for hypothesis in hypotheses])


def evaluate(hypotheses: Sequence[Hypothesis], X: Any) -> Any:
    """Outputs of hypotheses of any classes on new data, shape (m, n); each class is asked once."""
    if not hypotheses:
        return np.zeros((X.shape[0], 0))
    kinds = list(dict.fromkeys(type(hypothesis) for hypothesis in hypotheses))
    if len(kinds) == 1:
        return kinds[0].outputs(hypotheses, X)
    out = np.empty((X.shape[0], len(hypotheses)))
    for kind in kinds:
        where = [j for j, hypothesis in enumerate(hypotheses) if type(hypothesis) is kind]
        part = kind.outputs([hypotheses[j] for j in where], X)
        out[:, where] = part.toarray() if sp.issparse(part) else part
    return out


def _size(correlation: Array) -> Array:
    return np.abs(correlation[:, 0])


class Dictionary(ABC):
    """A space of hypotheses bound to data.

    Attributes
    ----------
    exact : bool
        Whether `search` returns true maxima, so that certificates hold over the whole space.
    within_one : bool
        Whether all outputs are known to lie in [−1, 1].
    entries : float
        How many numbers a search reads; infinity where that says little of what it costs.
    n_jobs : int
        Threads for work on large parts of the data.
    """

    exact: bool = True
    within_one: bool = False
    entries: float = np.inf
    n_jobs: int = 1

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
            The default ranks by dual norm over cost. A space too large for it ranks a short list.
        """

    def strongest(self, force: Array) -> Strongest | None:
        """The best answer to a force of shape (m,) when weights of either sign cost the same; None if all are 0.

        It is what boosting asks every round; a space may answer it faster than by a search.
        """
        found = self.search(force[:, None], _size, 1)
        if found.keys.size == 0:
            return None
        keys = found.keys[:1]
        matrix = self.columns(keys).matrix
        outputs = (matrix.toarray() if sp.issparse(matrix) else matrix)[:, 0]
        return Strongest(int(keys[0]), found.violation, float(force @ outputs), float(self.cost(keys)[0]), outputs)

    @abstractmethod
    def columns(self, keys: Array) -> Columns:
        """Outputs of these hypotheses on the bound data."""

    @abstractmethod
    def cost(self, keys: Array) -> Array:
        """Cost c_j > 0 of these hypotheses."""

    @abstractmethod
    def hypothesis(self, key: int) -> Hypothesis:
        """The hypothesis behind a key, free of the bound data."""

    def inputs(self, keys: Array) -> set[int]:
        """The inputs that these hypotheses look at."""
        return {j for key in keys for j in self.hypothesis(int(key)).inputs}

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        """Key of a hypothesis that an earlier fit found, or None where this space does not hold it."""
        return None


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
    """A description of hypotheses, before any data.

    Attributes
    ----------
    allows_missing : bool
        Whether X may hold NaN.
    allows_categories : bool
        Whether X may hold categorical inputs, as codes.
    """

    allows_missing: bool = False
    allows_categories: bool = False

    @abstractmethod
    def bind(self, X: Any, context: Context | None = None) -> Dictionary:
        """Do the expensive preparation once and return the dictionary over X, an array or a CSC matrix."""

    def __add__(self, other: HypothesisSpace) -> HypothesisSpace:
        """The hypotheses of both spaces."""
        from sparseboost.hypotheses.union import Union  # a union is a space

        return Union([self, other]) if isinstance(other, HypothesisSpace) else NotImplemented

    def __repr__(self) -> str:
        usual = signature(type(self)).parameters
        given = {key: value for key, value in vars(self).items() if key in usual and value != usual[key].default}
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
