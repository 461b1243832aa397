"""python -m benchmarks.margins: seconds of boosting rounds, beside scikit-learn and one linear program on all stumps.

Processor seconds on one BLAS thread, compiled code warm, median of the repetitions. Wanted: 1,000 rounds of AdaBoost+L1
on 100 × 20 in less than 5 s; AdaBoost rounds at least 20 times as fast as scikit-learn's AdaBoostClassifier on stumps.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from sparseboost import MarginBoostClassifier

Array = np.ndarray
REPEATS = 5


def ringnorm(m: int, n: int = 20, seed: int = 0) -> tuple[Array, Array]:
    """Breiman's ringnorm as Xi et al. describe it: N(0, 4I) against N(a·1, I) with a = 1/√n."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(m) < 0.5, 1, -1)
    X = rng.normal(size=(m, n))
    return np.where((y > 0)[:, None], 2.0 * X, X + 1.0 / np.sqrt(n)), y


def seconds(work: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """Median processor time of some repetitions, and the last result."""
    taken, result = [], None
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        taken.append(time.process_time() - start)
    return float(np.median(taken)), result


def corrective() -> None:
    X, y = ringnorm(100)
    for loss in ("exponential", "logistic"):
        model = MarginBoostClassifier(loss=loss, max_rounds=1000, tol=0.0)
        taken, found = seconds(lambda model=model: model.fit(X, y))
        print(
            f"AdaBoost+L1, {loss} loss, ringnorm 100 × 20: {found.n_rounds_} rounds in {taken:.2f} s, wanted: < 5; "
            f"margin {found.margin_:.4f}, at most {found.gap_:.4f} below the largest"
        )


def rounds_beside_scikit_learn(m: int, n: int, ours: int, theirs: int, repeats: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    y = np.sign(X[:, :5].sum(axis=1) + rng.normal(size=m))
    peer = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=theirs)
    slow, found = seconds(lambda: peer.fit(X, y), repeats)
    slow /= len(found.estimators_)
    print(f"AdaBoost, {m:,} × {n}: scikit-learn {1e3 * slow:.3f} ms per round")
    for name, model in {
        "optimal step": MarginBoostClassifier("adaboost", max_rounds=ours),
        "eps-adaboost": MarginBoostClassifier("eps-adaboost", max_rounds=ours),
    }.items():
        fast, fitted = seconds(lambda model=model: model.fit(X, y), repeats)
        fast /= fitted.n_rounds_
        print(
            f"  sparseboost, {name:<13} {1e3 * fast:.3f} ms per round, {slow / fast:.0f} times as fast, wanted: >= 20"
        )


def full_matrix(X: Array, y: Array) -> Array:
    """y_i h(x_i) of every stump and its negation."""
    columns = [np.where(X[:, [j]] <= np.sort(X[:, j])[:-1], y[:, None], -y[:, None]) for j in range(X.shape[1])]
    M = np.hstack(columns).astype(float)
    return np.hstack([M, -M])


def linear_programs(m: int, n: int) -> None:
    X, y = ringnorm(m, n)

    def plain() -> float:
        M = full_matrix(X, y)
        size = M.shape[1]
        found = linprog(
            np.append(np.zeros(size), -1.0), A_ub=np.hstack([-M, np.ones((m, 1))]), b_ub=np.zeros(m),
            A_eq=np.append(np.ones(size), 0.0)[None], b_eq=[1.0], bounds=[(0, None)] * size + [(None, None)],
        )  # fmt: skip
        return -float(found.fun)

    slow, theta = seconds(plain, 3)
    fast, model = seconds(lambda: MarginBoostClassifier("lpboost", tol=1e-6, max_rounds=5000).fit(X, y), 3)
    print(
        f"LPBoost, ringnorm {m} × {n}: {fast:.2f} s, margin {model.margin_:.6f} after {model.n_rounds_} rounds; "
        f"linprog on all {2 * (m - 1) * n:,} stumps {slow:.2f} s, margin {theta:.6f}; {slow / fast:.1f} × as fast"
    )


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = ringnorm(30)
    for method in ("adaboost", "lpboost", "adaboost+l1"):  # compile
        MarginBoostClassifier(method, max_rounds=3).fit(X, y)
    X = np.random.default_rng(0).normal(size=(20_000, 2))  # more bins than fit into a byte
    MarginBoostClassifier("adaboost", max_rounds=3).fit(X, X[:, 0] > 0)
    with threadpool_limits(1):
        corrective()
        rounds_beside_scikit_learn(200, 20, 1000, 200, REPEATS)
        rounds_beside_scikit_learn(20_000, 50, 100, 5, 3)
        for m, n in ((100, 20), (200, 20)):
            linear_programs(m, n)


if __name__ == "__main__":
    main()
