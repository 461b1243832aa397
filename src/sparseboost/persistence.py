"""Files for fitted models: loading one cannot run code."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

MODELS = frozenset(
    {
        "sparseboost.estimators.classifier.SparseBoostClassifier",
        "sparseboost.estimators.cv.SparseBoostClassifierCV",
        "sparseboost.estimators.cv.SparseBoostRegressorCV",
        "sparseboost.estimators.functional_classifier.FunctionalBoostClassifier",
        "sparseboost.estimators.functional_ranker.FunctionalBoostRanker",
        "sparseboost.estimators.functional_regressor.FunctionalBoostRegressor",
        "sparseboost.estimators.margin.MarginBoostClassifier",
        "sparseboost.estimators.multiboost.MultiBoostClassifier",
        "sparseboost.estimators.regressor.SparseBoostRegressor",
        "sparseboost.estimators.stagewise.ForwardStagewiseRegressor",
        "sparseboost.estimators.stagewise.FrankWolfeLasso",
        "sparseboost.planning.learner.CostMapLearner",
    }
)
"""The estimators a file may hold."""

PARTS = frozenset(
    {
        "sparseboost.estimators.path.SparsePath",
        "sparseboost.estimators.sparsify.Component",
        "sparseboost.estimators.weak_learners.EstimatorLearner",
        "sparseboost.estimators.weak_learners.LearnedVector",
        "sparseboost.hypotheses.features.Feature",
        "sparseboost.hypotheses.features.Features",
        "sparseboost.hypotheses.fixed.Fixed",
        "sparseboost.hypotheses.kernel.Kernel",
        "sparseboost.hypotheses.kernel.SupportVector",
        "sparseboost.hypotheses.learners.Learned",
        "sparseboost.hypotheses.learners.Learners",
        "sparseboost.hypotheses.learners.Trees",
        "sparseboost.hypotheses.products.Product",
        "sparseboost.hypotheses.products.Products",
        "sparseboost.hypotheses.selection.InformationGain",
        "sparseboost.hypotheses.scaled.Scaled",
        "sparseboost.hypotheses.stump_rules.CategoryStump",
        "sparseboost.hypotheses.stump_rules.Stump",
        "sparseboost.hypotheses.stumps.Stumps",
        "sparseboost.hypotheses.tree.Tree",
        "sparseboost.hypotheses.union.Union",
        "sparseboost.losses.absolute.Absolute",
        "sparseboost.losses.absolute.Huber",
        "sparseboost.losses.eps_insensitive.EpsInsensitive",
        "sparseboost.losses.exponential.Exponential",
        "sparseboost.losses.hinge.Hinge",
        "sparseboost.losses.hinge.MulticlassHinge",
        "sparseboost.losses.logistic.Logistic",
        "sparseboost.losses.pairwise.Pairwise",
        "sparseboost.losses.pairwise.PairwiseLogistic",
        "sparseboost.losses.quantile.Quantile",
        "sparseboost.losses.ranking.RankingHinge",
        "sparseboost.losses.softmax.Softmax",
        "sparseboost.losses.squared.Squared",
        "sparseboost.penalties.l1.L1",
        "sparseboost.penalties.l1_l2.L1L2",
        "sparseboost.penalties.l1_linf.L1Linf",
        "sparseboost.penalties.none.NoPenalty",
        "sparseboost.penalties.ridge.Ridge",
        "sparseboost.penalties.smooth_l1.SmoothL1",
        "sparseboost.solvers.functional.expansion.Expansion",
        "sparseboost.solvers.functional.trees.VectorTree",
        "sparseboost.solvers.functional.trees.VectorTrees",
    }
)
"""What a fitted estimator may be made of, besides numbers, text, lists and arrays."""

TRUSTED = sorted(MODELS | PARTS)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that cannot run code when it is loaded.

    The file appears whole or not at all; an existing file is replaced.

    Parameters
    ----------
    model : SparseBoostClassifier, SparseBoostRegressor or their CV variants
        A fitted model, with its history and stages.
    path : str or path-like
        Where to write; ``.skops`` is the usual suffix.

    Raises
    ------
    ValueError
        If the model holds something a safe file cannot hold, such as functions in `callbacks`.
    """
    skops = _skops()
    if hasattr(model, "to_local"):  # a fit on a cluster: the file holds the ordinary estimator, and needs no Dask
        model = model.to_local()
    if _type_name(model) not in MODELS:
        raise ValueError(
            f"save writes sparseboost models ({_short(MODELS)}); it was given an object of type {type(model).__name__}."
        )
    check_is_fitted(model)
    try:
        content = skops.dumps(model, compression=zipfile.ZIP_DEFLATED)
        strangers = _strangers(skops, content)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"This model holds something a safe file cannot hold ({_first_line(error)}).") from None
    if strangers:
        raise ValueError(
            f"This model holds {strangers[0]}, which a safe file cannot hold; fit it with sparseboost's own parts and "
            f"without callbacks."
        )
    target = Path(path)
    partial = target.with_name(target.name + ".part")
    try:
        partial.write_bytes(content)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Only sparseboost's own types, numbers, text, containers and arrays are built; a file that asks for anything else is
    refused before anything is built.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    SparseBoostClassifier or SparseBoostRegressor
        The fitted model; it predicts what the saved one did.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, is not a sparseboost model, or asks for types that are not trusted.
    """
    skops = _skops()
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model file {os.fspath(path)!r}.")
    content = Path(path).read_bytes()
    try:
        strangers = _strangers(skops, content)
    except Exception as error:  # whatever a damaged file makes the reader say
        raise _not_a_model(path, "it is damaged, or something else wrote it") from error
    if strangers:
        raise _not_a_model(path, f"it asks for {strangers[0]}, which is not trusted")
    try:
        model = skops.loads(content, trusted=TRUSTED)
    except Exception as error:
        raise _not_a_model(path, "it is damaged") from error
    if _type_name(model) not in MODELS:
        raise _not_a_model(path, f"it holds an object of type {type(model).__name__}")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise _not_a_model(path, "its weights are missing") from None
    return model


def _skops() -> ModuleType:
    try:
        import skops.io
    except ImportError:
        raise ImportError("Model files need skops; install it with: pip install sparseboost[cli]") from None
    return skops.io


def _strangers(skops: ModuleType, content: bytes) -> list[str]:
    return [name for name in skops.get_untrusted_types(data=content) if name not in TRUSTED]


def _type_name(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _short(names: frozenset[str]) -> str:
    return ", ".join(sorted(name.rpartition(".")[2] for name in names))


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _not_a_model(path: str | os.PathLike[str], why: str) -> ValueError:
    return ValueError(f"{os.fspath(path)!r} is not a sparseboost model file: {why}.")
