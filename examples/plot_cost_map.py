"""What walking costs, learned from paths: the learned cost map and path beside the demonstration.

    python examples/plot_cost_map.py [picture.png]

Somebody crosses random landscapes with costs in mind that nobody else knows. A `CostMapLearner` sees the features of
every state and the paths, and learns costs under which these paths are the cheapest. The picture shows a world that it
has not seen.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from sparseboost.planning import CostMapLearner, random_demonstrations, regret

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "cost_map.png"
SHAPE = (20, 20)


def draw(ax, world, costs, title, **paths):
    """A map of costs with paths on it."""
    ax.imshow(costs.reshape(world.height, world.width), cmap="YlGn_r", origin="upper")
    for (name, path), (color, style) in zip(paths.items(), (("#c8472b", "-"), ("#3b6fb6", "--")), strict=False):
        rows, columns = zip(*(world.place(state) for state in path), strict=True)
        ax.plot(columns, rows, style, color=color, linewidth=2.0, label=name)
    ax.set(title=title, xticks=[], yticks=[])
    ax.legend(fontsize=8, loc="upper left")


def main(picture: Path = PICTURE) -> None:
    demonstrations, behind = random_demonstrations(41, SHAPE, random_state=4)
    train, (new, costs) = demonstrations[:-1], (demonstrations[-1], behind[-1])
    model = CostMapLearner(0.05, algorithm="repeated", step_size=3.0, max_learners=120).fit(train)
    path = model.plan(new.world, new.start, new.goal)
    level = new.world.shortest_path([1.0] * new.world.n_states, new.start, new.goal)
    figure, axes = plt.subplots(1, 3, figsize=(11.4, 3.6), layout="constrained", width_ratios=(1, 1, 1.15))
    draw(axes[0], new.world, costs, "costs in mind (dark: cheap)", demonstration=new.path)
    draw(axes[1], new.world, model.cost_map(new.world), "learned costs", demonstration=new.path, planned=path)
    extra = {name: regret([new], [costs], [one]) for name, one in (("planned", path), ("shortest", level))}
    axes[1].set(xlabel="paths cost more by " + ", ".join(f"{share:.0%} ({name})" for name, share in extra.items()))
    axes[2].plot([record["learners"] for record in model.history_], [record["loss"] for record in model.history_])
    axes[2].set(title="planning loss in the 40 training worlds", xlabel="weak learners", ylim=(0, None))
    figure.savefig(picture, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
