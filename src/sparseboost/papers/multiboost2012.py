"""Paisitkriangkrai, Shen & van den Hengel (2012), Sharing Features in Multi-class Boosting via Group Sparsity.

Test error against the number of distinct weak hypotheses on four sets with many classes: MultiBoost with ℓ1, ℓ1/ℓ2 and
ℓ1/ℓ∞ at falling nu, beside scikit-learn's AdaBoost (SAMME), all on decision stumps. The text of the paper that is at
hand is its appendix, without its tables: the claim that is looked at is that group norms need fewer hypotheses.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from sparseboost.estimators import MultiBoostClassifier
from sparseboost.hypotheses import Stumps
from sparseboost.papers import Options
from sparseboost.papers.data import read

Array = np.ndarray
NUS = 0.1 * 0.6 ** np.arange(11)
NORMS = {"l1": "l1", "l1/l2": "l1/l2", "l1/linf": "l1/linf"}
SAMME = "SAMME"
COLOURS = {"l1": "#999999", "l1/l2": "#c8472b", "l1/linf": "#3b6fb6", SAMME: "#3a8f4d"}
N_BINS = 32  # thresholds per input, the same for all norms
TOL = 1e-2
SECONDS = 60.0  # of processor time for one norm on one set; smaller nu are left out when they are used up
LEVELS = 6  # of the table of equal errors


class Set(NamedTuple):
    """A data set: its file, most training and test rows, rounds of SAMME."""

    title: str
    file: str
    train: int
    test: int
    rounds: int


SETS = (
    Set("Pendigits", "pendigits", 7494, 3498, 300),
    Set("Letter", "letter", 16_000, 4000, 300),
    Set("Satimage", "satimage", 4435, 2000, 300),
    Set("MNIST", "mnist", 10_000, 10_000, 200),
)


class Curve(NamedTuple):
    """Models from small to large: distinct hypotheses and test error."""

    sizes: Array
    error: Array

    def best_within(self, most: int) -> float:
        """Smallest error with at most this many hypotheses."""
        return float(self.error[self.sizes <= most].min(initial=np.inf))

    def fewest_for(self, level: float) -> float:
        """Fewest hypotheses with an error of at most this, between two models on the line that joins them."""
        reached = np.flatnonzero(self.error <= level)
        if reached.size == 0:
            return np.inf
        at = int(reached[0])
        if at == 0:
            return float(self.sizes[0])
        (low, high), (before, after) = self.sizes[at - 1 : at + 1], self.error[at - 1 : at + 1]
        return float(low + (high - low) * (before - level) / max(before - after, 1e-12))


Results = dict[str, dict[str, Curve]]  # set, then method


def load(item: Set, options: Options) -> tuple[Array, Array, Array, Array]:
    """Training and test part; a random part of the rows where there are more than wanted."""
    found = read(item.file, options.data)
    X, y = found["X"].astype(float), found["y"]
    rng = np.random.default_rng(2012)
    order = rng.permutation(len(y))
    if "X_test" in found:
        test_X, test_y = found["X_test"].astype(float), found["y_test"]
        others = rng.permutation(len(test_y))[: item.test]
        order = order[: _size(item.train, options)]
        return X[order], y[order], test_X[others], test_y[others]
    train, test = np.split(order[: item.train + item.test], [min(item.train, 2 * len(y) // 3)])
    train = train[: _size(item.train, options)]
    return X[train], y[train], X[test], y[test]


def _size(rows: int, options: Options) -> int:
    return min(rows, 500) if options.quick else rows


def distinct(hypotheses: list[Any]) -> int:
    """How many different questions are asked: x <= t and x > t are one."""
    return len({(stump.feature, stump.threshold) for stump in hypotheses})


def multiboost(norm: str, parts: tuple[Array, Array, Array, Array], options: Options) -> Curve:
    """One model per nu, each from the one before."""
    X, y, test_X, test_y = parts
    space = Stumps("quantile", n_bins=N_BINS, negated=norm != "l1/linf")
    model = MultiBoostClassifier(penalty=norm, hypotheses=space, tol=TOL, warm_start=True)
    end = time.process_time() + (2.0 if options.quick else SECONDS)
    model.callbacks = [lambda record: time.process_time() > end]
    rows = []
    for nu in NUS:
        model.set_params(nu=float(nu)).fit(X, y)
        if not model.converged_:
            break
        rows.append((distinct(model.hypotheses_), float(np.mean(model.predict(test_X) != test_y))))
    return Curve(*np.array(rows).T)


def samme(rounds: int, parts: tuple[Array, Array, Array, Array]) -> Curve:
    """AdaBoost for classes, after every round; only rounds that ask a new question are points of the curve."""
    X, y, test_X, test_y = parts
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=rounds).fit(X, y)
    asked: set[tuple[int, float]] = set()
    best: dict[int, float] = {}
    for tree, predicted in zip(model.estimators_, model.staged_predict(test_X), strict=True):
        asked.add((int(tree.tree_.feature[0]), float(tree.tree_.threshold[0])))
        error = float(np.mean(predicted != test_y))
        best[len(asked)] = min(error, best.get(len(asked), np.inf))
    return Curve(np.array(list(best)), np.array(list(best.values())))


def run(options: Options, console: Console | None = None) -> None:
    """Run everything, print both tables and draw the picture."""
    console = console or Console()
    data = {item.title: load(item, options) for item in SETS}  # all files are looked for before anything is run
    results: Results = {item.title: {} for item in SETS}
    bar = Progress(TextColumn("{task.description:<22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                   console=Console(stderr=True), transient=True)  # fmt: skip
    with bar, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task = bar.add_task("", total=4 * len(SETS))
        for item in SETS:
            for method in (*NORMS, SAMME):
                bar.update(task, description=f"{item.title}, {method}")
                rounds = min(item.rounds, 30) if options.quick else item.rounds
                parts = data[item.title]
                found = samme(rounds, parts) if method == SAMME else multiboost(method, parts, options)
                results[item.title][method] = found
                bar.advance(task)
    sizes = {title: len(parts[1]) for title, parts in data.items()}
    console.print(_errors(results, sizes))
    console.print(_equal_errors(results))
    console.print(_verdict(results), soft_wrap=True)
    _draw(results, options, console)


COUNTS = (10, 20, 50, 100, 200, 400)


def _errors(results: Results, sizes: dict[str, int]) -> Table:
    table = Table(title="Test error, %, of the best model with at most so many distinct hypotheses",
                  title_justify="left", caption="* no model of the series is larger", box=SIMPLE)  # fmt: skip
    for name in ("", "", *map(str, COUNTS)):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for title, curves in results.items():
        for position, (method, curve) in enumerate(curves.items()):
            cells = []
            for count in COUNTS:
                error = curve.best_within(count)
                star = "*" if curve.sizes.max() < count else ""
                cells.append("-" if np.isinf(error) else f"{100 * error:.1f}{star}")
            table.add_row("" if position else f"{title} ({sizes[title]} rows)", method, *cells)
    return table


def levels(curves: dict[str, Curve]) -> Array:
    """Errors that all three norms reach, from that of a small model to the best they share."""
    norms = [curves[norm] for norm in NORMS]
    best = max(curve.error.min() for curve in norms)
    worst = min(curve.error[curve.sizes > 0].max(initial=best) for curve in norms)
    return np.geomspace(worst, best, LEVELS)


def _equal_errors(results: Results) -> Table:
    table = Table(title="Distinct hypotheses needed for equal error (interpolated between models)",
                  title_justify="left", box=SIMPLE)  # fmt: skip
    for name in ("", "error, %", *NORMS, SAMME):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for title, curves in results.items():
        for position, level in enumerate(levels(curves)):
            needed = [curves[method].fewest_for(float(level)) for method in (*NORMS, SAMME)]
            cells = ["never" if np.isinf(count) else f"{count:.0f}" for count in needed]
            table.add_row("" if position else title, f"{100 * level:.1f}", *cells)
    return table


def _verdict(results: Results) -> str:
    """How many hypotheses group norms need beside l1, in the geometric mean over equal errors."""
    lines = []
    for title, curves in results.items():
        ratios = {}
        for norm in ("l1/l2", "l1/linf"):
            needed = [(curves[norm].fewest_for(e), curves["l1"].fewest_for(e)) for e in levels(curves).tolist()]
            shares = [own / other for own, other in needed if np.isfinite(own) and np.isfinite(other) and other > 0]
            ratios[norm] = float(np.exp(np.mean(np.log(shares)))) if shares else np.nan
        told = ", ".join(f"{norm} needs {ratio:.2f} times as many as l1" for norm, ratio in ratios.items())
        lines.append(f"{title}: at equal error {told}.")
    return "\n".join(lines)


def _draw(results: Results, options: Options, console: Console) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    options.output.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    for axis, (title, curves) in zip(figure.subplots(2, 2).ravel(), results.items(), strict=False):
        for method, curve in curves.items():
            shown = curve.sizes > 0
            marker = "" if method == SAMME else "o"
            axis.plot(curve.sizes[shown], curve.error[shown], color=COLOURS[method], label=method, marker=marker,
                      markersize=3)  # fmt: skip
        axis.set(title=title, xlabel="distinct weak hypotheses", ylabel="test error", xscale="log", ylim=(0, None))
        axis.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(frameon=False)
    path = options.output / "multiboost2012.png"
    figure.savefig(path, dpi=120)
    console.print(f"wrote {path}")
