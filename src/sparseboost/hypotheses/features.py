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
from sparseboost.hypotheses.lent_columns import LentColumns
from sparseboost.hypotheses.lent_sparse import LentSparse
from sparseboost.hypotheses.outline import Outline

LEAST_OUTLINED = 300_000  # entries: passes over fewer cost little


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
        self.entries = float(X.nnz if sp.issparse(X) else X.size)
        self._lines: Any = None if sp.issparse(X) else X.T
        self._inspected = False
        self._lengths: Array | None = None
        self._outline: Outline | None = None
        self._by_lines = not sp.issparse(X) and X.flags.f_contiguous and X.dtype in (np.float32, np.float64)

    def columns(self, keys: Array) -> Columns:
        if sp.issparse(self.X) and LentSparse.lends(self.X):
            return LentSparse(self.X, keys)
        if sp.issparse(self.X):
            part = sp.csc_array(self.X[:, keys], dtype=np.float64)
            part.sort_indices()
            return Columns(part)
        if self._by_lines:
            return LentColumns(self._lines, keys)
        return Columns(np.asfortranarray(self.X[:, keys], dtype=np.float64))

    def hypothesis(self, key: int) -> Feature:
        return Feature(int(key), self._context.name(int(key)))

    def inputs(self, keys: Array) -> set[int]:
        return set(keys.tolist())

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        return hypothesis.feature if isinstance(hypothesis, Feature) and hypothesis.feature < self.size else None

    def correlate(self, force: Array) -> Array:
        out = self._correlate(force)
        if self._context.inspect is not None and not self._inspected:
            self._inspected = True
            # every sum over a column with NaN or infinity is not finite: looking for them needs no pass of its own
            if not np.all(np.isfinite(out)):
                self._context.inspect(self.X)
        return out

    def _correlate(self, force: Array) -> Array:
        # blocks are the same for every n_jobs, and every column is summed by one thread, so bits do not change
        k = force.shape[1]
        if sp.issparse(self.X) or (self._by_lines and (k <= kernels.passes.MOST or self.X.dtype == np.float32)):
            return self._correlate_columns(self._keys, force)
        if self.X.dtype == np.float64 or self.X.flags.f_contiguous:
            out = np.empty((self.size, k))

            def by_columns(part: slice) -> None:
                np.matmul(self.X[:, part].astype(np.float64, copy=False).T, force, out=out[part])

            self.share(by_columns, self.size)
            return out

        def by_rows(part: slice) -> Array:
            return self.X[part].astype(np.float64).T @ force[part]

        return np.sum(self.in_threads(by_rows, ranges(self.n_examples, self.size)), axis=0)

    def correlate_some(self, keys: Array, force: Array) -> Array:
        if sp.issparse(self.X) or self._by_lines:
            return self._correlate_columns(keys, force)
        return super().correlate_some(keys, force)

    def _correlate_columns(self, keys: Array, force: Array) -> Array:
        """One column after the other; the first time that all are read for one output, their lengths come along."""
        X, k = self.X, force.shape[1]
        measures = self._lengths is None and keys is self._keys and (k == 1 or sp.issparse(X))
        squares = np.empty(keys.size if measures else 0)
        forces = np.ascontiguousarray(force) if sp.issparse(X) or k == 1 else kernels.passes.rows_of(force)
        out = np.empty((keys.size, k if sp.issparse(X) or k == 1 else len(forces)))

        def some(part: slice) -> None:
            if sp.issparse(X):
                kernels.columns.correlate(X.data, X.indices, X.indptr, keys[part], forces, out[part], squares[part])
            elif k == 1:
                kernels.columns.correlate_dense(self._lines, keys[part], forces[:, 0], out[part, 0], squares[part])
            else:
                kernels.passes.correlate(self._lines, keys[part], forces, out[part])

        self.share(some, keys.size)
        if measures:
            self._lengths = np.sqrt(squares)
        return out[:, :k]

    def lengths(self) -> Array:
        if self._lengths is None and (sp.issparse(self.X) or self._by_lines):
            self._correlate_columns(self._keys, np.zeros((self.n_examples, 1)))
        elif self._lengths is None:
            self._lengths = np.empty(self.size)
            for part in self.parts(self.size):
                block = self.X[:, part]
                self._lengths[part] = np.sqrt(np.einsum("ij,ij->j", block, block, dtype=np.float64))
        assert self._lengths is not None
        return self._lengths

    def outline(self, n_outputs: int) -> Outline | None:
        if self._outline is None and self._by_lines and self.X.dtype == np.float64 and self.X.size >= LEAST_OUTLINED:
            # of several outputs a hypothesis sums up all that is unknown: there eight bits leave too many to look at
            self._outline = Outline(self._lines, self.share, np.int8 if n_outputs == 1 else np.int16)
            self._lengths = self._outline.lengths
        return self._outline

    @property
    def knows_lengths(self) -> bool:
        return self._lengths is not None

    def parts(self, length: int) -> Iterator[slice]:
        if sp.issparse(self.X):
            return ranges(length, self.X.nnz // max(self.size, 1))
        return super().parts(length)
