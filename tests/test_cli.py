"""The command line: what it prints, what it writes, and that every error is one sentence with exit code 2."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_diabetes, load_iris

pytest.importorskip("typer")
pytest.importorskip("skops")

import typer
from typer.testing import CliRunner

from sparseboost import SparseBoostClassifier, alpha_max, load, save
from sparseboost.cli import app

SCRIPT = Path(sys.executable).with_name("sparseboost")


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def succeed(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def fail(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("sparseboost: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    return result.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("cli")
    iris = load_iris(as_frame=True).frame
    iris.columns = ["sl", "sw", "pl", "pw", "species"]
    iris["species"] = np.array(["setosa", "versicolor", "virginica"])[iris["species"]]
    iris.to_csv(place / "iris.csv", index=False)
    iris.drop(columns="species").to_csv(place / "bare.csv", index=False)
    iris[["sw", "sl", "pl", "pw"]].to_csv(place / "mixed.csv", index=False)
    cancer = load_breast_cancer(as_frame=True).frame
    cancer.to_parquet(place / "cancer.parquet")
    diabetes = load_diabetes(as_frame=True).frame
    diabetes.to_csv(place / "diabetes.csv.gz", index=False)
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, str(place / "iris.svm"), zero_based=False)
    dump_svmlight_file(X[:, :3], y, str(place / "narrow.svm"), zero_based=False)
    labels = pd.DataFrame(X, columns=list("abcd")).assign(big=(X[:, 0] > 6).astype(int), wide=(X[:, 1] > 3).astype(int))
    labels.to_csv(place / "labels.csv", index=False)
    succeed("fit", place / "iris.csv", "--target", "species", "-o", place / "iris.skops")
    succeed("fit", place / "diabetes.csv.gz", "--target", "target", "-o", place / "diabetes.skops")
    return place


def test_fit_reports_and_writes(folder):
    result = succeed("fit", folder / "iris.csv", "-t", "species", "--alpha", 0.02, "-o", folder / "a.skops")
    assert "150 rows, 4 inputs, classification into 3 classes" in result.stdout
    assert "inputs used" in result.stdout
    assert "accuracy" in result.stdout
    assert "a.skops" in result.stdout
    frame = pd.read_csv(folder / "iris.csv")
    model = load(folder / "a.skops")
    direct = SparseBoostClassifier(0.02, standardize=True).fit(frame[["sl", "sw", "pl", "pw"]], frame["species"])
    np.testing.assert_allclose(model.coef_, direct.coef_)
    assert list(model.feature_names_in_) == ["sl", "sw", "pl", "pw"]


def test_options_reach_the_estimator(folder):
    out = folder / "options.skops"
    succeed(
        "fit", folder / "diabetes.csv.gz", "--target", "target", "-o", out, "--alpha-ratio", 0.2, "--penalty", "l1",
        "--loss", "huber", "--update", "gradboost", "--tol", 0.01, "--max-features", 7, "--positive", "--no-intercept",
        "--max-rounds", 50, "--time-budget", 30, "-v",
    )  # fmt: skip
    model = load(out)
    frame = pd.read_csv(folder / "diabetes.csv.gz")
    found = model.get_params()
    wanted = {
        "penalty": "l1", "loss": "huber", "update": "gradboost", "tol": 0.01, "max_features": 7, "positive": True,
        "fit_intercept": False, "max_rounds": 50, "time_budget": 30.0,
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
    limit = alpha_max(
        frame.drop(columns="target"), frame["target"], loss="huber", penalty="l1", positive=True, fit_intercept=False
    )
    assert model.alpha == pytest.approx(0.2 * limit)
    assert (model.coef_ >= 0).all()


def test_stumps_are_named_in_words(folder, tmp_path):
    succeed("fit", folder / "iris.csv", "-t", "species", "--hypotheses", "stumps", "-o", tmp_path / "m.skops")
    assert "pl <= " in succeed("inspect", tmp_path / "m.skops").stdout
    wrong = fail("fit", folder / "iris.csv", "-t", "species", "--hypotheses", "twigs", "-o", tmp_path / "n.skops")
    assert "'stumps'" in wrong
    assert "got 'twigs'" in wrong


def test_task_is_guessed_and_can_be_set(folder):
    assert "regression" in succeed("fit", folder / "diabetes.csv.gz", "-t", "target", "-o", folder / "r.skops").stdout
    result = succeed("fit", folder / "cancer.parquet", "-t", "target", "-o", folder / "c.skops")
    assert "classification into 2 classes" in result.stdout
    result = succeed("fit", folder / "cancer.parquet", "-t", "target", "--task", "regression", "-o", folder / "c.skops")
    assert "regression" in result.stdout
    assert "R²" in result.stdout
    result = succeed("fit", folder / "iris.svm", "--loss", "squared", "-o", folder / "c.skops")
    assert "regression" in result.stdout


def test_predict_with_the_target_in_the_table(folder):
    out = folder / "out.csv"
    result = succeed("predict", folder / "iris.skops", folder / "iris.csv", "-o", out)
    found = pd.read_csv(out)
    truth = pd.read_csv(folder / "iris.csv")["species"]
    assert list(found.columns) == ["species"]
    assert f"accuracy {(found['species'] == truth).mean():.4f} on 150 rows" in result.stdout
    assert (found["species"] == truth).mean() > 0.8


def test_predict_without_the_target(folder):
    with_target = succeed("predict", folder / "iris.skops", folder / "iris.csv")
    without = succeed("predict", folder / "iris.skops", folder / "bare.csv")
    assert without.stdout == with_target.stdout
    assert "accuracy" in with_target.stderr
    assert without.stderr == ""
    assert without.stdout.splitlines()[0] == "species"
    assert len(without.stdout.splitlines()) == 151


def test_probabilities(folder):
    out = folder / "proba.csv"
    succeed("predict", folder / "iris.skops", folder / "bare.csv", "--proba", "-o", out)
    found = pd.read_csv(out)
    assert list(found.columns) == ["setosa", "versicolor", "virginica"]
    direct = load(folder / "iris.skops").predict_proba(pd.read_csv(folder / "bare.csv"))
    np.testing.assert_array_equal(found.to_numpy(), direct)
    assert "regression" in fail("predict", folder / "diabetes.skops", folder / "diabetes.csv.gz", "--proba")


def test_regression_prints_r2(folder):
    result = succeed("predict", folder / "diabetes.skops", folder / "diabetes.csv.gz", "-o", folder / "d.csv")
    frame = pd.read_csv(folder / "diabetes.csv.gz")
    model = load(folder / "diabetes.skops")
    assert f"R² {model.score(frame.drop(columns='target'), frame['target']):.4f}" in result.stdout


def test_several_targets(folder):
    model = folder / "labels.skops"
    result = succeed("fit", folder / "labels.csv", "-t", "big", "-t", "wide", "-o", model)
    assert "2 labels" in result.stdout
    assert load(model).predict(pd.read_csv(folder / "labels.csv")[list("abcd")]).shape == (150, 2)
    for extra in ((), ("--proba",)):
        found = succeed("predict", model, folder / "labels.csv", *extra)
        assert found.stdout.splitlines()[0] == "big,wide"
    result = succeed("fit", folder / "labels.csv", "-t", "a", "-t", "b", "-o", model)
    assert "2 targets" in result.stdout


def test_svmlight_keeps_its_columns(folder):
    model = folder / "svm.skops"
    result = succeed("fit", folder / "iris.svm", "-o", model)
    assert "4 inputs, classification into 3 classes" in result.stdout
    result = succeed("predict", model, folder / "iris.svm")
    assert result.stdout.splitlines()[0] == "prediction"
    assert "accuracy" in result.stderr
    assert len(succeed("predict", model, folder / "narrow.svm").stdout.splitlines()) == 151
    assert "do not name one" in fail("fit", folder / "iris.svm", "--target", "y", "-o", model)


def test_inspect(folder):
    result = succeed("inspect", folder / "iris.skops")
    assert load(folder / "iris.skops").summary() in result.stdout
    assert "certificate" in result.stdout
    assert "predicts species" in result.stdout
    assert "tol 0.0001 reached" in result.stdout


def test_errors_are_one_sentence(folder, tmp_path):
    iris, out = folder / "iris.csv", tmp_path / "m.skops"
    assert "There is no file" in fail("fit", tmp_path / "none.csv", "-t", "y", "-o", out)
    assert "did you mean 'species'" in fail("fit", iris, "-t", "specie", "-o", out)
    assert "--target" in fail("fit", folder / "bare.csv", "-o", out)
    assert "unknown format" in fail("fit", folder / "iris.skops", "-t", "y", "-o", out)
    assert "does not hold numbers" in fail("fit", iris, "-t", "pw", "-o", out)
    assert "not both" in fail("fit", iris, "-t", "species", "--alpha", 1, "--alpha-ratio", 0.1, "-o", out)
    assert "--alpha-ratio must be" in fail("fit", iris, "-t", "species", "--alpha-ratio", -1, "-o", out)
    assert "--task must be one of" in fail("fit", iris, "-t", "species", "--task", "ranking", "-o", out)
    assert "penalty must be one of" in fail("fit", iris, "-t", "species", "--penalty", "l3", "-o", out)
    assert "loss must be one of" in fail("fit", iris, "-t", "species", "--loss", "cubic", "-o", out)
    assert "alpha must be" in fail("fit", iris, "-t", "species", "--alpha", -1, "-o", out)
    assert "gradboost" in fail("fit", iris, "-t", "species", "--update", "adaboost", "-o", out)
    assert "There is no folder" in fail("fit", iris, "-t", "species", "-o", tmp_path / "no" / "m.skops")
    assert "is a folder" in fail("fit", iris, "-t", "species", "-o", tmp_path)
    assert "is not a sparseboost model file" in fail("inspect", iris)
    assert "There is no model file" in fail("predict", tmp_path / "none.skops", iris)
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage_is_one_sentence(folder):
    assert "--output" in fail("fit", folder / "iris.csv", "-t", "species")
    assert "--nonsense" in fail("fit", folder / "iris.csv", "--nonsense")
    assert "frobnicate" in fail("frobnicate")
    assert "--tol" in fail("fit", folder / "iris.csv", "-o", "m", "--tol", "small")
    assert "DATA" in fail("fit")


def test_wrong_columns(folder):
    assert "in another order" in fail("predict", folder / "iris.skops", folder / "mixed.csv")
    assert "with other names" in fail("predict", folder / "iris.skops", folder / "labels.csv")
    assert "no column 'y'" in fail("predict", folder / "iris.skops", folder / "iris.csv", "--target", "y")


def test_models_saved_from_python(folder, tmp_path):
    frame = pd.read_csv(folder / "iris.csv")
    save(SparseBoostClassifier(0.02).fit(frame[["sl", "sw", "pl", "pw"]], frame["species"]), tmp_path / "m.skops")
    assert succeed("predict", tmp_path / "m.skops", folder / "bare.csv").stdout.startswith("prediction\n")
    result = succeed("predict", tmp_path / "m.skops", folder / "iris.csv", "--target", "species")
    assert "accuracy" in result.stderr
    assert "certificate" in succeed("inspect", tmp_path / "m.skops").stdout


def test_running_out_of_rounds_is_a_short_warning(folder, tmp_path):
    result = succeed("fit", folder / "iris.csv", "-t", "species", "--max-rounds", 0, "-o", tmp_path / "m.skops")
    assert result.stderr.startswith("sparseboost: warning: SparseBoostClassifier stopped because")
    assert result.stderr.count("\n") == 1
    assert "not reached" in succeed("inspect", tmp_path / "m.skops").stdout


def test_help_names_everything():
    text = succeed("--help").stdout
    for command in ("demo", "fit", "predict", "inspect"):
        assert command in text
        assert "Usage" in succeed(command, "--help").stdout
    assert succeed().stdout == text


def test_unexpected_errors_have_no_traceback(folder, monkeypatch):
    monkeypatch.setattr("sparseboost.cli.load", lambda path: {}["weights"])
    assert "unexpected KeyError" in fail("inspect", folder / "iris.skops")


@pytest.mark.parametrize("error", [KeyboardInterrupt, typer.Abort])  # older versions of typer turn one into the other
def test_interrupt_is_quiet(folder, monkeypatch, error):
    def interrupted(path):
        raise error

    monkeypatch.setattr("sparseboost.cli.load", interrupted)
    result = run("inspect", folder / "iris.skops")
    assert (result.exit_code, result.output) == (130, "")


needs_script = pytest.mark.skipif(not SCRIPT.exists(), reason="the script is not installed beside this Python")


@needs_script
def test_the_real_script(folder, tmp_path):
    shutil.copy(folder / "iris.csv", tmp_path)
    done = subprocess.run(
        [SCRIPT, "fit", "iris.csv", "--target", "species", "-o", "m.skops"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert load(tmp_path / "m.skops").n_features_in_ == 4
    done = subprocess.run([SCRIPT, "inspect", "iris.csv"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@needs_script
@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
def test_control_c_in_the_real_script(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 60))
    y = X @ rng.normal(size=60) + rng.normal(size=20000)
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_parquet(tmp_path / "big.parquet")
    command = [SCRIPT, "fit", tmp_path / "big.parquet", "-t", "y", "--tol", "0", "--max-rounds", "1000000", "--loss",
               "absolute", "--update", "gradboost", "-vv", "-o", tmp_path / "m.skops"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stderr.readline()  # the first round has been reported, or kernels are being compiled
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert not (tmp_path / "m.skops").exists()
