"""Functional boosting: the counterexample, exact iterates, invariants, rates and bounds (G1–G7, section 9.11)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparseboost.losses import (
    Absolute,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    MulticlassHinge,
    Quantile,
    RankingHinge,
    Softmax,
    Squared,
)
from sparseboost.monitors import Monitor
from sparseboost.solvers.functional import (
    Bond,
    Expansion,
    FunctionalBoosting,
    Naive,
    Outcome,
    Projected,
    Projector,
    Repeated,
    Residual,
    Risk,
    Steps,
    VectorHypothesis,
    VectorTrees,
    make_steps,
)
from sparseboost.solvers.functional.steps import line_search

ALGORITHMS = [Naive(), Repeated(), Repeated(orthogonal=True), Residual()]


class Fixed(VectorHypothesis):
    """One of some given directions on the training points."""

    inputs = ()

    def __init__(self, number: int, outputs: np.ndarray) -> None:
        self.number, self.outputs = number, outputs

    def __call__(self, X: Any) -> np.ndarray:
        return self.outputs

    def signature(self) -> int:
        return self.number


class Directions(Projector):
    """The best of given directions, shape (n, m, k), under example weights."""

    def __init__(self, directions: np.ndarray, weight: np.ndarray) -> None:
        self.directions, self.weight = directions, weight

    def project(self, target: np.ndarray) -> Projected:
        size = np.sqrt(np.einsum("i,nik,nik->n", self.weight, self.directions, self.directions))
        along = np.abs(np.einsum("i,ik,nik->n", self.weight, target, self.directions)) / size
        best = int(along.argmax())
        return Projected(Fixed(best, self.directions[best]), self.directions[best])


class Everything(Projector):
    """H = all functions: the direction is the target."""

    def project(self, target: np.ndarray) -> Projected:
        return Projected(Fixed(0, target.copy()), target.copy())


def solve(
    risk: Risk, projector: Projector, algorithm: Any, rounds: int, step: Any = "auto", size: float = 1.0, **more: Any
) -> tuple[Outcome, FunctionalBoosting]:
    boosting = FunctionalBoosting(risk, projector, algorithm, make_steps(step, size, algorithm, risk), **more)
    return boosting.run(rounds, Monitor()), boosting


def losses(outcome: Outcome) -> np.ndarray:
    return np.array([record["loss"] for record in outcome.history])


# -- G7 ----------------------------------------------------------------------------------------------------------


class TwoPoints:
    """R[f] = 2|f(x₁)| + |f(x₂)|."""

    def __repr__(self):
        return "TwoPoints()"

    def value(self, y, score):
        return 2 * np.array([2.0, 1.0]) * np.abs(score[:, 0])  # the mean over two points has a factor 1/2

    def gradient(self, y, score):
        return (2 * np.array([2.0, 1.0]) * np.sign(score[:, 0]))[:, None]


def two_points(algorithm: Any, rounds: int) -> tuple[Outcome, FunctionalBoosting]:
    weight = np.full(2, 0.5)
    risk = Risk(TwoPoints(), np.zeros((2, 1)), weight)
    directions = np.array([[[1.0], [0.0]], [[0.0], [1.0]]])
    start = np.array([[0.7713], [1.3131]])
    return solve(risk, Directions(directions, weight), algorithm, rounds, initial=start)


def test_naive_stalls_on_two_points_and_says_so() -> None:
    outcome, _ = two_points(Naive(), 400)
    assert {h.number for h in outcome.expansion.hypotheses} == {0}, "it only ever touches the first point"
    assert losses(outcome).min() >= 1.3131 - 1e-12
    assert losses(outcome)[-1] == pytest.approx(1.3131, abs=1e-3), "the first point is solved"
    assert outcome.cycled is not None
    np.testing.assert_allclose([record["edge"] for record in outcome.history[1:]], 2 / np.sqrt(5), rtol=1e-12)


@pytest.mark.parametrize("algorithm", ALGORITHMS[1:], ids=repr)
def test_the_others_reach_the_optimum_of_two_points(algorithm: Any) -> None:
    outcome, _ = two_points(algorithm, 2000 if isinstance(algorithm, Residual) else 200)
    assert losses(outcome).min() < 1e-3
    assert outcome.cycled is None
    reached = losses(outcome)[: len(losses(outcome)) // 10].min()
    assert losses(outcome).min() < reached, "it goes on falling"


# -- exact iterates against plain NumPy --------------------------------------------------------------------------


def best_direction(directions, weight, target):
    best, found = None, -1.0
    for h in directions:
        length = np.sqrt(sum(weight[i] * h[i] @ h[i] for i in range(len(weight))))
        along = abs(sum(weight[i] * target[i] @ h[i] for i in range(len(weight)))) / length
        if along > found + 1e-13:
            best, found = h, along
    return best


def along(weight, target, h):
    return np.sum(weight[:, None] * target * h) / np.sum(weight[:, None] * h * h)


def plain(kind, loss, y, weight, directions, start, step, rounds, orthogonal=False):
    """Algorithms 1, 2 and 3 as the paper's text has them, with the corrections of EG2."""
    f, delta, out = start.copy(), np.zeros_like(start), [start.copy()]
    for t in range(1, rounds + 1):
        gradient = loss.gradient(y, f)
        if kind == "naive":
            h = best_direction(directions, weight, gradient)
            move = along(weight, gradient, h) * h
        elif kind == "residual":
            delta = delta + gradient
            h = best_direction(directions, weight, delta)
            move = along(weight, delta, h) * h
            delta = delta - move
        else:
            move, chosen = np.zeros_like(f), []
            for _ in range(t):
                rest = gradient - move
                if np.sqrt(np.sum(weight[:, None] * rest**2)) < 1e-12:
                    break
                h = best_direction(directions, weight, rest)
                if orthogonal:
                    chosen.append(h)
                    root = np.sqrt(weight)[:, None]
                    design = np.stack([(root * g).ravel() for g in chosen], axis=1)
                    fit = np.linalg.pinv(design) @ (root * gradient).ravel()
                    move = sum(c * g for c, g in zip(fit, chosen, strict=True))
                else:
                    move = move + along(weight, rest, h) * h
        f = f - step(t) * move
        out.append(f.copy())
    return out


