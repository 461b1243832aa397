"""Losses of functional boosting by name, and what a user's own loss must have."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseboost.estimators.validation import check_choice
from sparseboost.losses import (
    Absolute,
    EpsInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Loss,
    MulticlassHinge,
    PairwiseLogistic,
    Quantile,
    RankingHinge,
    Softmax,
    Squared,
)

Array = np.ndarray
REGRESSION: dict[str, type[Loss]] = {
    "squared": Squared,
    "absolute": Absolute,
    "huber": Huber,
    "quantile": Quantile,
    "eps-insensitive": EpsInsensitive,
}
CLASSIFICATION = ("logistic", "hinge", "exponential")
TWO_CLASSES = (Logistic, Hinge, Exponential)
MANY_CLASSES = (Softmax, MulticlassHinge, PairwiseLogistic)


def make_regression_loss(loss: Any) -> Any:
    """The loss behind a name, or the given object if it can be used."""
    if isinstance(loss, str):
        check_choice("loss", loss, REGRESSION)
        return REGRESSION[loss]()
    if isinstance(loss, (*TWO_CLASSES, *MANY_CLASSES)):
        raise ValueError(f"loss {loss!r} is for classes; use FunctionalBoostClassifier, or a loss for real targets.")
    if isinstance(loss, RankingHinge):
        raise ValueError(f"loss {loss!r} is for rankings; use FunctionalBoostRanker.")
    return _usable(loss, list(REGRESSION))


def make_classification_loss(loss: Any, target: Array, n_classes: int) -> tuple[Array, Any]:
    """Targets as the loss wants them, and the loss for this many classes (2 for multi-label targets)."""
    if isinstance(loss, str):
        check_choice("loss", loss, CLASSIFICATION)
        if n_classes > 2 and loss == "exponential":
            raise ValueError(
                f"Only binary classification is supported by loss='exponential', but y has {n_classes} classes; use "
                f"'logistic' or 'hinge'."
            )
        if n_classes > 2:
            return target, Softmax(n_classes) if loss == "logistic" else MulticlassHinge(n_classes)
        return target, Logistic() if loss == "logistic" else Hinge() if loss == "hinge" else Exponential()
    if isinstance(loss, (*REGRESSION.values(), RankingHinge)):
        raise ValueError(f"loss {loss!r} is not for classes; use 'logistic', 'hinge' or 'exponential'.")
    _usable(loss, CLASSIFICATION)
    if isinstance(loss, MANY_CLASSES) and (n_classes == 2 or loss.n_classes != n_classes):
        raise ValueError(f"loss {loss!r} does not fit this y, which has {n_classes} classes.")
    if isinstance(loss, TWO_CLASSES) and n_classes > 2:
        raise ValueError(f"loss {loss!r} is for two classes, but y has {n_classes}; use 'logistic' or 'hinge'.")
    if n_classes > 2 and not hasattr(loss, "n_outputs"):
        target = (np.arange(n_classes) == target).astype(float)
    return target, loss


def _usable(loss: Any, names: Any) -> Any:
    if isinstance(loss, type) or not all(callable(getattr(loss, name, None)) for name in ("value", "gradient")):
        listed = ", ".join(repr(name) for name in names)
        raise TypeError(
            f"loss must be one of {listed} or an object with value(y, score) and gradient(y, score), got {loss!r}."
        )
    return loss


def make_ranking_loss(loss: Any) -> Any:
    """The loss behind a name, or the given object if it can be used."""
    if isinstance(loss, str):
        check_choice("loss", loss, ("ranking-hinge",))
        return RankingHinge()
    if isinstance(loss, Loss):
        raise ValueError(f"loss {loss!r} sees one example at a time; use 'ranking-hinge'.")
    return _usable(loss, ["ranking-hinge"])
