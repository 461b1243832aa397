"""What the sparse boosting estimators share: from validated data to a fitted, certified model."""

from __future__ import annotations

import sys
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from sparseboost.ensemble import Stage
from sparseboost.estimators.callbacks import CallbackSupportMixin, RoundTasks
from sparseboost.estimators.standardize import standardized
from sparseboost.estimators.summary import REASONS, summary
from sparseboost.estimators.validation import (
    allows_missing,
    check_data,
    check_parameters,
    class_weights,
    finite_only,
    make_costs,
    make_penalty,
    make_space,
    make_template,
)
from sparseboost.hypotheses import Context, Dictionary, Feature, FeatureDictionary, Features, HypothesisSpace, evaluate
from sparseboost.losses import Loss
from sparseboost.monitors import Callback, Monitor
from sparseboost.penalties import Penalty
from sparseboost.problem import Problem
from sparseboost.solvers import (
    AdaBoost,
    Boosting,
    Correction,
    Corrector,
    GradBoost,
    Newton,
    Solution,
    StumpBlocks,
    minimize,
)

Array = np.ndarray

LIBRARIES = ("sparseboost", "sklearn", "contextlib")
REMEDIES = {
    "max_rounds": "raise max_rounds or tol, or penalise more",
    "time_budget": "raise time_budget or tol, or penalise more",
    "stalled": "raise tol",
}


