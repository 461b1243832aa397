"""Losses: convex functions of targets and scores, one file each."""

from sparseboost.losses.absolute import Absolute, Huber
from sparseboost.losses.base import Loss
from sparseboost.losses.eps_insensitive import EpsInsensitive
from sparseboost.losses.exponential import Exponential
from sparseboost.losses.logistic import Logistic
from sparseboost.losses.pairwise import PairwiseLogistic
from sparseboost.losses.softmax import Softmax
from sparseboost.losses.squared import Squared

__all__ = ["Absolute", "EpsInsensitive", "Exponential", "Huber", "Logistic", "Loss", "PairwiseLogistic", "Softmax", "Squared"]
