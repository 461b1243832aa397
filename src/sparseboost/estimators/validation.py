"""Checks of parameters and data; every complaint is one sentence that says what would be right."""

from __future__ import annotations

import copy
import math
import numbers
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_random_state, compute_sample_weight
from sklearn.utils.validation import validate_data

from sparseboost.estimators.categories import encode_categories
from sparseboost.hypotheses import Features, HypothesisSpace, Learners, Products, Stumps, Trees
from sparseboost.losses import Absolute, EpsInsensitive, Exponential, Huber, Logistic, Loss, Softmax, Squared
from sparseboost.penalties import L1, L1L2, L1Linf, NoPenalty, Penalty, Ridge, SmoothL1

Array = np.ndarray

PENALTIES: dict[str | None, type[Penalty]] = {
    "l1": L1,
    "l1/l2": L1L2,
    "l1/linf": L1Linf,
    "l2": Ridge,
    "smooth-l1": SmoothL1,
    None: NoPenalty,
}
REGRESSION_LOSSES: dict[str, type[Loss]] = {
    "squared": Squared,
    "eps-insensitive": EpsInsensitive,
    "absolute": Absolute,
    "huber": Huber,
}
CLASSIFICATION_LOSSES = ("logistic", "exponential")
SPACES: dict[str, type[HypothesisSpace]] = {
    "features": Features,
    "stumps": Stumps,
    "products": Products,
    "trees": Trees,
}
UPDATES = ("auto", "adaboost", "gradboost")
TEMPLATES = ("single", "greedy", "dense")


def _is(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name


def _listed(names: Any) -> str:
    return ", ".join(repr(name) for name in names)


def check_number(
    name: str, value: Any, *, low: float, strict: bool = False, integer: bool = False, optional: bool = False
) -> None:
    """Raise unless `value` is a number of the right kind and size."""
    if optional and value is None:
        return
    kind = numbers.Integral if integer else numbers.Real
    wanted = f"{'an integer' if integer else 'a finite number'} {'>' if strict else '>='} {low:g}"
    if optional:
        wanted += " or None"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, kind):
        raise TypeError(f"{name} must be {wanted}, got {value!r}.")
    if not math.isfinite(value) or value < low or (strict and value == low):
        raise ValueError(f"{name} must be {wanted}, got {value!r}.")


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Raise unless `value` is one of the choices."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {_listed(choices)}, got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}.")


def check_parameters(estimator: Any) -> None:
    """Check everything that can be checked before the data is seen."""
    check_number("alpha", estimator.alpha, low=0.0)
    check_number("max_features", estimator.max_features, low=1, integer=True, optional=True)
    for name in ("positive", "fit_intercept", "standardize", "warm_start"):
        check_flag(name, getattr(estimator, name))
    check_choice("update", estimator.update, UPDATES)
    if not _is(estimator.induce, "auto"):
        if isinstance(estimator.induce, str):
            raise ValueError(f"induce must be an integer >= 1 or 'auto', got {estimator.induce!r}.")
        check_number("induce", estimator.induce, low=1, integer=True)
    if not (isinstance(estimator.corrective, (bool, np.bool_)) or _is(estimator.corrective, "alternate")):
        raise ValueError(f"corrective must be True, False or 'alternate', got {estimator.corrective!r}.")
    if isinstance(estimator.template, str):
        check_choice("template", estimator.template, TEMPLATES)
    check_limits(estimator)
    check_class_weight(getattr(estimator, "class_weight", None))


def check_limits(estimator: Any) -> None:
    """Check what says how long a fit may run, who watches it, and on what it draws: the same in all estimators."""
    check_number("tol", estimator.tol, low=0.0)
    check_number("max_rounds", estimator.max_rounds, low=0, integer=True)
    check_number("time_budget", estimator.time_budget, low=0.0, strict=True, optional=True)
    check_number("verbose", int(estimator.verbose) if isinstance(estimator.verbose, bool) else estimator.verbose,
                 low=0, integer=True)  # fmt: skip
    callbacks = [] if estimator.callbacks is None else estimator.callbacks
    if not isinstance(callbacks, (list, tuple)) or not all(callable(callback) for callback in callbacks):
        raise TypeError(f"callbacks must be a list of functions that take the record of a round, got {callbacks!r}.")
    if estimator.n_jobs is not None:
        if isinstance(estimator.n_jobs, (bool, np.bool_)) or not isinstance(estimator.n_jobs, numbers.Integral):
            raise TypeError(f"n_jobs must be an integer other than 0 or None, got {estimator.n_jobs!r}.")
        if estimator.n_jobs == 0:
            raise ValueError("n_jobs must be an integer other than 0 or None, got 0.")
    check_random_state(estimator.random_state)


