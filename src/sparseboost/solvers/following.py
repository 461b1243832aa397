"""The intercept inside the quadratic model of a Newton step: nothing holds it, so it follows the other rows at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Following(NamedTuple):
    """How the intercept moves with the other rows, and what is left of the model when it does.

    Sweeps that take the intercept for one row among others creep when columns have large means: every step of a row
    has to be undone in part by the intercept and by all other rows. With the intercept where it is best for the rows,
    the model is that of centred columns (a Schur complement).

    Attributes
    ----------
    edge : array of shape (n, k, h)
        Hessian between rows and intercept; h is k where outputs depend on each other, and 1 where they do not.
    inverse : array of shape (k, k) or (k,)
        Inverse of the Hessian of the intercept, or of its diagonal.
    slope : array of shape (k,)
        Gradient in the intercept.
    """

    edge: Array
    inverse: Array
    slope: Array

    @classmethod
    def of(cls, edge: Array, corner: Array, slope: Array, ridge: float) -> Following:
        """From the Hessian's last rows; `ridge` is a share of the diagonal that keeps the inverse bounded."""
        if edge.shape[2] == 1:
            floor = ridge * corner.max(initial=0.0) + np.finfo(float).tiny
            return cls(edge, 1.0 / np.maximum(corner.ravel(), floor), slope)
        # a constant added to all outputs changes nothing; holding it makes the rest invertible and touches nothing else
        size = np.diag(corner).max(initial=0.0) + np.finfo(float).tiny
        return cls(edge, np.linalg.inv(corner + size * (1.0 + ridge * np.eye(corner.shape[0]))), slope)

    def _pulled(self, push: Array) -> Array:
        """The inverse times a vector of the intercept."""
        return self.inverse * push if self.inverse.ndim == 1 else self.inverse @ push

    @property
    def gain(self) -> float:
        """How much the model falls when the intercept alone moves."""
        return 0.5 * float(self.slope @ self._pulled(self.slope))

    def gradient(self, gradient: Array) -> Array:
        """Gradient in the rows when the intercept follows."""
        moved = self._pulled(self.slope)
        return gradient - (self.edge[..., 0] * moved if self.inverse.ndim == 1 else self.edge @ moved)

    def change(self, rows: Array) -> Array:
        """Move of the intercept when the rows have moved by this much."""
        if self.inverse.ndim == 1:
            return -self._pulled(self.slope + (self.edge[..., 0] * rows).sum(axis=0))
        return -self._pulled(self.slope + np.einsum("jru,jr->u", self.edge, rows))

    def hessian(self, gram: Array) -> Array:
        """Hessian of the rows when the intercept follows, from that when it stays, of shape (n, k, h, n)."""
        n, k, h, _ = gram.shape
        if h == 1:
            return gram - (self.edge * self.inverse[:, None])[..., None] * self.edge[..., 0].T[:, None, :]
        flat = self.edge.reshape(n * k, k)
        return gram - ((flat @ self.inverse) @ flat.T).reshape(n, k, n, k).transpose(0, 1, 3, 2)
