"""What the estimators that choose alpha share: folds, scores, routing of metadata, and the fit at the chosen alpha."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import BACKENDS, get_active_backend
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _routing_enabled, process_routing
from sklearn.utils.validation import check_is_fitted

from sparseboost.ensemble import Stage
from sparseboost.estimators.base import BaseSparseBoost
from sparseboost.estimators.callbacks import with_callbacks
from sparseboost.estimators.jobs import Job, Lent, do_all, keep_memory, lend
from sparseboost.estimators.model_choice import (
    choose,
    cv_results,
    ebic_results,
    held_out_scores,
    take_rows,
    takes_sample_weight,
)
from sparseboost.estimators.path import SparsePath, make_alphas, make_path, warn_unconverged
from sparseboost.estimators.validation import check_choice, check_number
from sparseboost.estimators.walk import at
from sparseboost.hypotheses import Enumerable, FeatureDictionary
from sparseboost.losses import Loss
from sparseboost.monitors import Monitor
from sparseboost.problem import Problem
from sparseboost.threads import one_blas_thread

Array = np.ndarray
Encoded = tuple[Any, Array, Loss, Array]
ROUGH, ROUGHEST = 10.0, 1e-3  # paths of folds are solved to so many times tol, which may not make it more than this
WORTH_PROCESSES = 1e8  # entries of X times outputs, alphas and folds


class ChoosesAlpha(BaseSparseBoost):
    """What the two estimators that choose alpha share; it stands before the plain estimator among their bases."""

    alphas: int | Sequence[float] | Array
    eps: float | Literal["auto"]
    cv: Any
    scoring: Any
    rule: str
    criterion: str
    gamma: float

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """The chosen alpha, under the name it has in the plain estimator."""
        check_is_fitted(self, "alpha_")
        return self.alpha_

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Choose alpha and fit the model there.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, as in the plain estimator.
        sample_weight : array-like of shape (n_samples,), optional
            Weights s_i ≥ 0, of the fits and of the default score; also given to scorers that take them (with metadata
            routing, to those that ask for them).
        **params
            `groups` for grouped splitters; with metadata routing, whatever the splitter and the scorer ask for.

        Returns
        -------
        object
            The fitted estimator.
        """
        with self._all_or_nothing():
            self._choose(X, y, sample_weight, params)
        return self

    def _choose(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> None:
        check_choice("rule", self.rule, ("min", "1se"))
        check_choice("criterion", self.criterion, ("cv", "ebic"))
        check_number("gamma", self.gamma, low=0.0)
        self.alpha_ = 1.0  # a stand-in until alpha is chosen
        encoded = self._encode_weighted(X, y, sample_weight)
        problem = self._pose(*encoded)
        self.alphas_ = make_alphas(problem, self.alphas, self.eps)
        routed = self._route(sample_weight, params)
        if self.criterion == "ebic":
            if not isinstance(problem.dictionary, Enumerable):
                raise ValueError("criterion='ebic' needs a space that can be counted, such as features; use 'cv' here.")
            self.path_ = self._path(problem)
            size = float(encoded[0].shape[0] if sample_weight is None else np.sum(np.asarray(sample_weight)))
            self.cv_results_ = ebic_results(self.path_, encoded[0], problem, size, self.gamma)
            self.best_index_ = int(np.argmin(self.cv_results_["ebic"]))
        else:
            self.path_, self.cv_results_ = self._validate(problem, encoded, X, y, routed)
            self.best_index_ = choose(self.cv_results_, self.rule)
        self.alpha_ = float(self.alphas_[self.best_index_])
        self._solve(at(problem, self.alpha_), X, y)

    # -- cross-validation -------------------------------------------------------------------------------------

    def _validate(
        self, problem: Problem, encoded: Encoded, X: Any, y: Any, routed: dict[str, dict[str, Any]]
    ) -> tuple[SparsePath, dict[str, Array]]:
        """The path on all examples, and the scores of the paths that left some out."""
        labels = y.toarray() if sp.issparse(y) else np.asarray(y)
        labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        splitter = check_cv(self.cv, labels, classifier=is_classifier(self))
        # scikit-learn's own splitters look at the number of examples only, but would store them by rows
        seen = np.empty(len(labels)) if type(splitter).__module__ == KFold.__module__ else encoded[0]
        splits = list(splitter.split(seen, labels, **routed["split"]))
        if not splits:
            raise ValueError("cv gave no splits; it must give at least one pair of training and test examples.")
        for number, (train, _) in enumerate(splits):
            self._check_split(number, encoded[1][train], encoded[3][train])
        dictionary = problem.dictionary
        if isinstance(dictionary, FeatureDictionary):  # what the whole path needs anyway is handed over once
            encoded = (dictionary.X, *encoded[1:])
        scorer = self._scorer()
        raw = indexable(X, y) if scorer is not None else None
        worker, helpers = self._worker(), self._helpers(encoded, len(splits))
        _, *rest = encoded
        # the path on all examples is one job more; BLAS keeps to one thread so that bits do not depend on n_jobs
        with one_blas_thread(), lend(encoded[0], raw, in_file=helpers > 0) as lent:
            jobs: list[Job] = [partial(worker._whole, problem)]
            jobs += [partial(worker._fold, lent, rest, train, test, scorer, routed["score"]) for train, test in splits]
            if helpers:
                whole, *folds = do_all(jobs, helpers)
            else:
                whole, *folds = Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(job)() for job in jobs)
        paths = [path for path, _ in folds]
        warn_unconverged(type(self).__name__, [whole, *paths], stacklevel=6)
        scores = np.array([score for _, score in folds])
        return whole, cv_results(self.alphas_, scores, np.array([path.n_active for path in paths]))

    def _worker(self) -> ChoosesAlpha:
        """The estimator as jobs need it: one thread each, and no callbacks, which see the final fit only."""
        worker = copy.copy(self)
        worker.n_jobs, worker.callbacks = 1, None
        if isinstance(self.random_state, np.random.RandomState):  # jobs would draw from it in any order
            worker.random_state = int(self.random_state.randint(np.iinfo(np.int32).max))
        if hasattr(worker, "_skl_callbacks"):
            del worker._skl_callbacks
        return worker

    def _helpers(self, encoded: Encoded, n_splits: int) -> int:
        """How many processes take part; none where threads do, or whatever `joblib.parallel_config` asks for.

        Threads share the interpreter, which half of a path waits for; processes take a second or two to start.
        """
        backend, _ = get_active_backend(prefer="processes")
        X, target, loss, _ = encoded
        entries = (X.nnz if sp.issparse(X) else X.size) * loss.n_outputs(target)
        if type(backend) is not BACKENDS.get("loky") or entries * n_splits * self.alphas_.size <= WORTH_PROCESSES:
            return 0
        return min(effective_n_jobs(self.n_jobs) - 1, n_splits)

    def _whole(self, problem: Problem) -> SparsePath:
        with one_blas_thread():
            return self._path(problem)

    def _fold(
        self, lent: Lent, rest: list[Any], train: Array, test: Array, scorer: Any, score_params: dict[str, Any]
    ) -> tuple[SparsePath, Array]:
        """The path on some examples, and its scores on others."""
        keep_memory()
        (X, raw), (target, loss, weight) = lent.values, rest
        with one_blas_thread():
            tol = max(self.tol, min(ROUGH * self.tol, ROUGHEST))
            path = self._path(self._pose(take_rows(X, train), target[train], loss, weight[train]), tol)
            if scorer is None:
                return path, held_out_scores(path, X, test, target[test], weight[test], loss)
            parts = [_safe_indexing(part, test) for part in raw]
            given = {name: _take(value, test, X.shape[0]) for name, value in score_params.items()}
            models = (self._model(path, index) for index in range(len(path)))
            return path, np.array([float(scorer(model, *parts, **given)) for model in models])

    def _path(self, problem: Problem, tol: float | None = None) -> SparsePath:
        tol, monitor = self.tol if tol is None else tol, Monitor(self.time_budget)
        return make_path(problem, self._boosting(problem), self.alphas_, tol, self.max_rounds, monitor)

    def _model(self, path: SparsePath, index: int) -> Any:
        """One model of a path, fitted as far as scorers need it."""
        model = copy.copy(self)
        model.alpha_, model.coef_ = float(path.alphas[index]), path.coef(index)
        model.intercept_ = path.intercepts[index]
        model._over_features, model.hypotheses_ = path.over_features, list(path.hypotheses)
        return model

    def _warm(self, problem: Problem) -> Stage:
        """The path's model at the chosen alpha: where it has its gap, nothing is left to do but to certify it."""
        return self._model(self.path_, self.best_index_)._adopted(problem)

    def _check_split(self, number: int, target: Array, weight: Array) -> None:
        """Raise unless a model can be trained on these targets."""
        if not np.any(weight > 0):
            raise ValueError(f"Split {number} of cv trains on no example with a positive weight.")

    # -- routing ----------------------------------------------------------------------------------------------

    def _scorer(self) -> Any:
        if self.scoring is None:
            return None
        if not (isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(f"scoring must be None, the name of a scorer or a function, got {self.scoring!r}.")
        return check_scoring(self, scoring=self.scoring)

    def _route(self, sample_weight: Any, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """What the splitter and the scorer are given."""
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return {"split": routed["splitter"]["split"], "score": routed["scorer"]["score"] if self.scoring else {}}
        unknown = sorted(set(params) - {"groups"})
        if unknown:
            raise TypeError(
                f"fit takes sample_weight and groups, not {unknown[0]!r}; other metadata needs "
                f"sklearn.set_config(enable_metadata_routing=True)."
            )
        weighted = self.scoring is not None and sample_weight is not None and takes_sample_weight(self._scorer())
        return {
            "split": {"groups": params["groups"]} if params.get("groups") is not None else {},
            "score": {"sample_weight": np.asarray(sample_weight)} if weighted else {},
        }

    def get_metadata_routing(self) -> MetadataRouter:
        """How metadata given to `fit` reaches the splitter and the scorer.

        Returns
        -------
        MetadataRouter
            As in scikit-learn.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
        if self.scoring is not None:
            router.add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score"))
        return router


def _take(value: Any, rows: Array, length: int) -> Any:
    """The rows of metadata that has one entry per example; anything else as it is."""
    per_example = hasattr(value, "__len__") and len(value) == length and not isinstance(value, (str, bytes, dict))
    return _safe_indexing(value, rows) if per_example else value
