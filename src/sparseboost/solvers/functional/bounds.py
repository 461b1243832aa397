"""What the theory promises along a run, with the quantities that were observed on the way (G6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparseboost.solvers.functional.algorithms import Algorithm, Naive, Repeated, Residual
from sparseboost.solvers.functional.risk import Risk
from sparseboost.solvers.functional.steps import Steps


def theorem(algorithm: Algorithm, steps: Steps, risk: Risk) -> int | None:
    """Number of the theorem of G6 that covers these settings, None if none does."""
    plain, strong = steps.size == 1.0, risk.convexity > 0.0
    if isinstance(algorithm, Naive):
        covered = steps.rule in ("1/curvature", "line-search") and plain and strong and risk.curvature is not None
        return 3 if covered else None
    if isinstance(algorithm, Repeated) and algorithm.inner == "t":
        if steps.rule == "2/(convexity*t)" and plain:
            return 4
        return 5 if steps.rule == "1/sqrt(t)" else None
    if isinstance(algorithm, Residual):
        if steps.rule == "1/(convexity*t)" and plain:
            return 6
        return 7 if steps.rule == "1/sqrt(t)" else None
    return None


@dataclass(frozen=True)
class Observed:
    """What a run has shown up to round T.

    Attributes
    ----------
    rounds : int
        T, the number of points f₀ … f_{T−1} where subgradients were taken.
    edge : float
        γ, the smallest measured edge.
    gradient : float
        G, the largest ‖∇_t‖.
    distance : float
        F, the largest ‖f_t − f*‖ to the comparator; measured where a theorem asks for it.
    first, total : float
        R[f₀], and the sum of R[f_t] over those points.
    """

    rounds: int = 0
    edge: float = 1.0
    gradient: float = 0.0
    distance: float = 0.0
    first: float = np.nan
    total: float = 0.0

    @property
    def average(self) -> float:
        """(1/T) Σ R[f_t] over f₀ … f_{T−1}."""
        return self.total / self.rounds if self.rounds else np.nan

    def after(self, value: float, steep: float, far: float, edges: list[float]) -> Observed:
        """With one more point: its value, ‖∇‖ and ‖f − f*‖ there, and the edges of the projections made there."""
        return replace(
            self,
            rounds=self.rounds + 1,
            edge=min([self.edge, *edges]),
            gradient=max(self.gradient, steep),
            distance=max(self.distance, far),
            first=value if self.rounds == 0 else self.first,
            total=self.total + value,
        )


def bound(number: int | None, seen: Observed, risk: Risk, steps: Steps, orthogonal: bool = False) -> float:
    """Upper bound of R[f_T] (Theorem 3), or of the average of R[f₀] … R[f_{T−1}] (Theorems 4 to 7).

    R* and F are those of `Risk.comparator`: the theorems hold for every f*, and the loss's own minimum over all
    functions on the training points is taken where it is known. γ, G and F are the extremes observed so far. NaN before
    the first round.
    """
    if number is None or seen.rounds == 0:
        return np.nan
    T, G, F, c = seen.rounds, seen.gradient, seen.distance, steps.size
    square = seen.edge**2
    q = float(np.sqrt(max(1.0 - square, 0.0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        if number == 3:
            assert risk.curvature is not None
            return risk.least + (1.0 - square * risk.convexity / risk.curvature) ** T * (seen.first - risk.least)
        spread = np.float64(q) / (1.0 - q)  # of projection errors: Σ_t q^t
        if number == 4:
            more = (4.0 * (1.0 + np.log(T)) + (1.0 - square) / np.float64(square)) * G**2 / (risk.convexity * T)
        elif number == 5:
            size = G**2 if orthogonal else 4.0 * G**2
            more = F**2 / (2.0 * c * np.sqrt(T)) + c * size / np.sqrt(T) + F * G * spread / T
        elif number == 6:
            more = G**2 / (2.0 * risk.convexity * T) * ((1.0 + np.log(T)) * (1.0 + spread) ** 2 + spread**2 / T)
        else:
            kept = (spread * G) ** 2 / (2.0 * T**1.5)
            more = F**2 / (2.0 * c * np.sqrt(T)) + c * ((1.0 + spread) * G) ** 2 / np.sqrt(T) + c * kept
    return float(risk.least + more)