CASES = [
    (Absolute(), "reals", 1),
    (Squared(), "reals", 2),
    (Hinge(), "signs", 1),
    (MulticlassHinge(3), "classes", 3),
    (Quantile(0.8), "reals", 2),
]


def targets(kind: str, m: int, k: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "reals":
        return 3 * rng.normal(size=(m, k))
    if kind == "signs":
        return np.where(rng.random((m, k)) < 0.5, 1.0, -1.0)
    return rng.integers(k, size=(m, 1)).astype(float)


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case[0]))
@pytest.mark.parametrize("kind", ["naive", "repeated", "orthogonal", "residual"])
def test_twenty_rounds_equal_plain_numpy(case: Any, kind: str, rng: np.random.Generator) -> None:
    loss, target, k = case
    m, n = 12, 9
    y, weight = targets(target, m, k, rng), rng.random(m) + 0.2
    weight /= weight.sum()
    directions = rng.normal(size=(n, m, k))
    start = rng.normal(size=(m, k))
    algorithm = {
        "naive": Naive(), "repeated": Repeated(), "orthogonal": Repeated(orthogonal=True), "residual": Residual()
    }[kind]  # fmt: skip
    risk = Risk(loss, y, weight)
    name, fitted = ("repeated", True) if kind == "orthogonal" else (kind, False)
    wanted = plain(name, loss, y, weight, directions, start, lambda t: 0.3 / np.sqrt(t), 20, fitted)
    outcome, boosting = solve(risk, Directions(directions, weight), algorithm, 20, "1/sqrt(t)", 0.3, initial=start)
    assert outcome.n_rounds == 20
    score, found = start, [start]
    for t in range(1, 21):
        hypotheses, coef = boosting.expansion.of_round(t)
        score = score - boosting.expansion.steps[t - 1] * sum(
            c * h.outputs for c, h in zip(coef, hypotheses, strict=True)
        )
        found.append(score)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(losses(outcome), [weight @ loss.value(y, f) for f in wanted], rtol=1e-8)


