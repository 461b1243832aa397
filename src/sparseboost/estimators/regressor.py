"""SparseBoostRegressor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin

from sparseboost.estimators.base import BaseSparseBoost
from sparseboost.estimators.callbacks import with_callbacks
from sparseboost.estimators.validation import (
    check_data,
    make_regression_loss,
)
from sparseboost.hypotheses import HypothesisSpace
from sparseboost.losses import Loss
from sparseboost.monitors import Callback
from sparseboost.penalties import Penalty

Array = np.ndarray


class SparseBoostRegressor(RegressorMixin, BaseSparseBoost):
    r"""Regressor that is a small weighted sum of hypotheses, with a certificate of optimality.

    Minimises (1/Σs) Σ_i s_i loss(y_i, b + Σ_j W_j h_j(x_i)) + alpha Σ_j c_j ‖W_j‖; several columns of y are several
    tasks, and the norm ties them.

    Parameters
    ----------
    alpha : float, default=0.01
        Strength of the penalty; at `alpha_max` and above the model is empty.
    penalty : {"l1", "l1/l2", "l1/linf", "l2", "smooth-l1"}, None or Penalty, default="l1/l2"
        Norm of the rows. With one output the first three are the same. "l2" is the squared ridge.
    loss : {"squared", "eps-insensitive", "absolute", "huber"} or Loss, default="squared"
        Losses with a parameter can be given as objects, e.g. ``EpsInsensitive(eps=0.5)``.
    hypotheses, update, template, induce, corrective, positive, feature_costs, fit_intercept, standardize, max_rounds, \
max_features, tol, warm_start, time_budget, random_state, n_jobs, verbose, callbacks
        As in `SparseBoostClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights; columns of unused inputs are exactly zero.
    intercept_, hypotheses_, n_active_, objective_, dual_gap_, converged_, stopping_reason_, solver_, n_rounds_, \
history_, n_features_in_, feature_names_in_
        As in `SparseBoostClassifier`.

    References
    ----------
    Duchi & Singer (2009), Boosting with Structural Sparsity; MATH.md D12, T3.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseboost import SparseBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SparseBoostRegressor(alpha=1.0).fit(X, y)
    >>> [int(h.feature) for h in model.hypotheses_]
    [2, 3, 8]
    """

    def __init__(
        self,
        alpha: float = 0.01,
        *,
        penalty: str | Penalty | None = "l1/l2",
        loss: str | Loss = "squared",
        hypotheses: str | HypothesisSpace = "features",
        update: str = "auto",
        template: str | Array = "single",
        induce: int | Literal["auto"] = "auto",
        corrective: bool | Literal["alternate"] = True,
        positive: bool = False,
        feature_costs: Array | Mapping[str, float] | None = None,
        fit_intercept: bool = True,
        standardize: bool = False,
        max_rounds: int = 1000,
        max_features: int | None = None,
        tol: float = 1e-4,
        warm_start: bool = False,
        time_budget: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.alpha = alpha
        self.penalty = penalty
        self.loss = loss
        self.hypotheses = hypotheses
        self.update = update
        self.template = template
        self.induce = induce
        self.corrective = corrective
        self.positive = positive
        self.feature_costs = feature_costs
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.max_rounds = max_rounds
        self.max_features = max_features
        self.tol = tol
        self.warm_start = warm_start
        self.time_budget = time_budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseBoostRegressor:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights s_i ≥ 0.

        Returns
        -------
        SparseBoostRegressor
            The fitted estimator.
        """
        with self._all_or_nothing():
            self._solve(self._problem(X, y, sample_weight), X, y)
        return self

    def _encode(self, X: Any, y: Any, reset: bool) -> tuple[Any, Array, Loss, Array | None]:
        loss = make_regression_loss(self.loss)
        X, y = check_data(self, X, y, reset=reset, finite=not self._inspects_later, multi_output=True, y_numeric=True)
        self._flat = y.ndim == 1
        return X, np.asarray(y, dtype=np.float64).reshape(y.shape[0], -1), loss, None

    def predict(self, X: Any) -> Array:
        """Predicted targets b + Σ_j W_j h_j(x).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            One-dimensional if y was.
        """
        return self._shape(self._decision(X))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions of the model as it was before each round and at the end."""
        return (self._shape(score) for score in self._staged(X))

    def _shape(self, score: Array) -> Array:
        return score[:, 0] if self._flat else score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = bool(self.positive)  # non-negative weights cannot follow every dependence
        return tags
