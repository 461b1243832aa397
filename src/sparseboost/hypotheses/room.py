"""Memory that columns grow into: fresh memory costs more than what is written there."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


class Room:
    """Lines of numbers, with space behind them so that more can come without moving the first.

    Lines that were written stay as they are; whoever finds others behind its own starts anew in another room.

    Parameters
    ----------
    first : array of shape (n, m)
        Lines to begin with.
    more : int
        How many come next; there will be space for at least twice as many lines as that makes.
    dtype : type
        Kind of numbers.
    """

    def __init__(self, first: Array, more: int, dtype: Any) -> None:
        self.lines = np.empty((2 * (len(first) + more), first.shape[1]), dtype)
        self.lines[: len(first)] = first
        self.filled = len(first)

    def fits(self, old: int, more: int) -> bool:
        """Whether more lines can come right behind the first `old` ones."""
        return self.filled == old and old + more <= len(self.lines)

    def roomy(self, more: int) -> Room:
        """The room itself, or a larger one with the same lines if more do not fit."""
        return self if self.fits(self.filled, more) else Room(self.lines[: self.filled], more, self.lines.dtype)

    def next(self, more: int) -> Array:
        """The next lines, to be written now."""
        self.filled += more
        return self.lines[self.filled - more : self.filled]