@pytest.mark.parametrize(
    ("step", "wanted", "loss"),
    [
        ("1/curvature", lambda t: 4.0, Logistic()),
        ("2/(convexity*t)", lambda t: 2 / t, Squared()),
        ("1/(convexity*t)", lambda t: 1 / t, Squared()),
        ("1/sqrt(t)", lambda t: t**-0.5, Hinge()),
        (0.25, lambda t: 0.25, Hinge()),
        (lambda t: 1 / (1 + t), lambda t: 1 / (1 + t), Hinge()),
    ],
    ids=["1/curvature", "2/(convexity*t)", "1/(convexity*t)", "1/sqrt(t)", "float", "function"],
)
def test_steps_are_what_their_names_say(step: Any, wanted: Any, loss: Any, rng: np.random.Generator) -> None:
    y, weight = np.where(rng.random((10, 1)) < 0.5, 1.0, -1.0), np.full(10, 0.1)
    outcome, _ = solve(Risk(loss, y, weight), Directions(rng.normal(size=(4, 10, 1)), weight), Naive(), 7, step)
    np.testing.assert_allclose(outcome.expansion.steps, [wanted(t) for t in range(1, 8)])


@pytest.mark.parametrize(
    ("loss", "algorithm", "rule"),
    [
        (Squared(), Naive(), "1/curvature"),
        (Logistic(), Naive(), "1/curvature"),
        (Exponential(), Naive(), "line-search"),
        (Hinge(), Naive(), "1/sqrt(t)"),
        (Squared(), Repeated(), "2/(convexity*t)"),
        (Squared(), Residual(), "1/(convexity*t)"),
        (Logistic(), Residual(), "1/sqrt(t)"),
        (Absolute(), Residual(), "1/sqrt(t)"),
        (TwoPoints(), Naive(), "1/sqrt(t)"),
    ],
    ids=repr,
)
def test_automatic_steps_go_by_what_the_loss_declares(loss: Any, algorithm: Any, rule: str) -> None:
    assert make_steps("auto", 1.0, algorithm, Risk(loss, np.ones((2, 1)), np.full(2, 0.5))).rule == rule


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("1/curvature", "curvature"),
        ("1/(convexity*t)", "strongly convex"),
        ("line-search", "smooth"),
        ("fast", "'auto'"),
    ],
)
def test_steps_that_a_loss_does_not_allow_are_refused(step: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_steps(step, 1.0, Naive(), Risk(Hinge(), np.ones((2, 1)), np.full(2, 0.5)))


def test_the_natural_step_follows_the_unit_of_the_targets(rng: np.random.Generator) -> None:
    y, weight = rng.normal(size=(20, 1)), np.full(20, 0.05)
    directions = rng.normal(size=(6, 20, 1))
    for algorithm in ALGORITHMS:
        one, _ = solve(Risk(Absolute(), y, weight), Directions(directions, weight), algorithm, 10)
        many, _ = solve(Risk(Absolute(), 1000 * y, weight), Directions(directions, weight), algorithm, 10)
        np.testing.assert_allclose(losses(many), 1000 * losses(one), rtol=1e-10)


# -- invariants of section 9.11 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Hinge(), Absolute(), Logistic()], ids=repr)
def test_residual_leaves_what_is_orthogonal_to_its_step(loss: Any, rng: np.random.Generator) -> None:
    m = 15
    weight = rng.random(m) + 0.1
    weight /= weight.sum()
    risk = Risk(loss, targets("signs", m, 1, rng), weight)
    projector, residual, f = Directions(rng.normal(size=(7, m, 1)), weight), None, rng.normal(size=(m, 1))
    largest, smallest = 0.0, 1.0
    for t in range(1, 40):
        gradient = risk.gradient(f)
        found = Residual().direct(risk, projector, gradient, t, residual)
        residual = found.residual
        assert abs(risk.inner(found.total, residual)) <= 1e-12 * (1 + risk.norm(residual) ** 2)
        largest, smallest = max(largest, risk.norm(gradient)), min(smallest, found.edges[0])
        q = np.sqrt(1 - smallest**2)
        assert risk.norm(residual) <= largest * q / (1 - q) + 1e-12
        assert risk.norm(found.total) <= largest / (1 - q) + 1e-12
        f = f - 0.1 * found.total


@pytest.mark.parametrize("loss", [Hinge(), Squared(), Logistic()], ids=repr)
def test_repeated_with_one_projection_is_naive(loss: Any, rng: np.random.Generator) -> None:
    y, weight = targets("signs", 15, 1, rng), np.full(15, 1 / 15)
    projector = Directions(rng.normal(size=(5, 15, 1)), weight)
    one, _ = solve(Risk(loss, y, weight), projector, Naive(), 30, 0.1)
    for orthogonal in (False, True):
        other, _ = solve(Risk(loss, y, weight), projector, Repeated(1, orthogonal), 30, 0.1)
        np.testing.assert_allclose(losses(other), losses(one), rtol=1e-12)


@pytest.mark.parametrize("loss", [Absolute(), Hinge(), Logistic(), Squared()], ids=repr)
def test_with_all_directions_all_are_subgradient_descent(loss: Any, rng: np.random.Generator) -> None:
    y, weight = targets("signs", 10, 1, rng), np.full(10, 0.1)
    f, wanted = rng.normal(size=(10, 1)), []
    start = f.copy()
    for t in range(1, 31):
        wanted.append(weight @ loss.value(y, f))
        f = f - 0.5 / np.sqrt(t) * loss.gradient(y, f)
    for algorithm in ALGORITHMS:
        found, _ = solve(Risk(loss, y, weight), Everything(), algorithm, 29, "1/sqrt(t)", 0.5, initial=start)
        np.testing.assert_allclose(losses(found), wanted[: len(losses(found))], rtol=1e-10, atol=1e-13)
        assert found.n_rounds == 29 or found.converged


def test_repeated_uses_t_projections_or_reaches_its_error(rng: np.random.Generator) -> None:
    m = 20
    weight = np.full(m, 1 / m)
    risk = Risk(Absolute(), rng.normal(size=(m, 1)), weight)
    projector = Directions(rng.normal(size=(40, m, 1)), weight)
    outcome, _ = solve(risk, projector, Repeated(), 8)
    assert np.bincount(outcome.expansion.rounds).tolist() == list(range(9))
    assert outcome.history[-1]["learners"] == 36
    for orthogonal in (False, True):
        outcome, _ = solve(risk, projector, Repeated(0.2, orthogonal), 8)
        for record, before in zip(outcome.history[1:], outcome.history, strict=False):
            assert record["projection_error"] <= 0.2 * before["gradient_norm"] * (1 + 1e-12)


def test_the_orthogonal_variant_is_never_longer_than_the_gradient(rng: np.random.Generator) -> None:
    weight = np.full(2, 0.5)
    risk = Risk(Absolute(), np.zeros((2, 1)), weight)
    # two unit directions at 60°: plain repetition overshoots (EG6), least squares does not
    angle = np.pi / 3
    projector = Directions(np.array([[[1.0], [0.0]], [[np.cos(angle)], [np.sin(angle)]]]), weight)
    worst = 0.0
    for turn in np.linspace(0, np.pi, 50):
        gradient = np.array([[np.cos(turn)], [np.sin(turn)]])
        for t in range(1, 6):
            plain_one = Repeated().direct(risk, projector, gradient, t, None)
            fitted = Repeated(orthogonal=True).direct(risk, projector, gradient, t, None)
            worst = max(worst, risk.norm(plain_one.total) / risk.norm(gradient))
            assert risk.norm(fitted.total) <= risk.norm(gradient) * (1 + 1e-12)
            assert fitted.error <= plain_one.error + 1e-12
    assert 1.1 < worst < 2.0


# -- rates and bounds ----------------------------------------------------------------------------------------------


def random_problem(seed: int, loss: Any, kind: str, k: int) -> tuple[Risk, Projector]:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(4, 16))
    weight = rng.random(m) + 0.1
    weight /= weight.sum()
    if isinstance(loss, RankingHinge):
        query = rng.integers(0, 3, m)
        query[:2] = 0
        relevance = rng.integers(0, 3, m)
        relevance[:2] = [0, 1]
        y = loss.targets(relevance, query, weight)
    else:
        y = targets(kind, m, k, rng)
    n = int(rng.integers(m * k, 2 * m * k))
    return Risk(loss, y, weight), Directions(rng.normal(size=(n, m, k)), weight)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("step", ["1/curvature", "line-search"])
