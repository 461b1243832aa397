"""Directions in which a gradient with several outputs is worth following."""

from __future__ import annotations

import numpy as np

from sparseboost.hypotheses.base import Array, DualNorm

NOTHING = 1e-12  # a direction with a smaller share of the gradient is rounding


def directions(force: Array, weight: Array, dual_norm: DualNorm, count: int, least: float) -> Array:
    """Directions u, best first, at most one per output, such that −force · u is worth learning by one hypothesis.

    A learner that follows −force · u perfectly, at unit size Σ_i s_i h(x_i)² = 1, reaches the correlation −G u / √uᵀGu
    with G = forceᵀ diag(1/s) force. Its dual norm says how good the direction is: single outputs win for ℓ1, leading
    singular vectors for ℓ1/ℓ2, their signs for ℓ1/ℓ∞. What one direction explains is taken away before the next is
    looked for.

    Parameters
    ----------
    force : array of shape (m, k)
        Weighted gradient of examples that have weight.
    weight : array of shape (m,)
        s.
    dual_norm : callable
        Maps correlations (n, k) to their dual norm (n,).
    count : int
        How many to return at most.
    least : float
        All but the first must be able to reach more than this.
    """
    share = force / np.sqrt(weight)[:, None]
    whole = share.T @ share
    product, chosen = whole, np.empty((0, force.shape[1]))
    while len(chosen) < min(count, force.shape[1]):
        singular = np.linalg.eigh(product)[1].T[::-1]
        some = np.concatenate([singular, np.where(singular < 0, -1.0, 1.0), np.eye(force.shape[1])])
        some = np.concatenate([some, -some])
        energy = np.einsum("ur,rs,us->u", some, product, some)
        there = energy > NOTHING * np.trace(whole)
        if not there.any():
            break
        some = some[there] / np.sqrt(energy[there])[:, None]
        reached = dual_norm(-some @ product)
        best = int(np.argmax(reached))
        if not reached[best] > (least if len(chosen) else 0.0):
            break
        direction = some[best] - (chosen @ whole @ some[best]) @ chosen
        product = product - np.outer(product @ direction, product @ direction)
        chosen = np.vstack([chosen, direction])
    return chosen
