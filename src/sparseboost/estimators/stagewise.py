"""ForwardStagewiseRegressor and FrankWolfeLasso."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sparseboost.estimators.stagewise_base import BaseStagewise
from sparseboost.estimators.validation import check_number
from sparseboost.hypotheses import HypothesisSpace
from sparseboost.monitors import Callback
from sparseboost.solvers.frank_wolfe import STEPS, FrankWolfe, shrunken_stagewise
from sparseboost.solvers.stagewise import ForwardStagewise, Rule


class ForwardStagewiseRegressor(BaseStagewise):
    r"""Linear regression in many small steps: FS_ε, and R-FS_ε with a radius.

    Every round moves the weight with the largest |X_jᵀr| by ε towards the residual r:
    β_j ← β_j + ε sgn(X_jᵀr), and with a radius δ all weights shrink, β ← (δ/(δ+ε))(β + ε sgn(X_jᵀr) e_j).
    Early rounds are close to the lasso of the same ℓ1 norm, late ones to least squares (or the lasso of radius δ).
    Norms, correlations and losses are means over the examples, weighted by `sample_weight`.

    Parameters
    ----------
    eps : float, default=0.01
        Step ε > 0. After k rounds ‖β‖₁ ≤ kε, so it has to suit the scale of y and X.
    radius : float, optional
        δ > 0: keep ‖β‖₁ ≤ δ by shrinking (R-FS_ε, which converges towards the lasso of that radius).
    hypotheses : {"features", "stumps", ...}, HypothesisSpace or scikit-learn regressor, default="features"
        What the model is a sum of.
    fit_intercept : bool, default=True
        Centre y and the hypotheses; sparse inputs stay sparse.
    max_rounds : int, default=1000
        Most rounds: fewer are more regularised.
    tol : float, default=1e-4
        Stop when ‖Xᵀr‖∞ ≤ tol · ‖Xᵀy‖∞; with a radius, when the gap is at most tol times the loss of the empty model.
        What steps of ε can be promised to reach is accepted as well. 0 makes all rounds and asks for nothing.
    time_budget : float, optional
        Seconds after which the fit stops.
    random_state : int, RandomState or None, default=None
        For spaces that draw at random.
    n_jobs : int, optional
        Threads for passes over X. Results do not depend on it.
    verbose : int, default=0
        0 silent, 1 progress bar, 2 a line per round.
    callbacks : list of callables, optional
        Called with the record of every round; a true return value stops the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights; over other spaces one per entry of `hypotheses_`.
    intercept_ : float
        Unpenalised constant.
    coef_path_, intercept_path_ : ndarray of shape (n_rounds_ + 1, n_features), (n_rounds_ + 1,)
        The model after every round. Only the steps are stored, 24 bytes a round; `sparse_coef_path` is for very wide X.
    hypotheses_, n_active_, inputs_used_ : list, int, ndarray
        Hypotheses whose weight is not zero, their number, and the inputs they look at.
    path_hypotheses_ : list
        All hypotheses that were ever chosen, in the order of their entry.
    objective_ : float
        Loss ½ Σ s_i r_i² / Σ s_i.
    dual_gap_ : float
        At most how far the loss is above that of the lasso with the same ℓ1 norm (with a radius: of that radius).
    history_ : list of dict
        Per round, from the empty model on: round, loss, correlation ‖Xᵀr‖∞, gap, active, bound, seconds. `bound` is no
        smaller than the least correlation so far; with a radius the fields are those of `FrankWolfeLasso`.
    converged_, stopping_reason_, n_rounds_ : bool, str, int
        Whether the correlation (or gap) came down to what was wanted, why the fit ended, after how many rounds.
    certificate_scope_ : str
        "space" if gap and bounds are about all hypotheses, "induced" if the space is searched by a heuristic.
    n_features_in_, feature_names_in_ : int, ndarray of str
        As in scikit-learn.

    References
    ----------
    Freund, Grigas & Mazumder, The First-Order View of Boosting Methods; MATH.md F2, F4.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from sparseboost import ForwardStagewiseRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ForwardStagewiseRegressor(eps=0.01).fit(scale(X), scale(y))
    >>> [int(h.feature) for h in model.path_hypotheses_[:4]]
    [2, 8, 3, 6]
    >>> model.coef_path_.shape
    (1001, 10)
    """

    def __init__(
        self,
        eps: float = 0.01,
        *,
        radius: float | None = None,
        hypotheses: str | HypothesisSpace = "features",
        fit_intercept: bool = True,
        max_rounds: int = 1000,
        tol: float = 1e-4,
        time_budget: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.eps = eps
        self.radius = radius
        self.hypotheses = hypotheses
        self.fit_intercept = fit_intercept
        self.max_rounds = max_rounds
        self.tol = tol
        self.time_budget = time_budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    def _rule(self) -> Rule:
        check_number("eps", self.eps, low=0.0, strict=True)
        check_number("radius", self.radius, low=0.0, strict=True, optional=True)
        if self.radius is None:
            return ForwardStagewise(float(self.eps))
        return shrunken_stagewise(float(self.eps), float(self.radius))

    def _remedy(self, reason: str) -> str:
        return f"raise {reason} or eps"


class FrankWolfeLasso(BaseStagewise):
    r"""The lasso in its constrained form, by Frank–Wolfe: at most one more weight per round, with a certificate.

    Minimises ½ Σ_i s_i (y_i − b − Σ_j β_j h_j(x_i))² / Σ_i s_i over ‖β‖₁ ≤ δ by
    β ← (1−a)β + a·δ sgn(X_jᵀr) e_j for the largest |X_jᵀr|, with the gap G = δ‖Xᵀr‖∞ − rᵀXβ ≥ L(β) − L*.

    Parameters
    ----------
    radius : float, default=1.0
        δ > 0.
    step : {"line-search", "2/(k+2)", "away"} or float, default="line-search"
        The share a: the best one, 2/(k+2) in round k, or a constant 0 < a ≤ 1. "away" is a line search that also steps
        away from the worst vertex in use; it converges linearly and drops weights that were a mistake.
    hypotheses, fit_intercept, time_budget, random_state, n_jobs, verbose, callbacks
        As in `ForwardStagewiseRegressor`.
    max_rounds : int, default=10000
        Most rounds; the model has at most that many weights. The gap falls like 1/rounds, with "away" much faster.
    tol : float, default=1e-3
        Stop when the gap is at most tol times the loss of the empty model; 0 makes all rounds and asks for nothing.
        What a constant step can be promised to reach is accepted as well.

    Attributes
    ----------
    coef_, intercept_, coef_path_, intercept_path_, hypotheses_, n_active_, inputs_used_, path_hypotheses_, \
