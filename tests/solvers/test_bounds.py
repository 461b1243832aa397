"""What a round promises, it delivers: bounds B1 and B2, templates, scores (MATH 9.1, 9.2, 9.4, 9.7)."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from components import LOSSES, NORMS, PENALTIES, LossCase, make_problem, name

sys.path.insert(0, str(Path(__file__).parent))
from runs import (
    TEMPLATES,
    UPDATES,
    applies,
    correction_for,
    full_ensemble,
    play,
    random_ensemble,
    random_problem,
    valid_template,
)

from sparseboost.losses import EpsInsensitive, Exponential, Logistic, Softmax, Squared
from sparseboost.penalties import L1, L1L2, L1Linf, NoPenalty, SmoothL1
from sparseboost.solvers import AdaBoost, Correction, GradBoost
from sparseboost.solvers.correction import Workspace
from sparseboost.solvers.updates import force

FLAT = [EpsInsensitive(50.0)]  # its gradients are of size e^−50: below rounding for most purposes
COMBINATIONS = [
    (case, penalty, update)
    for case in LOSSES
    for penalty in PENALTIES
    for update in UPDATES
    if applies(update, random_problem(case, penalty, 0))
]
every_combination = pytest.mark.parametrize(
    ("case", "penalty", "update"), COMBINATIONS, ids=[f"{c.name}-{p!r}-{u.name}" for c, p, u in COMBINATIONS]
)
every_update = pytest.mark.parametrize("update", UPDATES, ids=lambda update: update.name)


def keeps_its_word(pairs, scale=1.0):
    for real, promised in pairs:
        assert promised >= -1e-13 * scale
        assert real >= promised - 1e-12 * max(scale, 1.0)


def test_every_update_is_tested_on_what_it_applies_to():
    assert len(COMBINATIONS) > 250
    assert {type(case.loss) for case, _, _ in COMBINATIONS} == {type(case.loss) for case in LOSSES}
    assert {type(penalty) for _, penalty, _ in COMBINATIONS} == {type(penalty) for penalty in PENALTIES}


@every_combination
def test_real_decrease_is_at_least_the_promise(case, penalty, update):
    for turn, template in enumerate(TEMPLATES):
        for scale in (0.0, 1.0):
            seed = LOSSES.index(case) + 13 * PENALTIES.index(penalty) + 5 * turn + 11 * int(scale)
            problem = random_problem(case, penalty, seed)
            rng = np.random.default_rng(seed)
            ensemble = random_ensemble(problem, rng, scale)
            start = problem.driving_objective(ensemble, ensemble.score())
            correction = correction_for(update, template, problem, rng)
            correction.check(problem)
            keeps_its_word(play(correction, problem, ensemble, rounds=3), scale=abs(start))


# -- edge cases ------------------------------------------------------------------------------------------------------


def edge_problem(case: LossCase, penalty, alpha: float):
    """Columns: never disagrees with the labels (μ⁻ = 0), always does (μ⁺ = 0), zeros, two twins, mixed."""
    rng = np.random.default_rng(3)
    m = 10
    y = case.y(m, rng)
    sign = np.where(y[:, 0] > np.median(y[:, 0]), 1.0, -1.0) if case.targets != "signs" else y[:, 0]
    one = np.abs(rng.normal(size=m)) + 0.1
    mixed = rng.normal(size=m)
    X = np.column_stack([one * sign, -one * sign, np.zeros(m), mixed, mixed, rng.normal(size=m)])
    problem = make_problem(case, penalty, X, y, alpha=alpha)
    return problem if case.loss.smooth else problem.smoothed(0.3)


@every_combination
@pytest.mark.parametrize("alpha", [0.0, pytest.param(1e-6, marks=pytest.mark.slow), 0.05])
def test_promises_hold_at_the_edges(case, penalty, update, alpha):
    if alpha == 0.0 and not isinstance(penalty, NoPenalty):
        return  # the problem drops the penalty: tested once
    problem = edge_problem(case, penalty, alpha)
    rng = np.random.default_rng(0)
    for template in TEMPLATES:
        correction = correction_for(update, template, problem, rng)
        for scale in (0.0, 1.0):
            ensemble = random_ensemble(problem, rng, scale)
            start = problem.driving_objective(ensemble, ensemble.score())
            keeps_its_word(play(correction, problem, ensemble, rounds=2), scale=abs(start))


@every_combination
@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.filterwarnings("error")
def test_huge_weights_stay_finite_and_keep_their_word(case, penalty, update, alpha):
    """|w|/a up to 10⁴ (MATH 9.7). Weights of twins may cancel: then scores are moderate and the bounds must hold."""
    if alpha == 0.0 and not isinstance(penalty, NoPenalty):
        return  # the problem drops the penalty: tested once
    problem = edge_problem(case, penalty, alpha)
    rng = np.random.default_rng(5)
    n, k = problem.enumerable.size, problem.n_outputs
    room = update.single_room(problem, full_ensemble(problem).columns)
    for size in (1e2, 1e4):
        coef = size * room[:, None] * rng.choice([-1.0, 1.0], size=(n, k))
        ensemble = full_ensemble(problem, np.abs(coef) if penalty.positive else coef)
        for template in ("single", "dense"):
            correction = Correction(update, template)
            work = Workspace(problem, ensemble, ensemble.score())
            for _ in range(3):  # weights of examples underflow here: all that is left is to stay finite
                assert np.isfinite(work.shift(update))
                promised = correction._round(work, correction._room(problem, ensemble))
                assert not np.isnan(promised)
                assert np.isfinite(promised) or template == "dense"  # NumPy's expm1 may overflow beside a denormal
            assert np.all(np.isfinite(work.coef))
        if penalty.positive:
            continue
        coef[:] = 0.0
        coef[3], coef[4] = size * room[3], -size * room[4]  # twins
        ensemble = full_ensemble(problem, coef)
        before = problem.driving_objective(ensemble, ensemble.score())
        for template in ("single", "greedy", "dense"):
            pairs = play(Correction(update, template), problem, ensemble, rounds=3)
            for real, promised in pairs:
                assert real >= promised - 1e-10 * (1 + abs(before))


@every_update
@pytest.mark.parametrize("case", [c for c in LOSSES if c.loss.smooth and c.loss not in FLAT], ids=name)
@pytest.mark.parametrize("penalty", NORMS, ids=name)
def test_a_repeated_update_at_the_optimum_changes_nothing(case, penalty, update):
    problem = random_problem(case, penalty, seed=12 + 16, fraction=0.4)
    if not applies(update, problem):
        return
    ensemble = full_ensemble(problem)
    work = Workspace(problem, ensemble, ensemble.score())
    room = update.single_room(problem, ensemble.columns)
    for _ in range(4000):
        if work.shift(update) + work.sweep(update, room) <= 1e-20:
            break
    else:
        pytest.fail("no optimum after 4000 rounds")
    coef, zero = work.coef.copy(), ~np.any(work.coef != 0, axis=1)
    promised = work.shift(update) + work.sweep(update, room)
    assert abs(promised) <= 1e-14
    np.testing.assert_allclose(work.coef, coef, atol=1e-8)
    assert np.all(work.coef[zero] == 0)
    assert problem.restricted_gap(work.ensemble(ensemble), work.score) <= 1e-7


def test_exponential_bound_is_an_equality_for_signs_and_one_row():
    """exp-loss with x in {−1, 0, 1} and one coordinate (D1)."""
    rng = np.random.default_rng(1)
    case = LossCase(Exponential(), 1, "signs")
    X = rng.choice([-1.0, 0.0, 1.0], size=(20, 3))
    problem = make_problem(case, L1(), X, case.y(20, rng), alpha=0.02)
    ensemble = random_ensemble(problem, rng, 0.5)
    work = Workspace(problem, ensemble, ensemble.score())
    room = AdaBoost().single_room(problem, ensemble.columns)
    before = problem.driving_objective(ensemble, work.score)
    promised = work.sweep(AdaBoost(), room)
    after = problem.driving_objective(work.ensemble(ensemble), work.score)
    assert before - after == pytest.approx(promised, rel=1e-12)


# -- scores of candidates (D8) -----------------------------------------------------------------------------------------


def ranked(update, problem, score):
    keys = np.arange(problem.enumerable.size)
    up, down = force(problem, score)
    correlation = problem.enumerable.correlate(up - down)
    return update.rank(problem, score, keys, correlation), correlation


@pytest.mark.parametrize("case", [case for case in LOSSES if case.loss.smooth and case.loss not in FLAT], ids=name)
@pytest.mark.parametrize("penalty", NORMS, ids=name)
@every_update
def test_scores_vanish_exactly_below_the_penalty_and_equal_the_promise(case, penalty, update):
    seen = set()
    for seed in range(6):
        problem = random_problem(case, penalty, seed, n=8, fraction=0.5)
        if not applies(update, problem):
            return
        ensemble = full_ensemble(problem)
        score = ensemble.score()
        scores, correlation = ranked(update, problem, score)
        needed = penalty.dual_norm(correlation) - problem.strength(ensemble)
        clear = np.abs(needed) > 1e-12
        assert np.all((scores > 0)[clear] == (needed > 0)[clear])
        assert np.all(scores[clear & (needed < 0)] == 0)
        np.testing.assert_allclose(scores, update.gains(problem, ensemble, score), rtol=1e-9, atol=1e-17)
        seen |= set((needed > 0)[clear])
        work = Workspace(problem, ensemble, score)
        best = work.best(update, update.single_room(problem, ensemble.columns))
        assert best == pytest.approx(scores.max(), rel=1e-9, abs=1e-17)
        moved = np.any(work.coef != 0, axis=1)
        assert moved.sum() <= 1
        assert not moved.any() or np.argmax(scores) == np.argmax(moved)
    assert seen == {False, True}


def test_score_of_l1_under_the_exponential_bound_is_eq_36():
    for seed in range(8):
        problem = random_problem(LossCase(Logistic(), 1, "signs"), L1(), seed, n=6, fraction=0.3)
        ensemble = full_ensemble(problem)
        score = ensemble.score()
        scores, _ = ranked(AdaBoost(), problem, score)
        plus, minus = (part[:, 0] for part in ensemble.columns.split_correlate(*force(problem, score)))
        a, lam = AdaBoost().single_room(problem, ensemble.columns), problem.strength(ensemble)
        high, low = np.maximum(plus, minus), np.minimum(plus, minus)
        nu = 2 * high / (lam + np.sqrt(lam**2 + 4 * high * low))
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = a * (plus + minus - high / nu - low * nu - lam * np.log(nu))
        np.testing.assert_allclose(scores, np.where(np.abs(plus - minus) > lam, wanted, 0.0), rtol=1e-7, atol=1e-15)
        free = make_problem(LossCase(Logistic(), 1, "signs"), L1(), problem.enumerable.X, problem.y, alpha=0.0,
                            weight=problem.weight, intercept=problem.fit_intercept)  # fmt: skip
        scores, _ = ranked(AdaBoost(), free, score)
        both = np.minimum(plus, minus) > 0
        np.testing.assert_allclose(
            scores[both], (a * (np.sqrt(plus) - np.sqrt(minus)) ** 2)[both], rtol=1e-7, atol=1e-16
        )


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), Squared()], ids=repr)
def test_scores_under_the_quadratic_bound_are_eq_37_and_38(loss):
    k = 1 if isinstance(loss, Squared) else 3
    targets = {Logistic: "signs", Softmax: "classes", Squared: "reals"}[type(loss)]
    for seed in range(8):
        for penalty in (L1L2(), L1Linf(), L1()):
            problem = random_problem(LossCase(loss, k, targets), penalty, seed, n=6, fraction=0.4)
            ensemble = full_ensemble(problem)
            scores, g = ranked(GradBoost(), problem, ensemble.score())
            energy = ensemble.columns.energy(problem.weight)
            eta = np.divide(1.0, loss.curvature * energy, out=np.zeros_like(energy), where=energy > 0)
            lam = problem.strength(ensemble)
            step = penalty.prox(-eta[:, None] * g, eta * lam)
            with np.errstate(divide="ignore", invalid="ignore"):
                general = np.where(eta > 0, (step**2).sum(axis=1) / (2 * eta), 0.0)  # holds for every norm
            np.testing.assert_allclose(scores, general, rtol=1e-9, atol=1e-17)
            if not isinstance(penalty, L1Linf) and (k == 1 or isinstance(penalty, L1L2)):
                closed = 0.5 * eta * np.maximum(np.linalg.norm(g, axis=1) - lam, 0.0) ** 2
                np.testing.assert_allclose(scores, closed, rtol=1e-9, atol=1e-17)


@pytest.mark.parametrize("seed", range(4))
def test_all_norms_agree_for_one_output(seed):
    """D1 = D3 and D5 = D6 = D7 for k = 1."""
    for update in UPDATES:
        coefs = []
        for penalty in (L1(), L1L2(), L1Linf()):
            problem = random_problem(LossCase(Logistic(), 1, "signs"), penalty, seed, fraction=0.2)
            ensemble = full_ensemble(problem)
            work = Workspace(problem, ensemble, ensemble.score())
            for _ in range(5):
                work.shift(update)
                work.sweep(update, update.single_room(problem, ensemble.columns))
            coefs.append(work.coef)
        np.testing.assert_allclose(coefs[1], coefs[0], rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(coefs[2], coefs[0], rtol=1e-10, atol=1e-13)
        assert np.any(coefs[0] != 0)


# -- templates (T2, D10) ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [case for case in LOSSES if case.loss.smooth], ids=name)
@every_update
@pytest.mark.parametrize("penalty", [L1(), SmoothL1()], ids=repr)
def test_the_condition_on_templates_is_checked(case, update, penalty):
    for seed in (0, 5, 15):
        problem = random_problem(case, penalty, seed)
        if not applies(update, problem):
            return
        template = valid_template(update, problem, np.random.default_rng(seed))
        Correction(update, template).check(problem)
        with pytest.raises(ValueError, match=r"template is too large.*divide the template by 1\.5"):
            Correction(update, 1.5 * template).check(problem)


def test_the_condition_on_templates_is_the_one_of_t2():
    problem = random_problem(LossCase(Softmax(3), 3, "classes"), L1Linf(), seed=0)
    X, template = problem.enumerable.X, np.array([0.1, 0.0, 0.3, 0.2])
    size, limit, _ = AdaBoost().template_size(problem, template)
    assert size == pytest.approx((np.abs(X) @ template).max())
    assert limit == 0.5
    size, limit, _ = GradBoost().template_size(problem, template)
    assert size == pytest.approx(template @ (problem.weight @ X**2))
    assert limit == 1.0


@pytest.mark.parametrize("case", [case for case in LOSSES if case.loss.smooth], ids=name)
def test_dense_rooms_bound_any_simultaneous_move(case):
    """Not only the minimiser of the bound: every change of all rows obeys it."""
    rng = np.random.default_rng(4)
    for seed in range(6):
        problem = random_problem(case, NoPenalty(), seed)
        ensemble = random_ensemble(problem, rng, 0.5)
        score = ensemble.score()
        up, down = force(problem, score)
        value = problem.weight @ case.loss.value(problem.y, score)
        for update in UPDATES:
            if not applies(update, problem):
                continue
            for room in (
                update.dense_room(problem, ensemble.columns),
                update.template_room(problem, valid_template(update, problem, rng)),
            ):
                live = room > 0
                for size in (0.01, 0.3, 2.0):
                    change = size * rng.normal(size=ensemble.coef.shape) * live[:, None]
                    after = problem.weight @ case.loss.value(problem.y, score + ensemble.columns.dot(change))
                    with np.errstate(divide="ignore", invalid="ignore"):
                        if update.exponential:
                            plus, minus = ensemble.columns.split_correlate(up, down)
                            d = change / room[:, None]
                            parts = -(plus * np.expm1(-d) + minus * np.expm1(d)) * room[:, None]
                        else:
                            g = ensemble.columns.correlate(up - down)
                            parts = -g * change - change**2 / (2 * room[:, None])
                    promised = parts[live].sum()
                    assert value - after >= promised - 1e-12 * (1 + abs(promised))


def test_dense_rooms_are_larger_than_an_equal_share():
    """The sharper bounds of D10 pay off on sparse data."""
    problem = random_problem(LossCase(Squared(), 1, "reals"), L1(), seed=1, m=60, n=20)
    columns = full_ensemble(problem).columns
    share = GradBoost().single_room(problem, columns) / columns.size
    assert np.median(GradBoost().dense_room(problem, columns) / share) > 1.0


def test_updates_say_what_to_use_instead():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2))
    exponential = make_problem(LossCase(Exponential(), 1, "signs"), L1(), X, np.ones((6, 1)), alpha=0.1)
    with pytest.raises(ValueError, match="adaboost"):
        GradBoost().check(exponential)
    squared = make_problem(LossCase(Squared(), 1, "reals"), L1(), X, np.ones((6, 1)), alpha=0.1)
    with pytest.raises(ValueError, match="gradboost"):
        AdaBoost().check(squared)
    groups = make_problem(LossCase(Softmax(2), 2, "classes"), L1L2(), X, np.zeros((6, 1)), alpha=0.1)
    with pytest.raises(ValueError, match="l1/linf"):
        AdaBoost().check(groups)
