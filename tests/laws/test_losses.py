"""Laws of losses: calculus, duality, the best constant, the intercept's repair, extreme scores."""

from __future__ import annotations

import numpy as np
import pytest
from components import COUPLED, LOSSES, SMOOTH, LossCase, name, weights
from scipy.optimize import linprog, minimize, minimize_scalar
from scipy.special import expit, softmax

import sparseboost.losses as package
from sparseboost.losses import (
    Absolute,
    EpsInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Loss,
    MulticlassHinge,
    Pairwise,
    PairwiseLogistic,
    Quantile,
    Softmax,
    Squared,
)

pytestmark = pytest.mark.filterwarnings("error")
every_loss = pytest.mark.parametrize("case", LOSSES, ids=name)
smooth_loss = pytest.mark.parametrize("case", SMOOTH, ids=name)
M = 40


def sample(case: LossCase, rng: np.random.Generator, m: int = M, spread: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    return case.y(m, rng), spread * rng.normal(size=(m, case.k))


def dual_points(case: LossCase, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Targets and points well inside the conjugate's domain: shrunk gradients (domains are star-shaped)."""
    y, score = sample(case, rng)
    return y, case.loss.gradient(y, score) * rng.uniform(0.05, 0.95, size=(M, 1))


# -- calculus ------------------------------------------------------------------------------------------------


@every_loss
def test_gradient_is_the_finite_difference_of_the_value(case, rng):
    y, score = sample(case, rng)
    h = 1e-6
    gradient = case.loss.gradient(y, score)
    for r in range(case.k):
        step = h * np.eye(case.k)[r]
        difference = (case.loss.value(y, score + step) - case.loss.value(y, score - step)) / (2 * h)
        np.testing.assert_allclose(gradient[:, r], difference, rtol=1e-6, atol=1e-7)


@smooth_loss
def test_the_model_of_a_newton_step_is_the_loss_its_gradient_and_a_curvature(case, rng):
    y, score = sample(case, rng, spread=4.0)
    weight = weights(M, rng)
    total, force, local = case.loss.model(y, weight, score)
    assert total == pytest.approx(weight @ case.loss.value(y, score), rel=1e-12)
    np.testing.assert_allclose(force, weight[:, None] * case.loss.gradient(y, score), rtol=1e-12, atol=1e-300)
    truth = case.loss.model_curvature(y, score)
    if truth is None:
        assert local is None
    else:
        np.testing.assert_allclose(local, truth, rtol=1e-12)


def test_the_curvature_of_an_example_on_the_wrong_side_is_that_of_one_three_away(rng):
    y, score = rng.choice([-1.0, 1.0], size=(M, 2)), 4.0 * rng.normal(size=(M, 2))
    assert np.any(y * score < -3.0)
    nearer = np.maximum(y * score, -3.0)
    np.testing.assert_allclose(Logistic().model_curvature(y, score), expit(nearer) * expit(-nearer), rtol=1e-12)
    y, score, every = rng.integers(4, size=(M, 1)), 4.0 * rng.normal(size=(M, 4)), np.arange(M)
    nearer = score.copy()
    nearer[every, y[:, 0]] = np.maximum(nearer[every, y[:, 0]], score.max(axis=1) - 3.0)
    assert np.any(nearer != score)
    np.testing.assert_allclose(Softmax(4).model_curvature(y, score), softmax(nearer, axis=1), rtol=1e-12)


@every_loss
def test_value_is_convex_along_lines(case, rng):
    y, score = sample(case, rng)
    other = 3 * rng.normal(size=score.shape)
    t = rng.random((M, 1))
    chord = t[:, 0] * case.loss.value(y, score) + (1 - t[:, 0]) * case.loss.value(y, other)
    assert np.all(case.loss.value(y, t * score + (1 - t) * other) <= chord * (1 + 1e-12) + 1e-12)


@every_loss
def test_split_is_the_gradient_in_non_negative_parts(case, rng):
    y, score = sample(case, rng)
    up, down = case.loss.split(y, score)
    assert np.all(up >= 0)
    assert np.all(down >= 0)
    np.testing.assert_allclose(up - down, case.loss.gradient(y, score), rtol=1e-13, atol=1e-15)
    if case.targets == "signs":  # only the label's own direction is pulled (T1)
        assert np.all(up[y > 0] == 0)
        assert np.all(down[y < 0] == 0)
    elif case.targets == "classes":
        own = np.arange(case.k) == y
        assert np.all(up[own] == 0)
        assert np.all(down[~own] == 0)
    elif not isinstance(case.loss, EpsInsensitive):
        assert np.all(np.minimum(up, down) == 0)


def test_split_of_eps_insensitive_is_the_pair_of_sigmoids():
    t = np.array([[-2.0], [0.0], [0.7]])
    up, down = EpsInsensitive(0.3).split(np.zeros_like(t), t)
    np.testing.assert_allclose(up, 1 / (1 + np.exp(-(t - 0.3))))
    np.testing.assert_allclose(down, 1 / (1 + np.exp(t + 0.3)))


def hessians(case: LossCase, y: np.ndarray, score: np.ndarray, h: float = 1e-5) -> np.ndarray:
    columns = []
    for r in range(case.k):
        step = h * np.eye(case.k)[r]
        columns.append((case.loss.gradient(y, score + step) - case.loss.gradient(y, score - step)) / (2 * h))
    return np.stack(columns, axis=2)


@every_loss
def test_curvature_bounds_the_hessian_and_local_curvature_is_its_diagonal(case, rng):
    y, score = sample(case, rng, m=200)
    if isinstance(case.loss, Huber):  # keep off the two points without a second derivative
        t = np.abs(np.abs(score - y) - case.loss.width)
        score = np.where(t < 1e-3, y, score)
    hessian = hessians(case, y, score)
    local = case.loss.local_curvature(y, score)
    if local is not None:
        np.testing.assert_allclose(local, np.einsum("irr->ir", hessian), rtol=1e-5, atol=1e-6)
    if case.loss.curvature is not None:
        eigenvalues = np.linalg.eigvalsh(0.5 * (hessian + np.swapaxes(hessian, 1, 2)))
        assert eigenvalues.max() <= case.loss.curvature + 1e-8
        assert local is not None
        assert np.all(local <= case.loss.curvature + 1e-15)


@pytest.mark.parametrize("case", [c for c in LOSSES if c.loss.curvature is not None], ids=name)
def test_curvature_is_tight(case):
    if case.targets == "classes":  # two equal classes far above the rest; for pairs, all equal
        y, score = np.zeros((1, 1)), np.full((1, case.k), -40.0)
        score[0, : case.k if isinstance(case.loss, PairwiseLogistic) else 2] = 0.0
        assert np.linalg.eigvalsh(hessians(case, y, score)[0]).max() == pytest.approx(case.loss.curvature, abs=1e-6)
        return
    grid = np.linspace(-60, 60, 120_001)[:, None] + np.zeros(case.k)
    y = np.ones_like(grid) if case.targets == "signs" else np.zeros_like(grid)
    assert case.loss.local_curvature(y, grid).max() == pytest.approx(case.loss.curvature, rel=1e-6)


@pytest.mark.parametrize("case", [c for c in LOSSES if c.loss.room is not None], ids=name)
@pytest.mark.parametrize("size", [0.01, 0.5, 3.0])
def test_room_makes_the_exponential_bound_hold(case, size, rng):
    """B1 for one row with a = 1: |x| ≤ room and any change of scores x·δ."""
    y, score = sample(case, rng, m=400)
    x = case.loss.room * rng.uniform(-1, 1, size=(400, 1))
    x[:40] = case.loss.room
    delta = size * rng.normal(size=score.shape)
    up, down = case.loss.split(y, score)
    plus, minus = np.where(x > 0, x * down, -x * up), np.where(x > 0, x * up, -x * down)
    promised = (plus * -np.expm1(-delta) + minus * -np.expm1(delta)).sum(axis=1)
    real = case.loss.value(y, score) - case.loss.value(y, score + x * delta)
    assert np.all(real >= promised - 1e-12 * (1 + np.abs(promised)))


# -- duality -------------------------------------------------------------------------------------------------


@every_loss
def test_fenchel_young_with_equality_at_the_gradient(case, rng):
    y, score = sample(case, rng)
    gradient = case.loss.gradient(y, score)
    value = case.loss.value(y, score)
    touching = (score * gradient).sum(axis=1)
    np.testing.assert_allclose(value + case.loss.conjugate(y, gradient), touching, rtol=1e-9, atol=1e-9)
    _, dual = dual_points(case, np.random.default_rng(20240607))  # the same targets
    slack = value + case.loss.conjugate(y, dual) - (score * dual).sum(axis=1)
    assert np.all(slack >= -1e-10)


@every_loss
def test_dual_value_is_the_weighted_sum_of_conjugates(case, rng):
    y, dual = dual_points(case, rng)
    weight = weights(len(y), rng)
    for scale in (1.0, 0.3):
        expected = -float(weight @ case.loss.conjugate(y, scale * dual))
        assert case.loss.dual_value(y, dual, weight, scale) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    weight[0] = 1.0
    far = np.full_like(dual, 1e6)
    outside = -float(weight @ case.loss.conjugate(y, far))
    assert case.loss.dual_value(y, far, weight) == pytest.approx(outside)  # −∞ where the domain is bounded


@every_loss
def test_conjugate_is_the_numeric_supremum(case, rng):
    y, dual = dual_points(case, rng)
    exact = case.loss.conjugate(y, dual)
    for i in range(5):
        if isinstance(case.loss, MulticlassHinge):
            found = lowest_of_a_maximum(case, int(y[i, 0]), dual[i])
        elif case.targets == "classes":
            found = minimize(
                lambda z, i=i: case.loss.value(y[i : i + 1], z[None])[0] - z @ dual[i],
                np.zeros(case.k),
                jac=lambda z, i=i: case.loss.gradient(y[i : i + 1], z[None])[0] - dual[i],
                tol=1e-10,
            ).fun
        else:  # outputs are independent
            found = sum(
                minimize_scalar(
                    lambda z, r=r, i=i: case.loss.value(y[i : i + 1, r : r + 1], np.array([[z]]))[0] - z * dual[i, r],
                    bounds=(-80.0, 80.0),
                    method="bounded",
                    options={"xatol": 1e-9},
                ).fun
                for r in range(case.k)
            )
        assert exact[i] == pytest.approx(-found, rel=1e-6, abs=1e-6)


def lowest_of_a_maximum(case: LossCase, own: int, dual: np.ndarray) -> float:
    """min over z of max_r (1{r≠y} + z_r − z_y) − ⟨z, dual⟩, by a linear program in (z, maximum)."""
    k = case.k
    rows = np.hstack([np.eye(k) - np.eye(k)[own], -np.ones((k, 1))])
    return linprog(np.r_[-dual, 1.0], rows, (np.arange(k) == own) - 1.0, bounds=(None, None)).fun


def outside(case: LossCase) -> list[np.ndarray]:
    """Dual points beyond the domain, for targets 1 (signs), class 0 or 0.0 (reals)."""
    if isinstance(case.loss, Squared):
        return []
    if isinstance(case.loss, Exponential):
        bad = [0.1]
    elif case.targets == "signs":
        bad = [0.1, -1.1]
    elif case.targets == "classes":
        hot = np.eye(case.k)[0]
        if isinstance(case.loss, PairwiseLogistic):  # every pair may push at most 1/k, from class 0 to the other
            pair = (np.eye(case.k)[1] - hot) / case.k
            return [1.1 * pair, -0.1 * pair, pair + 0.01 * hot]
        return [0.6 * np.ones(case.k) - hot, 0.1 * hot, np.r_[1.2, -0.2, np.zeros(case.k - 2)] - hot]
    else:
        height = case.loss.width if isinstance(case.loss, Huber) else 1.0
        bad = [1.01 * height, -1.01 * height]
    return [np.r_[value, np.zeros(case.k - 1)] for value in bad]


@every_loss
def test_conjugate_is_infinite_outside_its_domain(case):
    y = np.full(
        (1, 1 if case.targets == "classes" else case.k), {"signs": 1.0, "classes": 0.0, "reals": 0.0}[case.targets]
    )
    for dual in outside(case):
        assert case.loss.conjugate(y, dual[None])[0] == np.inf
        far = [1e5 * sign * axis for axis in (*np.eye(case.k), np.ones(case.k)) for sign in (-1.0, 1.0)]
        growth = max(z @ dual - case.loss.value(y, z[None])[0] for z in far)
        assert growth > 1e2, "the supremum must really be infinite there"


@every_loss
def test_zero_lies_in_the_domain_and_domains_are_star_shaped(case, rng):
    y, score = sample(case, rng, spread=5.0)
    gradient = case.loss.gradient(y, score)
    for scale in (0.0, 1e-9, 0.5, 1.0 - 1e-12, 1.0):
        assert np.all(np.isfinite(case.loss.conjugate(y, scale * gradient)))


@pytest.mark.parametrize("eps", [0.0, 10.0, 300.0, 400.0, 800.0, 1e5])
def test_eps_insensitive_conjugate_is_finite_for_any_tube(eps):
    loss, dual = EpsInsensitive(eps), np.array([[-1.0], [-0.5], [-1e-12], [0.0], [1e-300], [0.3], [1.0 - 1e-16], [1.0]])
    value = loss.conjugate(np.zeros_like(dual), dual)
    assert np.all(np.isfinite(value))
    assert value[3] == pytest.approx(-loss.value(np.zeros((1, 1)), np.zeros((1, 1)))[0], abs=1e-300)
    np.testing.assert_allclose(value[[0, -1]], eps)
    for t in (0.0, 0.5 * eps, eps, eps + 3.0):  # Fenchel–Young
        score = np.full_like(dual, t)
        slack = value + loss.value(np.zeros_like(dual), score) - (score * dual)[:, 0]
        assert np.all(slack >= -1e-13 * (1 + eps))


PROXIMAL = [
    (Hinge(), "signs", 1), (Hinge(), "signs", 2), (MulticlassHinge(4), "classes", 4),
    (Pairwise(Hinge(), 4), "classes", 4), (Pairwise(Hinge(), 2), "classes", 2),
]  # fmt: skip


@pytest.mark.parametrize(("loss", "targets", "k"), PROXIMAL, ids=lambda part: repr(part))
@pytest.mark.parametrize("step", [1e-3, 0.3, 1.0, 40.0])
def test_envelope_gradients_are_subgradients_at_the_proximal_point(loss, targets, k, step, rng):
    """v ∈ ∂ℓ(score − step·v), which Fenchel–Young's equality says without any calculus."""
    case = LossCase(loss, k, targets)
    y, score = sample(case, rng, m=300)
    score[:20] = np.round(score[:20])  # on corners
    dual = loss.envelope_gradient(y, score, step)
    found = score - step * dual
    touching = (found * dual).sum(axis=1)
    np.testing.assert_allclose(loss.value(y, found) + loss.conjugate(y, dual), touching, atol=1e-10 * max(step, 1.0))
    if case.targets == "classes":
        np.testing.assert_allclose(dual.sum(axis=1), 0.0, atol=1e-10)


@pytest.mark.parametrize("case", LOSSES, ids=name)
def test_what_is_smooth_has_no_envelope_of_something_else(case, rng):
    y, score = sample(case, rng)
    assert case.loss.smoothed(0.3).envelope_gradient(y, score, 1.0) is None


# -- constants, balance, scale ---------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_start_is_the_best_constant(case, weighted, rng):
    y = case.y(M, rng)
    weight = weights(M, rng) if weighted else np.full(M, 1.0 / M)

    def mean(constant):
        return weight @ case.loss.value(y, np.broadcast_to(constant, (M, case.k)))

    start = case.loss.start(y, weight)
    assert start.shape == (case.k,)
    found = minimize(mean, start + 0.3, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 2000})
    assert mean(start) <= found.fun + 1e-10
    if case.loss.smoothed(1.0) is case.loss:
        slope = weight @ case.loss.gradient(y, np.broadcast_to(start, (M, case.k)))
        np.testing.assert_allclose(slope, 0.0, atol=1e-10)


@every_loss
def test_start_is_finite_when_targets_are_all_alike(case):
    y = np.ones((6, 1 if case.targets == "classes" else case.k))
    start = case.loss.start(y, np.full(6, 1 / 6))
    assert np.all(np.isfinite(start))
    other = start + 0.1
    assert case.loss.value(y[:1], start[None])[0] <= case.loss.value(y[:1], other[None])[0] + 1e-6


@pytest.mark.parametrize("case", [c for c in LOSSES if c.targets == "reals"], ids=name)
@pytest.mark.parametrize("size", [1e-12, 1e9])
def test_start_follows_the_unit_of_the_targets(case, size, rng):
    """A mean slope of zero, whatever unit the targets are in."""
    y, weight = size * case.y(M, rng), weights(M, rng)
    start = case.loss.start(y, weight)
    assert np.all((start >= y.min(axis=0)) & (start <= y.max(axis=0)))
    step = 1e-3 * size

    def mean(constant):
        return weight @ case.loss.value(y, np.broadcast_to(constant, (M, case.k)))

    assert mean(start) <= min(mean(start + step), mean(start - step)) * (1 + 1e-14)


@every_loss
def test_integer_weights_equal_repeated_rows(case, rng):
    y, score = sample(case, rng)
    count = rng.integers(1, 4, size=M)
    copies = np.repeat(np.arange(M), count)
    weight, ones = count / count.sum(), np.full(copies.size, 1.0 / copies.size)
    dual = case.loss.gradient(y, score)
    np.testing.assert_allclose(case.loss.start(y, weight), case.loss.start(y[copies], ones), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        case.loss.balance(y, dual, weight)[copies],
        case.loss.balance(y[copies], dual[copies], ones),
        rtol=1e-10,
        atol=1e-12,
    )
    one = case.loss.best_scale(y, dual, weight, 0.7)
    assert one == pytest.approx(case.loss.best_scale(y[copies], dual[copies], ones, 0.7), rel=1e-10)


@every_loss
def test_balance_meets_the_intercepts_constraint_inside_the_domain(case, rng):
    for _ in range(5):
        y, score = sample(case, rng)
        weight, gradient = weights(M, rng), case.loss.gradient(y, score)
        balanced = case.loss.balance(y, gradient, weight)
        np.testing.assert_allclose(weight @ balanced, 0.0, atol=1e-14 * max(1.0, np.abs(gradient).max()))
        assert np.all(np.isfinite(case.loss.conjugate(y, balanced)))
        again = case.loss.balance(y, balanced, weight)
        np.testing.assert_allclose(again, balanced, atol=1e-12)


@every_loss
def test_balance_survives_one_sided_targets_and_zero_duals(case):
    y = np.ones((4, 1 if case.targets == "classes" else case.k))
    weight = np.full(4, 0.25)
    for score in (np.zeros((4, case.k)), y + np.zeros((4, case.k)), np.full((4, case.k), -50.0)):
        balanced = case.loss.balance(y, case.loss.gradient(y, score), weight)
        np.testing.assert_allclose(weight @ balanced, 0.0, atol=1e-14)
        assert np.all(np.isfinite(case.loss.conjugate(y, balanced)))


@every_loss
def test_balance_of_the_best_constant_is_nearly_free(case, rng):
    """At the optimum of the intercept the repair changes nothing, so the gap can close."""
    if not case.loss.smooth:
        return  # its subgradient at the kink is a set
    y, weight = case.y(M, rng), weights(M, rng)
    dual = case.loss.gradient(y, np.broadcast_to(case.loss.start(y, weight), (M, case.k)))
    np.testing.assert_allclose(case.loss.balance(y, dual, weight), dual, atol=1e-8)


def test_balance_of_absolute_lets_the_kink_absorb_the_imbalance(rng):
    y = rng.normal(size=(9, 1))
    weight = np.full(9, 1 / 9)
    dual = np.sign(np.median(y) - y)  # one example sits on the kink
    np.testing.assert_array_equal(Absolute().balance(y, dual, weight), dual)
    weight = np.r_[0.2, np.full(8, 0.1)]
    start = Absolute().start(y, weight)
    balanced = Absolute().balance(y, np.sign(start - y), weight)
    off = (y != start)[:, 0]
    np.testing.assert_allclose(balanced[off], np.sign(start - y)[off], atol=1e-12)
    assert abs(weight @ balanced) <= 1e-15


@every_loss
@pytest.mark.parametrize("limit", [0.0, 0.3, 0.99, 2.5, np.inf])
def test_best_scale_stays_within_its_limit_and_wins_where_exact(case, limit, rng):
    for _ in range(4):
        y, score = sample(case, rng)
        weight = weights(M, rng)
        dual = case.loss.gradient(y, score)
        scale = case.loss.best_scale(y, dual, weight, limit)
        assert 0.0 <= scale <= limit

        def worth(t, y=y, dual=dual, weight=weight):
            return -(weight @ case.loss.conjugate(y, t * dual))

        assert np.isfinite(worth(scale))
        top = min(limit, 5.0) if isinstance(case.loss, Exponential | Squared) else min(limit, 1.0)
        grid = max(worth(t) for t in np.linspace(0, top, 60))
        if isinstance(case.loss, Exponential | Squared):
            assert worth(scale) >= grid - 1e-12 * (1 + abs(grid))


def test_best_scale_of_a_zero_dual_point():
    y, zero, weight = np.ones((3, 1)), np.zeros((3, 1)), np.full(3, 1 / 3)
    for loss in (Exponential(), Squared(), Logistic()):
        assert loss.best_scale(y, zero, weight, 0.4) <= 0.4


# -- extremes ----------------------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_scores_of_any_size_stay_finite(case, size, rng):
    y = case.y(12, rng)
    score = np.full((12, case.k), size)
    score[::2, 0] *= -1
    weight = np.full(12, 1 / 12)
    answers = [case.loss.value(y, score), case.loss.gradient(y, score), *case.loss.split(y, score)]
    answers.append(case.loss.decode(score))
    if case.loss.local_curvature(y, score) is not None:
        answers.append(case.loss.local_curvature(y, score))
    balanced = case.loss.balance(y, case.loss.gradient(y, score), weight)
    answers += [balanced, case.loss.conjugate(y, balanced)]
    assert all(np.all(np.isfinite(answer)) for answer in answers)
    scale = case.loss.best_scale(y, balanced, weight, 0.5)
    assert np.all(np.isfinite(case.loss.conjugate(y, scale * balanced)))


@smooth_loss
def test_small_gradients_are_not_lost_to_subtraction(case):
    """1 − q comes from the opposite sigmoid: the pull of a well-classified example is tiny, not zero (T7)."""
    if case.targets == "reals":
        return
    y = np.zeros((1, 1)) if case.targets == "classes" else np.ones((1, case.k))
    score = np.zeros((1, case.k))
    score[0, 0] = 50.0
    up, down = case.loss.split(y, score)
    expected = (case.k - 1) * np.exp(-50.0) if case.targets == "classes" else np.exp(-50.0)
    expected /= case.k if isinstance(case.loss, PairwiseLogistic) else 1
    assert down[0, 0] == pytest.approx(expected, rel=1e-10)
    assert up[0, 0] == 0.0


# -- smoothing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1e-8, 0.01, 1.0, 5.0])
def test_smoothed_absolute_lies_just_below_with_gradients_in_the_domain(width, rng):
    y = rng.normal(size=(300, 2))
    score = y + width * rng.normal(size=y.shape) * rng.choice([1e-3, 1.0, 10.0], size=y.shape)
    smooth = Absolute().smoothed(width)
    below = Absolute().value(y, score) - smooth.value(y, score)
    assert np.all(below >= -1e-12)
    assert np.all(below <= 2 * width / 2 + 1e-12)  # two outputs
    assert np.all(np.isfinite(Absolute().conjugate(y, smooth.gradient(y, score))))
    assert smooth.curvature == pytest.approx(1 / width)
    h = 1e-6 * width
    step = np.array([h, 0.0])
    difference = (smooth.value(y, score + step) - smooth.value(y, score - step)) / (2 * h)
    np.testing.assert_allclose(smooth.gradient(y, score)[:, 0], difference, atol=1e-4 + 1e-9 / width)


@smooth_loss
def test_a_smooth_loss_is_its_own_smoothing(case):
    assert case.loss.smoothed(0.1) is case.loss


# -- invariances ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [c for c in LOSSES if c.targets == "reals"], ids=name)
def test_regression_losses_see_only_residuals_and_are_even(case, rng):
    y, score = sample(case, rng)
    move = rng.normal(size=case.k)
    np.testing.assert_allclose(
        case.loss.value(y + move, score + move), case.loss.value(y, score), rtol=1e-9, atol=1e-12
    )
    mirror = Quantile(1.0 - case.loss.q) if isinstance(case.loss, Quantile) else case.loss  # the others are even
    np.testing.assert_allclose(mirror.value(score, y), case.loss.value(y, score), rtol=1e-12)
    np.testing.assert_allclose(mirror.gradient(-y, -score), -case.loss.gradient(y, score), rtol=1e-12)


def test_homogeneity(rng):
    y, z = rng.normal(size=(2, 30, 2))
    for t in (0.1, 7.0):
        np.testing.assert_allclose(Squared().value(t * y, t * z), t**2 * Squared().value(y, z))
        np.testing.assert_allclose(Absolute().value(t * y, t * z), t * Absolute().value(y, z))
        np.testing.assert_allclose(Huber(0.5 * t).value(t * y, t * z), t**2 * Huber(0.5).value(y, z))


@pytest.mark.parametrize("case", [c for c in LOSSES if c.targets == "signs"], ids=name)
def test_label_symmetry(case, rng):
    y, score = sample(case, rng)
    np.testing.assert_array_equal(case.loss.value(-y, -score), case.loss.value(y, score))
    if case.loss.probabilistic:
        np.testing.assert_allclose(case.loss.decode(-score), 1 - case.loss.decode(score))


@every_loss
def test_permuting_outputs_permutes_everything(case, rng):
    y, score = sample(case, rng)
    order = rng.permutation(case.k)
    inverse = np.argsort(order)
    permuted_y = inverse[y.astype(int)].astype(float) if case.targets == "classes" else y[:, order]
    weight = weights(M, rng)
    loss = case.loss
    dual = loss.gradient(y, score)
    np.testing.assert_allclose(loss.value(permuted_y, score[:, order]), loss.value(y, score), rtol=1e-12)
    np.testing.assert_allclose(loss.gradient(permuted_y, score[:, order]), dual[:, order], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(loss.start(permuted_y, weight), loss.start(y, weight)[order], atol=1e-12)
    np.testing.assert_allclose(
        loss.balance(permuted_y, dual[:, order], weight), loss.balance(y, dual, weight)[:, order], atol=1e-13
    )
    np.testing.assert_allclose(
        loss.conjugate(permuted_y, dual[:, order]), loss.conjugate(y, dual), rtol=1e-9, atol=1e-12
    )


def test_softmax_ignores_a_constant_and_contains_the_logistic_loss(rng):
    y = rng.integers(2, size=(30, 1)).astype(float)
    score = rng.normal(size=(30, 2))
    np.testing.assert_allclose(Softmax(2).value(y, score + 5.0), Softmax(2).value(y, score))
    margin = score[:, :1] - score[:, 1:]
    np.testing.assert_allclose(Softmax(2).value(y, score), Logistic().value(1 - 2 * y, margin))
    np.testing.assert_allclose(Softmax(2).decode(score)[:, :1], Logistic().decode(margin))


def test_pairwise_logistic_is_a_sum_of_logistic_losses_and_ignores_a_constant(rng):
    y = rng.integers(4, size=(30, 1))
    score = rng.normal(size=(30, 4))
    margins = np.take_along_axis(score, y, axis=1) - score
    wanted = (np.log1p(np.exp(-margins)).sum(axis=1) - np.log(2.0)) / 4  # the pair (y, y) is the ln 2
    np.testing.assert_allclose(PairwiseLogistic(4).value(y.astype(float), score), wanted)
    np.testing.assert_allclose(PairwiseLogistic(4).value(y.astype(float), score + 5.0), wanted)


def test_pairs_of_a_hinge_are_its_sum_and_are_smoothed_from_below(rng):
    y, score = rng.integers(4, size=(200, 1)), 2.0 * rng.normal(size=(200, 4))
    pairs, codes = Pairwise(Hinge(), 4), y.astype(float)
    margins = np.take_along_axis(score, y, axis=1) - score
    np.testing.assert_allclose(pairs.value(codes, score), (np.maximum(1 - margins, 0).sum(axis=1) - 1) / 4)
    for width in (1e-6, 0.1, 1.0):
        smooth = pairs.smoothed(width)
        below = pairs.value(codes, score) - smooth.value(codes, score)
        assert np.all((below >= -1e-12) & (below <= width / 2 + 1e-12))
        assert np.all(np.isfinite(pairs.conjugate(codes, smooth.gradient(codes, score))))
    weight = weights(200, rng)
    start = pairs.start(codes, weight)
    for _ in range(200):
        other = start + rng.normal(size=4) * 10.0 ** rng.uniform(-4, 0)
        assert weight @ pairs.value(codes, start + 0 * score) <= weight @ pairs.value(codes, other + 0 * score) + 1e-8


def test_balance_of_pairs_keeps_circulations_and_cuts_as_little_as_a_quadratic_program(rng):
    import cvxpy as cp

    from sparseboost.losses.pairwise import circulation_cut

    for k, kind in [(3, "dense"), (6, "dense"), (6, "sparse"), (5, "one-way"), (26, "dense")]:
        flow = rng.exponential(size=(k, k)) * (rng.random((k, k)) < (0.3 if kind == "sparse" else 1.0))
        flow *= 1 - np.eye(k)
        if kind == "one-way":
            flow = np.triu(flow)  # nothing comes back: all of it must go
        cut = circulation_cut(flow)
        assert np.all((cut >= 0) & (cut <= 1))
        rest = flow * (1 - cut)
        np.testing.assert_allclose(rest.sum(axis=0), rest.sum(axis=1), atol=1e-13 * flow.sum())
        share = cp.Variable((k, k))
        left = cp.multiply(flow, 1 - share)
        oracle = cp.Problem(
            cp.Minimize(cp.sum(cp.multiply(flow, cp.square(share)))),
            [share >= 0, share <= 1, cp.sum(left, axis=0) == cp.sum(left, axis=1)],
        ).solve(solver="CLARABEL")
        assert (flow * cut**2).sum() == pytest.approx(oracle, rel=1e-5, abs=1e-6)
        assert circulation_cut(0.5 * (flow + flow.T)).max() <= 1e-12


@pytest.mark.parametrize("case", [c for c in LOSSES if c.targets != "reals" and c.loss.probabilistic], ids=name)
def test_decode_of_the_best_constant_is_the_class_frequency(case, rng):
    y, weight = case.y(M, rng), weights(M, rng)
    share = weight @ (np.arange(case.k) == y) if case.targets == "classes" else weight @ (y > 0)
    np.testing.assert_allclose(case.loss.decode(case.loss.start(y, weight)[None])[0], share, rtol=1e-9)


# -- the catalogue ---------------------------------------------------------------------------------------------


def test_every_exported_loss_has_law_tests():
    exported = {getattr(package, one) for one in package.__all__} - {Loss}
    assert exported == {type(case.loss) for case in LOSSES} | {type(loss) for loss in COUPLED}, (
        "a loss without a law test: add it to components.LOSSES"
    )


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_huber_refuses_a_bad_delta(bad):
    with pytest.raises(ValueError, match="delta"):
        Huber(bad)


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_eps_insensitive_refuses_a_bad_eps(bad):
    with pytest.raises(ValueError, match="eps"):
        EpsInsensitive(bad)


def test_equality_and_hash_follow_the_parameters():
    assert Huber(1.0) == Huber(1.0)
    assert hash(Huber(1.0)) == hash(Huber(1.0))
    assert Huber(1.0) != Huber(2.0)
    assert Logistic() != Exponential()
    assert eval(repr(Huber(2.0))) == Huber(2.0)
    assert eval(repr(EpsInsensitive(0.2))) == EpsInsensitive(0.2)
    assert eval(repr(Softmax(4))) == Softmax(4)
    assert eval(repr(PairwiseLogistic(4))) == PairwiseLogistic(4)
    assert eval(repr(Pairwise(Huber(2.0), 4))) == Pairwise(Huber(2.0), 4)
