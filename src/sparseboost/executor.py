"""Where work on blocks of rows is done: here, or wherever the blocks are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any


def add(*parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sums of several tuples of arrays, entry by entry."""
    return tuple(reduce(lambda one, other: one + other, entries) for entries in zip(*parts, strict=True))


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

    def total(self, function: Callable[..., tuple[Any, ...]], *sequences: Sequence[Any]) -> tuple[Any, ...]:
        """Sums of the tuples of arrays that function(*arguments) gives, over all tuples of arguments."""
        return self.combine(add, self.apply(function, *sequences))

    def combine(self, merge: Callable[..., Any], handles: Sequence[Any]) -> Any:
        """What `merge`, which takes any number of parts in order, makes of all that is behind handles."""
        return merge(*self.fetch(handles))


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
