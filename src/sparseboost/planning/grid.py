"""A grid to walk on: states with features, moves to neighbours, cheapest paths."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from sparseboost import kernels

Array = np.ndarray
STRAIGHT = ((-1, 0), (0, -1), (0, 1), (1, 0))
DIAGONAL = ((-1, -1), (-1, 1), (1, -1), (1, 1))


class GridWorld:
    """States on a rectangle, each with features; a path pays the cost of every state it visits, both ends included.

    Parameters
    ----------
    features : array-like of shape (height, width, n_features)
        What is known of every state.
    diagonal : bool, default=False
        Whether moves to the four diagonal neighbours are allowed as well.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.planning import GridWorld
    >>> wall = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    >>> world = GridWorld(wall[:, :, None])
    >>> path = world.shortest_path(1.0 + 9.0 * wall, (0, 0), (0, 2))
    >>> [tuple(int(i) for i in world.place(state)) for state in path]
    [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2)]
    """

    def __init__(self, features: Any, diagonal: bool = False) -> None:
        array = np.asarray(features, dtype=float)
        if array.ndim != 3 or 0 in array.shape:
            raise ValueError(f"features must have the shape (height, width, n_features), got {array.shape}.")
        self.height, self.width = array.shape[:2]
        self.features = array.reshape(self.n_states, -1)
        self.diagonal = bool(diagonal)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.height * self.width

    def state(self, place: Any) -> int:
        """Number of the state at (row, column); a number is returned as it is."""
        if np.ndim(place) == 0:
            number = int(place)
        else:
            row, column = (int(i) for i in place)
            inside = 0 <= row < self.height and 0 <= column < self.width
            number = row * self.width + column if inside else -1
        if not 0 <= number < self.n_states:
            raise ValueError(f"{place!r} is not on the grid of {self.height} rows and {self.width} columns.")
        return number

    def place(self, state: int) -> tuple[int, int]:
        """Row and column of a state."""
        return divmod(int(state), self.width)

    @cached_property
    def neighbours(self) -> Array:
        """Neighbours of every state, shape (n_states, n_moves); −1 where a move would leave the grid."""
        rows, columns = np.divmod(np.arange(self.n_states), self.width)
        out = []
        for down, right in STRAIGHT + (DIAGONAL if self.diagonal else ()):
            row, column = rows + down, columns + right
            inside = (row >= 0) & (row < self.height) & (column >= 0) & (column < self.width)
            out.append(np.where(inside, row * self.width + column, -1))
        return np.stack(out, axis=1)

    def graph(self, costs: Any) -> sp.csr_array:
        """Moves as a sparse matrix of what they cost: that of the state they lead to."""
        costs = self._costs(costs)
        origin = np.repeat(np.arange(self.n_states), self.neighbours.shape[1])
        target = self.neighbours.ravel()
        kept = target >= 0
        shape = (self.n_states, self.n_states)
        return sp.csr_array((costs[target[kept]], (origin[kept], target[kept])), shape=shape)

    def shortest_path(self, costs: Any, start: Any, goal: Any) -> Array:
        """States of a cheapest path from start to goal, by Dijkstra's algorithm; all costs must be positive."""
        costs, start, goal = self._costs(costs), self.state(start), self.state(goal)
        if not np.all(costs > 0):
            raise ValueError(f"shortest_path needs positive costs; the smallest is {costs.min():g}.")
        _, before = dijkstra(self.graph(costs), indices=start, return_predecessors=True)
        path = [goal]
        while path[-1] != start:
            path.append(int(before[path[-1]]))
        return np.array(path[::-1])

    def cheapest_walk(self, costs: Any, start: Any, goal: Any, horizon: int) -> Array:
        """States of a cheapest walk of at most `horizon` moves, by value iteration; costs may have any sign.

        Walks are finite, so a minimum exists, even if it goes in circles where costs are negative.
        """
        costs, start, goal = self._costs(costs), self.state(start), self.state(goal)
        walk = kernels.walks.cheapest_walk(self.neighbours, costs, start, goal, int(horizon))
        if walk.size == 0:
            raise ValueError(f"The goal is more than {horizon} moves away; raise the horizon.")
        return walk

    def visits(self, path: Any) -> Array:
        """How often a path visits every state, shape (n_states,)."""
        return np.bincount(np.asarray(path, dtype=int), minlength=self.n_states).astype(float)

    def _costs(self, costs: Any) -> Array:
        array = np.asarray(costs, dtype=float).ravel()
        if array.size != self.n_states or not np.all(np.isfinite(array)):
            raise ValueError(f"costs must be {self.n_states} finite numbers, one per state, got {np.shape(costs)}.")
        return array
