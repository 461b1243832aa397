"""Weighted products of active columns, whatever the number of examples that is weighted at a time."""

import numpy as np
import pytest

from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Features
from sparseboost.solvers import panel


@pytest.mark.parametrize("together", [7, 100])
@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("every", [[0, 1, 2, 3], [3, 0, 2]], ids=["in order", "not in order"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_products_are_those_of_numpy(together, first, every, sign, rng, monkeypatch):
    monkeypatch.setattr(panel, "EXAMPLES", together)
    X, weights = rng.normal(size=(30, 6)) + 1.0, rng.uniform(0.5, 2.0, size=(30, 2))
    weights[0] *= sign
    dictionary, every, found = Features().bind(X), np.array(every), panel.Panel()
    ensemble = Ensemble.empty(dictionary, np.zeros(1)).extend(dictionary, np.array([5, 1, 4, 2]))
    found.scales(ensemble, np.arange(4))  # all four are kept, in this order
    for rows in (None, np.array([4, 1, 29, 8, 9, 10, 11, 12, 13])):
        weight = weights if rows is None else weights[rows]
        (blocks,) = found.products(ensemble, every, first, iter([(rows, weight)]))
        scale, centre = found.scales(ensemble, every)
        prepared = (X[:, ensemble.keys[every]] - centre) / scale
        prepared = prepared if rows is None else prepared[rows]
        whole = np.column_stack([np.ones(len(prepared)), prepared])
        for block, one in zip(blocks, weight.T, strict=True):
            np.testing.assert_allclose(block, (whole.T * one) @ whole[:, first:], atol=1e-12)
