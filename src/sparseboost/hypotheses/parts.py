"""Work on parts of the data, in threads; the parts, and so the results, do not depend on how many threads there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

SPANS, SHORTEST_SPAN = 4, 2048  # of examples


def each(work: Callable[[Any], Any], parts: Sequence[Any], n_jobs: int) -> Iterator[Any]:
    """What the work gives for every part, in their order."""
    if n_jobs == 1 or len(parts) <= 1:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(min(n_jobs, len(parts))) as pool:
        yield from pool.map(work, parts)


def spans(n_examples: int) -> list[slice]:
    """A few ranges of examples for sums over all of them."""
    length = max(SHORTEST_SPAN, -(-n_examples // (SPANS * SHORTEST_SPAN)) * SHORTEST_SPAN)
    return [slice(start, min(start + length, n_examples)) for start in range(0, n_examples, length)]
