"""Solvers: one driver loop, and the ways of moving weights it can run."""

from sparseboost.solvers.adaboost import AdaBoost
from sparseboost.solvers.base import Solution, Solver, State, minimize
from sparseboost.solvers.correction import Correction, Corrector
from sparseboost.solvers.gradboost import GradBoost
from sparseboost.solvers.induction import Boosting
from sparseboost.solvers.newton import Newton

__all__ = [
    "AdaBoost",
    "Boosting",
    "Correction",
    "Corrector",
    "GradBoost",
    "Newton",
    "Solution",
    "Solver",
    "State",
    "minimize",
]
