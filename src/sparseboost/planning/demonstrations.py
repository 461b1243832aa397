"""Paths that somebody walked, and worlds to walk in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from sparseboost.planning.grid import Array, GridWorld


@dataclass(frozen=True)
class Demonstration:
    """A path through a world that a learner shall imitate.

    Attributes
    ----------
    world : GridWorld
        Where it was walked.
    path : array of int
        States from start to goal; each is a neighbour of the one before.
    """

    world: GridWorld
    path: Array

    def __post_init__(self) -> None:
        path = np.asarray(self.path, dtype=int).ravel()
        if path.size == 0:
            raise ValueError("A demonstration needs a path of at least one state.")
        for state in path:
            self.world.state(state)
        moves = self.world.neighbours[path[:-1]] == path[1:, None]
        if not np.all(moves.any(axis=1)):
            first = int(np.flatnonzero(~moves.any(axis=1))[0])
            raise ValueError(
                f"The path jumps from {self.world.place(path[first])} to {self.world.place(path[first + 1])}; states "
                f"must be neighbours."
            )
        object.__setattr__(self, "path", path)

    @property
    def start(self) -> int:
        """The first state."""
        return int(self.path[0])

    @property
    def goal(self) -> int:
        """The last state."""
        return int(self.path[-1])


def demonstrate(world: GridWorld, costs: Any, start: Any, goal: Any) -> Demonstration:
    """What somebody with these costs in mind would do: a cheapest path."""
    return Demonstration(world, world.shortest_path(costs, start, goal))


def random_world(
    shape: tuple[int, int] = (20, 20), random_state: Any = None, diagonal: bool = False
) -> tuple[GridWorld, Array]:
    """A landscape with hills, woods, water and a road, and what walking there costs.

    Parameters
    ----------
    shape : tuple of int, default=(20, 20)
        Height and width.
    random_state : int, Generator or None
        Seed.
    diagonal : bool, default=False
        Whether diagonal moves are allowed.

    Returns
    -------
    world : GridWorld
        With the features height, slope, wood, water, road and noise, which costs do not depend on.
    costs : ndarray of shape (n_states,)
        Positive, and no linear function of the features.
    """
    rng = np.random.default_rng(random_state)
    hills, wood, water, noise = (_field(shape, rng, width) for width in (3.0, 2.0, 2.0, 1.0))
    slope = np.hypot(*np.gradient(hills))
    road = np.exp(-(((np.arange(shape[1])[None, :] - shape[1] * _bend(shape, rng)[:, None]) / 0.7) ** 2))
    costs = 1.0 + 4.0 * (wood > 0.3) + 6.0 * np.minimum(slope, 1.0) + 10.0 * (water > 1.0)
    costs = np.where(road > 0.5, 0.25 * costs, costs)
    features = np.stack([hills, slope, wood, water, road, noise], axis=2)
    return GridWorld(features, diagonal), costs.ravel()


def _field(shape: tuple[int, int], rng: np.random.Generator, width: float) -> Array:
    """A smooth random field of unit variance."""
    field = gaussian_filter(rng.normal(size=shape), width, mode="reflect")
    return (field - field.mean()) / field.std()


def _bend(shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Where a road runs in every row, as a share of the width."""
    walk = gaussian_filter(np.cumsum(rng.normal(size=shape[0])), 2.0)
    walk = (walk - walk.min()) / max(float(np.ptp(walk)), 1e-9)
    return 0.15 + 0.7 * walk


def random_demonstrations(
    count: int, shape: tuple[int, int] = (20, 20), random_state: Any = None, diagonal: bool = False
) -> tuple[list[Demonstration], list[Array]]:
    """Demonstrations in as many random worlds, each from the left to the right edge, and the costs behind them."""
    rng = np.random.default_rng(random_state)
    found, behind = [], []
    for _ in range(count):
        world, costs = random_world(shape, rng, diagonal)
        start, goal = (int(rng.integers(shape[0])), 0), (int(rng.integers(shape[0])), shape[1] - 1)
        found.append(demonstrate(world, costs, start, goal))
        behind.append(costs)
    return found, behind


def regret(demonstrations: Sequence[Demonstration], behind: Sequence[Array], planned: Sequence[Array]) -> float:
    """How much more planned paths cost than the demonstrated ones, as a share, under the costs behind them."""
    wanted = sum(costs[one.path].sum() for one, costs in zip(demonstrations, behind, strict=True))
    paid = sum(costs[path].sum() for path, costs in zip(planned, behind, strict=True))
    return float(paid / wanted - 1.0)
