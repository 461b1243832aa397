"""What one block of rows does in one step of ADMM: the same code for one block, many, or a cluster of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from sparseboost.hypotheses import Columns
from sparseboost.losses import Loss

Array = np.ndarray
MOST_EVALUATIONS = 500


class Signal(NamedTuple):
    """What a step tells all blocks.

    Attributes
    ----------
    consensus : array of shape (n, k)
        Z.
    sharpness : float
        θ: scores are tied to H W with stiffness θ s_i, rows W_j to Z_j with stiffness λ_j = θ · share_j.
    share : array of shape (n, 1)
        Stiffness of rows beside that of scores; fixed, so that a matrix is factored once.
    relaxation, precision : float
        Over-relaxation, and the gradient at which an inner minimisation may stop.
    restart : bool
        Begin a new average.
    from_average : bool
        Go on from the old average, to which `consensus` belongs then.
    """

    consensus: Array
    sharpness: float
    share: Array
    relaxation: float = 1.0
    precision: float = 0.0
    restart: bool = False
    from_average: bool = False


class Meter(NamedTuple):
    """Squared sizes in units of the objective: residuals of the constraints and of the steps, weights, multipliers."""

    primal: float = 0.0
    dual: float = 0.0
    weights: float = 0.0
    multipliers: float = 0.0


NOTHING = Meter()


@dataclass(frozen=True)
class Block:
    """Some rows of the active columns, with their targets and weights; f_q(W) = Σ_{i∈q} s_i ℓ(y_i, (H W)_i)."""

    columns: Columns
    y: Array
    weight: Array
    loss: Loss

    @classmethod
    def cut(cls, columns: Columns, y: Array, weight: Array, loss: Loss, free: bool) -> Block:
        """A block; an unpenalised intercept is one more column of ones."""
        if free:
            ones = np.ones((y.shape[0], 1))
            columns = columns.append(Columns(sp.csc_array(ones) if sp.issparse(columns.matrix) else ones))
        return cls(columns, y, weight, loss)

    def value(self, coef: Array) -> tuple[float, Array]:
        """f_q and its gradient."""
        value, gradient = self.loss.value_and_gradient(self.y, self.columns.dot(coef))
        return float(self.weight @ value), self.columns.correlate(self.weight[:, None] * gradient)


@dataclass(frozen=True)
class BlockState:
    """Where a block stands.

    Attributes
    ----------
    coef, offer : array of shape (n, k)
        W_q, and Ŵ_q + U_q/λ, of which Z is made.
    wanted : array of shape (m, k) or None
        The same for scores that are split off, S_q = H_q W_q: S_q is the prox of the loss there, and what the prox
        takes away is their multiplier.
    total_offer, total_wanted, count
        Sums since the last restart.
    """

    coef: Array
    offer: Array
    sharpness: float
    wanted: Array | None = None
    score: Array | None = None
    total_offer: Any = 0.0
    total_wanted: Any = 0.0
    count: int = 0
    meter: Meter = NOTHING
    factor: Any = None  # of Hᵀ diag(s) H + diag(share)

    def average(self) -> BlockState:
        """The average since the last restart, as a state."""
        return replace(self, offer=self.total_offer / self.count, wanted=self.total_wanted / self.count)


def energy(block: Block) -> Array:
    """Σ_{i∈q} s_i h_j(x_i)² of every column."""
    return block.columns.energy(block.weight)


def offer(state: BlockState) -> tuple[Array, Meter]:
    """What the consensus is made of."""
    return state.offer, state.meter


def dual_point(block: Block, state: BlockState, average: bool) -> Array:
    """A subgradient of the loss at the scores of this state, or of the average since the last restart."""
    return _subgradient(block, state.average() if average else state)


def begin(block: Block, signal: Signal, dual: Array | None) -> BlockState:
    """A state that is stationary if the consensus is the optimum: U_q = −∇f_q(Z), or −Hᵀ(s·dual)."""
    coef, stiffness = signal.consensus, signal.sharpness * signal.share
    if block.loss.smooth:
        return BlockState(coef, coef - block.value(coef)[1] / stiffness, signal.sharpness)
    score = block.columns.dot(coef)
    if dual is None:
        dual = block.loss.gradient(block.y, score)
    pull = block.columns.correlate(block.weight[:, None] * dual)
    return BlockState(coef, coef - pull / stiffness, signal.sharpness, score + dual / signal.sharpness)


def step(block: Block, state: BlockState, signal: Signal) -> BlockState:
    """U_q ← U_q + λ(Ŵ_q − Z), then W_q ← argmin f_q + ⟨U_q, W_q⟩ + ½‖W_q − Z‖²_λ, over-relaxed (P5)."""
    if signal.from_average:
        state = state.average()
    if signal.restart:
        state = replace(state, total_offer=0.0, total_wanted=0.0, count=0)
    turn = state.sharpness / signal.sharpness
    multiplier = turn * (state.offer - signal.consensus)  # U_q/λ
    move = _smooth_step if block.loss.smooth else _score_step
    state = move(block, state, signal, multiplier)
    stiffness = signal.sharpness * signal.share
    own = Meter(
        float((stiffness * (state.coef - signal.consensus) ** 2).sum()),
        0.0,
        float((stiffness * state.coef**2).sum()),
        float((stiffness * multiplier**2).sum()),
    )
    meter = Meter(*(np.add(own, state.meter)))
    offer = signal.consensus + multiplier + signal.relaxation * (state.coef - signal.consensus)
    return replace(
        state, sharpness=signal.sharpness, offer=offer, meter=meter,
        total_offer=state.total_offer + offer, count=state.count + 1,
    )  # fmt: skip


def _smooth_step(block: Block, state: BlockState, signal: Signal, multiplier: Array) -> BlockState:
    """L-BFGS, in variables scaled by the stiffness."""
    root, shape = np.sqrt(signal.sharpness * signal.share), state.coef.shape
    centre = signal.consensus - multiplier

    def value(flat: Array) -> tuple[float, Array]:
        coef = flat.reshape(shape) / root
        loss, gradient = block.value(coef)
        away = (coef - centre) * root
        return loss + 0.5 * float((away**2).sum()), (gradient / root + away).ravel()

    found = minimize(
        value, (state.coef * root).ravel(), jac=True, method="L-BFGS-B",
        options={"gtol": signal.precision, "ftol": 0.0, "maxfun": MOST_EVALUATIONS, "maxcor": 20},
    )  # fmt: skip
    return replace(state, coef=found.x.reshape(shape) / root, meter=NOTHING)


def _score_step(block: Block, state: BlockState, signal: Signal, multiplier: Array) -> BlockState:
    """Exact prox of the loss for scores of their own, then least squares for W_q."""
    factor = state.factor
    if factor is None:
        factor = cho_factor(block.columns.inner(block.weight) + np.diag(signal.share[:, 0]), check_finite=False)
    weight, theta = block.weight[:, None], signal.sharpness
    dual = _subgradient(block, state)
    assert state.wanted is not None
    score, lag = state.wanted - dual / state.sharpness, dual / theta
    right = block.columns.correlate(weight * (score - lag)) + signal.share * (signal.consensus - multiplier)
    coef = cho_solve(factor, right, check_finite=False)
    reached = block.columns.dot(coef)
    wanted = score + lag + signal.relaxation * (reached - score)
    moved = 0.0 if state.score is None else score - state.score
    sizes = (reached - score, moved, score, lag)
    meter = Meter(*(theta * float((weight * size**2).sum()) for size in sizes))
    return replace(
        state, coef=coef, wanted=wanted, score=score, total_wanted=state.total_wanted + wanted, meter=meter,
        factor=factor,
    )  # fmt: skip


def _subgradient(block: Block, state: BlockState) -> Array:
    """What the prox of the loss takes away from the scores that are wanted, times the sharpness."""
    assert state.wanted is not None
    dual = block.loss.envelope_gradient(block.y, state.wanted, 1.0 / state.sharpness)
    assert dual is not None
    return dual
