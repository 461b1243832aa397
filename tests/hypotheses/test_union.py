"""Laws of unions: one search over all parts, their costs, and certificates over all of their hypotheses."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, alpha_max
from sparseboost.hypotheses import (
    Context,
    Enumerable,
    Features,
    Kernel,
    Stumps,
    Trees,
    Union,
    UnionDictionary,
    evaluate,
)
from sparseboost.penalties import L1, L1L2, L1Linf

sys.path.insert(0, str(Path(__file__).parents[1] / "oracles"))
from objectives import Question

M, D, S = 40, 6, 9
COSTS = [1.0, 0.3, 2.5]
PENALTIES = [L1(), L1L2(), L1Linf(), L1(True)]


def spaces(rng):
    points = np.where(rng.random((S, D)) < 0.4, rng.normal(size=(S, D)), 0.0)
    return [Features(), Kernel("rbf", gamma=0.2, support=points), Kernel("linear", support=points[:4])]


def data(rng, sparse=False):
    X = np.where(rng.random((M, D)) < 0.6, rng.normal(size=(M, D)), 0.0)
    return sp.csc_array(X) if sparse else X


def pieces(rng, X, costs=COSTS, general=False):
    """A union, the matrix of all its hypotheses, their costs, and their keys."""
    union = Union(spaces(rng), costs=costs)
    bound = union.bind(X, Context(feature_costs=np.linspace(1, 2, D)))
    parts = [space.bind(X, Context(feature_costs=np.linspace(1, 2, D))) for space in union.spaces]
    if general:
        bound = UnionDictionary(parts, union.costs)
    matrices, cost, keys = [], [], []
    for number, (part, factor) in enumerate(zip(parts, costs, strict=True)):
        every = np.arange(part.size)
        matrix = part.columns(every).matrix
        matrices.append(matrix.toarray() if sp.issparse(matrix) else matrix)
        cost.append(factor * part.cost(every))
        keys.append(bound.key(number, every))
    return bound, np.hstack(matrices), np.concatenate(cost), np.concatenate(keys)


both_kinds = pytest.mark.parametrize("general", [False, True], ids=["enumerable", "general"])
both_forms = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])


@both_kinds
@both_forms
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_search_is_the_maximum_over_all_parts(penalty, sparse, general, rng):
    bound, matrix, cost, keys = pieces(rng, data(rng, sparse), general=general)
    assert bound.exact
    assert isinstance(bound, Enumerable) is not general
    for _ in range(5):
        force = rng.normal(size=(M, 2))
        violation = penalty.dual_norm(matrix.T @ force) / cost
        order = np.argsort(-violation, kind="stable")
        found = bound.search(force, penalty.dual_norm, 5)
        np.testing.assert_array_equal(found.keys, keys[[j for j in order[:5] if violation[j] > 0]])
        assert found.violation == pytest.approx(violation.max(), rel=1e-12)
        level, barred = violation.mean(), order[:3]
        rest = bound.search(force, penalty.dual_norm, 100, above=level, exclude=keys[barred])
        np.testing.assert_array_equal(rest.keys, keys[[j for j in order[3:] if violation[j] > level]])
        assert rest.violation == pytest.approx(found.violation, rel=1e-12)
        assert bound.search(force, penalty.dual_norm, 0).keys.size == 0


@both_kinds
def test_rank_decides_among_all_parts(general, rng):
    bound, matrix, cost, keys = pieces(rng, data(rng), general=general)
    force = rng.normal(size=(M, 1))
    scores = dict(zip(keys.tolist(), rng.permutation(keys.size) - 4.0, strict=True))

    def rank(asked, correlation):
        place = np.searchsorted(np.sort(keys), asked)
        np.testing.assert_allclose(correlation, (matrix.T @ force)[np.argsort(keys)[place]], atol=1e-12)
        return np.array([scores[key] for key in asked])

    violation = L1().dual_norm(matrix.T @ force) / cost
    found = bound.search(force, L1().dual_norm, 100, above=0.2, rank=rank)
    wanted = [key for key in keys[violation > 0.2] if scores[key] > 0]
    np.testing.assert_array_equal(found.keys, sorted(wanted, key=lambda key: -scores[key]))


@both_kinds
@both_forms
def test_columns_hypotheses_and_costs_agree(sparse, general, rng):
    X = data(rng, sparse)
    bound, matrix, cost, keys = pieces(rng, X, general=general)
    chosen = rng.permutation(keys.size)[:12]
    np.testing.assert_allclose(bound.columns(keys[chosen]).matrix, matrix[:, chosen], atol=1e-12)
    np.testing.assert_allclose(bound.cost(keys[chosen]), cost[chosen])
    hypotheses = [bound.hypothesis(int(key)) for key in keys[chosen]]
    np.testing.assert_allclose(evaluate(hypotheses, X), matrix[:, chosen], atol=1e-12)
    assert bound.inputs(keys[:2]) == {0, 1}
    assert bound.inputs(keys[-1:]) == set(range(D))
    for key, hypothesis in zip(keys[chosen], hypotheses, strict=True):
        again = bound.adopt(hypothesis)
        np.testing.assert_array_equal(bound.columns(np.array([again])).matrix, bound.columns(np.array([key])).matrix)
    assert bound.adopt(Trees().bind(np.eye(D)).search) is None


@both_kinds
def test_columns_of_one_union_are_all_sparse_or_all_dense(general, rng):
    X = data(rng, sparse=True)
    for parts, sparse in (([Features(), Features()], True), ([Features(), Kernel(support="all")], False)):
        union = Union(parts)
        bound = UnionDictionary([part.bind(X) for part in parts], union.costs) if general else union.bind(X)
        empty, first, last = (
            bound.columns(keys)
            for keys in (np.empty(0, dtype=np.int64), bound.key(0, np.array([2, 0])), bound.key(1, np.array([3])))
        )
        joined = empty.append(first).append(last)
        assert sp.issparse(empty.matrix) is sp.issparse(joined.matrix) is sparse
        assert joined.matrix.shape == (M, 3)
        mixed = bound.columns(np.concatenate([bound.key(1, np.array([3])), bound.key(0, np.array([2, 0]))])).matrix
        swapped = joined.matrix[:, [2, 0, 1]]
        np.testing.assert_array_equal(mixed.toarray() if sparse else mixed, swapped.toarray() if sparse else swapped)


def test_sums_of_an_enumerable_union(rng):
    bound, matrix, cost, _ = pieces(rng, data(rng, sparse=True))
    weight, template = rng.exponential(size=M), rng.exponential(size=matrix.shape[1])
    assert bound.size == matrix.shape[1] == D + S + 4
    np.testing.assert_allclose(bound.energy(weight), weight @ matrix**2)
    np.testing.assert_allclose(bound.reach(weight), np.abs(matrix).max(axis=0))
    np.testing.assert_allclose(bound.absolute_scores(template), np.abs(matrix) @ template)
    up, down, keys = rng.exponential(size=(M, 2)), rng.exponential(size=(M, 2)), np.array([16, 3, 9])
    plus, minus = bound.split_correlate(keys, up, down)
    right, left = np.maximum(matrix[:, keys], 0), np.maximum(-matrix[:, keys], 0)
    np.testing.assert_allclose(plus, right.T @ down + left.T @ up)
    np.testing.assert_allclose(minus, right.T @ up + left.T @ down)
    dear = bound.at_cost(3 * cost)
    np.testing.assert_allclose(dear.cost(keys), 3 * cost[keys])
    np.testing.assert_allclose(bound.cost(keys), cost[keys])


# -- the description ---------------------------------------------------------------------------------------------------


def test_unions_are_taken_apart():
    a, b, c = Features(), Stumps(), Trees(2)
    union = a + b + c
    assert isinstance(union, Union)
    assert union.spaces == [a, b, c]
    assert (a + (b + c)).spaces == [a, b, c]
    nested = Union([Union([a, b], costs=[1, 2]), c], costs=[3, 5])
    assert nested.costs == [3.0, 6.0, 5.0]
    assert repr(a + c) == "Union([Features(), Trees(max_depth=2)])"
    assert repr(nested) == f"Union([Features(), {b!r}, Trees(max_depth=2)], costs=[3.0, 6.0, 5.0])"


def test_a_union_is_as_strict_and_as_exact_as_its_parts(rng):
    assert (Stumps() + Trees()).allows_missing
    assert not (Features() + Trees()).allows_missing
    assert not (Stumps() + Trees()).allows_categories
    assert Stumps().allows_categories
    assert (Stumps() + Stumps(n_bins=3)).allows_categories
    assert Union([Features(), Stumps(categorical_features=[1])]).categorical_features == [1]
    X = data(rng)
    assert not (Features() + Trees()).bind(X).exact
    assert (Features() + Stumps()).bind(X).exact


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Union([]), "needs spaces"),
        (lambda: Union([Features(), "stumps"]), "needs spaces of hypotheses, got 'stumps'"),
        (lambda: Union([Features()], costs=[1, 2]), "one finite cost > 0 for each of its 1 spaces"),
        (lambda: Union([Features()], costs=[0]), "cost > 0"),
        (lambda: Union([Features()], costs=[np.inf]), "finite cost"),
        (lambda: Features() + 3, "unsupported operand"),
    ],
)
def test_complaints(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


# -- fits --------------------------------------------------------------------------------------------------------------


@both_forms
@pytest.mark.parametrize("penalty", ["l1", "l1/l2", "l2"])
def test_a_fit_over_a_union_is_optimal_over_all_of_it(penalty, sparse, rng):
    X = data(rng, sparse)
    plain = X.toarray() if sparse else X
    y = np.argmax(plain[:, :3] + 0.5 * rng.normal(size=(M, 3)), axis=1)
    union = Union(spaces(rng), costs=COSTS)
    alpha = 0.05 if penalty == "l2" else 0.2 * alpha_max(X, y, hypotheses=union, penalty=penalty)
    model = SparseBoostClassifier(alpha, hypotheses=union, penalty=penalty, tol=1e-7).fit(X, y)
    bound = union.bind(X)
    every = np.arange(bound.size)
    question = Question("softmax", penalty, alpha, bound.columns(every).matrix, y, cost=bound.cost(every))
    assert model.converged_
    assert model.certificate_scope_ == "space"
    assert model.objective_ == pytest.approx(question.optimum(), abs=1e-6)
    if penalty != "l2":
        assert model.n_active_ < bound.size


def test_a_fit_over_features_and_stumps_is_optimal_over_both(rng):
    """Stumps are too many to be a matrix in general; here they are written down by hand."""
    X = np.round(data(rng), 1)
    y = (X[:, 0] > 0.3) * 2.0 - X[:, 1] + 0.2 * rng.normal(size=M)
    union = Union([Features(), Stumps()], costs=[0.6, 1.0])
    alpha = 0.2 * alpha_max(X, y, hypotheses=union, loss="squared")
    model = SparseBoostRegressor(alpha, hypotheses=union, tol=1e-7).fit(X, y)
    signs = [np.where(X[:, j] <= cut, 1.0, -1.0) for j in range(D) for cut in np.unique(X[:, j])[:-1]]
    matrix = np.column_stack([X, *signs])
    cost = np.r_[np.full(D, 0.6), np.ones(len(signs))]
    question = Question("squared", "l1", alpha, matrix, y, cost=cost)
    assert model.converged_
    assert model.certificate_scope_ == "space"
    assert {type(h).__name__ for h in model.hypotheses_} == {"Feature", "Stump"}
    assert model.objective_ == pytest.approx(question.optimum(), abs=1e-6)


def test_dear_spaces_are_not_used(rng):
    X = data(rng)
    y = X[:, 0] + 0.5 * X[:, 1]
    cheap = {"penalty": "l1", "alpha": 0.05}
    kinds = []
    for costs in ([1.0, 100.0], [100.0, 0.1]):
        model = SparseBoostRegressor(hypotheses=Union([Features(), Stumps()], costs=costs), **cheap).fit(X, y)
        kinds.append({type(h).__name__ for h in model.hypotheses_})
    assert kinds == [{"Feature"}, {"Stump"}]


def test_the_same_space_twice_changes_nothing(rng):
    X = data(rng)
    y = (X[:, 0] + 0.5 * rng.normal(size=M) > 0).astype(int)
    once = SparseBoostClassifier(0.02, tol=1e-8).fit(X, y)
    twice = SparseBoostClassifier(0.02, hypotheses=Features() + Features(), tol=1e-8).fit(X, y)
    assert twice.objective_ == pytest.approx(once.objective_, abs=1e-8)
    np.testing.assert_allclose(twice.decision_function(X), once.decision_function(X), atol=1e-3)


def test_a_union_with_learners_says_what_its_certificate_covers(rng):
    X = data(rng)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = SparseBoostClassifier(0.02, hypotheses=Features() + Trees(2), random_state=0).fit(X, y)
    assert model.certificate_scope_ == "induced"
    assert model.score(X, y) > 0.9
    again = SparseBoostClassifier(0.02, hypotheses=Features() + Trees(2), random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
