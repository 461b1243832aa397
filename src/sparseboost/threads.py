"""One thread for linear algebra during a fit.

The matrices of a round are small: waking threads for each costs more than they save, and far more on a busy machine.
Passes over all hypotheses use `n_jobs` threads of their own, over fixed blocks, so results do not depend on either.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread."""
    return _controller().limit(limits=1, user_api="blas")
