"""scikit-learn estimators, and small functions around them."""

from sparseboost.estimators.measures import alpha_max, coverage_error, row_sparsity
from sparseboost.estimators.sparse import SparseBoostClassifier, SparseBoostRegressor

__all__ = ["SparseBoostClassifier", "SparseBoostRegressor", "alpha_max", "coverage_error", "row_sparsity"]
