"""What is done where a block of rows is: the same functions for every loss and every space of hypotheses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseboost.hypotheses import Columns, Dictionary, Enumerable
from sparseboost.losses import Loss
from sparseboost.solvers.row_blocks import Block

Array = np.ndarray


@dataclass(frozen=True)
class RowBlock:
    """Some rows: the dictionary bound to them, their targets, and weights that sum to 1 over all blocks."""

    dictionary: Dictionary
    y: Array
    weight: Array


class Point(NamedTuple):
    """Scores of all rows, as the active rows of weights that they follow from."""

    keys: Array
    coef: Array
    intercept: Array | float = 0.0

    def scores(self, block: RowBlock) -> Array:
        """Scores of the rows of one block."""
        return block.dictionary.columns(self.keys).dot(self.coef) + self.intercept


class Aim(NamedTuple):
    """A dual point of all rows: the gradient of `driving` at a point, balanced for `loss` where there is an intercept.

    Attributes
    ----------
    imbalance : array or None
        The sums over all rows that balancing needs; None where nothing needs balance.
    """

    point: Point
    loss: Loss
    driving: Loss
    imbalance: Array | None = None

    def dual(self, block: RowBlock, given: Array | None) -> Array:
        """Its rows in one block; `given` stands in for the gradient."""
        dual = self.driving.gradient(block.y, self.point.scores(block)) if given is None else given
        return dual if self.imbalance is None else self.loss.balanced(block.y, dual, self.imbalance)


def measure(block: RowBlock, aim: Aim, given: Array | None) -> tuple[Array, Array]:
    """Weighted loss and driving loss, and the sums that balancing the dual point needs."""
    score = aim.point.scores(block)
    dual = aim.driving.gradient(block.y, score) if given is None else given
    return measured(aim, block.y, block.weight, score, dual)


def measured(aim: Aim, y: Array, weight: Array, score: Array, dual: Array) -> tuple[Array, Array]:
    """What `measure` gives, from scores."""
    value = weight @ aim.loss.value(y, score)
    driving = value if aim.driving == aim.loss else weight @ aim.driving.value(y, score)
    return np.array([value, driving]), aim.loss.imbalance(y, dual, weight)


def correlations(block: RowBlock, aim: Aim, given: Array | None, keys: Array | None) -> tuple[Array, Array]:
    """Σ_i s_i v_i h_j(x_i) of these hypotheses or of all, and the sums that the best scale needs."""
    dual = aim.dual(block, given)
    force = block.weight[:, None] * dual
    sums = aim.loss.scale_sums(block.y, dual, block.weight)
    if keys is not None:
        return block.dictionary.columns(keys).correlate(force), sums
    assert isinstance(block.dictionary, Enumerable)
    return block.dictionary.correlate(force), sums


def bin_sums(block: RowBlock, aim: Aim, given: Array | None) -> tuple[Array, Array, Array]:
    """Sums of force in every bin, over all rows, and the sums that the best scale needs."""
    dual = aim.dual(block, given)
    force = np.ascontiguousarray(block.weight[:, None] * dual)
    bins: Any = block.dictionary.bins  # type: ignore[attr-defined]
    total = force.sum(axis=0)
    return bins.sums(force, total, 0, bins.shape[1]), total, aim.loss.scale_sums(block.y, dual, block.weight)


def bin_weights(block: RowBlock) -> tuple[Array]:
    """Weight in every bin."""
    bins: Any = block.dictionary.bins  # type: ignore[attr-defined]
    weight = np.ascontiguousarray(block.weight[:, None])
    return (bins.sums(weight, weight.sum(axis=0), 0, bins.shape[1]),)


def dual_values(block: RowBlock, aim: Aim, given: Array | None, scale: float) -> tuple[Array]:
    """−Σ_i s_i ℓ*(scale · v_i)."""
    return (np.asarray(aim.loss.dual_value(block.y, aim.dual(block, given), block.weight, scale)),)


def moments(block: RowBlock) -> tuple[Array, Array]:
    """Σ_i s_i h_j(x_i) and Σ_i s_i h_j(x_i)² of every hypothesis."""
    assert isinstance(block.dictionary, Enumerable)
    return block.dictionary.correlate(block.weight[:, None]), block.dictionary.energy(block.weight)


def stored_entries(block: RowBlock) -> tuple[Array]:
    """How many numbers every column stores."""
    X: Any = block.dictionary.X  # type: ignore[attr-defined]
    return (np.diff(X.indptr).astype(np.int64) if sp.issparse(X) else np.full(X.shape[1], X.shape[0]),)


def slopes(block: RowBlock, loss: Loss, constants: Array) -> tuple[Array]:
    """Derivative of the weighted loss at constant scores, for every row of (grid, k) constants."""
    rows = (np.broadcast_to(row, block.y.shape) for row in constants)
    return (np.stack([block.weight @ loss.gradient(block.y, row) for row in rows]),)


def targets_and_weights(block: RowBlock) -> tuple[Array, Array]:
    """What a gathered solve needs besides columns."""
    return block.y, block.weight


def columns_of(block: RowBlock, keys: Array) -> Any:
    """Outputs of these hypotheses, in one byte each where that loses nothing."""
    matrix = block.dictionary.columns(keys).matrix
    if sp.issparse(matrix):
        return matrix
    small = matrix.astype(np.int8)
    return small if np.array_equal(small, matrix) else matrix


def stacked(parts: list[Any]) -> Columns:
    """Columns of all rows from those of the blocks."""
    if all(sp.issparse(part) for part in parts):
        matrix = sp.csc_array(sp.vstack(parts, format="csc"), dtype=np.float64)
        matrix.sort_indices()
        return Columns(matrix)
    out = np.empty((sum(part.shape[0] for part in parts), parts[0].shape[1]), order="F")
    first = 0
    for part in parts:
        out[first : first + part.shape[0]] = part.toarray() if sp.issparse(part) else part
        first += part.shape[0]
    return Columns(out)


def consensus_block(block: RowBlock, keys: Array, loss: Loss, free: bool) -> Block:
    """The active columns of a block, for consensus ADMM."""
    columns = Columns(block.dictionary.columns(keys).matrix)
    return Block.cut(columns, block.y, block.weight, loss, free)
