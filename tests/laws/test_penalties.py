"""Laws of penalties: proximal maps, dual norms, balls, AdaBoost's sub-problem, conjugates."""

from __future__ import annotations

import numpy as np
import pytest
from components import NORMS, PENALTIES, name
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit

import sparseboost.penalties as package
from sparseboost.penalties import L1, L1L2, L1Linf, NoPenalty, Norm, Penalty, Ridge, SmoothL1

pytestmark = pytest.mark.filterwarnings("error")
every_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=name)
every_norm = pytest.mark.parametrize("penalty", NORMS, ids=name)
sizes = pytest.mark.parametrize("k", [1, 2, 3, 6])
N = 30


def blocks_of(k: int, rng: np.random.Generator, n: int = N) -> np.ndarray:
    """Random blocks of many sizes, some with ties and zeros."""
    blocks = rng.normal(size=(n, k)) * np.exp(2 * rng.normal(size=(n, 1)))
    blocks[rng.random((n, k)) < 0.1] = 0.0
    blocks[0] = 0.0
    blocks[1] = 1.0
    blocks[2] = np.where(np.arange(k) % 2, 1.0, -1.0)
    return blocks


def feasible(penalty: Penalty, blocks: np.ndarray) -> np.ndarray:
    return np.abs(blocks) if penalty.positive else blocks


# -- the function ------------------------------------------------------------------------------------------------


@every_penalty
@sizes
def test_value_is_convex_even_and_least_at_zero(penalty, k, rng):
    one, other = blocks_of(k, rng), 3 * rng.normal(size=(N, k))
    t = rng.random((N, 1))
    chord = t[:, 0] * penalty.value(one) + (1 - t[:, 0]) * penalty.value(other)
    assert np.all(penalty.value(t * one + (1 - t) * other) <= chord * (1 + 1e-12) + 1e-14)
    np.testing.assert_allclose(penalty.value(-one), penalty.value(one))
    assert np.all(penalty.value(one) >= penalty.value(np.zeros((N, k))))


@every_norm
@sizes
def test_norms_are_norms(penalty, k, rng):
    one, other = blocks_of(k, rng), blocks_of(k, rng)
    np.testing.assert_allclose(penalty.value(2.5 * one), 2.5 * penalty.value(one), rtol=1e-13)
    assert np.all(penalty.value(one + other) <= (penalty.value(one) + penalty.value(other)) * (1 + 1e-13))
    assert np.all((penalty.value(one) == 0) == np.all(one == 0, axis=1))


# -- proximal map -------------------------------------------------------------------------------------------------


@every_penalty
@sizes
@pytest.mark.parametrize("threshold", [0.0, 1e-20, 1e-3, 0.7, 20.0])
def test_prox_satisfies_the_three_point_inequality(penalty, k, threshold, rng):
    """½‖u−v‖² + tρ(u) ≥ ½‖p−v‖² + tρ(p) + ½‖u−p‖² for every u: p is the minimiser, and the only one."""
    v = blocks_of(k, rng)
    p = penalty.prox(v, threshold)
    assert np.all(p >= 0) or not penalty.positive

    def total(w):
        return 0.5 * ((w - v) ** 2).sum(axis=1) + threshold * penalty.value(w)

    for size in (1e-4, 1e-2, 1.0, 10.0):
        for _ in range(5):
            u = p + size * rng.normal(size=p.shape) * (rng.random(p.shape) < 0.6)
            u = np.maximum(u, 0.0) if penalty.positive else u
            assert np.all(total(u) - total(p) - 0.5 * ((u - p) ** 2).sum(axis=1) >= -1e-11 * (1 + total(p)))
    for u in (0 * p, 0.99 * p, 1.01 * p, feasible(penalty, v)):
        assert np.all(total(u) - total(p) - 0.5 * ((u - p) ** 2).sum(axis=1) >= -1e-11 * (1 + total(p)))


