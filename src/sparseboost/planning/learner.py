"""CostMapLearner: learns what walking costs from paths that somebody walked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from sparseboost.estimators.callbacks import with_callbacks
from sparseboost.estimators.functional_base import BaseFunctionalBoost
from sparseboost.estimators.validation import check_data, check_number
from sparseboost.monitors import Callback
from sparseboost.planning.demonstrations import Demonstration
from sparseboost.planning.grid import Array, GridWorld
from sparseboost.planning.loss import MaximumMarginPlanning


class CostMapLearner(BaseFunctionalBoost):
    r"""Cost of a state as a function of its features, learned so that demonstrated paths are the cheapest ones.

    Follows subgradients of the maximum-margin planning loss in function space: costs rise where the loss-augmented
    planner goes and the demonstration does not, and fall where it is the other way round.

    Parameters
    ----------
    margin, horizon : float
        Of `MaximumMarginPlanning`.
    floor : float, default=0.01
        Predicted costs are never smaller, so that a cheapest path exists.
    algorithm, learner, step, step_size, inner, orthogonal, output, max_rounds, max_learners, validation_fraction, \
n_iter_no_change, tol, warm_start, time_budget, random_state, n_jobs, verbose, callbacks
        As in `FunctionalBoostClassifier`. Validation data are whole demonstrations.

    Attributes
    ----------
    hypotheses_, weights_, start_, history_, n_rounds_, n_learners_, best_round_, stopping_reason_, converged_, loss_, \
n_features_in_
        As in `FunctionalBoostClassifier`.

    References
    ----------
    Grubb & Bagnell (2011), section 5; MATH.md G5 (maximum-margin planning).

    Examples
    --------
    >>> from sparseboost.planning import CostMapLearner, random_demonstrations
    >>> demonstrations, _ = random_demonstrations(4, shape=(8, 8), random_state=0)
    >>> model = CostMapLearner(max_rounds=30).fit(demonstrations)
    >>> one = demonstrations[0]
    >>> path = model.plan(one.world, one.start, one.goal)
    >>> bool(path[0] == one.start and path[-1] == one.goal)
    True
    """

    def __init__(
        self,
        margin: float = 1.0,
        *,
        horizon: float = 2.0,
        floor: float = 0.01,
        algorithm: str = "residual",
        learner: Any = "stumps",
        step: str | float | Callable[[int], float] = "auto",
        step_size: float = 1.0,
        inner: str | int | float = "t",
        orthogonal: bool = False,
        output: str = "best",
        max_rounds: int = 100,
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
        self.margin = margin
        self.horizon = horizon
        self.floor = floor
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
    def fit(self, X: Sequence[Demonstration], y: None = None) -> CostMapLearner:
        """Learn from demonstrations.

        Parameters
        ----------
        X : sequence of Demonstration
            Paths and the worlds they were walked in, all with the same features.
        y : None
            Not used.

        Returns
        -------
        CostMapLearner
            The fitted learner.
        """
        with self._all_or_nothing():
            self._check_parameters()
            check_number("floor", self.floor, low=0.0, strict=True)
            loss = self._loss(X)
            features = check_data(self, loss.features(), reset=True)
            self._solve(features, loss.targets(), loss, np.ones(features.shape[0]))
            self.loss_ = MaximumMarginPlanning.__name__  # the object holds all demonstrations
        return self

    def _loss(self, demonstrations: Any) -> MaximumMarginPlanning:
        if isinstance(demonstrations, Demonstration) or not all(isinstance(d, Demonstration) for d in demonstrations):
            raise TypeError("CostMapLearner.fit takes a list of Demonstration objects; see sparseboost.planning.")
        return MaximumMarginPlanning(demonstrations, self.margin, self.horizon)

    def _hold_out(self, target: Array, rng: np.random.RandomState) -> tuple[Array, Array]:
        numbers = np.unique(target[:, 0])
        if numbers.size < 2:
            raise ValueError("Early stopping sets whole demonstrations aside and needs at least two.")
        train, rest = train_test_split(numbers, test_size=self.validation_fraction, random_state=rng)
        return np.flatnonzero(np.isin(target[:, 0], train)), np.flatnonzero(np.isin(target[:, 0], rest))

    def predict(self, X: Any) -> Array:
        """Positive costs of states with these features.

        Parameters
        ----------
        X : array-like of shape (n_states, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_states,)
            Costs, at least `floor`.
        """
        return np.maximum(self._decision(X)[:, 0], self.floor)

    def cost_map(self, world: GridWorld) -> Array:
        """Predicted costs of a world, shape (height, width)."""
        return self.predict(world.features).reshape(world.height, world.width)

    def plan(self, world: GridWorld, start: Any, goal: Any) -> Array:
        """States of a path from start to goal that is cheapest under the predicted costs."""
        return world.shortest_path(self.predict(world.features), start, goal)

    def planning_loss(self, demonstrations: Sequence[Demonstration]) -> float:
        """Maximum-margin planning loss on these demonstrations, per state, of the function that was learned."""
        return float(self.staged_planning_loss(demonstrations, stages=False)[0])

    def staged_planning_loss(self, demonstrations: Sequence[Demonstration], stages: bool = True) -> Array:
        """The same after 0, 1, 2, … rounds."""
        check_is_fitted(self)
        loss = self._loss(demonstrations)
        features, target = loss.features(), loss.targets()
        scores = self._staged(features) if stages else [self._decision(features)]
        return np.array([loss.value(target, score).mean() for score in scores])
