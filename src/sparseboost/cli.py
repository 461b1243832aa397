"""The command line: `sparseboost demo`, `fit`, `predict`, `inspect`, `reproduce`."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

try:
    import typer
    from typer.core import TyperGroup
except ImportError:
    sys.exit("sparseboost: the command line needs typer; install it with: pip install sparseboost[cli]")

import numpy as np

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, alpha_max, load, save
from sparseboost.datasets import check_writable, is_svmlight, read_svmlight, read_table, write_columns

REGRESSION_LOSSES = ("squared", "eps-insensitive", "absolute", "huber")
TASKS = ("auto", "classification", "regression")
NORMS = ("l1", "l1/l2", "l1/linf")
DEFAULT_RATIO = 0.05
MOST_CLASSES = 20  # whole numbers with more values than this are amounts, not classes


class OneSentence(TyperGroup):
    """A command group whose errors are one sentence on stderr and exit code 2."""

    def main(self, args: Any = None, *positional: Any, **extra: Any) -> Any:
        """Run the command and leave the process with its exit code."""
        extra["standalone_mode"] = False
        arguments = list(sys.argv[1:] if args is None else args) or ["--help"]
        try:
            with _short_warnings():
                sys.exit(super().main(arguments, *positional, **extra) or 0)
        except (KeyboardInterrupt, typer.Abort):
            sys.exit(130)
        except Exception as error:
            if os.environ.get("SPARSEBOOST_DEBUG"):
                raise
            typer.echo(f"sparseboost: {_sentence(error)}", err=True)
            sys.exit(2)


app = typer.Typer(
    cls=OneSentence,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Small models with proof: learn from a table with few inputs, and a certificate of how good the fit is.",
    epilog="Tables are CSV, Parquet (.csv, .csv.gz, .parquet) or svmlight files (.svm, .svmlight, .libsvm, .txt).",
)

Data = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV, Parquet or svmlight table.", show_default=False)]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `fit` wrote.", show_default=False)]
Targets = Annotated[
    list[str] | None,
    typer.Option("--target", "-t", metavar="NAME", help="Column to predict; repeat it for several. Not for svmlight."),
]


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the picture.")] = Path(
        "demo"
    ),
) -> None:
    """Train on two embedded data sets, compare with scikit-learn, draw a picture. Takes half a minute."""
    from sparseboost.demo import run

    run(output)


@app.command()
def fit(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="File for the model.")],
    target: Targets = None,
    task: Annotated[
        str,
        typer.Option(
            metavar="TASK",
            help=f"classification, regression or auto: text, flags and up to {MOST_CLASSES} whole numbers are classes.",
        ),
    ] = "auto",
    penalty: Annotated[
        str, typer.Option(metavar="NORM", help="l1, l1/l2, l1/linf, l2 (squared ridge), smooth-l1 or none.")
    ] = "l1/l2",
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="LOSS",
            help="logistic or exponential; squared, eps-insensitive, absolute or huber.",
            show_default="logistic or squared",
        ),
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Strength of the penalty.", show_default=False)] = None,
    alpha_ratio: Annotated[
        float | None,
        typer.Option(
            help="Strength as a share of alpha_max, where the model is empty.", show_default=str(DEFAULT_RATIO)
        ),
    ] = None,
    hypotheses: Annotated[
        str, typer.Option(metavar="SPACE", help="What is weighed: features, stumps, products or trees.")
    ] = "features",
    update: Annotated[str, typer.Option(metavar="NAME", help="auto, adaboost or gradboost.")] = "auto",
    positive: Annotated[bool, typer.Option("--positive", help="Allow weights >= 0 only.")] = False,
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Do not learn an intercept.")] = False,
    standardize: Annotated[
        bool, typer.Option(help="Compare inputs as if each had standard deviation 1; weights stay on their scale.")
    ] = True,
    tol: Annotated[float, typer.Option(help="Stop at this duality gap, relative to the empty model.")] = 1e-4,
    max_features: Annotated[
        int | None, typer.Option(help="Stop when this many inputs are used.", show_default=False)
    ] = None,
    max_rounds: Annotated[int, typer.Option(help="Most boosting rounds.")] = 1000,
    time_budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop after this time.", show_default=False)
    ] = None,
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="Progress bar; twice: a line per round.")
    ] = 0,
) -> None:
    """Fit a model to a table and write it to a file.

    Example: sparseboost fit train.csv --target price -o model.skops
    """
    check_writable(output)
    X, y, table = _training_data(data, list(target or []))
    kind = _task(task, loss, y)
    parameters: dict[str, Any] = {
        "penalty": None if penalty == "none" else penalty,
        "loss": loss or ("logistic" if kind == "classification" else "squared"),
        "positive": positive,
        "fit_intercept": not no_intercept,
        "standardize": standardize and penalty not in ("none", "smooth-l1") and hypotheses == "features",
        "hypotheses": hypotheses,
    }
    family = SparseBoostClassifier if kind == "classification" else SparseBoostRegressor
    strength = _alpha(alpha, alpha_ratio, X, y, parameters)
    model = family(
        strength, update=update, tol=tol, max_features=max_features, max_rounds=max_rounds, time_budget=time_budget,
        verbose=verbose, **parameters,
    )  # fmt: skip
    typer.echo(f"{data}: {X.shape[0]} rows, {X.shape[1]} inputs, {_described(kind, y)}")
    started = time.perf_counter()
    model.fit(X, y)
    model.table_ = table
    typer.echo(model.summary().split("\n\n")[0])
    typer.echo(f"  {_score(model, X, y)} on these rows, fitted in {time.perf_counter() - started:.1f} s")
    save(model.set_params(verbose=0), output)
    typer.echo(f"wrote {output}; see it with: sparseboost inspect {output}")


@app.command()
def predict(
    model: ModelFile,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", help="CSV for the predictions.", show_default="stdout"),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities, one column per class.")] = False,
    target: Targets = None,
) -> None:
    """Predict for a table, with the columns of the training table.

    If the target is among the columns it is not used, and the accuracy or R² is printed.
    """
    if output is not None:
        check_writable(output)
    fitted = load(model)
    if proba and not hasattr(fitted, "predict_proba"):
        raise ValueError("--proba is for classification, and this model is a regression.")
    table = getattr(fitted, "table_", {"targets": [], "zero_based": None})
    names = list(target or table["targets"])
    X: Any
    y: np.ndarray | None
    if is_svmlight(data):
        X, y, _ = read_svmlight(data, zero_based=table["zero_based"], n_features=fitted.n_features_in_)
    else:
        X, y = read_table(data, names, optional=not target)
    values = fitted.predict_proba(X) if proba else fitted.predict(X)
    write_columns(output, _header(fitted, names, values, proba), values)
    if y is not None:
        typer.echo(f"{_score(fitted, X, y)} on {X.shape[0]} rows", err=output is None)
    if output is not None:
        typer.echo(f"wrote {output}")


@app.command()
def inspect(model: ModelFile) -> None:
    """Print what a model uses, its weights, and its certificate."""
    fitted = load(model)
    typer.echo(fitted.summary())
    targets = getattr(fitted, "table_", {"targets": []})["targets"]
    empty = abs(fitted.history_[0]["objective"])
    reached = fitted.dual_gap_ / empty if empty > 0 else 0.0
    typer.echo("")
    if targets:
        typer.echo(f"predicts {', '.join(targets)}")
    typer.echo(
        f"certificate: no model of this kind has an objective below {fitted.objective_ - fitted.dual_gap_:.8g}; this "
        f"one has {fitted.objective_:.8g} (gap {fitted.dual_gap_:.2g}, {reached:.2g} of the first objective; "
        f"tol {fitted.tol:g} {'reached' if fitted.converged_ else 'not reached'})"
    )


def main() -> None:
    """Entry point of the `sparseboost` script."""
    app()


@app.command()
def reproduce(
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="For example xi2009.", show_default=False)],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of data sets.", show_default="SPARSEBOOST_DATA")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for pictures.")] = Path(
        "reproduced"
    ),
    repetitions: Annotated[
        int | None, typer.Option(min=1, help="How often to repeat.", show_default="as in the paper")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small part of the work, to see that it runs.")] = False,
    peers: Annotated[
        Path | None,
        typer.Option(metavar="PYTHON", help="Interpreter with the libraries compared with.", show_default="this one"),
    ] = None,
) -> None:
    """Run a paper's experiment: our numbers beside the paper's, and its figures.

    Example: sparseboost reproduce xi2009 --data folder
    """
    from sparseboost.papers import Options
    from sparseboost.papers import reproduce as run

    run(experiment, Options(output, data, repetitions, quick, peers))


# -- data in -----------------------------------------------------------------------------------------------------


def _training_data(data: Path, names: list[str]) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Inputs, targets, and what `predict` must remember of the table."""
    if is_svmlight(data) and not names:
        X, y, zero_based = read_svmlight(data)
        return X, y, {"targets": [], "zero_based": zero_based}
    X, found = read_table(data, names)
    if found is None:
        raise ValueError(f"Name the column to predict with --target; the columns are {', '.join(X.columns[:20])}.")
    return X, found, {"targets": names, "zero_based": None}


