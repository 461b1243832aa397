"""Grid worlds, planners, the planning loss, and the learner of cost maps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from sparseboost import load, save
from sparseboost.planning import (
    CostMapLearner,
    Demonstration,
    GridWorld,
    MaximumMarginPlanning,
    demonstrate,
    random_demonstrations,
    random_world,
    regret,
)


def world_of(height: int, width: int, diagonal: bool = False) -> GridWorld:
    return GridWorld(np.zeros((height, width, 1)), diagonal)


def walks(world: GridWorld, start: int, goal: int, horizon: int):
    """All walks from start to goal of at most `horizon` moves, written down."""
    found, open_ones = [], [[start]]
    for _ in range(horizon + 1):
        found += [walk for walk in open_ones if walk[-1] == goal]
        open_ones = [[*walk, int(n)] for walk in open_ones for n in world.neighbours[walk[-1]] if n >= 0]
    return found


def bellman_ford(world: GridWorld, costs: np.ndarray, start: int) -> np.ndarray:
    """Cost of the cheapest path to every state, by relaxing all moves again and again."""
    best = np.full(world.n_states, np.inf)
    best[start] = costs[start]
    for _ in range(world.n_states):
        for state, other in itertools.product(range(world.n_states), range(world.n_states)):
            if other in world.neighbours[state]:
                best[other] = min(best[other], best[state] + costs[other])
    return best


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("diagonal", [False, True])
def test_dijkstra_finds_cheapest_paths(seed: int, diagonal: bool) -> None:
    rng = np.random.default_rng(seed)
    world = world_of(4, 5, diagonal)
    costs = rng.exponential(size=20) + 0.01
    start, goal = rng.integers(20, size=2)
    path = world.shortest_path(costs, start, goal)
    assert path[0] == start
    assert path[-1] == goal
    Demonstration(world, path)  # its states are neighbours
    assert costs[path].sum() == pytest.approx(bellman_ford(world, costs, int(start))[goal])


@pytest.mark.parametrize("seed", range(8))
def test_value_iteration_finds_the_cheapest_of_all_walks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    world = world_of(3, 3, diagonal=bool(seed % 2))
    costs = rng.normal(size=9)  # of any sign: circles may pay
    for horizon in (3, 4, 6):
        start, goal = 0, int(rng.choice([1, 2, 3, 4, 5]))
        walk = world.cheapest_walk(costs, start, goal, horizon)
        assert walk[0] == start
        assert walk[-1] == goal
        assert walk.size <= horizon + 1
        Demonstration(world, walk)
        best = min(costs[w].sum() for w in walks(world, start, goal, horizon))
        assert costs[walk].sum() == pytest.approx(best)


def test_both_planners_agree_where_costs_are_positive(rng: np.random.Generator) -> None:
    world = world_of(7, 9)
    for _ in range(10):
        costs = rng.exponential(size=63) + 0.05
        start, goal = rng.integers(63, size=2)
        one, other = world.shortest_path(costs, start, goal), world.cheapest_walk(costs, start, goal, 62)
        assert costs[one].sum() == pytest.approx(costs[other].sum())


# -- the loss ----------------------------------------------------------------------------------------------------


def small_loss(seed: int) -> MaximumMarginPlanning:
    rng = np.random.default_rng(seed)
    world = GridWorld(rng.normal(size=(3, 3, 2)))
    some = [demonstrate(world, rng.exponential(size=9) + 0.1, 0, goal) for goal in (8, 5)]
    return MaximumMarginPlanning(some, margin=0.7, horizon=1.5)


@pytest.mark.parametrize("seed", range(6))
def test_the_loss_is_the_maximum_over_all_walks(seed: int) -> None:
    loss = small_loss(seed)
    y = loss.targets()
    rng = np.random.default_rng(100 + seed)
    for _ in range(5):
        f = rng.normal(size=(18, 1)) + 0.5
        wanted = 0.0
        for i, one in enumerate(loss.demonstrations):
            costs = f[y[:, 0] == i, 0]
            off = 0.7 * ~np.isin(np.arange(9), one.path)
            horizon = int(np.ceil(1.5 * (one.path.size - 1)))
            least = min((costs - off)[w].sum() for w in walks(one.world, one.start, one.goal, horizon))
            wanted += costs[one.path].sum() - least
        assert loss.value(y, f).sum() == pytest.approx(wanted)
        assert wanted >= -1e-12, "the demonstration itself is one of the walks"


@pytest.mark.parametrize("seed", range(6))
def test_the_loss_is_convex_and_visits_are_its_subgradient(seed: int) -> None:
    loss = small_loss(seed)
    y, rng = loss.targets(), np.random.default_rng(seed)
    for _ in range(10):
        f, g = rng.normal(size=(2, 18, 1))
        t = rng.random()
        chord = t * loss.value(y, f).sum() + (1 - t) * loss.value(y, g).sum()
        assert loss.value(y, t * f + (1 - t) * g).sum() <= chord + 1e-10
        slope = (loss.gradient(y, f) * (g - f)).sum()
        assert loss.value(y, g).sum() >= loss.value(y, f).sum() + slope - 1e-10


def test_costs_far_below_all_others_on_the_path_have_no_loss() -> None:
    loss = small_loss(0)
    y = loss.targets()
    f = np.full((18, 1), 5.0)
    for i, one in enumerate(loss.demonstrations):
        f[np.flatnonzero(y[:, 0] == i)[one.path]] = 0.01
    assert loss.value(y, f).sum() == pytest.approx(0.0, abs=1e-12)
    assert not loss.gradient(y, f).any()


def test_some_demonstrations_alone_are_part_of_all() -> None:
    demonstrations, _ = random_demonstrations(4, (6, 6), random_state=0)
    loss = MaximumMarginPlanning(demonstrations)
    y, f = loss.targets(), np.random.default_rng(0).random((144, 1))
    some = np.isin(y[:, 0], [1, 3])
    np.testing.assert_array_equal(loss.value(y[some], f[some]), loss.value(y, f)[some])


# -- the learner ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["residual", "repeated", "naive"])
def test_learned_costs_explain_the_demonstrations(algorithm: str) -> None:
    demonstrations, behind = random_demonstrations(30, (8, 8), random_state=1)
    model = CostMapLearner(algorithm=algorithm, max_rounds=60, max_learners=120, step_size=2.0).fit(demonstrations)
    values = [record["loss"] for record in model.history_]
    assert min(values) < 0.9 * values[0]
    planned = [model.plan(one.world, one.start, one.goal) for one in demonstrations]
    shortest = [one.world.shortest_path(np.ones(64), one.start, one.goal) for one in demonstrations]
    assert regret(demonstrations, behind, planned) < 0.7 * regret(demonstrations, behind, shortest)
    assert model.planning_loss(demonstrations) == pytest.approx(values[model.best_round_])
    np.testing.assert_allclose(
        CostMapLearner(**{**model.get_params(), "output": "last"})
        .fit(demonstrations)
        .staged_planning_loss(demonstrations),
        values,
    )


def test_costs_are_positive_and_paths_exist() -> None:
    demonstrations, _ = random_demonstrations(6, (6, 6), random_state=2)
    model = CostMapLearner(max_rounds=40, step_size=30.0, floor=0.05, output="last").fit(demonstrations)
    world, _ = random_world((9, 5), random_state=3)
    assert model.cost_map(world).shape == (9, 5)
    assert model.cost_map(world).min() == 0.05, "without the floor some costs would be negative"
    path = model.plan(world, (0, 0), (8, 4))
    assert path[0] == 0
    assert path[-1] == 44


def test_early_stopping_sets_whole_demonstrations_aside(tmp_path) -> None:
    demonstrations, _ = random_demonstrations(10, (6, 6), random_state=4)
    model = CostMapLearner(max_rounds=200, n_iter_no_change=5, validation_fraction=0.3, random_state=0)
    model.fit(demonstrations)
    assert model.stopping_reason_ == "no_improvement"
    assert model.n_rounds_ < 200
    assert model.best_round_ == int(np.argmin([record["validation_loss"] for record in model.history_]))
    save(model, tmp_path / "m.skops")
    world = demonstrations[0].world
    np.testing.assert_array_equal(load(tmp_path / "m.skops").cost_map(world), model.cost_map(world))


def test_worlds_and_demonstrations_repeat_with_their_seed() -> None:
    one, two = (random_demonstrations(2, (5, 6), random_state=7) for _ in range(2))
    np.testing.assert_array_equal(one[0][1].path, two[0][1].path)
    np.testing.assert_array_equal(one[1][0], two[1][0])
    assert np.all(one[1][0] > 0)
    assert clone(CostMapLearner(margin=2.0)).margin == 2.0


BAD = [
    (lambda: GridWorld(np.zeros((3, 3))), "height, width"),
    (lambda: world_of(2, 2).shortest_path(np.array([1.0, 0.0, 1.0, 1.0]), 0, 3), "positive costs"),
    (lambda: world_of(2, 2).shortest_path(np.ones(3), 0, 3), "one per state"),
    (lambda: world_of(2, 2).shortest_path(np.ones(4), (2, 0), 3), "not on the grid"),
    (lambda: world_of(2, 2).state(4), "not on the grid"),
    (lambda: world_of(3, 3).cheapest_walk(np.ones(9), 0, 8, 2), "raise the horizon"),
    (lambda: Demonstration(world_of(2, 2), [0, 3]), "neighbours"),
    (lambda: Demonstration(world_of(2, 2), []), "at least one state"),
    (lambda: MaximumMarginPlanning([]), "at least one demonstration"),
    (lambda: MaximumMarginPlanning([Demonstration(world_of(1, 1), [0])], margin=-1), "margin"),
    (lambda: CostMapLearner(floor=0.0).fit(random_demonstrations(1, (3, 3), 0)[0]), "floor"),
    (lambda: CostMapLearner(n_iter_no_change=2).fit(random_demonstrations(1, (3, 3), 0)[0]), "at least two"),
    (lambda: CostMapLearner(learner="forest").fit(random_demonstrations(1, (3, 3), 0)[0]), "learner must be"),
]


@pytest.mark.parametrize(("attempt", "words"), BAD, ids=[words for _, words in BAD])
def test_mistakes_get_a_sentence(attempt, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        attempt()


def test_fit_wants_demonstrations() -> None:
    with pytest.raises(TypeError, match="list of Demonstration"):
        CostMapLearner().fit(np.zeros((3, 2)))
    one, other = random_demonstrations(1, (3, 3), 0)[0][0], GridWorld(np.zeros((3, 3, 2)))
    with pytest.raises(ValueError, match="same features"):
        CostMapLearner().fit([one, demonstrate(other, np.ones(9), 0, 8)])
