"""Xi, Xiang, Ramadge & Schapire (2009), Speed and Sparsity of Regularized Boosting: section 5.

AdaBoost and AdaBoost+L1 on decision stumps, few training examples, 20 random splits. Both run past the round with the
smallest test error; Tables 1 and 2 are that error and the number of classifiers at that round, averaged.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from sparseboost.estimators import MarginBoostClassifier
from sparseboost.papers import Options
from sparseboost.papers.data import read

Array = np.ndarray
REPETITIONS, QUICK_REPETITIONS, QUICK_ROUNDS = 20, 3, 100
METHODS = {"adaboost": "AdaBoost", "adaboost+l1": "AdaBoost+L1"}
SELECTED_AT = 60  # the round of figure 3
WORDS = {3: "all", 10: "mail", 13: "people", 16: "free", 19: "you", 45: "re", 50: "(", 52: "!", 53: "$"}
NOTES = """
Where ours differ, and why:
- The best round. The paper does not say whether it is that of every split or of their
  mean, so both are shown. The first picks by test error 20 times and is lower; the second
  has the paper's error on diabetes, and is within 0.4 points of it on german and spam.
- Ringnorm. Training sets of 100 examples differ much: errors have a standard deviation of
  3.6 points between splits, so 20 of them fix the mean to 0.8. These 20 are harder than
  usual; 60 others have means of 26.5 and 25.1. Neither more rounds (3000), nor 50
  thresholds per input, nor a smaller nu changes that.
- Numbers of classifiers. Around their best round the curves are flat (figure 2), so these
  numbers are uncertain by several; on diabetes a few rounds change them by half.
- AdaBoost has about 120 active classifiers after 700 rounds on ringnorm, as the paper
  says. AdaBoost+L1 has fewer than 70 after 1000, where the paper says 120: our inner
  problem is solved to a gap of 1e-11, and an optimum needs no more active classifiers
  than there are examples, here 100. Only a looser solver leaves more.
- nu. The paper does not give its own; ours is 1. With 0.3 and 0.1 the best rounds come
  later, with the same error and as many classifiers. Only figure 3, at a fixed round,
  depends on it: after 60 rounds AdaBoost+L1 uses 19 inputs with nu = 1, 16 with 0.3 and
  11 with 0.1, so the paper's larger difference points to a nu below 1.
