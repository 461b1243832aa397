"""The documents tell the truth: their Python blocks run, in order, and print what is shown.

A ```text block right after a ```python block is what the block prints; `expression  # → text` is what an expression
gives. `python tests/test_docs.py --write` runs all blocks and writes the outputs into the documents.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import math
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sklearn.exceptions import ConvergenceWarning

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sparseboost"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("**/*.md"))]
RUNNING = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n*```text\n(?P<shown>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r"^(?P<code>.*?)  # → (?P<shown>.*)$")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
# seconds depend on the machine, rounds on how a solver walks
MAY_DIFFER = re.compile(r"\d+(?:\.\d+)?(?: s\b| seconds| rounds?\b)")


@dataclass
class Output:
    """What a document shows and what its code gave, with the place to correct."""

    start: int
    stop: int
    shown: str
    found: str


def run(page: Path) -> Iterator[Output]:
    """Execute the blocks of one page in one namespace, in an empty folder."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    with in_empty_folder(), warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for block in BLOCK.finditer(text):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                arrows = list(execute(block["code"], names, f"{page.name}:{text[: block.start()].count(chr(10)) + 2}"))
            for start, stop, shown, found in arrows:
                yield Output(block.start("code") + start, block.start("code") + stop, shown, found)
            if block["shown"] is not None:
                yield Output(block.start("shown"), block.end("shown"), block["shown"], printed.getvalue())
            elif printed.getvalue():
                raise AssertionError(f"{page.name} does not show what this prints:\n{printed.getvalue()}")


def execute(code: str, names: dict[str, Any], place: str) -> Iterator[tuple[int, int, str, str]]:
    """Run one block; yield (start, stop, shown, found) of every arrow."""
    lines = code.splitlines(keepends=True)
    for statement in ast.parse(code).body:
        last = statement.end_lineno or statement.lineno
        arrow = ARROW.match(lines[last - 1].rstrip("\n"))
        if arrow is None:
            exec(compile(ast.Module([statement], []), place, "exec"), names)
            continue
        assert isinstance(statement, ast.Expr), f"{place}: an arrow needs an expression"
        value = eval(compile(ast.Expression(statement.value), place, "eval"), names)
        start = sum(map(len, lines[: last - 1])) + arrow.start("shown")
        yield start, start + len(arrow["shown"]), arrow["shown"], repr(value)


@contextlib.contextmanager
def in_empty_folder() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def agree(shown: str, found: str) -> bool:
    """The same words and whole numbers; other numbers nearly so; `...` stands for anything."""
    shown, found = (MAY_DIFFER.sub("<varies>", " ".join(text.split())) for text in (shown, found))
    numbers: list[str] = []

    def remember(match: re.Match[str]) -> str:
        numbers.append(match[0])
        return "\0"

    pattern = re.escape(NUMBER.sub(remember, shown)).replace("\0", f"({NUMBER.pattern})").replace(r"\.\.\.", ".*?")
    match = re.fullmatch(pattern, found, re.DOTALL)
    return match is not None and all(map(near, numbers, match.groups()))


def near(shown: str, found: str) -> bool:
    if "e-" in shown or "e-" in found:  # gaps: how far below the target a solver ends is its own affair
        return float(found) <= max(100.0 * float(shown), 1e-3)
    if "." in shown or "." in found:
        return math.isclose(float(shown), float(found), rel_tol=0.03, abs_tol=0.01)
    return shown == found


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs_and_prints_what_is_shown(page):
    for output in run(page):
        assert agree(output.shown, output.found), f"shown:\n{output.shown}\nfound:\n{output.found}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not link.startswith("http"):
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_names_of_the_code_exist(page):
    """`solvers/newton.py` is a file under src/sparseboost, and `solvers/newton.py:Newton.run` is in it."""
    for file, name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)(?::([\w.]+))?`", page.read_text(encoding="utf-8")):
        path = SOURCE / file
        assert path.exists() or (ROOT / file).exists(), file
        if name:
            thing: Any = importlib.import_module("sparseboost." + file[:-3].replace("/", "."))
            for part in name.split("."):
                known = getattr(thing, "__dataclass_fields__", {})
                assert hasattr(thing, part) or part in known, f"{file}:{name}"
                thing = getattr(thing, part, None)


@pytest.mark.parametrize(
    ("shown", "found", "same"),
    [
        ("4 of 30 inputs", "4 of 30 inputs", True),
        ("4 of 30 inputs", "5 of 30 inputs", False),
        ("gap 2.7e-05 after 3 rounds and 0.01 s", "gap 9e-07 after 12 rounds and 3 s", True),
        ("gap 2.7e-05", "gap 0.5", False),
        ("weight -1.222", "weight -1.23", True),
        ("weight -1.222", "weight 1.222", False),
        ("one\n...\nlast", "one\ntwo\nthree\nlast", True),
        ("one", "two", False),
    ],
)
def test_the_comparison_can_fail(shown, found, same):
    assert agree(shown, found) is same


def write() -> None:
    """Put the real outputs into the documents."""
    for page in RUNNING:
        text = page.read_text(encoding="utf-8")
        for output in reversed(list(run(page))):
            if "..." in output.shown and agree(output.shown, output.found):
                continue  # shortened by hand
            text = text[: output.start] + output.found + text[output.stop :]
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python tests/test_docs.py --write")
    write()
