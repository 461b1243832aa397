"""Penalties: convex functions of blocks of weights, one file each."""

from sparseboost.penalties.base import Norm, Penalty
from sparseboost.penalties.l1 import L1
from sparseboost.penalties.l1_l2 import L1L2
from sparseboost.penalties.l1_linf import L1Linf
from sparseboost.penalties.none import NoPenalty
from sparseboost.penalties.ridge import Ridge
from sparseboost.penalties.smooth_l1 import SmoothL1

__all__ = ["L1", "L1L2", "L1Linf", "NoPenalty", "Norm", "Penalty", "Ridge", "SmoothL1"]
