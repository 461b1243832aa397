"""The inputs themselves as hypotheses: h_j(x) = x_j."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost import kernels
from sparseboost.hypotheses.base import Array, Context, Hypothesis, HypothesisSpace
from sparseboost.hypotheses.blocks import BlockDictionary, ranges
from sparseboost.hypotheses.columns import Columns


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


class FeatureDictionary(BlockDictionary):
    """All columns of X. Dense data keeps its type and memory order; blocks are converted as they are needed."""

    def __init__(self, X: Any, context: Context) -> None:
        super().__init__(X.shape[0], int(X.shape[1]), context.costs(X.shape[1]), context)
        self.X = X

    def columns(self, keys: Array) -> Columns:
        if sp.issparse(self.X):
            part = sp.csc_array(self.X[:, keys], dtype=np.float64)
            part.sort_indices()
            return Columns(part)
        return Columns(np.asfortranarray(self.X[:, keys], dtype=np.float64))

    def hypothesis(self, key: int) -> Feature:
        return Feature(int(key), self._context.name(int(key)))

    def inputs(self, keys: Array) -> set[int]:
        return set(keys.tolist())

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        return hypothesis.feature if isinstance(hypothesis, Feature) and hypothesis.feature < self.size else None

    def correlate(self, force: Array) -> Array:
        # blocks are the same for every n_jobs, and every column is summed by one thread, so bits do not change
        out = np.empty((self.size, force.shape[1]))
        if sp.issparse(self.X):
            X, force = self.X, np.ascontiguousarray(force)

            def by_entries(part: slice) -> None:
                kernels.columns.correlate(X.data, X.indices, X.indptr, None, force, out, part.start, part.stop)

            self.in_threads(by_entries, self.parts(self.size))
        elif self.X.dtype == np.float64 and self.X.flags.f_contiguous and 1 < force.shape[1] <= kernels.passes.MOST:
            rows = kernels.passes.rows_of(force)
            wide = np.empty((self.size, len(rows)))

            def together(part: slice) -> None:
                kernels.passes.correlate(self.X.T, rows, wide, part.start, part.stop)

            self.in_threads(together, self.parts(self.size))
            out = wide[:, : force.shape[1]]
        elif self.X.dtype == np.float64 or self.X.flags.f_contiguous:

            def by_columns(part: slice) -> None:
                np.matmul(self.X[:, part].astype(np.float64, copy=False).T, force, out=out[part])

            self.in_threads(by_columns, self.parts(self.size))
        else:

            def by_rows(part: slice) -> Array:
                return self.X[part].astype(np.float64).T @ force[part]

            out = np.sum(self.in_threads(by_rows, ranges(self.n_examples, self.size)), axis=0)
        return out

    def correlate_some(self, keys: Array, force: Array) -> Array:
        if not sp.issparse(self.X):
            return super().correlate_some(keys, force)
        out = np.empty((keys.size, force.shape[1]))
        X, force = self.X, np.ascontiguousarray(force)
        kernels.columns.correlate(X.data, X.indices, X.indptr, keys, force, out, 0, keys.size)
        return out

    def lengths(self) -> Array:
        out = np.empty(self.size)
        if sp.issparse(self.X) or (self.X.flags.f_contiguous and self.X.dtype in (np.float32, np.float64)):
            data, _, indptr = Columns(self.X).flat
            kernels.columns.lengths(data, indptr, out)
            return out
        for part in self.parts(self.size):
            block = self.X[:, part]
            out[part] = np.einsum("ij,ij->j", block, block, dtype=np.float64)
        return np.sqrt(out)

    def parts(self, length: int) -> Iterator[slice]:
        if sp.issparse(self.X):
            return ranges(length, self.X.nnz // max(self.size, 1))
        return super().parts(length)
