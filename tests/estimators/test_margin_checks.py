"""All of scikit-learn's estimator checks, for every method of MarginBoostClassifier."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparseboost import MarginBoostClassifier

SHORT: dict[str, Any] = {"max_rounds": 30}
MODELS = [
    MarginBoostClassifier(**SHORT),
    MarginBoostClassifier("adaboost+l1", loss="logistic", nu=0.5, hypotheses="features", **SHORT),
    MarginBoostClassifier("adaboost", **SHORT),
    MarginBoostClassifier("adaboost", step="constant", hypotheses="features", **SHORT),
    MarginBoostClassifier("adaboost", step="line-search", hypotheses="features", **SHORT),
    MarginBoostClassifier("eps-adaboost", **SHORT),
    MarginBoostClassifier("rlmp", **SHORT),
    MarginBoostClassifier("rlmp", loss="hinge", radius=2.0, **SHORT),
    MarginBoostClassifier("cg-boost", **SHORT),
    MarginBoostClassifier("cg-boost", step="2/(k+2)", hypotheses="features", **SHORT),
    MarginBoostClassifier("lpboost", **SHORT),
    MarginBoostClassifier("lpboost", soft_margin=0.3, **SHORT),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(MODELS)
def test_sklearn_check(estimator: Any, check: Any) -> None:
    check(estimator)