def test_naive_is_linear_where_the_loss_is_smooth_and_strongly_convex(seed: int, step: str) -> None:
    risk, projector = random_problem(seed, Squared(), "reals", 1 + seed % 3)
    outcome, _ = solve(risk, projector, Naive(), 30, step)
    for before, after in zip(outcome.history, outcome.history[1:], strict=False):
        assert after["theorem"] == 3
        assert after["loss"] <= after["bound"] * (1 + 1e-9) + 1e-14
        assert after["loss"] <= (1 - after["edge"] ** 2) * before["loss"] * (1 + 1e-9) + 1e-14
    assert outcome.history[-1]["loss"] < 0.5 * outcome.history[0]["loss"]


COVERED = [
    (Squared(), "reals", 1, Repeated(), 4),
    (Squared(), "reals", 2, Repeated(orthogonal=True), 4),
    (Squared(), "reals", 2, Residual(), 6),
    (Absolute(), "reals", 1, Repeated(), 5),
    (Hinge(), "signs", 2, Repeated(orthogonal=True), 5),
    (MulticlassHinge(3), "classes", 3, Repeated(), 5),
    (Absolute(), "reals", 2, Residual(), 7),
    (Hinge(), "signs", 1, Residual(), 7),
    (MulticlassHinge(3), "classes", 3, Residual(), 7),
    (Quantile(0.8), "reals", 1, Residual(), 7),
    (Huber(0.5), "reals", 1, Residual(), 7),
    (RankingHinge(), "ranks", 1, Residual(), 7),
    (RankingHinge(), "ranks", 1, Repeated(), 5),
    (Logistic(), "signs", 2, Residual(), 7),  # their minimum is at infinity
    (Softmax(3), "classes", 3, Residual(), 7),
    (Exponential(), "signs", 1, Repeated(orthogonal=True), 5),
    (Softmax(3), "classes", 3, Repeated(), 5),
]


