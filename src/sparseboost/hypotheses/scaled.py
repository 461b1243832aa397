"""A hypothesis with a factor: its negation, or its outputs brought into [−1, 1]."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost.hypotheses.base import Array, Hypothesis, evaluate


class Scaled(Hypothesis):
    """The hypothesis factor · h(x).

    Attributes
    ----------
    hypothesis : Hypothesis
        h.
    factor : float
        What its outputs are multiplied by.

    Examples
    --------
    >>> from sparseboost.hypotheses import Feature, Scaled
    >>> Scaled(Feature(0, "age"), -1.0), Scaled(Feature(0, "age"), 1 / 80)
    (-age, age / 80)
    """

    def __init__(self, hypothesis: Hypothesis, factor: float) -> None:
        self.hypothesis = hypothesis
        self.factor = factor

    @property
    def inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        """The inputs of h."""
        return self.hypothesis.inputs

    def __call__(self, X: Any) -> Array:
        return self.factor * self.hypothesis(X)

    @classmethod
    def outputs(cls, hypotheses: Sequence[Any], X: Any) -> Any:
        part = evaluate([scaled.hypothesis for scaled in hypotheses], X)
        factors = np.array([scaled.factor for scaled in hypotheses])
        return part @ sp.diags_array(factors) if sp.issparse(part) else part * factors

    def __repr__(self) -> str:
        text = repr(self.hypothesis)
        if " " in text:
            text = f"({text})"
        size = abs(self.factor)
        return ("-" if self.factor < 0 else "") + (text if size == 1.0 else f"{text} / {1.0 / size:.6g}")


def signed(hypothesis: Hypothesis, factor: float) -> Hypothesis:
    """The hypothesis factor · h(x), as plainly as it can be written."""
    if factor == 1.0:
        return hypothesis
    if factor == -1.0 and hasattr(hypothesis, "negated"):  # a rule that can say its own opposite
        opposite = copy.copy(hypothesis)
        opposite.negated = not hypothesis.negated
        return opposite
    return Scaled(hypothesis, factor)
