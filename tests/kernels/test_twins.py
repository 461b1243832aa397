"""Every compiled kernel equals its slow NumPy twin."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from components import LOSSES, PENALTIES, features, make_problem, name, weights

from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Columns
from sparseboost.kernels import classes, columns, elementary, pointwise, rows, sweeps
from sparseboost.losses import Absolute
from sparseboost.solvers import AdaBoost, GradBoost
from sparseboost.solvers.updates import force

COMPILED = [case for case in LOSSES if case.loss.kernel is not None]
every_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=name)
either = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])


def test_every_smooth_loss_and_every_penalty_has_a_compiled_form():
    smooth = [case.loss.smoothed(0.1) for case in LOSSES]
    assert all(loss.kernel is not None for loss in smooth)
    assert all(penalty.kernel is not None for penalty in PENALTIES)


# -- pointwise ---------------------------------------------------------------------------------------------------


def test_sigmoid_equals_its_definition():
    t = np.r_[np.linspace(-40, 40, 81), -1e4, 1e4]
    found = np.array([pointwise.sigmoid(one) for one in t])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(found, 1 / (1 + np.exp(-t)), rtol=1e-13)


@pytest.mark.parametrize(
    "case", [*COMPILED, *[c._replace(loss=Absolute().smoothed(0.2)) for c in LOSSES[8:10]]], ids=name
)
def test_refresh_equals_the_split_of_the_loss(case, rng):
    m = 30
    y, weight = case.y(m, rng), weights(m, rng)
    score = rng.normal(size=(m, case.k)) * np.exp(2 * rng.normal(size=(m, 1)))
    score[:3] = [[1e4], [-1e4], [0.0]]
    # what does not change with the score keeps its zero from the first split, so start there
    up, down = (weight[:, None] * part for part in case.loss.split(y, rng.normal(size=score.shape)))
    kind, p0, p1 = case.loss.kernel
    for i in range(m):
        pointwise.refresh(kind, p0, p1, i, y, weight, score, up, down)
    wanted_up, wanted_down = case.loss.split(y, score)
    np.testing.assert_allclose(up, weight[:, None] * wanted_up, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(down, weight[:, None] * wanted_down, rtol=1e-12, atol=1e-300)


# -- rows ---------------------------------------------------------------------------------------------------------


def scratch_of(k: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((4, k), np.nan), np.full(k, -1, dtype=np.int64)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 50])
def test_descending_sorts(k, rng):
    for keys in (
        rng.normal(size=k),
        np.zeros(k),
        np.arange(k, dtype=float),
        np.round(rng.normal(size=k)),
        np.r_[np.inf, np.ones(k - 1)],
    ):
        order = np.empty(k, dtype=np.int64)
        rows.descending(keys, order)
        np.testing.assert_array_equal(np.sort(order), np.arange(k))
        np.testing.assert_array_equal(keys[order], -np.sort(-keys))


@every_penalty
@pytest.mark.parametrize("k", [1, 2, 5])
def test_row_value_and_shrink_row_equal_value_and_prox(penalty, k, rng):
    blocks = rng.normal(size=(40, k)) * np.exp(rng.normal(size=(40, 1)))
    blocks[0], blocks[1] = 0.0, 1.0
    for threshold in (0.0, 1e-300, 1e-20, 0.1, 1.0, 30.0):
        wanted = penalty.prox(blocks, threshold)
        for j in range(40):
            row = blocks[j].copy()
            rows.shrink_row(penalty.kernel, row, threshold, penalty.positive, *scratch_of(k))
            np.testing.assert_allclose(row, wanted[j], rtol=1e-12, atol=1e-14)
            assert np.all((row == 0) == (wanted[j] == 0))
    values = [rows.row_value(penalty.kernel, block) for block in blocks]
    np.testing.assert_allclose(values, penalty.value(blocks), rtol=1e-13)


@every_penalty
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("size", [0.0, 1.0, 1e4])
def test_exponential_row_equals_exponential_step(penalty, k, size, rng):
    if not penalty.has_exponential_step(k):
        return
    n = 60
    plus, minus = rng.exponential(size=(2, n, k)) * (rng.random((2, n, k)) > 0.2)
    plus[:3], minus[2:4], minus[5] = 0.0, 0.0, plus[5]
    plus[6], minus[7] = 1e-320, 1e-305
    room = rng.exponential(size=n) + 0.05
    blocks = size * room[:, None] * rng.normal(size=(n, k))
    blocks = np.abs(blocks) if penalty.positive else blocks
    for strength in (0.0, 1e-8, 0.3, 2.0, 100.0):
        wanted = penalty.exponential_step(blocks, plus, minus, room, np.full(n, strength))
        for j in range(n):
            row = blocks[j].copy()
            rows.exponential_row(
                penalty.kernel, row, plus[j], minus[j], room[j], strength, penalty.positive, *scratch_of(k)
            )
            np.testing.assert_allclose(row, wanted[j], rtol=1e-11, atol=1e-11 * max(1.0, size) * room[j])


@pytest.mark.parametrize("positive", [False, True])
def test_linf_rows_on_the_edge_of_zero_are_zero_in_both_forms(positive, rng):
    """Strength within rounding of Σ|A−B|: outputs that may not move must not lift the level of those that may."""
    from sparseboost.penalties import L1Linf

    penalty, k = L1Linf(positive), 4
    for _ in range(2000):
        plus, minus = rng.exponential(size=(2, 1, k))
        minus[0, 1:] += 50.0 * (positive or rng.random() < 0.5)
        strength = float(penalty.dual_norm(minus - plus)[0]) * (1 + rng.integers(-3, 4) * 2.2e-16)
        if strength <= 0:
            continue
        row = np.zeros(k)
        rows.exponential_row(penalty.kernel, row, plus[0], minus[0], 1.0, strength, positive, *scratch_of(k))
        wanted = penalty.exponential_step(np.zeros((1, k)), plus, minus, np.ones(1), np.array([strength]))
        assert np.abs(row).max() <= 1e-12
        assert np.abs(wanted).max() <= 1e-12


# -- columns ------------------------------------------------------------------------------------------------------


def columns_of(X) -> Columns:
    return Columns(X if sp.issparse(X) else np.asfortranarray(X))


@either
@pytest.mark.parametrize("k", [1, 3])
def test_split_correlate_equals_two_products(sparse, k, rng):
    X = features(25, 9, rng, sparse=sparse, zero_column=True)
    up, down = rng.exponential(size=(2, 25, k))
    plus, minus = columns_of(X).split_correlate(up, down)
    full = X.toarray() if sparse else X
    right, left = np.maximum(full, 0.0), np.maximum(-full, 0.0)
    np.testing.assert_allclose(plus, right.T @ down + left.T @ up, rtol=1e-12)
    np.testing.assert_allclose(minus, right.T @ up + left.T @ down, rtol=1e-12)


@pytest.mark.parametrize("m", [25, 300])  # short columns and such that are summed four entries at a time
@pytest.mark.parametrize("k", range(1, 12))
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_correlate_is_the_product_of_the_chosen_columns(m, k, index, dtype, rng):
    X, keys = features(m, 9, rng, sparse=True).astype(dtype), np.array([6, 2, 3])
    assert (np.diff(X.indptr)[keys] > columns.LONG).all() == (m == 300)
    force_ = rng.normal(size=(m, k))
    out, squares, nothing = np.empty((3, k)), np.empty(3), np.empty(0)
    columns.correlate(X.data, X.indices.astype(index), X.indptr.astype(index), keys, force_, out, squares)
    full = X.toarray().astype(np.float64)[:, keys]
    np.testing.assert_allclose(out, full.T @ force_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(squares, (full**2).sum(axis=0), rtol=1e-12)
    other = np.empty((3, k))
    columns.correlate(X.data, X.indices.astype(index), X.indptr.astype(index), keys, force_, other, nothing)
    np.testing.assert_array_equal(other, out)


@pytest.mark.parametrize("first", [0, 1, 3, 6])
def test_sparse_inner_is_the_weighted_product_of_the_placed_columns(first, rng):
    X, weight = features(25, 9, rng, sparse=True), rng.exponential(size=25)
    place = rng.permutation(9) - 2  # two are left out
    rows, out = X.tocsr(), np.zeros((7, 7 - first))
    columns.sparse_inner(rows.data, rows.indices, rows.indptr, weight, place, first, out)
    chosen = X.toarray()[:, np.argsort(place)[2:]]
    np.testing.assert_allclose(out, (chosen.T @ (weight[:, None] * chosen))[:, first:], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_correlate_dense_is_the_product_of_the_chosen_columns(dtype, rng):
    lines, keys = rng.normal(size=(9, 25)).astype(dtype), np.array([6, 2, 3])
    force, out, squares = rng.normal(size=25), np.empty(3), np.empty(3)
    columns.correlate_dense(lines, keys, force, out, squares)
    full = lines[keys].astype(np.float64)
    np.testing.assert_allclose(out, full @ force, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(squares, (full**2).sum(axis=1), rtol=1e-12)


# -- rows of outputs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3])
def test_sums_and_products_by_rows_are_those_of_numpy(k, rng):
    values, weight = rng.normal(size=(25, k)), rng.exponential(size=25) * (rng.random(25) < 0.7)
    sums, product, ratio = np.empty((2, k)), np.empty((25, k)), np.empty((25, k))
    elementary.sums_by_sign(weight, values, sums)
    elementary.times_rows(weight, values, product)
    elementary.over_rows(weight, values, ratio)
    np.testing.assert_allclose(sums, [weight @ np.maximum(values, 0.0), weight @ np.maximum(-values, 0.0)], rtol=1e-12)
    np.testing.assert_array_equal(product, weight[:, None] * values)
    np.testing.assert_array_equal(ratio, values / np.where(weight > 0.0, weight, 1.0)[:, None])


# -- sweeps -------------------------------------------------------------------------------------------------------


def slow_sweep(update, problem, ensemble, room, coef, score):
    """One row at a time with `Update.propose`, the gradient taken anew after each."""
    total = 0.0
    coef, score = coef.copy(), score.copy()
    for j in range(ensemble.size):
        only = np.where(np.arange(ensemble.size) == j, room, 0.0)
        strength = problem.strength(ensemble)
        moved, gain = update.propose(problem, ensemble.columns, coef, only, strength, force(problem, score))
        score = score + ensemble.columns.dot(moved - coef)
        coef, total = moved, total + gain.sum()
    return coef, score, total


@pytest.mark.parametrize("case", COMPILED, ids=name)
@every_penalty
@either
def test_sweep_equals_a_plain_loop(case, penalty, sparse, rng):
    m, n = 14, 5
    X = features(m, n, rng, sparse=sparse, zero_column=True)
    y, weight = case.y(m, rng), weights(m, rng)
    problem = make_problem(case, penalty, X, y, alpha=0.02, weight=weight, cost=rng.uniform(0.5, 2, size=n))
    ensemble = Ensemble.empty(problem.dictionary, problem.start).extend(problem.dictionary, np.arange(n))
    coef = 0.3 * rng.normal(size=(n, case.k)) * (rng.random((n, 1)) < 0.6)
    coef = np.abs(coef) if penalty.positive else coef
    score = ensemble.columns.dot(coef) + ensemble.intercept
    for update in (AdaBoost(), GradBoost()):
        try:
            update.check(problem)
        except ValueError:
            continue
        room = update.single_room(problem, ensemble.columns)
        room[0] = 0.0
        wanted_coef, wanted_score, wanted = slow_sweep(update, problem, ensemble, room, coef, score)
        fast_coef, fast_score = coef.copy(), score.copy()
        up, down = force(problem, score)
        found = sweeps.sweep(
            update.exponential, *ensemble.columns.flat, room, problem.strength(ensemble), fast_coef, penalty.kernel,
            penalty.positive, case.loss.kernel, y, problem.weight, fast_score, up, down,
        )  # fmt: skip
        np.testing.assert_allclose(fast_coef, wanted_coef, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(fast_score, wanted_score, rtol=1e-9, atol=1e-12)
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-13)
        for part, twin in zip((up, down), force(problem, fast_score), strict=True):
            np.testing.assert_allclose(part, twin, rtol=1e-12, atol=1e-16)
        np.testing.assert_array_equal(fast_coef[0], coef[0])


@pytest.mark.parametrize("case", COMPILED, ids=name)
def test_shift_equals_the_step_of_a_column_of_ones(case, rng):
    """The intercept is a row with a column of ones and no penalty (T6)."""
    from sparseboost.penalties import NoPenalty

    m = 15
    y, weight = case.y(m, rng), weights(m, rng)
    problem = make_problem(case, NoPenalty(), np.ones((m, 1)), y, alpha=0.0, weight=weight)
    ensemble = Ensemble.empty(problem.dictionary, problem.start).extend(problem.dictionary, np.arange(1))
    score = rng.normal(size=(m, case.k))
    exponential, room = GradBoost().intercept_room(problem)
    update = AdaBoost() if exponential else GradBoost()
    wanted, gain = update.propose(
        problem, ensemble.columns, np.zeros((1, case.k)), np.array([room]), np.zeros(1), force(problem, score)
    )
    intercept, moved = np.full(case.k, 0.7), score.copy()
    up, down = force(problem, score)
    found = sweeps.shift(exponential, room, intercept, case.loss.kernel, y, problem.weight, moved, up, down)
    np.testing.assert_allclose(intercept, 0.7 + wanted[0], rtol=1e-12)
    np.testing.assert_allclose(moved, score + wanted, rtol=1e-12)
    assert found == pytest.approx(gain[0], rel=1e-9)
    for part, twin in zip((up, down), force(problem, moved), strict=True):
        np.testing.assert_allclose(part, twin, rtol=1e-12, atol=1e-16)


def test_crammer_singer_equals_its_definition(rng: np.random.Generator) -> None:
    score = rng.integers(-2, 3, size=(500, 4)).astype(float)  # many ties and corners
    own = rng.integers(4, size=500)
    value, gradient = np.empty(500), np.empty((500, 4))
    classes.crammer_singer(own, score, value, gradient)
    mine = np.eye(4)[own]
    raised = score + 1.0 - mine
    wanted = raised.max(axis=1) - score[np.arange(500), own]
    top = np.where(wanted > 0, raised.argmax(axis=1), own)
    np.testing.assert_array_equal(value, wanted)
    np.testing.assert_array_equal(gradient, np.eye(4)[top] - mine)
