"""The house keeps its shape: imports point one way, importing is light, files stay small, names are documented."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import sparseboost

ROOT = Path(sparseboost.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LONGEST_FILE = 400

# a layer may import the layers below it (larger number) and its own folder
LAYERS = {
    "__init__": 0, "cli": 0, "demo": 0, "report": 0, "plots": 0, "papers": 0, "benchmarks": 0, "export": 1,
    "persistence": 1, "datasets": 1,
    "planning": 1,
    "estimators": 2, "dask": 2,
    "solvers": 3,
    "problem": 4, "ensemble": 4, "monitors": 4, "progress": 4, "threads": 4, "executor": 4,
    "losses": 5, "penalties": 5, "hypotheses": 5,
    "kernels": 6,
}  # fmt: skip
MIDDLE = {"losses", "penalties", "hypotheses"}
WRAPPERS = {"kernel.py", "learners.py"}  # spaces made of scikit-learn's kernels and estimators
PUBLIC = ("", ".losses", ".penalties", ".hypotheses", ".solvers", ".solvers.functional", ".estimators", ".planning")
if importlib.util.find_spec("distributed"):
    PUBLIC += (".dask",)


def module_of(path: Path) -> str:
    parts = ("sparseboost", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def word_of(module: str) -> str:
    """The folder or file directly under the package; its own `__init__` is the top."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports_of(path: Path) -> set[str]:
    """Every module imported anywhere in a file, with relative imports resolved and names that are modules added."""
    module = module_of(path)
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
            if base == "sparseboost":
                for alias in node.names:  # from sparseboost import kernels
                    inside = (ROOT / alias.name).is_dir() or (ROOT / f"{alias.name}.py").exists()
                    found.add(f"sparseboost.{alias.name}" if inside else "sparseboost")
            else:
                found.add(base)
    return found


def inner(path: Path) -> set[str]:
    return {word_of(name) for name in imports_of(path) if name.split(".")[0] == "sparseboost"}


every_file = pytest.mark.parametrize("path", FILES, ids=module_of)


def test_the_reader_of_imports_sees_them():
    """The checks below are worth nothing if the reader misses imports."""
    assert "kernels" in inner(ROOT / "solvers" / "correction.py")
    assert {"losses", "penalties", "hypotheses", "ensemble"} <= inner(ROOT / "problem.py")
    assert "numba" in imports_of(ROOT / "kernels" / "compile.py")


@every_file
def test_every_module_has_its_place(path):
    assert word_of(module_of(path)) in LAYERS, "a new part of the house: give it a layer in this test and in DESIGN"


@every_file
def test_imports_point_downwards(path):
    own = word_of(module_of(path))
    for other in inner(path) - {own}:
        assert other != "__init__" or LAYERS[own] == 0, f"{own} imports the top of the package"
        if own != "__init__":
            assert LAYERS[other] >= LAYERS[own], f"{own} must not import {other}"


@every_file
def test_losses_penalties_and_hypotheses_do_not_know_each_other(path):
    own = word_of(module_of(path))
    if own in MIDDLE:
        assert not inner(path) & (MIDDLE - {own})


@every_file
def test_only_kernels_import_numba_and_nothing_below_estimators_imports_sklearn(path):
    own = word_of(module_of(path))
    outer = {name.split(".")[0] for name in imports_of(path)}
    assert "numba" not in outer or own == "kernels"
    assert "sklearn" not in outer or LAYERS[own] <= LAYERS["estimators"] or path.name in WRAPPERS
    assert not {"pandas", "matplotlib", "typer", "skops", "joblib"} & outer or LAYERS[own] <= LAYERS["estimators"]


def test_kinds_are_plain_integers_that_load_nothing():
    assert imports_of(ROOT / "kernels" / "kinds.py") == set()
    kinds = importlib.import_module("sparseboost.kernels.kinds")
    names = [name for name in vars(kinds) if name.isupper()]
    assert names
    assert all(type(getattr(kinds, name)) is int for name in names)


def test_importing_is_light():
    """Nothing heavy is loaded beyond what scikit-learn loads by itself (its callbacks use rich where it exists)."""
    heavy = ("numba", "matplotlib", "typer", "rich", "skops", "polars", "dask", "cvxpy")
    code = f"""
import sys, importlib.util
if importlib.util.find_spec("sklearn.callback"):
    import sklearn.callback
before = set(sys.modules)
import sparseboost
new = set(sys.modules) - before
print([name for name in {heavy!r} if name in new], "numba" in sys.modules, "sparseboost.progress" in new)
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[] False False"
    assert answer.stderr == ""


def public_names() -> list[tuple[str, object]]:
    found = {}
    for ending in PUBLIC:
        module = importlib.import_module("sparseboost" + ending)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isroutine(thing):  # scorers and constants are described where they are
                found[f"sparseboost{ending}.{name}"] = thing
    return sorted(found.items())


@pytest.mark.parametrize(("name", "thing"), public_names(), ids=[name for name, _ in public_names()])
def test_every_public_name_has_a_docstring(name, thing):
    assert thing.__doc__
    assert not thing.__doc__.startswith(f"{thing.__name__}("), "a dataclass without words of its own"
    if not inspect.isclass(thing):
        return
    for attribute, member in vars(thing).items():
        if attribute.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        inherited = any(attribute in vars(base) for base in thing.__mro__[1:])  # documented where it is introduced
        assert inherited or inspect.getdoc(getattr(thing, attribute)), f"{name}.{attribute}"


@every_file
def test_every_module_has_a_docstring_and_is_short(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "say in one line what the module is"
    assert len(text.splitlines()) < LONGEST_FILE


OPTIONAL = {"cli": ("typer",), "progress": ("rich",), "plots": ("matplotlib",), "dask": ("distributed",)}


@every_file
def test_doctests_pass(path):
    for name in OPTIONAL.get(word_of(module_of(path)), ()):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is an extra")
    if path.name == "__main__.py":
        return
    result = doctest.testmod(importlib.import_module(module_of(path)), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_all_exports_exist_once():
    for ending in PUBLIC:
        module = importlib.import_module("sparseboost" + ending)
        assert len(set(module.__all__)) == len(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)