@every_penalty
@pytest.mark.parametrize("threshold", [0.2, 1.5])
def test_prox_agrees_with_a_numeric_minimiser(penalty, threshold, rng):
    for k in (1, 2):
        v = rng.normal(size=(1, k)) * 2

        def total(w, v=v):
            w = np.abs(w[None]) if penalty.positive else w[None]
            return float((0.5 * ((w - v) ** 2).sum(axis=1) + threshold * penalty.value(w))[0])

        starts = [np.full(k, 0.3), v[0], -v[0]]
        options = {"xatol": 1e-8, "fatol": 1e-14, "maxiter": 4000}
        best = min(minimize(total, start, method="Nelder-Mead", options=options).fun for start in starts)
        found = penalty.prox(v, threshold)[0]
        assert total(found) <= best + 1e-9


@every_penalty
@sizes
def test_prox_is_firmly_non_expansive(penalty, k, rng):
    u, v = blocks_of(k, rng), blocks_of(k, rng)
    p, q = penalty.prox(u, 0.8), penalty.prox(v, 0.8)
    assert np.all(
        ((p - q) ** 2).sum(axis=1) <= ((p - q) * (u - v)).sum(axis=1) + 1e-11 * (1 + (u**2 + v**2).sum(axis=1))
    )


@every_penalty
@sizes
def test_positive_prox_is_the_prox_of_the_positive_part(penalty, k, rng):
    v = blocks_of(k, rng)
    free, bound = type(penalty)(False), type(penalty)(True)
    np.testing.assert_array_equal(bound.prox(v, 0.6), free.prox(np.maximum(v, 0.0), 0.6))


@every_penalty
@sizes
def test_prox_takes_one_threshold_per_block_and_no_input_is_changed(penalty, k, rng):
    v = blocks_of(k, rng)
    before = v.copy()
    thresholds = rng.exponential(size=N)
    thresholds[0] = 0.0
    together = penalty.prox(v, thresholds)
    for j in range(N):
        np.testing.assert_allclose(together[j], penalty.prox(v[j : j + 1], thresholds[j])[0], rtol=1e-13, atol=1e-16)
    np.testing.assert_array_equal(v, before)
    rest = penalty.prox(v, 0.0)
    np.testing.assert_allclose(rest, np.maximum(v, 0) if penalty.positive else v, rtol=1e-13, atol=1e-16)


@every_norm
@sizes
def test_moreau_splits_a_point_into_prox_and_dual_ball(penalty, k, rng):
    """v − prox_t(v) lies in t times the dual ball and touches it where the prox is not zero."""
    v, t = blocks_of(k, rng), 0.9
    p = penalty.prox(v, t)
    size = penalty.dual_norm(p - v)  # dual_norm reads a gradient: the pull is its negative
    assert np.all(size <= t * (1 + 1e-12))
    touching = ((v - p) * p).sum(axis=1)
    np.testing.assert_allclose(touching, t * penalty.value(p), rtol=1e-11, atol=1e-12)
    zero = ~np.any(p != 0, axis=1)
    assert np.all(zero == (penalty.dual_norm(-v) <= t))


@sizes
def test_moreau_with_projections_written_differently(k, rng):
    v, t = blocks_of(k, rng), 0.9
    np.testing.assert_allclose(L1().prox(v, t), v - np.clip(v, -t, t), atol=1e-14)
    for j in range(N):
        block = v[j : j + 1]
        np.testing.assert_allclose(L1Linf().prox(block, t), block - L1().project(block, t), atol=1e-12)
        np.testing.assert_allclose(L1L2().prox(block, t), block - L1L2().project(block, t), atol=1e-12)


# -- dual norm and vertices ----------------------------------------------------------------------------------------


@every_norm
@sizes
def test_dual_norm_is_dual_and_the_extreme_point_attains_it(penalty, k, rng):
    g, w = blocks_of(k, rng), feasible(penalty, blocks_of(k, rng))
    pull = -(g * w).sum(axis=1)
    assert np.all(pull <= penalty.dual_norm(g) * penalty.value(w) * (1 + 1e-12) + 1e-14)
    vertex = penalty.extreme_point(g)
    assert np.all(penalty.value(vertex) <= 1 + 1e-12)
    assert np.all(vertex >= 0) or not penalty.positive
    np.testing.assert_allclose((g * vertex).sum(axis=1), -penalty.dual_norm(g), rtol=1e-12, atol=1e-15)


