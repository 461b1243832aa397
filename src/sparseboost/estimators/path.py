"""The whole regularisation path: one model per alpha, each certified, each started from the one before."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from sparseboost.ensemble import Stage
from sparseboost.estimators.measures import estimator_for
from sparseboost.estimators.validation import check_number
from sparseboost.estimators.walk import walk
from sparseboost.hypotheses import Enumerable, FeatureDictionary, Hypothesis, evaluate
from sparseboost.losses import Loss
from sparseboost.monitors import Monitor
from sparseboost.problem import Problem
from sparseboost.solvers import Boosting
from sparseboost.threads import one_blas_thread

Array = np.ndarray
MOST_SCORES = 1_000_000  # that are computed at a time


@dataclass(frozen=True, eq=False)
class SparsePath:
    """Models along a decreasing sequence of alphas, as `sparse_boost_path` returns them.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths of the penalty, decreasing.
    entries : tuple of ndarray
        (data, indices, indptr) of `weights`.
    n_features : int
        Number of inputs; of other hypotheses than features, those that any model of the path uses.
    intercepts : ndarray of shape (n_alphas, n_outputs)
        Intercepts.
    objectives, dual_gaps : ndarray of shape (n_alphas,)
        Objective at each alpha, and how far above the optimum it can be at most.
    n_active, n_rounds : ndarray of shape (n_alphas,)
        Inputs used, and rounds spent, at each alpha.
    converged : ndarray of shape (n_alphas,)
        Where the wanted gap was reached.
    seconds : ndarray of shape (n_alphas,)
        Time spent at each alpha.
    hypotheses : tuple
        What the columns of `weights` belong to; empty if they are the inputs themselves.
    over_features : bool
        Whether the columns of `weights` are the inputs themselves.
    """

    alphas: Array
    entries: tuple[Array, Array, Array]
    n_features: int
    intercepts: Array
    objectives: Array
    dual_gaps: Array
    n_active: Array
    converged: Array
    n_rounds: Array
    seconds: Array
    hypotheses: tuple[Hypothesis, ...] = ()
    over_features: bool = True

    @property
    def weights(self) -> Any:
        """All coefficients, the outputs of one alpha after the other: a CSR array, the compact form of `coefs`."""
        return sp.csr_array(self.entries, shape=(self.entries[2].size - 1, self.n_features))

    @property
    def n_outputs(self) -> int:
        """Scores per example."""
        return int(self.intercepts.shape[1])

    @property
    def coefs(self) -> Array:
        """All coefficients as a dense array of shape (n_alphas, n_outputs, n_features)."""
        return self.weights.toarray().reshape(self.alphas.size, self.n_outputs, -1)

    def coef(self, index: int) -> Array:
        """Coefficients at one alpha, shape (n_outputs, n_features)."""
        k = self.n_outputs
        first = range(self.alphas.size)[index] * k
        return self.weights[first : first + k].toarray()

    @property
    def features(self) -> Array:
        """Columns of `weights` that any model of the path uses, in their order."""
        return np.unique(self.entries[1])

    def scores(self, X: Any, rows: Array | None = None) -> Iterator[Array]:
        """Yield the scores of one alpha after the other on new data, each of shape (n_samples, n_outputs).

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            Data with the columns of the fit; only the columns in `features` are read.
        rows : array, optional
            Which samples; all by default.
        """
        used, k = self.features, self.n_outputs
        X = X.tocsr() if sp.issparse(X) and X.format == "coo" else X
        if self.over_features:
            part = X[:, used] if rows is None or sp.issparse(X) else X[np.ix_(rows, used)]
            part = part.tocsr() if sp.issparse(part) else np.asarray(part, dtype=np.float64)
            part = part[rows] if rows is not None and sp.issparse(part) else part
        else:
            part = evaluate([self.hypotheses[j] for j in used], X if rows is None else X[rows])
            part = part.tocsr() if sp.issparse(part) else np.asarray(part, dtype=np.float64)
        compact, together = self.weights[:, used].toarray(), max(1, MOST_SCORES // max(1, part.shape[0] * k))
        for first in range(0, len(self), together):
            some = self.intercepts[first : first + together]
            block = np.asarray(part @ compact[first * k : (first + together) * k].T)
            yield from (block[:, i * k : (i + 1) * k] + intercept for i, intercept in enumerate(some))

    def decision(self, X: Any) -> Array:
        """Scores of all alphas on new data.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            Data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_alphas, n_samples, n_outputs)
            b + Σ_j W_j x_j at every alpha.
        """
        return np.stack(list(self.scores(X)))

    def __len__(self) -> int:
        return int(self.alphas.size)


def sparse_boost_path(
    X: Any,
    y: Any,
    *,
    alphas: Any = 100,
    eps: float | Literal["auto"] = "auto",
    loss: str | Loss | None = None,
    penalty: Any = "l1/l2",
    sample_weight: Any = None,
    **parameters: Any,
) -> SparsePath:
    """Fit a model at every alpha of a decreasing sequence, each started from the one before.

    Every model is certified like a single fit: its gap is at most `tol` times the objective of the empty model.
    Hypotheses that are likely to matter enter ahead of time, and the pass over all hypotheses that certifies several
    models at once finds those that were missed.

    Parameters
    ----------
    X, y, sample_weight
        As in `SparseBoostClassifier.fit` or `SparseBoostRegressor.fit`.
    alphas : int or array-like, default=100
        How many values, geometric from `alpha_max` down to eps times it; or the values, in any order.
    eps : float or "auto", default="auto"
        Smallest alpha over the largest; "auto" is 1e-3, and 1e-2 with fewer examples than inputs.
    loss : str or Loss, optional
        A classification loss asks for the classifier, a regression loss for the regressor. By default the logistic
        loss for discrete y and the squared loss for continuous y; floats with more than two values are continuous.
    penalty : str or Penalty, default="l1/l2"
        As in the estimators; those that never zero a row need `alphas` as values.
    **parameters
        Further parameters of the estimator. `max_rounds` holds for each alpha, `time_budget` for the whole path.

    Returns
    -------
    SparsePath
        Weights, objectives, certificates and times at every alpha.

    References
    ----------
    MATH.md T3, T5. Tibshirani et al. (2012), Strong rules for discarding predictors in lasso-type problems.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseboost import sparse_boost_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = sparse_boost_path(X, y, alphas=5)
    >>> path.coefs.shape, [int(n) for n in path.n_active]
    ((5, 1, 10), [0, 4, 7, 9, 10])
    """
    estimator = estimator_for(y, loss, penalty=penalty, **parameters)
    problem = estimator._problem(X, y, sample_weight)
    grid = make_alphas(problem, alphas, eps)
    monitor = Monitor(estimator.time_budget, int(estimator.verbose), list(estimator.callbacks or []))
    try:
        path = make_path(problem, estimator._boosting(problem), grid, estimator.tol, estimator.max_rounds, monitor)
    finally:
        monitor.close()
    warn_unconverged("sparse_boost_path", [path], stacklevel=3)
    return path


def warn_unconverged(name: str, paths: list[SparsePath], stacklevel: int = 2) -> None:
    """Warn once about all models that missed their gap."""
    missed = sum(int(np.sum(~path.converged)) for path in paths)
    if missed:
        worst = max(float(path.dual_gaps[~path.converged].max(initial=0.0)) for path in paths)
        warnings.warn(
            f"{name}: {missed} of {sum(map(len, paths))} models along the path stopped before their target gap (the "
            f"widest gap is {worst:.2g}); raise max_rounds, time_budget, tol or eps.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )


def make_alphas(problem: Problem, alphas: Any, eps: float | str) -> Array:
    """The given alphas in decreasing order, or a geometric grid below the largest useful one."""
    if isinstance(alphas, (int, np.integer)):  # a bool is refused by the check
        check_number("alphas", alphas, low=1, integer=True)
        return _grid(problem, int(alphas), eps)
    try:
        given = np.asarray(alphas, dtype=float)
    except (TypeError, ValueError):
        given = np.array([np.nan])
    if given.ndim != 1 or given.size == 0 or not np.all(np.isfinite(given)) or np.any(given < 0):
        raise ValueError(f"alphas must be an integer >= 1 or a list of finite numbers >= 0, got {alphas!r}.")
    return np.sort(given)[::-1].copy()


def _grid(problem: Problem, count: int, eps: float | str) -> Array:
    if not problem.penalty.zeroes_blocks:
        raise ValueError(
            f"alphas must be a list of values for penalty {problem.penalty!r}, which never empties the model and so "
            f"has no largest alpha to count down from."
        )
    if isinstance(eps, str):
        if eps != "auto":
            raise ValueError(f"eps must be 'auto' or a number between 0 and 1, got {eps!r}.")
        many = not isinstance(problem.dictionary, Enumerable) or problem.y.shape[0] < problem.dictionary.size
        eps = 1e-2 if many else 1e-3
    check_number("eps", eps, low=0.0, strict=True)
    if eps >= 1.0:
        raise ValueError(f"eps must be 'auto' or a number between 0 and 1, got {eps!r}.")
    largest = max(problem.largest_alpha, float(np.finfo(float).resolution))
    grid = largest * np.geomspace(1.0, eps, count)
    grid[0] = largest
    return grid


def make_path(
    problem: Problem, solver: Boosting, alphas: Array, tol: float, max_rounds: int, monitor: Monitor
) -> SparsePath:
    """Solve the problem at every alpha, from the largest down."""
    with one_blas_thread():
        points = list(walk(problem, solver, alphas, tol, max_rounds, monitor))
    entries = _stack([point.stage for point in points])
    hypotheses: tuple[Hypothesis, ...] = ()
    if isinstance(problem.dictionary, FeatureDictionary):
        size = problem.dictionary.size
    else:
        met, places = np.unique(entries[1], return_inverse=True)
        hypotheses = tuple(problem.dictionary.hypothesis(int(key)) for key in met)
        entries, size = (entries[0], places, entries[2]), met.size
    return SparsePath(
        alphas=np.asarray(alphas, dtype=float),
        entries=entries,
        n_features=size,
        intercepts=np.array([point.stage[2] for point in points]),
        objectives=np.array([point.objective for point in points]),
        dual_gaps=np.array([point.gap for point in points]),
        n_active=np.array([int(np.any(point.stage[1] != 0, axis=1).sum()) for point in points]),
        converged=np.array([point.converged for point in points]),
        n_rounds=np.array([point.rounds for point in points]),
        seconds=np.array([point.seconds for point in points]),
        hypotheses=hypotheses,
        over_features=isinstance(problem.dictionary, FeatureDictionary),
    )


def _stack(stages: list[Stage]) -> tuple[Array, Array, Array]:
    """Rows of weights of all stages as (data, indices, indptr), outputs of one stage after the other."""
    data, indices, lengths = [], [], [0]
    for keys, coef, _ in stages:
        order = np.argsort(keys)
        for output in coef[order].T:
            used = np.flatnonzero(output)
            data.append(output[used])
            indices.append(keys[order][used])
            lengths.append(used.size)
    return np.concatenate(data), np.concatenate(indices), np.cumsum(lengths)
