"""All solvers by name, ours first. Importing this imports none of their libraries."""

from benchmarks.solvers.adelie import Adelie
from benchmarks.solvers.base import Solver
from benchmarks.solvers.celer import Celer
from benchmarks.solvers.cvxpy import Cvxpy
from benchmarks.solvers.cyanure import Cyanure
from benchmarks.solvers.glmnet import Glmnet
from benchmarks.solvers.lightning import Lightning
from benchmarks.solvers.ours import AdaBoost, GradBoost, SparseBoost
from benchmarks.solvers.scikit_learn import Lasso, Liblinear, Saga
from benchmarks.solvers.skglm import Skglm
from benchmarks.solvers.snapml import SnapML
from benchmarks.solvers.spams import Spams

OURS = SparseBoost()
SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        OURS, GradBoost(), AdaBoost(), Liblinear(), Saga(), Lasso(), Celer(), Skglm(), Adelie(), Glmnet(), Cyanure(),
        SnapML(), Lightning(), Spams(), Cvxpy(),
    )
}  # fmt: skip
