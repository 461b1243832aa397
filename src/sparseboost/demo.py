"""`sparseboost demo`: two embedded data sets, three norms, scikit-learn beside them, one picture."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sparseboost.estimators import SparseBoostClassifier, alpha_max, coverage_error

Array = np.ndarray

SHARE = 1 / 30
PATH = (1 / 1.3, 1 / 1.6, 1 / 2, 1 / 2.7, 1 / 4, 1 / 7, 1 / 14, SHARE)
NORMS = {"l1": "ℓ1", "l1/l2": "ℓ1/ℓ2", "l1/linf": "ℓ1/ℓ∞"}
OURS = {norm: f"sparseboost {name}" for norm, name in NORMS.items()}
SAGA = "scikit-learn ℓ1"
RIDGE = "scikit-learn ridge"
COLOURS = dict(zip([*OURS.values(), SAGA, RIDGE], ("#3b6fb6", "#c8472b", "#2e8b57", "#555555", "#999999"), strict=True))
SHADES = dict(zip(NORMS, ("Blues", "Reds", "Greens"), strict=True))
PIXELS = 24
PICTURE = "sparseboost-demo.png"


@dataclass(frozen=True)
class Data:
    """A data set, split and standardised."""

    name: str
    inputs: str
    train: Array
    train_y: Array
    test: Array
    test_y: Array

    @property
    def norms(self) -> dict[str, str]:
        """The norms that differ: with two classes there is one output, and all three are the same."""
        return NORMS if np.unique(self.train_y).size > 2 else {"l1": "ℓ1"}


@dataclass(frozen=True)
class Result:
    """One trained model in numbers."""

    label: str
    accuracy: float
    coverage: float
    used: int
    weights: int
    gap: float | None
    seconds: float
    coef: Array


def run(output: Path, console: Console | None = None) -> Path | None:
    """Train, compare, print and draw.

    Parameters
    ----------
    output : path
        Folder for the picture; created if it is missing.
    console : Console, optional
        Where to print; the terminal by default.

    Returns
    -------
    path or None
        The picture, or None if matplotlib is missing.
    """
    console = console or Console()
    if not console.is_terminal:
        console.width = 110
    started = time.perf_counter()
    Path(output).mkdir(parents=True, exist_ok=True)
    sets = [
        _data("handwritten digits", "pixels", load_digits()),
        _data("breast cancer", "measurements", load_breast_cancer()),
    ]
    _say(console, "[bold]sparseboost demo[/bold]: how few inputs are enough?\n")
    _say(
        console,
        f"Two data sets that come with scikit-learn: 70 % of the rows to learn from, 30 % to test, inputs "
        f"standardised, one thread. The tables show sparse models at 1/{1 / SHARE:.0f} of alpha_max, the strength at "
        f"which a model is empty: a fixed rule, nothing is tuned on the test rows.",
    )
    paths = {}
    for data in sets:
        console.print()
        with threadpool_limits(1):  # fair, and faster: these matrices are too small to share
            paths[data.name] = _train(data, console)
        console.print(_table(data, paths[data.name]))
        for line in _findings(data, paths[data.name]):
            _say(console, f"• {line}")
    console.print()
    _say(
        console,
        "Certified gap: the objective is proven to be at most this far above the optimum.\n"
        "Coverage: how many wrong classes score at least as high as the true one, on average; 0 is best.\n",
    )
    picture = _draw(sets, paths, Path(output) / PICTURE, console)
    _say(console, f"Done in {time.perf_counter() - started:.0f} s.")
    return picture


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False)


def _data(name: str, inputs: str, bunch: Any) -> Data:
    train, test, train_y, test_y = train_test_split(
        bunch.data, bunch.target, test_size=0.3, random_state=0, stratify=bunch.target
    )
    scaler = StandardScaler().fit(train)
    return Data(name, inputs, scaler.transform(train), train_y, scaler.transform(test), test_y)


# -- training -----------------------------------------------------------------------------------------------------


def _train(data: Data, console: Console) -> dict[str, list[Result]]:
    """Results of every family from the emptiest model to the table's, which is the last one."""
    m, d = data.train.shape
    classes = np.unique(data.train_y).size
    total = (len(data.norms) + 1) * len(PATH) + 1
    _say(console, f"[bold]{data.name}[/bold]: {m} rows, {d} {data.inputs}, {classes} classes; training {total} models")
    found: dict[str, list[Result]] = {}
    columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        for label, models in _families(data):
            bar.update(task, description=f"{label:<20}")
            started = time.perf_counter()
            found[label] = []
            for model in models:
                found[label].append(_measure(label, model, data))
                bar.advance(task)
            if not console.is_terminal:
                _say(console, f"  trained {label} in {time.perf_counter() - started:.1f} s")
    return found


