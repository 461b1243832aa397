"""Which hypotheses a search must look at again, when others are known to have stayed below a level."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sparseboost.hypotheses.base import Array, DualNorm

ROUNDING = 1.0 + 1e-12
FEWEST = 1000  # hypotheses: fewer are all looked at


class Measured(Protocol):
    """Hypotheses with lengths ‖h_j‖ over the examples, which may be known already."""

    @property
    def knows_lengths(self) -> bool: ...

    def lengths(self) -> Array: ...


class Pricing:
    r"""Upper bounds on the dual norm of every hypothesis' correlation, from the last time it was computed.

    When the force on the examples changes from f to a·f + Δ with a ≥ 0, a dual norm grows to at most a times what it
    was, plus the dual norm of ‖h‖·‖Δ_r‖ over the outputs r (Cauchy–Schwarz); a is chosen so that Δ is short. Close to
    the optimum the force hardly changes, and nearly all hypotheses are seen to stay below the level without a look.
    """

    def __init__(self) -> None:
        self._searches = 0
        self._bound = np.empty(0)
        self._force = np.empty((0, 0))
        self._dual_norm: DualNorm | None = None

    def due(self, force: Array, dual_norm: DualNorm, level: Array, columns: Measured) -> Array | None:
        """Hypotheses whose dual norm may exceed their level; None if (nearly) all have to be looked at."""
        self._searches += 1
        if self._bound.size < FEWEST or self._dual_norm != dual_norm:
            return None
        # the first searches are far apart, and where lengths are not known they cost a pass over the data
        if not columns.knows_lengths and self._searches <= 3:
            return None
        size = float(np.vdot(self._force, self._force))
        share = max(float(np.vdot(self._force, force)) / size, 0.0) if size > 0.0 else 0.0
        rest = share * self._force
        np.subtract(force, rest, out=rest)
        change = np.sqrt(np.einsum("ir,ir->r", rest, rest))
        self._bound *= share * ROUNDING
        self._bound += columns.lengths() * (float(dual_norm(-change[None, :])[0]) * ROUNDING)
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
