"""NaN and infinity in X are found by the first pass over it, whatever that is for, and nothing is left half done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import assert_all_finite

from sparseboost import (
    SparseBoostClassifier,
    SparseBoostClassifierCV,
    SparseBoostRegressor,
    alpha_max,
    sparse_boost_path,
)
from sparseboost.hypotheses import Context, Features

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6)) * (RNG.random((40, 6)) < 0.7)
Y = (X[:, 0] + 0.3 * RNG.normal(size=40) > 0).astype(int)
CLASSES = np.digitize(X[:, 0], [-0.5, 0.5])
LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "single rows": lambda X: X.astype(np.float32),
    "single columns": lambda X: np.asfortranarray(X, dtype=np.float32),
    "csc": sp.csc_array,
    "csr": sp.csr_array,
}


def spoiled(value: float, layout: str, where: tuple[int, int] = (7, 4)) -> Any:
    array = X.copy()
    array[where] = value
    return LAYOUTS[layout](array)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.filterwarnings("error")
def test_every_layout_and_value_is_refused(value: float, layout: str, n_jobs: int) -> None:
    model = SparseBoostClassifier(n_jobs=n_jobs).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="Input X contains"):
        model.fit(spoiled(value, layout), Y)
    assert vars(model) == before


@pytest.mark.parametrize("layout", ["rows", "columns", "csc"])
@pytest.mark.parametrize(
    "settings",
    [
        {"update": "gradboost"},
        {"update": "gradboost", "template": "dense"},
        {"update": "gradboost", "template": np.full(6, 1e-3)},
        {"update": "adaboost", "penalty": "l1"},
        {"update": "adaboost", "penalty": "l1", "template": "dense"},
        {"standardize": True},
        {"standardize": True, "fit_intercept": False},
        {"alpha": 0.0},
        {"penalty": "l2"},
        {"penalty": "smooth-l1"},
        {"max_rounds": 0},
        {"corrective": False},
        {"positive": True},
        {"warm_start": True},
    ],
    ids=str,
)
def test_every_way_to_fit_refuses(settings: dict[str, Any], layout: str) -> None:
    model = SparseBoostClassifier(**settings)
    if "warm_start" in settings:
        model.fit(X, Y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(spoiled(np.nan, layout), Y)


def test_an_example_without_weight_counts() -> None:
    weight = np.ones(40)
    weight[7] = 0.0
    with pytest.raises(ValueError, match="Input X contains infinity"):
        SparseBoostRegressor().fit(spoiled(np.inf, "columns"), X[:, 0], sample_weight=weight)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_paths_choices_and_largest_alphas_refuse(layout: str) -> None:
    bad = spoiled(np.nan, layout)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        sparse_boost_path(bad, Y, loss="logistic", alphas=5)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        alpha_max(bad, Y, loss="logistic")
    for alphas in (5, [0.1, 0.01]):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            SparseBoostClassifierCV(alphas=alphas, cv=3).fit(bad, Y)


def test_several_classes_refuse() -> None:
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SparseBoostClassifier().fit(spoiled(np.nan, "columns"), CLASSES)


@pytest.mark.parametrize("layout", ["rows", "columns", "csc"])
@pytest.mark.filterwarnings("ignore")
def test_sums_that_overflow_are_no_reason_to_complain(layout: str) -> None:
    huge = X.copy()
    huge[[3, 5, 7], 4] = 1e308
    dictionary = Features().bind(LAYOUTS[layout](huge), Context(inspect=assert_all_finite))
    assert not np.all(np.isfinite(dictionary.correlate(np.ones((40, 1)))))
