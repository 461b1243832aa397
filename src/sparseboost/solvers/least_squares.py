"""The question that stagewise regression and Frank–Wolfe answer: least squares over a space of hypotheses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from sparseboost.hypotheses import Candidates, Dictionary, Enumerable
from sparseboost.penalties import L1

Array = np.ndarray
SMALL_ENTRIES = 200_000  # of a matrix for which the least-squares fit is worth knowing for the sake of a bound
SETTLED = (1, 2, 4, 5)  # how LSQR says that it found the fit


@dataclass(frozen=True)
class LeastSquares:
    r"""½ Σ_i s_i (y_i − b − Σ_j β_j h_j(x_i))² with Σ_i s_i = 1 and b the best intercept for β, or 0.

    An intercept is centring: y and every h_j stand for themselves minus their weighted mean. Columns are not touched,
    because Σ_i s_i (h_j(x_i) − mean) r_i = Σ_i s_i h_j(x_i) r_i for a residual r of mean zero. A hypothesis of cost c
    stands for h_j/c, so that the ℓ1 norm of its weights here is Σ_j c_j|β_j| of the model.

    References
    ----------
    MATH.md F2, F4; norms and inner products there are weighted here.
    """

    dictionary: Dictionary
    y: Array
    weight: Array
    fit_intercept: bool = True

    @cached_property
    def mean(self) -> float:
        """What centring takes from y."""
        if not self.fit_intercept:
            return 0.0
        first = self.y[np.argmax(self.weight)]  # shifted by it, so that a constant y leaves exactly nothing
        return float(first + self.weight @ (self.y - first))

    @cached_property
    def target(self) -> Array:
        """Centred y."""
        return self.y - self.mean

    @cached_property
    def energy(self) -> float:
        """‖y‖² of the centred y: twice the loss of the empty model."""
        return self.inner(self.target, self.target)

    def inner(self, one: Array, two: Array) -> float:
        """Σ_i s_i u_i v_i."""
        return float(self.weight @ (one * two))

    def force(self, residual: Array) -> Array:
        """What the hypotheses are correlated with, shape (m, 1); its sum is zero to the last bit that matters."""
        shift = self.weight @ residual if self.fit_intercept else 0.0
        return (self.weight * (residual - shift))[:, None]

    def columns(self, keys: Array) -> tuple[Array, Array]:
        """Outputs of some hypotheses over their cost, centred, shape (m, n), and the means that were taken away."""
        outputs = self.dictionary.columns(keys).dot(np.diag(1.0 / self.dictionary.cost(keys)))
        if not self.fit_intercept:
            return outputs, np.zeros(keys.size)
        means = self.weight @ outputs
        outputs = outputs - means
        rest = self.weight @ outputs  # what rounding left of a large mean
        return outputs - rest, means + rest

    def column(self, key: int) -> Array:
        """Outputs of one hypothesis over its cost, centred."""
        return self.columns(np.array([key]))[0][:, 0]

    def search(self, residual: Array) -> Candidates:
        """The hypothesis with the largest |X_jᵀr|: the linear minimisation oracle of the ℓ1 ball."""
        return self.dictionary.search(self.force(residual), L1().dual_norm, 1)

    @cached_property
    def largest_energy(self) -> float:
        """max_j ‖X_j‖² over all centred hypotheses; 0 where they cannot all be looked at."""
        if not isinstance(self.dictionary, Enumerable):
            return 0.0
        energy = self.dictionary.energy(self.weight)
        if self.fit_intercept:
            energy = energy - self.dictionary.correlate(self.weight[:, None])[:, 0] ** 2
        return float((energy / self.dictionary.cost(np.arange(energy.size)) ** 2).max(initial=0.0))

    @cached_property
    def fitted_energy(self) -> float:
        """‖Xβ_LS‖² where the space is small, else ‖y‖², which is no smaller."""
        if not isinstance(self.dictionary, Enumerable) or self.dictionary.size * self.y.size > SMALL_ENTRIES:
            return self.energy
        columns, root = self.dictionary.columns(np.arange(self.dictionary.size)), np.sqrt(self.weight)

        def forward(coef: Array) -> Array:
            score = columns.dot(coef.reshape(-1, 1))[:, 0]
            return root * (score - (self.weight @ score if self.fit_intercept else 0.0))

        def backward(dual: Array) -> Array:
            force = root * dual
            return columns.correlate((force - (self.weight * force.sum() if self.fit_intercept else 0.0))[:, None])[
                :, 0
            ]

        shape = (self.y.size, columns.size)
        matrix = LinearOperator(shape, matvec=forward, rmatvec=backward, dtype=np.float64)
        answer = lsqr(matrix, root * self.target, atol=1e-12, btol=1e-12, conlim=0.0, iter_lim=4 * min(shape))
        return max(self.energy - float(answer[3]) ** 2, 0.0) if answer[1] in SETTLED else self.energy
