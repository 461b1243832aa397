"""Small margin games, and what independent solvers say about them."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from sparseboost.hypotheses import Features
from sparseboost.solvers.game import Game

Array = np.ndarray

# Rudin, Daubechies & Schapire (2004), The Dynamics of AdaBoost, JMLR 5: the largest margin is 3/8; AdaBoost with its
# classical step goes round the first three hypotheses for ever and ends at margin 1/3
RUDIN = np.array(
    [
        [-1, 1, 1, 1, 1, -1, -1, 1],
        [-1, 1, 1, -1, -1, 1, 1, 1],
        [1, -1, 1, 1, 1, -1, 1, 1],
        [1, -1, 1, 1, -1, 1, 1, 1],
        [1, -1, 1, -1, 1, 1, 1, -1],
        [1, 1, -1, 1, 1, 1, 1, -1],
        [1, 1, -1, 1, 1, 1, -1, 1],
        [1, 1, 1, 1, -1, -1, 1, -1],
    ],
    dtype=float,
)


def random_question(seed: int, kind: str = "signs", separable: bool = True) -> tuple[Array, Array, Array]:
    """Outputs H of hypotheses, labels ±1 and a prior; outputs are ±1, or anything in [−1, 1]."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(6, 26)), int(rng.integers(5, 16))
    H = rng.choice([-1.0, 1.0], size=(m, n)) if kind == "signs" else rng.uniform(-1, 1, size=(m, n))
    truth = rng.choice([-1.0, 1.0], size=n) * rng.uniform(0.5, 1.0, size=n)  # no hypothesis decides alone
    y = np.where(H @ truth > 0, 1.0, -1.0) if separable else rng.choice([-1.0, 1.0], size=m)
    y[0], y[1] = 1.0, -1.0
    if separable:  # the two rows whose labels were set may need their outputs turned
        for i in (0, 1):
            H[i] *= np.sign(y[i] * (H[i] @ truth))
    prior = np.full(m, 1.0 / m) if seed % 2 else rng.dirichlet(np.full(m, 5.0))
    return H, y, prior


def doubled(H: Array, y: Array) -> Array:
    """M with every hypothesis and its negation."""
    return y[:, None] * np.hstack([H, -H])


def make_game(H: Array, y: Array, prior: Array) -> Game:
    return Game(Features().bind(H), y, prior)


def largest_margin(M: Array, cap: Array | None = None) -> float:
    """θ*, or the largest soft margin ρ − Σ cap_i ξ_i, as the value of the examples' side of the game."""
    m, n = M.shape
    above = np.hstack([M.T, -np.ones((n, 1))])
    bounds = [(0, None if cap is None else cap[i]) for i in range(m)] + [(None, None)]
    found = linprog(
        np.append(np.zeros(m), 1.0), A_ub=above, b_ub=np.zeros(n), A_eq=np.append(np.ones(m), 0.0)[None], b_eq=[1.0],
        bounds=bounds, method="highs",
    )  # fmt: skip
    assert found.status == 0
    return float(found.fun)
