"""Whatever a scikit-learn regressor or classifier can learn, as hypotheses."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree, DecisionTreeRegressor
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import has_fit_parameter

from sparseboost.hypotheses.base import (
    Array,
    Candidates,
    Context,
    Dictionary,
    DualNorm,
    Hypothesis,
    HypothesisSpace,
    Rank,
)
from sparseboost.hypotheses.blocks import choose
from sparseboost.hypotheses.columns import Columns
from sparseboost.hypotheses.directions import directions
from sparseboost.hypotheses.tree import Tree

SAME = 1e-12  # columns whose squared distance is at most this share of their size are one hypothesis
NOTHING = 1e-12  # outputs below this, from targets of size 1, are rounding
SEEDS = np.iinfo(np.int32).max


class Learned(Hypothesis):
    """The hypothesis h(x) = scale · prediction(x) of one fitted estimator; a classifier says ±1.

    Parameters
    ----------
    estimator : scikit-learn regressor or classifier
        Fitted; a classifier to the classes −1 and 1.
    scale : float
        Gives h unit size on the data it was learned from.
    number : int
        Its place in the order of learning.
    n_inputs : int
        Number of columns of X.
    name : str
        What a person reads.
    """

    def __init__(self, estimator: Any, scale: float, number: int, n_inputs: int, name: str) -> None:
        self.estimator = estimator
        self.scale = scale
        self.number = number
        self.n_inputs = n_inputs
        self.name = name

    @property
    def inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        """All inputs."""
        return tuple(range(self.n_inputs))

    def __call__(self, X: Any) -> Array:
        return self.scale * np.asarray(self.estimator.predict(X), dtype=np.float64).reshape(X.shape[0])

    def __repr__(self) -> str:
        return f"{self.name} #{self.number}"


class Learners(HypothesisSpace):
    r"""Hypotheses that a scikit-learn estimator learns from the gradient, one or a few per search.

    A regressor is fitted to −gradient with the example weights, a classifier to the signs of −gradient with its size as
    weights. With several outputs the gradient is projected on a direction first. Each hypothesis is scaled to
    Σ_i s_i h(x_i)² = 1, so that penalties compare them; the least-squares fit is then the best of its class.

    The search is a heuristic: all that was learned is kept and searched, and the certificate covers that set. With
    `feature_costs` a hypothesis costs what the inputs it looks at cost together.

    Parameters
    ----------
    estimator : scikit-learn regressor or classifier
        Cloned for every hypothesis, with a new seed drawn from the fit's `random_state`; never changed itself. Where
        `fit` takes no `sample_weight`, regressors are fitted without weights and classifiers to a weighted resample.

    References
    ----------
    MATH.md D9; G4 for the two ways of projecting a gradient on a weak learner.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sparseboost.hypotheses import Learners
    >>> from sparseboost.penalties import L1
    >>> X = np.arange(6.0)[:, None]
    >>> dictionary = Learners(KNeighborsRegressor(2)).bind(X)
    >>> found = dictionary.search(np.sin(X), L1().dual_norm, 1)
    >>> dictionary.hypothesis(found.keys[0])
    KNeighborsRegressor(n_neighbors=2) #0
    """

    def __init__(self, estimator: Any) -> None:
        if not isinstance(estimator, BaseEstimator) or not (is_regressor(estimator) or is_classifier(estimator)):
            raise TypeError(f"Learners needs a scikit-learn regressor or classifier (an object), got {estimator!r}.")
        self.estimator = estimator

    @property
    def allows_missing(self) -> bool:  # type: ignore[override]
        """Whether the estimator takes NaN."""
        return bool(get_tags(self.estimator).input_tags.allow_nan)

    def bind(self, X: Any, context: Context | None = None) -> LearnedDictionary:
        if sp.issparse(X):
            if not get_tags(self.estimator).input_tags.sparse:
                raise ValueError(f"{_one_line(self.estimator)} does not take sparse X; give a dense array.")
            X = X.tocsr()
        return LearnedDictionary(self.estimator, X, context or Context())

    def __repr__(self) -> str:
        return f"Learners({_one_line(self.estimator)})"


class Trees(Learners):
    """Regression trees learned from the gradient: `Learners` with a `DecisionTreeRegressor`.

    Parameters
    ----------
    max_depth : int or None, default=3
        Depth of each tree.
    **params
        Other parameters of the tree.

    Examples
    --------
    >>> from sparseboost.hypotheses import Trees
    >>> Trees(max_depth=2, min_samples_leaf=5)
    Trees(max_depth=2, min_samples_leaf=5)
    """

    def __init__(self, max_depth: int | None = 3, **params: Any) -> None:
        super().__init__(DecisionTreeRegressor(max_depth=max_depth, **params))
        self.max_depth = max_depth
        self.params = params

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in {"max_depth": self.max_depth, **self.params}.items())
        return f"Trees({inside})"


class LearnedDictionary(Dictionary):
    """All hypotheses learned so far, with their columns; every search learns more."""

    exact = False

    def __init__(self, estimator: Any, X: Any, context: Context) -> None:
        self.estimator = estimator
        self.X = X
        self._name = _one_line(estimator)
        m = X.shape[0]
        self.weight = np.full(m, 1.0 / m) if context.weight is None else context.weight
        self._rows = np.flatnonzero(self.weight > 0)
        self._rng = check_random_state(context.random_state)
        self._context = context
        self._learned: list[Learned | Tree] = []
        self._cost: list[float] = []
        self._energy: list[float] = []
        self._columns = np.empty((m, 8), order="F")  # grows by doubling

    @property
    def size(self) -> int:
        """How many hypotheses have been learned."""
        return len(self._learned)

    def search(
        self,
        force: Array,
        dual_norm: DualNorm,
        count: int,
        *,
        above: float = 0.0,
        exclude: Array | None = None,
        rank: Rank | None = None,
    ) -> Candidates:
        least = above * self._context.joint_cost(())
        for direction in directions(force[self._rows], self.weight[self._rows], dual_norm, max(count, 1), least):
            self._learn(-(force @ direction))
        correlation = self._held.T @ force
        violation = dual_norm(correlation) / np.array(self._cost)
        keys = choose(correlation, violation, count, above=above, exclude=exclude, rank=rank)
        return Candidates(keys, float(violation.max(initial=0.0)))

    def columns(self, keys: Array) -> Columns:
        return Columns(np.asfortranarray(self._held[:, keys]))

    def cost(self, keys: Array) -> Array:
        return np.array(self._cost)[keys]

    def hypothesis(self, key: int) -> Learned | Tree:
        return self._learned[key]

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        if not isinstance(hypothesis, Learned | Tree) or hypothesis.name != self._name:
            return None
        return self._keep(hypothesis, self._outputs(hypothesis)) if hypothesis.n_inputs == self.X.shape[1] else None

    # -- learning -----------------------------------------------------------------------------------------

    def _learn(self, signal: Array) -> None:
        """Fit one estimator to this signal per example, −(weighted gradient), and keep it if it says anything new."""
        rows = self._rows
        if is_classifier(self.estimator):
            rows = rows[signal[rows] != 0]
            target, weight = np.sign(signal[rows]), np.abs(signal[rows])
            if rows.size == 0 or np.all(target == target[0]):  # a constant is the intercept's work
                return
        else:
            weight = self.weight[rows]
            target = signal[rows] / weight
            target = target / np.sqrt(np.average(target**2, weights=weight))  # tolerances of estimators expect this
        fitted = self._fit(rows, target, weight / weight.mean())
        number = 1 + max((learned.number for learned in self._learned), default=-1)
        labels = number, self.X.shape[1], self._name
        column = self._outputs(_hypothesis(fitted, 1.0, *labels))
        size = np.sqrt(self.weight @ column**2)
        if size > NOTHING:
            self._keep(_hypothesis(fitted, 1.0 / size, *labels), column / size)

    def _fit(self, rows: Array, target: Array, weight: Array) -> Any:
        estimator = clone(self.estimator)
        seeded = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
        estimator.set_params(**{name: self._rng.randint(SEEDS) for name in sorted(seeded)})
        options = {}
        if not np.all(weight == weight[0]):
            parameter = _weight_parameter(estimator)
            if parameter is not None:
                options[parameter] = weight
            elif is_classifier(estimator):
                drawn = self._rng.choice(rows.size, rows.size, p=weight / weight.sum())
                rows, target = rows[drawn], target[drawn]
        X = self.X if np.array_equal(rows, np.arange(self.X.shape[0])) else self.X[rows]
        try:
            return estimator.fit(X, target, **options)
        except Exception as error:  # one sentence, whatever the estimator says
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ValueError(f"{self._name} could not be fitted to the gradient: {reason}") from error

    def _outputs(self, learned: Learned | Tree) -> Array:
        column = learned(self.X)
        if not np.all(np.isfinite(column)):
            raise ValueError(f"{self._name} predicts values that are not finite on its own training data.")
        return column

    def _keep(self, learned: Learned | Tree, column: Array) -> int:
        """Key of this hypothesis, which may be an old one with the same outputs."""
        energy = self.weight @ column**2
        distance = np.array(self._energy) + energy - 2.0 * ((self.weight * column) @ self._held)
        same = np.flatnonzero(distance <= SAME * energy)
        if same.size:
            return int(same[0])
        key = len(self._learned)
        if key == self._columns.shape[1]:
            self._columns = np.asfortranarray(np.hstack([self._columns, np.empty_like(self._columns)]))
        self._columns[:, key] = column
        self._learned.append(learned)
        self._energy.append(energy)
        self._cost.append(self._context.joint_cost(learned.inputs))
        return key

    @property
    def _held(self) -> Array:
        return self._columns[:, : len(self._learned)]


def _hypothesis(estimator: Any, scale: float, number: int, n_inputs: int, name: str) -> Learned | Tree:
    """What a fitted estimator says, times the scale."""
    if not isinstance(estimator, BaseDecisionTree):
        return Learned(estimator, scale, number, n_inputs, name)
    tree = estimator.tree_
    values = tree.value[:, 0, 0] if is_regressor(estimator) else estimator.classes_[tree.value[:, 0].argmax(axis=1)]
    return Tree(
        tree.feature,
        tree.threshold,
        tree.children_left,
        tree.children_right,
        scale * values,
        tree.missing_go_to_left.astype(bool),
        tree.max_depth,
        number,
        n_inputs,
        name,
    )


def _weight_parameter(estimator: Any) -> str | None:
    """What `fit` calls the weights of examples, if it takes any."""
    if not isinstance(estimator, Pipeline):
        return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
    name, last = estimator.steps[-1]
    return f"{name}__sample_weight" if has_fit_parameter(last, "sample_weight") else None


def _one_line(estimator: Any) -> str:
    return " ".join(repr(estimator).split())
