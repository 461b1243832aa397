"""Everything in examples/ runs, and every plot is drawn."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path, monkeypatch):
    """A plot takes the file to draw as its only argument, so that the pictures of the documents are left alone."""
    monkeypatch.chdir(tmp_path)
    arguments = []
    if path.name.startswith("plot_"):
        pytest.importorskip("matplotlib", reason="matplotlib is an extra")
        arguments = [str(tmp_path / "picture.png")]
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    runpy.run_path(str(path), run_name="__main__")
    for picture in arguments:
        assert Path(picture).read_bytes().startswith(b"\x89PNG")
