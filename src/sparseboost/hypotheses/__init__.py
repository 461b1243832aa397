"""Spaces of hypotheses, one file each."""

from sparseboost.hypotheses.base import (
    Candidates,
    Context,
    Dictionary,
    Enumerable,
    Hypothesis,
    HypothesisSpace,
    evaluate,
)
from sparseboost.hypotheses.columns import Columns
from sparseboost.hypotheses.features import Feature, FeatureDictionary, Features

__all__ = [
    "Candidates",
    "Columns",
    "Context",
    "Dictionary",
    "Enumerable",
    "Feature",
    "FeatureDictionary",
    "Features",
    "Hypothesis",
    "HypothesisSpace",
    "evaluate",
]
