"""Any scikit-learn regressor or classifier as a weak learner of functional boosting."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import has_fit_parameter

from sparseboost.solvers.functional import (
    Bond,
    Projected,
    Projector,
    VectorHypothesis,
    VectorTrees,
    WeakLearner,
)

Array = np.ndarray
NAMES = ("stumps", "trees")
SEEDS = np.iinfo(np.int32).max


def make_learner(learner: Any) -> WeakLearner:
    """The weak learner behind a name, an estimator or the given object."""
    if isinstance(learner, WeakLearner):
        return learner
    if isinstance(learner, str) and learner in NAMES:
        return VectorTrees() if learner == "stumps" else VectorTrees(max_depth=3)
    if isinstance(learner, BaseEstimator) and (is_regressor(learner) or is_classifier(learner)):
        return EstimatorLearner(learner)
    raise ValueError(
        f"learner must be 'stumps', 'trees', a scikit-learn regressor or classifier (an object), or a WeakLearner, got "
        f"{learner!r}."
    )


class LearnedVector(VectorHypothesis):
    """The predictions of fitted estimators: one for all outputs, or one per output; classifiers say ±1.

    Parameters
    ----------
    estimators : list
        One fitted estimator for all outputs, or one per output; a number stands for a constant.
    n_outputs : int
        k.
    n_inputs : int
        Number of columns of X.
    """

    def __init__(self, estimators: list[Any], n_outputs: int, n_inputs: int) -> None:
        self.estimators = estimators
        self.n_outputs = n_outputs
        self.n_inputs = n_inputs

    @property
    def inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        """All inputs: an estimator does not tell which it looks at."""
        return tuple(range(self.n_inputs))

    def __call__(self, X: Any) -> Array:
        out = np.empty((X.shape[0], self.n_outputs))
        if len(self.estimators) == 1:
            out[:] = self._predict(self.estimators[0], X).reshape(X.shape[0], self.n_outputs)
        else:
            for r, estimator in enumerate(self.estimators):
                out[:, r] = self._predict(estimator, X).ravel()
        return out

    @staticmethod
    def _predict(estimator: Any, X: Any) -> Array:
        if isinstance(estimator, float):
            return np.full(X.shape[0], estimator)
        return np.asarray(estimator.predict(X), dtype=float)

    def __repr__(self) -> str:
        return " | ".join(dict.fromkeys(" ".join(repr(estimator).split()) for estimator in self.estimators))


class EstimatorLearner(WeakLearner):
    """Directions that a scikit-learn estimator learns from the gradient.

    A regressor is fitted to the gradient by least squares, all outputs at once if it can, else one copy per output. A
    classifier is fitted to sgn ∇ with weights |∇|, one copy per output, and says ±1: for k outputs this maximises the
    inner product over all vectors of k classifiers. Gradients are scaled to unit size before a regressor sees them.

    Parameters
    ----------
    estimator : scikit-learn regressor or classifier
        Cloned for every fit, with a new seed drawn from the fit's `random_state`. Where `fit` takes no `sample_weight`
        and weights differ, it is fitted to a resample drawn by weight.

    References
    ----------
    MATH.md G4.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def bind(self, X: Any, bond: Bond) -> EstimatorProjector:
        if sp.issparse(X):
            if not get_tags(self.estimator).input_tags.sparse:
                raise ValueError(f"{_one_line(self.estimator)} does not take sparse X; give a dense array.")
            X = X.tocsr()
        return EstimatorProjector(self.estimator, X, bond)


class EstimatorProjector(Projector):
    """A scikit-learn estimator bound to data."""

    def __init__(self, estimator: Any, X: Any, bond: Bond) -> None:
        self.estimator, self.X, self.bond = estimator, X, bond
        self.rng = check_random_state(bond.random_state)
        self.rows = np.flatnonzero(bond.weight > 0)
        self.weight = bond.weight * (bond.weight.size if bond.mass is None else bond.mass)  # 1 where none was given
        self.classifies = is_classifier(estimator)
        self.takes_all = not self.classifies and _takes_many_outputs(estimator)

    def project(self, target: Array) -> Projected:
        k = target.shape[1]
        if self.classifies:
            fitted = [self._classify(target[:, r]) for r in range(k)]
        else:
            target = target / np.sqrt(np.average((target**2).sum(axis=1), weights=self.bond.weight))
            weight = self.weight[self.rows]
            if k == 1 or not self.takes_all:
                fitted = [self._fit(self.rows, target[self.rows, r], weight) for r in range(k)]
            else:
                fitted = [self._fit(self.rows, target[self.rows], weight)]
        hypothesis = LearnedVector(fitted, k, self.X.shape[1])
        outputs = hypothesis(self.X)
        if not np.all(np.isfinite(outputs)):
            raise ValueError(f"{_one_line(self.estimator)} predicts values that are not finite on its training data.")
        return Projected(hypothesis, outputs)

    def _classify(self, target: Array) -> Any:
        """A classifier of the signs of one output; the constant sign where there is only one."""
        rows = self.rows[target[self.rows] != 0]
        sign = np.sign(target[rows])
        if rows.size == 0 or np.all(sign == sign[0]):
            return float(sign[0]) if rows.size else 0.0
        size = np.abs(target[rows])
        return self._fit(rows, sign, self.weight[rows] * size / np.average(size, weights=self.weight[rows]))

    def _fit(self, rows: Array, target: Array, weight: Array) -> Any:
        estimator = clone(self.estimator)
        seeded = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
        estimator.set_params(**{name: self.rng.randint(SEEDS) for name in sorted(seeded)})
        options = {}
        if not np.allclose(weight, 1.0, rtol=1e-9):
            parameter = _weight_parameter(estimator)
            if parameter is not None:
                options[parameter] = weight
            elif not np.allclose(weight, weight[0], rtol=1e-9):
                drawn = self.rng.choice(rows.size, rows.size, p=weight / weight.sum())
                rows, target = rows[drawn], target[drawn]
                if self.classifies and np.all(target == target[0]):
                    return float(target[0])
        X = self.X if rows.size == self.X.shape[0] and np.array_equal(rows, np.arange(rows.size)) else self.X[rows]
        try:
            return estimator.fit(X, target, **options)
        except Exception as error:  # one sentence, whatever the estimator says
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ValueError(f"{_one_line(self.estimator)} could not be fitted to the gradient: {reason}") from error


def _takes_many_outputs(estimator: Any) -> bool:
    """Whether a regressor learns several outputs at once: by its tags, which not all set, or by trying."""
    if get_tags(estimator).target_tags.multi_output:
        return True
    X = np.arange(40.0).reshape(20, 2) % 7.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(estimator).fit(X, X)
            return np.shape(fitted.predict(X)) == X.shape
    except Exception:  # whatever an estimator says that wants one output, or other inputs than these
        return False


def _weight_parameter(estimator: Any) -> str | None:
    """What `fit` calls the weights of examples, if it takes any."""
    if not isinstance(estimator, Pipeline):
        return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
    name, last = estimator.steps[-1]
    return f"{name}__sample_weight" if has_fit_parameter(last, "sample_weight") else None


def _one_line(estimator: Any) -> str:
    return " ".join(repr(estimator).split())
