"""Small functions of the papers: the largest useful penalty, coverage, sparsity, margins."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sparseboost.estimators.classifier import SparseBoostClassifier
from sparseboost.estimators.regressor import SparseBoostRegressor
from sparseboost.estimators.validation import CLASSIFICATION_LOSSES
from sparseboost.losses import Exponential, Logistic, Loss, Softmax

Array = np.ndarray


def alpha_max(
    X: Any,
    y: Any,
    *,
    loss: str | Loss | None = None,
    penalty: Any = "l1/l2",
    sample_weight: Any = None,
    **parameters: Any,
) -> float:
    """Smallest alpha at which the model is empty.

    Parameters
    ----------
    X, y, sample_weight
        As in `SparseBoostClassifier.fit` or `SparseBoostRegressor.fit`.
    loss : str or Loss, optional
        A classification loss asks for the classifier, a regression loss for the regressor. By default the logistic
        loss for discrete y and the squared loss for continuous y; floats with more than two values are continuous.
    penalty : {"l1", "l1/l2", "l1/linf"} or Norm, default="l1/l2"
        The norm; penalties that never zero a row have no such alpha.
    **parameters
        Further parameters of the estimator, such as `fit_intercept`, `feature_costs`, `positive`, `class_weight`.

    Returns
    -------
    float
        max_j ‖g_j‖* / c_j at the best model without hypotheses. For the absolute loss, whose gradient is not unique
        when several residuals are zero, an upper bound of the smallest such alpha.

    References
    ----------
    MATH.md T5.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost import alpha_max
    >>> alpha_max(np.array([[1.0], [-1.0]]), [1, 0])
    0.5
    """
    problem = estimator_for(y, loss, penalty=penalty, **parameters)._problem(X, y, sample_weight)
    if not problem.penalty.zeroes_blocks:
        raise ValueError(f"penalty {penalty!r} never empties the model; alpha_max is for 'l1', 'l1/l2' and 'l1/linf'.")
    return problem.largest_alpha


def estimator_for(y: Any, loss: str | Loss | None, **parameters: Any) -> SparseBoostClassifier | SparseBoostRegressor:
    """The estimator that the loss asks for; without one, that of the logistic loss for discrete y, else the squared."""
    if loss is None:
        kind = type_of_target(y, input_name="y")
        measured = kind == "multiclass" and np.asarray(y).dtype.kind == "f"  # floats that happen to be whole numbers
        discrete = kind in ("binary", "multiclass", "multilabel-indicator") and not measured
        loss = "logistic" if discrete else "squared"
    classifies = loss in CLASSIFICATION_LOSSES or isinstance(loss, (Logistic, Exponential, Softmax))
    family = SparseBoostClassifier if classifies else SparseBoostRegressor
    return family(loss=loss, **parameters)


def coverage_error(y_true: Any, y_score: Any) -> float:
    """Mean number of classes scored at least as high as the true one: 0 is best.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or 0/1 indicator of shape (n_samples, n_classes)
        True classes as column numbers of `y_score`, or which labels are true.
    y_score : array-like of shape (n_samples, n_classes)
        Scores.

    Returns
    -------
    float
        The coverage of Duchi & Singer: scikit-learn's `coverage_error` minus 1, and at least the error rate.

    References
    ----------
    MATH.md T8.

    Examples
    --------
    >>> from sparseboost import coverage_error
    >>> coverage_error([0, 2], [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    1.0
    """
    from sklearn.metrics import coverage_error as sklearn_coverage_error  # slow to import

    y_score = np.asarray(y_score, dtype=float)
    y_true = np.asarray(y_true)
    if y_true.ndim == 1:
        if y_score.ndim != 2 or y_score.shape[0] != y_true.shape[0]:
            raise ValueError(
                f"y_score must have one row per example and one column per class, got shape {y_score.shape} for "
                f"{y_true.shape[0]} examples."
            )
        if not np.issubdtype(y_true.dtype, np.integer) or y_true.min() < 0 or y_true.max() >= y_score.shape[1]:
            raise ValueError("y_true must hold column numbers of y_score; encode labels with LabelEncoder first.")
        y_true = np.arange(y_score.shape[1]) == y_true[:, None]
    return float(sklearn_coverage_error(y_true, y_score)) - 1.0


def row_sparsity(coef: Any) -> float:
    """Share of inputs whose weights are all zero.

    Parameters
    ----------
    coef : array-like of shape (n_outputs, n_features), or a fitted estimator with `coef_`
        Weights, one column per input.

    Returns
    -------
    float
        Between 0 (every input is used) and 1 (none is).

    References
    ----------
    MATH.md T8.

    Examples
    --------
    >>> from sparseboost import row_sparsity
    >>> row_sparsity([[0.0, 1.0], [0.0, 0.0]])
    0.5
    """
    weights = np.atleast_2d(np.asarray(getattr(coef, "coef_", coef), dtype=float))
    return float(np.mean(~np.any(weights != 0, axis=0)))


def margins(model: Any, X: Any, y: Any) -> Array:
    """Margins y_i Σ_j α_j h_j(x_i) / Σ_j α_j of a fitted binary classifier with normalised votes.

    Parameters
    ----------
    model : MarginBoostClassifier
        A fitted model.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Inputs.
    y : array-like of shape (n_samples,)
        Labels, of the classes of the fit.

    Returns
    -------
    ndarray of shape (n_samples,)
        Positive where the model is right, and larger where its vote is clearer; the smallest one over the training
        examples is ``model.margin_``.

    Examples
    --------
    >>> from sparseboost import MarginBoostClassifier, margins
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]
    >>> margins(MarginBoostClassifier().fit(X, y), X, y)
    array([1., 1., 1., 1.])
    """
    check_is_fitted(model)
    y = column_or_1d(y)
    unknown = np.setdiff1d(y, model.classes_)
    if unknown.size:
        raise ValueError(f"y must hold the classes of the fit, {model.classes_.tolist()}, got {unknown.tolist()[0]!r}.")
    votes = model.decision_function(X)
    if votes.shape != y.shape:
        raise ValueError(f"X and y must have the same length, got {votes.shape[0]} and {y.shape[0]}.")
    return np.where(y == model.classes_[1], votes, -votes)
