"""The Hessian of the loss in the weights of the active hypotheses, kept up to date from step to step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import ref

import numpy as np

from sparseboost.ensemble import Ensemble
from sparseboost.problem import Problem
from sparseboost.solvers.panel import Panel, places

Array = np.ndarray
STALE = 0.03  # share of an output's curvature that may have changed before everything is computed anew
STALE_SHARED = 0.3  # the same while one matrix serves all outputs: steps on it cost a fraction of any others
NEGLIGIBLE = 0.03  # of the mean curvature of a class: examples below it are left out of its part of the Hessian
SINGLE = 5000  # scores: smaller problems are computed in double precision, so that only rounding depends on the order
Pairs = list[tuple[int, int, int]]  # outputs r, s and a sign
Group = tuple[Array | None, Array, list[Pairs]]  # examples, or None for all, weightings, and the blocks each belongs to


class GramCache:
    r"""H[j, r, s, l] = Σ_i h_i,rs x_ij x_il of the active columns, with the curvature h of this or an earlier step.

    A Newton step needs the gradient to be exact, and the Hessian only to be close: it is computed anew when the mean
    curvature of an output has changed. Until then only columns that are new are multiplied.

    At the empty model all examples have the same curvature: then one matrix of products serves all outputs.
    """

    def __init__(self) -> None:
        self._owner: tuple[Any, ...] = ()
        self._local: Array | None = None
        self._seen: Callable[[], Array | None] = _gone  # the curvature that was compared last, if it still exists
        self._origin: Callable[[], Array | None] = _gone  # the one that products belong to
        self._panel = Panel()
        self._negligible = 0.0
        self.creeps = False  # whether sweeps over columns were seen to need more than a few
        self.forget()

    def forget(self) -> None:
        """Compute everything anew next time."""
        self._local, self._seen, self._origin = None, _gone, _gone
        self._keys = np.empty(0, dtype=np.int64)
        self._hessian = np.empty((0, 0, 0, 0))  # in the panel's columns, those of ones first
        self._factor: Array | None = None  # of shape (k, h), times a Hessian that is kept for one output only

    def make_room(self) -> None:
        """Forget products and the columns that were prepared for them, which may be as large as the data."""
        self.forget()
        self._panel = Panel(self._panel.dtype, self._panel.n_jobs)

    def is_old(self, local: Array) -> bool:
        """Whether products belong to another curvature than this."""
        return self._local is not None and self._origin() is not local

    def sharpen(self) -> None:
        """Compute everything anew next time, and leave nothing out any more."""
        self.forget()
        self._negligible = 0.0

    def known(self, problem: Problem, ensemble: Ensemble, local: Array) -> Array:
        """Which active columns need no products any more at this curvature."""
        if not self._keys.size:
            return np.zeros(ensemble.size, dtype=bool)
        self._follow(problem, local)
        if not self._keys.size:  # nobody may ask for products, and the curvature may be larger than the data
            self.forget()
        return places(ensemble.keys, self._keys) >= 0

    def hessian(self, problem: Problem, ensemble: Ensemble, alive: Array, local: Array) -> Array:
        """The Hessian of rows and, if there is one, of the intercept behind them, H[j, r, s, l].

        Where examples do not differ it is that of one output, to be multiplied by the `factor` of each or of each pair.
        """
        self._follow(problem, local)
        place = places(ensemble.keys[alive], self._keys)
        if place.min(initial=0) < 0 or not self._hessian.size:
            self._extend(problem, ensemble, alive[place < 0])
            place = places(ensemble.keys[alive], self._keys)
        place += 1
        if problem.fit_intercept:
            place = np.append(place, 0)
        inner = self._hessian[place]
        out = inner.take(place, axis=3)  # in the order of memory that kernels expect
        shift = self._panel.scales(ensemble, alive)
        if shift is None:
            return out
        scale, centre = shift
        if problem.fit_intercept:
            scale, centre = np.append(scale, 0.0), np.append(centre, 1.0)
        edge, corner = scale[:, None, None] * inner[..., 0], self._hessian[0, :, :, 0]
        out *= scale[:, None, None, None] * scale
        out += edge[..., None] * centre
        out += centre[:, None, None, None] * (scale * self._hessian[0].take(place, axis=2) + corner[..., None] * centre)
        return out

    def factor(self, k: int) -> Array:
        """What the Hessian is to be multiplied by, for each of k outputs or each pair of them."""
        return np.ones((k, 1)) if self._factor is None else self._factor

    def _follow(self, problem: Problem, local: Array) -> None:
        """Forget everything if it belongs to another problem or to a curvature that is too far away."""
        owner = (problem.dictionary, problem.weight, problem.driving_loss.sharpness)
        known = len(self._owner) == 3 and self._owner[0] is owner[0] and self._owner[1] is owner[1]
        if known and self._owner[2] == owner[2] and self._seen() is local:
            return
        self._seen = ref(local)
        if not known:
            self._panel = Panel(digits(problem), problem.dictionary.n_jobs)
            # few examples cost little; and a loss that stands in for another needs what curvature it has
            small = digits(problem) is np.float64
            self._negligible = 0.0 if small or problem.smooth_loss is not None else NEGLIGIBLE
        elif self._owner[2] == owner[2] and self._local is not None:
            stale = STALE_SHARED if self._factor is not None and not problem.driving_loss.multiclass else STALE
            if _close(problem.weight, local, self._local, stale):
                return
        self.forget()
        self._owner, self._seen, self._origin = owner, ref(local), ref(local)
        self._factor = _factor(problem, local)
        self._local = local if self._factor is None else np.broadcast_to(local[0].copy(), local.shape)

    def _extend(self, problem: Problem, ensemble: Ensemble, new: Array) -> None:
        """Multiply new columns with each other and with those that are known and still active."""
        assert self._local is not None
        loss, k = problem.driving_loss, self._local.shape[1]
        g, h = (k, k if loss.multiclass else 1) if self._factor is None else (1, 1)
        first = 0
        if self._hessian.size:
            kept = np.append(True, places(self._keys, ensemble.keys) >= 0)
            self._hessian, self._keys = self._hessian[kept][..., kept], self._keys[kept[1:]]
            first = 1 + self._keys.size
        every = np.concatenate([places(self._keys, ensemble.keys), new])
        hessian = np.zeros((1 + every.size, g, h, 1 + every.size))
        hessian[:first, :, :, :first] = self._hessian.reshape(first, g, h, first)
        alike: Group = (None, problem.weight[:, None] * loss.sharpness, [[(0, 0, 1)]])
        groups = [alike] if self._factor is not None else list(_groups(problem, self._local, self._negligible))
        products = self._panel.products(ensemble, every, first, ((rows, weights) for rows, weights, _ in groups))
        for blocks, (_, _, targets) in zip(products, groups, strict=True):
            for block, pairs in zip(blocks, targets, strict=True):
                for r, s, sign in pairs:
                    hessian[:, r, s, first:] += sign * block
                    hessian[first:, r, s, :first] += sign * block[:first].T
        self._hessian, self._keys = hessian, ensemble.keys[every]


def _gone() -> None:
    """What a reference to nothing answers."""


def digits(problem: Problem) -> type:
    """Single precision for the Hessian of large problems: it is twice as fast, and the gradient is exact."""
    return np.float32 if problem.y.shape[0] * problem.n_outputs >= SINGLE else np.float64


def uniform(local: Array) -> bool:
    """Whether all examples have the same curvature, of more than one output."""
    return local.shape[1] > 1 and bool(np.all(local[0] == local[-1])) and bool(np.all(local == local[0]))


def shared(problem: Problem, local: Array) -> bool:
    """Whether one matrix of products serves all outputs: examples do not differ, nor in what they compare with."""
    loss = problem.driving_loss
    return uniform(local) and not (loss.multiclass and loss.pivot(problem.y[:1])[0] >= 0)


def _factor(problem: Problem, local: Array) -> Array | None:
    """What the products of columns are multiplied by in every pair of outputs, where examples do not differ."""
    loss = problem.driving_loss
    if not shared(problem, local):
        return None
    return np.diag(local[0]) - np.outer(local[0], local[0]) if loss.multiclass else local[0][:, None].copy()


def _close(weight: Array, local: Array, other: Array, stale: float) -> bool:
    return local is other or bool(np.all(weight @ np.abs(local - other) <= stale * (weight @ other)))


def _groups(problem: Problem, local: Array, least: float) -> Iterator[Group]:
    """The curvature as weightings of examples (or None for all of them), and the blocks that each belongs to."""
    loss, k = problem.driving_loss, local.shape[1]
    weight = problem.weight * loss.sharpness
    if not loss.multiclass:
        yield None, weight[:, None] * local, [[(r, 0, 1)] for r in range(k)]
    elif (pivot := loss.pivot(problem.y))[0] < 0:
        spread = local * (1.0 - local)  # of diag(q) − qqᵀ, where most examples have few classes left
        counts = spread > least * (problem.weight @ spread)
        local = np.where(counts, local, 0.0)
        for r in range(k):
            rows = np.flatnonzero(counts[:, r])
            weights = -(weight[rows] * local[rows, r])[:, None] * local[rows, : r + 1]
            weights[:, r] = weight[rows] * spread[rows, r]
            yield rows, weights, [[(r, s, 1), (s, r, 1)] if s < r else [(r, r, 1)] for s in range(r + 1)]
    else:
        for c in np.unique(pivot):  # examples of class c bind the outputs c and r, and no others
            rows, others = np.flatnonzero(pivot == c), [r for r in range(k) if r != c]
            pairs = [[(r, r, 1), (c, c, 1), (r, c, -1), (c, r, -1)] for r in others]
            yield rows, weight[rows, None] * local[rows][:, others], pairs
