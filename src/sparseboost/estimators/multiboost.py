"""MultiBoostClassifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from sparseboost.ensemble import Stage
from sparseboost.estimators.base import BaseSparseBoost
from sparseboost.estimators.callbacks import with_callbacks
from sparseboost.estimators.validation import (
    check_choice,
    check_class_weight,
    check_data,
    check_flag,
    check_limits,
    check_number,
    make_penalty,
    make_space,
)
from sparseboost.hypotheses import HypothesisSpace, Stumps
from sparseboost.losses import Loss, MulticlassHinge, Pairwise, PairwiseLogistic
from sparseboost.monitors import Callback
from sparseboost.penalties import L1Linf, Norm
from sparseboost.problem import Problem
from sparseboost.solvers import ADMM, Corrector, RowBlocks, Solution

Array = np.ndarray
LOSSES = ("logistic", "hinge")
PENALTIES = ("l1", "l1/l2", "l1/linf")
SOLVERS = ("auto", "admm")


def _has_probabilities(model: Any) -> bool:
    return model.loss.probabilistic if isinstance(model.loss, Loss) else model.loss == "logistic"


class MultiBoostClassifier(ClassifierMixin, BaseSparseBoost):
    r"""Multi-class boosting in which all classes share few hypotheses: a group norm on non-negative weights.

    Minimises (1/Σs) Σ_i s_i loss(y_i, Σ_j W_j h_j(x_i)) + nu Σ_j c_j ‖W_j‖ over W ≥ 0, with one row per hypothesis and
    one column per class, by column generation: the hypotheses that violate dual feasibility most enter, all weights are
    re-optimised, and what became zero leaves.

    The losses compare scores of two classes, so they do not change when a constant is added to a row: W ≥ 0 restricts
    no model, it only sets the price of one. A row pays for what it adds to its lowest class. Under ℓ1/ℓ∞ −h costs the
    same as h; under ℓ1 and ℓ1/ℓ2 lifting all classes but one is dearer than lifting one, so that ``"stumps"`` holds
    both x <= t and x > t there, and the result does not depend on which of them is called h.

    Parameters
    ----------
    loss : {"logistic", "hinge"} or Loss, default="logistic"
        "logistic": (1/k) Σ_{r≠y} ln(1 + e^{z_r − z_y}) (P2); "hinge": max_r (1{r≠y} + z_r − z_y) (P1). A loss for
        labels ±1, such as `Exponential()`, is applied to the margins z_y − z_r in place of the logistic one (P6); a
        multi-class loss is used as it is.
    penalty : {"l1", "l1/l2", "l1/linf"} or Norm, default="l1/l2"
        Norm of the rows; "l1" ties nothing (MultiBoost-ℓ1).
    nu : float, default=0.001
        Strength of the penalty. The paper sums the hinge over examples: its ν is nu · Σs.
    hypotheses : str, HypothesisSpace or scikit-learn estimator, default="stumps"
        Where hypotheses come from.
    solver : {"auto", "admm"}, default="auto"
        How weights are re-optimised. "auto" is the fastest that is valid: block prox-Newton for smooth losses, ADMM
        for the hinge. All of them end at the same optimum.
    blocks : int or sequence of int, default=1
        Blocks of rows for consensus ADMM (then "auto" is ADMM): how many, or how many rows each has. The optimum does
        not depend on it.
    induce : int or "auto", default="auto"
        How many hypotheses may enter per round.
    feature_costs : array of shape (n_features,) or dict of name to cost, optional
        Costs c_j; a dearer input must help more to enter.
    fit_intercept : bool, default=False
        Whether to learn unpenalised constants per class; the paper has none.
    class_weight : dict, "balanced" or None, default=None
        As in scikit-learn.
    max_rounds : int, default=1000
        Most rounds of column generation.
    max_features : int, optional
        Stop when this many inputs are used.
    tol : float, default=1e-4
        The fit stops when the duality gap is at most tol times the objective of the empty model.
    warm_start : bool, default=False
        Start from the weights of the previous fit.
    time_budget : float, optional
        Seconds after which the fit stops.
    random_state : int, RandomState or None, default=None
        For hypothesis spaces that draw at random.
    n_jobs : int or None, default=None
        Threads for passes over the data. Results do not depend on it.
    verbose : int, default=0
        0 silent, 1 progress bar, 2 a line per round.
    callbacks : list of callables, optional
        Each gets the record of every round; a true return value stops the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_hypotheses, n_classes)
        Weights W ≥ 0 of the active hypotheses.
    intercept_ : ndarray of shape (n_classes,)
        Constants per class; zero without `fit_intercept`.
    hypotheses_ : list
        Active hypotheses, in the order of the rows of `coef_`.
    n_active_ : int
        Their number.
    classes_ : ndarray
        Class labels.
    dual_violation_ : float
        How far the dual solution is from feasible: max_h ‖[c(h)]₊‖ / (nu c_h) − 1 over all hypotheses, at least 0.
    objective_, dual_gap_ : float
        Objective reached, and how far above the optimum it can be at most.
    converged_, stopping_reason_, solver_, n_rounds_, history_, n_features_in_, feature_names_in_
        As in `SparseBoostClassifier`.

    References
    ----------
    Paisitkriangkrai, Shen & van den Hengel (2012), Sharing Features in Multi-class Boosting via Group Sparsity;
    MATH.md P1–P6.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sparseboost import MultiBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultiBoostClassifier(nu=0.01).fit(X, y)
    >>> model.n_active_ == len(model.hypotheses_) == len(model.coef_), model.converged_
    (True, True)
    >>> bool((model.coef_ >= 0).all()), float(model.score(X, y)) > 0.95
    (True, True)
    """

    update = "auto"
    template = "single"
    corrective = True
    positive = True
    standardize = False
    _over_features = False

    def __init__(
        self,
        loss: str | Loss = "logistic",
        penalty: str | Norm = "l1/l2",
        nu: float = 0.001,
        *,
        hypotheses: str | HypothesisSpace = "stumps",
        solver: str = "auto",
        blocks: int | Sequence[int] = 1,
        induce: int | Literal["auto"] = "auto",
        feature_costs: Array | Mapping[str, float] | None = None,
        fit_intercept: bool = False,
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
        self.loss = loss
        self.penalty = penalty
        self.nu = nu
        self.hypotheses = hypotheses
        self.solver = solver
        self.blocks = blocks
        self.induce = induce
        self.feature_costs = feature_costs
        self.fit_intercept = fit_intercept
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

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """Strength of the penalty, by the name it has in the other estimators."""
        return self.nu

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultiBoostClassifier:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training inputs.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights s_i ≥ 0.

        Returns
        -------
        MultiBoostClassifier
            The fitted estimator.
        """
        with self._all_or_nothing():
            self._solve(self._problem(X, y, sample_weight), X, y)
        return self

    def _check_parameters(self) -> None:
        check_number("nu", self.nu, low=0.0, strict=True)
        check_choice("solver", self.solver, SOLVERS)
        if not isinstance(self.loss, Loss):
            check_choice("loss", self.loss, LOSSES)
        if not isinstance(self.penalty, Norm):
            check_choice("penalty", self.penalty, PENALTIES)
        for count in [self.blocks] if isinstance(self.blocks, (int, float, str)) else self.blocks:
            check_number("blocks", count, low=1, integer=True)
        if not (isinstance(self.induce, str) and self.induce == "auto"):
            check_number("induce", self.induce, low=1, integer=True)
        check_number("max_features", self.max_features, low=1, integer=True, optional=True)
        check_flag("fit_intercept", self.fit_intercept)
        check_flag("warm_start", self.warm_start)
        check_limits(self)
        check_class_weight(self.class_weight)

    def _encode(self, X: Any, y: Any, reset: bool) -> tuple[Any, Array, Loss, Array | None]:
        X, y = check_data(self, X, y, reset=reset, multi_output=True)
        check_classification_targets(y)
        if type_of_target(y, input_name="y").startswith("multilabel"):
            raise ValueError(
                "y must be one column of class labels; for a 0/1 indicator of labels use SparseBoostClassifier."
            )
        y = column_or_1d(y, warn=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(
                f"y must hold at least two classes; this classifier was given one class only, "
                f"{self.classes_.tolist()[0]!r}."
            )
        if not isinstance(self.blocks, (int, np.integer)) and sum(self.blocks) != len(y):
            raise ValueError(f"blocks must sum to the number of rows, {len(y)}, but they sum to {sum(self.blocks)}.")
        labels = None if self.class_weight is None else y
        return X, codes[:, None].astype(float), self._make_loss(self.classes_.size), labels

    def _pose(self, X: Any, target: Array, loss: Loss, weight: Array) -> Problem:
        used = weight > 0  # an example without weight must not even add a threshold
        if isinstance(self.blocks, (int, np.integer)) and 0 < used.sum() < used.size:
            X = X.tocsr() if sp.issparse(X) else X
            X, target, weight = X[used], target[used], weight[used]
        return super()._pose(X, target, loss, weight)

    def _make_loss(self, n_classes: int) -> Loss:
        if not isinstance(self.loss, Loss):
            return PairwiseLogistic(n_classes) if self.loss == "logistic" else MulticlassHinge(n_classes)
        if not self.loss.multiclass:
            return Pairwise(self.loss, n_classes)
        if getattr(self.loss, "n_classes", n_classes) != n_classes:
            raise ValueError(f"loss {self.loss!r} does not fit this y, which has {n_classes} classes.")
        return self.loss

    def _space(self) -> HypothesisSpace:
        if isinstance(self.hypotheses, str) and self.hypotheses == "stumps":
            return Stumps(negated=not isinstance(make_penalty(self.penalty, True), L1Linf))
        return make_space(self.hypotheses)

    def _corrector(self, problem: Problem) -> Corrector:
        in_blocks = not isinstance(self.blocks, (int, np.integer)) or self.blocks > 1
        if self.solver == "admm" or in_blocks or (not problem.loss.smooth and ADMM.applies(problem)):
            return ADMM(RowBlocks(self.blocks))
        return super()._corrector(problem)

    def _record(self, solution: Solution, corrector: Corrector) -> None:
        super()._record(solution, corrector)
        self.dual_violation_ = max(solution.violation / self.nu - 1.0, 0.0)

    def _warm(self, problem: Problem) -> Stage | None:
        if not self.warm_start or not hasattr(self, "coef_") or self.coef_.shape[1] != problem.n_outputs:
            return None
        return self._adopted(problem)

    def _weights(self, stage: Stage, problem: Problem) -> dict[str, Any]:
        keys, rows, _ = stage
        found = {**super()._weights(stage, problem), "coef_": rows[np.argsort(keys)], "_over_features": False}
        return found

    def _active(self) -> tuple[list[Any], Array]:
        return self.hypotheses_, self.coef_

    def decision_function(self, X: Any) -> Array:
        """Scores Σ_j W_j h_j(x).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One score per class; for two classes their difference.
        """
        return self._shape(self._decision(X))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the scores of the model as it was before each round and at the end."""
        return (self._shape(score) for score in self._staged(X))

    def _shape(self, score: Array) -> Array:
        return score if self.classes_.size > 2 else score[:, 1] - score[:, 0]

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
            Probability of every class.
        """
        score = self._decision(X)
        return self._make_loss(self.classes_.size).decode(score)

    def predict(self, X: Any) -> Array:
        """Class with the largest score.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted classes.
        """
        score = self._decision(X)
        return self.classes_[score.argmax(axis=1)]

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions of the model as it was before each round and at the end."""
        return (self.classes_[score.argmax(axis=1)] for score in self._staged(X))
