"""Rounds of forward stagewise regression and Frank–Wolfe on correlations alone: a round costs one Gram column.

Every round is β ← factor·β, then one entry set to a value. With c = Xᵀr, b = Xᵀy, p = ⟨y, Xβ⟩ and q = ‖Xβ‖² nothing
else of the data is needed than the Gram columns of the hypotheses chosen so far (F2, F4).
"""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled, compiled_inside
from sparseboost.kernels.kinds import AWAY, CONSTANT, FORWARD, LINE_SEARCH

NO_REST = 1e-12  # share of the radius below which the point counts as lying on the sphere
TIE = 1e-9  # two steps that promise the same up to this: after 0 was left, ±radius·e_j often do
MADE, MISSING, SMALL, STUCK = range(4)  # why `rounds` returned


@compiled
def choose(kind, number, radius, k, pull, target, energy, p, q, current):
    """Factor and new value of the entry that is pulled most, for round k.

    `pull`, `target`, `energy` are c_j, b_j, ‖X_j‖² of the chosen hypothesis and `current` is its weight.
    """
    sign = 1.0 if pull > 0.0 else -1.0
    if kind == FORWARD:  # whole steps, so that a step back is exactly that
        return 1.0, number * np.rint(current / number + sign)
    share = number
    if kind == LINE_SEARCH or kind == AWAY:
        gap = radius * abs(pull) - (p - q)
        length = radius * radius * energy - 2.0 * radius * sign * (target - pull) + q
        share = 0.0
        if gap > 0.0:
            share = min(gap / length, 1.0) if length > 0.0 else 1.0
    elif kind != CONSTANT:
        share = 2.0 / (k + 2.0)
    return 1.0 - share, (1.0 - share) * current + share * radius * sign


@compiled
def retreat(radius, best, pulls, targets, energies, weights, p, q):
    """Step away from the worst vertex in use, where that promises more than the step to the best one.

    The vertices in use are sgn(β_j)·radius·e_j, and 0 while ‖β‖₁ < radius. Returns (entry, factor, value, whether the
    vertex was left for good); entry −1 means no retreat, and the vertex 0 stands at the first weight that is not zero.
    """
    total = 0.0
    for a in range(weights.size):
        total += abs(weights[a])
    rest = 1.0 - total / radius
    worst, lowest = -2, radius * abs(best)
    if rest > NO_REST:
        worst, lowest = -1, 0.0
    for a in range(weights.size):
        if weights[a] != 0.0:
            pull = radius * pulls[a] * (1.0 if weights[a] > 0.0 else -1.0)
            if pull < lowest:
                worst, lowest = a, pull
    inner = p - q
    if worst == -2 or total == 0.0 or (1.0 + TIE) * (radius * abs(best) - inner) >= inner - lowest:
        return -1, 1.0, 0.0, False
    sign = 0.0
    if worst == -1:
        share, length = rest, q
    else:
        sign = 1.0 if weights[worst] > 0.0 else -1.0
        share = abs(weights[worst]) / radius
        length = q - 2.0 * radius * sign * (targets[worst] - pulls[worst]) + radius * radius * energies[worst]
    if share >= 1.0:
        return -1, 1.0, 0.0, False
    longest = share / (1.0 - share)
    step = longest
    if length > 0.0:
        step = min((inner - lowest) / length, longest)
    left = step == longest
    if worst == -1:
        for a in range(weights.size):
            if weights[a] != 0.0:
                return a, 1.0 + step, (1.0 + step) * weights[a], left
    if left:
        return worst, 1.0 + step, 0.0, True
    return worst, 1.0 + step, (1.0 + step) * weights[worst] - step * radius * sign, False


@compiled_inside
def strongest(c):
    """Index of the largest |c_j|; a tie goes to the lowest."""
    best, largest = 0, -1.0
    for j in range(c.size):
        size = abs(c[j])
        if size > largest:
            best, largest = j, size
    return best


@compiled
def rounds(
    kind, number, radius, first, limit, may_stop, c, b, keys, slots, rows, gram, energies, weights, moments, half,
    chosen, factors, values, left, losses, pulls, gaps, active,
):  # fmt: skip
    """Make up to `chosen.size` rounds in place; returns (rounds made, why it ended, the key whose column is missing).

    Hypotheses met so far have slots: `keys`, `energies`, `weights` are by slot; `slots` and `rows` (of `gram`) are by
    key, −1 where there is none. `losses`, `pulls`, `gaps`, `active` tell where each round started.
    """
    p, q = moments[0], moments[1]
    met = weights.size
    near = np.empty((2, met))  # c and b of the hypotheses met
    for i in range(chosen.size):
        j = strongest(c)
        norm, count = 0.0, 0
        for a in range(met):
            norm += abs(weights[a])
            count += weights[a] != 0.0
        pull = abs(c[j])
        gap = (norm if kind == FORWARD else radius) * pull - (p - q) if pull > 0.0 else 0.0
        losses[i], pulls[i], gaps[i], active[i] = half - p + 0.5 * q, pull, gap, count
        if (may_stop or i > 0) and (pull if kind == FORWARD else gap) <= limit:
            return i, SMALL, j
        if slots[j] < 0:
            return i, MISSING, j
        a, left[i] = -1, False
        if kind == AWAY:
            for a in range(met):
                near[0, a], near[1, a] = c[keys[a]], b[keys[a]]
            a, factor, value, left[i] = retreat(radius, pull, near[0], near[1], energies, weights, p, q)
        if a < 0:
            a = slots[j]
            factor, value = choose(kind, number, radius, first + i, c[j], b[j], energies[a], p, q, weights[a])
        if rows[keys[a]] < 0:
            return i, MISSING, keys[a]
        chosen[i], factors[i], values[i] = keys[a], factor, value
        if factor == 1.0 and value == weights[a]:
            return i + 1, STUCK, j
        change = value - factor * weights[a]
        beside = b[keys[a]] - c[keys[a]]  # X_jᵀXβ
        q = factor * factor * q + 2.0 * factor * change * beside + change * change * energies[a]
        p = factor * p + change * b[keys[a]]
        moments[0], moments[1] = p, q
        if factor != 1.0:
            for s in range(met):
                weights[s] *= factor
        weights[a] = value
        column = gram[rows[keys[a]]]
        if factor == 1.0:
            for s in range(c.size):
                c[s] -= change * column[s]
        else:
            for s in range(c.size):
                c[s] = factor * c[s] + (1.0 - factor) * b[s] - change * column[s]
    return chosen.size, MADE, 0
