"""One split of one input, as people read it: by a threshold, or by a set of categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost.hypotheses.base import Array, Hypothesis


def between(low: float, high: float) -> float:
    """The number with fewest digits that lies between two others, near their middle; `low` if there is none.

    Examples
    --------
    >>> between(41.0, 42.0), between(0.123, 0.987), between(-3.0, 1.0)
    (41.5, 0.6, -1.0)
    """
    middle = 0.5 * low + 0.5 * high
    for digits in range(1, 18):
        short = float(f"{middle:.{digits}g}")
        if low < short < high:
            return short
    return low


def _part(X: Any, inputs: list[int]) -> Array:
    """These inputs in double precision; thresholds mean nothing in a coarser one."""
    part = X[:, inputs]
    return np.asarray(part.toarray() if sp.issparse(part) else part, dtype=np.float64)


def levels(outputs: str, negated: bool) -> tuple[float, float]:
    """Output where the rule holds, and elsewhere."""
    yes, no = (1.0, -1.0) if outputs == "sign" else (1.0, 0.0)
    return (-yes, 0.0 - no) if negated else (yes, no)


def _valued(hypotheses: Sequence[Any], holds: Array) -> Array:
    pairs = np.array([levels(hypothesis.scale, hypothesis.negated) for hypothesis in hypotheses]).reshape(-1, 2)
    return np.where(holds, pairs[:, 0], pairs[:, 1])


class Stump(Hypothesis):
    """The hypothesis h(x) = +1 if x_j <= t, else −1 (or 1 and 0, or the negative of either).

    Attributes
    ----------
    feature : int
        j, the index of the input.
    threshold : float
        t; −inf where only missing values are asked for.
    name : str
        Name of the input.
    missing : {"left", "right"} or None
        Where missing values go; None if the input had none, and then they go right.
    scale : {"sign", "indicator"}
        Outputs ±1, or 1 and 0.
    negated : bool
        Whether this is −h.
    """

    def __init__(
        self,
        feature: int,
        threshold: float,
        name: str,
        missing: str | None = None,
        scale: str = "sign",
        negated: bool = False,
    ) -> None:
        self.feature = feature
        self.threshold = threshold
        self.name = name
        self.missing = missing
        self.scale = scale
        self.negated = negated

    @property
    def inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        """The one input it looks at."""
        return (self.feature,)

    def __call__(self, X: Any) -> Array:
        return self.outputs([self], X)[:, 0]

    @classmethod
    def outputs(cls, hypotheses: Sequence[Any], X: Any) -> Array:
        part = _part(X, [hypothesis.feature for hypothesis in hypotheses])
        holds = part <= np.array([hypothesis.threshold for hypothesis in hypotheses])
        left = np.array([hypothesis.missing == "left" for hypothesis in hypotheses])
        if left.any():
            holds[:, left] |= np.isnan(part[:, left])
        return _valued(hypotheses, holds)

    def __repr__(self) -> str:
        turned = self.negated and self.scale == "sign"
        if self.threshold == -np.inf:
            text = f"{self.name} is {'not ' if turned else ''}missing"
        else:
            held = self.missing == ("right" if turned else "left")
            number = repr(float(self.threshold)).removesuffix(".0")
            text = f"{self.name} {'>' if turned else '<='} {number}" + (" or missing" if held else "")
        return f"-({text})" if self.negated and not turned else text


class CategoryStump(Hypothesis):
    """The hypothesis h(x) = +1 if x_j is one of some categories, else −1 (or 1 and 0, or the negative of either).

    Categories that the training data did not have are none of them.

    Attributes
    ----------
    feature : int
        j, the index of the input.
    codes : tuple of int
        The categories, as codes in X.
    labels : tuple
        Their names.
    name : str
        Name of the input.
    missing : bool
        Whether missing values are among them.
    scale : {"sign", "indicator"}
        Outputs ±1, or 1 and 0.
    negated : bool
        Whether this is −h.
    """

    def __init__(
        self,
        feature: int,
        codes: Sequence[int],
        labels: Sequence[Any],
        name: str,
        missing: bool = False,
        scale: str = "sign",
        negated: bool = False,
    ) -> None:
        self.feature = feature
        self.codes = tuple(codes)
        self.labels = tuple(labels)
        self.name = name
        self.missing = missing
        self.scale = scale
        self.negated = negated

    @property
    def inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        """The one input it looks at."""
        return (self.feature,)

    def __call__(self, X: Any) -> Array:
        return self.outputs([self], X)[:, 0]

    @classmethod
    def outputs(cls, hypotheses: Sequence[Any], X: Any) -> Array:
        part = _part(X, [hypothesis.feature for hypothesis in hypotheses])
        holds = np.empty(part.shape, dtype=bool)
        for position, hypothesis in enumerate(hypotheses):
            holds[:, position] = np.isin(part[:, position], hypothesis.codes)
            if hypothesis.missing:
                holds[:, position] |= np.isnan(part[:, position])
        return _valued(hypotheses, holds)

    def __repr__(self) -> str:
        turned = self.negated and self.scale == "sign"
        words = [str(label) for label in self.labels]
        if not words:
            text = f"{self.name} is {'not ' if turned else ''}missing"
        elif len(words) == 1 and not self.missing:
            text = f"{self.name} {'!=' if turned else '=='} {words[0]}"
        else:
            inside = ", ".join(words + ["missing"] * self.missing)
            text = f"{self.name} {'not ' if turned else ''}in {{{inside}}}"
        return f"-({text})" if self.negated and not turned else text
