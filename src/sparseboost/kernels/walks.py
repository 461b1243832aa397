"""Cheapest walks of bounded length on a graph, by value iteration."""

from __future__ import annotations

import numpy as np

from sparseboost.kernels.compile import compiled


@compiled
def cheapest_walk(neighbours, costs, start, goal, horizon):
    """States of a cheapest walk of at most `horizon` moves, both ends paid for; none if the goal is too far away.

    neighbours[s] lists the states next to s, −1 for none. Costs may have any sign. Ties go to the walk with fewer
    moves, then to the neighbour listed first.
    """
    n = costs.size
    value, before = np.full(n, np.inf), np.empty(n)  # of walks to the goal with at most `step` moves
    value[goal] = costs[goal]
    choices = np.full((horizon, n), -1, dtype=np.int8)
    for step in range(horizon):
        before[:] = value
        moved = False
        for s in range(n):
            best, move = np.inf, -1
            for a in range(neighbours.shape[1]):
                if neighbours[s, a] >= 0 and before[neighbours[s, a]] < best:
                    best, move = before[neighbours[s, a]], a
            if costs[s] + best < before[s]:
                value[s] = costs[s] + best
                choices[step, s] = move
                moved = True
        if not moved:
            break  # longer walks gain nothing
    walk = np.empty(horizon + 1, dtype=np.int64)
    if value[start] == np.inf:
        return walk[:0]
    walk[0], length = start, 1
    for step in range(horizon - 1, -1, -1):
        move = choices[step, walk[length - 1]]
        if move >= 0:  # one move more paid here; otherwise the walk with fewer moves is as good
            walk[length] = neighbours[walk[length - 1], move]
            length += 1
    return walk[:length]
