"""The driver: every reason to stop, the history, callbacks, time, warm starts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from components import LossCase, features, make_problem

from sparseboost.losses import Absolute, Logistic, Squared
from sparseboost.monitors import Monitor
from sparseboost.penalties import L1, L1L2, NoPenalty, Ridge
from sparseboost.solvers import Boosting, Correction, GradBoost, minimize

CASE = LossCase(Logistic(), 1, "signs")


def problem_of(case=CASE, penalty=None, m=40, n=30, **options):
    rng = np.random.default_rng(11)
    X = features(m, n, rng)
    return make_problem(case, penalty or L1(), X, case.y(m, rng), **{"fraction": 0.05, **options})


def boosting(template="single", **options):
    return Boosting(Correction(GradBoost(), template), **options)


def test_gap():
    problem = problem_of()
    solution = minimize(problem, boosting(), tol=1e-4)
    assert (solution.reason, solution.converged) == ("gap", True)
    assert solution.gap <= solution.target == pytest.approx(1e-4 * problem.empty_objective)
    assert solution.objective == pytest.approx(
        problem.objective(solution.ensemble, solution.ensemble.score()), rel=1e-12
    )
    assert solution.n_rounds == len(solution.history) - 1


def test_gap_at_once_when_the_empty_model_is_optimal():
    problem = problem_of(fraction=1.0 + 1e-9)
    solution = minimize(problem, boosting(), tol=1e-6)
    assert (solution.reason, solution.n_rounds, solution.ensemble.size) == ("gap", 0, 0)


def test_max_rounds():
    solution = minimize(problem_of(), boosting(induce=1), tol=1e-12, max_rounds=2)
    assert (solution.reason, solution.converged, solution.n_rounds) == ("max_rounds", False, 2)
    assert len(solution.history) == 3
    none = minimize(problem_of(), boosting(), tol=1e-12, max_rounds=0)
    assert (none.reason, none.ensemble.size) == ("max_rounds", 0)


def test_a_step_that_changes_nothing_twice_ends_the_fit_though_hypotheses_still_want_to_enter():
    class Stuck(Boosting):
        def step(self, state, survey, target, monitor):
            assert survey.candidates.keys.size
            return replace(state, stalled=True)

    solution = minimize(problem_of(), Stuck(Correction(GradBoost())), tol=1e-9, max_rounds=50)
    assert (solution.reason, solution.converged, solution.n_rounds) == ("stalled", False, 2)


def test_max_features():
    for corrective in (True, False, "alternate"):
        solution = minimize(problem_of(), boosting(max_inputs=4, corrective=corrective), tol=1e-9)
        assert (solution.reason, solution.converged) == ("max_features", False)
        assert solution.ensemble.support == 4
        assert all(record["active"] <= 4 for record in solution.history)


def test_callback_stops_and_all_callbacks_see_every_round():
    seen: list[dict] = []
    calls = []

    def stop(record):
        calls.append(record["round"])
        return record["round"] >= 2

    monitor = Monitor(callbacks=[stop, lambda record: seen.append(record)])
    solution = minimize(problem_of(), boosting(induce=1), tol=1e-12, monitor=monitor)
    assert (solution.reason, solution.converged, solution.n_rounds) == ("callback", False, 2)
    assert calls == [0, 1, 2]
    assert seen == solution.history


def test_time_budget():
    solution = minimize(problem_of(), boosting(induce=1), tol=1e-14, monitor=Monitor(time_budget=0.0))
    assert (solution.reason, solution.converged, solution.n_rounds) == ("time_budget", False, 0)
    assert solution.gap > 0


def test_a_certificate_wins_over_time_and_callbacks():
    monitor = Monitor(time_budget=0.0, callbacks=[lambda record: True])
    solution = minimize(problem_of(fraction=1.1), boosting(), tol=1e-6, monitor=monitor)
    assert (solution.reason, solution.converged) == ("gap", True)


def test_stalled_when_the_template_forbids_every_move():
    problem = problem_of()
    solution = minimize(problem, boosting(np.zeros(problem.enumerable.size)), tol=1e-6)
    assert (solution.reason, solution.converged) == ("stalled", False)


def test_stationary_without_a_penalty():
    problem = problem_of(LossCase(Squared(), 1, "reals"), NoPenalty(), m=60, n=5, alpha=0.0)
    solution = minimize(problem, boosting(), tol=1e-7)
    assert (solution.reason, solution.converged) == ("stationary", True)
    force = problem.weight[:, None] * problem.loss.gradient(problem.y, solution.ensemble.score())
    assert np.abs(problem.enumerable.correlate(force)).max() <= 1e-6


def test_stages_hold_the_weights_before_every_round_and_at_the_end():
    problem, stages = problem_of(), []
    solution = minimize(problem, boosting(induce=2), tol=1e-5, stages=stages)
    assert len(stages) == len(solution.history)
    assert stages[0][0].size == 0
    for (keys, coef, _), record in zip(stages, solution.history, strict=True):
        assert np.any(coef != 0, axis=1).sum() == record["active"]
        assert keys.size == coef.shape[0]
    np.testing.assert_array_equal(stages[-1][0], solution.ensemble.keys)


def test_history_counts_what_enters_and_leaves():
    solution = minimize(problem_of(), boosting(), tol=1e-7)
    active = 0
    for number, record in enumerate(solution.history):
        assert record["round"] == number
        assert set(record) == {"round", "objective", "gap", "active", "added", "pruned", "seconds"}
        active += record["added"] - record["pruned"]
        assert record["active"] == active
    seconds = [record["seconds"] for record in solution.history]
    assert seconds == sorted(seconds)


def test_lower_bounds_only_improve():
    """Sequential rounds meet worse bounds than they had; the best one counts."""
    history = minimize(problem_of(), boosting(induce=1, corrective=False), tol=1e-3, max_rounds=60).history
    bounds = [record["objective"] - record["gap"] for record in history]
    assert all(later >= earlier - 1e-15 for earlier, later in pairwise(bounds))


def test_a_warm_start_from_the_optimum_ends_at_once_and_never_changes_its_input():
    problem = problem_of()
    first = minimize(problem, boosting(), tol=1e-8)
    keys, coef, intercept = first.ensemble.stage
    before = coef.copy()
    again = minimize(problem, boosting(), tol=1e-7, warm=(keys, coef, intercept))
    assert (again.reason, again.n_rounds) == ("gap", 0)
    other = minimize(problem_of(fraction=0.02), boosting(), tol=1e-7, warm=(keys, coef, intercept))
    assert other.converged
    np.testing.assert_array_equal(coef, before)


def test_the_solution_keeps_no_zero_rows_under_a_norm_and_all_rows_under_ridge():
    solution = minimize(problem_of(), boosting(), tol=1e-7)
    assert np.all(np.any(solution.ensemble.coef != 0, axis=1))
    ridge = minimize(problem_of(penalty=Ridge(), alpha=0.1), boosting(), tol=1e-7)
    assert ridge.converged
    assert ridge.ensemble.size == 30


def test_absolute_loss_is_driven_by_smoothings_to_its_own_gap():
    problem = problem_of(LossCase(Absolute(), 2, "reals"), L1L2(), m=30, n=6, fraction=0.2)
    solution = minimize(problem, boosting(), tol=3e-2)
    assert solution.converged
    assert solution.objective == pytest.approx(problem.objective(solution.ensemble, solution.ensemble.score()))


@pytest.mark.parametrize("verbose", [0, 2])
def test_monitor_output_goes_to_standard_error_only(verbose, capsys):
    minimize(problem_of(), boosting(), tol=1e-4, monitor=Monitor(verbose=verbose))
    out, err = capsys.readouterr()
    assert out == ""
    assert ("gap" in err) == (verbose == 2)


def test_the_same_call_gives_the_same_bits():
    one, two = (minimize(problem_of(), boosting(), tol=1e-7) for _ in range(2))
    np.testing.assert_array_equal(one.ensemble.coef, two.ensemble.coef)
    np.testing.assert_array_equal(one.ensemble.keys, two.ensemble.keys)
    assert one.objective == two.objective