def promised(number: int, T: int, edge: float, G: float, F: float, c: float, orthogonal: bool) -> float:
    """The table of G6, for a step of c/√t in Theorems 5 and 7 and λ = 1 in 4 and 6."""
    q = np.sqrt(1 - edge**2)
    if number == 4:
        return (4 * G**2 * (1 + np.log(T)) + G**2 * (1 - edge**2) / edge**2) / T
    if number == 6:
        return G**2 / (2 * T) * ((1 + np.log(T)) / (1 - q) ** 2 + (q / (1 - q)) ** 2 / T)
    if number == 5:
        size = G**2 if orthogonal else 4 * G**2
        return F**2 / (2 * c * np.sqrt(T)) + c * size / np.sqrt(T) + F * G * q / ((1 - q) * T)
    return F**2 / (2 * c * np.sqrt(T)) + c * (G / (1 - q)) ** 2 / np.sqrt(T) + c * (q * G / (1 - q)) ** 2 / (2 * T**1.5)


@pytest.mark.parametrize("case", COVERED, ids=lambda case: f"{case[0]!r}-{case[3]!r}")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [1.0, 0.3])
def test_bounds_hold_at_every_round(case: Any, seed: int, size: float) -> None:
    loss, kind, k, algorithm, number = case
    if size != 1.0 and number in (4, 6):
        return  # these theorems have one step size
    risk, projector = random_problem(seed, loss, kind, k)
    outcome, _ = solve(risk, projector, algorithm, 25, size=size)
    assert outcome.history[-1]["theorem"] == number
    values = losses(outcome)
    for record in outcome.history[1:]:
        T = record["round"]
        assert record["average_loss"] == pytest.approx(values[:T].mean())
        assert record["average_loss"] <= record["bound"] * (1 + 1e-12)
        more = promised(
            number, T, record["smallest_edge"], record["largest_gradient"], record.get("largest_distance", 0.0),
            outcome.history[1]["step"], getattr(algorithm, "orthogonal", False),
        )  # fmt: skip
        assert record["bound"] == pytest.approx(risk.value(risk.comparator) + more, rel=1e-9)
        assert record["smallest_edge"] == pytest.approx(np.nanmin([r["edge"] for r in outcome.history[1 : T + 1]]))
        assert record["largest_gradient"] == pytest.approx(max(r["gradient_norm"] for r in outcome.history[:T]))
    # what the average bounds: the best function, and the averaged one
    expansion, T = outcome.expansion, outcome.n_rounds
    average = expansion.weights("average", T, outcome.best)
    outputs = np.stack([h.outputs for h in expansion.hypotheses])
    averaged = risk.value(expansion.start + np.einsum("s,sik->ik", average, outputs))
    assert averaged <= outcome.history[-1]["average_loss"] + 1e-12
    assert values[:T].min() <= outcome.history[-1]["average_loss"] + 1e-12


