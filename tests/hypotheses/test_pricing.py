"""Searches that skip what must have stayed below the level, against searches that look at everything."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sparseboost.hypotheses import Features
from sparseboost.hypotheses.features import FeatureDictionary
from sparseboost.penalties import L1, L1L2, L1Linf, Penalty


@pytest.mark.parametrize("penalty", [L1(), L1L2(), L1Linf(), L1L2(positive=True)], ids=repr)
@pytest.mark.parametrize("kind", ["rows", "columns", "single precision", "sparse"])
def test_what_is_not_looked_at_stays_below_the_level(
    penalty: Penalty, kind: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = rng.normal(size=(40, 1500)) * (rng.random((40, 1500)) < 0.4)
    data = sp.csc_array(X) if kind == "sparse" else X if kind == "rows" else np.asfortranarray(X)
    if kind == "single precision":
        data = data.astype(np.float32)
        X = data.astype(np.float64)
    looks: list[int] = []
    some = FeatureDictionary.correlate_some
    monkeypatch.setattr(
        FeatureDictionary,
        "correlate_some",
        lambda self, keys, force: looks.append(keys.size) or some(self, keys, force),
    )
    remembering, force = Features().bind(data), rng.normal(size=(40, 3))
    level = float(np.quantile(penalty.dual_norm(X.T @ force), 0.99))
    for step in (1.0, 0.1, 1e-2, 1e-3, 0.0, 1e-4):
        force = 0.8 * force + step * rng.normal(size=force.shape)
        if step == 0.0:  # one that was a little below the level crosses it, by as small a change as can be
            size = penalty.dual_norm(X.T @ force)
            low = int(np.argmax(np.where(size < 0.98 * level, size, 0.0)))
            change, shift = np.zeros_like(force), np.linspace(0.0, 5.0, 5000)
            change[:, 0] = -X[:, low] if penalty.positive else np.sign(X[:, low] @ force[:, 0]) * X[:, low]
            moved = [penalty.dual_norm((X[:, low] @ (force + t * change))[None, :])[0] for t in shift]
            force = force + shift[np.argmax(np.array(moved) > 1.001 * level)] * change
        exclude = rng.choice(1500, 5, replace=False)
        found = remembering.search(force, penalty.dual_norm, 1500, above=level, exclude=exclude)
        truth = Features().bind(data).search(force, penalty.dual_norm, 1500, above=level, exclude=exclude)
        np.testing.assert_array_equal(found.keys, truth.keys)
        assert truth.violation <= found.violation * (1 + 1e-12)
        assert found.violation <= max(truth.violation, level) * (1 + 1e-9)
    assert any(size < 700 for size in looks), "some searches were spared"


def test_where_all_are_known_to_stay_below_none_is_looked_at_and_none_enters(rng: np.random.Generator) -> None:
    X, force, norm = rng.normal(size=(40, 1500)), rng.normal(size=(40, 1)), L1().dual_norm
    dictionary, level = Features().bind(np.asfortranarray(X)), 2.0 * float(np.abs(X.T @ force).max())
    dictionary.lengths()
    dictionary.search(force, norm, 5, above=level)
    for exclude in (None, np.array([3, 1499])):
        found = dictionary.search(0.9 * force, norm, 5, above=level, exclude=exclude)
        assert found.correlation is None, "a search of some"
        assert found.keys.size == 0
        assert found.violation == pytest.approx(0.45 * level)


def test_a_force_larger_than_the_data_is_not_kept(rng: np.random.Generator) -> None:
    X = sp.csc_array(np.where(rng.random((40, 1500)) < 0.02, 1.0, 0.0))
    for k, kept in ((3, True), (40, False)):
        dictionary, force = Features().bind(X), rng.normal(size=(40, k))
        for _ in range(2):
            found = dictionary.search(force, L1L2().dual_norm, 5, above=1e-3)
            assert (dictionary._pricing._force.size > 0) == kept
        np.testing.assert_array_equal(found.keys, np.argsort(-L1L2().dual_norm(X.T @ force), kind="stable")[:5])
