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
from sparseboost.hypotheses.blocks import BlockDictionary
from sparseboost.hypotheses.columns import Columns
from sparseboost.hypotheses.features import Feature, FeatureDictionary, Features
from sparseboost.hypotheses.fixed import Fixed, FixedDictionary
from sparseboost.hypotheses.kernel import Kernel, KernelDictionary, SupportVector
from sparseboost.hypotheses.learners import Learned, LearnedDictionary, Learners, Trees
from sparseboost.hypotheses.products import Product, ProductDictionary, Products
from sparseboost.hypotheses.scaled import Scaled
from sparseboost.hypotheses.selection import InformationGain
from sparseboost.hypotheses.stump_rules import CategoryStump, Stump
from sparseboost.hypotheses.stumps import StumpDictionary, Stumps
from sparseboost.hypotheses.tree import Tree
from sparseboost.hypotheses.union import Union, UnionDictionary

__all__ = [
    "BlockDictionary",
    "Candidates",
    "CategoryStump",
    "Columns",
    "Context",
    "Dictionary",
    "Enumerable",
    "Feature",
    "FeatureDictionary",
    "Features",
    "Fixed",
    "FixedDictionary",
    "Hypothesis",
    "HypothesisSpace",
    "InformationGain",
    "Kernel",
    "KernelDictionary",
    "Learned",
    "LearnedDictionary",
    "Learners",
    "Product",
    "ProductDictionary",
    "Products",
    "Scaled",
    "Stump",
    "StumpDictionary",
    "Stumps",
    "SupportVector",
    "Tree",
    "Trees",
    "Union",
    "UnionDictionary",
    "evaluate",
]