@every_norm
@sizes
def test_dual_norm_is_the_smallest_strength_that_keeps_a_block_at_zero(penalty, k, rng):
    g = blocks_of(k, rng)
    needed = penalty.dual_norm(g)
    assert np.all(penalty.prox(-g, needed * (1 + 1e-12)) == 0)
    moving = needed > 0
    assert np.all(np.any(penalty.prox(-g, needed * (1 - 1e-6)) != 0, axis=1) == moving)
    cost = rng.exponential(size=N) + 0.1
    np.testing.assert_allclose(penalty.violation(g, cost), needed / cost)


# -- balls ----------------------------------------------------------------------------------------------------------


@every_norm
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("costly", [False, True])
def test_project_is_feasible_idempotent_and_nearest(penalty, k, costly, rng):
    for radius in (0.0, 0.1, 3.0, 1e6):
        v = blocks_of(k, rng, n=8)
        cost = rng.exponential(size=8) + 0.2 if costly else np.ones(8)
        p = penalty.project(v, radius, cost if costly else 1.0)
        assert cost @ penalty.value(p) <= radius * (1 + 1e-10)
        assert np.all(p >= 0) or not penalty.positive
        np.testing.assert_allclose(penalty.project(p, radius, cost), p, rtol=1e-9, atol=1e-12)
        # nearest: ⟨v − p, u − p⟩ ≤ 0 for all feasible u; the largest ⟨v − p, u⟩ sits at a vertex of the ball
        rest = v - p
        highest = radius * max(0.0, np.max(penalty.dual_norm(-rest) / cost))
        assert highest - (rest * p).sum() <= 1e-9 * (1 + (v**2).sum())
    inside = feasible(penalty, rng.normal(size=(4, k)))
    size = float(penalty.value(inside).sum())
    np.testing.assert_allclose(penalty.project(inside, size * 1.01), inside, rtol=1e-12)


@every_norm
def test_project_agrees_with_a_cone_solver(penalty, rng):
    cp = pytest.importorskip("cvxpy")
    v, cost = 2 * rng.normal(size=(4, 3)), np.array([1.0, 0.5, 2.0, 1.5])
    w = cp.Variable((4, 3))
    norm = {L1: lambda row: cp.norm1(row), L1L2: lambda row: cp.norm2(row), L1Linf: lambda row: cp.norm_inf(row)}
    total = sum(cost[j] * norm[type(penalty)](w[j]) for j in range(4))
    constraints = [total <= 1.7] + ([w >= 0] if penalty.positive else [])
    cp.Problem(cp.Minimize(cp.sum_squares(w - v)), constraints).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(penalty.project(v, 1.7, cost), w.value, atol=2e-5)


@every_norm
@pytest.mark.parametrize("radius", [-1.0, np.nan])
def test_project_refuses_a_bad_radius(penalty, radius):
    with pytest.raises(ValueError, match="radius"):
        penalty.project(np.ones((1, 2)), radius)


# -- AdaBoost's sub-problem ------------------------------------------------------------------------------------------

EXPONENTIAL = [penalty for penalty in PENALTIES if penalty.has_exponential_step(1)]
exponential_penalty = pytest.mark.parametrize("penalty", EXPONENTIAL, ids=name)


def outputs_of(penalty: Penalty) -> list[int]:
    return [k for k in (1, 2, 3, 6) if penalty.has_exponential_step(k)]