converged_, stopping_reason_, n_rounds_, certificate_scope_, n_features_in_, feature_names_in_
        As in `ForwardStagewiseRegressor`.
    objective_ : float
        The loss.
    dual_gap_ : float
        G: at most how far the loss is above the optimum.
    history_ : list of dict
        Per round, from the empty model on: round, loss, correlation ‖Xᵀr‖∞, gap, active, bound, gap_bound,
        correlation_bound, seconds. `bound` is no smaller than the loss minus the optimum; `gap_bound` and
        `correlation_bound` are no smaller than the gap and correlation of the round that had the least gap so far
        (infinite where theory promises nothing).

    References
    ----------
    Freund, Grigas & Mazumder, The First-Order View of Boosting Methods; MATH.md F4, T3.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from sparseboost import FrankWolfeLasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FrankWolfeLasso(radius=0.8, step="away").fit(scale(X), scale(y))
    >>> [int(h.feature) for h in model.hypotheses_]
    [1, 2, 3, 6, 8]
    >>> bool(model.dual_gap_ <= 1e-3 * model.history_[0]["loss"])
    True
    """

    def __init__(
        self,
        radius: float = 1.0,
        *,
        step: Literal["line-search", "2/(k+2)", "away"] | float = "line-search",
        hypotheses: str | HypothesisSpace = "features",
        fit_intercept: bool = True,
        max_rounds: int = 10_000,
        tol: float = 1e-3,
        time_budget: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.radius = radius
        self.step = step
        self.hypotheses = hypotheses
        self.fit_intercept = fit_intercept
        self.max_rounds = max_rounds
        self.tol = tol
        self.time_budget = time_budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    def _rule(self) -> Rule:
        check_number("radius", self.radius, low=0.0, strict=True)
        if isinstance(self.step, str):
            if self.step not in STEPS:
                names = ", ".join(map(repr, STEPS))
                raise ValueError(f"step must be one of {names} or a number > 0 and <= 1, got {self.step!r}.")
            return FrankWolfe(float(self.radius), self.step)
        check_number("step", self.step, low=0.0, strict=True)
        if self.step > 1:
            raise ValueError(f"step must be at most 1, got {self.step!r}.")
        return FrankWolfe(float(self.radius), float(self.step))

    def _remedy(self, reason: str) -> str:
        if reason == "stalled":
            return "raise tol"
        return f"raise {reason} or tol" + ("" if self.step == "away" else ", or use step='away'")
