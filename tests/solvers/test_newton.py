"""Newton's method reaches the optimum of the papers' updates, never rises, and its cache is what it says."""

from __future__ import annotations

import pytest
from components import LOSSES, NORMS, PENALTIES, LossCase, name
from runs import full_ensemble, random_problem

from sparseboost.monitors import Monitor
from sparseboost.penalties import NoPenalty, Penalty
from sparseboost.solvers import AdaBoost, Boosting, Correction, GradBoost, minimize
from sparseboost.solvers import quadratic_model as module
from sparseboost.solvers.newton import Newton

SMOOTH = [case for case in LOSSES if case.loss.smooth]


@pytest.mark.parametrize("case", SMOOTH, ids=name)
@pytest.mark.parametrize("penalty", [p for p in PENALTIES if not isinstance(p, NoPenalty)], ids=name)
def test_meets_the_papers_updates_at_the_optimum(case: LossCase, penalty: Penalty) -> None:
    for seed in (0, 21, 30):
        problem = random_problem(case, penalty, seed, m=25, n=5)
        newton = minimize(problem, Boosting(Newton()), tol=1e-7)
        assert newton.converged, newton.reason
        if newton.objective < 1e-15:  # a tube of half width 50: nothing that a bound over all scores could move
            continue
        try:
            update = GradBoost() if case.loss.curvature is not None else AdaBoost()
            paper = minimize(problem, Boosting(Correction(update)), tol=1e-7)
        except ValueError:
            continue
        assert abs(newton.objective - paper.objective) <= newton.gap + paper.gap + 1e-12


@pytest.mark.parametrize("case", SMOOTH, ids=name)
@pytest.mark.parametrize("largest", [0, 10**9])
def test_never_rises_on_columns_or_on_the_hessian(
    case: LossCase, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_HESSIAN", largest)
    for seed, penalty in enumerate(NORMS):
        problem = random_problem(case, penalty, seed + 16, m=25, n=5)
        ensemble = full_ensemble(problem)
        score, before = ensemble.score(), problem.driving_objective(ensemble, ensemble.score())
        for _ in range(4):
            found = Newton().run(problem, ensemble, score, -1.0, Monitor(time_budget=1e-9))
            after = problem.driving_objective(found.ensemble, found.score)
            assert after <= before + 1e-12 * abs(before)
            ensemble, score, before = found.ensemble, found.score, after
