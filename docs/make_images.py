"""Draw the pictures of the documents: `python docs/make_images.py` (half a minute; needs the `plot` extra)."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from sparseboost import SparseBoostClassifier, alpha_max

HERE = Path(__file__).parent
NORMS = {
    "l1": ("ℓ1", "#3b6fb6", "Blues"),
    "l1/l2": ("ℓ1/ℓ2", "#c8472b", "Reds"),
    "l1/linf": ("ℓ1/ℓ∞", "#2e8b57", "Greens"),
}
SHARES = (0.85, 0.7, 0.55, 0.45, 0.35, 0.27, 0.2, 0.14, 0.1, 0.07)
PIXELS = 20


def paths(train, train_y, test, test_y):
    """For every norm: (pixels used, share of test digits right, weights) along decreasing alpha."""
    found = {}
    for norm in NORMS:
        limit = alpha_max(train, train_y, penalty=norm)
        model = SparseBoostClassifier(penalty=norm, tol=1e-3, warm_start=True)
        found[norm] = []
        for share in SHARES:
            model.set_params(alpha=share * limit).fit(train, train_y)
            found[norm].append((model.n_active_, model.score(test, test_y), model.coef_))
            print(norm, share, *found[norm][-1][:2])
    return found


def draw(found, file):
    """Accuracy against pixels used, and the pixels of the models that use about PIXELS of them."""
    figure = plt.figure(figsize=(11, 3.9), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 1.35))
    axes = left.subplots()
    for norm, (name, colour, _) in NORMS.items():
        used, right_share, _ = zip(*found[norm], strict=True)
        axes.plot(used, right_share, "o-", color=colour, label=name, markersize=4)
    axes.axvline(PIXELS, color="0.75", linestyle=":", zorder=0)
    axes.set(xlabel="pixels used, of 64", ylabel="digits read correctly (test set)", xlim=(0, 50))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="lower right", title="norm of a pixel's ten weights")
    right.suptitle(f"the pixels each norm chooses, near {PIXELS}", fontsize=11)
    for axes, (norm, (name, colour, shade)) in zip(right.subplots(1, 3), NORMS.items(), strict=True):
        used, share, coef = min(found[norm], key=lambda entry: abs(entry[0] - PIXELS))
        weight = np.abs(coef).max(axis=0).reshape(8, 8)
        axes.imshow(np.ma.masked_equal(weight / weight.max(), 0), cmap=shade, vmin=-0.5, vmax=1.1)
        axes.scatter(*np.nonzero(weight == 0)[::-1], s=5, color="0.8")
        axes.set_title(f"{name}: {used} pixels\n{share:.0%} correct", color=colour, fontsize=11)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color("0.8")
    figure.savefig(file, dpi=130)


if __name__ == "__main__":
    X, y = load_digits(return_X_y=True)
    train, test, train_y, test_y = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
    scaler = StandardScaler().fit(train)
    draw(paths(scaler.transform(train), train_y, scaler.transform(test), test_y), HERE / "images" / "norms.png")
