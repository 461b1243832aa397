"""All of scikit-learn's estimator checks, for the defaults and for settings that take other ways through the code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseboost import SparseBoostClassifier, SparseBoostRegressor

# the checks need no exact optimum, and the papers' ways to it are long on their nearly separable data
QUICK: dict[str, Any] = {"tol": 1e-2, "max_rounds": 2}
SEQUENTIAL: dict[str, Any] = {"tol": 1e-2, "max_rounds": 300}
CLASSIFIERS = [
    SparseBoostClassifier(),
    SparseBoostClassifier(update="adaboost", penalty="l1", **QUICK),
    SparseBoostClassifier(update="adaboost", penalty="l1/linf", template="dense", alpha=0.1, **QUICK),
    SparseBoostClassifier(update="gradboost", penalty="l1/linf", template="greedy", **QUICK),
    SparseBoostClassifier(update="gradboost", corrective=False, **SEQUENTIAL),
    SparseBoostClassifier(corrective="alternate", positive=True, class_weight="balanced", **QUICK),
    SparseBoostClassifier(penalty="l2", alpha=0.1),
]
# exponential loss is binary (or one question per label): its tags must say so
BINARY = [
    SparseBoostClassifier(loss="exponential", penalty="l1", **QUICK),
    SparseBoostClassifier(loss="exponential", update="adaboost", penalty="l1/linf", corrective=False, **SEQUENTIAL),
]
REGRESSORS = [
    SparseBoostRegressor(),
    SparseBoostRegressor(update="gradboost", penalty="l1", template="dense", **QUICK),
    SparseBoostRegressor(update="gradboost", penalty="l1/linf", template="greedy", **QUICK),
    SparseBoostRegressor(corrective=False, **SEQUENTIAL),
    SparseBoostRegressor(corrective="alternate", fit_intercept=False, **QUICK),
    SparseBoostRegressor(positive=True),
    SparseBoostRegressor(loss="eps-insensitive"),
    SparseBoostRegressor(loss="eps-insensitive", update="adaboost", penalty="l1", **QUICK),
    SparseBoostRegressor(loss="huber", penalty="l1/linf"),
    SparseBoostRegressor(loss="absolute", **QUICK),
    SparseBoostRegressor(penalty="l2", alpha=0.1),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CLASSIFIERS + BINARY + REGRESSORS)
def test_sklearn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def test_tags_are_true() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    for model in (*CLASSIFIERS, *BINARY):
        tags = get_tags(model)
        assert tags.classifier_tags.multi_class == (model.loss != "exponential")
        assert tags.input_tags.sparse
        assert not tags.input_tags.allow_nan
        assert tags.classifier_tags.multi_label
        assert tags.target_tags.required
        # the labels of one task only differ in what ties them, so a sparse multi-label fit must work wherever a
        # norm has a step
        if model.update == "adaboost" and model.penalty == "l1/l2":
            continue
        fitted = type(model)(**model.get_params()).fit(sp.csr_array(X), np.column_stack([y, 1 - y]))
        assert fitted.predict(X).shape == (40, 2)
    for regressor in REGRESSORS:
        tags = get_tags(regressor)
        assert tags.target_tags.multi_output
        assert tags.input_tags.sparse
        assert tags.input_tags.positive_only is False
        fitted = type(regressor)(**regressor.get_params()).fit(sp.csr_array(X), X[:, :2])
        assert fitted.predict(X).shape == (40, 2)
