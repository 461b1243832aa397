"""Fewer weak learners: those of a boosted function become a dictionary, and a sparse model weights them anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparseboost.hypotheses import Fixed, Hypothesis, Stump
from sparseboost.losses import Loss
from sparseboost.solvers.functional import VectorHypothesis, VectorTree

Array = np.ndarray


class Component(Hypothesis):
    """One output of a weak learner with vector outputs, h(x) = factor · learner(x)_r.

    Attributes
    ----------
    learner : VectorHypothesis
        The weak learner.
    output : int
        r.
    factor : float
        Gives h unit size on the data the learner was taken from.
    number : int
        Place of the learner among its model's.
    """

    def __init__(self, learner: VectorHypothesis, output: int, factor: float, number: int) -> None:
        self.learner = learner
        self.output = output
        self.factor = factor
        self.number = number

    @property
    def inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        """The inputs of the learner."""
        return self.learner.inputs

    def __call__(self, X: Any) -> Array:
        return self.factor * self.learner(X)[:, self.output]

    @classmethod
    def outputs(cls, hypotheses: Sequence[Any], X: Any) -> Array:
        out, known = np.empty((X.shape[0], len(hypotheses))), {}
        for j, one in enumerate(hypotheses):
            if id(one.learner) not in known:
                known = {id(one.learner): one.learner(X)}  # components of one learner stand together
            out[:, j] = one.factor * known[id(one.learner)][:, one.output]
        return out

    def __repr__(self) -> str:
        name = repr(self.learner)
        name = name if len(name) <= 60 else name[:57] + "..."
        return f"learner {self.number}, output {self.output}: {name}"


def dictionary_of(learners: Sequence[VectorHypothesis], X: Any, weight: Array) -> Fixed:
    """The weak learners as scalar hypotheses whose rows of weights can give back the function they made.

    A stump becomes its question, ±1, once however often it was chosen: its two leaves are a constant and a direction.
    Other learners give one hypothesis per output, of unit size.
    """
    stumps: dict[tuple[int, float], Hypothesis] = {}
    others: list[Hypothesis] = []
    for number, learner in enumerate(learners):
        if isinstance(learner, VectorTree) and learner.nodes.shape[0] == 3:
            j, threshold = int(learner.nodes[0, 0]), float(learner.thresholds[0])
            name = learner.names[0] if learner.names else f"x{j}"
            stumps.setdefault((j, threshold), Stump(j, threshold, name))
            continue
        size = np.sqrt(weight @ learner(X) ** 2)
        others += [Component(learner, int(r), float(1.0 / size[r]), number) for r in np.flatnonzero(size > 0)]
    return Fixed([*stumps.values(), *others])


def sparsified(model: Any, family: Any, alpha: float, data: tuple[Any, Any, Any], parameters: dict[str, Any]) -> Any:
    """A fitted model of this family over the weak learners of another; `data` may be (None, None, None)."""
    if not isinstance(model.loss_, Loss):
        raise ValueError(
            f"sparsify needs one of sparseboost's losses, which have the conjugate of the certificate, not "
            f"{model.loss_!r}."
        )
    if not model.hypotheses_:
        raise ValueError("This model has no weak learners to choose from; it is a constant.")
    X, y, sample_weight = data
    if X is None:
        if not hasattr(model, "_data"):
            raise ValueError("This model came from a file, without its training data; pass X and y to sparsify.")
        X, y, sample_weight = model._data
    checked = model._check_predict(X)
    space = dictionary_of(model.hypotheses_, checked, np.full(checked.shape[0], 1.0 / checked.shape[0]))
    return family(alpha, loss=model.loss_, hypotheses=space, **parameters).fit(X, y, sample_weight=sample_weight)