def test_bounds_are_not_claimed_where_no_theorem_applies(rng: np.random.Generator) -> None:
    risk, projector = random_problem(0, Hinge(), "signs", 1)
    assert "bound" not in solve(risk, projector, Naive(), 3)[0].history[-1]
    assert "bound" not in solve(risk, projector, Residual(), 3, 0.1)[0].history[-1]
    assert "bound" not in solve(risk, projector, Repeated(0.3), 3)[0].history[-1]
    assert np.isnan(solve(risk, projector, Residual(), 3)[0].history[0]["bound"])


@pytest.mark.parametrize(
    ("loss", "kind"),
    [(Logistic(), "signs"), (Exponential(), "signs"), (Softmax(3), "classes"), (Squared(), "reals")],
    ids=lambda one: repr(one),
)
def test_losses_without_a_minimum_are_compared_with_a_tenth_of_the_start(loss: Any, kind: str, rng) -> None:
    risk = Risk(loss, targets(kind, 30, 3 if kind == "classes" else 1, rng), np.full(30, 1 / 30))
    assert 0.0 <= risk.least <= 0.1 * risk.value(np.tile(risk.start, (30, 1)))
    assert np.all(np.isfinite(risk.comparator))


# -- the rest ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Exponential(), Huber(0.3)], ids=repr)
def test_line_search_finds_the_lowest_point_of_the_line(loss: Any, rng: np.random.Generator) -> None:
    for _ in range(10):
        risk = Risk(loss, targets("signs", 12, 1, rng), np.full(12, 1 / 12))
        f = rng.normal(size=(12, 1))
        h = risk.gradient(f) + 0.3 * rng.normal(size=(12, 1))
        step = line_search(risk, f, h)
        here = risk.value(f - step * h)
        assert here <= min(risk.value(f - other * h) for other in step * np.linspace(0, 2, 41)) + 1e-12


def test_a_zero_subgradient_is_the_end(rng: np.random.Generator) -> None:
    y, weight = targets("signs", 8, 1, rng), np.full(8, 1 / 8)
    outcome, _ = solve(Risk(Hinge(), y, weight), Everything(), Residual(), 500)
    assert outcome.converged
    assert outcome.reason == "stationary"
    assert losses(outcome)[-1] == 0.0


def test_a_learner_that_finds_nothing_ends_the_run() -> None:
    weight = np.full(4, 0.25)
    risk = Risk(Squared(), np.arange(4.0)[:, None], weight)
    outcome, _ = solve(risk, Directions(np.ones((1, 4, 1)), weight), Naive(), 10, initial=np.full((4, 1), 1.5))
    assert outcome.reason == "no_edge"
    assert not outcome.converged


