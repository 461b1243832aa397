"""One pass of the kernel Perceptron: the examples it gets wrong on the way are a support set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray
Gram = Callable[[Array, Array], Array]
BLOCK = 256  # rows whose scores are computed together


def mistakes(gram: Gram, rows: Array, target: Array, n_classes: int | None, tube: float) -> Array:
    """Rows that a Perceptron gets wrong when it walks once through `rows`, in that order.

    Binary targets and several labels (``n_classes=2``): a wrong sign adds y_i K(x_i, ·) to that output. Classes: a
    rival that scores at least as much as the own class loses K(x_i, ·), the own class gains it. Real targets: an error
    of more than `tube` standard deviations is corrected to the edge of the tube (the passive-aggressive step).

    Parameters
    ----------
    gram : callable
        (rows, others) → K of these pairs.
    rows : array of int
        The walk.
    target : array of shape (m, k)
        Targets of all examples: ±1, class codes, or real numbers.
    n_classes : int or None
        As in `Context`.
    tube : float
        Half width of the tube for real targets.
    """
    target = _standardized(target, rows) if n_classes is None else target
    outputs = n_classes if n_classes is not None and n_classes > 2 else target.shape[1]
    found: list[int] = []
    weights: list[Array] = []
    for start in range(0, rows.size, BLOCK):
        block = rows[start : start + BLOCK]
        inner = gram(block, block)
        score = gram(block, np.array(found)) @ np.array(weights) if found else np.zeros((block.size, outputs))
        place = 0
        while place < block.size:  # one turn per mistake, not per example
            rest = slice(place, None)
            change = _change(target[block[rest]], score[rest], inner.diagonal()[rest], n_classes, tube)
            wrong = np.any(change != 0, axis=1)
            first = int(np.argmax(wrong))
            if not wrong[first]:
                break
            place += first
            found.append(int(block[place]))
            weights.append(change[first])
            score += inner[:, place, None] * change[first]
            place += 1
    return np.array(found, dtype=np.int64)


def _change(target: Array, score: Array, diagonal: Array, n_classes: int | None, tube: float) -> Array:
    """What each example would add to the weights; zeros where it is right."""
    if n_classes is None:
        error = target - score
        beyond = np.sign(error) * np.maximum(np.abs(error) - tube, 0.0)
        return beyond / np.where(diagonal > 0, diagonal, np.inf)[:, None]
    if n_classes <= 2:
        return np.where(target * score <= 0, target, 0.0)
    examples, own = np.arange(target.shape[0]), target[:, 0].astype(np.intp)
    others = score.copy()
    others[examples, own] = -np.inf
    rival = others.argmax(axis=1)
    change = np.zeros_like(score)
    change[examples, own] = 1.0
    change[examples, rival] = -1.0
    return np.where(score[examples, own] <= others[examples, rival], 1.0, 0.0)[:, None] * change


def _standardized(target: Array, rows: Array) -> Array:
    spread = target[rows].std(axis=0)
    return (target - target[rows].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
