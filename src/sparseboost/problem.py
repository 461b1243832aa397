"""The question a fit answers, without any algorithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparseboost import kernels
from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Candidates, Dictionary, Enumerable
from sparseboost.hypotheses.base import Rank
from sparseboost.losses import Loss
from sparseboost.penalties import NoPenalty, Norm, Penalty
from sparseboost.threads import one_blas_thread

Array = np.ndarray


class Proof(NamedTuple):
    """What a dual point tells about the problem that has only some of the hypotheses."""

    dual: Array  # respects the intercept's constraint
    correlation: Array  # of these hypotheses
    violation: float
    bound: float  # no weights of these hypotheses have a smaller objective


@dataclass(frozen=True)
class Survey:
    """One look at all hypotheses: how far from the optimum, and which hypotheses promise most."""

    objective: float
    lower_bound: float
    candidates: Candidates

    @property
    def gap(self) -> float:
        """How far the objective can be above the optimum, at most."""
        return max(self.objective - self.lower_bound, 0.0)


@dataclass(frozen=True)
class Problem:
    r"""min over W, b of Σ_i s_i ℓ(y_i, b + Σ_j W_j h_j(x_i)) + α Σ_j c_j ρ(W_j), with Σ_i s_i = 1.

    References
    ----------
    MATH.md T3 (dual and gap), T5 (largest useful penalty), T6 (weights, costs, intercept).
    """

    loss: Loss
    penalty: Penalty
    alpha: float
    dictionary: Dictionary
    y: Array
    weight: Array
    fit_intercept: bool = True
    smooth_loss: Loss | None = None  # stands in for gradients of a non-smooth loss

    def __post_init__(self) -> None:
        if self.alpha == 0.0:
            object.__setattr__(self, "penalty", NoPenalty(self.penalty.positive))

    @property
    def n_outputs(self) -> int:
        """k, the number of scores per example."""
        return self.loss.n_outputs(self.y)

    @property
    def certifiable(self) -> bool:
        """Whether the gap tends to zero at the optimum: not without a penalty, nor if it needs all hypotheses."""
        if isinstance(self.penalty, Norm):
            return True
        return not isinstance(self.penalty, NoPenalty) and isinstance(self.dictionary, Enumerable)

    @property
    def driving_loss(self) -> Loss:
        """The loss whose gradients drive the updates."""
        return self.smooth_loss or self.loss

    def smoothed(self, width: float) -> Problem:
        """The same question, with gradients of a loss smoothed over this width."""
        return replace(self, smooth_loss=self.loss.smoothed(width))

    @cached_property
    def start(self) -> Array:
        """Intercept of the empty model."""
        return self.loss.start(self.y, self.weight) if self.fit_intercept else np.zeros(self.n_outputs)

    @cached_property
    def empty_objective(self) -> float:
        """Objective of the empty model, the yardstick of relative gaps."""
        empty = Ensemble.empty(self.dictionary, self.start)
        return self.objective(empty, empty.score())

    @cached_property
    def largest_alpha(self) -> float:
        """Smallest alpha at which the empty model is optimal (T5)."""
        with one_blas_thread():  # the same bits as the first look of a fit
            empty = Ensemble.empty(self.dictionary, self.start)
            return self.survey(empty, empty.score()).candidates.violation

    @property
    def enumerable(self) -> Enumerable:
        """The dictionary, for those who need to see all of it."""
        if not isinstance(self.dictionary, Enumerable):
            raise TypeError(f"{type(self.dictionary).__name__} cannot be enumerated.")
        return self.dictionary

    @cached_property
    def energy(self) -> Array:
        """Σ_i s_i h_j(x_i)² of every hypothesis of an enumerable space."""
        return self.enumerable.energy(self.weight)

    @cached_property
    def reach(self) -> Array:
        """max_i |h_j(x_i)| of every hypothesis of an enumerable space."""
        return self.enumerable.reach(self.weight)

    def energy_of(self, keys: Array) -> Array:
        """Σ_i s_i h_j(x_i)² of these hypotheses of any space."""
        if isinstance(self.dictionary, Enumerable):
            return self.energy[keys]
        return self.dictionary.columns(keys).energy(self.weight)

    def reach_of(self, keys: Array) -> Array:
        """max_i |h_j(x_i)| of these hypotheses of any space."""
        if isinstance(self.dictionary, Enumerable):
            return self.reach[keys]
        return self.dictionary.columns(keys).reach(self.weight)

    def split_correlate(self, keys: Array, up: Array, down: Array) -> tuple[Array, Array]:
        """μ⁺ and μ⁻ of these hypotheses of any space (T1)."""
        if isinstance(self.dictionary, Enumerable):
            return self.dictionary.split_correlate(keys, up, down)
        return self.dictionary.columns(keys).split_correlate(up, down)

    def loss_value(self, score: Array) -> float:
        """Weighted loss of these scores."""
        return self.mean_loss(self.loss, score)

    def mean_loss(self, loss: Loss, score: Array) -> float:
        """Σ_i s_i ℓ(y_i, z_i) of this loss."""
        return float(self.weight @ loss.value(self.y, score))

    def objective(self, ensemble: Ensemble, score: Array) -> float:
        """Weighted loss plus penalty, of all hypotheses."""
        return self.loss_value(score) + self._whole_penalty(ensemble)

    def _whole_penalty(self, ensemble: Ensemble) -> float:
        outside = 0.0 if isinstance(self.penalty, Norm) else self.alpha * self._penalty_at_zero(ensemble)
        return self.penalty_value(ensemble) + outside

    def penalty_value(self, ensemble: Ensemble) -> float:
        """α Σ_j c_j ρ(W_j) of the active hypotheses."""
        return self.alpha * float(ensemble.cost @ self.penalty.value(ensemble.coef)) if ensemble.size else 0.0

    def driving_objective(self, ensemble: Ensemble, score: Array) -> float:
        """What the updates lower: the driving loss plus the penalty of the active hypotheses."""
        return self.mean_loss(self.driving_loss, score) + self.penalty_value(ensemble)

    def strength(self, ensemble: Ensemble) -> Array:
        """α·c_j of the active hypotheses."""
        return self.alpha * ensemble.cost

    def dual_point(self, score: Array, dual: Array | None = None) -> Array:
        """A point of the dual's domain, the gradient if none is given; it respects the intercept's constraint."""
        if dual is None:
            dual = self.driving_loss.gradient(self.y, score)
        return self.loss.balance(self.y, dual, self.weight) if self.fit_intercept else dual

    def loss_and_dual_point(self, score: Array, dual: Array | None = None) -> tuple[float, Array]:
        """`loss_value` and `dual_point`, in one pass over the scores where they share work."""
        if dual is not None or self.smooth_loss is not None:
            return self.loss_value(score), self.dual_point(score, dual)
        value, dual = self.loss.value_and_gradient(self.y, score)
        return float(self.weight @ value), self.dual_point(score, dual)

    def force(self, dual: Array) -> Array:
        """What pulls at the scores of every example: s_i v_i."""
        return self._by_rows(kernels.elementary.times_rows, dual)

    def dual_of(self, force: Array) -> Array:
        """The dual point that pulls like this; zero where an example has no weight."""
        return self._by_rows(kernels.elementary.over_rows, force)

    def _by_rows(self, function: Callable[[Array, Array, Array], None], values: Array) -> Array:
        out = np.empty(values.shape)
        function(self.weight, np.ascontiguousarray(values, dtype=np.float64), out)
        return out

    def best_scale(self, dual: Array, limit: float) -> float:
        """The scale in [0, limit] at which a dual point gives the largest bound."""
        return self.loss.best_scale(self.y, dual, self.weight, limit)

    def dual_value(self, dual: Array, scale: float) -> float:
        """−Σ_i s_i ℓ*(y_i, scale · v_i)."""
        return self.loss.dual_value(self.y, dual, self.weight, scale)

    def survey(
        self, ensemble: Ensemble, score: Array, count: int = 0, rank: Rank | None = None, dual: Array | None = None
    ) -> Survey:
        """Objective, lower bound over *all* hypotheses, and the `count` best candidates, in one pass.

        `dual` is a dual point that a solver found, per example; by default the gradient.
        """
        loss, dual = self.loss_and_dual_point(score, dual)
        above = self.alpha if self.penalty.zeroes_blocks else -1.0
        found = self.dictionary.search(
            self.force(dual),
            self.penalty.dual_norm,
            count,
            above=above,
            exclude=ensemble.keys,
            rank=rank,
        )
        lower = self.lower_bound(dual, found.violation, found.correlation)
        return Survey(loss + self._whole_penalty(ensemble), lower, found)

    def restricted_gap(self, ensemble: Ensemble, score: Array) -> float:
        """Gap of the problem that has only the active hypotheses."""
        return self.loss_value(score) + self.penalty_value(ensemble) - self.restricted_proof(ensemble, score).bound

    def restricted_proof(
        self, ensemble: Ensemble, score: Array, dual: Array | None = None, correlation: Array | None = None
    ) -> Proof:
        """A lower bound of the problem that has only the active hypotheses, and where it comes from.

        `correlation` of a dual point may be known, and is of use where no intercept asks for another one.
        """
        dual = self.dual_point(score, dual)
        if correlation is None or self.fit_intercept:
            correlation = ensemble.columns.correlate(self.force(dual))
        violation = float(self.penalty.violation(correlation, ensemble.cost).max(initial=0.0))
        return Proof(dual, correlation, violation, self.lower_bound(dual, violation, correlation, ensemble))

    def lower_bound(
        self, dual: Array, violation: float, correlation: Array | None = None, ensemble: Ensemble | None = None
    ) -> float:
        """Dual value of the largest feasible multiple of a dual point: no weights have a smaller objective (T3).

        `violation` is the largest dual norm over cost; penalties that are no norm also need the correlations, of all
        hypotheses or of those in `ensemble`.
        """
        limit = self.alpha / violation if violation > 0.0 else np.inf
        scale = self.best_scale(dual, limit) if isinstance(self.penalty, Norm) else min(1.0, limit)
        value = self.dual_value(dual, scale)
        if isinstance(self.penalty, Norm):
            return value
        if correlation is None:  # the conjugate of the penalty sums over all hypotheses
            return -np.inf
        cost = ensemble.cost if ensemble is not None else self.dictionary.cost(np.arange(correlation.shape[0]))
        return value - self.penalty.conjugate(scale * correlation, self.alpha * cost)

    def _penalty_at_zero(self, ensemble: Ensemble) -> float:
        at_zero = float(self.penalty.value(np.zeros((1, self.n_outputs)))[0])
        if at_zero == 0.0:
            return 0.0
        if not isinstance(self.dictionary, Enumerable):  # counted from the empty model: the whole sum has no end
            return -at_zero * float(ensemble.cost.sum())
        everything = self.dictionary.cost(np.arange(self.enumerable.size))
        return at_zero * float(everything.sum() - ensemble.cost.sum())

    def steepness(self, keys: Array, correlation: Array) -> Array:
        """How strongly the gradient pulls at zero rows: their violation, or its size where nothing holds them."""
        if self.penalty.zeroes_blocks:
            return self.penalty.violation(correlation, self.dictionary.cost(keys))
        return np.abs(self.penalty.signed(correlation)).max(axis=1)

    def steepest(self, candidates: Candidates) -> float:
        """Largest entry of the gradient over all hypotheses: zero exactly at an unpenalised optimum."""
        if candidates.correlation is None:
            return np.inf
        return float(np.abs(self.penalty.signed(candidates.correlation)).max(initial=0.0))
