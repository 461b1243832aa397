"""SparseBoostClassifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from sparseboost.estimators.base import BaseSparseBoost
from sparseboost.estimators.callbacks import with_callbacks
from sparseboost.estimators.validation import (
    CLASSIFICATION_LOSSES,
    REGRESSION_LOSSES,
    check_choice,
    check_data,
    label_signs,
)
from sparseboost.hypotheses import HypothesisSpace
from sparseboost.losses import Exponential, Logistic, Loss, Softmax
from sparseboost.monitors import Callback
from sparseboost.penalties import Penalty

Array = np.ndarray
TARGETS = ("binary", "multiclass", "multilabel-indicator", "multiclass-multioutput")  # as type_of_target calls them


def _has_probabilities(model: Any) -> bool:
    return not isinstance(model.loss, Loss) or model.loss.probabilistic


def _indicates(y: Array) -> bool:
    """Whether y is several columns of zeros and ones, which `type_of_target` would have to sort to see it."""
    return y.ndim == 2 and y.shape[1] > 1 and y.dtype.kind in "biuf" and bool(np.all((y == 0) | (y == 1)))


def _kind(y: Array) -> str:
    """`type_of_target`, without sorting where that is not needed."""
    if _indicates(y):
        return "multilabel-indicator"
    return "multiclass" if y.ndim == 1 and y.dtype.kind in "iu" else type_of_target(y, input_name="y")


def _classes(y: Array) -> tuple[Array, Array]:
    """The classes in their order, and the place of each example's class among them."""
    if y.dtype.kind in "iu" and int(y.max()) - int(y.min()) <= y.size and int(y.max()) < np.iinfo(np.int64).max:
        steps = y.astype(np.int64) - int(y.min())
        present = np.bincount(steps) > 0
        return (np.flatnonzero(present) + int(y.min())).astype(y.dtype), (np.cumsum(present) - 1)[steps]
    classes = np.unique(y)
    return classes, np.searchsorted(classes, y)  # to find each takes less time than to sort all