def test_steps_that_explode_end_the_run_at_the_best_function(rng: np.random.Generator) -> None:
    risk = Risk(Squared(), rng.normal(size=(6, 1)), np.full(6, 1 / 6))
    with np.errstate(over="ignore", invalid="ignore"):
        outcome, _ = solve(risk, Everything(), Naive(), 2000, 5.0)
    assert outcome.reason == "diverged"
    assert outcome.best == 0


def test_cycles_are_only_reported_for_the_naive_algorithm_on_losses_that_are_not_smooth(rng) -> None:
    y = rng.normal(size=(30, 1))
    weight = np.full(30, 1 / 30)
    directions = Directions(rng.normal(size=(2, 30, 1)), weight)
    assert solve(Risk(Absolute(), y, weight), directions, Naive(), 60)[0].cycled is not None
    assert solve(Risk(Squared(), y, weight), directions, Naive(), 60)[0].cycled is None
    assert solve(Risk(Absolute(), y, weight), directions, Residual(), 60)[0].cycled is None


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
@pytest.mark.parametrize("loss", [Hinge(), Softmax(3), Absolute()], ids=repr)
def test_going_on_equals_never_having_stopped(algorithm: Any, loss: Any, rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 3))
    kind = {"Hinge()": "signs", "Absolute()": "reals"}.get(repr(loss), "classes")
    y, weight = targets(kind, 60, 3 if kind == "classes" else 2, rng), np.full(60, 1 / 60)
    risk = Risk(loss, y, weight)

    def start() -> FunctionalBoosting:
        projector = VectorTrees().bind(X, Bond(weight))
        return FunctionalBoosting(risk, projector, algorithm, make_steps("auto", 1.0, algorithm, risk))

    whole = start().run(12, Monitor())
    first = start().run(7, Monitor())
    monitor = Monitor()
    monitor.history[:] = first.history[:-1]
    second = start().run(5, monitor, first.expansion, X)
    assert second.n_rounds == 12
    assert losses(second).tolist() == losses(whole).tolist()
    assert second.expansion.coef == whole.expansion.coef
    assert second.best_so_far == whole.best_so_far
    drop = ("seconds",)
    for a, b in zip(second.history, whole.history, strict=True):
        # sums of products may round by where arrays happen to lie in memory
        assert {n: v for n, v in a.items() if n not in drop} == pytest.approx(
            {n: v for n, v in b.items() if n not in drop}, rel=1e-12, nan_ok=True
        )


def test_expansion_weights_are_those_of_its_functions(rng: np.random.Generator) -> None:
    expansion = Expansion(np.zeros(1))
    rounds = [1, 2, 2, 3, 3, 3]
    outputs = rng.normal(size=(6, 4, 1))
    for t in (1, 2, 3):
        mine = [s for s in range(6) if rounds[s] == t]
        expansion.extend([Fixed(s, outputs[s]) for s in mine], rng.normal(size=len(mine)), 1.0 / t, 0.5)
    iterates = list(expansion.iterates(np.zeros((4, 1))))
    for output, wanted in [
        ("last", iterates[3]),
        ("best", iterates[2]),
        ("average", np.mean(iterates[:3], axis=0)),
    ]:
        found = np.einsum("s,sik->ik", expansion.weights(output, 3, best=2), outputs)
        np.testing.assert_allclose(found, wanted, atol=1e-14)


def test_bad_losses_get_a_sentence(rng: np.random.Generator) -> None:
    class Mean:
        def value(self, y, score):
            return 1.0

        def gradient(self, y, score):
            return score[:, 0]

    risk = Risk(Mean(), np.zeros((5, 1)), np.full(5, 0.2))
    with pytest.raises(ValueError, match="one number per example"):
        risk.value(np.zeros((5, 1)))
    with pytest.raises(ValueError, match="shape of the scores"):
        risk.gradient(np.zeros((5, 1)))


def test_steps_at_a_constant() -> None:
    assert Steps("constant", 0.5).at(None, 3, None, None) == 0.5  # type: ignore[arg-type]
