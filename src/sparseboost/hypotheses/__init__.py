"""Spaces of hypotheses, one file each."""

from sparseboost.hypotheses.base import Candidates, Dictionary, Enumerable, Hypothesis, HypothesisSpace
from sparseboost.hypotheses.columns import Columns
from sparseboost.hypotheses.features import Feature, Features

__all__ = ["Candidates", "Columns", "Dictionary", "Enumerable", "Feature", "Features", "Hypothesis", "HypothesisSpace"]
