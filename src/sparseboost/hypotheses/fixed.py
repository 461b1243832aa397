"""Given hypotheses, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseboost.hypotheses.base import Array, Context, Hypothesis, HypothesisSpace, evaluate
from sparseboost.hypotheses.blocks import BlockDictionary
from sparseboost.hypotheses.columns import Columns


class Fixed(HypothesisSpace):
    """The hypotheses of a list: another model's, or a user's own. The search is exact over them.

    Parameters
    ----------
    hypotheses : sequence of Hypothesis
        At least one. With `feature_costs` each costs what its inputs cost together.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.hypotheses import Feature, Fixed, Stump
    >>> space = Fixed([Feature(0, "age"), Stump(1, 0.5, "income")])
    >>> dictionary = space.bind(np.array([[1.0, 0.0], [2.0, 1.0]]))
    >>> dictionary.columns(np.array([1, 0])).matrix
    array([[ 1.,  1.],
           [-1.,  2.]])
    """

    def __init__(self, hypotheses: Sequence[Hypothesis]) -> None:
        if not len(hypotheses) or not all(isinstance(one, Hypothesis) for one in hypotheses):
            raise ValueError(f"Fixed needs a list of at least one Hypothesis, got {hypotheses!r}.")
        self.hypotheses = list(hypotheses)

    def bind(self, X: Any, context: Context | None = None) -> FixedDictionary:
        return FixedDictionary(self.hypotheses, X.tocsr() if sp.issparse(X) else X, context or Context())

    def __repr__(self) -> str:
        return f"Fixed({len(self.hypotheses)} hypotheses)"


class FixedDictionary(BlockDictionary):
    """Given hypotheses with their outputs, all of them in memory."""

    def __init__(self, hypotheses: list[Hypothesis], X: Any, context: Context) -> None:
        cost = np.array([context.joint_cost(one.inputs) for one in hypotheses])
        super().__init__(X.shape[0], len(hypotheses), cost, context)
        outputs = evaluate(hypotheses, X)
        self.sparse = sp.issparse(outputs)
        self.outputs = sp.csc_array(outputs) if self.sparse else np.asfortranarray(outputs, dtype=np.float64)
        self.hypotheses = hypotheses
        self._places = {id(one): key for key, one in enumerate(hypotheses)}

    def columns(self, keys: Array) -> Columns:
        part = self.outputs[:, keys]
        return Columns(part if self.sparse else np.asfortranarray(part))

    def block(self, part: slice) -> Columns:
        return Columns(self.outputs[:, part])

    def hypothesis(self, key: int) -> Hypothesis:
        return self.hypotheses[key]

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        return self._places.get(id(hypothesis))