""".strip()


class Set(NamedTuple):
    """A data set of the paper, and what it reports: error in per cent and classifiers of both methods."""

    title: str
    file: str | None
    train: int
    test: int
    rounds: int
    paper: tuple[float, float, float, float]


SETS = (
    Set("Ringnorm", None, 100, 5000, 1000, (25.5, 121.8, 25.3, 55.0)),
    Set("Diabetes", "diabetes", 100, 668, 300, (26.7, 7.6, 26.6, 11.9)),
    Set("German", "german", 200, 800, 300, (26.9, 22.1, 26.7, 16.5)),
    Set("Spam", "spambase", 100, 4501, 300, (11.3, 31.3, 11.3, 26.5)),
    Set("Ionosphere", "ionosphere", 100, 250, 300, (12.5, 26.7, 12.6, 19.6)),
)


@dataclass(frozen=True)
class Trial:
    """One method on one split, after every round: test error, active classifiers, training margin."""

    error: Array
    active: Array
    margin: Array

    @property
    def best(self) -> tuple[float, int]:
        """Smallest error, and the classifiers at the first round that has it."""
        at = int(self.error.argmin())
        return float(self.error[at]), int(self.active[at])


Results = dict[tuple[str, str], list[Trial]]  # data set and method


def ringnorm(size: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """N(0, 4I) against N(a·1, I), a = 1/√20, in 20 dimensions, with equal chances."""
    y = np.where(rng.random(size) < 0.5, 1, -1)
    X = rng.normal(size=(size, 20))
    return np.where((y > 0)[:, None], 2.0 * X, X + 1.0 / np.sqrt(20.0)), y


def split(item: Set, stored: tuple[Array, Array] | None, repetition: int) -> tuple[Array, Array, Array, Array]:
    """A random training and test part."""
    rng = np.random.default_rng([2009, repetition])
    if stored is None:
        X, y = ringnorm(item.train + item.test, rng)
    else:
        order = rng.permutation(len(stored[1]))[: item.train + item.test]
        X, y = stored[0][order], stored[1][order]
    return X[: item.train], y[: item.train], X[item.train :], y[item.train :]


def trial(method: str, rounds: int, parts: tuple[Array, Array, Array, Array]) -> Trial:
    """Train to the end, and look at every round."""
    X, y, test_X, test_y = parts
    model = MarginBoostClassifier(method, max_rounds=rounds, tol=0.0).fit(X, y)
    votes = model.staged_predict(test_X)
    next(votes)  # before the first round there is no classifier
    error = np.array([np.mean(predicted != test_y) for predicted in votes])
    records = model.history_[1:]
    return Trial(error, np.array([r["active"] for r in records]), np.array([r["margin"] for r in records]))


def best_of_mean(trials: Sequence[Trial]) -> tuple[float, float]:
    """Smallest mean error over all splits at one round, and the mean number of classifiers at that round."""
    rounds = min(one.error.size for one in trials)
    error = np.mean([one.error[:rounds] for one in trials], axis=0)
    at = int(error.argmin())
    return float(error[at]), float(np.mean([one.active[at] for one in trials]))


def run(options: Options, console: Console | None = None) -> None:
    """Run everything, print both tables and draw both figures."""
    console = console or Console()
    repetitions = options.repetitions or (QUICK_REPETITIONS if options.quick else REPETITIONS)
    stored = {item.title: _stored(item, options) for item in SETS}  # all files are looked for before anything is run
    results: Results = {}
    used = {method: np.zeros(57) for method in METHODS}
    bar = Progress(TextColumn("{task.description:<22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                   console=Console(stderr=True), transient=True)  # fmt: skip
    with bar, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task = bar.add_task("", total=repetitions * len(SETS))
        for item in SETS:
            rounds = min(item.rounds, QUICK_ROUNDS) if options.quick else item.rounds
            for repetition in range(repetitions):
                bar.update(task, description=f"{item.title}, split {repetition + 1}")
                parts = split(item, stored[item.title], repetition)
                for method in METHODS:
                    results.setdefault((item.title, method), []).append(trial(method, rounds, parts))
                    if item.title == "Spam":
                        short = MarginBoostClassifier(method, max_rounds=SELECTED_AT, tol=0.0).fit(*parts[:2])
                        used[method][short.inputs_used_] += 1.0 / repetitions
                bar.advance(task)
    for number, (title, place) in enumerate({"error rates, %": 0, "numbers of classifiers": 1}.items(), start=1):
        console.print(_table(f"Table {number}: {title}, {repetitions} repetitions", results, place))
    console.print(NOTES, soft_wrap=True)
    _draw(results, used, options, console)


def _stored(item: Set, options: Options) -> tuple[Array, Array] | None:
    if item.file is None:
        return None
    found = read(item.file, options.data)
    return found["X"].astype(float), found["y"].astype(int)


def _table(title: str, results: Results, place: int) -> Table:
    """Our numbers beside the paper's; place 0 is the error in per cent, 1 the number of classifiers."""
    table = Table(title=title, title_justify="left", caption="± standard error of the mean", box=SIMPLE)
    for name in ("", "", "paper", "ours, best round\nof every split", "ours, best round\nof their mean"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    unit = 100.0 if place == 0 else 1.0
    for item in SETS:
        for position, (method, name) in enumerate(METHODS.items()):
            trials = results[item.title, method]
            values = unit * np.array([one.best[place] for one in trials])
            error = values.std() / np.sqrt(max(values.size - 1, 1))
            ours = [f"{values.mean():.1f} ± {error:.1f}", f"{unit * best_of_mean(trials)[place]:.1f}"]
            table.add_row("" if position else item.title, name, f"{item.paper[2 * position + place]:.1f}", *ours)
    return table


def by_count(trials: Sequence[Trial], values: str) -> tuple[Array, Array]:
    """Mean over splits of a curve as a function of the number of active classifiers, where most splits have it."""
    most = max(int(one.active.max()) for one in trials)
    table = np.full((len(trials), most + 1), np.nan)
    for row, one in zip(table, trials, strict=True):
        total = np.bincount(one.active, weights=getattr(one, values), minlength=most + 1)
        count = np.bincount(one.active, minlength=most + 1)
        row[count > 0] = total[count > 0] / count[count > 0]
    common = np.flatnonzero(np.isfinite(table).mean(axis=0) > 0.5)
    return common, np.nanmean(table[:, common], axis=0)


def _draw(results: Results, used: dict[str, Array], options: Options, console: Console) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    colours = dict(zip(METHODS, ("#c8472b", "#3b6fb6"), strict=True))
    options.output.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(9, 2.6 * len(SETS)), layout="constrained")
    axes = figure.subplots(len(SETS), 2)
    for (left, right), item in zip(axes, SETS, strict=True):
        for axis, values, label in ((left, "error", "test error"), (right, "margin", "training margin")):
            for method, name in METHODS.items():
                axis.plot(*by_count(results[item.title, method], values), color=colours[method], label=name)
            axis.set(title=item.title, xlabel="active classifiers", ylabel=label)
            axis.spines[["top", "right"]].set_visible(False)
        right.axhline(0.0, color="#999999", linewidth=0.8)
    axes[0, 0].legend(frameon=False)
    path = options.output / "xi2009-figure2.png"
    figure.savefig(path, dpi=120)
    console.print(f"wrote {path}")

    figure = Figure(figsize=(9, 5.5), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True, sharey=True)
    for axis, (method, name) in zip((top, bottom), METHODS.items(), strict=True):
        axis.bar(np.arange(1, used[method].size + 1), used[method], color=colours[method])
        axis.set(title=f"{name}: {used[method].sum():.1f} inputs in use after {SELECTED_AT} rounds", ylabel="frequency")
        axis.spines[["top", "right"]].set_visible(False)
    bottom.set_xticks(list(WORDS), list(WORDS.values()), fontsize=8)
    bottom.set_xlabel("input of the spam data; the paper speaks of those named here")
    path = options.output / "xi2009-figure3.png"
    figure.savefig(path, dpi=120)
    console.print(f"wrote {path}")
