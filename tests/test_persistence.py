"""Saved models: the same predictions, and no way to smuggle code."""

import builtins
import inspect
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import sparseboost
from sparseboost import SparseBoostClassifier, SparseBoostRegressor, hypotheses, losses, penalties, persistence
from sparseboost.losses import EpsInsensitive, Huber
from sparseboost.penalties import L1Linf
from sparseboost.persistence import load, save

pytest.importorskip("skops")


def models():
    X, y = load_iris(return_X_y=True, as_frame=True)
    yield "multiclass, names", SparseBoostClassifier(alpha=0.02).fit(X, y), X
    yield "text classes", SparseBoostClassifier(alpha=0.02).fit(X, np.array(["a", "bb", "c"])[y]), X
    labels = np.stack([y == 0, y == 2], axis=1).astype(int)
    yield "multi-label", SparseBoostClassifier(alpha=0.02, penalty=L1Linf()).fit(X.to_numpy(), labels), X.to_numpy()
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    yield "binary", SparseBoostClassifier(alpha=0.05, class_weight={0: 1.0, 1: 2.0}).fit(X, y), X
    X, y = load_diabetes(return_X_y=True)
    yield "tube", SparseBoostRegressor(alpha=0.02, loss=EpsInsensitive(eps=0.5), penalty=L1Linf()).fit(X, y), X
    both = np.stack([y, -y], axis=1)
    yield (
        "two outputs",
        SparseBoostRegressor(alpha=1.0, loss=Huber(delta=5.0), hypotheses=hypotheses.Features()).fit(X, both),
        X,
    )


@pytest.fixture(scope="module", params=list(models()), ids=lambda case: case[0])
def case(request):
    return request.param[1:]


@pytest.fixture
def saved(tmp_path):
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "model.skops"
    save(SparseBoostClassifier(alpha=0.05).fit(X, y), path)
    return path


def rewrite(path, change):
    """Change the description inside a model file."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(parts["schema.json"])
    change(schema)
    parts["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_loaded_model_is_the_saved_one(case, tmp_path):
    model, X = case
    path = tmp_path / "model.skops"
    save(model, path)
    again = load(path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.predict(X).dtype == model.predict(X).dtype
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        staged = "staged_decision_function"
    else:
        staged = "staged_predict"
    stages = list(getattr(model, staged)(X))
    for one, other in zip(getattr(again, staged)(X), stages, strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.summary() == model.summary()
    assert again.history_ == model.history_
    assert [repr(h) for h in again.hypotheses_] == [repr(h) for h in model.hypotheses_]
    assert str(again.get_params()) == str(model.get_params())
    assert [p.name for p in tmp_path.iterdir()] == ["model.skops"]


def test_loaded_model_still_checks_column_order(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    save(SparseBoostClassifier(alpha=0.05).fit(X, y), tmp_path / "m.skops")
    with pytest.raises(ValueError, match="another order"):
        load(tmp_path / "m.skops").predict(X[X.columns[::-1]])


def test_loaded_model_can_be_fitted_again(saved):
    X, y = load_iris(return_X_y=True)
    model = load(saved)
    before = model.coef_.copy()
    np.testing.assert_array_equal(model.fit(X, y).coef_, before)


def test_foreign_types_are_refused(saved):
    def smuggle(schema):
        schema["__class__"], schema["__module__"] = "Popen", "subprocess"

    rewrite(saved, smuggle)
    with pytest.raises(ValueError, match=r"^'.*' is not a sparseboost model file: it asks for .*Popen.*not trusted\.$"):
        load(saved)


class Bomb:
    """Runs code when a reader that trusts it builds it."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __setstate__(self, state):
        Path(state["mark"]).touch()


def test_code_is_not_run(saved, tmp_path):
    import skops.io

    mark = tmp_path / "ran"
    model = load(saved)
    model.tol = Bomb(mark)
    content = skops.io.dumps(model)
    skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))
    assert mark.exists()  # the attack works on a reader that trusts what the file asks for
    mark.unlink()
    saved.write_bytes(content)
    with pytest.raises(ValueError, match=r"it asks for .*Bomb, which is not trusted"):
        load(saved)
    assert not mark.exists()