def _task(task: str, loss: str | None, y: np.ndarray) -> str:
    if task not in TASKS:
        raise ValueError(f"--task must be one of {', '.join(TASKS)}, got {task!r}.")
    if task != "auto":
        return task
    if loss is not None:
        return "regression" if loss in REGRESSION_LOSSES else "classification"
    if y.ndim == 2:
        return "classification" if np.isin(y, (0, 1)).all() else "regression"
    if y.dtype.kind not in "iuf":
        return "classification"
    values = np.unique(y)
    discrete = values.size <= MOST_CLASSES and np.array_equal(values, np.round(values))
    return "classification" if discrete else "regression"


def _alpha(alpha: float | None, ratio: float | None, X: Any, y: np.ndarray, parameters: dict[str, Any]) -> float:
    if alpha is not None and ratio is not None:
        raise ValueError("Give --alpha or --alpha-ratio, not both.")
    if alpha is not None:
        return alpha
    if ratio is None:
        if parameters["penalty"] not in NORMS:
            return 0.01
        ratio = DEFAULT_RATIO
    if not 0 <= ratio < float("inf"):
        raise ValueError(f"--alpha-ratio must be a number >= 0, got {ratio}.")
    return ratio * alpha_max(X, y, **parameters)


# -- words and numbers out ---------------------------------------------------------------------------------------


