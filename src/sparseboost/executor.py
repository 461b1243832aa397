"""Where work on blocks of rows is done: here, or wherever the blocks are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any


class Executor(ABC):
    """Applies a function to every block; what comes out stays with the blocks until it is fetched."""

    @abstractmethod
    def apply(self, function: Callable[..., Any], *sequences: Sequence[Any]) -> list[Any]:
        """Handles of function(*arguments) for every tuple of arguments; an argument may be a handle itself."""

    @abstractmethod
    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        """What is behind handles."""

    def map(self, function: Callable[..., Any], *sequences: Sequence[Any]) -> list[Any]:
        """Results of function(*arguments) for every tuple of arguments."""
        return self.fetch(self.apply(function, *sequences))


class Serial(Executor):
    """Everything is done here, one block after the other; a handle is the value itself.

    Examples
    --------
    >>> from sparseboost.executor import Serial
    >>> Serial().map(pow, [2, 3], [5, 2])
    [32, 9]
    """

    def apply(self, function: Callable[..., Any], *sequences: Sequence[Any]) -> list[Any]:
        return [function(*arguments) for arguments in zip(*sequences, strict=True)]

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        return list(handles)
