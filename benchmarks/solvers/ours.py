"""sparseboost itself, from the repository's own environment."""

from __future__ import annotations

import time
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
        import sparseboost

        if not hasattr(sparseboost, "sparse_boost_path"):
            models = self._fits(problem, tol=setting)
            return Fit(np.stack([c for c, _, _ in models]), np.stack([b for _, b, _ in models]))
        loss = "squared" if problem.loss == "squared" else "logistic"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = sparseboost.sparse_boost_path(
                problem.X, problem.y, alphas=problem.alphas, penalty=problem.penalty, loss=loss,
                fit_intercept=problem.fit_intercept, tol=setting,
            )  # fmt: skip
        return Fit(found.coefs, found.intercepts)

    def _models(self, problem: Problem, **parameters: Any) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [_model(problem, self.update, problem.alpha, **parameters).fit(problem.X, problem.y)]

    def _fits(self, problem: Problem, seconds: float | None = None, **parameters: Any) -> list[Any]:
        """(weights, intercept, gap) of one alpha after another, each started from the last, in so many seconds."""
        end = None if seconds is None else time.monotonic() + seconds
        model, found = _model(problem, self.update, 1.0, warm_start=True, **parameters), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for alpha in problem.alphas:
                budget = None if end is None else max(end - time.monotonic(), 0.1)
                model.set_params(alpha=float(alpha), time_budget=budget).fit(problem.X, problem.y)
                found.append((model.coef_, model.intercept_, model.dual_gap_))
        return found

    def reference(self, problem: Problem, tol: float, seconds: float) -> tuple[Fit, Array]:
        """The optimum and, per alpha, how far from it at most."""
        fits = self._fits(problem, seconds, tol=tol, max_rounds=10_000)
        coefs, intercepts, gaps = (np.stack(part) for part in zip(*fits, strict=True))
        return Fit(coefs, intercepts), gaps


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
