"""Gradient boosting in function space for any convex loss: naive, repeated and residual projection (G1–G7)."""

from sparseboost.solvers.functional.algorithms import Algorithm, Naive, Repeated, Residual
from sparseboost.solvers.functional.boosting import FunctionalBoosting, Outcome, Validation
from sparseboost.solvers.functional.expansion import OUTPUTS, Expansion
from sparseboost.solvers.functional.projection import (
    Bond,
    Projected,
    Projector,
    VectorHypothesis,
    WeakLearner,
    total,
)
from sparseboost.solvers.functional.risk import Risk
from sparseboost.solvers.functional.steps import SCHEDULES, Steps, make_steps
from sparseboost.solvers.functional.trees import VectorTree, VectorTrees

__all__ = [
    "OUTPUTS",
    "SCHEDULES",
    "Algorithm",
    "Bond",
    "Expansion",
    "FunctionalBoosting",
    "Naive",
    "Outcome",
    "Projected",
    "Projector",
    "Repeated",
    "Residual",
    "Risk",
    "Steps",
    "Validation",
    "VectorHypothesis",
    "VectorTree",
    "VectorTrees",
    "WeakLearner",
    "make_steps",
    "total",
]
