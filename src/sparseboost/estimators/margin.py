"""MarginBoostClassifier: boosting for large margins, with the bracket margin ≤ θ* ≤ edge."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from sparseboost.estimators.base import all_or_nothing, callers_level
from sparseboost.estimators.callbacks import CallbackSupportMixin, RoundTasks, with_callbacks
from sparseboost.estimators.margin_methods import LOSSES, check_margin_parameters, make_solver
from sparseboost.estimators.margin_summary import margin_summary
from sparseboost.estimators.validation import allows_missing, check_data, make_space
from sparseboost.hypotheses import Context, HypothesisSpace, evaluate
from sparseboost.hypotheses.scaled import signed
from sparseboost.monitors import Callback, Monitor
from sparseboost.solvers.game import Game, Mixture
from sparseboost.solvers.margins import MarginSolution, play

Array = np.ndarray
OPTIMISERS = ("rlmp", "cg-boost", "lpboost")  # methods with an optimum to reach; elsewhere rounds are a choice


def _has_probabilities(model: MarginBoostClassifier) -> bool:
    if model.method == "lpboost" or (model.method == "rlmp" and model.loss == "hinge"):
        raise AttributeError(f"method={model.method!r} with this loss has no probabilities; use decision_function.")
    return True


class MarginBoostClassifier(ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    r"""Binary classifier that is a convex combination of hypotheses with a large margin on all examples.

    With M_ij = y_i h_j(x_i), weights α and a distribution d over the examples, the largest margin θ* obeys
    min_i (Mα)_i / ‖α‖₁ ≤ θ* = max_α min_i (Mα)_i/‖α‖₁ ≤ max_j (Mᵀd)_j: the margin of the model, and the best edge.
    Every hypothesis may also be used negated. Columns that leave [−1, 1] are divided by their largest absolute value.

    Parameters
    ----------
    method : str, default="adaboost+l1"
        ``"adaboost"``: the hypothesis with the best edge gains a step.
        ``"eps-adaboost"``: all steps are `eps`.
        ``"adaboost+l1"``: AdaBoost's steps, times `nu`, only widen a ball in which all weights are chosen anew.
        ``"rlmp"``: the least `loss` in the ball Σα ≤ `radius`.
        ``"cg-boost"``: the least ln of the mean exponential loss in that ball, by conditional gradients.
        ``"lpboost"``: the largest margin, or soft margin, by linear programs.
    hypotheses : str, HypothesisSpace or scikit-learn estimator, default="stumps"
        Where hypotheses come from, for example ``"stumps"``, ``"features"``, ``Stumps(thresholds="quantile")``.
    step : str, float, callable or list, default="auto"
        Of ``"adaboost"``: ``"optimal"`` (the default), atanh(edge); ``"constant"``, √(2 ln m / max_rounds);
        ``"line-search"``; a number; a function of the round 0, 1, …; or a list whose last entry repeats.
        Of ``"cg-boost"``: ``"2/(k+2)"``, ``"line-search"``, ``"constant"`` (2/(max_rounds + 2)), a share from 0 to 1, a
        function or a list; ``"away"`` and ``"pairwise"`` (the default) also take weight back, down to zero.
    eps : float, default=0.1
        Step of ``"eps-adaboost"``.
    nu : float, default=1.0
        Shrinkage of ``"adaboost+l1"``, in (0, 1]: smaller is slower and sparser.
    radius : float, default=10.0
        Σα of ``"rlmp"`` and ``"cg-boost"``, at most.
    loss : {"exponential", "logistic", "hinge"}, default="exponential"
        Loss of ``"adaboost+l1"`` and ``"rlmp"``; the hinge is for ``"rlmp"``.
    soft_margin : float, default=0.0
        Of ``"lpboost"``: examples of this share of the weight, at most, may fall short of the margin; 0 is the hard
        margin.
    max_rounds : int, default=500
        Most rounds. A round lets one hypothesis in; the linear programs take up to 20.
    tol : float, default=1e-3
        The fit stops when the best edge is at most this far above the margin; ``"rlmp"`` and ``"cg-boost"`` stop when
        their loss is this close to its minimum.
    time_budget : float, optional
        Seconds after which the fit stops.
    random_state : int, RandomState or None, default=None
        For hypothesis spaces that draw at random; stumps do not.
    n_jobs : int or None, default=None
        Threads for passes over X. Results do not depend on it.
    verbose : int, default=0
        0 silent, 1 progress bar, 2 a line per round.
    callbacks : list of callables, optional
        Each gets the record of every round; a true return value stops the fit.

    Attributes
    ----------
    hypotheses_ : list
        Hypotheses in use; a negated one says so.
    weights_ : ndarray of shape (n_active_,)
        Their weights, > 0, not normalised.
    n_active_ : int
        Their number.
    inputs_used_ : ndarray of int
        The inputs they look at.
    margin_ : float
        Smallest margin of the normalised classifier on the training examples that have weight.
    edge_ : float
        Best edge under the final distribution over the examples: no classifier has a larger margin.
    gap_ : float
        How far the model can be from the aim of its method, at most.
    converged_ : bool
        Whether that is at most `tol`, or the data turned out not to be separable.
    stopping_reason_ : str
        "gap"; "not_separable": no classifier has a margin above `tol`, because the best edge, which is the largest
        entry of the gradient of ln of the exponential loss, fell to `tol`; "max_rounds", "time_budget", "callback" or
        "stalled".
    n_rounds_ : int
        Rounds done.
    history_ : list of dict
        One record per round and one of the start: edge, margin, loss, active, gap, bound, seconds. The loss is ln of
        the mean exponential or logistic loss, the mean hinge loss, or minus the (soft) margin. The bound is what theory
        promises for θ* − margin after that many rounds; for ``"adaboost+l1"`` θ* is that of the hypotheses met so far.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Xi, Xiang, Ramadge & Schapire (2009), Speed and Sparsity of Regularized Boosting; Freund, Grigas & Mazumder (2013),
    The First-Order View of Boosting Methods; MATH.md X1–X5, F1, F3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparseboost import MarginBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MarginBoostClassifier(max_rounds=50).fit(X, y)
    >>> bool(model.margin_ <= model.edge_), model.n_active_ <= 50
    (True, True)
    """

    def __init__(
        self,
        method: str = "adaboost+l1",
        *,
        hypotheses: str | HypothesisSpace = "stumps",
        step: str | float | Sequence[float] | Callable[[int], float] = "auto",
        eps: float = 0.1,
        nu: float = 1.0,
        radius: float = 10.0,
        loss: str = "exponential",
        soft_margin: float = 0.0,
        max_rounds: int = 500,
        tol: float = 1e-3,
        time_budget: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.method = method
        self.hypotheses = hypotheses
        self.step = step
        self.eps = eps
        self.nu = nu
        self.radius = radius
        self.loss = loss
        self.soft_margin = soft_margin
        self.max_rounds = max_rounds
        self.tol = tol
        self.time_budget = time_budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    # -- fitting --------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MarginBoostClassifier:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training inputs.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights s_i ≥ 0: where the distribution over the examples starts. Examples of weight 0 do not count, also
            not for the margin.

        Returns
        -------
        MarginBoostClassifier
            The fitted estimator.
        """
        with all_or_nothing(self):
            game = self._game(X, y, sample_weight)
            solver = make_solver(self, game)
            state = solver.init(game)
            tasks = RoundTasks(self, X, y, lambda: self._fitted(state.mixture, game))
            monitor = Monitor(self.time_budget, int(self.verbose), [*(self.callbacks or []), tasks])
            try:
                solution = play(game, solver, state=state, tol=self.tol, max_rounds=self.max_rounds, monitor=monitor)
            finally:
                monitor.close()
            self._record(solution, game)
            tasks.close()
        return self

    def _game(self, X: Any, y: Any, sample_weight: Any) -> Game:
        check_margin_parameters(self)
        X, y = check_data(self, X, y, reset=True)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size > 2:
            raise ValueError(
                f"Only binary classification is supported by MarginBoostClassifier, but y has {self.classes_.size} "
                f"classes; use OneVsRestClassifier(MarginBoostClassifier(...)) from sklearn.multiclass."
            )
        counted = weight > 0
        if np.unique(codes[counted]).size < 2:
            raise ValueError(
                f"y must hold two classes among the examples that have weight; this classifier was given one class "
                f"only, {self.classes_[codes[counted][:1]].tolist()}."
            )
        if not counted.all():
            X = (X.tocsr() if sp.issparse(X) else X)[counted]
        target, prior = np.where(codes[counted] == 1, 1.0, -1.0), weight[counted] / weight.sum()
        context = Context(
            feature_names=getattr(self, "feature_names_in_", None),
            categories=getattr(self, "_categories", {}),
            target=target[:, None],
            weight=prior,
            n_classes=2,
            random_state=self.random_state,
            n_jobs=effective_n_jobs(self.n_jobs),
        )
        return Game(make_space(self.hypotheses).bind(X.tocsc() if sp.issparse(X) else X, context), target, prior)

    def _fitted(self, mixture: Mixture, game: Game) -> dict[str, Any]:
        """The fitted attributes that make predictions, if the fit ended here."""
        keys = np.array([key for key, _ in mixture.atoms], dtype=np.int64)
        factors = np.array([sign for _, sign in mixture.atoms]) / game.dictionary.cost(keys)
        met = [signed(game.dictionary.hypothesis(int(key)), float(f)) for key, f in zip(keys, factors, strict=True)]
        used = np.flatnonzero(mixture.weight)
        active = [met[j] for j in used]
        return {
            "hypotheses_": active,
            "weights_": mixture.weight[used].copy(),
            "n_active_": len(active),
            "inputs_used_": np.array(sorted({j for h in active for j in h.inputs}), dtype=np.int64),
            "_met": met,
        }

    def _record(self, solution: MarginSolution, game: Game) -> None:
        mixture = solution.mixture
        for name, value in self._fitted(mixture, game).items():
            setattr(self, name, value)
        self.margin_, self.edge_, self.gap_ = solution.margin, solution.edge, solution.gap
        self.converged_, self.stopping_reason_ = solution.converged, solution.reason
        self.n_rounds_, self.history_ = solution.n_rounds, solution.history
        self.certificate_scope_ = "space" if game.dictionary.exact else "induced"
        self._trail = {
            "scale": np.array([scale for scale, _, _ in mixture.trail]),
            "start": np.cumsum([0, *(len(positions) for _, positions, _ in mixture.trail)]),
            "position": np.concatenate([np.empty(0, np.int64), *(positions for _, positions, _ in mixture.trail)]),
            "amount": np.concatenate([np.empty(0), *(amounts for _, _, amounts in mixture.trail)]),
        }
        self._warn(solution)

    def _warn(self, solution: MarginSolution) -> None:
        """Say that a method with an optimum to reach did not reach it, or that there is none worth reaching."""
        if self.method == "lpboost" and solution.reason == "not_separable" and self.soft_margin == 0.0:
            text = (
                f"The data is not separable by these hypotheses: no classifier has a margin above {self.tol:.2g}, and "
                f"the hard margin says nothing about which is best; use soft_margin > 0."
            )
        elif self.method in OPTIMISERS and not solution.converged and solution.reason != "callback":
            remedy = solution.reason if solution.reason in ("max_rounds", "time_budget") else "tol"
            text = (
                f"MarginBoostClassifier stopped by {solution.reason} with a gap of {solution.gap:.2g} where "
                f"{self.tol:.2g} was wanted; raise {remedy}"
                + (" or use step='pairwise'." if self.method == "cg-boost" and self.step != "pairwise" else ".")
            )
        else:
            return
        warnings.warn(text, ConvergenceWarning, stacklevel=callers_level())

    # -- using a fitted model ---------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Votes of the normalised classifier, Σ_j α_j h_j(x) / Σ_j α_j.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive for ``classes_[1]``; between −1 and 1 where all hypotheses are.
        """
        return self._score(X) / max(float(self.weights_.sum()), np.finfo(float).tiny)

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the normalised votes of the model as it was before each round and at the end."""
        check_is_fitted(self)
        X = self._check_predict(X)  # now, not when the first stage is asked for
        outputs = evaluate(self._met, X)
        return self._stages(outputs.toarray() if sp.issparse(outputs) else outputs)

    def _stages(self, outputs: Array) -> Iterator[Array]:
        score, total, trail = np.zeros(outputs.shape[0]), 0.0, self._trail
        yield score
        for scale, first, last in zip(trail["scale"], trail["start"], trail["start"][1:], strict=False):
            position, amount = trail["position"][first:last], trail["amount"][first:last]
            score = scale * score + outputs[:, position] @ amount
            total = scale * total + amount.sum()
            yield score / max(total, np.finfo(float).tiny)

    def predict(self, X: Any) -> Array:
        """The class that has the votes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted classes.
        """
        score = self._score(X)
        return self.classes_[(score > 0).astype(int)]

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions of the model as it was before each round and at the end."""
        return (self.classes_[(votes > 0).astype(int)] for votes in self.staged_decision_function(X))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Class probabilities that the loss implies: σ(2 Σ_j α_j h_j(x)), or σ(Σ_j α_j h_j(x)) for the logistic loss.

        They are those of a minimum of the loss. A method that runs on to a large margin makes them all but certain.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probability of every class.
        """
        logistic = self.loss == "logistic" and self.method in LOSSES
        score = self._score(X) * (1.0 if logistic else 2.0)
        return np.column_stack([expit(-score), expit(score)])

    def summary(self) -> str:
        """A page of text: hypotheses and their shares of the vote, the bracket of margin and edge, why it stopped."""
        check_is_fitted(self)
        return margin_summary(self)

    def _score(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.asarray(evaluate(self.hypotheses_, self._check_predict(X)) @ self.weights_)

    def _check_predict(self, X: Any) -> Any:
        X = check_data(self, X, reset=False)
        return X.tocsr() if sp.issparse(X) and X.format == "coo" else X

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = allows_missing(self.hypotheses)
        tags.classifier_tags.multi_class = False
        return tags
