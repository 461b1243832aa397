"""Newton's method for a loss of margins over few hypotheses, with weights α ≥ 0 and Σα ≤ r."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from sparseboost.solvers.tilts import Tilt, Tilted

Array = np.ndarray
MOST_STEPS = 200
ARMIJO = 1e-4
RIDGE = 1e-13  # of the mean curvature: hypotheses that agree on all examples make it singular
PATIENCE = 5  # steps without a smaller gap, near the optimum, before rounding is blamed
NEARLY = 1e-6
NOISE = 1e-14  # relative change of a loss that double precision cannot tell from none


class Restricted(NamedTuple):
    """Weights that solve the restricted problem, with their certificate.

    Attributes
    ----------
    weight : array of shape (n,)
        α.
    tilted : Tilted
        The loss at Mα.
    gap : float
        How much ln of the loss can be above its minimum over these hypotheses, at most.
    """

    weight: Array
    tilted: Tilted
    gap: float


def solve_restricted(
    columns: Array, weight: Array, radius: float, log_prior: Array, tilt: Tilt, tol: float
) -> Restricted:
    r"""Minimise Σ_i s_i L((Mα)_i) over α ≥ 0, Σα ≤ r, from a feasible start.

    Every step is Newton's on the positive weights and the best of the others, cut at the first weight that becomes
    zero; the gap r·max(0, max_j e_j) − Σ_j α_j e_j of the edges e = Mᵀd, times the ratio of the loss, is the stop.

    Parameters
    ----------
    columns : array of shape (m, n)
        M, in column order.
    weight : array of shape (n,)
        Where to start.
    radius : float
        r.
    log_prior : array of shape (m,)
        ln s.
    tilt : Tilt
        The loss.
    tol : float
        The gap that is wanted.

    Returns
    -------
    Restricted
        Weights, the loss there, and the gap that was reached.

    References
    ----------
    MATH.md X2, X3, T3.
    """
    tilted = tilt(columns @ weight, log_prior)
    tol = max(tol, NOISE * radius, np.finfo(float).eps * radius**2)  # rounding of margins, times the radius
    best, since = Restricted(weight, tilted, np.inf), 0
    for _ in range(MOST_STEPS):
        edges = columns.T @ tilted.weight
        top = int(edges.argmax())
        gap = tilted.ratio * (radius * max(edges[top], 0.0) - float(edges @ weight))
        since = 0 if gap < best.gap else since + 1
        if gap < best.gap:
            best = Restricted(weight, tilted, max(gap, 0.0))
        if gap <= tol or (since >= PATIENCE and best.gap <= NEARLY):
            break
        free = weight > 0.0
        free[top] = True
        moved = _newton_step(columns, weight, radius, edges, free, tilted, log_prior, tilt)
        if moved is None:
            break
        weight, tilted = moved
    return best


def _newton_step(
    columns: Array,
    weight: Array,
    radius: float,
    edges: Array,
    free: Array,
    tilted: Tilted,
    log_prior: Array,
    tilt: Tilt,
) -> tuple[Array, Tilted] | None:
    """One step and the loss after it; None if no step lowers the loss any more."""
    used = np.flatnonzero(free)
    room = max(radius - float(weight.sum()), 0.0)
    if room <= NOISE * radius:
        room = 0.0
    while True:
        part = columns[:, used]
        direction, held = _direction(part, tilted.curvature, edges[used], room == 0.0)
        outside = (weight[used] == 0.0) & (direction <= 0.0)
        if not outside.any() or used.size == 1:
            break
        used = used[~outside]
    longest, leaving = _longest(weight[used], direction)
    grows = float(direction.sum())
    if not held and grows > 0.0 and room / grows < longest:
        longest, leaving = room / grows, -1
    if longest <= 0.0:
        return None
    change, promise = part @ direction, tilted.ratio * float(edges[used] @ direction)
    score, step = columns @ weight, min(1.0, longest)
    for _ in range(50):
        after = tilt(score + step * change, log_prior)
        small = step * promise <= NOISE * max(1.0, abs(tilted.value))  # the loss cannot tell; the next gap will
        if small or after.value <= tilted.value - ARMIJO * step * promise:
            break
        step *= 0.5
    weight = weight.copy()
    weight[used] = np.maximum(weight[used] + step * direction, 0.0)
    if step == longest and leaving >= 0:
        weight[used[leaving]] = 0.0
    if held or weight.sum() > radius:
        weight *= radius / weight.sum()
    return weight, tilt(columns @ weight, log_prior)


def _direction(part: Array, curvature: Array, edges: Array, tight: bool) -> tuple[Array, bool]:
    """Newton's direction for these hypotheses; whether it keeps Σα, because the ball holds it."""
    hessian = part.T @ (part * curvature[:, None])
    size = edges.size
    ridge = RIDGE * hessian.trace() / size + np.finfo(float).tiny
    while True:
        damped = hessian.copy()
        damped.flat[:: size + 1] += ridge
        factor, failed = dpotrf(damped, lower=1)
        if not failed:
            break
        ridge *= 100.0
    solved, _ = dpotrs(factor, np.column_stack([edges, np.ones(size)]), lower=1)
    force = solved[:, 0].sum() / solved[:, 1].sum()  # multiplier of Σα = r; negative where the ball does not hold
    if tight and force > 0.0:
        return solved[:, 0] - force * solved[:, 1], True
    return solved[:, 0], False


def _longest(weight: Array, direction: Array) -> tuple[float, int]:
    """How far weights can go along a direction, and which of them becomes zero there (−1: none)."""
    falling = np.flatnonzero(direction < 0.0)
    if falling.size == 0:
        return np.inf, -1
    reach = weight[falling] / -direction[falling]
    first = int(reach.argmin())
    return float(reach[first]), int(falling[first])
