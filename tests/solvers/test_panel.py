"""Weighted products of active columns, whatever the number of examples that is weighted at a time."""

import numpy as np
import pytest

from sparseboost import SparseBoostClassifier, sparse_boost_path
from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Features, parts
from sparseboost.solvers import constant_gram, panel


@pytest.mark.parametrize("together", [7, 100])
@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("every", [[0, 1, 2, 3], [3, 0, 2]], ids=["in order", "not in order"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_products_are_those_of_numpy(together, first, every, sign, n_jobs, rng, monkeypatch):
    monkeypatch.setattr(panel, "EXAMPLES", together)
    monkeypatch.setattr(panel, "WORTH_THREADS", 0.0)
    monkeypatch.setattr(parts, "SHORTEST_SPAN", 4)  # of thirty examples: four spans
    X, weights = rng.normal(size=(30, 6)) + 1.0, rng.uniform(0.5, 2.0, size=(30, 2))
    weights[0] *= sign
    dictionary, every, found = Features().bind(X), np.array(every), panel.Panel(n_jobs=n_jobs)
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


@pytest.mark.parametrize("fit", ["classifier", "path"])
def test_threads_change_no_bit(fit, rng, monkeypatch):
    monkeypatch.setattr(panel, "WORTH_THREADS", 0.0)
    monkeypatch.setattr(constant_gram, "WORTH_THREADS", 0.0)
    monkeypatch.setattr(parts, "SHORTEST_SPAN", 16)
    used, pool = [], parts.ThreadPoolExecutor
    monkeypatch.setattr(parts, "ThreadPoolExecutor", lambda count: (used.append(count), pool(count))[1])
    X = rng.normal(size=(200, 12)) + rng.normal(size=(200, 1))
    y = X[:, :3].sum(axis=1) + rng.normal(size=200)
    if fit == "path":
        one, two = (sparse_boost_path(X, y, alphas=5, n_jobs=jobs).coefs for jobs in (1, 2))
    else:
        one, two = (SparseBoostClassifier(0.01, n_jobs=jobs).fit(X, y > 0).coef_ for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert 2 in used


@pytest.mark.parametrize("count", [0, 1, 2047, 2048, 2049, 8192, 8193, 100_000])
def test_spans_cover_all_examples_once(count):
    found = parts.spans(count)
    np.testing.assert_array_equal(np.concatenate([np.arange(count)[span] for span in found] or [[]]), np.arange(count))
    assert len(found) <= parts.SPANS
