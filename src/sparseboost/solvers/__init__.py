"""Solvers: one driver loop, and the ways of moving weights it can run."""

from sparseboost.solvers.adaboost import AdaBoost
from sparseboost.solvers.admm import ADMM, RowBlocks
from sparseboost.solvers.base import Solution, Solver, State, minimize
from sparseboost.solvers.correction import Correction, Corrector, Goal
from sparseboost.solvers.frank_wolfe import FrankWolfe
from sparseboost.solvers.gradboost import GradBoost
from sparseboost.solvers.induction import Boosting
from sparseboost.solvers.least_squares import LeastSquares
from sparseboost.solvers.newton import Newton
from sparseboost.solvers.stagewise import ForwardStagewise, Trace, trace
from sparseboost.solvers.stump_blocks import StumpBlocks

__all__ = [
    "ADMM",
    "AdaBoost",
    "Boosting",
    "Correction",
    "Corrector",
    "ForwardStagewise",
    "FrankWolfe",
    "Goal",
    "GradBoost",
    "LeastSquares",
    "Newton",
    "RowBlocks",
    "Solution",
    "Solver",
    "State",
    "StumpBlocks",
    "Trace",
    "minimize",
    "trace",
]
