"""Small problems and short runs that the tests of solvers share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from components import LossCase, features, make_problem, weights

from sparseboost import kernels
from sparseboost.ensemble import Ensemble
from sparseboost.penalties import Norm, Penalty
from sparseboost.problem import Problem
from sparseboost.solvers import AdaBoost, Boosting, Correction, GradBoost, Solution, minimize
from sparseboost.solvers.correction import Workspace
from sparseboost.solvers.newton import Newton
from sparseboost.solvers.updates import Update

UPDATES: list[Update] = [AdaBoost(), GradBoost()]
TEMPLATES = ["single", "greedy", "dense", "array"]


def applies(update: Update, problem: Problem) -> bool:
    try:
        update.check(problem)
    except ValueError:
        return False
    return True


def random_problem(
    case: LossCase, penalty: Penalty, seed: int, m: int = 12, n: int = 4, fraction: float | None = None
) -> Problem:
    """Seeds walk through dense and sparse, weights, costs, intercept, and columns of zeros."""
    rng = np.random.default_rng([seed, 7])
    X = features(m, n, rng, sparse=bool(seed & 1), zero_column=bool(seed & 2))
    weight = weights(m, rng) if seed & 4 else np.full(m, 1.0 / m)
    if seed & 4:
        weight[-1] = 0.0
    cost = rng.uniform(0.5, 2.0, size=n) if seed & 8 else None
    fraction = rng.uniform(0.02, 0.6) if fraction is None else fraction
    alpha = None if isinstance(penalty, Norm) else 0.05
    problem = make_problem(
        case,
        penalty,
        X,
        case.y(m, rng),
        alpha=alpha,
        fraction=fraction,
        weight=weight,
        cost=cost,
        intercept=bool(seed & 16),
    )
    return problem if case.loss.smooth else problem.smoothed(0.3)


def full_ensemble(problem: Problem, coef: np.ndarray | None = None, intercept: np.ndarray | None = None) -> Ensemble:
    """All hypotheses active, with these weights."""
    n = problem.enumerable.size
    ensemble = Ensemble.empty(problem.dictionary, problem.start).extend(problem.dictionary, np.arange(n))
    if coef is not None:
        ensemble = replace(ensemble, coef=coef)
    return ensemble if intercept is None else replace(ensemble, intercept=intercept)


def random_ensemble(problem: Problem, rng: np.random.Generator, scale: float) -> Ensemble:
    n, k = problem.enumerable.size, problem.n_outputs
    coef = scale * rng.normal(size=(n, k)) * (rng.random((n, 1)) < 0.7)
    coef = np.abs(coef) if problem.penalty.positive else coef
    move = scale * rng.normal(size=k) if problem.fit_intercept else 0.0
    return full_ensemble(problem, coef, problem.start + move)


def valid_template(update: Update, problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """A random template with zeros that fills its condition exactly."""
    template = rng.exponential(size=problem.enumerable.size)
    template[rng.random(template.size) < 0.2] = 0.0
    template[0] = 1.0
    size, limit, _ = update.template_size(problem, template)
    return template * (limit / size)


def correction_for(update: Update, template: str, problem: Problem, rng: np.random.Generator) -> Correction:
    return Correction(update, valid_template(update, problem, rng) if template == "array" else template)


def play(correction: Correction, problem: Problem, ensemble: Ensemble, rounds: int) -> list[tuple[float, float]]:
    """(real decrease, promised decrease) of every round, rows and intercept each on their own."""
    work = Workspace(problem, ensemble, ensemble.score())
    room = correction._room(problem, ensemble)
    value = problem.driving_objective(ensemble, ensemble.score())
    pairs = []
    for _ in range(rounds):
        for move in (lambda: work.shift(correction.update), lambda: correction._round(work, room)):
            promised = move()
            now = work.ensemble(ensemble)
            np.testing.assert_allclose(work.score, now.score(), rtol=1e-9, atol=1e-9 * (1 + np.abs(work.score).max()))
            after = problem.driving_objective(now, now.score())
            pairs.append((value - after, promised))
            value = after
            if problem.penalty.positive:
                assert np.all(work.coef[room > 0] >= 0)
    return pairs


def solve(
    problem: Problem,
    update: Update | None = None,
    template: str | np.ndarray = "single",
    tol: float = 1e-9,
    max_rounds: int = 3000,
    **options,
) -> Solution:
    """Run boosting with this update, or with Newton's method, which is the fastest to an optimum."""
    correction = Newton() if update is None else Correction(update, template)
    return minimize(problem, Boosting(correction, **options), tol=tol, max_rounds=max_rounds)


def dense_coef(problem: Problem, solution: Solution) -> np.ndarray:
    """Weights of all hypotheses, zeros where none is active."""
    coef = np.zeros((problem.enumerable.size, problem.n_outputs))
    coef[solution.ensemble.keys] = solution.ensemble.coef
    return coef


def count_sweeps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that receives the number of sweeps of every descent from now on."""
    counts: list[int] = []
    descend = kernels.descent.descend

    def counting(*given: Any) -> Any:
        found = descend(*given)
        counts.append(found[1])
        return found

    monkeypatch.setattr(kernels.descent, "descend", counting)
    return counts