def check_class_weight(class_weight: Any) -> None:
    """Raise unless class weights can be used; whether they fit y is seen with the data."""
    wanted = "class_weight must be None, 'balanced' or {class: weight >= 0} (a list of these for multi-label y)"
    if class_weight is None or _is(class_weight, "balanced"):
        return
    for part in class_weight if isinstance(class_weight, (list, tuple)) else [class_weight]:
        if not isinstance(part, Mapping):
            raise ValueError(f"{wanted}, got {class_weight!r}.")
        for value in part.values():
            if not isinstance(value, numbers.Real) or not math.isfinite(value) or value < 0:
                raise ValueError(f"{wanted}, got {class_weight!r}.")


def make_penalty(penalty: Any, positive: bool) -> Penalty:
    """The penalty behind a name, or the given object."""
    if isinstance(penalty, Penalty):
        if positive and not penalty.positive:
            penalty = copy.copy(penalty)
            penalty.positive = True
        return penalty
    if penalty is not None and not isinstance(penalty, str):
        raise TypeError(f"penalty must be one of {_listed(PENALTIES)} or a Penalty object, got {penalty!r}.")
    check_choice("penalty", penalty, PENALTIES)
    return PENALTIES[penalty](positive=positive)


def make_regression_loss(loss: Any) -> Loss:
    """The regression loss behind a name, or the given object."""
    if isinstance(loss, (Logistic, Exponential, Softmax)):
        raise ValueError(f"loss {loss!r} is for classification; use SparseBoostClassifier, or a loss for real targets.")
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(f"loss must be one of {_listed(REGRESSION_LOSSES)} or a Loss object, got {loss!r}.")
    check_choice("loss", loss, REGRESSION_LOSSES)
    return REGRESSION_LOSSES[loss]()


def make_space(hypotheses: Any) -> HypothesisSpace:
    """The space behind a name, the given object, or the space of what a scikit-learn estimator can learn."""
    if isinstance(hypotheses, HypothesisSpace):
        return hypotheses
    if isinstance(hypotheses, str) and hypotheses in SPACES:
        return SPACES[hypotheses]()
    if isinstance(hypotheses, BaseEstimator):
        return Learners(hypotheses)
    raise ValueError(
        f"hypotheses must be one of {_listed(SPACES)}, a HypothesisSpace object or a scikit-learn estimator, got "
        f"{hypotheses!r}."
    )


def allows_missing(hypotheses: Any) -> bool:
    """Whether X may hold NaN; a parameter that is no space at all is complained about in `fit`."""
    try:
        return make_space(hypotheses).allows_missing
    except (TypeError, ValueError):
        return False


def make_costs(costs: Any, n_features: int, names: Array | None) -> Array | None:
    """Costs c_j > 0 of all features, from an array or {name: cost}."""
    if costs is None:
        return None
    if isinstance(costs, Mapping):
        if names is None:
            raise ValueError("feature_costs by name needs X with column names; give an array of costs instead.")
        position = {name: j for j, name in enumerate(names)}
        unknown = [name for name in costs if name not in position]
        if unknown:
            raise ValueError(f"feature_costs names {unknown[0]!r}, which is not a column of X.")
        every = [costs.get(name, 1.0) for name in names]
    else:
        every = costs
    try:
        array = np.asarray(every, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"feature_costs must be numbers, an array or {{name: cost}}, got {costs!r}.") from None
    if array.shape != (n_features,):
        raise ValueError(f"feature_costs must have one cost per feature ({n_features}), got shape {array.shape}.")
    if not (np.all(np.isfinite(array)) and np.all(array > 0)):
        raise ValueError("feature_costs must be finite and greater than 0; drop a column to forbid it.")
    return array


def class_weights(class_weight: Any, labels: Array, weight: Array) -> Array:
    """Factor of every example; "balanced" gives all classes the same total of these sample weights."""
    if not isinstance(class_weight, str) or class_weight != "balanced":
        return compute_sample_weight(class_weight, labels)
    factor = np.ones(labels.shape[0])
    for column in labels.reshape(labels.shape[0], -1).T:
        codes = np.unique(column, return_inverse=True)[1]
        total = np.bincount(codes, weights=weight)
        share = np.divide(weight.sum(), total.size * total, out=np.zeros_like(total), where=total > 0)
        factor *= share[codes]
    return factor


