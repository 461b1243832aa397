"""Many small steps and the lasso: FS_ε beside scikit-learn's `lasso_path`, and Frank–Wolfe's certificate.

    python examples/plot_stagewise_and_lasso.py [picture.png]

Forward stagewise regression moves one weight by ε per round. For small ε its path is nearly that of the lasso with the
same ℓ1 norm, and `history_` says how nearly: the gap bounds how far the loss is above the lasso's. With a radius, and
in Frank–Wolfe, the run ends at one lasso, and the gap falls as the theory promises.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lasso_path
from sklearn.preprocessing import scale

from sparseboost import ForwardStagewiseRegressor, FrankWolfeLasso

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "stagewise.png"
STEPS = ("line-search", "2/(k+2)", "away")
COLORS = ("#3b6fb6", "#c8472b", "#2e8b57", "#8a5fb0")
RADIUS = 1.2
LONGEST = 2.0  # ℓ1 norm shown; beyond it the collinear blood values drift apart


def draw_paths(axes, X, y, models):
    """The lasso's weights over their ℓ1 norm, and those of FS_ε on top of them."""
    _, coefs, _ = lasso_path(X, y, alphas=200, eps=1e-4)
    norms = np.abs(coefs).sum(axis=0)
    for ax, model in zip(axes, models, strict=True):
        path = model.coef_path_  # (rounds + 1, features)
        ax.set_prop_cycle(color=plt.cm.tab10.colors)
        ax.plot(norms, coefs.T, "--", linewidth=0.8, alpha=0.8)
        ax.set_prop_cycle(color=plt.cm.tab10.colors)
        ax.plot(np.abs(path).sum(axis=1), path, linewidth=1.3)
        ax.set(title=f"FS$_ε$, ε = {model.eps:g} (solid), and lasso (dashed)", xlim=(0, LONGEST), ylim=(-0.45, 0.5))
        ax.set(xlabel=r"$\|β\|_1$", ylabel="weights")


def draw_excess(ax, X, y, models):
    """How far FS_ε is above the lasso of the same ℓ1 norm, and the certificate that says so."""
    lasso_norms, lasso_losses = lasso_losses_by_norm(X, y)
    for model, color in zip(models, ("#c8472b", "#3b6fb6"), strict=True):
        norms = np.abs(model.coef_path_).sum(axis=1)
        losses = np.array([record["loss"] for record in model.history_])
        gaps = np.array([record["gap"] for record in model.history_])
        excess = losses - np.interp(norms, lasso_norms, lasso_losses)
        shown = np.flatnonzero((norms > 0) & (norms <= LONGEST))[:: max(1, len(norms) // 150)]
        ax.semilogy(norms[shown], gaps[shown], color=color, linewidth=0.8, label=f"certified, ε = {model.eps:g}")
        ax.semilogy(norms[shown], np.maximum(excess[shown], 1e-9), ":", color=color, label=f"true, ε = {model.eps:g}")
    ax.set(title=r"Loss of FS$_ε$ above the lasso of the same norm", xlabel=r"$\|β\|_1$", ylim=(1e-8, 20))
    ax.legend(fontsize=7, loc="upper left", ncols=2)


def lasso_losses_by_norm(X, y):
    _, coefs, _ = lasso_path(X, y, alphas=400, eps=1e-4, tol=1e-8, max_iter=100_000)
    return np.abs(coefs).sum(axis=0), 0.5 * np.mean((y[:, None] - X @ coefs) ** 2, axis=0)


def draw_gaps(ax, X, y):
    """The gap to the lasso of one radius, per round: three step rules of Frank–Wolfe, and FS_ε with shrinkage."""
    models = {step: FrankWolfeLasso(RADIUS, step=step, tol=0, max_rounds=1000) for step in STEPS}
    models["R-FS$_ε$, ε = 0.002"] = ForwardStagewiseRegressor(0.002, radius=RADIUS, tol=0)
    for (name, model), color in zip(models.items(), COLORS, strict=True):
        gaps = [max(record["gap"], 1e-12) for record in model.fit(X, y).history_]
        ax.loglog(range(len(gaps)), np.minimum.accumulate(gaps), color=color, label=name)
    promised = [record["gap_bound"] for record in models["line-search"].history_]
    ax.loglog(range(len(promised)), promised, "--", color="0.5", label="promised for line-search, 2/(k+2)")
    ax.set(title=f"Smallest gap to the lasso of radius {RADIUS:g} so far", xlabel="round", ylim=(1e-10, 1e2))
    ax.legend(fontsize=7, loc="lower left")


def main(picture: Path = PICTURE) -> None:
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), scale(y)
    # tol=0: rounds are the regulariser here, there is no target to miss
    models = [ForwardStagewiseRegressor(eps, max_rounds=round(3.0 / eps), tol=0).fit(X, y) for eps in (0.05, 0.002)]
    figure, axes = plt.subplots(2, 2, figsize=(9.6, 6.6), layout="constrained")
    draw_paths(axes[0], X, y, models)
    draw_excess(axes[1, 0], X, y, models)
    draw_gaps(axes[1, 1], X, y)
    figure.savefig(picture, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
