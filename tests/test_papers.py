"""The papers' experiments run, on a small scale, and say plainly what is missing."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
typer_testing = pytest.importorskip("typer.testing")

from sparseboost.cli import app
from sparseboost.papers import EXPERIMENTS, experiment, xi2009
from sparseboost.papers.setting import Setting


def run(*arguments, **options):
    return typer_testing.CliRunner().invoke(app, ["reproduce", *map(str, arguments)], **options)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_a_title_and_a_run(name):
    module = experiment(name)
    assert module.TITLE
    assert callable(module.run)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_missing_file_is_named_in_one_sentence(name, tmp_path):
    result = run(name, "--quick", "--data", tmp_path, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert ".npz is not in the data folder" in result.stderr


def test_an_unknown_experiment_names_the_known_ones():
    result = run("nobody1900")
    assert result.exit_code == 2
    assert "xi2009" in result.stderr


def test_no_data_folder_at_all(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARSEBOOST_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="--data or SPARSEBOOST_DATA"):
        Setting(None, tmp_path).load("diabetes")


def test_ringnorm_has_the_two_gaussians_of_the_paper():
    X, y = xi2009.ringnorm(np.random.default_rng(0), 20_000)
    near, far = X[y > 0], X[y < 0]
    np.testing.assert_allclose(near.mean(axis=0), 1 / np.sqrt(20), atol=0.05)
    np.testing.assert_allclose(near.var(axis=0), 1.0, atol=0.06)
    np.testing.assert_allclose(far.mean(axis=0), 0.0, atol=0.08)
    np.testing.assert_allclose(far.var(axis=0), 4.0, atol=0.25)


def test_xi2009_on_generated_data(tmp_path, monkeypatch, capsys):
    """Tables and figures from sets of the right shape; the numbers mean nothing here."""
    rng = np.random.default_rng(0)
    for name in xi2009.SOURCES:
        X = rng.normal(size=(260, 8))
        np.savez(tmp_path / f"{name}.npz", X=X, y=np.where(X[:, 0] + 0.5 * rng.normal(size=260) > 0, 1, -1))
    small = {name: source._replace(rounds=8, train=60) for name, source in xi2009.SOURCES.items()}
    monkeypatch.setattr(xi2009, "SOURCES", small)
    xi2009.run(Setting(tmp_path, tmp_path / "out", repetitions=2))
    printed = capsys.readouterr().out
    assert "Table 1" in printed
    assert "(121.8)" in printed
    assert (tmp_path / "out" / "xi2009_figure2.png").stat().st_size > 10_000
    assert (tmp_path / "out" / "xi2009_figure3.png").stat().st_size > 5_000
