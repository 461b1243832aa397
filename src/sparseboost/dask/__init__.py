"""The same estimators on a Dask cluster: data stay in blocks of rows on their workers, and only sums travel."""

from __future__ import annotations

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError("sparseboost.dask needs Dask; install it with: pip install sparseboost[dask]") from error

from sparseboost.dask.estimators import DaskMultiBoostClassifier, DaskSparseBoostClassifier, DaskSparseBoostRegressor
from sparseboost.dask.executor import ClusterLostError

__all__ = ["ClusterLostError", "DaskMultiBoostClassifier", "DaskSparseBoostClassifier", "DaskSparseBoostRegressor"]
