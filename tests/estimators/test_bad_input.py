"""What is refused: the type of the complaint, its words, and that the estimator is left exactly as it was.

Every complaint is one sentence that says what would be right, or scikit-learn's own short one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, alpha_max
from sparseboost.losses import EpsInsensitive, Huber, Logistic, Softmax

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = (X[:, 0] + 0.3 * RNG.normal(size=30) > 0).astype(int)
Y3 = np.digitize(X[:, 0], [-0.5, 0.5])
LABELS = np.column_stack([Y, X[:, 1] > 0]).astype(int)
REAL = X @ [1.0, -2.0, 0.0, 0.0] + 0.1 * RNG.normal(size=30)
WEIGHT = np.ones(30)


def changed(array: Any, where: Any, value: Any, dtype: Any = float) -> Any:
    array = np.array(array, dtype=dtype)
    array[where] = value
    return array


@dataclass
class Case:
    """fit(X, y, sample_weight) of family(**settings) must raise `error` with a message like `pattern`."""

    name: str
    pattern: str
    error: type[Exception] = ValueError
    family: Any = SparseBoostClassifier
    X: Any = None
    y: Any = None
    weight: Any = None
    settings: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.X = X if self.X is None else self.X
        if self.y is None:
            self.y = REAL if self.family is SparseBoostRegressor else Y


def setting(parameter: str, value: Any, pattern: str, error: type[Exception] = ValueError, **more: Any) -> Case:
    shown = repr(value) if np.isscalar(value) or value is None else type(value).__name__
    return Case(f"{parameter}={shown}", pattern, error, settings={parameter: value}, **more)


THEIRS = "|".join(
    [
        "Feature names are only",
        "Sample weights must be 1D",
        "scikit-learn",
        "sklearn",
        "NaN",
        "infinity",
        "Reshape",
        "minimum",
        "inhomogeneous",
        "numpy",
        "dim",
        "Unknown label",
    ]
)
NONE = object()  # stands for None where None means "the default"
R = SparseBoostRegressor
UNKNOWN = r"must be one of '.*got 'nonsense'"
CASES = [
    # X
    Case("X NaN", "NaN", X=changed(X, (2, 1), np.nan)),
    Case("X inf", "infinity", X=changed(X, (2, 1), np.inf)),
    Case("X sparse NaN", "NaN", X=sp.csr_array(changed(X, (2, 1), np.nan))),
    Case("X sparse inf", "infinity", X=sp.csc_array(changed(X, (2, 1), np.inf))),
    Case("X pandas NaN", "NaN", X=pd.DataFrame(changed(X, (2, 1), np.nan))),
    Case("X polars null", "NaN|null|None", X=pl.DataFrame({"a": [1.0, None] * 15, "b": [1.0] * 30})),
    Case("X complex", "[Cc]omplex data not supported", X=X.astype(complex)),
    Case("X 3-D", "expected.*2|dim 3", X=X.reshape(30, 2, 2)),
    Case("X 1-D", "Reshape your data|2D array", X=X[:, 0]),
    Case("X 0-D", "2D array|scalar", X=np.float64(3.0)),
    Case("X dict", "X must be.*dict", TypeError, X={"a": list(range(30)), "b": list(range(30))}),
    Case("X None", "X must be.*None", TypeError, X=NONE),
    Case("X string", "X must be.*'data.csv'", TypeError, X="data.csv"),
    Case("X no rows", "0 sample|minimum of 1", X=X[:0], y=Y[:0]),
    Case("X no columns", "0 feature", X=X[:, :0]),
    Case("X rows differ", "inconsistent numbers of samples", X=X[:20]),
    Case("X ragged", "inhomogeneous|sequence|numbers only", X=[[1.0, 2.0], [3.0]] * 15),
    Case("X text array", "numbers only.*OneHotEncoder", X=np.array([["a", "b"]] * 30)),
    Case("X text object", "numbers only.*OneHotEncoder", X=np.array([[1.0, "b"]] * 30, dtype=object)),
    Case("X text pandas", "numbers only.*OneHotEncoder", X=pd.DataFrame({"age": X[:, 0], "town": ["x"] * 30})),
    Case(
        "X category pandas",
        "numbers only.*OneHotEncoder",
        X=pd.DataFrame({"age": X[:, 0], "town": pd.Categorical(["x", "y"] * 15)}),
    ),
    Case("X text polars", "numbers only.*OneHotEncoder", X=pl.DataFrame({"age": X[:, 0], "town": ["x"] * 30})),
    Case("X of dicts", "numbers only", TypeError, X=np.array([[{"a": 1}, 2.0]] * 30, dtype=object)),
    Case("X dates", "numbers only", X=pd.DataFrame({"a": pd.date_range("2020", periods=30), "b": X[:, 0]})),
    Case("X only dates", "numbers only|datetime", X=pd.DataFrame({"a": pd.date_range("2020", periods=30)})),
    Case("X date array", "numbers only|datetime", X=np.full((30, 2), np.datetime64("2020-01-01"))),
    Case("X text list", "numbers only.*OneHotEncoder", X=[["a", "b"]] * 30),
    Case("X mixed column labels", "string|names", TypeError, X=pd.DataFrame(X, columns=["a", "b", 2, 3])),
    # y of the classifier
    Case("y one class", "at least two classes.*one class", y=np.ones(30)),
    Case("y one text class", "at least two classes.*'yes'", y=np.array(["yes"] * 30)),
    Case("y continuous", "[Uu]nknown label type|continuous", y=REAL),
    Case("y NaN", "NaN", y=changed(Y, 3, np.nan)),
    Case("y inf", "infinity", y=changed(Y, 3, np.inf)),
    Case("y None label", "None|[Uu]nknown label|NaN", y=changed(Y, 3, None, object)),
    Case("y missing", "requires y|y cannot be None", y=NONE),
    Case("y length", "inconsistent numbers of samples", y=Y[:20]),
    Case("y many columns of classes", "0/1 indicator.*MultiOutputClassifier", y=np.column_stack([Y3, Y3])),
    Case("y 3-D", "2|dim", y=np.zeros((30, 2, 2), int)),
    Case("y mixed labels", "label|str|[Uu]nknown", (ValueError, TypeError), y=changed(Y, 3, "a", object)),
    Case("y empty", "0 sample|inconsistent", y=[]),
    # y of the regressor
    Case("y text for regressor", "could not convert|numbers", family=R, y=np.array(["a", "b"] * 15)),
    Case("y NaN for regressor", "NaN", family=R, y=changed(REAL, 3, np.nan)),
    Case("y inf for regressor", "infinity", family=R, y=changed(REAL, 3, np.inf)),
    Case("y complex for regressor", "[Cc]omplex", family=R, y=REAL.astype(complex)),
    Case("y missing for regressor", "requires y|y cannot be None", family=R, y=NONE),
    Case("y 3-D for regressor", "2|dim", family=R, y=np.zeros((30, 2, 2))),
    Case("y without columns", "at least one column|0 feature|column", family=R, y=np.zeros((30, 0))),
    # sample_weight
    Case("weight negative", "[Nn]egative", weight=changed(WEIGHT, 3, -1.0)),
    Case("weight NaN", "NaN", weight=changed(WEIGHT, 3, np.nan)),
    Case("weight inf", "infinity", weight=changed(WEIGHT, 3, np.inf)),
    Case("weight zero", "positive|zero", weight=np.zeros(30)),
    Case("weight length", r"sample_weight.shape|\(20,\)", weight=WEIGHT[:20]),
    Case("weight 2-D", "1D|2-D|2D", weight=np.ones((30, 1))),
    Case("weight text", "could not convert|numbers", weight=["a"] * 30),
    # numbers
    setting("alpha", -1.0, r"alpha must be a finite number >= 0, got -1\.0"),
    setting("alpha", np.nan, "alpha must be a finite number >= 0, got nan"),
    setting("alpha", np.inf, "alpha must be a finite number >= 0, got inf"),
    setting("alpha", "0.1", "alpha must be a finite number >= 0, got '0.1'", TypeError),
    setting("alpha", True, "alpha must be a finite number >= 0, got True", TypeError),
    setting("alpha", None, "alpha must be a finite number >= 0, got None", TypeError),
    setting("alpha", [0.1], r"alpha must be a finite number >= 0, got \[0.1\]", TypeError),
    setting("tol", -1e-3, "tol must be a finite number >= 0"),
    setting("tol", "small", "tol must be a finite number >= 0, got 'small'", TypeError),
    setting("max_rounds", -1, "max_rounds must be an integer >= 0, got -1"),
    setting("max_rounds", 2.5, "max_rounds must be an integer >= 0, got 2.5", TypeError),
    setting("max_rounds", None, "max_rounds must be an integer >= 0, got None", TypeError),
    setting("max_features", 0, "max_features must be an integer >= 1 or None, got 0"),
    setting("max_features", "sqrt", "max_features must be an integer >= 1 or None", TypeError),
    setting("time_budget", 0, "time_budget must be a finite number > 0 or None, got 0"),
    setting("time_budget", -5, "time_budget must be a finite number > 0 or None"),
    setting("time_budget", "1h", "time_budget must be a finite number > 0 or None", TypeError),
    setting("verbose", -1, "verbose must be an integer >= 0, got -1"),
    setting("verbose", "loud", "verbose must be an integer >= 0, got 'loud'", TypeError),
    setting("n_jobs", 0, "n_jobs must be"),
    setting("n_jobs", "many", "n_jobs must be", TypeError),
    setting("n_jobs", 1.5, "n_jobs must be", TypeError),
    setting("random_state", "seed", "random_state|seed"),
    setting("induce", 0, "induce must be an integer >= 1"),
    setting("induce", "all", "induce must be an integer >= 1 or 'auto', got 'all'"),
    setting("induce", 1.5, "induce must be an integer >= 1", TypeError),
    # flags and names
    setting("positive", "yes", "positive must be True or False, got 'yes'", TypeError),
    setting("fit_intercept", 1.0, "fit_intercept must be True or False", TypeError),
    setting("warm_start", None, "warm_start must be True or False", TypeError),
    setting("corrective", "often", "corrective must be True, False or 'alternate', got 'often'"),
    setting("corrective", np.ones(2), "corrective must be True, False or 'alternate'"),
    setting("penalty", "nonsense", f"penalty {UNKNOWN}"),
    setting("penalty", 3, "penalty must be one of .* or a Penalty object, got 3", TypeError),
    setting("penalty", np.ones(2), "penalty must be one of .* or a Penalty object", TypeError),
    setting("loss", "nonsense", f"loss {UNKNOWN}"),
    setting("loss", "squared", "loss must be one of 'logistic', 'exponential'.*got 'squared'"),
    setting("loss", 3, "loss must be one of"),
    setting("loss", None, "loss must be one of"),
    setting("loss", Softmax(4), "Softmax.*does not fit|3 classes", y=Y3),
    setting("loss", Softmax(3), "does not fit this y"),
    setting("loss", Huber(), "Huber.*is for regression"),
    setting("loss", EpsInsensitive(), "EpsInsensitive"),
    setting("loss", "nonsense", f"loss {UNKNOWN}", family=R),
    setting("loss", "logistic", "loss must be one of 'squared'.*got 'logistic'", family=R),
    setting("loss", Logistic(), "Logistic.*(regress|classif)", family=R),
    setting("loss", None, "loss must be one of .* or a Loss object", TypeError, family=R),
    setting("update", "nonsense", f"update {UNKNOWN}"),
    setting("update", None, "update must be one of"),
    setting("hypotheses", "nonsense", "hypotheses must be one of 'features'.*got 'nonsense'"),
    setting("hypotheses", None, "hypotheses must be"),
    setting("hypotheses", np.ones(3), "hypotheses must be"),
    setting("class_weight", "nonsense", "class_weight.*'balanced'"),
    setting("class_weight", 3, "class_weight", (TypeError, ValueError)),
    setting("class_weight", {7: 1.0}, "class_weight|classes"),
    setting("class_weight", {0: -1.0}, "class_weight"),
    setting("callbacks", [3], "callbacks must be a list of functions", TypeError),
    setting("callbacks", print, "callbacks must be a list of functions", TypeError),
    # costs and templates
    setting("feature_costs", np.ones(3), r"feature_costs must have one cost per feature \(4\), got shape \(3,\)"),
    setting("feature_costs", [1.0, 0.0, 1.0, 1.0], "feature_costs must be finite and greater than 0"),
    setting("feature_costs", [1.0, np.nan, 1.0, 1.0], "feature_costs must be finite and greater than 0"),
    setting("feature_costs", {"age": 2.0}, "feature_costs by name needs X with column names"),
    setting("feature_costs", {"town": 2.0}, "'town', which is not a column", X=pd.DataFrame(X, columns=list("abcd"))),
    setting("feature_costs", {"a": "dear"}, "feature_costs must be", X=pd.DataFrame(X, columns=list("abcd"))),
    setting("feature_costs", "cheap", "feature_costs must be"),
    setting("feature_costs", ["a"] * 4, "feature_costs must be"),
    setting("template", "nonsense", f"template {UNKNOWN}"),
    setting("template", np.ones(3), "template must be .*array of 4 finite entries >= 0"),
    setting("template", -np.ones(4), "template must be .*array of 4 finite entries >= 0"),
    setting("template", None, "template must be .*array of 4 finite entries >= 0"),
    Case(
        "template too large for adaboost",
        "template is too large for update='adaboost'.*divide the template by",
        settings={"template": np.full(4, 100.0), "update": "adaboost"},
    ),
    Case(
        "template too large for gradboost",
        "template is too large for update='gradboost'.*divide the template by",
        settings={"template": np.full(4, 100.0), "update": "gradboost"},
    ),
    Case("labels of two kinds of yes", "1 where a label applies and 0 or -1 elsewhere, not 4 and 1", y=1 + 3 * LABELS),
    Case("labels of two kinds of no", "1 where a label applies and 0 or -1 elsewhere, not 0 and -1", y=-LABELS),
    # combinations without an update
    Case("adaboost l1/l2 multiclass", "gradboost.*'l1/linf'", y=Y3, settings={"update": "adaboost"}),
    Case("adaboost l1/l2 multilabel", "gradboost.*'l1/linf'", y=LABELS, settings={"update": "adaboost"}),
    Case("adaboost squared", "update='gradboost'", family=R, settings={"update": "adaboost"}),
    Case("adaboost huber", "update='gradboost'", family=R, settings={"update": "adaboost", "loss": "huber"}),
    Case("adaboost absolute", "update='gradboost'", family=R, settings={"update": "adaboost", "loss": "absolute"}),
    Case("adaboost ridge", "gradboost", settings={"update": "adaboost", "penalty": "l2"}),
    Case("gradboost exponential", "update='adaboost'", settings={"update": "gradboost", "loss": "exponential"}),
    Case("exponential multiclass", "3 classes.*loss='logistic'", y=Y3, settings={"loss": "exponential"}),
]


def one_sentence(message: str) -> bool:
    """No full stop before the end (dots inside numbers and file names are fine), and short."""
    return len(re.findall(r"[.!?](?=\s+[A-Z])", message)) == 0 and len(message) <= 300


def state(model: Any) -> dict[str, Any]:
    return dict(vars(model))


def same(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return before.keys() == after.keys() and all(before[key] is after[key] for key in before)


def complaint(case: Case, fitted: bool) -> str:
    model = case.family()
    if fitted:
        model.fit(X, REAL if case.family is R else Y)
    model.set_params(**(case.settings or {}))
    before = state(model)
    arguments = [None if part is NONE else part for part in (case.X, case.y)]
    with pytest.raises(case.error) as caught:
        model.fit(*arguments, sample_weight=case.weight)
    assert type(caught.value) in (case.error if isinstance(case.error, tuple) else (case.error,))
    assert same(before, state(model)), "a failed fit changed the estimator"
    return str(caught.value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fit_refuses(case: Case) -> None:
    message = complaint(case, fitted=False)
    assert re.search(case.pattern, message, flags=re.DOTALL), message
    # scikit-learn's own messages may be longer than a sentence; ours may not
    assert re.search(THEIRS, message) or one_sentence(message), message
    assert complaint(case, fitted=True) == message


FITTED: dict[str, Callable[[], Any]] = {
    "classifier": lambda: SparseBoostClassifier().fit(X, Y),
    "regressor": lambda: SparseBoostRegressor().fit(X, REAL),
    "frame": lambda: SparseBoostClassifier().fit(pd.DataFrame(X, columns=list("abcd")), Y),
}
USES = ["predict", "predict_proba", "decision_function", "transform", "staged_decision_function", "staged_predict"]


def use(model: Any, method: str, data: Any) -> Any:
    result = getattr(model, method)(data)
    return next(iter(result)) if method.startswith("staged") else result


@pytest.mark.parametrize("method", USES)
@pytest.mark.parametrize("which", FITTED)
def test_use_refuses(which: str, method: str) -> None:
    model = FITTED[which]()
    if not hasattr(model, method):
        return
    before = state(model)
    for data, pattern in [
        (X[:, :3], "3 features.*expecting 4|4 features"),
        (changed(X, (1, 1), np.nan), "NaN"),
        (X[0], "Reshape|2D"),
        (X.reshape(30, 2, 2), "dim|2"),
        (np.array([["a"] * 4] * 3), "numbers only"),
        (None, "X must be.*None"),
    ]:
        with pytest.raises((ValueError, TypeError), match=pattern):
            use(model, method, data)
    assert same(before, state(model))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        use(type(model)(), method, X)


def test_unfitted_refuses() -> None:
    for model in (SparseBoostClassifier(), SparseBoostRegressor()):
        for method in ("get_support", "get_feature_names_out", "summary"):
            with pytest.raises(NotFittedError, match="not fitted yet"):
                getattr(model, method)()


@pytest.mark.parametrize(
    ("settings", "pattern"),
    [
        ({"penalty": "l2"}, "never empties the model"),
        ({"penalty": None}, "never empties the model"),
        ({"loss": "nonsense"}, "loss must be one of"),
        ({"nonsense": 3}, "nonsense"),
        ({"sample_weight": np.zeros(30)}, "positive|zero"),
    ],
)
def test_alpha_max_refuses(settings: dict[str, Any], pattern: str) -> None:
    with pytest.raises((ValueError, TypeError), match=pattern):
        alpha_max(X, Y, **settings)


def test_table_is_long_enough() -> None:
    assert len(CASES) >= 45
    assert len({case.name for case in CASES}) >= 45
