"""From a user's partitions to blocks of rows that a fit can ask."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from dask.delayed import delayed
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from sparseboost.dask.dictionaries import RemoteFeatures, RemoteStumps
from sparseboost.dask.executor import PREFIX, DaskExecutor
from sparseboost.dask.problem import Rows
from sparseboost.dask.rows import RowBlock
from sparseboost.dask.sketch import Merge, encoded, most_values, shared_bins, sketch, smallest
from sparseboost.estimators.standardize import at_equal_scale
from sparseboost.estimators.validation import check_data, class_weights
from sparseboost.hypotheses import Context, Dictionary, Features, HypothesisSpace, StumpDictionary
from sparseboost.hypotheses.stump_bins import Bins
from sparseboost.hypotheses.stump_keys import StumpKeys
from sparseboost.hypotheses.stumps import Stumps
from sparseboost.penalties import Penalty

Array = np.ndarray


@dataclass(frozen=True)
class RawBlock:
    """A partition as scikit-learn validates it: inputs, targets (or codes of them), weights."""

    X: Any
    y: Array
    weight: Array
    names: list[Any] | None


class Facts(NamedTuple):
    """What has to be known of all partitions before any is encoded."""

    n_rows: int
    n_inputs: int
    names: list[Any] | None
    labels: Array | None  # of a classifier with one column of labels
    totals: Array  # weight of every label, or of all rows
    head: Array


def read(X: Any, y: Any, weight: Any, model: Any, place: int) -> RawBlock:
    """Validate one partition."""
    names = list(X.columns) if hasattr(X, "columns") else None
    if X.shape[0] == 0:  # filters leave empty partitions; there is nothing to check in them
        return RawBlock(np.empty((0, X.shape[1])), np.asarray(y), np.empty(0), names)
    given = np.asarray(y)
    if given.shape[0] != X.shape[0]:
        raise ValueError(
            f"y must be partitioned like X: partition {place} of X has {X.shape[0]} rows, that of y {given.shape[0]}."
        )
    classifier = is_classifier(model)
    X, y = check_data(copy.copy(model), X, given, reset=True, multi_output=True, y_numeric=not classifier)
    if classifier:
        check_classification_targets(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if weight is None or np.any(weight):  # a partition may have no weight at all
        weight = _check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)
    checked = np.asarray(weight, dtype=np.float64).ravel()
    return RawBlock(X, y, checked, names)


def read_all(executor: DaskExecutor, blocks: Sequence[tuple[Any, Any, Any]], model: Any) -> list[Any]:
    """Handles of all partitions, validated."""
    name = f"{PREFIX}read-{uuid4().hex}"
    return executor.compute([
        delayed(read)(*block, model, place, dask_key_name=f"{name}-{place}") for place, block in enumerate(blocks)
    ])  # fmt: skip


def facts(block: RawBlock, classifier: bool) -> Facts:
    """What one partition knows."""
    head, (m, d) = block.y[:2], block.X.shape
    if not classifier or block.y.ndim == 2:
        if classifier and not np.isin(block.y, (0, 1)).all():
            raise ValueError("y must be one column of class labels or a 0/1 indicator matrix.")
        return Facts(m, d, block.names, None, np.array([block.weight.sum()]), head)
    labels, codes = np.unique(block.y, return_inverse=True)
    return Facts(m, d, block.names, labels, np.bincount(codes, block.weight, minlength=labels.size), head)


class Encoding(NamedTuple):
    """How targets become what the loss sees: a row per label, or ±1 per column, or the numbers themselves."""

    labels: Array | None
    table: Array | None
    signs: bool
    factor: Array | None  # of weights, per label

    def __call__(self, block: RawBlock) -> tuple[Array, Array]:
        """Targets of shape (m, k) and weights."""
        if self.labels is None:
            y = block.y.reshape(block.y.shape[0], -1)
            return np.where(y > 0, 1.0, -1.0) if self.signs else np.ascontiguousarray(y, dtype=float), block.weight
        codes = np.searchsorted(self.labels, block.y)
        assert self.table is not None
        return self.table[codes], block.weight if self.factor is None else block.weight * self.factor[codes]


def weighed(block: RawBlock, encoding: Encoding) -> tuple[Array]:
    """Weight of all rows."""
    return (np.asarray(encoding(block)[1].sum()),)


def summary(block: RawBlock, encoding: Encoding, most: int) -> Any:
    """Sketch of one partition."""
    return sketch(block.X, encoding(block)[1], most)


def bind(block: RawBlock, encoding: Encoding, total: float, space: HypothesisSpace, shared: Bins | None) -> RowBlock:
    """The block that a fit asks: the dictionary over its rows, targets, weights."""
    y, weight = encoding(block)
    if shared is None:
        return RowBlock(space.bind(block.X), y, weight / total)
    plain = copy.copy(space)
    plain.standardize = False  # type: ignore[attr-defined]
    dictionary: Dictionary = StumpDictionary(StumpKeys(encoded(block.X, shared), Context(), plain))  # type: ignore[arg-type]
    return RowBlock(dictionary, y, weight / total)


def lows(block: RawBlock, bound: RowBlock) -> Array:
    """Smallest value in every bin."""
    return smallest(block.X, bound.dictionary.bins)  # type: ignore[attr-defined]


def least(*parts: Array) -> Array:
    """Elementwise minimum."""
    return np.min(parts, axis=0)


class Prepared(NamedTuple):
    """Everything a problem is made of."""

    rows: Rows
    dictionary: Dictionary


def standardized(dictionary: Dictionary, penalty: Penalty, centred: bool) -> Dictionary:
    """The same hypotheses at the costs that make their standard deviations equal."""
    if not isinstance(dictionary, RemoteFeatures):
        raise ValueError("standardize=True is for hypotheses='features'; stumps do not depend on the scale of inputs.")
    mean, energy = dictionary.moments()
    return at_equal_scale(dictionary, penalty, energy, mean if centred else np.zeros_like(energy))


def agreed(found: list[Facts]) -> Facts:
    """The facts of all partitions together; the first that contradicts the others is named."""
    full = [part for part in found if part.n_rows]
    if not full:
        raise ValueError("X must have at least one row; all its partitions are empty.")
    for place, part in enumerate(found):
        if part.n_rows and (part.n_inputs != full[0].n_inputs or part.names != full[0].names):
            raise ValueError(
                f"All partitions of X must have the same columns: partition {place} has {part.n_inputs} where others "
                f"have {full[0].n_inputs}, or other names."
            )
        if part.n_rows and part.head.shape[1:] != full[0].head.shape[1:]:
            raise ValueError("All partitions of y must have the same number of columns.")
    labels, totals = None, np.sum([part.totals.sum() for part in full], keepdims=True)
    if full[0].labels is not None:
        labels, place_of = np.unique(np.concatenate([part.labels for part in full]), return_inverse=True)
        totals = np.bincount(place_of, np.concatenate([part.totals for part in full]))
    head = np.concatenate([part.head for part in full])
    return Facts(sum(part.n_rows for part in full), full[0].n_inputs, full[0].names, labels, totals, head)


def encoding_of(facts: Facts, table: Array | None, class_weight: Any, signs: bool) -> Encoding:
    """How targets are encoded, once the estimator has seen one row per label."""
    factor = None
    if class_weight is not None:
        if facts.labels is None:
            raise ValueError("class_weight is for one column of class labels; give sample_weight for multi-label y.")
        factor = class_weights(class_weight, facts.labels, facts.totals)
    return Encoding(facts.labels, table, signs, factor)


def prepare(
    executor: DaskExecutor, raw: list[Any], sizes: list[int], facts: Facts, encoding: Encoding,
    space: HypothesisSpace, context: Context,
) -> Prepared:  # fmt: skip
    """Bind all blocks. Partitions are not kept: a block is their only copy, or the user's own array."""
    q, m = len(raw), facts.n_rows
    total = float(executor.total(weighed, raw, [encoding] * q)[0])
    if not total > 0:
        raise ValueError("sample_weight must have a positive sum; all weights are zero.")
    if isinstance(space, Features):
        blocks = executor.apply(bind, raw, [encoding] * q, [total] * q, [space] * q, [None] * q)
        rows = Rows(executor, blocks, sizes)
        return Prepared(rows, RemoteFeatures((m, facts.n_inputs), rows, context))
    assert isinstance(space, Stumps)
    most = most_values(space)
    merged = executor.combine(Merge(most), executor.apply(summary, raw, [encoding] * q, [most] * q))
    shared = shared_bins(merged, m, space)
    plain = Bins(**vars(shared))
    blocks = executor.apply(bind, raw, [encoding] * q, [total] * q, [space] * q, [plain] * q)
    if not merged.whole:
        found = executor.combine(least, executor.apply(lows, raw, blocks))
        shared = replace(shared, lows=np.where(np.isnan(shared.highs), np.nan, found))
    rows = Rows(executor, blocks, sizes)
    return Prepared(rows, RemoteStumps(shared, context, space, rows))
