"""FunctionalBoostRegressor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from sparseboost.estimators.callbacks import with_callbacks
from sparseboost.estimators.functional_base import BaseFunctionalBoost
from sparseboost.estimators.functional_losses import make_regression_loss
from sparseboost.estimators.regressor import SparseBoostRegressor
from sparseboost.estimators.sparsify import sparsified
from sparseboost.estimators.validation import check_data
from sparseboost.monitors import Callback

Array = np.ndarray


class FunctionalBoostRegressor(RegressorMixin, BaseFunctionalBoost):
    r"""Regressor that follows subgradients of any convex loss in function space with weak learners.

    Lowers R[f] = (1/Σs) Σ_i s_i loss(y_i, f(x_i)) by f ← f − η_t h_t; several columns of y are learned together, by
    weak learners with vector outputs.

    Parameters
    ----------
    loss : {"squared", "absolute", "huber", "quantile", "eps-insensitive"} or object, default="squared"
        Losses with a parameter can be given as objects, e.g. ``Quantile(0.9)``. Any object with ``value(y, score)``,
        one number per example, and ``gradient(y, score)`` will do; both get arrays of shape (n_samples, n_outputs).
    algorithm : {"residual", "repeated", "naive"}, default="residual"
        As in `FunctionalBoostClassifier`. For a smooth loss such as "squared" the naive algorithm is ordinary gradient
        boosting, and the fastest.
    learner, step, step_size, inner, orthogonal, output, max_rounds, max_learners, validation_fraction, \
n_iter_no_change, tol, warm_start, time_budget, random_state, n_jobs, verbose, callbacks
        As in `FunctionalBoostClassifier`.

    Attributes
    ----------
    hypotheses_, weights_, start_, history_, n_rounds_, n_learners_, best_round_, stopping_reason_, converged_, loss_, \
n_features_in_, feature_names_in_
        As in `FunctionalBoostClassifier`.

    References
    ----------
    Grubb & Bagnell (2011), Generalized Boosting Algorithms for Convex Optimization; MATH.md G1–G7.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseboost import FunctionalBoostRegressor
    >>> from sparseboost.losses import Quantile
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FunctionalBoostRegressor(loss=Quantile(0.9), max_rounds=100).fit(X, y)
    >>> bool(0.8 < (y <= model.predict(X)).mean() < 1.0)
    True
    """

    def __init__(
        self,
        loss: Any = "squared",
        *,
        algorithm: str = "residual",
        learner: Any = "stumps",
        step: str | float | Callable[[int], float] = "auto",
        step_size: float = 1.0,
        inner: str | int | float = "t",
        orthogonal: bool = False,
        output: str = "best",
        max_rounds: int = 200,
        max_learners: int | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        warm_start: bool = False,
        time_budget: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.loss = loss
        self.algorithm = algorithm
        self.learner = learner
        self.step = step
        self.step_size = step_size
        self.inner = inner
        self.orthogonal = orthogonal
        self.output = output
        self.max_rounds = max_rounds
        self.max_learners = max_learners
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.time_budget = time_budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FunctionalBoostRegressor:
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
        FunctionalBoostRegressor
            The fitted estimator.
        """
        given = (X, y, sample_weight)
        with self._all_or_nothing():
            self._check_parameters()
            loss = make_regression_loss(self.loss)
            X, y = check_data(self, X, y, reset=True, multi_output=True, y_numeric=True)
            self._flat = y.ndim == 1
            target = np.asarray(y, dtype=np.float64).reshape(y.shape[0], -1)
            self._solve(X, target, loss, self._weights_of(X, sample_weight))
            self._data = given
        return self

    def sparsify(
        self,
        alpha: float,
        *,
        penalty: Any = "l1/l2",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        **parameters: Any,
    ) -> SparseBoostRegressor:
        """Choose among the weak learners and weight them anew, with a certificate.

        The weak learners become an explicit dictionary (a stump counts once, however often it was chosen; learners with
        several outputs give one hypothesis per output), and the same loss plus ``alpha`` times a norm of their weights
        is minimised over it.

        Parameters
        ----------
        alpha : float
            Strength of the penalty; larger keeps fewer learners.
        penalty : {"l1", "l1/l2", "l1/linf"} or Penalty, default="l1/l2"
            Norm of a hypothesis' weights, one per output.
        X, y, sample_weight : array-like, optional
            Data to do it on; the training data by default, as long as this object has been fitted in this process.
        **parameters
            Further parameters of `SparseBoostRegressor`.

        Returns
        -------
        SparseBoostRegressor
            A fitted, certified model over the surviving learners.
        """
        check_is_fitted(self)
        given = {"penalty": penalty, **parameters}
        return sparsified(self, SparseBoostRegressor, alpha, (X, y, sample_weight), given)

    def _hold_out(self, target: Array, rng: np.random.RandomState) -> tuple[Array, Array]:
        train, rest = train_test_split(np.arange(target.shape[0]), test_size=self.validation_fraction, random_state=rng)
        return train, rest

    def predict(self, X: Any) -> Array:
        """Predicted targets f(x).

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
        """Yield the predictions of the models that a fit of 0, 1, 2, … rounds would have returned."""
        return (self._shape(score) for score in self._staged(X))

    def _shape(self, score: Array) -> Array:
        return score[:, 0] if self._flat else score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