def correlations(n: int, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """μ⁺ and μ⁻ with every combination of zeros, and ties."""
    plus, minus = rng.exponential(size=(n, k)), rng.exponential(size=(n, k))
    plus[rng.random((n, k)) < 0.2] = 0.0
    minus[rng.random((n, k)) < 0.2] = 0.0
    minus[:2] = plus[:2]  # ties
    plus[2:4] = 0.0
    minus[3:6] = 0.0  # row 3: both are zero
    return plus, minus


def surrogate(penalty, v, w, plus, minus, room, strength):
    """Value of the sub-problem per block; smooth ℓ1 rides inside the bound as two pseudo-examples (D13)."""
    d = (v - w) / room[:, None]
    if isinstance(penalty, SmoothL1):
        plus, minus = plus + strength[:, None] * expit(-w), minus + strength[:, None] * expit(w)
        strength = np.zeros_like(strength)
    with np.errstate(over="ignore", invalid="ignore"):
        rising = np.where(plus > 0, plus * np.exp(-d), 0.0)
        falling = np.where(minus > 0, minus * np.exp(d), 0.0)
    return (room[:, None] * (rising + falling)).sum(axis=1) + strength * penalty.value(v)


@exponential_penalty
@pytest.mark.parametrize("strength", [1e-3, 0.4, 1.5, 10.0])
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_exponential_step_is_the_minimiser_of_its_sub_problem(penalty, strength, scale, rng):
    for k in outputs_of(penalty):
        plus, minus = correlations(N, k, rng)
        if isinstance(penalty, NoPenalty):  # otherwise the infimum is not attained: see the test of caps
            plus, minus = plus + 1e-6, minus + 1e-6
        room = rng.exponential(size=N) + 0.01
        w = feasible(penalty, scale * room[:, None] * rng.normal(size=(N, k)))
        if isinstance(penalty, SmoothL1):  # beyond, its steps are capped
            w = np.clip(w, -20.0, 20.0)
        lam = np.full(N, strength)
        v = penalty.exponential_step(w, plus, minus, room, lam)
        assert np.all(np.isfinite(v))
        assert np.all(v >= 0) or not penalty.positive
        reached = surrogate(penalty, v, w, plus, minus, room, lam)
        for size in (1e-5, 1e-3, 0.1, 1.0, 10.0):
            for _ in range(6):
                u = v + size * room[:, None] * rng.normal(size=v.shape) * (rng.random(v.shape) < 0.6)
                u = np.maximum(u, 0.0) if penalty.positive else u
                assert np.all(surrogate(penalty, u, w, plus, minus, room, lam) >= reached * (1 - 1e-12))
        for u in (np.zeros_like(v), w, 0.999 * v, 1.001 * v):
            assert np.all(surrogate(penalty, u, w, plus, minus, room, lam) >= reached * (1 - 1e-12))


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_linf_exponential_step_agrees_with_a_search_over_its_level(k, positive, rng):
    """min_ξ λξ + Σ_r min_{|v_r| ≤ ξ} f_r(v_r), solved by a bounded scalar search."""
    penalty, n = L1Linf(positive), 20
    plus, minus = correlations(n, k, rng)
    room, lam = rng.exponential(size=n) + 0.1, rng.exponential(size=n)
    w = feasible(penalty, room[:, None] * rng.normal(size=(n, k)) * 2)
    found = surrogate(penalty, penalty.exponential_step(w, plus, minus, room, lam), w, plus, minus, room, lam)
    with np.errstate(divide="ignore", invalid="ignore"):
        still = np.where(plus + minus > 0, w + 0.5 * room[:, None] * (np.log(plus) - np.log(minus)), 0.0)
    low = 0.0 if positive else -1.0

    for j in range(n):

        def at(level, j=j):
            v = np.clip(still[j], low * level, level)[None]
            one = slice(j, j + 1)
            fixed = surrogate(NoPenalty(), v, w[one], plus[one], minus[one], room[one], lam[one])[0]
            return fixed + lam[j] * level

        search = minimize_scalar(at, bounds=(0.0, 50.0), method="bounded", options={"xatol": 1e-10})
        assert found[j] <= min(search.fun, at(0.0)) + 1e-9
        assert found[j] >= min(search.fun, at(0.0)) - 1e-6


def case_form(w, plus, minus, a, lam):
    """The rule as the source prints it, case by case (D1)."""
    up, down = plus * np.exp(w / a), minus * np.exp(-w / a)
    root = np.sqrt(lam**2 + 4 * plus * minus)
    if up - down > lam:
        return w + a * (np.log(plus / lam) if minus == 0 else np.log((-lam + root) / (2 * minus)))
    if up - down < -lam:
        return w + a * (np.log(lam / minus) if plus == 0 else np.log((lam + root) / (2 * minus)))
    return 0.0


def test_one_output_is_the_case_form_under_every_norm(rng):
    n = 400
    plus, minus = correlations(n, 1, rng)
    room, lam = rng.exponential(size=n) + 0.1, rng.exponential(size=n) + 0.01
    w = room[:, None] * rng.normal(size=(n, 1))
    wanted = np.array([[case_form(w[j, 0], plus[j, 0], minus[j, 0], room[j], lam[j])] for j in range(n)])
    assert 0.2 < np.mean(wanted == 0) < 0.8
    for norm in (L1(), L1L2(), L1Linf()):
        found = norm.exponential_step(w, plus, minus, room, lam)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)
        assert np.all((found == 0) == (wanted == 0))


