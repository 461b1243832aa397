"""The estimators on a Dask cluster."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from dask import compute
from dask.utils import parse_bytes
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if

from sparseboost.dask import prepare
from sparseboost.dask.correction import GatherOrAgree
from sparseboost.dask.executor import DaskExecutor, session
from sparseboost.dask.partitions import is_lazy, lazily, partitions
from sparseboost.dask.problem import RemoteProblem
from sparseboost.estimators import MultiBoostClassifier, SparseBoostClassifier, SparseBoostRegressor
from sparseboost.estimators.base import BaseSparseBoost
from sparseboost.estimators.callbacks import with_callbacks
from sparseboost.estimators.validation import make_costs, make_penalty
from sparseboost.hypotheses import Context, Features
from sparseboost.hypotheses.stumps import Stumps
from sparseboost.penalties import Norm
from sparseboost.problem import Problem
from sparseboost.solvers import Corrector, Newton, StumpBlocks

Array = np.ndarray
OWN = ("client", "gather_limit")


def _with_own_parameters(cls: type) -> type:
    """Give the constructor the signature it has: that of the ordinary estimator, and the cluster's parameters."""
    signature = inspect.signature(cls._ordinary)  # type: ignore[attr-defined]
    own = [
        inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None),
        inspect.Parameter("gather_limit", inspect.Parameter.KEYWORD_ONLY, default="512 MiB"),
    ]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in OWN:
            setattr(self, name, kwargs.pop(name, signature_of_all.parameters[name].default))
        cls._ordinary.__init__(self, *args, **kwargs)  # type: ignore[attr-defined]

    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    signature_of_all = signature.replace(parameters=[first, *signature.parameters.values(), *own])
    __init__.__signature__ = signature_of_all  # type: ignore[attr-defined]
    cls.__init__ = __init__  # type: ignore[misc]
    return cls


class OnDask(BaseSparseBoost):
    """What the estimators on a cluster share: `fit` over blocks of rows, lazy predictions, the ordinary model inside.

    Attributes
    ----------
    client : distributed.Client or None
        The cluster.
    gather_limit : int or str
        Most bytes that the columns in use may take in this process.
    """

    client: Any
    gather_limit: int | str
    _ordinary: type[Any]

    # -- fitting --------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model where the data are.

        Parameters
        ----------
        X : dask array, dask data frame, or list of delayed blocks (arrays or sparse matrices) of rows
            Training inputs, partitioned by rows.
        y : dask array, series or data frame, list of delayed blocks, or array
            Targets, partitioned like X.
        sample_weight : like y, optional
            Weights s_i ≥ 0.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        self._check_own_parameters()
        blocks = partitions(X, y, sample_weight, type(self).__name__)
        with self._all_or_nothing(), session(self.client) as executor:
            self._solve(self._ask(executor, blocks), X, y)
            self.bytes_moved_ = {"sent": executor.sent, "received": executor.received}
        return self

    def _check_own_parameters(self) -> None:
        if not isinstance(make_penalty(self.penalty, self.positive), Norm) or not self.alpha > 0:
            raise ValueError(
                f"{type(self).__name__} needs a penalty that leaves hypotheses out: 'l1', 'l1/l2' or 'l1/linf', with a "
                f"strength above 0, not {self.penalty!r} with {self.alpha!r}."
            )
        space = self._space()
        if not isinstance(space, (Features, Stumps)) or getattr(space, "categorical_features", None) is not None:
            raise ValueError(
                f"{type(self).__name__} searches 'features' and 'stumps' of numeric inputs over blocks of rows, not "
                f"{space!r}."
            )
        for name, only in (("update", "auto"), ("template", "single"), ("corrective", True), ("blocks", 1)):
            if hasattr(self, name) and not (
                isinstance(getattr(self, name), type(only)) and getattr(self, name) == only
            ):
                raise ValueError(f"{type(self).__name__} needs {name}={only!r}, got {getattr(self, name)!r}.")
        self._limit()

    def _limit(self) -> int:
        try:
            limit = parse_bytes(self.gather_limit)
        except (TypeError, ValueError):
            limit = -1
        if limit < 0 or isinstance(self.gather_limit, bool):
            raise ValueError(
                f"gather_limit must be a number of bytes >= 0, such as '512 MiB', got {self.gather_limit!r}."
            )
        return limit

    def _ask(self, executor: DaskExecutor, blocks: list[tuple[Any, Any, Any]]) -> Problem:
        """The question of this fit, over blocks of rows on the cluster."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name not in OWN}
        plain = self._ordinary(**{**parameters, "callbacks": None})
        raw = prepare.read_all(executor, blocks, plain)
        found = executor.map(prepare.facts, raw, [is_classifier(self)] * len(raw))
        facts = prepare.agreed(found)
        table, loss, signs = self._learn(facts)
        encoding = prepare.encoding_of(facts, table, getattr(self, "class_weight", None), signs)
        names = getattr(self, "feature_names_in_", None)
        context = Context(
            feature_names=names, feature_costs=make_costs(self.feature_costs, facts.n_inputs, names), n_jobs=1
        )
        full = [handle for handle, part in zip(raw, found, strict=True) if part.n_rows]
        sizes = [part.n_rows for part in found if part.n_rows]
        ready = prepare.prepare(executor, full, sizes, facts, encoding, self._space(), context)
        penalty, dictionary = make_penalty(self.penalty, self.positive), ready.dictionary
        if self.standardize:
            dictionary = prepare.standardized(dictionary, penalty, self.fit_intercept)
        head = table[:1] if table is not None else self._head(facts, signs)
        return RemoteProblem(
            loss, penalty, float(self.alpha), dictionary, head, np.ones(1), bool(self.fit_intercept), rows=ready.rows
        )

    def _learn(self, facts: prepare.Facts) -> tuple[Array | None, Any, bool]:
        """Let the ordinary estimator see one row per label, or some rows: it learns names, classes and its loss."""
        if facts.labels is not None:
            y, signs = facts.labels, False
        elif is_classifier(self):
            y, signs = np.stack([np.zeros(facts.head.shape[1], int), np.ones(facts.head.shape[1], int)]), True
        else:
            y, signs = facts.head, False
        X: Any = np.zeros((len(y), facts.n_inputs))
        if facts.names is not None:
            import pandas as pd

            X = pd.DataFrame(X, columns=facts.names)
        _, target, loss, _ = self._encode(X, y, reset=True)
        return target if facts.labels is not None else None, loss, signs

    @staticmethod
    def _head(facts: prepare.Facts, signs: bool) -> Array:
        head = facts.head[:1].reshape(1, -1).astype(float)
        return np.ones_like(head) if signs else head

    def _corrector(self, problem: Problem) -> Corrector:
        assert isinstance(problem, RemoteProblem)
        assert problem.rows is not None
        limit = 0 if getattr(self, "solver", "auto") == "admm" else self._limit()

        def make() -> Corrector:
            found = super(OnDask, self)._corrector(problem)
            return Newton() if isinstance(found, StumpBlocks) else found  # columns are gathered, not codes

        return GatherOrAgree(make, problem.rows, limit)

    # -- using a fitted model -------------------------------------------------------------------------------

    def to_local(self) -> Any:
        """The ordinary estimator with the same parameters and, if there is one, the same fit."""
        parameters = self.get_params(deep=False)
        model = self._ordinary(**{name: value for name, value in parameters.items() if name not in OWN})
        vars(model).update({name: value for name, value in vars(self).items() if name not in parameters})
        return model

    def predict(self, X: Any) -> Any:
        """What the ordinary estimator predicts; lazily for Dask collections."""
        return self._where("predict", X)

    def decision_function(self, X: Any) -> Any:
        """Scores of the ordinary estimator; lazily for Dask collections."""
        return self._where("decision_function", X)

    def transform(self, X: Any) -> Any:
        """The selected inputs; lazily for Dask collections."""
        return self._where("transform", X)

    def _where(self, method: str, X: Any) -> Any:
        model = self.to_local()
        return lazily(model, method, X) if is_lazy(X) else getattr(model, method)(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, or R² of a regressor.

        Parameters
        ----------
        X, y, sample_weight
            Collections as in `fit`, or arrays.

        Returns
        -------
        float
            The score over all rows.
        """
        parts = compute(y, self.predict(X), sample_weight)
        true, found, weight = (
            np.concatenate([np.asarray(block) for block in part]) if isinstance(part, (list, tuple)) else part
            for part in parts
        )
        return float((accuracy_score if is_classifier(self) else r2_score)(true, found, sample_weight=weight))

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return {**state, "client": None}  # a connection belongs to its process

    def __sklearn_clone__(self) -> Any:
        parameters = self.get_params(deep=False)
        fresh = {name: clone(value, safe=False) for name, value in parameters.items() if name != "client"}
        return type(self)(**fresh, client=self.client)


