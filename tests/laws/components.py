"""One list of losses and one of penalties, which feed all tests. A new component belongs here."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseboost.hypotheses import Context, Features
from sparseboost.losses import (
    Absolute,
    EpsInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Loss,
    MulticlassHinge,
    Pairwise,
    PairwiseLogistic,
    Quantile,
    RankingHinge,
    Softmax,
    Squared,
)
from sparseboost.penalties import L1, L1L2, L1Linf, NoPenalty, Norm, Penalty, Ridge, SmoothL1
from sparseboost.problem import Problem

Array = np.ndarray


class LossCase(NamedTuple):
    loss: Loss
    k: int
    targets: str  # "signs", "classes" or "reals"

    @property
    def name(self) -> str:
        return f"{self.loss!r}-{self.k}".replace(" ", "")

    def y(self, m: int, rng: np.random.Generator) -> Array:
        """Random targets of shape (m, k), or (m, 1) for classes; every class occurs."""
        if self.targets == "signs":
            y = np.where(rng.random((m, self.k)) < 0.4, -1.0, 1.0)
            y[0], y[1] = 1.0, -1.0
            return y
        if self.targets == "classes":
            y = rng.integers(self.k, size=(m, 1)).astype(float)
            y[: self.k, 0] = np.arange(self.k)
            return y
        return rng.normal(size=(m, self.k)) * 2.0


LOSSES = [
    LossCase(Logistic(), 1, "signs"),
    LossCase(Logistic(), 3, "signs"),
    LossCase(Exponential(), 1, "signs"),
    LossCase(Exponential(), 2, "signs"),
    LossCase(Softmax(3), 3, "classes"),
    LossCase(Softmax(2), 2, "classes"),
    LossCase(Squared(), 1, "reals"),
    LossCase(Squared(), 2, "reals"),
    LossCase(Absolute(), 1, "reals"),
    LossCase(Absolute(), 2, "reals"),
    *[LossCase(Huber(delta), 1, "reals") for delta in (0.1, 1.0, 10.0)],
    LossCase(Huber(0.5), 2, "reals"),
    *[LossCase(EpsInsensitive(eps), 1, "reals") for eps in (0.0, 0.1, 1.0, 1.32, 3.0, 50.0)],
    LossCase(EpsInsensitive(0.5), 2, "reals"),
    LossCase(Pairwise(Exponential(), 3), 3, "classes"),
    LossCase(PairwiseLogistic(3), 3, "classes"),
    LossCase(PairwiseLogistic(2), 2, "classes"),
    LossCase(Hinge(), 1, "signs"),
    LossCase(Hinge(), 2, "signs"),
    LossCase(MulticlassHinge(3), 3, "classes"),
    LossCase(MulticlassHinge(2), 2, "classes"),
    LossCase(Quantile(0.5), 1, "reals"),
    LossCase(Quantile(0.9), 2, "reals"),
]
COUPLED = [RankingHinge()]  # losses that see several examples at once; their laws are in test_functional_losses
SMOOTH = [case for case in LOSSES if case.loss.smoothed(1.0) is case.loss]
PENALTIES: list[Penalty] = [
    kind(positive) for kind in (L1, L1L2, L1Linf, Ridge, SmoothL1, NoPenalty) for positive in (False, True)
]
NORMS: list[Norm] = [penalty for penalty in PENALTIES if isinstance(penalty, Norm)]


def name(component: Any) -> str:
    """Id of a parametrised test."""
    return component.name if isinstance(component, LossCase) else repr(component)


def features(m: int, n: int, rng: np.random.Generator, sparse: bool = False, zero_column: bool = False) -> Any:
    """Random inputs; about half of the entries are zero."""
    X = rng.normal(size=(m, n)) * np.exp(rng.normal(size=n))
    X[rng.random((m, n)) < 0.5] = 0.0
    X[rng.integers(m, size=n), np.arange(n)] = 1.0
    if zero_column:
        X[:, n // 2] = 0.0
    return sp.csc_array(X) if sparse else X


def weights(m: int, rng: np.random.Generator) -> Array:
    """Uneven weights of sum one."""
    weight = rng.exponential(size=m) + 0.05
    return weight / weight.sum()


def make_problem(
    case: LossCase,
    penalty: Penalty,
    X: Any,
    y: Array,
    *,
    alpha: float | None = None,
    fraction: float = 0.3,
    weight: Array | None = None,
    cost: Array | None = None,
    intercept: bool = True,
) -> Problem:
    """A problem over the columns of X; alpha defaults to a fraction of the largest useful one."""
    m = X.shape[0]
    weight = np.full(m, 1.0 / m) if weight is None else weight / weight.sum()
    dictionary = Features().bind(X, Context(feature_costs=cost))

    def at(alpha: float) -> Problem:
        return Problem(case.loss, penalty, alpha, dictionary, y, weight, intercept)

    if alpha is None:
        largest = at(1.0).largest_alpha if isinstance(penalty, Norm) else 0.1
        alpha = fraction * largest
    return at(alpha)
