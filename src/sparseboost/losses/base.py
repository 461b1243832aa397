"""What a loss must answer. A loss sees targets and scores, never X."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq

from sparseboost import kernels

Array = np.ndarray
LEVEL = 1e-13  # of a slope that counts as none, beside sums of weights that are one


def over_outputs(values: Array) -> Array:
    """Sum over outputs, shape (m,), in a quarter of the time of `sum(axis=1)`, which is slow where rows are short."""
    return np.einsum("ir->i", values)


def over_examples(values: Array) -> Array:
    """Sum over examples, shape (k,), in a sixth of the time of `sum(axis=0)`, which is slow where rows are short."""
    return np.ones(values.shape[0]) @ values


class Loss(ABC):
    r"""A convex loss ℓ(y, z) of the scores z of one example, separately for every example.

    Targets ``y`` and scores have shape (m, k); sample weights are applied by the caller.

    Attributes
    ----------
    curvature : float or None
        κ: a bound on the largest eigenvalue of the Hessian in z (bound B2), None where there is none.
    convexity : float
        λ: a lower bound on the smallest eigenvalue of the Hessian; 0 unless the loss is strongly convex.
    room : float or None
        β: the exponential bound B1 holds for templates with max_i Σ_j a_j |x_ij| ≤ β; None where it does not hold.
    kernel : tuple or None
        (kind, p0, p1): the compiled form in `kernels.pointwise`; None means the solvers use the methods below.

    References
    ----------
    MATH.md T1 (losses), T3 (conjugates), T6 (intercept), T7 (stable forms).
    """

    curvature: float | None = None
    convexity: float = 0.0
    room: float | None = None
    kernel: tuple[int, float, float] | None = None
    multiclass: ClassVar[bool] = False
    smooth: ClassVar[bool] = True
    probabilistic: ClassVar[bool] = True  # whether `decode` gives probabilities where targets are classes
    quadratic: ClassVar[bool] = False  # the same curvature everywhere
    sharpness: float = 1.0  # times what `model_curvature` says

    @abstractmethod
    def value(self, y: Array, score: Array) -> Array:
        """Loss of every example, shape (m,)."""

    @abstractmethod
    def gradient(self, y: Array, score: Array) -> Array:
        """(Sub)gradient in the scores, shape (m, k)."""

    def value_and_gradient(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Both at once, where they share work."""
        return self.value(y, score), self.gradient(y, score)

    @abstractmethod
    def conjugate(self, y: Array, dual: Array) -> Array:
        """Convex conjugate ℓ*(v) of every example, shape (m,); inf outside its domain."""

    def dual_value(self, y: Array, dual: Array, weight: Array, scale: float = 1.0) -> float:
        """−Σ_i s_i ℓ*(y_i, scale · v_i), of these rows."""
        return -float(weight @ self.conjugate(y, scale * dual))

    def local_curvature(self, y: Array, score: Array) -> Array | None:
        """Diagonal of the Hessian in the scores, shape (m, k); None where the loss has none."""
        return None

    def model_curvature(self, y: Array, score: Array) -> Array | None:
        """Curvature of the quadratic model a Newton step minimises: diagonal entries, or softmax's probabilities."""
        return self.local_curvature(y, score)

    def model(self, y: Array, weight: Array, score: Array) -> tuple[float, Array, Array | None]:
        """What a Newton step needs, if possible in one pass: weighted loss, weighted gradient, `model_curvature`."""
        force = weight[:, None] * self.gradient(y, score)
        return float(weight @ self.value(y, score)), force, self.model_curvature(y, score)

    def pivot(self, y: Array) -> Array:
        """What the change of an output is compared with in the Hessian of a multiclass loss, per example.

        −1: the mean under the probabilities that `model_curvature` gives (softmax); c ≥ 0: the change of output c,
        with the weight that `model_curvature` gives (pairwise losses). Empty where outputs are independent.
        """
        return np.full(y.shape[0], -1) if self.multiclass else np.empty(0, dtype=np.int64)

    def split(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Non-negative parts (up, down) with gradient = up − down, as the correlations μ± of T1 need them."""
        gradient = self.gradient(y, score)
        return np.maximum(gradient, 0.0), np.maximum(-gradient, 0.0)

    def n_outputs(self, y: Array) -> int:
        """Number of scores per example."""
        return y.shape[1]

    def start(self, y: Array, weight: Array) -> Array:
        """Best constant score, shape (k,): the intercept of the empty model."""
        best = np.empty(self.n_outputs(y))
        for r in range(best.size):
            column = y[:, r : r + 1]
            low, high = float(column.min()), float(column.max())

            def slope(constant: float, level: float, column: Array = column) -> float:
                return float(weight @ self.gradient(column, np.full_like(column, constant))[:, 0]) - level

            # where all constants of an interval are best, the middle of it: rounding must not choose one
            ends = []
            for level in (-LEVEL, LEVEL):
                if slope(low, level) >= 0.0 or slope(high, level) <= 0.0:
                    ends.append(low if slope(low, level) >= 0.0 else high)
                else:
                    ends.append(brentq(slope, low, high, (level,), xtol=1e-14 * max(1.0, high - low), rtol=1e-15))
            best[r] = 0.5 * (ends[0] + ends[1])
        return best

    def reference(self, y: Array) -> Array | None:
        """Scores that minimise every example's loss, shape (m, k); None where no finite scores do."""
        return None

    def balance(self, y: Array, dual: Array, weight: Array) -> Array:
        """Nearest simple dual point with Σ_i s_i v_i = 0, as an unpenalised intercept asks for (T6).

        The heavier sign of every output is scaled down; domains are kept because they are star-shaped around 0.
        """
        return self.balanced(y, dual, self.imbalance(y, dual, weight))

    def imbalance(self, y: Array, dual: Array, weight: Array) -> Array:
        """The sums over examples that `balanced` needs; those of several blocks of rows add up."""
        out = np.empty((2, dual.shape[1]))
        kernels.elementary.sums_by_sign(weight, np.ascontiguousarray(dual), out)
        return out

    def balanced(self, y: Array, dual: Array, imbalance: Array) -> Array:
        """These rows of what `balance` gives, with the imbalance of all rows."""
        least, out = imbalance.min(axis=0), np.empty(dual.shape)
        scales = np.divide(least, imbalance, out=np.ones(imbalance.shape), where=imbalance > least)
        kernels.elementary.scale_by_sign(np.ascontiguousarray(dual), scales, out)
        return out

    def best_scale(self, y: Array, dual: Array, weight: Array, limit: float) -> float:
        """The scale t in [0, limit] for which −Σ s ℓ*(t·dual) is (nearly) largest."""
        return self.scale_within(self.scale_sums(y, dual, weight), limit)

    def scale_sums(self, y: Array, dual: Array, weight: Array) -> Array:
        """The two sums over examples that `scale_within` needs; those of several blocks of rows add up."""
        return np.zeros(2)

    def scale_within(self, sums: Array, limit: float) -> float:
        """What `best_scale` gives, with the sums of all rows."""
        return min(1.0, limit)

    def envelope_gradient(self, y: Array, score: Array, step: float) -> Array | None:
        """The subgradient v at z = argmin ℓ(y, z) + ‖z − score‖²/(2·step) = score − step·v, shape (m, k), or None.

        It is the gradient of the Moreau envelope; v and not z, because v then lies exactly in the conjugate's domain.
        """
        return None

    def smoothed(self, width: float) -> Loss:
        """A smooth loss within width/2 below this one whose gradients stay in the domain of this conjugate."""
        return self

    def decode(self, score: Array) -> Array:
        """What the scores predict: means for regression, probabilities for classification."""
        return score

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in sorted(vars(self).items()) if key[0] != "_")
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), tuple(sorted(vars(self).items()))))