@exponential_penalty
def test_exponential_steps_of_huge_weights_stay_finite(penalty, rng):
    for k in outputs_of(penalty):
        for size in (1e2, 1e3, 1e4):
            plus, minus = correlations(N, k, rng)
            room = np.full(N, 0.01)
            w = feasible(penalty, size * room[:, None] * rng.choice([-1.0, 1.0], size=(N, k)))
            for strength in (0.0, 1e-6, 1.0, 1e3):
                lam = np.full(N, strength)
                v = penalty.exponential_step(w, plus, minus, room, lam)
                assert np.all(np.isfinite(v))
                before = surrogate(penalty, w, w, plus, minus, room, lam)
                assert np.all(surrogate(penalty, v, w, plus, minus, room, lam) <= before * (1 + 1e-12))


@exponential_penalty
@pytest.mark.parametrize("tiny", [1e-320, 1e-300, 1e-100])
def test_exponential_step_sees_correlations_near_underflow(penalty, tiny, rng):
    """A correlation of 1e−320 is not zero when the weight to be lost is 10⁴ rooms away."""
    w, room = np.array([[-1e4], [1e4]]) * 0.01, np.full(2, 0.01)
    plus, minus = np.array([[0.0], [tiny]]), np.array([[tiny], [0.0]])
    if penalty.positive or isinstance(penalty, NoPenalty | SmoothL1):
        return
    for strength in (1e-3, 1.0, 1e10):
        v = penalty.exponential_step(w, plus, minus, room, np.full(2, strength))
        step = 0.01 * (np.log(strength) - np.log(tiny))
        np.testing.assert_allclose(v, [[-100.0 + step], [100.0 - step]], rtol=1e-10)


@exponential_penalty
def test_without_strength_the_step_is_half_the_log_ratio_and_capped(penalty, rng):
    k, zero = outputs_of(penalty)[-1], np.zeros(4)
    plus = np.array([1.0, 1.0, 0.0, 0.0])[:, None] * np.ones(k)
    minus = np.array([0.5, 0.0, 1.0, 0.0])[:, None] * np.ones(k)
    room = np.array([2.0, 2.0, 2.0, 2.0])
    w = np.full((4, k), 100.0)
    v = penalty.exponential_step(w, plus, minus, room, zero)
    np.testing.assert_allclose(v[0], 100.0 + np.log(2.0))
    np.testing.assert_allclose(v[1], 100.0 + 60.0)
    np.testing.assert_allclose(v[2], 100.0 - 60.0)
    np.testing.assert_allclose(v[3], 100.0)  # nothing pulls, nothing pays: stay
    if not isinstance(penalty, NoPenalty | SmoothL1):
        held = penalty.exponential_step(w, plus, minus, room, np.full(4, 0.3))
        np.testing.assert_array_equal(held[3], 0.0)  # nothing pulls, and weight costs


@exponential_penalty
def test_exponential_step_has_no_numerical_cliff_between_tiny_and_no_strength(penalty, rng):
    for k in outputs_of(penalty):
        plus, minus = rng.uniform(0.5, 2, size=(2, N, k))
        w = feasible(penalty, rng.normal(size=(N, k)))
        room = np.ones(N)
        none = penalty.exponential_step(w, plus, minus, room, np.zeros(N))
        tiny = penalty.exponential_step(w, plus, minus, room, np.full(N, 1e-13))
        np.testing.assert_allclose(tiny, none, atol=1e-10)


