"""What stagewise regression and Frank–Wolfe share as estimators: the fit, the path of weights, predictions."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from sparseboost.estimators.base import all_or_nothing, callers_level
from sparseboost.estimators.callbacks import CallbackSupportMixin, RoundTasks, with_callbacks
from sparseboost.estimators.validation import allows_missing, check_data, check_flag, check_limits, make_space
from sparseboost.hypotheses import Context, Feature, FeatureDictionary, HypothesisSpace, evaluate
from sparseboost.monitors import Callback, Monitor
from sparseboost.solvers.least_squares import LeastSquares
from sparseboost.solvers.stagewise import Rule, Trace, start, trace
from sparseboost.solvers.walks import Walk

Array = np.ndarray
LARGEST_PATH = 2**28  # entries of a dense path: 2 GB
REASONS = {
    "max_rounds": "max_rounds was reached",
    "time_budget": "the time budget ran out",
    "stalled": "double precision allows no further step",
}


class BaseStagewise(RegressorMixin, CallbackSupportMixin, BaseEstimator, metaclass=ABCMeta):
    """Shared machinery of `ForwardStagewiseRegressor` and `FrankWolfeLasso`."""

    hypotheses: str | HypothesisSpace
    fit_intercept: bool
    max_rounds: int
    tol: float
    time_budget: float | None
    random_state: Any
    n_jobs: int | None
    verbose: int
    callbacks: Sequence[Callback] | None

    @abstractmethod
    def _rule(self) -> Rule:
        """The rule that the parameters describe; complains about those that describe none."""

    @abstractmethod
    def _remedy(self, reason: str) -> str:
        """What to change when a fit ended early."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training inputs; sparse ones stay sparse.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights s_i ≥ 0.

        Returns
        -------
        estimator
            The fitted estimator.
        """
        with all_or_nothing(self):
            check_limits(self)
            check_flag("fit_intercept", self.fit_intercept)
            rule = self._rule()
            question = self._question(X, y, sample_weight)
            walk = start(question, rule)
            tasks = RoundTasks(self, X, y, lambda: self._weights(walk, question))
            listeners: list[Callback] = [*(self.callbacks or [])]
            if getattr(self, "_skl_callbacks", None):
                listeners.append(tasks)
            monitor = Monitor(self.time_budget, int(self.verbose), listeners, rule.measure)
            try:
                found = trace(question, rule, tol=self.tol, max_rounds=self.max_rounds, monitor=monitor, walk=walk)
            finally:
                monitor.close()
            for name, value in self._weights(walk, question).items():
                setattr(self, name, value)
            self._keep(found, question)
            self._report(found, rule)
            tasks.close()
        return self

    def _question(self, X: Any, y: Any, sample_weight: Any) -> LeastSquares:
        space = make_space(self.hypotheses)
        X, y = check_data(self, X, y, reset=True, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.sum() > 0:
            raise ValueError("sample_weight must have a positive sum; all weights are zero.")
        weight = weight / weight.sum()
        context = Context(
            feature_names=getattr(self, "feature_names_in_", None),
            categories=getattr(self, "_categories", {}),
            target=y[:, None],
            weight=weight,
            random_state=self.random_state,
            n_jobs=effective_n_jobs(self.n_jobs),
        )
        question = LeastSquares(space.bind(X, context), y, weight, bool(self.fit_intercept))
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(question.energy + question.largest_energy):
                raise ValueError("X and y must hold numbers whose squares can be added up; scale them first.")
        return question

    def _weights(self, walk: Walk, question: LeastSquares) -> dict[str, Any]:
        used = np.flatnonzero(walk.weights)
        over_features = isinstance(question.dictionary, FeatureDictionary)
        used = used[np.argsort(walk.keys[used])] if over_features else used
        coef = walk.coef[used]
        if over_features:
            coef = np.zeros(self.n_features_in_)
            coef[walk.keys] = walk.coef
        active = [question.dictionary.hypothesis(int(key)) for key in walk.keys[used]]
        return {
            "coef_": coef,
            "intercept_": walk.intercept,
            "hypotheses_": active,
            "n_active_": len(active),
            "inputs_used_": np.array(sorted({j for h in active for j in h.inputs}), dtype=np.int64),
            "_over_features": over_features,
        }

    def _keep(self, found: Trace, question: LeastSquares) -> None:
        last = found.history[-1]
        self.objective_, self.dual_gap_ = last["loss"], last["gap"]
        self.converged_ = found.reached <= found.wanted
        self.stopping_reason_, self.n_rounds_, self.history_ = found.reason, found.n_rounds, found.history
        self.certificate_scope_ = "space" if question.dictionary.exact else "induced"
        place = {int(key): j for j, key in enumerate(found.keys)}
        self.path_hypotheses_ = [question.dictionary.hypothesis(key) for key in place]
        self._means, self._mean = found.means, question.mean
        chosen = np.array([place[int(key)] for key in found.steps.keys], dtype=np.int64)
        self._steps = (chosen, found.steps.factors, found.steps.values)

    def _report(self, found: Trace, rule: Rule) -> None:
        if self.converged_ or self.tol == 0 or found.reason not in REASONS:
            return
        what = "the largest correlation with the residual" if rule.measure == "correlation" else "the certified gap"
        warnings.warn(
            f"{type(self).__name__} stopped because {REASONS[found.reason]}: {what} came down to {found.reached:.2g}, "
            f"{found.wanted:.2g} was wanted; {self._remedy(found.reason)}.",
            ConvergenceWarning,
            stacklevel=callers_level(),
        )

    # -- the path -----------------------------------------------------------------------------------------------

    def _path(self) -> Array:
        """Weights of the hypotheses met, in the order of their entry, after every round."""
        check_is_fitted(self)
        path = np.zeros((self.n_rounds_ + 1, len(self.path_hypotheses_)))
        for k, (place, factor, value) in enumerate(zip(*(part.tolist() for part in self._steps), strict=True)):
            np.multiply(path[k], factor, out=path[k + 1])
            path[k + 1, place] = value
        return path

    @property
    def coef_path_(self) -> Array:
        """Weights after every round, of shape (n_rounds_ + 1, n_features); row k is the model after k rounds.

        It is built from the recorded steps whenever it is asked for: keep it in a variable. Over other spaces than
        the features it has one column per hypothesis that was ever chosen, in the order of their entry.
        """
        path = self._path()
        if not self._over_features:
            return path
        if path.shape[0] * self.n_features_in_ > LARGEST_PATH:
            raise MemoryError(
                f"coef_path_ would have {path.shape[0]} × {self.n_features_in_} entries; use sparse_coef_path()."
            )
        full = np.zeros((path.shape[0], self.n_features_in_))
        full[:, self._inputs()] = path
        return full

    def sparse_coef_path(self) -> Any:
        """Return `coef_path_` as a sparse array in CSC format, for problems with very many features."""
        path = self._path()
        if not self._over_features:
            return sp.csc_array(path)
        inputs = self._inputs()
        order = np.argsort(inputs)
        part = sp.csc_array(path[:, order])
        starts = np.zeros(self.n_features_in_ + 1, dtype=part.indptr.dtype)
        starts[inputs[order] + 1] = np.diff(part.indptr)
        return sp.csc_array((part.data, part.indices, np.cumsum(starts)), shape=(path.shape[0], self.n_features_in_))

    @property
    def intercept_path_(self) -> Array:
        """Intercept after every round, of shape (n_rounds_ + 1,)."""
        return self._mean - self._path() @ self._means

    def _inputs(self) -> Array:
        return np.array([hypothesis.inputs[0] for hypothesis in self.path_hypotheses_], dtype=np.int64)

    # -- predictions ----------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """Predicted targets b + Σ_j β_j h_j(x).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        X = self._check_predict(X)
        if self._over_features:  # coef_ alone decides
            used = np.flatnonzero(self.coef_)
            return np.asarray(evaluate([Feature(int(j), "") for j in used], X) @ self.coef_[used]) + self.intercept_
        return np.asarray(evaluate(self.hypotheses_, X) @ self.coef_) + self.intercept_

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions of the model after every round, from the empty one on: for choosing a round."""
        check_is_fitted(self)
        X = self._check_predict(X)  # now, not when the first stage is asked for
        outputs = evaluate(self.path_hypotheses_, X)
        return (np.asarray(outputs @ weights) + (self._mean - float(self._means @ weights)) for weights in self._path())

    def _check_predict(self, X: Any) -> Any:
        X = check_data(self, X, reset=False)
        return X.tocsr() if sp.issparse(X) and X.format == "coo" else X

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = allows_missing(self.hypotheses)
        tags.target_tags.required = True
        return tags
