"""sparseboost: boosting that ends in a small model, with proof."""

from sparseboost.estimators import (
    ForwardStagewiseRegressor,
    FrankWolfeLasso,
    MarginBoostClassifier,
    SparseBoostClassifier,
    SparseBoostClassifierCV,
    SparseBoostRegressor,
    SparseBoostRegressorCV,
    SparsePath,
    alpha_max,
    coverage_error,
    margins,
    row_sparsity,
    sparse_boost_path,
)
from sparseboost.persistence import load, save

__version__ = "0.1.0"
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
    "load",
    "margins",
    "row_sparsity",
    "save",
    "sparse_boost_path",
]
