"""Frank–Wolfe for the lasso in its constrained form (F4), and forward stagewise regression with shrinkage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sparseboost.kernels.kinds import AWAY, CONSTANT, LINE_SEARCH, OPEN_LOOP
from sparseboost.solvers.stagewise import Rule

Array = np.ndarray
STEPS = {"line-search": LINE_SEARCH, "2/(k+2)": OPEN_LOOP, "away": AWAY}
GAP_FACTOR = 4.35  # MATH.md F5


@dataclass(frozen=True)
class FrankWolfe(Rule):
    r"""FW-LASSO, min ½‖y − Xβ‖² over ‖β‖₁ ≤ δ: β ← (1−a)β + a·δ sgn(X_jᵀr) e_j for the largest |X_jᵀr|.

    With C = 4δ² max_j‖X_j‖²: L(β^k) − L* ≤ 2C/(k+3) and min_{i ≤ k} G_i ≤ 4.35 C/k for the line search and 2/(k+2);
    (1−a)^k (L(0) − L*) + a·C/2 and min_{i ≤ k} G_i ≤ (L(0) − L*)/(a(k+1)) + a·C/2 for a constant share a, because
    L − L* changes by −a·G + a²C/2 at most.

    Parameters
    ----------
    radius : float
        δ.
    step : {"line-search", "2/(k+2)", "away"} or float
        How a is chosen. "away" also steps back from the worst vertex in use, by line search, where that promises more;
        then k counts the rounds that did not just drop a vertex: each of them lowers L − L* =: h by h²/(2C) or more,
        and the first one leaves at most C/2.

    References
    ----------
    Freund, Grigas & Mazumder; MATH.md F4, F5. Away steps: Guélat & Marcotte (1986).
    """

    radius: float
    step: Literal["line-search", "2/(k+2)", "away"] | float = "line-search"

    @property
    def kind(self) -> int:  # type: ignore[override]
        """The compiled form."""
        return STEPS[self.step] if isinstance(self.step, str) else CONSTANT

    @property
    def number(self) -> float:  # type: ignore[override]
        """The constant share a, where it is one."""
        return 0.0 if isinstance(self.step, str) else float(self.step)

    def bounds(self, rounds: Array, kept: Array, excess: Array, energy: float, fitted: float) -> dict[str, Array]:
        curvature = self._curvature(energy)
        if self.kind == CONSTANT:
            bound = (1.0 - self.number) ** rounds * excess + self.floor(energy)
            gap = excess / (self.number * (rounds + 1)) + self.floor(energy)
        else:
            bound = np.where(rounds > 0, 2.0 * curvature / (kept + 3), np.inf)
            gap = np.where(rounds > 0, GAP_FACTOR * curvature / np.maximum(rounds, 1), np.inf)
        if self.kind == AWAY:
            gap = np.full(rounds.size, np.inf)
        return {"bound": bound, "gap_bound": gap, "correlation_bound": fitted / (4.0 * self.radius) + gap / self.radius}

    def floor(self, energy: float) -> float:
        return 0.5 * self.number * self._curvature(energy)

    def _curvature(self, energy: float) -> float:
        return 4.0 * self.radius**2 * energy


def shrunken_stagewise(eps: float, radius: float) -> FrankWolfe:
    """R-FS_ε: β ← (δ/(δ+ε))(β + ε sgn(X_jᵀr) e_j), which is F4 with the constant share ε/(δ+ε)."""
    return FrankWolfe(radius, eps / (radius + eps))
