"""scikit-learn estimators, and small functions around them."""

from sparseboost.estimators.classifier import SparseBoostClassifier
from sparseboost.estimators.cv import SparseBoostClassifierCV, SparseBoostRegressorCV
from sparseboost.estimators.functional_classifier import FunctionalBoostClassifier
from sparseboost.estimators.functional_ranker import FunctionalBoostRanker
from sparseboost.estimators.functional_regressor import FunctionalBoostRegressor
from sparseboost.estimators.margin import MarginBoostClassifier
from sparseboost.estimators.measures import alpha_max, coverage_error, margins, row_sparsity
from sparseboost.estimators.multiboost import MultiBoostClassifier
from sparseboost.estimators.path import SparsePath, sparse_boost_path
from sparseboost.estimators.ranking_measures import disagreement, disagreement_scorer, ndcg, ndcg_scorer
from sparseboost.estimators.regressor import SparseBoostRegressor
from sparseboost.estimators.stagewise import ForwardStagewiseRegressor, FrankWolfeLasso

__all__ = [
    "ForwardStagewiseRegressor",
    "FrankWolfeLasso",
    "FunctionalBoostClassifier",
    "FunctionalBoostRanker",
    "FunctionalBoostRegressor",
    "MarginBoostClassifier",
    "MultiBoostClassifier",
    "SparseBoostClassifier",
    "SparseBoostClassifierCV",
    "SparseBoostRegressor",
    "SparseBoostRegressorCV",
    "SparsePath",
    "alpha_max",
    "coverage_error",
    "disagreement",
    "disagreement_scorer",
    "margins",
    "ndcg",
    "ndcg_scorer",
    "row_sparsity",
    "sparse_boost_path",
]