def test_scikit_learn_file_is_refused(tmp_path):
    import skops.io

    X, y = load_iris(return_X_y=True)
    skops.io.dump(LogisticRegression(max_iter=500).fit(X, y), tmp_path / "m.skops")
    with pytest.raises(ValueError, match="holds an object of type LogisticRegression"):
        load(tmp_path / "m.skops")


def test_unfitted_file_is_refused(tmp_path):
    import skops.io

    skops.io.dump(SparseBoostClassifier(), tmp_path / "m.skops")
    with pytest.raises(ValueError, match="weights are missing"):
        load(tmp_path / "m.skops")


@pytest.mark.parametrize("content", [b"", b"hello", pickle.dumps([1, 2]), b"PK\x03\x04 nothing"])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "m.skops"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a sparseboost model file: [^\n]*\.$"):
        load(path)


def test_truncated_file_is_refused(saved):
    saved.write_bytes(saved.read_bytes()[:-200])
    with pytest.raises(ValueError, match="is not a sparseboost model file"):
        load(saved)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no model file"):
        load(tmp_path / "none.skops")


def test_save_refuses_what_it_could_not_load(tmp_path):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        save(SparseBoostClassifier(), tmp_path / "m.skops")
    with pytest.raises(ValueError, match="LogisticRegression"):
        save(LogisticRegression(), tmp_path / "m.skops")
    model = SparseBoostClassifier(alpha=0.1, callbacks=[print]).fit(X, y)
    with pytest.raises(ValueError, match=r"builtins.print.*without callbacks"):
        save(model, tmp_path / "m.skops")
    with pytest.raises(ValueError, match="a safe file cannot hold"):
        save(model.set_params(callbacks=[lambda record: None]), tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []
    save(model.set_params(callbacks=None), tmp_path / "m.skops")


def test_missing_skops_says_what_to_install(monkeypatch, tmp_path):
    real = builtins.__import__

    def without_skops(name, *args, **kwargs):
        if name.startswith("skops"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_skops)
    with pytest.raises(ImportError, match=r"pip install sparseboost\[cli\]"):
        load(tmp_path / "m.skops")


def test_frames_with_unusual_labels(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=[0, 1])
    y = (X[0] > 0).to_numpy()
    model = SparseBoostClassifier(alpha=0.01).fit(X, y)
    save(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(load(tmp_path / "m.skops").predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("module", "base"),
    [(losses, losses.Loss), (penalties, penalties.Penalty), (hypotheses, hypotheses.HypothesisSpace),
     (hypotheses, hypotheses.Hypothesis)],
)  # fmt: skip
def test_every_component_is_listed(module, base):
    """Who adds a component adds it to `persistence.PARTS`; models with it could not be loaded otherwise."""
    names = {
        f"{part.__module__}.{part.__qualname__}"
        for part in (getattr(module, name) for name in module.__all__)
        if inspect.isclass(part) and issubclass(part, base) and not inspect.isabstract(part)
    }
    assert names
    assert names <= set(persistence.TRUSTED)


def test_trust_is_sparseboost_only():
    for name in persistence.TRUSTED:
        module, _, attribute = name.rpartition(".")
        assert module.startswith("sparseboost.")
        assert inspect.isclass(getattr(__import__(module, fromlist=[attribute]), attribute))


@pytest.mark.parametrize("criterion", ["cv", "ebic"])
def test_models_that_chose_their_alpha(tmp_path, criterion):
    X, y = load_iris(return_X_y=True)
    model = sparseboost.SparseBoostClassifierCV(alphas=4, cv=2, criterion=criterion).fit(X, y)
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.path_.coefs, model.path_.coefs)
    assert again.alpha_ == model.alpha_


def test_every_estimator_is_listed():
    for name in sparseboost.estimators.__all__:
        part = getattr(sparseboost.estimators, name)
        if inspect.isclass(part):
            assert f"{part.__module__}.{part.__qualname__}" in persistence.TRUSTED


def test_public_names():
    assert sparseboost.save is save
    assert sparseboost.load is load
