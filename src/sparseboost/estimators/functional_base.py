"""What the functional boosting estimators share: from validated data to a learned function."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from sparseboost.estimators.base import callers_level
from sparseboost.estimators.callbacks import CallbackSupportMixin, RoundTasks
from sparseboost.estimators.validation import check_choice, check_data, check_flag, check_limits, check_number
from sparseboost.estimators.weak_learners import make_learner
from sparseboost.monitors import Callback, Monitor
from sparseboost.solvers.functional import (
    OUTPUTS,
    Algorithm,
    Bond,
    Expansion,
    FunctionalBoosting,
    Naive,
    Outcome,
    Repeated,
    Residual,
    Risk,
    Validation,
    WeakLearner,
    make_steps,
    total,
)

Array = np.ndarray
ALGORITHMS = ("residual", "repeated", "naive")
CYCLE_WARNING = (
    "The naive algorithm has repeated the same few weak learners since round {round} without lowering the loss: on a "
    "loss that is not smooth it may never reach the minimum; use algorithm='residual' or algorithm='repeated'."
)
DIVERGED_WARNING = "The loss became infinite in round {round}: the steps are too long; lower step_size."


class BaseFunctionalBoost(CallbackSupportMixin, BaseEstimator, metaclass=ABCMeta):
    """Shared machinery of the functional boosting estimators."""

    loss: Any
    algorithm: str
    learner: Any
    step: str | float | Callable[[int], float]
    step_size: float
    inner: str | int | float
    orthogonal: bool
    output: str
    max_rounds: int
    max_learners: int | None
    validation_fraction: float
    n_iter_no_change: int | None
    tol: float
    warm_start: bool
    time_budget: float | None
    random_state: Any
    n_jobs: int | None
    verbose: int
    callbacks: Sequence[Callback] | None

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the estimator as it was if fitting fails or is interrupted."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_parameters(self) -> None:
        check_limits(self)
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_choice("output", self.output, OUTPUTS)
        check_number("step_size", self.step_size, low=0.0, strict=True)
        if not callable(self.step) and not isinstance(self.step, str):
            check_number("step", self.step, low=0.0, strict=True)
        check_number("max_learners", self.max_learners, low=1, integer=True, optional=True)
        check_number("n_iter_no_change", self.n_iter_no_change, low=1, integer=True, optional=True)
        check_flag("orthogonal", self.orthogonal)
        check_flag("warm_start", self.warm_start)
        check_number("validation_fraction", self.validation_fraction, low=0.0, strict=True)
        if self.validation_fraction >= 1:
            raise ValueError(f"validation_fraction must be between 0 and 1, got {self.validation_fraction!r}.")
        wanted = "inner must be 't', an integer >= 1 or a projection error between 0 and 1"
        if isinstance(self.inner, str):
            if self.inner != "t":
                raise ValueError(f"{wanted}, got {self.inner!r}.")
        elif isinstance(self.inner, float):
            if not 0.0 < self.inner < 1.0:
                raise ValueError(f"{wanted}, got {self.inner!r}.")
        else:
            check_number("inner", self.inner, low=1, integer=True)

    def _algorithm(self) -> Algorithm:
        if self.algorithm == "repeated":
            return Repeated(self.inner, bool(self.orthogonal))
        return Residual() if self.algorithm == "residual" else Naive()

    # -- fitting ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def _hold_out(self, target: Array, rng: np.random.RandomState) -> tuple[Array, Array]:
        """Rows to train on and rows to validate on."""

    def _weights_of(self, X: Any, sample_weight: Any) -> Array:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.sum() > 0:
            raise ValueError("sample_weight must have a positive sum; all weights are zero.")
        return weight

    def _solve(self, X: Any, target: Array, loss: Any, weight: Array) -> None:
        """Boost on validated data, and set what a fitted estimator has."""
        X = X.tocsr() if sp.issparse(X) else X
        if not np.all(weight > 0):  # as if they were not there: not even cuts between their values
            X, target, weight = X[weight > 0], target[weight > 0], weight[weight > 0]
        rng = check_random_state(self.random_state)
        learner = make_learner(self.learner)
        earlier = self._earlier(Risk(loss, target, weight).n_outputs)
        parts, held = (X, target, weight), None
        if self.n_iter_no_change is not None:
            train, rest = self._hold_out(target, rng)
            parts = (X[train], target[train], weight[train])
            risk = self._risk(loss, target[rest], weight[rest])
            held = Validation(risk, X[rest], self.n_iter_no_change, self.tol)
        outcome = self._boost(parts, loss, learner, rng, held, earlier)
        self._keep(outcome, loss)

    def _risk(self, loss: Any, target: Array, weight: Array) -> Risk:
        if not weight.sum() > 0:
            raise ValueError("sample_weight must be positive in the training and the validation part.")
        return Risk(loss, np.ascontiguousarray(target, dtype=float), weight / weight.sum())

    def _boost(
        self,
        parts: tuple[Any, Array, Array],
        loss: Any,
        learner: WeakLearner,
        rng: np.random.RandomState,
        held: Validation | None,
        earlier: Expansion | None,
    ) -> Outcome:
        X, target, weight = parts
        risk, algorithm = self._risk(loss, target, weight), self._algorithm()
        names = getattr(self, "feature_names_in_", None)
        bond = Bond(risk.weight, float(weight.sum()), names, rng, effective_n_jobs(self.n_jobs))
        steps = make_steps(self.step, float(self.step_size), algorithm, risk)
        boosting = FunctionalBoosting(
            risk, learner.bind(X, bond), algorithm, steps, validation=held, max_learners=self.max_learners
        )
        tasks = RoundTasks(self, X, target, lambda: None)
        monitor = Monitor(self.time_budget, int(self.verbose), [*(self.callbacks or []), tasks], measure="loss")
        if earlier is not None:
            monitor.history[:] = self.history_[:-1]  # the last point is looked at again
        try:
            return boosting.run(self.max_rounds - (0 if earlier is None else earlier.n_rounds), monitor, earlier, X)
        finally:
            monitor.close()
            tasks.close()

    def _earlier(self, n_outputs: int) -> Expansion | None:
        """The learners of the previous fit, if this one goes on from it."""
        before: Expansion | None = getattr(self, "_expansion", None)
        if not self.warm_start or before is None or before.start.size != n_outputs:
            return None
        if self.max_rounds < before.n_rounds:
            raise ValueError(
                f"max_rounds={self.max_rounds} must be at least the {before.n_rounds} rounds already done when "
                f"warm_start=True."
            )
        return before

    def _keep(self, outcome: Outcome, loss: Any) -> None:
        self._expansion = outcome.expansion
        self._best_so_far = outcome.best_so_far
        weights = outcome.expansion.weights(self.output, outcome.n_rounds, outcome.best)
        used = np.flatnonzero(weights)
        self.hypotheses_ = [outcome.expansion.hypotheses[s] for s in used]
        self.weights_ = weights[used]
        self.start_ = outcome.expansion.start
        self.loss_ = loss
        self.n_learners_ = outcome.expansion.size
        self.n_rounds_ = outcome.n_rounds
        self.best_round_ = outcome.best
        self.stopping_reason_ = outcome.reason
        self.converged_ = outcome.converged
        self.history_ = outcome.history
        for text, number in ((CYCLE_WARNING, outcome.cycled), (DIVERGED_WARNING, outcome.diverged)):
            if number is not None:
                warnings.warn(text.format(round=number), ConvergenceWarning, stacklevel=callers_level())

    # -- using a fitted model -------------------------------------------------------------------------------------

    def _decision(self, X: Any) -> Array:
        check_is_fitted(self)
        X = self._check_predict(X)
        return total(self.hypotheses_, self.weights_, X, self.start_)

    def _staged(self, X: Any) -> Iterator[Array]:
        """Scores of the model that a fit of 0, 1, 2, … rounds would have returned."""
        check_is_fitted(self)
        return self._stages(self._check_predict(X))

    def _stages(self, X: Any) -> Iterator[Array]:
        iterates: list[Array] = []
        summed: Any = 0.0
        for t, score in enumerate(self._expansion.iterates(X)):
            if self.output == "average":
                yield score if t == 0 else summed / t
                summed = summed + score
            elif self.output == "best":
                iterates = iterates if self._best_so_far[t] < t else [score]
                yield iterates[0]
            else:
                yield score

    def _check_predict(self, X: Any) -> Any:
        X = check_data(self, X, reset=False)
        return X.tocsr() if sp.issparse(X) else X

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())  # a copy: the original may be this object's own
        state.pop("_data", None)  # training data stays with the process that has it
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_expansion")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        tags.target_tags.required = True
        return tags

    def _takes_sparse(self) -> bool:
        estimator = getattr(self.learner, "estimator", self.learner)
        own = getattr(estimator, "__sklearn_tags__", None)
        return True if own is None or isinstance(estimator, type) else bool(own().input_tags.sparse)
