"""SparseBoostClassifierCV and SparseBoostRegressorCV: the plain estimators with alpha chosen from a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from sparseboost.estimators.classifier import SparseBoostClassifier
from sparseboost.estimators.cv_base import ChoosesAlpha
from sparseboost.estimators.regressor import SparseBoostRegressor
from sparseboost.hypotheses import HypothesisSpace
from sparseboost.losses import Loss
from sparseboost.monitors import Callback
from sparseboost.penalties import Penalty

Array = np.ndarray


def _assign(estimator: Any, arguments: dict[str, Any]) -> None:
    """Keep constructor arguments as they are."""
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


class SparseBoostClassifierCV(ChoosesAlpha, SparseBoostClassifier):
    r"""`SparseBoostClassifier` with alpha chosen by cross-validation or by EBIC.

    One grid of alphas, from all examples, is walked down on every training part; the alpha whose models score best on
    the held-out parts is chosen, and the fitted model is the one that the path on all examples has there.

    Parameters
    ----------
    alphas : int or array-like, default=100
        How many values, geometric from `alpha_max` down to eps times it; or the values.
    eps : float or "auto", default="auto"
        Smallest alpha over the largest; "auto" is 1e-3, and 1e-2 with fewer examples than inputs.
    cv : int, splitter or iterable of splits, optional
        As in scikit-learn; by default five folds, stratified for classes.
    scoring : str or callable, optional
        A scorer of scikit-learn. By default minus the mean loss of the held-out examples, with their sample and class
        weights.
    rule : {"min", "1se"}, default="min"
        The alpha with the best mean score; or the largest whose mean score is within one standard error of it.
    criterion : {"cv", "ebic"}, default="cv"
        Cross-validation; or the extended Bayesian information criterion of the models on all examples, without folds:
        2·n·(mean loss) + (log n + 2·gamma·log p)·df, df being the number of weights that are not zero. For the squared
        loss the first term is n·k·log(RSS / (n·k)), k being the number of outputs.
    gamma : float, default=0.5
        The γ of EBIC; 0 is BIC.
    penalty, loss, hypotheses, update, template, induce, corrective, positive, feature_costs, fit_intercept, \
standardize, class_weight, max_rounds, max_features, tol, warm_start, random_state, verbose, callbacks
        As in `SparseBoostClassifier`; `verbose` and `callbacks` see the final fit, which starts from the path's model
        and mostly has nothing left to do but to certify it. Models of folds are solved to ten times `tol`, but to no
        more than 1e-3 unless `tol` is: scores of held-out examples do not show more.
    time_budget : float, optional
        Seconds after which a path stops improving its models, for each path and for the final fit.
    n_jobs : int or None, default=None
        Folds walked at a time: in threads, or where there is much to do by this process and others that help it
        (`joblib.parallel_config("threading")` does without). Results do not depend on it.

    Attributes
    ----------
    alpha_ : float
        The chosen alpha.
    alphas_ : ndarray of shape (n_alphas,)
        All alphas, decreasing.
    best_index_ : int
        Where `alpha_` stands in `alphas_`.
    path_ : SparsePath
        The models at all alphas on all examples.
    cv_results_ : dict of ndarray
        "alphas", "mean_test_score", "std_test_score", "se" (standard error of the mean), "split0_test_score" ..., and
        "mean_n_active"; with EBIC "alphas", "ebic", "df" and "n_active".
    coef_, intercept_, classes_, hypotheses_, n_active_, objective_, dual_gap_, converged_, stopping_reason_, \
solver_, n_rounds_, history_, n_features_in_, feature_names_in_
        As in `SparseBoostClassifier`, of the model at `alpha_`.

    References
    ----------
    MATH.md D1–D13, T3, T5. Chen & Chen (2008), Extended Bayesian information criteria.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sparseboost import SparseBoostClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseBoostClassifierCV(alphas=10, rule="1se").fit(scale(X), y)
    >>> best = model.cv_results_["mean_test_score"].argmax()
    >>> bool(model.alpha_ >= model.alphas_[best])
    True
    """

    def __init__(
        self,
        *,
        alphas: int | Sequence[float] | Array = 100,
        eps: float | Literal["auto"] = "auto",
        cv: Any = None,
        scoring: Any = None,
        rule: str = "min",
        criterion: str = "cv",
        gamma: float = 0.5,
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
        _assign(self, locals())

    def _check_split(self, number: int, target: Array, weight: Array) -> None:
        super()._check_split(number, target, weight)
        if self._multilabel:
            return
        codes = np.array([-1.0, 1.0]) if self.classes_.size == 2 else np.arange(self.classes_.size)
        missing = np.isin(codes, target[weight > 0], invert=True)
        if np.any(missing):
            raise ValueError(
                f"Split {number} of cv trains on no example of class {self.classes_[missing].tolist()[0]!r}; use fewer "
                f"folds, stratified ones, or more examples of that class."
            )


class SparseBoostRegressorCV(ChoosesAlpha, SparseBoostRegressor):
    r"""`SparseBoostRegressor` with alpha chosen by cross-validation or by EBIC.

    Parameters
    ----------
    alphas, eps, cv, scoring, rule, criterion, gamma, time_budget, n_jobs
        As in `SparseBoostClassifierCV`; the default folds are not stratified.
    penalty, loss, hypotheses, update, template, induce, corrective, positive, feature_costs, fit_intercept, \
standardize, max_rounds, max_features, tol, warm_start, random_state, verbose, callbacks
        As in `SparseBoostRegressor`; `verbose` and `callbacks` see the final fit, and `tol` is that of
        `SparseBoostClassifierCV`.

    Attributes
    ----------
    alpha_, alphas_, best_index_, path_, cv_results_
        As in `SparseBoostClassifierCV`.
    coef_, intercept_, hypotheses_, n_active_, objective_, dual_gap_, converged_, stopping_reason_, solver_, \
n_rounds_, history_, n_features_in_, feature_names_in_
        As in `SparseBoostRegressor`, of the model at `alpha_`.

    References
    ----------
    MATH.md D12, T3, T5.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseboost import SparseBoostRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SparseBoostRegressorCV(alphas=20, criterion="ebic").fit(X, y)
    >>> [int(h.feature) for h in model.hypotheses_]
    [1, 2, 3, 4, 6, 8, 9]
    """

    def __init__(
        self,
        *,
        alphas: int | Sequence[float] | Array = 100,
        eps: float | Literal["auto"] = "auto",
        cv: Any = None,
        scoring: Any = None,
        rule: str = "min",
        criterion: str = "cv",
        gamma: float = 0.5,
        penalty: str | Penalty | None = "l1/l2",
        loss: str | Loss = "squared",
        hypotheses: str | HypothesisSpace = "features",
        update: str = "auto",
        template: str | Array = "single",
        induce: int | Literal["auto"] = "auto",
        corrective: bool | Literal["alternate"] = True,
        positive: bool = False,
        feature_costs: Array | Mapping[str, float] | None = None,
        fit_intercept: bool = True,
        standardize: bool = False,
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
        _assign(self, locals())
