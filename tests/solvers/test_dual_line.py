"""Bounds from the line through two dual points: valid everywhere, and now and then what ends a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from components import LOSSES, LossCase, name
from runs import random_problem

from sparseboost.penalties import L1, L1L2, L1Linf, Norm
from sparseboost.problem import Problem, Survey
from sparseboost.solvers import Boosting, Newton, minimize
from sparseboost.solvers.dual_line import DualLine

SMOOTH = [case for case in LOSSES if case.loss.smooth and Newton.applies(random_problem(case, L1(), 1, m=12, n=4))]


def solve(problem: Problem, tol: float = 1e-4):
    return minimize(problem, Boosting(Newton(), induce=2), tol=tol)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("penalty", [L1(), L1L2(), L1Linf(), L1(positive=True)], ids=repr)
@pytest.mark.parametrize("case", SMOOTH, ids=name)
def test_no_bound_on_the_line_is_above_the_optimum(
    case: LossCase, penalty: Norm, free: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = random_problem(case, penalty, 5, m=30, n=12)
    problem = replace(problem, fit_intercept=free, alpha=0.2 * problem.alpha)
    monkeypatch.setattr("sparseboost.solvers.dual_line.WITHIN", 1.0)
    optimum = solve(problem, 1e-9).objective
    monkeypatch.setattr("sparseboost.solvers.dual_line.WITHIN", np.inf)
    sides = [(step,) for step in (-3.0, -1.0, -0.5, -0.1, 0.2, 1.0, 5.0)]
    monkeypatch.setattr("sparseboost.solvers.dual_line.SIDES", sides)
    for record in solve(problem).history:
        assert record["objective"] - record["gap"] <= optimum + 1e-8 * abs(optimum)


def test_the_line_tightens_bounds_and_saves_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    tightened: list[float] = []
    plain = DualLine.tighten

    def watched(self: DualLine, problem: Problem, score: np.ndarray, dual: object, survey: Survey, target: float):
        found = plain(self, problem, score, dual, survey, target)
        assert found.gap <= survey.gap
        tightened.append(found.gap / survey.gap if survey.gap else 1.0)
        return found

    monkeypatch.setattr(DualLine, "tighten", watched)
    problems = [
        replace(problem, alpha=0.1 * problem.alpha)
        for problem in (random_problem(case, L1L2(), seed, m=40, n=25) for case in SMOOTH[:4] for seed in range(6))
    ]
    tolerances = [1e-2, 3e-3, 1e-3, 3e-4]
    with_line = [solve(problem, tol).n_rounds for problem in problems for tol in tolerances]
    assert min(tightened) < 0.8
    monkeypatch.setattr("sparseboost.solvers.dual_line.WITHIN", 1.0)
    without = [solve(problem, tol).n_rounds for problem in problems for tol in tolerances]
    assert all(a <= b for a, b in zip(with_line, without, strict=True))
    assert sum(with_line) < sum(without)


@pytest.mark.parametrize("rows", [1, 7, 24])
def test_bounds_do_not_depend_on_how_many_rows_are_combined_at_a_time(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = random_problem(SMOOTH[0], L1L2(), 3, m=40, n=25)
    problem = replace(problem, alpha=0.1 * problem.alpha)
    monkeypatch.setattr("sparseboost.solvers.dual_line.WITHIN", np.inf)
    whole = [record["gap"] for record in solve(problem).history]
    monkeypatch.setattr("sparseboost.solvers.dual_line.WITHIN", 0.0)
    assert whole != [record["gap"] for record in solve(problem).history]  # the line is used
    monkeypatch.setattr("sparseboost.solvers.dual_line.WITHIN", np.inf)
    monkeypatch.setattr("sparseboost.solvers.dual_line.ROWS", rows)
    assert whole == [record["gap"] for record in solve(problem).history]
