"""Losses of several scores and one own class, in one pass over the scores."""

from __future__ import annotations

from sparseboost.kernels.compile import compiled


@compiled
def crammer_singer(own, score, value, gradient):
    """value[i] = max_r (1{r≠y} + z_r) − z_y, and a subgradient e_top − e_y; ties go to the lowest class."""
    k = score.shape[1]
    for i in range(score.shape[0]):
        y = own[i]
        top, highest = y, score[i, y]
        for r in range(k):
            gradient[i, r] = 0.0
            raised = score[i, r] + 1.0
            if r != y and raised > highest:  # classes come in order, so ties stay with the lowest
                top, highest = r, raised
        value[i] = highest - score[i, y]
        if top != y:
            gradient[i, top] = 1.0
            gradient[i, y] = -1.0
