"""sparseboost itself, from the repository's own environment."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.problem import Problem
from benchmarks.solvers.base import Array, Fit, Solver

SINGLE = tuple(
    f"{loss} {penalty}"
    for loss, penalties in {
        "logistic": ("l1",),
        "softmax": ("l1", "l1/l2", "l1/linf"),
        "multilabel": ("l1", "l1/l2", "l1/linf"),
        "squared": ("l1", "l1/l2", "l1/linf"),
    }.items()
    for penalty in penalties
)
PATHS = tuple(f"{kind} path" for kind in SINGLE)


class SparseBoost(Solver):
    name = "sparseboost"
    environment = "repository"
    kinds = SINGLE + PATHS
    intercept = True
    update = "auto"

    def fit(self, problem: Problem, setting: float) -> Fit:
        if problem.is_path:
            return self._path(problem, setting)
        models = self._models(problem, tol=setting)
        return Fit(np.stack([m.coef_ for m in models]), np.stack([m.intercept_ for m in models]))

    def _path(self, problem: Problem, setting: float) -> Fit:
        found = self._walked(problem, tol=setting)
        return Fit(found.coefs, found.intercepts)

    def _walked(self, problem: Problem, **parameters: Any) -> Any:
        from sparseboost import sparse_boost_path

        loss = "squared" if problem.loss == "squared" else "logistic"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return sparse_boost_path(
                problem.X, problem.y, alphas=problem.alphas, penalty=problem.penalty, loss=loss,
                fit_intercept=problem.fit_intercept, **parameters,
            )  # fmt: skip

    def _models(self, problem: Problem, **parameters: Any) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [_model(problem, self.update, problem.alpha, **parameters).fit(problem.X, problem.y)]

    def reference(self, problem: Problem, tol: float, seconds: float) -> tuple[Fit, Array]:
        """The optimum and, per alpha, how far from it at most."""
        limits: dict[str, Any] = {"tol": tol, "max_rounds": 10_000, "time_budget": seconds}
        if problem.is_path:
            found = self._walked(problem, **limits)
            return Fit(found.coefs, found.intercepts), found.dual_gaps
        (model,) = self._models(problem, **limits)
        return Fit(model.coef_[None], model.intercept_[None]), np.array([model.dual_gap_])


class GradBoost(SparseBoost):
    """The quadratic bound of the papers, on the problems for which nobody else has a solver."""

    name = "sparseboost gradboost"
    update = "gradboost"
    kinds = tuple(kind for kind in SINGLE if kind.endswith("linf"))


class AdaBoost(SparseBoost):
    """The exponential bound of the papers."""

    name = "sparseboost adaboost"
    update = "adaboost"
    kinds = tuple(kind for kind in SINGLE if kind.endswith("linf") and not kind.startswith("squared"))


def _model(problem: Problem, update: str, alpha: float, **parameters: Any) -> Any:
    from sparseboost import SparseBoostClassifier, SparseBoostRegressor

    family = SparseBoostRegressor if problem.loss == "squared" else SparseBoostClassifier
    return family(
        alpha=alpha, penalty=problem.penalty, update=update, fit_intercept=problem.fit_intercept, **parameters
    )
