"""FunctionalBoostClassifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sparseboost.estimators.callbacks import with_callbacks
from sparseboost.estimators.classifier import SparseBoostClassifier
from sparseboost.estimators.functional_base import BaseFunctionalBoost
from sparseboost.estimators.functional_losses import make_classification_loss
from sparseboost.estimators.sparsify import sparsified
from sparseboost.estimators.validation import check_class_weight, check_data, class_weights, label_signs
from sparseboost.monitors import Callback

Array = np.ndarray


def _has_probabilities(model: Any) -> bool:
    loss = getattr(model, "loss_", model.loss)
    if isinstance(loss, str):
        return loss != "hinge"
    return hasattr(loss, "decode") and getattr(loss, "probabilistic", True)


class FunctionalBoostClassifier(ClassifierMixin, BaseFunctionalBoost):
    r"""Classifier that follows subgradients of any convex loss in function space with weak learners.

    Lowers R[f] = (1/Σs) Σ_i s_i loss(y_i, f(x_i)) by f ← f − η_t h_t, where h_t projects subgradients on what a weak
    learner can say. Losses that are not smooth need `algorithm` "residual" or "repeated": the naive one may stall.

    Parameters
    ----------
    loss : {"logistic", "hinge", "exponential"} or object, default="logistic"
        With more than two classes "logistic" is the softmax loss and "hinge" the Crammer–Singer hinge; "exponential" is
        for two classes and multi-label y. Any object with ``value(y, score)`` (one number per example) and
        ``gradient(y, score)`` will do; it sees ±1 for two classes and multi-label y, a 0/1 indicator for more classes
        (class codes if it has ``n_outputs(y)``).
    algorithm : {"residual", "repeated", "naive"}, default="residual"
        What is projected: the gradient plus what earlier projections left over (one learner per round), the gradient
        repeatedly (t learners in round t), or the gradient once.
    learner : {"stumps", "trees"}, scikit-learn estimator or WeakLearner, default="stumps"
        Multi-output stumps or trees of depth 3, both with exact search; any regressor (fitted to the gradient by least
        squares) or classifier (fitted to its signs, weighted by its size), one copy per output if it must be.
    step : {"auto", "1/curvature", "line-search", "2/(convexity*t)", "1/(convexity*t)", "1/sqrt(t)"}, float or callable
        Step size η_t; "auto" goes by what the loss declares. A function gets the round t = 1, 2, …
    step_size : float, default=1.0
        Multiplies the step.
    inner : "t", int or float, default="t"
        Projections per round of the repeated algorithm: t, a number, or until the error ‖∇ − h‖ is this share of ‖∇‖
        (at most 1000: on a gradient that the learner cannot express a small share asks for many).
    orthogonal : bool, default=False
        Whether the repeated algorithm refits all inner coefficients by least squares.
    output : {"best", "average", "last"}, default="best"
        Which function is kept: that of the round with the smallest loss (on the validation data if there is any), the
        mean over all rounds, or the last one. The theory's guarantees are for the first two; the last function of a
        subgradient method may be worse than earlier ones.
    max_rounds, max_learners : int
        Limits; with `warm_start` the rounds of earlier fits count.
    class_weight : {class: weight}, "balanced" or None
        As in scikit-learn.
    validation_fraction, n_iter_no_change, tol
        Early stopping as in scikit-learn's gradient boosting: if `n_iter_no_change` is given, this fraction of the data
        is set aside, and the fit stops when its loss has not fallen by `tol` for that many rounds.
    warm_start : bool, default=False
        Go on from the previous fit, as if it had not stopped: earlier learners are replayed, new rounds are added.
    time_budget, random_state, n_jobs, verbose, callbacks
        As in `SparseBoostClassifier`.

    Attributes
    ----------
    hypotheses_ : list
        Weak learners of the function that is kept; each maps X to (n_samples, n_outputs).
    weights_ : ndarray of shape (len(hypotheses_),)
        Their weights.
    start_ : ndarray of shape (n_outputs,)
        The constant they are added to.
    history_ : list of dict
        Per round: loss, edge (the measured γ), learners, step, projection_error, gradient_norm, average_loss (over f₀ …
        f_{t−1}); where a theorem covers the settings also theorem, bound, and the observed smallest_edge (γ),
        largest_gradient (G) and largest_distance (F). `bound` is an upper bound of loss (Theorem 3) or of average_loss
        (4 to 7), in comparison with f*: the loss's own minimum over all functions, or, where that is at infinity, a
        function far down the first gradient. It is NaN before the first round, infinite where an edge was 0.
    n_rounds_, n_learners_, best_round_, stopping_reason_, converged_, loss_
        How the fit went; `loss_` is the loss object.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Grubb & Bagnell (2011), Generalized Boosting Algorithms for Convex Optimization; MATH.md G1–G7.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sparseboost import FunctionalBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FunctionalBoostClassifier(loss="hinge", max_rounds=50).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        loss: Any = "logistic",
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
        class_weight: Mapping[Any, float] | str | None = None,
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
        self.class_weight = class_weight
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FunctionalBoostClassifier:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training inputs.
        y : array-like of shape (n_samples,) or 0/1 indicator of shape (n_samples, n_labels)
            Class labels, or which labels apply.
        sample_weight : array-like of shape (n_samples,), optional
            Weights s_i ≥ 0.

        Returns
        -------
        FunctionalBoostClassifier
            The fitted estimator.
        """
        given = (X, y, sample_weight)
        with self._all_or_nothing():
            self._check_parameters()
            check_class_weight(self.class_weight)
            X, target, labels = self._encode(X, y)
            weight = self._weights_of(X, sample_weight)
            if self.class_weight is not None:
                weight = weight * class_weights(self.class_weight, labels, weight)
            n_classes = 2 if self._multilabel else self.classes_.size
            target, loss = make_classification_loss(self.loss, target, n_classes)
            self._solve(X, target, loss, weight)
            self._data = given
        return self

    def _encode(self, X: Any, y: Any) -> tuple[Any, Array, Array]:
        """Validated X, targets (±1 per label, or class codes), and the labels as they were given."""
        y = y.toarray() if sp.issparse(y) else y
        X, y = check_data(self, X, y, reset=True, multi_output=True)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
        self._multilabel = kind == "multilabel-indicator"
        if self._multilabel:
            self.classes_ = np.arange(y.shape[1])
            return X, label_signs(y), y
        if kind == "multiclass-multioutput":
            raise ValueError(
                "y must be one column of class labels or a 0/1 indicator matrix; several columns of class labels need "
                "one model each, for example through MultiOutputClassifier."
            )
        y = column_or_1d(y, warn=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(
                f"y must hold at least two classes; this classifier was given one class only, "
                f"{self.classes_.tolist()[0]!r}."
            )
        target = np.where(codes == 1, 1.0, -1.0) if self.classes_.size == 2 else codes.astype(float)
        return X, target[:, None], y

    def sparsify(
        self,
        alpha: float,
        *,
        penalty: Any = "l1/l2",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        **parameters: Any,
    ) -> SparseBoostClassifier:
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
            Further parameters of `SparseBoostClassifier`.

        Returns
        -------
        SparseBoostClassifier
            A fitted, certified model over the surviving learners.
        """
        check_is_fitted(self)
        parameters.setdefault("class_weight", self.class_weight)
        given = {"penalty": penalty, **parameters}
        return sparsified(self, SparseBoostClassifier, alpha, (X, y, sample_weight), given)

    def _hold_out(self, target: Array, rng: np.random.RandomState) -> tuple[Array, Array]:
        rows = np.arange(target.shape[0])
        strata = target[:, 0] if target.shape[1] == 1 else None
        train, rest = train_test_split(rows, test_size=self.validation_fraction, random_state=rng, stratify=strata)
        return train, rest

    def decision_function(self, X: Any) -> Array:
        """Scores f(x).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            One score per output; one-dimensional for two classes.
        """
        return self._shape(self._decision(X))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the scores of the models that a fit of 0, 1, 2, … rounds would have returned."""
        return (self._shape(score) for score in self._staged(X))

    def predict(self, X: Any) -> Array:
        """Class with the largest score, or all labels with a positive one.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Predicted classes, or the 0/1 indicator of labels.
        """
        return self._choose(self._decision(X))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions of the models that a fit of 0, 1, 2, … rounds would have returned."""
        return (self._choose(score) for score in self._staged(X))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Class probabilities that the loss implies; not for the hinge, whose scores are no log-odds.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probability of every class; for multi-label targets of every label.
        """
        score = self._decision(X)
        probability = self.loss_.decode(score)
        if self._multilabel or self.classes_.size > 2:
            return probability
        return np.hstack([1.0 - probability, probability])

    def _shape(self, score: Array) -> Array:
        return score if self._multilabel or self.classes_.size > 2 else score[:, 0]

    def _choose(self, score: Array) -> Array:
        if self._multilabel:
            return (score > 0).astype(int)
        return self.classes_[(score[:, 0] > 0).astype(int) if self.classes_.size == 2 else score.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = self.loss != "exponential"
        return tags