@every_penalty
def test_exponential_step_is_refused_with_a_remedy_where_it_does_not_exist(penalty):
    if penalty.has_exponential_step(2):
        return
    with pytest.raises(ValueError, match="gradboost"):
        penalty.exponential_step(np.zeros((1, 2)), np.ones((1, 2)), np.ones((1, 2)), np.ones(1), np.ones(1))


@pytest.mark.parametrize("positive", [False, True])
def test_smooth_l1_bound_covers_penalty_growth(positive, rng):
    """The pseudo-example bound majorises λρ for room ≤ 1 (D13)."""
    w, room, lam = rng.normal(size=(200, 2)) * 3, rng.uniform(0.01, 1.0, size=200), rng.exponential(size=200)
    v = w + rng.normal(size=w.shape)
    penalty, zero = SmoothL1(positive), np.zeros((200, 2))
    rise = surrogate(penalty, v, w, zero, zero, room, lam) - surrogate(penalty, w, w, zero, zero, room, lam)
    assert np.all(lam * (penalty.value(v) - penalty.value(w)) <= rise + 1e-12)


# -- conjugates ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("kind", [Ridge, SmoothL1])
def test_conjugates_obey_fenchel_young(kind, positive, rng):
    penalty = kind(positive)
    strength = rng.exponential(size=N) + 0.1
    w = feasible(penalty, rng.normal(size=(N, 2)) * 2)
    slope = strength[:, None] * (w if kind is Ridge else np.tanh(0.5 * w))  # gradient of strength·ρ at w
    value = strength @ penalty.value(w)
    assert value + penalty.conjugate(-slope, strength) == pytest.approx((w * slope).sum(), rel=1e-10)
    for _ in range(50):
        other = strength[:, None] * rng.uniform(-1, 1, size=w.shape)
        assert value + penalty.conjugate(-other, strength) >= (w * other).sum() - 1e-10
    if kind is SmoothL1:  # at the edge of the domain the conjugate is 0, as the supremum approaches it
        assert penalty.conjugate(-strength[:, None] * np.ones((N, 2)), strength) == pytest.approx(0.0, abs=1e-12)
    # against a numeric supremum, one entry
    pull = 0.6 * strength[0]
    low = 0.0 if positive else -60.0
    for sign in (1.0, -1.0):
        found = minimize_scalar(
            lambda t, sign=sign: strength[0] * penalty.value(np.array([[t]]))[0] - sign * pull * t,
            bounds=(low, 60.0),
            method="bounded",
            options={"xatol": 1e-10},
        )
        exact = penalty.conjugate(np.array([[-sign * pull]]), strength[:1])
        assert exact == pytest.approx(-found.fun, abs=1e-6)


@every_norm
def test_conjugate_of_a_norm_is_zero_inside_the_dual_ball(penalty, rng):
    assert penalty.conjugate(rng.normal(size=(3, 2)), np.full(3, 100.0)) == 0.0


def test_no_penalty_accepts_only_a_zero_gradient():
    np.testing.assert_array_equal(NoPenalty().dual_norm(np.array([[0.0, 0.0], [0.0, 1e-9]])), [0.0, np.inf])
    np.testing.assert_array_equal(NoPenalty(True).dual_norm(np.array([[3.0, 0.0], [-1.0, 1.0]])), [0.0, np.inf])


# -- the catalogue ---------------------------------------------------------------------------------------------------


def test_every_exported_penalty_has_law_tests():
    exported = {getattr(package, one) for one in package.__all__} - {Penalty, Norm}
    assert exported == {type(penalty) for penalty in PENALTIES}, "add the new penalty to components.PENALTIES"
    assert all({False, True} == {p.positive for p in PENALTIES if type(p) is kind} for kind in exported)


def test_equality_and_hash_follow_type_and_sign():
    assert L1() == L1(False)
    assert L1() != L1(True)
    assert L1() != L1L2()
    assert len({hash(penalty) for penalty in PENALTIES}) == len(PENALTIES)
    assert all(eval(repr(penalty)) == penalty for penalty in PENALTIES)