def _local_method(name: str) -> Callable[[Any], bool]:
    return lambda model: hasattr(model.to_local(), name)


class _Probabilities(OnDask):
    @available_if(_local_method("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of the ordinary estimator; lazily for Dask collections."""
        return self._where("predict_proba", X)


DESCRIPTION = """

    The parameters and the fitted attributes are those of `{ordinary}`, and these.

    Parameters
    ----------
    client : distributed.Client, optional
        The cluster; by default the current client, or a local cluster for the time of the fit.
    gather_limit : int or str, default="512 MiB"
        While the columns in use take at most this many bytes, they are gathered and corrected by the ordinary solver;
        beyond that by consensus ADMM over the blocks (P5), where only sums travel.

    Attributes
    ----------
    bytes_moved_ : dict
        Bytes of arguments sent to the cluster and of results received from it.

    References
    ----------
    MATH.md P5, T3.
    """


@_with_own_parameters
class DaskSparseBoostClassifier(_Probabilities, SparseBoostClassifier):
    """`SparseBoostClassifier` over blocks of rows on a Dask cluster; the certificate is exact over all rows."""

    __doc__ = (__doc__ or "") + DESCRIPTION.format(ordinary="SparseBoostClassifier")
    _ordinary = SparseBoostClassifier


@_with_own_parameters
class DaskSparseBoostRegressor(OnDask, SparseBoostRegressor):
    """`SparseBoostRegressor` over blocks of rows on a Dask cluster; the certificate is exact over all rows."""

    __doc__ = (__doc__ or "") + DESCRIPTION.format(ordinary="SparseBoostRegressor")
    _ordinary = SparseBoostRegressor


@_with_own_parameters
class DaskMultiBoostClassifier(_Probabilities, MultiBoostClassifier):
    """`MultiBoostClassifier` over blocks of rows on a Dask cluster; the certificate is exact over all rows."""

    __doc__ = (__doc__ or "") + DESCRIPTION.format(ordinary="MultiBoostClassifier")
    _ordinary = MultiBoostClassifier
