"""scikit-learn estimators, and small functions around them."""

from sparseboost.estimators.classifier import SparseBoostClassifier
from sparseboost.estimators.cv import SparseBoostClassifierCV, SparseBoostRegressorCV
from sparseboost.estimators.margin import MarginBoostClassifier
from sparseboost.estimators.measures import alpha_max, coverage_error, margins, row_sparsity
from sparseboost.estimators.path import SparsePath, sparse_boost_path
from sparseboost.estimators.regressor import SparseBoostRegressor
from sparseboost.estimators.stagewise import ForwardStagewiseRegressor, FrankWolfeLasso

__all__ = [
    "ForwardStagewiseRegressor",
    "FrankWolfeLasso",
    "MarginBoostClassifier",
    "SparseBoostClassifier",
    "SparseBoostClassifierCV",
    "SparseBoostRegressor",
    "SparseBoostRegressorCV",
    "SparsePath",
    "alpha_max",
    "coverage_error",
    "margins",
    "row_sparsity",
    "sparse_boost_path",
]