def callers_level() -> int:
    """How many frames up the user's own call of `fit` is, so that warnings point there."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in LIBRARIES:
        frame, level = frame.f_back, level + 1
    return level


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if fitting fails or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


class BaseSparseBoost(TransformerMixin, CallbackSupportMixin, BaseEstimator, metaclass=ABCMeta):
    """Shared machinery of `SparseBoostClassifier` and `SparseBoostRegressor`."""

    alpha: float
    penalty: str | Penalty | None
    loss: str | Loss
    hypotheses: str | HypothesisSpace
    update: str
    template: str | Array
    induce: int | Literal["auto"]
    corrective: bool | Literal["alternate"]
    positive: bool
    feature_costs: Array | Mapping[str, float] | None
    fit_intercept: bool
    standardize: bool
    max_rounds: int
    max_features: int | None
    tol: float
    warm_start: bool
    time_budget: float | None
    random_state: Any
    class_weight: Mapping[Any, float] | str | None
    n_jobs: int | None
    verbose: int
    callbacks: Sequence[Callback] | None
    _over_features = True  # whether columns of coef_ are inputs; otherwise they belong to hypotheses_

    @abstractmethod
    def _encode(self, X: Any, y: Any, reset: bool) -> tuple[Any, Array, Loss, Array | None]:
        """Validated X, targets of shape (m, k) as the loss wants them, the loss, and labels that have class weights."""

    def _all_or_nothing(self) -> AbstractContextManager[None]:
        return all_or_nothing(self)

    # -- fitting --------------------------------------------------------------------------------------------

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        """Turn parameters and data into the question to answer; nothing of the estimator changes on error."""
        return self._pose(*self._encode_weighted(X, y, sample_weight))

    def _encode_weighted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Loss, Array]:
        """Checked parameters, then validated X, targets of shape (m, k), the loss, and the weight of every example."""
        self._check_parameters()
        make_penalty(self.penalty, self.positive)
        self._space()
        X, target, loss, labels = self._encode(X, y, reset=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if labels is not None:
            weight = weight * class_weights(self.class_weight, labels, weight)
        return X, target, loss, weight

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _space(self) -> HypothesisSpace:
        return make_space(self.hypotheses)

    @property
    def _inspects_later(self) -> bool:
        """Whether the first pass over X shows if all numbers are finite, as it does where they are the hypotheses."""
        return type(self._space()) is Features

    def _pose(self, X: Any, target: Array, loss: Loss, weight: Array) -> Problem:
        """The question to answer, from what `_encode_weighted` returns or some rows of it."""
        if not weight.sum() > 0:
            raise ValueError("sample_weight must have a positive sum; all weights are zero.")
        names = getattr(self, "feature_names_in_", None)
        target = np.ascontiguousarray(target, dtype=np.float64)
        weight = weight / weight.sum()
        context = Context(
            feature_names=names,
            feature_costs=make_costs(self.feature_costs, X.shape[1], names),
            categories=getattr(self, "_categories", {}),
            target=target,
            weight=weight,
            n_classes=(loss.n_outputs(target) if loss.multiclass else 2) if is_classifier(self) else None,
            random_state=self.random_state,
            n_jobs=effective_n_jobs(self.n_jobs),
            inspect=finite_only(self) if self._inspects_later else None,
        )
        dictionary: Dictionary = self._space().bind(X, context)
        penalty = make_penalty(self.penalty, self.positive)
        if self.standardize:
            dictionary = standardized(dictionary, penalty, weight, self.fit_intercept)
        return Problem(
            loss=loss,
            penalty=penalty,
            alpha=float(self.alpha),
            dictionary=dictionary,
            y=target,
            weight=weight,
            fit_intercept=bool(self.fit_intercept),
        )

    def _corrector(self, problem: Problem) -> Corrector:
        """The papers' update of that name; "auto" is Newton where it applies, else the update the loss allows."""
        template = make_template(self.template, self.n_features_in_)
        if not isinstance(template, str) and not isinstance(problem.dictionary, FeatureDictionary):
            raise ValueError("template can be an array with hypotheses='features' only; use 'single' or 'dense' here.")
        if self.update == "adaboost":
            return Correction(AdaBoost(), template)
        if self.update == "gradboost":
            return Correction(GradBoost(), template)
        driving = problem if problem.loss.smooth else problem.smoothed(1.0)
        if self.corrective is True and isinstance(template, str) and template == "single" and Newton.applies(driving):
            return StumpBlocks() if self.induce == "auto" and StumpBlocks.applies(driving) else Newton()
        return Correction(GradBoost() if driving.driving_loss.curvature is not None else AdaBoost(), template)

    def _boosting(self, problem: Problem) -> Boosting:
        return Boosting(self._corrector(problem), self.induce, self.corrective, self.max_features)

    def _solve(self, problem: Problem, X: Any, y: Any) -> None:
        solver = self._boosting(problem)
        stages: list[Stage] = []
        tasks = RoundTasks(self, X, y, lambda: self._weights(stages[-1], problem) if stages else None)
        monitor = Monitor(self.time_budget, int(self.verbose), [*(self.callbacks or []), tasks])
        try:
            solution = minimize(
                problem,
                solver,
                tol=self.tol,
                max_rounds=self.max_rounds,
                monitor=monitor,
                warm=self._warm(problem),
                stages=stages,
            )
        finally:
            monitor.close()
        for name, value in self._weights(solution.stage, problem).items():
            setattr(self, name, value)
        self._stages = stages
        self._met = dict(zip(np.sort(solution.stage[0]).tolist(), self.hypotheses_, strict=True))
        for key in np.setdiff1d(np.concatenate([keys for keys, _, _ in stages]), solution.stage[0]).tolist():
            self._met[key] = problem.dictionary.hypothesis(key)
        self.certificate_scope_ = "space" if problem.dictionary.exact else "induced"
        self._record(solution, solver.correction)
        tasks.close()

    def _warm(self, problem: Problem) -> Stage | None:
        """The weights of the previous fit, for the hypotheses that this problem has as well."""
        if not self.warm_start or not hasattr(self, "coef_") or self.coef_.shape[0] != problem.n_outputs:
            return None
        over_features = isinstance(problem.dictionary, FeatureDictionary)
        if over_features != self._over_features or (over_features and self.coef_.shape[1] != self.n_features_in_):
            return None
        return self._adopted(problem)

    def _adopted(self, problem: Problem) -> Stage:
        """The active hypotheses that this problem has as well, with their weights."""
        rows: dict[int, Array] = {}
        for hypothesis, row in zip(*self._active(), strict=True):
            key = problem.dictionary.adopt(hypothesis)
            if key is not None:
                rows[key] = rows.get(key, 0.0) + row
        keys = np.array(sorted(rows), dtype=np.int64)
        coef = np.array([rows[key] for key in keys]).reshape(keys.size, problem.n_outputs)
        # weights of a fit without the sign constraint are no start for one with it
        coef = np.maximum(coef, 0.0) if problem.penalty.positive else coef
        used = np.any(coef != 0, axis=1)
        start = self.intercept_ if self.fit_intercept else np.zeros(problem.n_outputs)
        return keys[used], np.ascontiguousarray(coef[used]), start

    def _weights(self, stage: Stage, problem: Problem) -> dict[str, Any]:
        keys, rows, intercept = stage
        order = np.argsort(keys)
        over_features = isinstance(problem.dictionary, FeatureDictionary)
        if over_features:
            coef = np.zeros((problem.n_outputs, self.n_features_in_))
            coef[:, keys] = rows.T
        else:
            coef = np.ascontiguousarray(rows[order].T)
        active = [problem.dictionary.hypothesis(int(key)) for key in keys[order]]
        return {
            "coef_": coef,
            "intercept_": intercept.copy(),
            "hypotheses_": active,
            "n_active_": len(active),
            "inputs_used_": np.array(sorted({j for h in active for j in h.inputs}), dtype=np.int64),
            "_over_features": over_features,
        }

    def _active(self) -> tuple[list[Any], Array]:
        """Active hypotheses and their rows of weights, (n_active, n_outputs); coef_ alone decides where it can."""
        if not self._over_features:
            return self.hypotheses_, self.coef_.T
        used = np.flatnonzero(np.any(self.coef_ != 0, axis=0))
        names = getattr(self, "feature_names_in_", None)
        context = Context(feature_names=names)
        return [Feature(int(j), context.name(int(j))) for j in used], self.coef_[:, used].T

    def _record(self, solution: Solution, corrector: Corrector) -> None:
        self.objective_ = solution.objective
        self.dual_gap_ = solution.gap
        self.converged_ = solution.converged
        self.stopping_reason_ = solution.reason
        self.n_rounds_ = solution.n_rounds
        self.history_ = solution.history
        self.solver_ = corrector.name
        if solution.reason in REMEDIES:
            warnings.warn(
                f"{type(self).__name__} stopped because {REASONS[solution.reason]}: the objective is certified to be "
                f"within {solution.gap:.2g} of the optimum, {solution.target:.2g} was wanted; "
                f"{REMEDIES[solution.reason]}.",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )

    # -- using a fitted model ---------------------------------------------------------------------------------

    def _decision(self, X: Any) -> Array:
        """Scores from the active hypotheses and their inputs alone, shape (m, k)."""
        check_is_fitted(self)
        X = self._check_predict(X)
        hypotheses, rows = self._active()
        return np.asarray(evaluate(hypotheses, X) @ rows) + self.intercept_

    def _staged(self, X: Any) -> Iterator[Array]:
        check_is_fitted(self)
        X = self._check_predict(X)  # now, not when the first stage is asked for
        place = {key: j for j, key in enumerate(self._met)}
        outputs = evaluate(list(self._met.values()), X)
        outputs = outputs.tocsc() if sp.issparse(outputs) else outputs
        return (
            np.asarray(outputs[:, [place[int(key)] for key in keys]] @ coef) + intercept
            for keys, coef, intercept in self._stages
        )

    def _check_predict(self, X: Any) -> Any:
        X = check_data(self, X, reset=False)
        return X.tocsr() if sp.issparse(X) and X.format == "coo" else X

    def get_support(self, indices: bool = False) -> Array:
        """Which inputs the model uses.

        Parameters
        ----------
        indices : bool, default=False
            Return indices instead of a mask.

        Returns
        -------
        ndarray
            Boolean mask of shape (n_features_in_,), or the indices where it is True.
        """
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[[j for hypothesis in self._active()[0] for j in hypothesis.inputs]] = True
        return np.flatnonzero(mask) if indices else mask

    def transform(self, X: Any) -> Any:
        """Return the selected inputs only.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data with the columns of the fit.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_inputs_used)
            The columns of X that the model looks at, in their order.
        """
        check_is_fitted(self)
        return self._check_predict(X)[:, self.get_support(indices=True)]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the selected inputs.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of all inputs; by default those of the fit, or ``x0``, ``x1``, ...

        Returns
        -------
        ndarray of str
            Names of the columns that `transform` returns.
        """
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.get_support()]

    def summary(self) -> str:
        """A page of text: inputs used, weights, the certified gap, and why the fit stopped."""
        check_is_fitted(self)
        return summary(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = allows_missing(self.hypotheses)
        tags.target_tags.required = True
        return tags
