"""Losses: convex functions of targets and scores, one file each."""

from sparseboost.losses.absolute import Absolute, Huber
from sparseboost.losses.base import Loss
from sparseboost.losses.eps_insensitive import EpsInsensitive
from sparseboost.losses.exponential import Exponential
from sparseboost.losses.hinge import Hinge, MulticlassHinge
from sparseboost.losses.logistic import Logistic
from sparseboost.losses.pairwise import Pairwise, PairwiseLogistic
from sparseboost.losses.quantile import Quantile
from sparseboost.losses.ranking import RankingHinge
from sparseboost.losses.softmax import Softmax
from sparseboost.losses.squared import Squared

__all__ = [
    "Absolute",
    "EpsInsensitive",
    "Exponential",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "MulticlassHinge",
    "Pairwise",
    "PairwiseLogistic",
    "Quantile",
    "RankingHinge",
    "Softmax",
    "Squared",
]
