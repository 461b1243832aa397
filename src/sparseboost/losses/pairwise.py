"""Pairwise losses: the own class against every other, one loss of the margin each."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logit
from scipy.special import softmax as softmax_rows

from sparseboost.kernels.kinds import EXPONENTIAL, HINGE, LOGISTIC, PAIRWISE
from sparseboost.losses.base import Array, Loss
from sparseboost.losses.logistic import Logistic
from sparseboost.losses.softmax import log_shares

MOST_STEPS = 100
BISECTIONS = 60


class Pairwise(Loss):
    r"""A loss of all margins, ℓ = (1/k) Σ_{r≠y} l(z_y − z_r); ``y`` has one column of class codes 0 … k−1.

    The factor 1/k is that of P2, so that with weights 1/m `alpha` is the ν of the paper; the constant l(0)/k of the
    pair (y, y) is left out.

    Parameters
    ----------
    margin : Loss
        l: a loss for labels ±1, such as `Logistic()`, `Exponential()` or `Hinge()`, taken at the label +1.
    n_classes : int
        k, the number of classes and of scores per example.

    References
    ----------
    MATH.md P6, T1 and T3 (pairwise log).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.losses import Hinge, Pairwise
    >>> Pairwise(Hinge(), 4).value(np.array([[0.0]]), np.array([[1.0, 0.5, 0.0, -1.0]]))
    array([0.125])
    """

    multiclass = True

    def __init__(self, margin: Loss, n_classes: int) -> None:
        self.margin = margin
        self.n_classes = n_classes

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        return self.margin.smooth

    @property
    def probabilistic(self) -> bool:  # type: ignore[override]
        return self.margin.probabilistic

    @property
    def curvature(self) -> float | None:  # type: ignore[override]
        return self.margin.curvature  # the star of all pairs has the eigenvalue k, which meets the factor 1/k

    @property
    def room(self) -> float | None:  # type: ignore[override]
        return None if self.margin.room is None else 0.5 * self.margin.room  # a margin moves with two scores

    @property
    def kernel(self) -> tuple[int, float, float] | None:  # type: ignore[override]
        kind, parameter, _ = self.margin.kernel or (-1, 0.0, 0.0)
        return (PAIRWISE, float(kind), parameter) if kind in (LOGISTIC, EXPONENTIAL, HINGE) else None

    def n_outputs(self, y: Array) -> int:
        return self.n_classes

    def pivot(self, y: Array) -> Array:
        return y[:, 0].astype(np.int64)

    def _own(self, y: Array) -> tuple[Array, Array]:
        return np.arange(y.shape[0]), y[:, 0].astype(np.intp)

    def _margins(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Labels +1 and margins z_y − z_r as the loss of the margin reads them, one column."""
        margins = score[self._own(y)][:, None] - score
        return np.ones((margins.size, 1)), margins.reshape(-1, 1)

    def _shared(self, y: Array, each: Array) -> Array:
        """Values of all pairs over k, shape (m, k), without those of the pair (y, y)."""
        each = each.reshape(-1, self.n_classes) / self.n_classes
        each[self._own(y)] = 0.0
        return each

    def value(self, y: Array, score: Array) -> Array:
        return self._shared(y, self.margin.value(*self._margins(y, score))).sum(axis=1)

    def gradient(self, y: Array, score: Array) -> Array:
        gradient = self._shared(y, -self.margin.gradient(*self._margins(y, score)))
        gradient[self._own(y)] = -gradient.sum(axis=1)
        return gradient

    def local_curvature(self, y: Array, score: Array) -> Array | None:
        return self._star(y, self.margin.local_curvature(*self._margins(y, score)))

    def model_curvature(self, y: Array, score: Array) -> Array | None:
        return self._star(y, self.margin.model_curvature(*self._margins(y, score)))

    def _star(self, y: Array, each: Array | None) -> Array | None:
        if each is None:
            return None
        local = self._shared(y, each)
        local[self._own(y)] = local.sum(axis=1)
        return local

    def conjugate(self, y: Array, dual: Array) -> Array:
        push = -self.n_classes * dual
        push[self._own(y)] = 0.0
        value = self._shared(y, self.margin.conjugate(np.ones((push.size, 1)), push.reshape(-1, 1))).sum(axis=1)
        return np.where(np.abs(dual.sum(axis=1)) <= 1e-9 * (1.0 + np.abs(dual).max(axis=1)), value, np.inf)

    def imbalance(self, y: Array, dual: Array, weight: Array) -> Array:
        own = self._own(y)
        push = dual.copy()
        push[own] = 0.0
        return self._flow(own[1], weight, np.maximum(push, 0.0)) + self._flow(own[1], weight, np.maximum(-push, 0.0)).T

    def balanced(self, y: Array, dual: Array, imbalance: Array) -> Array:
        # Σ_i s_i v_i = 0 says that as much is pushed out of every class as into it: a circulation between classes
        own = self._own(y)
        push = dual.copy()
        push[own] = 0.0
        cut = circulation_cut(imbalance)
        push *= 1.0 - np.where(push > 0.0, cut[own[1]], cut.T[own[1]])
        push[own] = -push.sum(axis=1)
        return push

    def _flow(self, codes: Array, weight: Array, push: Array) -> Array:
        """Weight pushed from every class to every other."""
        each = [np.bincount(codes, weight * push[:, r], minlength=self.n_classes) for r in range(self.n_classes)]
        return np.stack(each, axis=1)

    def start(self, y: Array, weight: Array) -> Array:
        share = np.bincount(y[:, 0].astype(np.intp), weight, minlength=self.n_classes)
        best = self._pairs_alone(share)
        classes = np.arange(self.n_classes, dtype=float)[:, None]
        for width in (1.0,) if self.smooth else 10.0 ** -np.arange(10.0):
            loss = self.smoothed(width)

            def mean(constant: Array, loss: Loss = loss) -> tuple[float, Array]:
                score = np.broadcast_to(constant, (self.n_classes, self.n_classes))
                return float(share @ loss.value(classes, score)), share @ loss.gradient(classes, score)

            if np.abs(mean(best)[1]).max() > 1e-13 * share.sum():
                best = minimize(mean, best, jac=True, method="BFGS", options={"gtol": 1e-13 * share.sum()}).x
        return best - best.mean()

    def _pairs_alone(self, share: Array) -> Array:
        """Means of the best differences of all pairs: the best constants where these agree with each other."""
        difference = np.zeros((self.n_classes, self.n_classes))
        both = np.array([[1.0], [-1.0]])
        for c in range(self.n_classes):
            for r in range(c):
                difference[c, r] = self.margin.start(both, share[[c, r]])[0] if share[c] + share[r] > 0 else 0.0
                difference[r, c] = -difference[c, r]
        return difference.mean(axis=1)

    def envelope_gradient(self, y: Array, score: Array, step: float) -> Array | None:
        # Given t = z_y the pairs have envelopes of their own, which pull; t moves by what all of them pull.
        if self.margin.envelope_gradient(np.ones((1, 1)), np.zeros((1, 1)), 1.0) is None:
            return None
        own = self._own(y)
        start = score[own]

        def pulls(t: Array) -> Array:
            margins = (t[:, None] - score).reshape(-1, 1)
            each = self.margin.envelope_gradient(np.ones((margins.size, 1)), margins, step / self.n_classes)
            assert each is not None
            return self._shared(y, -each)

        def moved(t: Array) -> Array:
            return start + step * pulls(t).sum(axis=1)

        low, high, reach = start.copy(), start.copy(), np.full_like(start, step)
        while np.any(short := moved(high) > high):
            high, reach = np.where(short, high + reach, high), 2.0 * reach
        reach = np.full_like(start, step)
        while np.any(long := moved(low) < low):
            low, reach = np.where(long, low - reach, low), 2.0 * reach
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            below = moved(middle) > middle
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        pull = pulls(0.5 * (low + high))
        pull[own] = -pull.sum(axis=1)
        return pull

    def smoothed(self, width: float) -> Loss:
        margin = self.margin.smoothed(width)
        return self if margin is self.margin else Pairwise(margin, self.n_classes)

    def decode(self, score: Array) -> Array:
        log_odds = logit(self.margin.decode(np.ones((1, 1)))[0, 0])  # that a margin of 1 stands for
        return softmax_rows(log_odds * score, axis=1)


