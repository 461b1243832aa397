"""Planning in grid worlds, and learning what walking costs from demonstrations (maximum-margin planning).

Examples
--------
>>> from sparseboost.planning import CostMapLearner, random_demonstrations, regret
>>> demonstrations, behind = random_demonstrations(80, shape=(10, 10), random_state=0)
>>> model = CostMapLearner(max_rounds=60).fit(demonstrations[:60])
>>> tests, costs = demonstrations[60:], behind[60:]
>>> planned = [model.plan(one.world, one.start, one.goal) for one in tests]
>>> shortest = [one.world.shortest_path([1.0] * 100, one.start, one.goal) for one in tests]
>>> bool(regret(tests, costs, planned) < 0.75 * regret(tests, costs, shortest))
True
"""

from sparseboost.planning.demonstrations import (
    Demonstration,
    demonstrate,
    random_demonstrations,
    random_world,
    regret,
)
from sparseboost.planning.grid import GridWorld
from sparseboost.planning.learner import CostMapLearner
from sparseboost.planning.loss import MaximumMarginPlanning

__all__ = [
    "CostMapLearner",
    "Demonstration",
    "GridWorld",
    "MaximumMarginPlanning",
    "demonstrate",
    "random_demonstrations",
    "random_world",
    "regret",
]