class SparseBoostClassifier(ClassifierMixin, BaseSparseBoost):
    r"""Classifier that is a small weighted sum of hypotheses, with a certificate of optimality.

    Minimises (1/Σs) Σ_i s_i loss(y_i, b + Σ_j W_j h_j(x_i)) + alpha Σ_j c_j ‖W_j‖ over weights W, with one row per
    hypothesis, and an unpenalised intercept b. Two classes give one output, more classes give one output each
    (softmax), a 0/1 indicator matrix gives one output per label; the norm ties the outputs of a row.

    Parameters
    ----------
    alpha : float, default=0.01
        Strength of the penalty; at `alpha_max` and above the model is empty.
    penalty : {"l1", "l1/l2", "l1/linf", "l2", "smooth-l1"}, None or Penalty, default="l1/l2"
        Norm of the rows. With one output the first three are the same. "l2" is the squared ridge.
    loss : {"logistic", "exponential"} or Loss, default="logistic"
        "exponential" is for binary and multi-label targets.
    hypotheses : "features" or HypothesisSpace, default="features"
        Where hypotheses come from.
    update : {"auto", "adaboost", "gradboost"}, default="auto"
        How weights move: by the exponential bound, the quadratic bound, or whichever suits the loss.
    template : {"single", "greedy", "dense"} or array of shape (n_features,), default="single"
        Which weights one update may move: rows one after the other, the row that promises most, all rows at once,
        or the rows where the array is positive, with this much room.
    induce : int or "auto", default="auto"
        How many hypotheses may enter per round.
    corrective : {True, False, "alternate"}, default=True
        Re-optimise all weights every round; never (sequential boosting); or every other round.
    positive : bool, default=False
        Restrict weights to be non-negative.
    feature_costs : array of shape (n_features,) or dict of name to cost, optional
        Costs c_j; a dearer input must help more to enter.
    fit_intercept : bool, default=True
        Whether to learn b.
    standardize : bool, default=False
        Compare inputs as if each had standard deviation 1: costs are multiplied by the standard deviations, which
        copies nothing, keeps sparse data sparse and leaves the weights on the scale of X. Without an intercept the
        root mean square takes the place of the standard deviation.
    class_weight : dict, "balanced" or None, default=None
        As in scikit-learn.
    max_rounds : int, default=1000
        Most boosting rounds.
    max_features : int, optional
        Stop when this many inputs are used.
    tol : float, default=1e-4
        The fit stops when the duality gap is at most tol times the objective of the empty model.
    warm_start : bool, default=False
        Start from the weights of the previous fit.
    time_budget : float, optional
        Seconds after which the fit stops.
    random_state : int, RandomState or None, default=None
        For hypothesis spaces that draw at random; features do not.
    n_jobs : int or None, default=None
        Threads for passes over sparse data. Results do not depend on it.
    verbose : int, default=0
        0 silent, 1 progress bar, 2 a line per round.
    callbacks : list of callables, optional
        Each gets the record of every round; a true return value stops the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights; columns of unused inputs are exactly zero.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    classes_ : ndarray
        Class labels; for multi-label targets the column numbers.
    hypotheses_ : list
        Active hypotheses.
    n_active_ : int
        Their number.
    objective_, dual_gap_ : float
        Objective reached, and how far above the optimum it can be at most.
    converged_ : bool
        Whether the wanted gap was reached.
    stopping_reason_ : str
        "gap", "stationary", "max_rounds", "time_budget", "max_features", "callback" or "stalled".
    solver_ : str
        Which update ran.
    n_rounds_ : int
        Rounds done.
    history_ : list of dict
        One record per round: objective, gap, active, added, pruned, seconds.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Duchi & Singer (2009), Boosting with Structural Sparsity; MATH.md D1–D13.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sparseboost import SparseBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseBoostClassifier(alpha=0.05).fit(scale(X), y)
    >>> model.n_active_, model.converged_
    (4, True)
    """

    def __init__(
        self,
        alpha: float = 0.01,
        *,
        penalty: str | Penalty | None = "l1/l2",
        loss: str | Loss = "logistic",
        hypotheses: str | HypothesisSpace = "features",
        update: str = "auto",
        template: str | Array = "single",
        induce: int | Literal["auto"] = "auto",
        corrective: bool | Literal["alternate"] = True,
        positive: bool = False,
        feature_costs: Array | Mapping[str, float] | None = None,
        fit_intercept: bool = True,
        standardize: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
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
        self.class_weight = class_weight
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseBoostClassifier:
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
        SparseBoostClassifier
            The fitted estimator.
        """
        with self._all_or_nothing():
            self._solve(self._problem(X, y, sample_weight), X, y)
        return self

    def _encode(self, X: Any, y: Any, reset: bool) -> tuple[Any, Array, Loss, Array | None]:
        if not isinstance(self.loss, Loss):
            check_choice("loss", self.loss, CLASSIFICATION_LOSSES)
        if sp.issparse(y):
            y = y.toarray()
        X, y = check_data(self, X, y, reset=reset, finite=not self._inspects_later, multi_output=True)
        kind = _kind(y)
        if kind not in TARGETS:
            check_classification_targets(y)  # says what is wrong
        self._multilabel = kind == "multilabel-indicator"
        if self._multilabel:
            self.classes_ = np.arange(y.shape[1])
            return X, label_signs(y), self._make_loss(1), self._weighted(y)
        if kind == "multiclass-multioutput":
            raise ValueError(
                "y must be one column of class labels or a 0/1 indicator matrix; several columns of class labels need "
                "one model each, for example through MultiOutputClassifier."
            )
        y = column_or_1d(y, warn=True)
        self.classes_, codes = _classes(y)
        if self.classes_.size < 2:
            raise ValueError(
                f"y must hold at least two classes; this classifier was given one class only, "
                f"{self.classes_.tolist()[0]!r}."
            )
        if self.classes_.size == 2:
            target = np.where(codes == 1, 1.0, -1.0)[:, None]
        else:
            target = codes[:, None].astype(float)
        return X, target, self._make_loss(self.classes_.size), self._weighted(y)

    def _make_loss(self, n_classes: int) -> Loss:
        """The loss for this many classes; multi-label targets count as one binary question per label."""
        loss = self.loss
        wanted = f"Softmax({n_classes}) or 'logistic'" if n_classes > 2 else "Logistic() or Exponential()"
        if isinstance(loss, tuple(REGRESSION_LOSSES.values())):
            raise ValueError(f"loss {loss!r} is for regression; this y needs {wanted}.")
        if isinstance(loss, Loss) and loss.multiclass != (n_classes > 2):
            raise ValueError(f"loss {loss!r} does not fit this y, which needs {wanted}.")
        if getattr(loss, "n_classes", n_classes) != n_classes:
            raise ValueError(f"loss {loss!r} does not fit this y, which needs {wanted}.")
        if isinstance(loss, Loss):
            return loss
        if n_classes <= 2:
            return Exponential() if loss == "exponential" else Logistic()
        if loss == "exponential":
            raise ValueError(
                f"Only binary classification is supported by loss='exponential', but y has {n_classes} classes; "
                f"use loss='logistic', or OneVsRestClassifier."
            )
        return Softmax(n_classes)

    def _weighted(self, y: Array) -> Array | None:
        return None if self.class_weight is None else np.asarray(y)

    def decision_function(self, X: Any) -> Array:
        """Scores b + Σ_j W_j h_j(x).

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
        """Yield the scores of the model as it was before each round and at the end."""
        return (self._shape(score) for score in self._staged(X))

    def _shape(self, score: Array) -> Array:
        return score if self._multilabel or self.classes_.size > 2 else score[:, 0]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Class probabilities that the loss implies; not for hinge losses, whose scores are no log-odds.

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
        if self._multilabel:
            return self._make_loss(1).decode(score)
        probability = self._make_loss(self.classes_.size).decode(score)
        return np.hstack([1.0 - probability, probability]) if self.classes_.size == 2 else probability

    def predict(self, X: Any) -> Array:
        """Most likely class, or all labels with probability above one half.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Predicted classes, or the 0/1 indicator of labels.
        """
        score = self._decision(X)
        if self._multilabel:
            return (score > 0).astype(int)
        return self.classes_[(score[:, 0] > 0).astype(int) if self.classes_.size == 2 else score.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = self.loss != "exponential" and not isinstance(self.loss, Exponential)
        tags.classifier_tags.poor_score = bool(self.positive)  # non-negative weights cannot follow every dependence
        return tags