def _families(data: Data) -> Iterator[tuple[str, Iterator[Any]]]:
    """Models of every family, the table's last; ours start from the one before, except the table's, which is timed."""

    def ours(norm: str) -> Iterator[Any]:
        limit = alpha_max(data.train, data.train_y, penalty=norm)
        model = SparseBoostClassifier(penalty=norm, warm_start=True)
        for share in PATH[:-1]:
            yield model.set_params(alpha=share * limit)
        yield SparseBoostClassifier(PATH[-1] * limit, penalty=norm)

    for norm in data.norms:
        yield OURS[norm], ours(norm)
    limit = alpha_max(data.train, data.train_y, penalty="l1")
    yield SAGA, (_saga(1 / (share * limit * len(data.train))) for share in PATH)
    yield RIDGE, iter([LogisticRegression(max_iter=1000)])


def _saga(C: float) -> LogisticRegression:
    """scikit-learn's ℓ1 model: the same objective as ours when C = 1 / (alpha · m)."""
    old = inspect.signature(LogisticRegression).parameters["penalty"].default == "l2"
    norm: dict[str, Any] = {"penalty": "l1"} if old else {"l1_ratio": 1.0}
    return LogisticRegression(C=C, solver="saga", tol=1e-3, max_iter=1000, random_state=0, **norm)


def _measure(label: str, model: Any, data: Data) -> Result:
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table shows the gap
        model.fit(data.train, data.train_y)
    seconds = time.perf_counter() - started
    score = model.decision_function(data.test)
    score = score if score.ndim == 2 else np.stack([-score, score], axis=1)
    return Result(
        label=label,
        accuracy=float(model.score(data.test, data.test_y)),
        coverage=coverage_error(data.test_y, score),
        used=int(np.any(model.coef_ != 0, axis=0).sum()),
        weights=int(np.count_nonzero(model.coef_)),
        gap=getattr(model, "dual_gap_", None),
        seconds=seconds,
        coef=model.coef_,
    )


# -- words --------------------------------------------------------------------------------------------------------


def _table(data: Data, found: dict[str, list[Result]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), collapse_padding=True)
    table.add_column("model", no_wrap=True)
    for name in ("accuracy", "coverage", "inputs\nused", "weights\nin all", "certified\ngap", "seconds"):
        table.add_column(name, justify="right", vertical="bottom")
    total = data.train.shape[1]
    for results in found.values():
        result = results[-1]
        gap = "none" if result.gap is None else f"{result.gap:.1e}"
        cells = (f"{result.accuracy:.1%}", f"{result.coverage:.3f}", f"{result.used} of {total}", f"{result.weights}")
        style = "" if result.gap is None else "bold"
        table.add_row(result.label, *cells, gap, f"{result.seconds:.2f}", style=style)
    return table