def make_template(template: Any, n_features: int) -> str | Array:
    """A template name, or the user's array with one entry per feature."""
    if isinstance(template, str):
        return template
    try:
        array = np.asarray(template, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (n_features,) or not np.all(np.isfinite(array)) or np.any(array < 0):
        raise ValueError(
            f"template must be one of {_listed(TEMPLATES)} or an array of {n_features} finite entries >= 0, one per "
            f"feature."
        )
    return array


def column_labels(X: Any) -> list[Any] | None:
    """Labels of the columns of a data frame of any make; None for arrays."""
    columns = getattr(X, "columns", None)
    if columns is None or not hasattr(X, "shape") or callable(columns):
        return None
    return list(columns)


def check_columns(estimator: Any, X: Any) -> None:
    """Raise unless a data frame has the columns of the fit, in their order, whatever their labels are."""
    fitted, given = getattr(estimator, "_column_labels", None), column_labels(X)
    if fitted is None or given is None or fitted == given:
        return
    if sorted(map(str, fitted)) == sorted(map(str, given)):
        problem = "in another order"
    else:
        strangers = [label for label in given if label not in fitted]
        missing = [label for label in fitted if label not in given]
        problem = f"with other names (new: {strangers[:3]}, missing: {missing[:3]})"
    raise ValueError(
        f"The feature names should match those that were passed during fit: the columns of X arrive {problem}; "
        f"select them with X[model.feature_names_in_]."
    )


def finite_only(estimator: Any) -> Callable[[Any], None]:
    """What complains of an X that holds NaN or infinity, as scikit-learn does, on behalf of the estimator."""
    return partial(assert_all_finite, estimator_name=type(estimator).__name__, input_name="X")


def check_data(
    estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool, finite: bool = True, **options: Any
) -> Any:
    """scikit-learn's validation, plus column labels, and a clear word about text columns.

    With ``finite=False`` nobody looks for NaN and infinity in X: whoever asks for that does so later.
    """
    if reset:
        estimator._column_labels = column_labels(X)
    else:
        check_columns(estimator, X)
    space = make_space(getattr(estimator, "hypotheses", "features"))
    if space.allows_categories and X is not None:
        known = None if reset else getattr(estimator, "_categories", {})
        X, estimator._categories = encode_categories(X, getattr(space, "categorical_features", None), known)
    for name, part in (("X", X), ("y", y)):
        if getattr(getattr(part, "dtype", None), "kind", "") == "c":  # scikit-learn would print all of it
            raise ValueError(f"Complex data not supported: {name} must hold real numbers.")
    if X is None or (isinstance(X, (str, bytes, Mapping)) and not sp.issparse(X)):  # DOK matrices are mappings
        shown = "a dict" if isinstance(X, Mapping) else repr(X)
        raise TypeError(f"X must be a two-dimensional array, data frame or sparse matrix, got {shown}.")
    try:
        found = validate_data(
            estimator, X, y, reset=reset, dtype="numeric", accept_sparse=["csc", "csr", "coo"],
            ensure_all_finite=finite and ("allow-nan" if space.allows_missing else True), **options,
        )  # fmt: skip
        data = found[0] if isinstance(found, tuple) else found
        if data.dtype.kind not in "biuf":  # frames with categories or dates pass scikit-learn as objects
            data = data.astype(np.float64, casting="unsafe" if data.dtype.kind == "O" else "safe")
            found = (data, *found[1:]) if isinstance(found, tuple) else data
        return found
    except (TypeError, ValueError) as error:
        if not any(
            words in str(error) for words in ("could not convert", "bytes/strings", "cast array", "float()", "promoted")
        ):
            raise
        text = re.sub(r"\s+", " ", str(error)).rstrip(".")
        kind = TypeError if "float()" in text else ValueError  # cells that are no numbers at all, as in scikit-learn
        raise kind(
            f"X must hold numbers only; encode text, dates and categories first, for example with OneHotEncoder "
            f"({text})."
        ) from None


def label_signs(y: Any) -> Array:
    """A label matrix as 1 where a label applies and -1 where it does not."""
    y = np.asarray(y)
    least, most = y.min(), y.max()
    if least != most and (least > 0) == (most > 0):
        raise ValueError(
            f"A matrix y must say 1 where a label applies and 0 or -1 elsewhere, not {most:g} and {least:g}."
        )
    return np.where(y > 0, 1.0, -1.0)
