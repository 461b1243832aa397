"""How a search over products measures correlations: the dual norm, and what it can be at most."""

from __future__ import annotations

import numpy as np

from sparseboost.hypotheses.base import DualNorm

Array = np.ndarray


class Gauge:
    """A dual norm, with the extremes it can have over boxes of correlations.

    Where the dual norm is the same for all correlations that are not zero (∞ without a penalty, 0 for the ridge), their
    largest entry decides instead.

    Parameters
    ----------
    dual_norm : callable
        Maps correlations (n, k) to (n,); monotone in their sizes, or in those of the negative ones.
    n_outputs : int
        k.

    Attributes
    ----------
    one_sided : bool
        Whether only negative correlations count.
    each, together, round_norm : array of shape (k,), float, bool
        Norms of the unit vectors and of the vector of ones, and whether the norm is Euclidean: enough to bound it
        where the callable cannot be called.
    """

    def __init__(self, dual_norm: DualNorm, n_outputs: int) -> None:
        down, up = dual_norm(-np.eye(n_outputs)), dual_norm(np.eye(n_outputs))
        self._dual_norm = dual_norm
        self._whole = float(dual_norm(-np.ones((1, n_outputs)))[0])
        self.one_sided = bool(np.all(up == 0.0) and np.all(down > 0.0))
        self._flat = not (0.0 < self._whole < np.inf)
        if np.any((down <= 0.0) != (self._whole <= 0.0)) or (self._flat and np.any((up > 0.0) & (up < np.inf))):
            raise ValueError("Products are searched by a norm of their correlations; the dual_norm given is none.")
        self.each = np.ones(n_outputs) if self._flat else np.ascontiguousarray(down, dtype=float)
        self.together = 1.0 if self._flat else self._whole
        probe = np.linspace(1.0, 2.0, n_outputs)
        length = float(np.linalg.norm(self.each * probe))
        self.round_norm = not self._flat and bool(np.isclose(dual_norm(-probe[None, :])[0], length, rtol=1e-12))

    def score(self, correlation: Array) -> Array:
        """What the search maximises, before costs."""
        return self.reach(correlation).max(axis=1) if self._flat else self._dual_norm(correlation)

    def reach(self, correlation: Array) -> Array:
        """The part of every entry that counts."""
        return np.maximum(-correlation, 0.0) if self.one_sided else np.abs(correlation)

    def extent(self, correlation: Array, absolute: Array, signed: bool) -> Array:
        """How far the correlations of all multiples of a product can reach, entry by entry.

        A multiple h·g with g in [0, 1] has a correlation between minus the negative and plus the positive part of
        Σ force·h; with g in [−1, 1] its size is at most Σ |force·h|.
        """
        if signed:
            return absolute
        return 0.5 * (absolute - correlation if self.one_sided else absolute + np.abs(correlation))

    def size(self, extent: Array) -> Array:
        """Largest score within these reaches."""
        return extent.max(axis=1) if self._flat else self._dual_norm(-extent)

    def floor(self, above: float) -> float:
        """The score that belongs to this value of the dual norm."""
        if self._flat:
            return 0.0 if self._whole > above else np.inf
        return max(above, 0.0)

    def violation(self, score: float) -> float:
        """The dual norm that belongs to this score."""
        return score if not self._flat or score == 0.0 else self._whole
