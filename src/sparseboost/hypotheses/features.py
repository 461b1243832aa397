"""The inputs themselves as hypotheses: h_j(x) = x_j."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.hypotheses.base import (
    Array,
    Candidates,
    Context,
    DualNorm,
    Enumerable,
    Hypothesis,
    HypothesisSpace,
    Rank,
)
from sparseboost.hypotheses.columns import Columns

BLOCK_ENTRIES = 1_000_000  # of one block: large enough to forget the call, and a temporary copy of 8 MB


class Feature(Hypothesis):
    """The hypothesis h(x) = x_j.

    Attributes
    ----------
    feature : int
        j, the index of the input.
    name : str
        Name of the input; ``x3`` for input 3 when it has none.
    """

    def __init__(self, feature: int, name: str) -> None:
        self.feature = feature
        self.name = name

    @property
    def inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        """The one input it looks at."""
        return (self.feature,)

    def __call__(self, X: Any) -> Array:
        column = X[:, [self.feature]]
        return np.asarray(column.toarray() if sp.issparse(column) else column, dtype=float).ravel()

    @classmethod
    def outputs(cls, hypotheses: Sequence[Any], X: Any) -> Any:
        part = X[:, [hypothesis.feature for hypothesis in hypotheses]]
        return part if sp.issparse(part) else np.asarray(part, dtype=np.float64)

    def __repr__(self) -> str:
        return self.name


class Features(HypothesisSpace):
    """The inputs as they are: hypothesis j is input j. The search is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.hypotheses import Context, Features
    >>> dictionary = Features().bind(np.array([[1.0, 0.0], [0.0, 2.0]]), Context(feature_names=["age", "income"]))
    >>> dictionary.hypothesis(1)
    income
    """

    def bind(self, X: Any, context: Context | None = None) -> FeatureDictionary:
        if sp.issparse(X):
            X = X.tocsc()  # the one copy a sparse fit makes; CSC input is used as it is
            if X.dtype not in (np.float32, np.float64):
                X = X.astype(np.float64)
            if not X.has_canonical_format:  # entries given twice are summed, in a copy: the input is the user's
                X = X.copy()
                X.sum_duplicates()
        return FeatureDictionary(X, context or Context())


class FeatureDictionary(Enumerable):
    """All columns of X. Dense data keeps its type and memory order; blocks are converted as they are needed."""

    exact = True

    def __init__(self, X: Any, context: Context) -> None:
        self.X = X
        self.size = int(X.shape[1])
        self.n_jobs = context.n_jobs
        self._context = context
        self._cost = context.costs(self.size)

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
        correlation = self.correlate(force)
        violation = dual_norm(correlation) / self._cost
        worst = float(violation.max(initial=0.0))
        eligible = violation > above
        if exclude is not None:
            eligible[exclude] = False
        keys = np.flatnonzero(eligible)
        if count <= 0 or keys.size == 0:
            return Candidates(keys[:0], worst, correlation)
        scores = violation[keys] if rank is None else rank(keys, correlation[keys])
        best = np.argsort(-scores, kind="stable")[:count]  # stable: ties go to the lowest index
        best = best[scores[best] > 0]
        return Candidates(keys[best], worst, correlation)

    def columns(self, keys: Array) -> Columns:
        if sp.issparse(self.X):
            part = sp.csc_array(self.X[:, keys], dtype=np.float64)
            part.sort_indices()
            return Columns(part)
        return Columns(np.asfortranarray(self.X[:, keys], dtype=np.float64))

    def cost(self, keys: Array) -> Array:
        return self._cost[keys]

    def at_cost(self, cost: Array) -> FeatureDictionary:
        return FeatureDictionary(self.X, replace(self._context, feature_costs=cost))

    def hypothesis(self, key: int) -> Feature:
        return Feature(int(key), self._context.name(int(key)))

    def inputs(self, keys: Array) -> set[int]:
        return set(keys.tolist())

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        return hypothesis.feature if isinstance(hypothesis, Feature) and hypothesis.feature < self.size else None

    # -- sums over examples, for all features -------------------------------------------------------------

    def correlate(self, force: Array) -> Array:
        # blocks are the same for every n_jobs, and every column is summed by one thread, so bits do not change
        out = np.empty((self.size, force.shape[1]))
        if sp.issparse(self.X):
            X, force = self.X, np.ascontiguousarray(force)

            def by_entries(part: slice) -> None:
                kernels.columns.correlate(X.data, X.indices, X.indptr, force, out, part.start, part.stop)

            self._in_threads(by_entries, self._parts(self.size, 0))
        elif self.X.dtype == np.float64 or self.X.flags.f_contiguous:

            def by_columns(part: slice) -> None:
                np.matmul(self.X[:, part].astype(np.float64, copy=False).T, force, out=out[part])

            self._in_threads(by_columns, self._parts(self.size, self.X.shape[0]))
        else:

            def by_rows(part: slice) -> Array:
                return self.X[part].astype(np.float64).T @ force[part]

            parts = self._parts(self.X.shape[0], self.size)
            out = np.sum(self._in_threads(by_rows, parts), axis=0)
        return out

    def _in_threads(self, work: Callable[[slice], Any], parts: Iterable[slice]) -> list[Any]:
        parts = list(parts)
        if self.n_jobs == 1 or len(parts) == 1:
            return [work(part) for part in parts]
        with ThreadPoolExecutor(min(self.n_jobs, len(parts))) as pool:
            return list(pool.map(work, parts))

    def split_correlate(self, keys: Array, up: Array, down: Array) -> tuple[Array, Array]:
        plus, minus = np.empty((keys.size, up.shape[1])), np.empty((keys.size, up.shape[1]))
        for part in self._parts(keys.size, self.X.shape[0]):
            plus[part], minus[part] = self.columns(keys[part]).split_correlate(up, down)
        return plus, minus

    def energy(self, weight: Array) -> Array:
        return self._per_column(lambda columns: columns.energy(weight))

    def reach(self, weight: Array) -> Array:
        return self._per_column(lambda columns: columns.reach(weight))

    def absolute_scores(self, template: Array) -> Array:
        total = np.zeros(self.X.shape[0])
        for part in self._parts(self.size, self.X.shape[0]):
            total += np.asarray(abs(self.columns(self._keys[part]).matrix) @ template[part])
        return total

    @cached_property
    def _keys(self) -> Array:
        return np.arange(self.size)

    def _per_column(self, function: Any) -> Array:
        out = np.empty(self.size)
        for part in self._parts(self.size, self.X.shape[0]):
            out[part] = function(self.columns(self._keys[part]))
        return out

    def _parts(self, length: int, width: int) -> Iterator[slice]:
        """Ranges of rows or columns with about BLOCK_ENTRIES entries each."""
        if sp.issparse(self.X):
            width = max(1, self.X.nnz // max(self.size, 1))
        step = max(1, BLOCK_ENTRIES // max(width, 1))
        for start in range(0, length, step):
            yield slice(start, min(start + step, length))
