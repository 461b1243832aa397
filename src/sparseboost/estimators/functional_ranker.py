"""FunctionalBoostRanker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils.validation import check_consistent_length, column_or_1d

from sparseboost.estimators.callbacks import with_callbacks
from sparseboost.estimators.functional_base import BaseFunctionalBoost
from sparseboost.estimators.functional_losses import make_ranking_loss
from sparseboost.estimators.ranking_measures import ndcg
from sparseboost.estimators.validation import check_data
from sparseboost.losses import RankingHinge
from sparseboost.monitors import Callback

Array = np.ndarray


class FunctionalBoostRanker(BaseFunctionalBoost):
    r"""Ranker that follows subgradients of the pairwise ranking hinge in function space with weak learners.

    Lowers the mean of max(0, 1 − f(x_a) + f(x_b)) over all pairs of documents of one query in which a is more relevant
    than b. Pairs are counted by sorting, never written down.

    Parameters
    ----------
    loss : "ranking-hinge" or object, default="ranking-hinge"
        Or any object with ``value(y, score)`` and ``gradient(y, score)``; y has the columns relevance, query number and
        weight.
    algorithm, learner, step, step_size, inner, orthogonal, output, max_rounds, max_learners, validation_fraction, \
n_iter_no_change, tol, warm_start, time_budget, random_state, n_jobs, verbose, callbacks
        As in `FunctionalBoostClassifier`. Validation data are whole queries.

    Attributes
    ----------
    hypotheses_, weights_, start_, history_, n_rounds_, n_learners_, best_round_, stopping_reason_, converged_, loss_, \
n_features_in_, feature_names_in_
        As in `FunctionalBoostClassifier`.

    References
    ----------
    Grubb & Bagnell (2011), Generalized Boosting Algorithms for Convex Optimization; MATH.md G5.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost import FunctionalBoostRanker, disagreement
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
    >>> y = np.digitize(X[:, 0] + 0.1 * rng.normal(size=200), [0.0, 1.0])
    >>> model = FunctionalBoostRanker(max_rounds=50).fit(X, y, qid=qid)
    >>> bool(disagreement(y, model.predict(X), qid) < 0.05)
    True
    """

    def __init__(
        self,
        loss: Any = "ranking-hinge",
        *,
        algorithm: str = "residual",
        learner: Any = "stumps",
        step: str | float | Callable[[int], float] = "auto",
        step_size: float = 1.0,
        inner: str | int | float = "t",
        orthogonal: bool = False,
        output: str = "best",
        max_rounds: int = 200,
        max_learners: int | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        warm_start: bool = False,
        time_budget: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.loss = loss
        self.algorithm = algorithm
        self.learner = learner
        self.step = step
        self.step_size = step_size
        self.inner = inner
        self.orthogonal = orthogonal
        self.output = output
        self.max_rounds = max_rounds
        self.max_learners = max_learners
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.time_budget = time_budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    @with_callbacks
    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> FunctionalBoostRanker:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            One row per document of a query.
        y : array-like of shape (n_samples,)
            Relevance: documents of one query with a larger one should come first.
        qid : array-like of shape (n_samples,), optional
            Query of every document, in any order; all documents are one query by default.
        sample_weight : array-like of shape (n_samples,), optional
            Weights s_i ≥ 0; a pair weighs s_a · s_b.

        Returns
        -------
        FunctionalBoostRanker
            The fitted estimator.
        """
        with self._all_or_nothing():
            self._check_parameters()
            loss = make_ranking_loss(self.loss)
            X, y = check_data(self, X, y, reset=True, y_numeric=True)
            qid = np.zeros(X.shape[0], dtype=int) if qid is None else column_or_1d(qid, warn=True)
            check_consistent_length(X, y, qid)
            weight = self._weights_of(X, sample_weight)
            target = RankingHinge.targets(y, qid, weight)
            if not _any_pair(target[weight > 0]):
                raise ValueError(
                    f"y must hold two documents of one query with different relevance; there is no pair to rank among "
                    f"n_samples={X.shape[0]}."
                )
            self._solve(X, target, loss, weight)
        return self

    def _hold_out(self, target: Array, rng: np.random.RandomState) -> tuple[Array, Array]:
        if np.unique(target[:, 1]).size < 2:
            raise ValueError("Early stopping sets whole queries aside and needs at least two; pass qid.")
        split = GroupShuffleSplit(1, test_size=self.validation_fraction, random_state=rng)
        train, rest = next(split.split(target, groups=target[:, 1]))
        if not _any_pair(target[train]) or not _any_pair(target[rest]):
            raise ValueError("The training or the validation queries have no pair to rank; use more queries.")
        return train, rest

    def predict(self, X: Any) -> Array:
        """Scores to rank by: the documents of a query with the largest scores come first.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Documents.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores f(x); only their order within a query matters.
        """
        return self._decision(X)[:, 0]

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the scores of the models that a fit of 0, 1, 2, … rounds would have returned."""
        return (score[:, 0] for score in self._staged(X))

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Mean NDCG over queries.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Documents.
        y : array-like of shape (n_samples,)
            Relevance.
        qid : array-like of shape (n_samples,), optional
            Query of every document; one query by default.

        Returns
        -------
        float
            Between 0 and 1.
        """
        return ndcg(y, self.predict(X), qid)


def _any_pair(target: Array) -> bool:
    """Whether some query has two documents of different relevance."""
    rows = np.unique(target[:, :2], axis=0)
    return bool(np.unique(rows[:, 1]).size < rows.shape[0])
