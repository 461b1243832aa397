"""Multi-output stumps and small trees with vector leaves, found by exact search over all cuts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.solvers.functional.projection import (
    Array,
    Bond,
    Projected,
    Projector,
    VectorHypothesis,
    WeakLearner,
)

LARGEST_LINE = 256  # values of one line of codes: they fit into a byte, and their sums into the cache
WORTH_THREADS = 300_000  # additions below which starting threads costs more than they save
TIE = 1e-10  # gains that differ by less are equal, whatever the order of the sums
ALL = np.empty(0, dtype=np.int32)


class VectorTree(VectorHypothesis):
    """A regression tree whose leaves hold vectors of k outputs.

    Parameters
    ----------
    nodes : array of int of shape (n_nodes, 3)
        Input, left child and right child of every node; (−1, −1, −1) at leaves. Node 0 is the root.
    thresholds : array of shape (n_nodes,)
        An example goes left where its input is at most the threshold.
    values : array of shape (n_nodes, k)
        Outputs at the leaves.
    names : sequence of str, optional
        Names of the inputs in the order of `inputs`, for people.
    """

    def __init__(self, nodes: Array, thresholds: Array, values: Array, names: Sequence[str] | None = None) -> None:
        self.nodes = nodes
        self.thresholds = thresholds
        self.values = values
        self.names = None if names is None else list(names)

    @property
    def inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        """The inputs it looks at, in their order."""
        return tuple(int(j) for j in np.unique(self.nodes[:, 0]) if j >= 0)

    def __call__(self, X: Any) -> Array:
        out = np.zeros((X.shape[0], self.values.shape[1]))
        self.add([self], np.ones(1), X, out)
        return out

    @classmethod
    def add(cls, hypotheses: Sequence[Any], coef: Array, X: Any, out: Array) -> None:
        forest = Forest.of(hypotheses, X)
        kernels.trees.add_trees(*forest, np.ascontiguousarray(coef, dtype=float), out)

    def leaf_of(self, X: Any) -> Array:
        """Number of the leaf that every example reaches, shape (m,)."""
        out = np.empty(X.shape[0], dtype=np.int64)
        forest = Forest.of([self], X)
        kernels.trees.leaves(forest.X, forest.inputs, forest.thresholds, forest.left, forest.right, out)
        return out

    def signature(self) -> Hashable:
        return (self.nodes[:, 0].tobytes(), self.thresholds.tobytes())

    def __repr__(self) -> str:
        names = dict(zip(self.inputs, self.names or [f"x{j}" for j in self.inputs], strict=True))
        return self._text(0, names)

    def _text(self, node: int, names: dict[int, str]) -> str:
        j, left, right = self.nodes[node]
        if j < 0:
            return "[" + ", ".join(f"{value:.4g}" for value in self.values[node]) + "]"
        question = f"{names[int(j)]} <= {self.thresholds[node]:.6g}"
        return f"({question} ? {self._text(left, names)} : {self._text(right, names)})"


class Forest(NamedTuple):
    """Trees end to end, with the columns of X that they look at, as the kernels read them."""

    X: Array
    inputs: Array
    thresholds: Array
    left: Array
    right: Array
    values: Array
    roots: Array

    @classmethod
    def of(cls, trees: Sequence[VectorTree], X: Any) -> Forest:
        """The arrays for these trees and this data."""
        sizes = np.array([tree.nodes.shape[0] for tree in trees])
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        nodes = np.concatenate([tree.nodes for tree in trees])
        used, place = np.unique(np.maximum(nodes[:, 0], 0), return_inverse=True)
        shift = np.repeat(roots, sizes)
        part = X[:, used]
        return cls(
            np.ascontiguousarray(part.toarray() if sp.issparse(part) else part, dtype=np.float64),
            np.where(nodes[:, 0] >= 0, place, -1),
            np.concatenate([tree.thresholds for tree in trees]),
            nodes[:, 1] + shift,
            nodes[:, 2] + shift,
            np.concatenate([tree.values for tree in trees]),
            roots,
        )


class VectorTrees(WeakLearner):
    """Regression trees with vector leaves; with depth 1 they are multi-output stumps, and the best one is found.

    The best stump maximises ‖S_left‖²/W_left + ‖S_right‖²/W_right over all inputs and cuts, with S the weighted sums of
    the targets and W the weights of the two sides. Deeper trees split greedily.

    Parameters
    ----------
    max_depth : int, default=1
        Splits from the root to a leaf, at most.
    max_bins : int, optional
        Values that an input is reduced to, by quantiles; None keeps all of them, so that every cut is tried.
    min_leaf : float, default=0.0
        A leaf must hold at least this share of the weight.

    References
    ----------
    MATH.md G4.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.solvers.functional import Bond, VectorTrees
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> target = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    >>> VectorTrees().bind(X, Bond(np.full(4, 0.25))).project(target).hypothesis
    (x0 <= 2.5 ? [1, 0] : [0, 2])
    """

    def __init__(self, max_depth: int = 1, max_bins: int | None = None, min_leaf: float = 0.0) -> None:
        if max_depth < 1:
            raise ValueError(f"max_depth must be an integer >= 1, got {max_depth!r}.")
        if max_bins is not None and max_bins < 2:
            raise ValueError(f"max_bins must be None or an integer >= 2, got {max_bins!r}.")
        if not 0.0 <= min_leaf < 0.5:
            raise ValueError(f"min_leaf must be a share of the weight in [0, 0.5), got {min_leaf!r}.")
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.min_leaf = min_leaf

    def bind(self, X: Any, bond: Bond) -> VectorTreeProjector:
        return VectorTreeProjector(self, Bins.of(X, self.max_bins), bond)


class VectorTreeProjector(Projector):
    """Trees over binned data."""

    def __init__(self, trees: VectorTrees, bins: Bins, bond: Bond) -> None:
        self.trees, self.bins, self.bond = trees, bins, bond
        self.least = trees.min_leaf * float(bond.weight.sum())
        self._pull = np.empty((0, 0))  # the same memory in every round

    def project(self, target: Array) -> Projected:
        m, k = target.shape
        if self._pull.shape != (m, k + 1):
            self._pull = np.empty((m, k + 1))
        pull = self._pull
        kernels.trees.pulls(target, self.bond.weight, pull)
        nodes: list[list[int]] = [[-1, -1, -1]]
        thresholds, leaf = [0.0], np.zeros(m, dtype=np.int32)
        frontier = [(0, ALL)]
        for depth in range(self.trees.max_depth):
            grown = []
            for node, rows in frontier:
                found = self._best_cut(rows, pull)
                if found is None:
                    continue
                j, cut = found
                goes_left, child = self.bins.at_most(j, cut, rows), len(nodes)
                nodes[node] = [j, child, child + 1]
                thresholds[node] = float(self.bins.edges[j][cut])
                nodes += [[-1, -1, -1], [-1, -1, -1]]
                thresholds += [0.0, 0.0]
                leaf[slice(None) if rows is ALL else rows] = np.where(goes_left, child, child + 1)
                if depth + 1 < self.trees.max_depth:
                    rows = np.arange(m, dtype=np.int32) if rows is ALL else rows
                    grown += [(child, rows[goes_left]), (child + 1, rows[~goes_left])]
            frontier = grown
        values, size = leaf_means(leaf, pull, len(nodes))
        tree = VectorTree(np.array(nodes, dtype=np.int64), np.array(thresholds), values)
        if self.bond.feature_names is not None:
            tree.names = [str(self.bond.feature_names[j]) for j in tree.inputs]
        return Projected(tree, values.take(leaf, axis=0), size)

    def _best_cut(self, rows: Array, pull: Array) -> tuple[int, int] | None:
        """Input and cut that lower the squared error most; ties go to the lowest input and the lowest cut."""
        bins = self.bins
        gain, cut = np.full(bins.counts.size, -np.inf), np.full(bins.counts.size, -1, dtype=np.int64)

        def search(first: int, last: int) -> None:
            kernels.trees.best_cuts(
                bins.codes, bins.members, bins.counts, rows, pull, self.least, first, last, gain, cut
            )

        lines = bins.codes.shape[0]
        work = (rows.size or pull.shape[0]) * lines * pull.shape[1]
        jobs = min(self.bond.n_jobs, lines) if work > WORTH_THREADS else 1
        if jobs == 1:
            search(0, lines)
        else:
            bounds = np.linspace(0, lines, jobs + 1).astype(int)
            with ThreadPoolExecutor(jobs) as pool:
                list(pool.map(search, bounds[:-1], bounds[1:]))
        largest = gain.max(initial=-np.inf)
        if largest == -np.inf:
            return None
        best = int(np.argmax(gain >= largest - TIE * abs(largest)))
        return best, int(cut[best])


def leaf_means(leaf: Array, pull: Array, n_nodes: int) -> tuple[Array, float]:
    """Weighted mean of the targets in every leaf, shape (n_nodes, k), zero where nothing has weight; and ‖h‖²."""
    sums = np.empty((n_nodes, pull.shape[1]))
    kernels.trees.leaf_sums(leaf, pull, sums)
    mass = sums[:, -1:]
    values = np.divide(sums[:, :-1], mass, out=np.zeros_like(sums[:, :-1]), where=mass > 0)
    return values, float(np.vdot(values, sums[:, :-1]))


@dataclass(frozen=True)
class Bins:
    """X reduced to small integers; neighbouring inputs with few values share a line of codes.

    Attributes
    ----------
    codes : array of shape (n_lines, m)
        For the inputs j, j+1, … of a line the code is c_j + counts_j·c_{j+1} + ….
    members : array of shape (n_lines + 1,)
        Line g holds inputs members[g] … members[g+1] − 1.
    counts : array of shape (d,)
        Number of values of every input.
    edges : list of arrays
        Thresholds between consecutive values of every input.
    """

    codes: Array
    members: Array
    counts: Array
    edges: list[Array]

    @classmethod
    def of(cls, X: Any, max_bins: int | None) -> Bins:
        """Bin the columns of X: all their values, or about `max_bins` quantiles."""
        m, d = X.shape
        X = X.tocsc() if sp.issparse(X) else X
        lines: list[Array] = []
        members, counts, edges, size = [0], [], [], LARGEST_LINE + 1
        for j in range(d):
            column = X[:, [j]].toarray().ravel() if sp.issparse(X) else X[:, j]
            edge, codes = _bin(np.asarray(column, dtype=np.float64), max_bins)
            count = edge.size + 1
            if size * count > LARGEST_LINE:
                lines.append(codes)
                members.append(j + 1)
                size = count
            else:
                lines[-1] = lines[-1] + size * codes
                members[-1] = j + 1
                size *= count
            counts.append(count)
            edges.append(edge)
        small = max((int(line.max()) for line in lines), default=0) < 256
        packed = np.empty((len(lines), m), dtype=np.uint8 if small else np.int32)
        for g, line in enumerate(lines):
            packed[g] = line
        return cls(packed, np.array(members), np.array(counts), edges)

    def at_most(self, j: int, cut: int, rows: Array) -> Array:
        """Which of these examples (none: all) have a code of at most `cut` in input j."""
        g = int(np.searchsorted(self.members, j, side="right")) - 1
        stride = int(np.prod(self.counts[self.members[g] : j], dtype=np.int64))
        size = int(np.prod(self.counts[self.members[g] : self.members[g + 1]], dtype=np.int64))
        line = self.codes[g] if rows is ALL else self.codes[g, rows]
        return (np.arange(size) // stride % self.counts[j] <= cut)[line]


def _bin(column: Array, max_bins: int | None) -> tuple[Array, Array]:
    """Thresholds between consecutive values (or quantiles) of a column, and the code of every entry."""
    values, codes = np.unique(column, return_inverse=True)
    edge = _between(values)
    if max_bins is None or values.size <= max_bins:
        return edge, codes
    wanted = np.sort(column)[(np.arange(1, max_bins) / max_bins * column.size).astype(int)]
    edge = edge[np.unique(np.minimum(np.searchsorted(values, wanted), edge.size - 1))]
    return edge, np.searchsorted(edge, column)


def _between(values: Array) -> Array:
    """Thresholds halfway between sorted values: not below the lower, and below the upper one."""
    low, high = values[:-1], values[1:]
    middle = low + 0.5 * (high - low)
    return np.where(middle < high, middle, low)
