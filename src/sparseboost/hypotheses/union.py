"""Several spaces as one: the hypotheses of all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost.hypotheses.base import (
    Array,
    Candidates,
    Context,
    Dictionary,
    DualNorm,
    Enumerable,
    Hypothesis,
    HypothesisSpace,
    Rank,
)
from sparseboost.hypotheses.blocks import BlockDictionary
from sparseboost.hypotheses.columns import Columns


class Union(HypothesisSpace):
    """The hypotheses of several spaces; ``Features() + Kernel()`` is short for it. Exact if all of them are.

    Parameters
    ----------
    spaces : sequence of HypothesisSpace
        The parts. Unions among them are taken apart.
    costs : sequence of float, optional
        One factor > 0 per space, 1 by default: the costs of all its hypotheses are multiplied by it, so a space with
        factor 2 is used only where it promises twice as much.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.hypotheses import Context, Features, Kernel, Union
    >>> Features() + Kernel("cosine", support="all")
    Union([Features(), Kernel('cosine', support='all')])
    >>> union = Union([Features(), Kernel("cosine", support="all")], costs=[1.0, 2.0]).bind(np.eye(2))
    >>> [union.hypothesis(key) for key in range(4)], union.cost(np.arange(4))
    ([x0, x1, cosine(x, #0), cosine(x, #1)], array([1., 1., 2., 2.]))
    """

    def __init__(self, spaces: Sequence[HypothesisSpace], costs: Sequence[float] | None = None) -> None:
        spaces = list(spaces)
        costs = [1.0] * len(spaces) if costs is None else [float(cost) for cost in costs]
        strangers = [space for space in spaces if not isinstance(space, HypothesisSpace)]
        if strangers or not spaces:
            raise TypeError(f"Union needs spaces of hypotheses, got {strangers[0] if strangers else spaces!r}.")
        if len(costs) != len(spaces) or not all(0 < cost < np.inf for cost in costs):
            raise ValueError(f"Union needs one finite cost > 0 for each of its {len(spaces)} spaces, got {costs}.")
        self.spaces: list[HypothesisSpace] = []
        self.costs: list[float] = []
        for space, cost in zip(spaces, costs, strict=True):
            inner = (space.spaces, space.costs) if isinstance(space, Union) else ([space], [1.0])
            self.spaces += inner[0]
            self.costs += [cost * factor for factor in inner[1]]

    @property
    def allows_missing(self) -> bool:  # type: ignore[override]
        """Whether all parts take NaN."""
        return all(space.allows_missing for space in self.spaces)

    @property
    def allows_categories(self) -> bool:  # type: ignore[override]
        """Whether all parts take categories."""
        return all(space.allows_categories for space in self.spaces)

    @property
    def categorical_features(self) -> Any:
        """What the parts say of categories: the first of them that says anything."""
        named = [getattr(space, "categorical_features", None) for space in self.spaces]
        return next((names for names in named if names is not None), None)

    def bind(self, X: Any, context: Context | None = None) -> Dictionary:
        context = context or Context()
        parts = [space.bind(X, context) for space in self.spaces]
        if all(isinstance(part, Enumerable) for part in parts):
            return EnumerableUnion(parts, self.costs, context)
        return UnionDictionary(parts, self.costs)

    def __repr__(self) -> str:
        costs = "" if all(cost == 1.0 for cost in self.costs) else f", costs={self.costs}"
        return f"Union({self.spaces}{costs})"


class _Parts(Dictionary):
    """What both kinds of unions share: a key stands for a part and a key of that part."""

    def __init__(self, members: Sequence[Any], costs: Sequence[float]) -> None:
        self.members = members
        self.factors = np.asarray(costs, dtype=float)
        self.exact = all(member.exact for member in members)
        nothing = [member.columns(np.empty(0, dtype=np.int64)).matrix for member in members]
        self._empty = next((matrix for matrix in nothing if not sp.issparse(matrix)), nothing[0])

    @abstractmethod
    def locate(self, keys: Array) -> tuple[Array, Array]:
        """Part and inner key of every key."""

    @abstractmethod
    def key(self, part: int, inner: Array) -> Array:
        """Keys of these inner keys of a part."""

    def columns(self, keys: Array) -> Columns:
        pieces = [(where, self.members[part].columns(inner).matrix) for part, where, inner in self._by_part(keys)]
        if not pieces:
            return Columns(self._empty)
        if sp.issparse(self._empty):  # so are all others
            order = np.argsort(np.concatenate([where for where, _ in pieces]))
            return Columns(sp.csc_array(sp.hstack([matrix for _, matrix in pieces], format="csc")[:, order]))
        out = np.empty((self._empty.shape[0], keys.size), order="F")
        for where, matrix in pieces:
            out[:, where] = matrix.toarray() if sp.issparse(matrix) else matrix
        return Columns(out)

    def cost(self, keys: Array) -> Array:
        out = np.empty(keys.size)
        for part, where, inner in self._by_part(keys):
            out[where] = self.members[part].cost(inner) * self.factors[part]
        return out

    def hypothesis(self, key: int) -> Hypothesis:
        part, inner = self.locate(np.array([key]))
        return self.members[part[0]].hypothesis(int(inner[0]))

    def inputs(self, keys: Array) -> set[int]:
        return {j for part, _, inner in self._by_part(keys) for j in self.members[part].inputs(inner)}

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        for part, member in enumerate(self.members):
            inner = member.adopt(hypothesis)
            if inner is not None:
                return int(self.key(part, np.array([inner]))[0])
        return None

    def _by_part(self, keys: Array) -> Iterator[tuple[int, Array, Array]]:
        """(part, places among the keys, inner keys) of every part that holds some of the keys."""
        part, inner = self.locate(keys)
        for number in range(len(self.members)):
            where = np.flatnonzero(part == number)
            if where.size:
                yield number, where, inner[where]


class UnionDictionary(_Parts):
    """Parts of any kind: every search asks all of them and keeps the best. Key = inner key · parts + part."""

    def locate(self, keys: Array) -> tuple[Array, Array]:
        return keys % len(self.members), keys // len(self.members)

    def key(self, part: int, inner: Array) -> Array:
        return inner * len(self.members) + part

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
        excluded = {} if exclude is None else {part: inner for part, _, inner in self._by_part(exclude)}
        keys, correlations, violation, visited = [], [], 0.0, 0
        for part, (member, factor) in enumerate(zip(self.members, self.factors, strict=True)):

            def rank_inside(inner: Array, correlation: Array, part: int = part) -> Array:
                return rank(self.key(part, inner), correlation)  # type: ignore[misc]

            found = member.search(
                force,
                dual_norm,
                count,
                above=above * factor,
                exclude=excluded.get(part),
                rank=None if rank is None else rank_inside,
            )
            keys.append(self.key(part, found.keys))
            correlations.append(member.columns(found.keys).correlate(force))
            violation = max(violation, found.violation / factor)
            visited += found.visited or 0
        every, correlation = np.concatenate(keys), np.concatenate(correlations)
        scores = dual_norm(correlation) / self.cost(every) if rank is None else rank(every, correlation)
        best = np.argsort(-scores, kind="stable")[: max(count, 0)]
        return Candidates(every[best[scores[best] > 0]], violation, visited=visited or None)


class EnumerableUnion(_Parts, BlockDictionary):
    """Parts that can all be written down, one after the other: key = keys of the parts before + inner key."""

    def __init__(self, members: Sequence[Any], costs: Sequence[float], context: Context) -> None:
        _Parts.__init__(self, members, costs)
        self._starts = np.cumsum([0, *(member.size for member in members)])
        size = int(self._starts[-1])
        BlockDictionary.__init__(self, self._empty.shape[0], size, _Parts.cost(self, np.arange(size)), context)

    def locate(self, keys: Array) -> tuple[Array, Array]:
        part = np.searchsorted(self._starts, keys, side="right") - 1
        return part, keys - self._starts[part]

    def key(self, part: int, inner: Array) -> Array:
        return inner + self._starts[part]

    def cost(self, keys: Array) -> Array:
        return self._cost[keys]

    def correlate(self, force: Array) -> Array:
        return np.concatenate([member.correlate(force) for member in self.members])

    def energy(self, weight: Array) -> Array:
        return np.concatenate([member.energy(weight) for member in self.members])

    def reach(self, weight: Array) -> Array:
        return np.concatenate([member.reach(weight) for member in self.members])

    def absolute_scores(self, template: Array) -> Array:
        shares = np.split(template, self._starts[1:-1])
        return np.sum([m.absolute_scores(share) for m, share in zip(self.members, shares, strict=True)], axis=0)
