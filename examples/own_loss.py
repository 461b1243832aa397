"""A loss of one's own: ten lines, and functional boosting follows its subgradients.

    python examples/own_loss.py

Somebody who sells bread loses 4 per loaf that is missing and 1 per loaf that is left over. The loss needs `value`, one
number per example, and `gradient`, of the shape of the scores; it may have corners.
"""

from __future__ import annotations

import numpy as np

from sparseboost import FunctionalBoostRegressor


class Bakery:
    """4 per missing loaf, 1 per loaf left over."""

    def value(self, y, score):
        return np.maximum(4.0 * (y - score), score - y)[:, 0]

    def gradient(self, y, score):
        return np.where(score < y, -4.0, 1.0)


def main() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(7, size=2000), rng.random((2000, 2))])  # weekday, rain, football
    y = 100.0 + 40.0 * (X[:, 0] >= 5) - 30.0 * X[:, 1] + 10.0 * rng.normal(size=2000)
    train, test = slice(0, 1500), slice(1500, None)
    usual = FunctionalBoostRegressor("squared", algorithm="naive").fit(X[train], y[train])
    model = FunctionalBoostRegressor(Bakery(), step_size=20.0).fit(X[train], y[train])
    for name, one in (("squared", usual), ("own loss", model)):
        loaves = one.predict(X[test])
        cost = Bakery().value(y[test, None], loaves[:, None]).mean()
        print(f"{name:<9} costs {cost:.1f} a day, {np.mean(loaves >= y[test]):.0%} of days have enough")


if __name__ == "__main__":
    main()
