"""Laws of the losses of functional boosting: smoothing, references, convexity, and the hinge over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from components import COUPLED, LOSSES, LossCase, name, weights

from sparseboost.losses import Hinge, MulticlassHinge, Quantile, RankingHinge

M = 40
CORNERED = [case for case in LOSSES if not case.loss.smooth]


@pytest.mark.parametrize("case", LOSSES, ids=name)
def test_value_and_gradient_are_the_two_methods(case: LossCase, rng: np.random.Generator) -> None:
    y, score = case.y(M, rng), 3 * rng.normal(size=(M, case.k))
    value, gradient = case.loss.value_and_gradient(y, score)
    np.testing.assert_allclose(value, case.loss.value(y, score), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(gradient, case.loss.gradient(y, score), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", LOSSES, ids=name)
def test_the_reference_is_a_minimum_of_every_example(case: LossCase, rng: np.random.Generator) -> None:
    y = case.y(M, rng)
    reference = case.loss.reference(y)
    if reference is None:
        return
    assert reference.shape == (M, case.k)
    lowest = case.loss.value(y, reference)
    for _ in range(20):
        assert np.all(case.loss.value(y, reference + rng.normal(size=reference.shape)) >= lowest - 1e-12)


@pytest.mark.parametrize("case", [case for case in LOSSES if case.loss.convexity > 0], ids=name)
def test_convexity_bounds_the_loss_from_below(case: LossCase, rng: np.random.Generator) -> None:
    y, score, other = case.y(M, rng), rng.normal(size=(M, case.k)), rng.normal(size=(M, case.k))
    slope = (case.loss.gradient(y, score) * (other - score)).sum(axis=1)
    bend = 0.5 * case.loss.convexity * ((other - score) ** 2).sum(axis=1)
    assert np.all(case.loss.value(y, other) >= case.loss.value(y, score) + slope + bend - 1e-12)


@pytest.mark.parametrize("case", CORNERED, ids=name)
def test_subgradients_support_the_loss_on_its_corners_too(case: LossCase, rng: np.random.Generator) -> None:
    y = case.y(M, rng)
    corner = case.loss.reference(y)
    for score in (corner, np.zeros((M, case.k)), rng.integers(-2, 3, size=(M, case.k)).astype(float)):
        gradient, value = case.loss.gradient(y, score), case.loss.value(y, score)
        for _ in range(20):
            other = score + rng.normal(size=score.shape)
            assert np.all(case.loss.value(y, other) >= value + (gradient * (other - score)).sum(axis=1) - 1e-12)


@pytest.mark.parametrize("case", CORNERED, ids=name)
@pytest.mark.parametrize("width", [1e-3, 0.1, 1.0])
def test_smoothing_lies_just_below_with_gradients_in_the_domain(case: LossCase, width: float, rng) -> None:
    y, score = case.y(M, rng), rng.normal(size=(M, case.k))
    score[: M // 2] = case.loss.reference(y)[: M // 2] + width * rng.normal(size=(M // 2, case.k))
    smooth = case.loss.smoothed(width)
    assert smooth.smooth
    below = case.loss.value(y, score) - smooth.value(y, score)
    assert np.all(below >= -1e-12)
    outputs = 1 if case.targets == "classes" else case.k
    assert np.all(below <= outputs * width / 2 + 1e-12)
    dual = smooth.gradient(y, score)
    assert np.all(np.isfinite(case.loss.conjugate(y, dual)))
    step = 1e-6 * width * rng.normal(size=score.shape)
    rise = smooth.value(y, score + step) - smooth.value(y, score - step)
    np.testing.assert_allclose((dual * step).sum(axis=1), rise / 2, atol=1e-9 * width + 1e-15)


@pytest.mark.parametrize(
    "loss", [Hinge().smoothed(0.3), MulticlassHinge(3).smoothed(0.3), Quantile(0.7).smoothed(0.3)], ids=repr
)
def test_smoothed_losses_obey_fenchel_young_and_their_curvature(loss, rng) -> None:
    case = next(case for case in LOSSES if isinstance(loss, type(case.loss)))
    k = 3 if case.targets == "classes" else 1
    y = LossCase(loss, k, case.targets).y(200, rng)
    score, other = rng.normal(size=(2, 200, k))
    dual = loss.gradient(y, score)
    value = loss.value(y, score)
    if k == 1:  # the entropy of the smoothed maximum is left out of its conjugate, which is that of the hinge
        np.testing.assert_allclose(value + loss.conjugate(y, dual), (score * dual).sum(axis=1), atol=1e-12)
    bend = 0.5 * loss.curvature * ((other - score) ** 2).sum(axis=1)
    assert np.all(loss.value(y, other) <= value + (dual * (other - score)).sum(axis=1) + bend + 1e-12)
    step = 1e-5
    for r in range(k):
        move = step * np.eye(k)[r]
        second = (loss.gradient(y, score + move) - loss.gradient(y, score - move))[:, r] / (2 * step)
        local = loss.local_curvature(y, score)[:, r]
        assert np.mean(np.abs(second - local) < 1e-3 * loss.curvature) > 0.98  # not on the two corners of the slope


@pytest.mark.parametrize("q", [0.0, 1.0, -0.5, np.nan])
def test_quantile_refuses_a_bad_q(q: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Quantile(q)


def test_quantile_starts_at_the_quantile(rng: np.random.Generator) -> None:
    y = rng.normal(size=(101, 1))
    for q in (0.1, 0.5, 0.9):
        start = Quantile(q).start(y, np.full(101, 1 / 101))
        assert np.mean(y < start) <= q <= np.mean(y <= start)


# -- the ranking hinge -----------------------------------------------------------------------------------------


def brute_force(relevance, query, weight, f) -> tuple[float, np.ndarray]:
    """Value and function-space gradient over all pairs, written down."""
    weight = weight / weight.sum()
    value, pairs, slope = 0.0, 0.0, np.zeros(f.size)
    for a in range(f.size):
        for b in range(f.size):
            if query[a] == query[b] and relevance[a] > relevance[b]:
                pairs += weight[a] * weight[b]
                if 1 - f[a] + f[b] > 0:
                    value += weight[a] * weight[b] * (1 - f[a] + f[b])
                    slope[a] -= weight[b]
                    slope[b] += weight[a]
    return value / pairs, slope / pairs


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_ranking_equals_all_pairs(seed: int, ties: bool, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(4, 60))
    relevance, query = rng.integers(0, 5, m), rng.integers(0, 4, m)
    relevance[:2], query[:2] = [0, 1], [0, 0]
    weight = rng.random(m) + 0.1 if weighted else np.ones(m)
    f = rng.integers(-2, 3, m).astype(float) if ties else 2 * rng.normal(size=m)
    y = RankingHinge.targets(relevance, query, weight)
    value, slope = brute_force(relevance, query, weight, f)
    assert y[:, 2] @ RankingHinge().value(y, f[:, None]) == pytest.approx(value, rel=1e-12, abs=1e-14)
    np.testing.assert_allclose(RankingHinge().gradient(y, f[:, None])[:, 0], slope, atol=1e-12)
    if not weighted:  # the two-column form has equal weights
        np.testing.assert_allclose(RankingHinge().gradient(y[:, :2], f[:, None])[:, 0], slope, atol=1e-12)
        np.testing.assert_allclose(RankingHinge().gradient(y, f[:, None]).sum(), 0.0, atol=1e-12)


def test_ranking_gradient_is_a_subgradient(rng: np.random.Generator) -> None:
    y = RankingHinge.targets(rng.integers(0, 3, M), rng.integers(0, 3, M), weights(M, rng))
    loss, weight = RankingHinge(), y[:, 2]
    for _ in range(30):
        f, g = rng.integers(-2, 3, size=(M, 1)).astype(float), rng.normal(size=(M, 1))
        slope = weight @ ((g - f) * loss.gradient(y, f))[:, 0]
        assert weight @ loss.value(y, g) >= weight @ loss.value(y, f) + slope - 1e-12


def test_ranking_weights_are_copies(rng: np.random.Generator) -> None:
    relevance, query, f = rng.integers(0, 3, 15), rng.integers(0, 2, 15), rng.normal(size=15)
    count = rng.integers(1, 4, 15)
    copies = np.repeat(np.arange(15), count)
    once = RankingHinge.targets(relevance, query, count)
    many = RankingHinge.targets(relevance[copies], query[copies])
    loss = RankingHinge()
    np.testing.assert_allclose(
        loss.gradient(once, f[:, None])[copies], loss.gradient(many, f[copies][:, None]), rtol=1e-10
    )


@pytest.mark.parametrize("loss", COUPLED, ids=repr)
def test_coupled_losses_know_a_perfect_function_and_when_there_is_nothing_to_do(loss, rng) -> None:
    y = loss.targets(rng.integers(0, 4, M) * 0.25, rng.integers(0, 3, M))
    assert np.all(loss.value(y, loss.reference(y)) <= 1e-12)
    alone = loss.targets(np.arange(5), np.arange(5))  # five queries of one document
    assert not loss.value(alone, np.zeros((5, 1))).any()
    assert not loss.gradient(alone, np.zeros((5, 1))).any()


def test_ranking_pairs_are_not_written_down() -> None:
    """60,000 documents of one query are 1.2 billion pairs."""
    rng = np.random.default_rng(0)
    y = RankingHinge.targets(rng.integers(0, 3, 60_000), np.zeros(60_000))
    assert np.isfinite(RankingHinge().gradient(y, rng.normal(size=(60_000, 1)))).all()
