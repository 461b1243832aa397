"""Maximum-margin planning: the demonstrated path shall be cheaper than every other, by a margin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparseboost.planning.demonstrations import Demonstration
from sparseboost.planning.grid import Array


class MaximumMarginPlanning:
    r"""R[f] = (1/N) Σ_i [cost_f(demo_i) − min over walks of (cost_f(walk) − loss_i(walk))], over N states in all.

    loss_i counts the states of a walk that the demonstration does not visit, times `margin`. Walks have at most
    `horizon` times as many moves as the demonstration, so the minimum exists whatever the sign of the costs, and R is a
    maximum of finitely many linear functions of f: convex, and not smooth. The subgradient at a state is how often the
    demonstration visits it, less how often the loss-augmented planner does.

    Targets have the columns number of the demonstration and number of the state.

    Parameters
    ----------
    demonstrations : sequence of Demonstration
        What to imitate.
    margin : float, default=1.0
        By how much a walk must cost more per state off the demonstrated path.
    horizon : float, default=2.0
        Longest walk, in lengths of the demonstration.

    References
    ----------
    Ratliff, Bagnell & Zinkevich (2006), Maximum Margin Planning; MATH.md G5.
    """

    smooth = False
    probabilistic = False

    def __init__(self, demonstrations: Sequence[Demonstration], margin: float = 1.0, horizon: float = 2.0) -> None:
        if not len(demonstrations):
            raise ValueError("Maximum-margin planning needs at least one demonstration.")
        if not margin >= 0.0 or not horizon >= 1.0:
            raise ValueError(f"margin must be >= 0 and horizon >= 1, got {margin!r} and {horizon!r}.")
        self.demonstrations = list(demonstrations)
        self.margin = float(margin)
        self.horizon = float(horizon)

    def targets(self) -> Array:
        """Demonstration and state of every row of the stacked features, shape (N, 2)."""
        return np.concatenate(
            [
                np.column_stack([np.full(one.world.n_states, i), np.arange(one.world.n_states)])
                for i, one in enumerate(self.demonstrations)
            ]
        ).astype(float)

    def features(self) -> Array:
        """Features of all states of all demonstrations, shape (N, d)."""
        widths = {one.world.features.shape[1] for one in self.demonstrations}
        if len(widths) > 1:
            raise ValueError(f"All worlds must have the same features, got {sorted(widths)} of them.")
        return np.concatenate([one.world.features for one in self.demonstrations])

    def n_outputs(self, y: Array) -> int:
        """One cost per state."""
        return 1

    def start(self, y: Array, weight: Array) -> Array:
        """The same cost everywhere, one margin: the shortest path is the cheapest."""
        return np.array([max(self.margin, 1.0)])

    def value(self, y: Array, score: Array) -> Array:
        """Every state's share of N·R, shape (N,)."""
        return self.value_and_gradient(y, score)[0]

    def gradient(self, y: Array, score: Array) -> Array:
        """Visits of the demonstration less those of the loss-augmented planner, shape (N, 1)."""
        return self.value_and_gradient(y, score)[1]

    def value_and_gradient(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Both, from one round of planning."""
        value, gradient = np.empty(y.shape[0]), np.empty((y.shape[0], 1))
        numbers = y[:, 0].astype(int)
        for i in np.unique(numbers):
            rows, one = np.flatnonzero(numbers == i), self.demonstrations[i]
            costs = score[rows, 0]
            planned = one.world.visits(self.augmented_plan(one, costs))
            difference = one.world.visits(one.path) - planned
            gradient[rows, 0] = difference
            value[rows] = costs * difference + self._off(one) * planned
        return value, gradient

    def augmented_plan(self, one: Demonstration, costs: Array) -> Array:
        """A walk that minimises cost less loss."""
        return one.world.cheapest_walk(costs - self._off(one), one.start, one.goal, self._moves(one))

    def _off(self, one: Demonstration) -> Array:
        """Loss of visiting every state."""
        return self.margin * (one.world.visits(one.path) == 0)

    def _moves(self, one: Demonstration) -> int:
        return max(int(np.ceil(self.horizon * (one.path.size - 1))), 1)
