"""Boosting in function space behind the one loop: follow subgradients of any convex risk with weak learners."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparseboost.monitors import Monitor, Record
from sparseboost.solvers.base import Course, Look, run
from sparseboost.solvers.functional.algorithms import Algorithm, Direction, Naive, Repeated, combine
from sparseboost.solvers.functional.bounds import Observed, bound, theorem
from sparseboost.solvers.functional.expansion import Expansion
from sparseboost.solvers.functional.projection import Array, Projector
from sparseboost.solvers.functional.risk import Risk
from sparseboost.solvers.functional.steps import Steps
from sparseboost.threads import one_blas_thread

CYCLE = 20  # rounds that a cycle of the naive algorithm is looked for in
KEPT = 0.1  # of the decrease that the steps promise to first order; a cycle keeps next to nothing, progress most of it


@dataclass(frozen=True)
class Point:
    """Where functional boosting stands between two rounds."""

    score: Array  # f_t on the training points
    round: int = 0
    residual: Array | None = None  # Δ of G3
    step: float = np.nan
    edges: tuple[float, ...] = ()
    error: float = np.nan
    observed: Observed = field(default_factory=Observed)
    validation: Array | None = None  # f_t on the validation points
    idle: bool = False  # the learner found nothing in the last round


@dataclass(frozen=True)
class Validation:
    """Data to stop by: the risk on it, its inputs, and the patience of the user.

    Attributes
    ----------
    risk : Risk
        The loss on the validation data.
    X : array
        Its inputs.
    patience : int
        Rounds without an improvement by `tol` after which the fit stops.
    tol : float
        The smallest improvement that counts.
    """

    risk: Risk
    X: Any
    patience: int
    tol: float


@dataclass(frozen=True)
class Outcome:
    """A finished run.

    Attributes
    ----------
    expansion : Expansion
        All weak learners.
    best : int
        The round with the smallest risk, on validation data if there is any.
    n_rounds : int
        Rounds in all, earlier fits included.
    reason, converged
        Why it stopped, and whether at a minimum.
    best_so_far : list of int
        The best round among the first 0, 1, 2, … of them.
    cycled : int or None
        The round since which the naive algorithm has repeated itself without progress.
    diverged : int or None
        The round in which the loss was no longer finite.
    history : list of dict
        One record per round.
    """

    expansion: Expansion
    best: int
    n_rounds: int
    reason: str
    converged: bool
    best_so_far: list[int]
    cycled: int | None
    diverged: int | None
    history: list[Record]


class FunctionalBoosting(Course):
    r"""f_t = f_{t−1} − η_t h_t, with h_t the projection of subgradients of R on the span of weak learners.

    Parameters
    ----------
    risk : Risk
        What is minimised.
    projector : Projector
        The weak learner, bound to the training inputs.
    algorithm : Algorithm
        `Naive`, `Repeated` or `Residual`.
    steps : Steps
        Step sizes.
    validation : Validation, optional
        Data for early stopping.
    max_learners : int, optional
        Stop when this many weak learners are used.
    initial : array of shape (m, k), optional
        f₀ on the training points; the best constant by default.

    References
    ----------
    Grubb & Bagnell (2011), Generalized Boosting Algorithms for Convex Optimization; MATH.md G1–G7.
    """

    def __init__(
        self,
        risk: Risk,
        projector: Projector,
        algorithm: Algorithm,
        steps: Steps,
        *,
        validation: Validation | None = None,
        max_learners: int | None = None,
        initial: Array | None = None,
    ) -> None:
        self.risk, self.projector, self.algorithm, self.steps = risk, projector, algorithm, steps
        self.validation, self.max_learners, self.initial = validation, max_learners, initial
        self.theorem = theorem(algorithm, steps, risk)
        self.expansion = Expansion(risk.start)
        self.best, self.best_value = 0, np.inf
        self.best_so_far: list[int] = []
        self.waiting, self.reference_value = 0, np.inf
        self.cycled: int | None = None
        self._recent: deque[tuple[Hashable, float, float]] = deque(maxlen=CYCLE)

    def run(self, max_rounds: int, monitor: Monitor, earlier: Expansion | None = None, X: Any = None) -> Outcome:
        """Boost for at most `max_rounds` more rounds, after the learners of an earlier run on the inputs X."""
        with one_blas_thread():
            point = self._begin() if earlier is None else self._replay(earlier, X)
            point, look, reason, _ = run(self, point, max_rounds, monitor)
        return Outcome(
            expansion=self.expansion,
            best=self.best,
            n_rounds=point.round,
            reason=reason,
            converged=look.converged,
            best_so_far=self.best_so_far,
            cycled=self.cycled,
            diverged=point.round if reason == "diverged" else None,
            history=monitor.history,
        )

    def _begin(self) -> Point:
        held = self.validation
        score = np.tile(self.risk.start, (self.risk.weight.size, 1)) if self.initial is None else self.initial
        return Point(score, validation=None if held is None else np.tile(self.risk.start, (held.risk.weight.size, 1)))

    # -- one look ---------------------------------------------------------------------------------------------------

    def look(self, state: Point, rounds: int) -> Look:
        value, gradient = self.risk.value_and_gradient(state.score)
        steep = self.risk.norm(gradient)
        record: Record = {
            "loss": value,
            "edge": min(state.edges) if state.edges else np.nan,
            "learners": self.expansion.size,
            "step": state.step,
            "projection_error": state.error,
            "gradient_norm": steep,
            **self._theory(state),
        }
        reason, converged = self._verdict(state, record, self._monitored(state, record, value))
        return Look(record, 0.0, reason, converged, (value, gradient, steep))

    def _theory(self, state: Point) -> Record:
        seen = state.observed
        if self.theorem is None:
            return {"average_loss": seen.average}
        orthogonal = isinstance(self.algorithm, Repeated) and self.algorithm.orthogonal
        return {
            "average_loss": seen.average,
            "smallest_edge": seen.edge if seen.rounds else np.nan,
            "largest_gradient": seen.gradient if seen.rounds else np.nan,
            **({"largest_distance": seen.distance if seen.rounds else np.nan} if self.theorem in (5, 7) else {}),
            "theorem": self.theorem,
            "bound": bound(self.theorem, seen, self.risk, self.steps, orthogonal),
        }

    def _monitored(self, state: Point, record: Record, value: float) -> bool:
        """Note the value that decides about the best round; whether patience with it has run out."""
        held = self.validation
        if held is not None:
            assert state.validation is not None
            value = record["validation_loss"] = held.risk.value(state.validation)
        if value < self.best_value:
            self.best, self.best_value = state.round, value
        self.best_so_far.append(self.best)
        if held is None:
            return False
        if value < self.reference_value - held.tol:
            self.waiting, self.reference_value = 0, value
        else:
            self.waiting += 1
        return self.waiting >= held.patience

    def _verdict(self, state: Point, record: Record, patience_over: bool) -> tuple[str | None, bool]:
        if record["gradient_norm"] == 0.0:  # zero is a subgradient: no function has a smaller risk
            return "stationary", True
        if not np.isfinite(record["loss"]):
            return "diverged", False
        if patience_over:
            return "no_improvement", False
        if state.idle:
            return "no_edge", False
        if self.max_learners is not None and self.expansion.size >= self.max_learners:
            return "max_learners", False
        return None, False

    # -- one round --------------------------------------------------------------------------------------------------

    def step(self, state: Point, look: Look, monitor: Monitor) -> Point:
        value, gradient, steep = look.found
        t = state.round + 1
        direction = self.algorithm.direct(self.risk, self.projector, gradient, t, state.residual)
        self._settle(state, gradient, direction)
        step = self.steps.at(self.risk, t, state.score, direction)
        self._watch(direction, value, step, t)
        return self._advance(state, value, steep, direction, step)

    def _settle(self, state: Point, gradient: Array, direction: Direction) -> None:
        if state.round == 0:
            edge = direction.edges[0]
            self.steps = self.steps.settled(self.risk, state.score, gradient, self.algorithm, edge)

    def _advance(self, state: Point, value: float, steep: float, direction: Direction, step: float) -> Point:
        self.expansion.extend(direction.hypotheses, direction.coef, step, min(direction.edges))
        far = self.risk.distance(state.score, self.risk.comparator) if self.theorem in (5, 7) else np.nan
        moved = direction.total * -step
        moved += state.score
        after = replace(
            state,
            score=moved,
            round=state.round + 1,
            residual=direction.residual,
            step=step,
            edges=tuple(direction.edges),
            error=direction.error,
            observed=state.observed.after(value, steep, far, direction.edges),
            idle=not np.any(direction.coef),
        )
        return self._validate(after, direction, step)

    def _validate(self, state: Point, direction: Direction, step: float) -> Point:
        if self.validation is None:
            return state
        assert state.validation is not None
        score = state.validation.copy()
        for hypothesis, coef in zip(direction.hypotheses, direction.coef, strict=True):
            type(hypothesis).add([hypothesis], np.array([-step * coef]), self.validation.X, score)
        return replace(state, validation=score)

    def _watch(self, direction: Direction, value: float, step: float, t: int) -> None:
        """Notice when the naive algorithm repeats the same few learners and the risk does not fall (G7).

        A step promises the decrease η⟨∇, h⟩ = η‖h‖²; on corners of the loss the next step takes it back.
        """
        if self.cycled is not None or self.risk.smooth or not isinstance(self.algorithm, Naive):
            return
        promised = step * self.risk.inner(direction.total, direction.total)
        self._recent.append((self._name(direction), value, promised))
        if len(self._recent) < CYCLE:
            return
        names, values, promises = zip(*self._recent, strict=True)
        half = CYCLE // 2
        decrease = min(values[:half]) - min(values[half:])
        if len(set(names)) <= half and decrease <= KEPT * sum(promises[half:]):
            self.cycled = t - CYCLE + 1

    def _name(self, direction: Direction) -> Hashable:
        """What a learner chose: its own word for it, or a hash of the direction of its outputs."""
        known = direction.hypotheses[0].signature()
        if known is not None:
            return known
        size = self.risk.norm(direction.total)
        if size == 0.0:
            return 0.0
        probe = np.cos(1.0 + np.arange(direction.total.shape[0]))[:, None] * np.ones(direction.total.shape[1])
        return round(abs(float(np.vdot(probe, direction.total))) / size, 6)

    # -- going on -----------------------------------------------------------------------------------------------

    def _replay(self, earlier: Expansion, X: Any) -> Point:
        """The point that the learners of an earlier run lead to on these data, with its residual and its averages.

        Nothing is learned: the same steps are taken again, so that more rounds continue as if there had been no pause.
        """
        point = self._begin()
        for t, (step, edge) in enumerate(zip(earlier.steps, earlier.edges, strict=True), start=1):
            value, gradient = self.risk.value_and_gradient(point.score)
            self._monitored(point, {}, value)
            hypotheses, coef = earlier.of_round(t)
            outputs = [hypothesis(X) for hypothesis in hypotheses]
            total = combine(outputs, coef) if outputs else np.zeros_like(point.score)
            left = self.algorithm.leftover(gradient, point.residual, total)
            error = self.risk.norm(gradient - total if left is None else left)
            direction = Direction(total, hypotheses, coef, [edge], error, left)
            self._settle(point, gradient, direction)
            point = self._advance(point, value, self.risk.norm(gradient), direction, step)
        return point
