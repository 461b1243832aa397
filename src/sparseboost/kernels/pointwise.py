"""The gradient of one example's loss, split into its non-negative parts; one switch for all losses."""

from __future__ import annotations

import math

from sparseboost.kernels.compile import compiled, compiled_inside
from sparseboost.kernels.kinds import EPS_INSENSITIVE, EXPONENTIAL, HINGE, LOGISTIC, PAIRWISE, QUANTILE, SOFTMAX


@compiled
def sigmoid(t):
    """σ(t) through e^{−|t|}."""
    e = math.exp(-abs(t))
    return 1.0 / (1.0 + e) if t >= 0 else e / (1.0 + e)


@compiled_inside
def _pull(kind, width, margin):
    """How strongly a loss of the margin wants it larger."""
    if kind == LOGISTIC:
        return sigmoid(-margin)
    if kind == EXPONENTIAL:
        return math.exp(min(-margin, 700.0))
    return min(max((1.0 - margin) / width, 0.0), 1.0)


@compiled
def refresh(kind, p0, p1, i, y, weight, score, up, down):
    """Set up[i], down[i] to the weighted parts of the gradient at score[i] (twin of `Loss.split`)."""
    k = score.shape[1]
    s = weight[i]
    if kind == SOFTMAX:
        own = int(y[i, 0])
        # p0 is added to the other classes' scores (0, or the margin of the hinge), p1 is one over the temperature
        top = score[i, own] - p0
        for r in range(k):
            top = max(top, score[i, r])
        total = 0.0
        for r in range(k):
            e = math.exp(p1 * (score[i, r] - top - (p0 if r == own else 0.0)))
            up[i, r] = e
            total += e
        rest = 0.0
        for r in range(k):
            if r != own:
                up[i, r] *= s / total
                rest += up[i, r]
        up[i, own] = 0.0
        down[i, own] = rest
        return
    if kind == PAIRWISE:
        own = int(y[i, 0])
        rest = 0.0
        for r in range(k):
            if r != own:
                up[i, r] = s / k * _pull(p0, p1, score[i, own] - score[i, r])
                rest += up[i, r]
        up[i, own] = 0.0
        down[i, own] = rest
        return
    for r in range(k):
        if kind == LOGISTIC or kind == EXPONENTIAL or kind == HINGE:
            q = s * _pull(kind, p0, y[i, r] * score[i, r])
            if y[i, r] > 0:
                down[i, r] = q
            else:
                up[i, r] = q
        elif kind == EPS_INSENSITIVE:
            t = score[i, r] - y[i, r]
            up[i, r] = s * sigmoid(t - p0)
            down[i, r] = s * sigmoid(-t - p0)
        elif kind == QUANTILE:
            t = s * min(max((score[i, r] - y[i, r]) / p0, -p1), 1.0 - p1)
            up[i, r] = max(t, 0.0)
            down[i, r] = max(-t, 0.0)
        else:  # RESIDUAL: clipped at ±p0, times p1
            t = s * p1 * min(max(score[i, r] - y[i, r], -p0), p0)
            up[i, r] = max(t, 0.0)
            down[i, r] = max(-t, 0.0)