def _described(kind: str, y: np.ndarray) -> str:
    if y.ndim == 2:
        return f"{y.shape[1]} {'labels' if kind == 'classification' else 'targets'}"
    return f"classification into {np.unique(y).size} classes" if kind == "classification" else "regression"


def _score(model: Any, X: Any, y: np.ndarray) -> str:
    name = "accuracy" if hasattr(model, "predict_proba") else "R²"
    try:
        return f"{name} {model.score(X, y):.4f}"
    except (ValueError, TypeError) as error:
        return f"no {name} ({_sentence(error)})"


def _header(model: Any, names: list[str], values: np.ndarray, proba: bool) -> list[str]:
    if proba and len(names) != values.shape[1]:
        return [str(label) for label in model.classes_]
    width = 1 if values.ndim == 1 else values.shape[1]
    return names if len(names) == width else ["prediction"] if width == 1 else [f"output {r}" for r in range(width)]


def _sentence(error: BaseException) -> str:
    describe = getattr(error, "format_message", None)  # what typer says about wrong options
    text = describe() if describe else str(error)
    lines = text.strip().splitlines()
    known = isinstance(error, (ValueError, TypeError, OSError, ImportError)) or describe
    first = lines[0].rstrip(":") if lines else type(error).__name__
    return first if known else f"unexpected {type(error).__name__}: {first} (SPARSEBOOST_DEBUG=1 shows where)."


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Warnings as one line on stderr."""
    with warnings.catch_warnings():

        def show(message: Warning | str, *_: Any, **__: Any) -> None:
            typer.echo(f"sparseboost: warning: {str(message).strip().splitlines()[0]}", err=True)

        warnings.showwarning = show
        yield
