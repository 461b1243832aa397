"""FS_ε (F2) and Frank–Wolfe for the lasso (F4): against plain NumPy, the exact lasso, and their own theory."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import lars_path

from sparseboost.hypotheses import Candidates, Context, Dictionary, Features
from sparseboost.monitors import Monitor
from sparseboost.solvers import ForwardStagewise, FrankWolfe, LeastSquares, trace, walks
from sparseboost.solvers.frank_wolfe import shrunken_stagewise
from sparseboost.solvers.stagewise import start

FW_STEPS = ["line-search", "2/(k+2)", 0.05, "away"]
RULES = [ForwardStagewise(0.05), *(FrankWolfe(1.5, step) for step in FW_STEPS), shrunken_stagewise(0.05, 1.5)]
by_rule = pytest.mark.parametrize("rule", RULES, ids=str)


class Searched(Dictionary):
    """The features behind nothing but a search, as spaces too large to write down are."""

    def __init__(self, X, exact=True, costs=None):
        self.inner, self.exact = Features().bind(X, Context(feature_costs=costs)), exact

    def search(self, force, dual_norm, count, *, above=0.0, exclude=None, rank=None):
        found = self.inner.search(force, dual_norm, count, above=above, exclude=exclude, rank=rank)
        return Candidates(found.keys, found.violation)

    def columns(self, keys):
        return self.inner.columns(keys)

    def cost(self, keys):
        return self.inner.cost(keys)

    def hypothesis(self, key):
        return self.inner.hypothesis(key)


search = LeastSquares.search


def bound(X, searched=False, costs=None):
    return Searched(X, costs=costs) if searched else Features().bind(X, Context(feature_costs=costs))


def data(seed, m=30, n=6):
    """Correlated columns of different sizes, offsets, and weights."""
    rng = np.random.default_rng([seed, 3])
    X = (rng.normal(size=(m, n)) + 0.4 * rng.normal(size=(m, 1))) * rng.uniform(0.7, 1.4, size=n) + rng.normal(size=n)
    y = X @ (rng.uniform(0.2, 0.7, size=n) * rng.choice([-1, 0, 1], size=n)) + 0.5 * rng.normal(size=m) + 2.0
    weight = rng.uniform(0.5, 1.5, size=m)
    return X, y, weight / weight.sum()


def whitened(X, y, weight, intercept=True):
    """The same question without weights and intercept: losses are ½‖y − Xβ‖²."""
    if intercept:
        X, y = X - weight @ X, y - weight @ y
    return np.sqrt(weight)[:, None] * X, np.sqrt(weight) * y


def by_hand(X, y, rule, rounds):
    """F2 and F4 as MATH.md prints them, on whitened data: weights after every round."""
    path = [np.zeros(X.shape[1])]
    for k in range(rounds):
        beta = path[-1].copy()
        residual = y - X @ beta
        correlation = X.T @ residual
        j = int(np.argmax(np.abs(correlation)))
        if isinstance(rule, ForwardStagewise):
            beta[j] += rule.number * np.sign(correlation[j])
        else:
            vertex = np.zeros_like(beta)
            vertex[j] = rule.radius * np.sign(correlation[j])
            beta = frank_wolfe_step(X, beta, vertex, residual, rule, k)
        path.append(beta)
    return np.array(path)


def frank_wolfe_step(X, beta, vertex, residual, rule, k):
    def search(direction, longest):
        return min(residual @ (X @ direction) / np.sum((X @ direction) ** 2), longest)

    if rule.step == "2/(k+2)":
        share = 2.0 / (k + 2.0)
    elif isinstance(rule.step, float):
        share = rule.step
    else:
        share = search(vertex - beta, 1.0)
    if rule.step == "away" and np.any(beta):
        atoms = [(rule.radius * np.sign(b) * row, abs(b) / rule.radius)
                 for b, row in zip(beta, np.eye(beta.size), strict=True) if b != 0]  # fmt: skip
        rest = 1.0 - sum(weight for _, weight in atoms)
        if rest > 1e-12:
            atoms.append((np.zeros_like(beta), rest))
        worst, weight = min(atoms, key=lambda atom: residual @ (X @ atom[0]))
        if residual @ (X @ (beta - worst)) > (1 + 1e-9) * (residual @ (X @ (vertex - beta))) and weight < 1.0:
            step = search(beta - worst, weight / (1.0 - weight))
            moved = beta + step * (beta - worst)
            if step == weight / (1.0 - weight):
                moved[worst != 0] = 0.0
            return moved
    return beta + share * (vertex - beta)


def weights_after_every_round(found, n):
    path = np.zeros((found.n_rounds + 1, n))
    steps = found.steps
    for k, (key, factor, value) in enumerate(zip(steps.keys, steps.factors, steps.values, strict=True)):
        path[k + 1] = factor * path[k]
        path[k + 1, key] = value
    return path


def before_rounding(found, rule):
    """The rounds that rounding does not decide: those before the gap is next to nothing."""
    forward = isinstance(rule, ForwardStagewise)
    return np.logical_and.accumulate([forward or record["gap"] > 1e-7 for record in found.history[:-1]])


def lasso(X, y, radius):
    """Exact optimum of ½‖y − Xβ‖² over ‖β‖₁ ≤ radius, on the piecewise linear path."""
    _, _, coefs = lars_path(X, y, method="lasso")
    norms = np.abs(coefs).sum(axis=0)
    last = int(np.searchsorted(norms, radius))
    if last in (0, norms.size):
        beta = coefs[:, min(last, norms.size - 1)]
    else:
        share = (radius - norms[last - 1]) / (norms[last] - norms[last - 1])
        beta = coefs[:, last - 1] + share * (coefs[:, last] - coefs[:, last - 1])
    return 0.5 * float(np.sum((y - X @ beta) ** 2)), beta


def measured(X, y, path, rule):
    """Loss, correlation and gap of every row of a path, on whitened data."""
    residuals = y - path @ X.T
    pulls = np.abs(residuals @ X).max(axis=1)
    inner = np.einsum("ki,ki->k", residuals, path @ X.T)
    norms = np.abs(path).sum(axis=1) if isinstance(rule, ForwardStagewise) else rule.radius
    return 0.5 * np.sum(residuals**2, axis=1), pulls, norms * pulls - inner


# -- exact sequences --------------------------------------------------------------------------------------------


@by_rule
@pytest.mark.parametrize("way", ["dense", "sparse", "float32", "searched"])
@pytest.mark.parametrize("intercept", [True, False])
def test_twenty_rounds_are_those_of_the_page(rule, way, intercept):
    for seed in range(5):
        X, y, weight = data(seed, n=10)
        if way == "sparse":
            X[np.abs(X) < 0.7] = 0.0
        if way == "float32":
            X = X.astype(np.float32)
        given = sp.csc_array(X) if way == "sparse" else X
        question = LeastSquares(bound(given, way == "searched"), y, weight, intercept)
        found = trace(question, rule, tol=0.0, max_rounds=20)
        assert found.n_rounds == 20 or (found.reason == "gap" and found.reached <= 1e-13)
        matrix, target = whitened(X.astype(float), y, weight, intercept)
        path = by_hand(matrix, target, rule, found.n_rounds)
        np.testing.assert_allclose(weights_after_every_round(found, X.shape[1]), path, rtol=0, atol=1e-11)
        for name, values in zip(("loss", "correlation", "gap"), measured(matrix, target, path, rule), strict=True):
            np.testing.assert_allclose([record[name] for record in found.history], values, rtol=1e-9, atol=1e-11)
        assert [record["active"] for record in found.history] == np.count_nonzero(path, axis=1).tolist()
        mean = weight @ y - (weight @ X) @ path[-1] if intercept else 0.0
        assert found.intercept == pytest.approx(mean, abs=1e-6 if way == "float32" else 1e-11)


@by_rule
@pytest.mark.parametrize("searched", [False, True])
def test_a_hypothesis_of_cost_c_is_one_that_is_c_times_smaller(rule, searched):
    X, y, weight = data(17, n=8)
    costs = np.linspace(0.5, 3.0, 8)
    dear = trace(LeastSquares(bound(X, searched, costs), y, weight), rule, tol=0.0, max_rounds=50)
    small = trace(LeastSquares(bound(X / costs, searched), y, weight), rule, tol=0.0, max_rounds=50)
    paths = weights_after_every_round(dear, 8) * costs, weights_after_every_round(small, 8)
    np.testing.assert_allclose(*paths, atol=1e-11)
    assert dear.intercept == pytest.approx(small.intercept, abs=1e-10)
    for one, two in zip(dear.history, small.history, strict=True):
        for name in set(one) - {"seconds"}:
            assert one[name] == pytest.approx(two[name], rel=1e-8, abs=1e-11)


@pytest.mark.parametrize("searched", [False, True])
def test_inputs_far_from_zero_lose_no_more_digits_than_they_must(searched):
    X, y, weight = data(3, m=200, n=10)
    matrix, target = whitened(X, y, weight)
    question = LeastSquares(bound(X + 1e6, searched), y + 1e6, weight)
    found = trace(question, FrankWolfe(1.5, "away"), tol=1e-9, max_rounds=200)
    coef = np.zeros(10)
    coef[found.keys] = found.coef
    assert found.reason == "gap"
    true = measured(matrix, target, coef[None], FrankWolfe(1.5))
    for name, value in zip(("loss", "correlation", "gap"), true, strict=True):
        assert found.history[-1][name] == pytest.approx(value[0], abs=1e-9)


def test_shrunken_steps_are_those_of_the_page():
    """β ← (δ/(δ+ε))(β + ε sgn(X_jᵀr) e_j)."""
    X, y, weight = data(18, n=8)
    matrix, target = whitened(X, y, weight)
    found = trace(LeastSquares(bound(X), y, weight), shrunken_stagewise(0.1, 1.5), tol=0.0, max_rounds=20)
    beta = np.zeros(8)
    for row in weights_after_every_round(found, 8)[1:]:
        correlation = matrix.T @ (target - matrix @ beta)
        j = int(np.argmax(np.abs(correlation)))
        beta[j] += 0.1 * np.sign(correlation[j])
        beta *= 1.5 / 1.6
        np.testing.assert_allclose(row, beta, atol=1e-12)


@by_rule
def test_long_runs_on_gram_columns_stay_with_the_searched_ones(rule):
    X, y, weight = data(1, m=60, n=12)
    ends = []
    for searched in (False, True):
        found = trace(LeastSquares(bound(X, searched), y, weight), rule, tol=0.0, max_rounds=300)
        coef = np.zeros(12)
        coef[found.keys] = found.coef
        ends.append(coef)
    np.testing.assert_allclose(*ends, atol=1e-10)


@by_rule
def test_columns_that_do_not_fit_are_computed_again(rule, monkeypatch):
    X, y, weight = data(2, n=10)
    question = LeastSquares(bound(X), y, weight)
    before = trace(question, rule, tol=0.0, max_rounds=150)
    monkeypatch.setattr(walks, "GRAM_BYTES", 0)
    walk = start(question, rule)
    assert walk._gram.shape[0] == 2
    after = trace(question, rule, tol=0.0, max_rounds=150, walk=walk)
    compare = np.flatnonzero(before_rounding(before, rule))
    np.testing.assert_array_equal(before.steps.keys[compare], after.steps.keys[compare])
    np.testing.assert_allclose(before.steps.values[compare], after.steps.values[compare], atol=1e-9)
    assert before.keys.size > 2


@by_rule
def test_looks_at_the_data_between_blocks_change_nothing_but_rounding(rule, monkeypatch):
    X, y, weight = data(3, n=10)
    question = LeastSquares(bound(X), y, weight)
    rare = trace(question, rule, tol=0.0, max_rounds=100)
    looks = []
    monkeypatch.setattr(walks, "FEWEST_BETWEEN", 1)  # then the number of examples counts: 30
    monkeypatch.setattr(LeastSquares, "search", lambda self, residual: looks.append(1) or search(self, residual))
    often = trace(question, rule, tol=0.0, max_rounds=100)
    compare = np.flatnonzero(before_rounding(rare, rule))
    np.testing.assert_allclose(often.steps.values[compare], rare.steps.values[compare], atol=1e-9)
    assert compare.size > 20
    assert len(looks) >= 5  # at the start, after 30, 60 and 90 rounds, and at the end


@by_rule
def test_who_listens_changes_nothing(rule):
    X, y, weight = data(4, n=8)
    question = LeastSquares(bound(X), y, weight)
    alone = trace(question, rule, tol=0.0, max_rounds=120)
    heard: list[dict] = []
    watched = trace(question, rule, tol=0.0, max_rounds=120, monitor=Monitor(callbacks=[heard.append]))
    np.testing.assert_array_equal(alone.steps.keys, watched.steps.keys)
    np.testing.assert_array_equal(alone.steps.values, watched.steps.values)
    assert heard == watched.history
    assert len(alone.history) == len(heard) == 121
    for one, two in zip(alone.history, heard, strict=True):
        for name in set(one) - {"seconds"}:
            assert one[name] == pytest.approx(two[name], rel=1e-9, abs=1e-12)


# -- theory, on 200 random problems -----------------------------------------------------------------------------


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_every_bound_holds_in_every_round(first):
    for seed in range(first, first + 25):
        X, y, weight = data(seed, m=20, n=4 + seed % 30)
        matrix, target = whitened(X, y, weight)
        fitted = matrix @ np.linalg.lstsq(matrix, target)[0]
        energy = np.max(np.sum(matrix**2, axis=0))
        question = LeastSquares(bound(X, searched=seed % 4 == 3), y, weight)
        eps = [0.01, 0.1, 0.5][seed % 3]
        found = trace(question, ForwardStagewise(eps), tol=0.0, max_rounds=60)
        best = np.inf
        for k, record in enumerate(found.history):
            best = min(best, record["correlation"])
            promised = fitted @ fitted / (2 * eps * (k + 1)) + eps * energy / 2
            assert best <= promised * (1 + 1e-9)
            assert best <= record["bound"] * (1 + 1e-9)
            if seed % 4 != 3:
                assert record["bound"] == pytest.approx(promised, rel=1e-6)
        norm = np.abs(found.coef).sum()
        excess = found.history[-1]["loss"] - lasso(matrix, target, norm)[0]
        assert -1e-9 <= excess <= found.history[-1]["gap"] + 1e-9
        radius = [0.3, 1.0, 5.0][seed % 3] * (1 + seed % 2)
        optimum, _ = lasso(matrix, target, radius)
        for step in FW_STEPS:
            check_frank_wolfe(question, FrankWolfe(radius, step), optimum, fitted @ fitted, energy)


def check_frank_wolfe(question, rule, optimum, fitted, energy):
    found = trace(question, rule, tol=1e-12, max_rounds=60)
    slack = 1e-9 * (1.0 + question.energy)
    dropped = 0
    least = (np.inf, np.inf)
    values = [np.nan, *found.steps.factors]
    for k, record in enumerate(found.history):
        excess = record["loss"] - optimum
        assert -slack <= excess <= record["gap"] + slack
        assert excess <= record["bound"] + slack
        if k:
            dropped += rule.step == "away" and values[k] > 1.0
            if rule.step in ("line-search", "2/(k+2)"):
                assert excess <= 8 * energy * rule.radius**2 / (k + 3) + slack
                least = min(least, (record["gap"], record["correlation"]))
                assert least[0] <= 17.4 * energy * rule.radius**2 / k
                assert least[1] <= fitted / (4 * rule.radius) + 17.4 * energy * rule.radius / k + slack
            elif rule.step == "away":
                assert excess <= 8 * energy * rule.radius**2 / (k - dropped + 3) + slack
            else:
                start = question.energy / 2 - optimum
                assert excess <= (1 - rule.step) ** k * start + 2 * rule.step * energy * rule.radius**2 + slack
            best = min(other["gap"] for other in found.history[: k + 1])
            assert best <= record["gap_bound"] + slack
            assert least[1] == np.inf or least[1] <= record["correlation_bound"] + slack


@by_rule
def test_norms_and_numbers_of_weights(rule):
    for seed in range(10):
        X, y, weight = data(seed, n=15)
        found = trace(LeastSquares(bound(X), y, weight), rule, tol=0.0, max_rounds=60)
        path = weights_after_every_round(found, 15)
        rounds = np.arange(found.n_rounds + 1)
        if isinstance(rule, ForwardStagewise):
            assert np.all(np.abs(path).sum(axis=1) <= rounds * rule.number + 1e-12)
        else:
            assert np.all(np.abs(path).sum(axis=1) <= rule.radius * (1 + 1e-12))
        assert np.all(np.count_nonzero(path, axis=1) <= rounds)


def test_a_constant_share_in_a_huge_ball_is_forward_stagewise():
    X, y, weight = data(5)
    question = LeastSquares(bound(X), y, weight)
    plain = trace(question, ForwardStagewise(0.05), tol=0.0, max_rounds=40)
    shrunken = trace(question, shrunken_stagewise(0.05, 1e9), tol=0.0, max_rounds=40)
    np.testing.assert_array_equal(plain.steps.keys, shrunken.steps.keys)
    np.testing.assert_allclose(plain.coef, shrunken.coef, atol=1e-7)


def test_line_search_never_goes_up_and_away_steps_converge_linearly():
    X, y, weight = data(6, m=80, n=25)
    matrix, target = whitened(X, y, weight)
    radius = 0.6 * np.abs(np.linalg.lstsq(matrix, target)[0]).sum()
    optimum, beta = lasso(matrix, target, radius)
    question = LeastSquares(bound(X), y, weight)
    plain = trace(question, FrankWolfe(radius), tol=1e-13, max_rounds=400)
    away = trace(question, FrankWolfe(radius, "away"), tol=1e-13, max_rounds=2000)
    for found in (plain, away):
        losses = [record["loss"] for record in found.history]
        assert all(later <= earlier + 1e-12 for earlier, later in pairwise(losses))
    assert (away.reason, plain.reason) == ("gap", "max_rounds")
    coef = np.zeros(25)
    coef[away.keys] = away.coef
    np.testing.assert_allclose(coef, beta, atol=1e-5)
    assert set(np.flatnonzero(coef)) == set(np.flatnonzero(np.abs(beta) > 1e-9))
    assert away.history[-1]["loss"] == pytest.approx(optimum, rel=1e-10)
    # linear: equal numbers of rounds win equal numbers of digits, to the end
    gaps = np.array([record["gap"] for record in away.history])
    digits = -np.log10(np.minimum.accumulate(gaps) / gaps[0])
    half = len(digits) // 2
    assert digits[-1] - digits[half] > 0.25 * digits[half]
    assert gaps[-1] < 1e-6 * plain.history[-1]["gap"]


@pytest.mark.parametrize("searched", [False, True])
def test_away_steps_drop_weights_that_were_a_mistake(searched):
    rule, dropped = FrankWolfe(1.5, "away"), 0
    for seed in (6, 7, 9, 10):
        X, y, weight = data(seed, m=20, n=30)
        found = trace(LeastSquares(bound(X, searched), y, weight), rule, tol=1e-6, max_rounds=60)
        path = by_hand(*whitened(X, y, weight), rule, found.n_rounds)
        np.testing.assert_allclose(weights_after_every_round(found, 30), path, atol=1e-9)
        active = np.array([record["active"] for record in found.history])
        np.testing.assert_array_equal(active, np.count_nonzero(path, axis=1))
        dropped += np.sum(active[1:] < active[:-1])
    assert dropped >= 4


# -- ends -------------------------------------------------------------------------------------------------------


def test_a_vertex_optimum_is_certified_at_once():
    X, y, weight = data(7)
    for step in ("line-search", "2/(k+2)", "away"):
        found = trace(LeastSquares(bound(X), y, weight), FrankWolfe(1e-3, step), tol=1e-9)
        assert (found.reason, found.n_rounds, found.keys.size) == ("gap", 1, 1)
        assert np.abs(found.coef).sum() == pytest.approx(1e-3)
        assert found.reached <= found.wanted


@by_rule
@pytest.mark.parametrize("searched", [False, True])
def test_nothing_to_explain(rule, searched):
    X, y, weight = data(8)
    for target in (np.full_like(y, 3.0), np.zeros_like(y)):
        found = trace(LeastSquares(bound(X, searched), target, weight), rule)
        assert (found.n_rounds, found.keys.size) == (0, 0)
        assert found.reason in ("gap", "stationary")
        assert found.intercept == pytest.approx(target[0])
    found = trace(LeastSquares(bound(np.zeros_like(X), searched), y, weight), rule)
    assert (found.n_rounds, found.keys.size) == (0, 0)


@by_rule
def test_ties_go_to_the_lowest_index_and_zero_columns_are_never_chosen(rule):
    X, y, weight = data(9)
    X = np.column_stack([np.zeros(len(X)), X, X])
    for searched in (False, True):
        found = trace(LeastSquares(bound(X, searched), y, weight, fit_intercept=False), rule, tol=0.0, max_rounds=1)
        assert 0 < found.keys[0] < 7


def test_a_step_back_is_exactly_that():
    """Weights of FS_ε are whole numbers of steps, so that a weight that returns to zero is zero."""
    X, y, weight = data(10)
    for size in (1e-3, 3.0):
        found = trace(LeastSquares(bound(X), size * y, weight), ForwardStagewise(0.1), tol=0.0, max_rounds=101)
        path = weights_after_every_round(found, 6)
        np.testing.assert_array_equal(path, 0.1 * np.rint(path / 0.1))
        assert np.any((path[1:] == 0) & (path[:-1] != 0)) or np.abs(path).max() > 1.0


def test_targets():
    X, y, weight = data(11)
    question = LeastSquares(bound(X), y, weight)
    found = trace(question, ForwardStagewise(0.01), tol=0.2, max_rounds=5000)
    assert found.reason == "stationary"
    first, last = found.history[0]["correlation"], found.history[-1]["correlation"]
    assert last <= 0.2 * first < found.history[-2]["correlation"]
    found = trace(question, FrankWolfe(1.0, "away"), tol=1e-3)
    assert found.reason == "gap"
    assert found.history[-1]["gap"] <= 1e-3 * found.history[0]["loss"] < found.history[-2]["gap"]
    assert found.wanted == pytest.approx(1e-3 * question.energy / 2)


@by_rule
def test_a_callback_stops_where_it_says_and_time_runs_out(rule):
    question = LeastSquares(bound(data(12)[0]), *data(12)[1:])
    found = trace(question, rule, tol=0.0, monitor=Monitor(callbacks=[lambda record: record["round"] == 13]))
    assert (found.reason, found.n_rounds, found.history[-1]["round"]) == ("callback", 13, 13)
    found = trace(question, rule, tol=0.0, monitor=Monitor(time_budget=0.0))
    assert (found.reason, found.n_rounds) == ("time_budget", 0)
    found = trace(question, rule, tol=0.0, max_rounds=0)
    assert (found.reason, found.n_rounds, len(found.history)) == ("max_rounds", 0, 1)


@pytest.mark.parametrize("step", ["line-search", "away"])
def test_without_a_target_rounding_ends_a_run_in_the_end(step):
    X, y, weight = data(13, n=3)
    found = trace(LeastSquares(bound(X), y, weight), FrankWolfe(1e-2, step), tol=0.0, max_rounds=3000)
    assert found.reason in ("gap", "stalled", "max_rounds")
    assert found.reached <= 1e-12
    assert np.abs(found.coef).sum() <= 1e-2 * (1 + 1e-12)


def test_a_heuristic_search_promises_nothing():
    X, y, weight = data(14)
    for rule in RULES:
        history = trace(LeastSquares(Searched(X, exact=False), y, weight), rule, tol=0.0, max_rounds=5).history
        assert all(record["bound"] == np.inf for record in history)


def test_the_fit_of_a_large_space_is_bounded_by_the_target(monkeypatch):
    X, y, weight = data(15)
    matrix, target = whitened(X, y, weight)
    exact = LeastSquares(bound(X), y, weight).fitted_energy
    assert exact == pytest.approx(np.sum((matrix @ np.linalg.lstsq(matrix, target)[0]) ** 2))
    monkeypatch.setattr("sparseboost.solvers.least_squares.SMALL_ENTRIES", 0)
    assert LeastSquares(bound(X), y, weight).fitted_energy == pytest.approx(target @ target)
    assert target @ target > exact


def test_a_heuristic_that_finds_nothing_ends_the_run():
    class Lost(Searched):
        def search(self, *arguments, **options):
            return Candidates(np.empty(0, dtype=np.int64), 1.0)

    X, y, weight = data(16)
    for rule in RULES:
        found = trace(LeastSquares(Lost(X, exact=False), y, weight), rule)
        assert (found.reason, found.n_rounds) == ("stalled", 0)