class PairwiseLogistic(Pairwise):
    r"""Pairwise logistic loss ℓ = (1/k) Σ_{r≠y} ln(1 + e^{z_r − z_y}); ``y`` has one column of class codes 0 … k−1.

    The factor 1/k is that of P2, so that with weights 1/m `alpha` is the ν of the paper; the constant (ln 2)/k of the
    pair (y, y) is left out. Scores whose differences are log-odds are its population optimum: `decode` is the softmax.

    Parameters
    ----------
    n_classes : int
        k, the number of classes and of scores per example.

    References
    ----------
    MATH.md P2, T1 (curvature k/4 before the factor), T3 (conjugate).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.losses import PairwiseLogistic
    >>> PairwiseLogistic(4).value(np.array([[0.0]]), np.zeros((1, 4))) * 4 / np.log(2)
    array([3.])
    """

    def __init__(self, n_classes: int) -> None:
        super().__init__(Logistic(), n_classes)

    def start(self, y: Array, weight: Array) -> Array:
        # every pair of classes alone has the optimum b_c − b_r = ln(share_c/share_r), so all of them together
        return log_shares(y, weight, self.n_classes)

    def decode(self, score: Array) -> Array:
        return softmax_rows(score, axis=1)

    def __repr__(self) -> str:
        return f"PairwiseLogistic({self.n_classes})"


