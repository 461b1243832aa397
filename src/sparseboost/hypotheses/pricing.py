"""Which hypotheses a search must look at again, when others are known to have stayed below a level."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparseboost.hypotheses.base import Array, DualNorm

ROUNDING = 1.0 + 1e-12
FEWEST = 1000  # hypotheses: fewer are all looked at


class Pricing:
    r"""Upper bounds on the dual norm of every hypothesis' correlation, from the last time it was computed.

    When the force on the examples changes by Δ, the correlation of column h with output r changes by at most
    ‖h‖·‖Δ_r‖ (Cauchy–Schwarz), and a dual norm by at most the dual norm of these changes. Close to the optimum the
    force hardly changes, and nearly all hypotheses are seen to stay below the level without a look.
    """

    def __init__(self) -> None:
        self._lengths: Array | None = None
        self._searches = 0
        self._bound = np.empty(0)
        self._force = np.empty((0, 0))
        self._dual_norm: DualNorm | None = None

    def due(self, force: Array, dual_norm: DualNorm, level: Array, lengths: Callable[[], Array]) -> Array | None:
        """Hypotheses whose dual norm may exceed their level; None if (nearly) all have to be looked at.

        `lengths` finds the norms of the columns; it is asked once.
        """
        self._searches += 1
        # the first searches are far apart, and lengths cost a pass over the data
        if self._searches <= 3 or self._bound.size < FEWEST or self._dual_norm != dual_norm:
            return None
        if self._lengths is None:
            self._lengths = lengths()
        change = np.sqrt(np.square(force - self._force).sum(axis=0))
        self._bound += self._lengths * (float(dual_norm(-change[None, :])[0]) * ROUNDING)
        self._force = force
        keys = np.flatnonzero(self._bound * ROUNDING > level)
        return keys if 2 * keys.size < self._bound.size else None

    def saw(self, keys: Array | None, size: Array, force: Array, dual_norm: DualNorm) -> None:
        """Remember dual norms that were computed."""
        if keys is None:
            self._bound, self._force, self._dual_norm = size, force, dual_norm
        else:
            self._bound[keys] = size

    def most(self, cost: Array) -> float:
        """No hypothesis has a larger dual norm over cost."""
        return float((self._bound / cost).max(initial=0.0))
