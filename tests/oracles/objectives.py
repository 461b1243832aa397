"""The objective of API.md written down twice without the library: once in NumPy, once in CVXPY.

Σ_i s_i loss(y_i, b + W x_i) / Σ_i s_i + alpha Σ_j c_j ‖W_j‖        W has shape (n, k), one row per input
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.special import logsumexp

Array = np.ndarray
EPS, DELTA = 0.1, 1.0  # defaults of EpsInsensitive and Huber
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 200}


def hot(y: Array) -> Array:
    return (np.arange(y.max() + 1) == y[:, None]).astype(float)


def loss_value(kind: str, y: Array, z: Array) -> Array:
    """Loss of every example; y is as the estimator gets it, z has shape (m, k)."""
    if kind == "softmax":
        return logsumexp(z, axis=1) - z[np.arange(len(y)), y]
    target = y.reshape(len(y), -1)
    if kind in ("logistic", "exponential"):
        margin = (2.0 * target - 1.0) * z
        each = np.logaddexp(0.0, -margin) if kind == "logistic" else np.exp(-margin)
    else:
        t = z - target
        each = {
            "squared": lambda: 0.5 * t**2,
            "absolute": lambda: np.abs(t),
            "huber": lambda: np.where(np.abs(t) <= DELTA, 0.5 * t**2, DELTA * np.abs(t) - 0.5 * DELTA**2),
            "eps-insensitive": lambda: np.logaddexp(0.0, t - EPS) + np.logaddexp(0.0, -t - EPS),
        }[kind]()
    return each.sum(axis=1)


def norms(penalty: str, W: Array) -> Array:
    return {
        "l1": lambda: np.abs(W).sum(axis=1),
        "l1/l2": lambda: np.sqrt((W**2).sum(axis=1)),
        "l1/linf": lambda: np.abs(W).max(axis=1),
        "l2": lambda: 0.5 * (W**2).sum(axis=1),
    }[penalty]()


@dataclass(frozen=True)
class Question:
    """One convex problem, and its optimum by CVXPY."""

    kind: str
    penalty: str
    alpha: float
    X: Array
    y: Array
    intercept: bool = True
    weight: Array | None = None
    cost: Array | None = None
    positive: bool = False
    _cache: dict[str, Any] = field(default_factory=dict)

    @property
    def outputs(self) -> int:
        return int(self.y.max()) + 1 if self.kind == "softmax" else self.y.reshape(len(self.y), -1).shape[1]

    @property
    def shares(self) -> Array:
        weight = np.ones(len(self.y)) if self.weight is None else self.weight
        return weight / weight.sum()

    @property
    def costs(self) -> Array:
        return np.ones(self.X.shape[1]) if self.cost is None else self.cost

    def objective(self, coef: Array, intercept: Array) -> float:
        """Objective of weights in the estimator's shapes: coef (k, n), intercept (k,)."""
        value = self.shares @ loss_value(self.kind, self.y, self.X @ coef.T + intercept)
        return float(value + self.alpha * (self.costs @ norms(self.penalty, coef.T)))

    def optimum(self) -> float:
        """Objective at CVXPY's solution: never below the true optimum, whatever CVXPY's own rounding."""
        if "value" not in self._cache:
            self._cache["value"] = self._solve()
        return self._cache["value"]

    def _solve(self) -> float:
        m, k = len(self.y), self.outputs
        W, b = cp.Variable((self.X.shape[1], k)), cp.Variable((1, k))
        z = self.X @ W + (np.ones((m, 1)) @ b if self.intercept else np.zeros((m, k)))
        goal = self._fit(z) + self.alpha * (self.costs @ self._norms(W))
        with warnings.catch_warnings():  # "may be inaccurate": it is asked for more than it can prove; tests check
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            cp.Problem(cp.Minimize(goal), [W >= 0] if self.positive else []).solve(solver="CLARABEL", **TIGHT)
        weights = np.maximum(W.value, 0.0) if self.positive else W.value
        return self.objective(weights.T, b.value[0] if self.intercept else np.zeros(k))

    def _fit(self, z: Any) -> Any:
        shares, target = self.shares, self.y.reshape(len(self.y), -1).astype(float)
        if self.kind == "softmax":
            return shares @ cp.log_sum_exp(z, axis=1) - cp.sum(cp.multiply(shares[:, None] * hot(self.y), z))
        t = z - target
        each = {
            "logistic": lambda: cp.logistic(-cp.multiply(2.0 * target - 1.0, z)),
            "exponential": lambda: cp.exp(-cp.multiply(2.0 * target - 1.0, z)),
            "squared": lambda: 0.5 * cp.square(t),
            "absolute": lambda: cp.abs(t),
            "huber": lambda: 0.5 * cp.huber(t, DELTA),
            "eps-insensitive": lambda: cp.logistic(t - EPS) + cp.logistic(-t - EPS),
        }[self.kind]()
        return cp.sum(shares @ each)

    def _norms(self, W: Any) -> Any:
        if self.penalty == "l1":
            return cp.sum(cp.abs(W), axis=1)
        if self.penalty == "l2":
            return 0.5 * cp.sum(cp.square(W), axis=1)
        return cp.norm(W, 2 if self.penalty == "l1/l2" else "inf", axis=1)


def inputs(m: int, n: int, seed: int = 0) -> Array:
    """Gaussian columns, about half of the entries zero, as sparse formats have them."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random((m, n)) < 0.55, rng.normal(size=(m, n)), 0.0)


def targets(name: str, X: Array, seed: int = 1) -> Array:
    """Noisy targets of the named shape, so that no problem is separable."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random((X.shape[1], 3)) < 0.5, rng.normal(size=(X.shape[1], 3)), 0.0)
    z = X @ truth + rng.normal(size=(len(X), 3)) + [0.3, -0.2, 0.5]
    return {
        "binary": lambda: (z[:, 0] > 0).astype(int),
        "labels": lambda: (z > 0).astype(int),
        "classes": lambda: z.argmax(axis=1),
        "real": lambda: 2.0 * z[:, 0] + 1.0,
        "reals": lambda: 2.0 * z + 1.0,
    }[name]()