def circulation_cut(flow: Array) -> Array:
    r"""Share of every flow to take away so that all nodes send what they receive: clip(π_c − π_r, 0, 1).

    It minimises Σ cut²·flow, so it is zero for a circulation and small next to one. The potentials π minimise a convex
    function of linear and quadratic pieces, on which Newton's method ends after a few steps.
    """
    surplus = flow.sum(axis=1) - flow.sum(axis=0)
    ridge = 1e-10 * flow.max(initial=0.0) * np.eye(flow.shape[0])  # where nothing bends, the slope itself is the way

    def look(potential: Array) -> tuple[float, Array]:
        rise = np.maximum(potential[:, None] - potential, 0.0)
        inside = np.minimum(rise, 1.0)
        cut = flow * inside
        value = float((flow * (0.5 * inside**2 + (rise - inside))).sum() - surplus @ potential)
        return value, cut.sum(axis=1) - cut.sum(axis=0) - surplus

    potential = np.zeros(flow.shape[0])
    value, slope = look(potential)
    for _ in range(MOST_STEPS):
        size = np.abs(slope).max()
        if size <= 4e-16 * flow.sum():
            break
        rise = potential[:, None] - potential
        bent = np.where((rise >= 0.0) & (rise <= 1.0), flow, 0.0)
        bent = bent + bent.T
        direction = -np.linalg.solve(np.diag(bent.sum(axis=1)) - bent + ridge, slope)
        step = 1.0
        found = look(potential + direction)
        # close to the end the slope shows progress that the value rounds away
        while step > 1e-9 and not (found[0] < value or (step == 1.0 and np.abs(found[1]).max() < 0.5 * size)):
            step *= 0.5
            found = look(potential + step * direction)
        if step <= 1e-9:
            break
        potential, (value, slope) = potential + step * direction, found
    return np.clip(potential[:, None] - potential, 0.0, 1.0)
