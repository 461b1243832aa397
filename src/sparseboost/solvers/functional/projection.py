"""Weak learners as projections: given a function on the training points, find a direction close to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray


class VectorHypothesis(ABC):
    """A learned function from examples to vectors of k outputs.

    Attributes
    ----------
    inputs : tuple of int
        The inputs it looks at.
    """

    inputs: tuple[int, ...]

    @abstractmethod
    def __call__(self, X: Any) -> Array:
        """Outputs on new data, shape (m, k)."""

    @classmethod
    def add(cls, hypotheses: Sequence[Any], coef: Array, X: Any, out: Array) -> None:
        """Add Σ_s coef_s h_s(x_i) to out, shape (m, k), for hypotheses of this class."""
        for hypothesis, weight in zip(hypotheses, coef, strict=True):
            out += weight * hypothesis(X)

    def signature(self) -> Hashable | None:
        """What makes two hypotheses the same choice, whatever their scale; None where outputs must tell."""
        return None


class Projected(NamedTuple):
    """A direction that a weak learner chose, with its outputs on the training points.

    `fitted` is ⟨target, h⟩ = ‖h‖² where the learner knows that h is the nearest function on its own line.
    """

    hypothesis: VectorHypothesis
    outputs: Array
    fitted: float | None = None


@dataclass(frozen=True)
class Bond:
    """What a weak learner may know besides X when it is bound.

    Attributes
    ----------
    weight : array of shape (m,)
        Weights of the examples; they sum to 1.
    mass : float, optional
        The sum of the weights as they were given; the number of examples by default.
    feature_names : sequence of str, optional
        Names of the inputs.
    random_state : RandomState
        Source of randomness.
    n_jobs : int
        Threads. Results do not depend on it.
    """

    weight: Array
    mass: float | None = None
    feature_names: Sequence[str] | None = None
    random_state: Any = None
    n_jobs: int = 1


class Projector(ABC):
    """A weak learner bound to data."""

    @abstractmethod
    def project(self, target: Array) -> Projected:
        """A direction h that (nearly) maximises |⟨target, h⟩| / ‖h‖ over the learner's functions (G4)."""


class WeakLearner(ABC):
    """A family of functions to choose directions from, before any data."""

    @abstractmethod
    def bind(self, X: Any, bond: Bond) -> Projector:
        """Do the expensive preparation once."""

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in sorted(vars(self).items()))
        return f"{type(self).__name__}({inside})"


def total(hypotheses: Sequence[VectorHypothesis], coef: Array, X: Any, start: Array) -> Array:
    """Scores start + Σ_s coef_s h_s(x_i), shape (m, k); each class of hypotheses is asked once."""
    out = np.tile(np.asarray(start, dtype=float), (X.shape[0], 1))
    used = [int(s) for s in np.flatnonzero(coef)]
    for kind in dict.fromkeys(type(hypotheses[s]) for s in used):
        mine = [s for s in used if type(hypotheses[s]) is kind]
        kind.add([hypotheses[s] for s in mine], coef[mine], X, out)
    return out
