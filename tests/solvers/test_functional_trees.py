"""Multi-output stumps and trees: against brute force, scikit-learn's trees, and themselves on other paths."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeRegressor

from sparseboost.solvers.functional import Bond, VectorTrees, total
from sparseboost.solvers.functional.trees import Bins


def brute_force_stump(X, target, weight):
    """Smallest weighted squared error over all inputs and all cuts, with vector means on both sides."""
    best = np.sum(weight[:, None] * (target - np.average(target, axis=0, weights=weight)) ** 2)
    for j in range(X.shape[1]):
        for value in np.unique(X[:, j])[:-1]:
            error = 0.0
            for side in (X[:, j] <= value, X[:, j] > value):
                mean = np.average(target[side], axis=0, weights=weight[side])
                error += np.sum(weight[side][:, None] * (target[side] - mean) ** 2)
            best = min(best, error)
    return best


def sample(seed: int, k: int | None = None):
    rng = np.random.default_rng(seed)
    m, d, k = int(rng.integers(2, 80)), int(rng.integers(1, 7)), k or int(rng.integers(1, 5))
    X = rng.normal(size=(m, d))
    few = rng.random(d) < 0.6  # inputs with few values share lines of codes
    X[:, few] = np.round(X[:, few], int(rng.integers(0, 2)))
    weight = rng.random(m) + 0.05
    return X, rng.normal(size=(m, k)), weight / weight.sum()


def error(target, outputs, weight) -> float:
    return float(np.sum(weight[:, None] * (target - outputs) ** 2))


@pytest.mark.parametrize("seed", range(40))
def test_a_stump_is_the_best_of_all(seed: int) -> None:
    X, target, weight = sample(seed)
    tree, outputs, size = VectorTrees().bind(X, Bond(weight)).project(target)
    assert error(target, outputs, weight) == pytest.approx(brute_force_stump(X, target, weight), rel=1e-9)
    np.testing.assert_array_equal(tree(X), outputs)
    assert len(tree.inputs) <= 1
    inner = np.sum(weight[:, None] * target * outputs)
    assert size == pytest.approx(inner, rel=1e-10, abs=1e-14)
    assert size == pytest.approx(np.sum(weight[:, None] * outputs**2), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_trees_equal_those_of_scikit_learn(seed: int, depth: int) -> None:
    """Continuous inputs, so that no two cuts tie; the same thresholds, so the same predictions anywhere."""
    rng = np.random.default_rng(seed)
    m, d, k = 60, 4, int(rng.integers(1, 4))
    X, target, weight = rng.normal(size=(m, d)), rng.normal(size=(m, k)), rng.random(m) + 0.1
    tree = VectorTrees(depth).bind(X, Bond(weight / weight.sum())).project(target).hypothesis
    other = DecisionTreeRegressor(max_depth=depth).fit(X, target, sample_weight=weight)
    np.testing.assert_allclose(tree(X), other.predict(X).reshape(m, k), atol=1e-10)
    assert tree.nodes.shape[0] == other.tree_.node_count
    if depth == 1:
        assert tree.nodes[0, 0] == other.tree_.feature[0]
        assert tree.thresholds[0] == pytest.approx(other.tree_.threshold[0])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("depth", [1, 3])
def test_sparse_bins_threads_and_copies_change_nothing(seed: int, depth: int) -> None:
    X, target, weight = sample(seed + 100)
    X[np.abs(X) < 0.5] = 0.0
    bond = Bond(weight)
    tree, outputs, _ = VectorTrees(depth).bind(X, bond).project(target)
    for other in (sp.csr_array(X), sp.csc_array(X), np.asfortranarray(X)):
        again, same, _ = VectorTrees(depth).bind(other, bond).project(target)
        assert again.signature() == tree.signature()
        np.testing.assert_array_equal(same, outputs)
        np.testing.assert_array_equal(again(other), outputs)
    threads = VectorTrees(depth).bind(X, Bond(weight, n_jobs=2))
    np.testing.assert_array_equal(threads.project(target).outputs, outputs)
    enough = VectorTrees(depth, max_bins=1000).bind(X, bond)
    np.testing.assert_array_equal(enough.project(target).outputs, outputs)


def test_threads_are_used_and_give_the_same_bits(rng: np.random.Generator) -> None:
    X, target = rng.normal(size=(4000, 40)), rng.normal(size=(4000, 3))
    weight = np.full(4000, 1 / 4000)
    one, two = (VectorTrees(2).bind(X, Bond(weight, n_jobs=jobs)).project(target) for jobs in (1, 2))
    assert one.hypothesis.signature() == two.hypothesis.signature()
    np.testing.assert_array_equal(one.outputs, two.outputs)


def test_quantile_bins_are_nearly_as_good(rng: np.random.Generator) -> None:
    X, weight = rng.normal(size=(2000, 3)), np.full(2000, 1 / 2000)
    target = (X[:, :1] > 0.3) + 0.1 * rng.normal(size=(2000, 1))
    exact = VectorTrees().bind(X, Bond(weight)).project(target)
    rough = VectorTrees(max_bins=64).bind(X, Bond(weight)).project(target)
    assert error(target, rough.outputs, weight) < 2.0 * error(target, exact.outputs, weight)
    assert Bins.of(X, 64).counts.max() <= 64
    assert rough.hypothesis.inputs == (0,)


def test_lines_of_codes_hold_all_inputs(rng: np.random.Generator) -> None:
    X = np.column_stack([rng.integers(b, size=300) for b in (3, 1, 4, 2, 9, 250, 2, 2)]).astype(float)
    bins = Bins.of(X, None)
    assert bins.codes.shape[0] == 3, "3·1·4·2·9 fit into a byte, 250 needs its own, 2·2"
    assert bins.codes.dtype == np.uint8
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        assert bins.counts[j] == values.size
        for cut in range(values.size - 1):
            wanted = X[:, j] <= values[cut]
            np.testing.assert_array_equal(bins.at_most(j, cut, np.arange(300)), wanted)
            assert values[cut] <= bins.edges[j][cut] < values[cut + 1]
    many = Bins.of(rng.normal(size=(1000, 2)), None)
    assert many.codes.dtype == np.int32


def test_thresholds_lie_between_neighbouring_floats() -> None:
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)], [-1e308], [1e308]])
    target = np.array([[0.0], [1.0], [0.0], [1.0]])
    tree, outputs, _ = VectorTrees().bind(X, Bond(np.full(4, 0.25))).project(target)
    np.testing.assert_array_equal(outputs, target)
    np.testing.assert_array_equal(tree(X), target)


def test_constant_inputs_give_one_leaf() -> None:
    target = np.array([[1.0], [2.0], [6.0]])
    tree, outputs, _ = VectorTrees(3).bind(np.ones((3, 2)), Bond(np.full(3, 1 / 3))).project(target)
    assert tree.inputs == ()
    np.testing.assert_allclose(outputs, 3.0)
    assert repr(tree) == "[3]"


def test_leaves_keep_their_share_of_the_weight(rng: np.random.Generator) -> None:
    X, target, weight = rng.normal(size=(200, 3)), rng.normal(size=(200, 2)), np.full(200, 1 / 200)
    target[0] = 100.0  # without the limit it would be alone
    for share in (0.0, 0.1, 0.3):
        tree = VectorTrees(3, min_leaf=share).bind(X, Bond(weight)).project(target).hypothesis
        count = np.bincount(tree.leaf_of(X))
        assert count[count > 0].min() / 200 >= share
        assert (count[count > 0].min() == 1) == (share == 0.0)


def test_ties_go_to_the_lowest_input_and_cut() -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    target = np.array([[1.0], [-1.0], [-1.0], [1.0]])
    tree = VectorTrees().bind(X, Bond(np.full(4, 0.25))).project(target).hypothesis
    assert tree.nodes[0, 0] == 0
    assert tree.thresholds[0] == 0.5


def test_weights_are_copies(rng: np.random.Generator) -> None:
    X, target, _ = sample(7, k=2)
    count = rng.integers(1, 4, X.shape[0])
    copies = np.repeat(np.arange(X.shape[0]), count)
    one = VectorTrees(2).bind(X, Bond(count / count.sum())).project(target).hypothesis
    many = (
        VectorTrees(2).bind(X[copies], Bond(np.full(copies.size, 1 / copies.size))).project(target[copies]).hypothesis
    )
    assert one.signature() == many.signature()
    np.testing.assert_allclose(one.values, many.values, atol=1e-12)


def test_sums_of_trees_are_sums_of_their_outputs(rng: np.random.Generator) -> None:
    X, weight = rng.normal(size=(50, 5)), np.full(50, 1 / 50)
    trees = [
        VectorTrees(depth).bind(X, Bond(weight)).project(rng.normal(size=(50, 3))).hypothesis for depth in (1, 2, 3, 4)
    ]
    new, coef, start = rng.normal(size=(30, 5)), rng.normal(size=4), rng.normal(size=3)
    wanted = start + sum(c * tree(new) for c, tree in zip(coef, trees, strict=True))
    np.testing.assert_allclose(total(trees, coef, new, start), wanted, atol=1e-12)
    np.testing.assert_allclose(total(trees, coef, sp.csr_array(new), start), wanted, atol=1e-12)


def test_names_are_for_people(rng: np.random.Generator) -> None:
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    tree = VectorTrees().bind(X, Bond(np.full(2, 0.5), feature_names=["age", "income"])).project(X).hypothesis
    assert repr(tree) == "(age <= 0.5 ? [0, 1] : [1, 0])"


@pytest.mark.parametrize("bad", [{"max_depth": 0}, {"max_bins": 1}, {"min_leaf": 0.5}, {"min_leaf": -0.1}])
def test_bad_parameters_are_refused(bad: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        VectorTrees(**bad)