def _findings(data: Data, found: dict[str, list[Result]]) -> list[str]:
    """What the numbers say, also where they favour scikit-learn."""
    ours, saga, ridge = found[OURS["l1"]][-1], found[SAGA][-1], found[RIDGE][-1]
    rows, total = data.test_y.size, data.train.shape[1]
    lines = ["With two classes there is one output, and the three norms are the same."]
    if len(data.norms) > 1:
        most = int(0.6 * total)
        small = [max((r.accuracy for r in found[OURS[n]] if r.used <= most), default=0.0) for n in data.norms]
        shares = ", ".join(f"{name} {best:.1%}" for name, best in zip(data.norms.values(), small, strict=True))
        lines = [f"The best with at most {most} of {total} {data.inputs}, anywhere along the paths: {shares}."]
    lines.append(
        f"scikit-learn's ℓ1 (saga, tol=1e-3) minimises the same objective as ours: right on "
        f"{round(saga.accuracy * rows)} of {rows} test rows against {round(ours.accuracy * rows)}, in "
        f"{saga.seconds:.2f} s against {ours.seconds:.2f} s; only ours comes with a proof."
    )
    best = max((results[-1] for label, results in found.items() if label != RIDGE), key=lambda r: r.accuracy)
    ahead = round((ridge.accuracy - best.accuracy) * rows)
    verdict = (
        f"{abs(ahead)} {'more' if ahead > 0 else 'fewer'} of {rows} test rows right than" if ahead else "as many as"
    )
    lines.append(f"Plain ridge uses {ridge.used} of {total} {data.inputs} and gets {verdict} the best sparse model.")
    return lines


# -- the picture --------------------------------------------------------------------------------------------------


def _draw(sets: list[Data], paths: dict[str, dict[str, list[Result]]], file: Path, console: Console) -> Path | None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        _say(console, "No picture: matplotlib is missing; install it with: pip install sparseboost\\[plot]")
        return None
    figure = Figure(figsize=(11.5, 8.4), layout="constrained")
    FigureCanvasAgg(figure)
    parts: Any = figure.subfigures(2, 1, height_ratios=(1.45, 1))
    curves, maps = parts
    for axes, data in zip(curves.subplots(1, len(sets)), sets, strict=True):
        _draw_paths(axes, data, paths[data.name])
    curves.suptitle("How few inputs are enough?", fontsize=15, fontweight="bold")
    _draw_maps(maps, sets[0], paths[sets[0].name])
    figure.savefig(file, dpi=130)
    _say(console, f"Picture: {file}")
    return file


def _draw_paths(axes: Any, data: Data, found: dict[str, list[Result]]) -> None:
    for label, results in found.items():
        colour = COLOURS[label]
        if label == RIDGE:
            axes.axhline(results[-1].accuracy, color=colour, linestyle=":", linewidth=1.2)
            axes.plot(results[-1].used, results[-1].accuracy, "s", color=colour, label=label)
            continue
        line = {"linestyle": "--", "marker": "x", "zorder": 4} if label == SAGA else {"marker": "o", "markersize": 5}
        axes.plot([r.used for r in results], [r.accuracy for r in results], color=colour, label=label, **line)
    axes.set_title(f"{data.name}, {np.unique(data.train_y).size} classes")
    axes.set_xlabel(f"{data.inputs} used, of {data.train.shape[1]}")
    axes.set_ylabel("accuracy on test rows")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlim(left=0)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)


def _draw_maps(figure: Any, data: Data, found: dict[str, list[Result]]) -> None:
    """Which pixels each norm uses, where its path is nearest to a given number of pixels."""
    figure.suptitle(f"Which pixels each norm keeps when it keeps about {PIXELS} (darker: larger weight)")
    for axes, (norm, name) in zip(figure.subplots(1, len(NORMS)), NORMS.items(), strict=True):
        result = min(found[OURS[norm]], key=lambda r: abs(r.used - PIXELS))
        weight = np.abs(result.coef).max(axis=0).reshape(8, 8)
        shown = np.ma.masked_equal(weight / weight.max(), 0)
        axes.imshow(shown, cmap=SHADES[norm], vmin=-0.4, vmax=1.1)
        axes.scatter(*np.nonzero(weight == 0)[::-1], s=6, color="0.8")
        axes.set_title(f"{name}: {result.used} pixels, {result.accuracy:.0%} right", color=COLOURS[OURS[norm]])
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color("0.8")
