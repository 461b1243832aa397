"""What a task is: cases, each a problem that is built when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.problem import Problem

Cases = Iterator["Case"]


@dataclass(frozen=True)
class Case:
    """One problem; `axis` and `amount` are set where a task asks how time grows."""

    name: str
    build: Callable[[], Problem]
    axis: str = ""
    amount: float = 0.0


@dataclass(frozen=True)
class Task:
    """Cases for a size ("small" or "full")."""

    name: str
    title: str
    cases: Callable[[str], Cases]
    grows: bool = False  # time our own solver against a growing size instead of comparing solvers
    threads: int = 1


def at(X: Any, y: np.ndarray, loss: str, penalty: str, divisor: float, fit_intercept: bool = False) -> Problem:
    """The problem at alpha_max / divisor."""
    problem = Problem(X, y, loss, penalty, np.ones(1), fit_intercept)
    return replace(problem, alphas=np.array([problem.alpha_max() / divisor]))


def along(X: Any, y: np.ndarray, loss: str, penalty: str, count: int, eps: float = 1e-2) -> Problem:
    """The path of `count` alphas from alpha_max to eps · alpha_max."""
    problem = Problem(X, y, loss, penalty, np.ones(1))
    return replace(problem, alphas=np.geomspace(1.0, eps, count) * problem.alpha_max())


def each(name: str, data: Callable[[], tuple[Any, np.ndarray]], loss: str, penalty: str, divisors: Any) -> Cases:
    """One case per divisor of alpha_max."""
    for divisor in divisors:

        def build(divisor: float = divisor) -> Problem:
            return at(*data(), loss, penalty, divisor)

        yield Case(f"{name}, alpha_max/{divisor}", build)
