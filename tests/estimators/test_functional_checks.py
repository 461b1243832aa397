"""All of scikit-learn's estimator checks for the functional boosting estimators."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseboost import FunctionalBoostClassifier, FunctionalBoostRanker, FunctionalBoostRegressor
from sparseboost.solvers.functional import VectorTrees

# a leaf without weight says what its few examples say, whatever the class weights
SAFE = VectorTrees(max_depth=2, min_leaf=0.01)
OTHER_SPARSIFY = {"check_sparsify_coefficients": "sparsify(alpha) prunes weak learners; there is no coef_ to store"}
MODELS = [
    FunctionalBoostClassifier(),
    FunctionalBoostClassifier("hinge", algorithm="repeated", orthogonal=True, max_rounds=8),
    FunctionalBoostClassifier("exponential", algorithm="naive", output="last", learner=SAFE, max_rounds=30),
    FunctionalBoostClassifier("hinge", learner=SAFE, output="average", class_weight="balanced", max_rounds=40),
    FunctionalBoostClassifier(algorithm="naive", learner=GaussianNB(), step="line-search", max_rounds=15),
    FunctionalBoostRegressor(),
    FunctionalBoostRegressor("absolute", algorithm="repeated", inner=0.5, max_rounds=20, output="average"),
    FunctionalBoostRegressor("huber", algorithm="naive", learner=Ridge(), step="line-search", max_rounds=10),
    FunctionalBoostRanker(max_rounds=50),
    FunctionalBoostRanker(algorithm="naive", learner="trees", max_rounds=10),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(MODELS, expected_failed_checks=lambda _: OTHER_SPARSIFY)
def test_sklearn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def test_tags_are_true() -> None:
    assert get_tags(FunctionalBoostClassifier()).input_tags.sparse
    assert get_tags(FunctionalBoostClassifier()).classifier_tags.multi_label
    assert not get_tags(FunctionalBoostClassifier("exponential")).classifier_tags.multi_class
    assert get_tags(FunctionalBoostRegressor()).target_tags.multi_output
    assert get_tags(FunctionalBoostRegressor(learner=LinearSVC())).input_tags.sparse
