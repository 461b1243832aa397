"""Laws of products: the search equals brute force over all of them, columns equal outputs, certificates are global."""

from __future__ import annotations

import os
from itertools import product as every
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, alpha_max
from sparseboost.hypotheses import Context, Features, Product, Products, evaluate, product_inputs, product_search
from sparseboost.penalties import L1, L1L2, L1Linf, NoPenalty, Ridge

NORMS = [kind(positive) for kind in (L1, L1L2, L1Linf) for positive in (False, True)]
SHAPES = {
    "normal": lambda rng, m, d: rng.normal(size=(m, d)),
    "shares": lambda rng, m, d: rng.random((m, d)) * (rng.random((m, d)) < 0.6),
    "flags": lambda rng, m, d: 1.0 * (rng.random((m, d)) < 0.5),
    "counts": lambda rng, m, d: np.round(2.0 * rng.normal(size=(m, d))),
}


def full(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)


def scaled(X: Any, scale: str | None) -> np.ndarray:
    """What the products are made of, by scikit-learn."""
    if scale is None:
        return full(X)
    if sp.issparse(X):
        A = MaxAbsScaler().fit_transform(full(X))
    else:
        A = MinMaxScaler((0 if scale == "unit" else -1, 1)).fit_transform(full(X))
    return np.where(np.ptp(full(X), axis=0) > 0, A, 0.0)


def everything(A: np.ndarray, space: Products) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Factors and outputs of the whole space, by scikit-learn."""
    table = PolynomialFeatures(space.degree, interaction_only=space.interaction_only, include_bias=False).fit(A)
    factors = [tuple(np.repeat(np.arange(A.shape[1]), powers).tolist()) for powers in table.powers_]
    return factors, table.transform(A)


def costs_of(factors: list[tuple[int, ...]], cost: np.ndarray | None) -> np.ndarray:
    return np.array([1.0 if cost is None else cost[sorted(set(own))].sum() for own in factors])


def random_case(rng: np.random.Generator) -> tuple[Any, Products, np.ndarray | None]:
    """Data with ties, zeros and signs; a space; costs or none."""
    m, d = rng.integers(2, 30), rng.integers(1, 7)
    X = SHAPES[rng.choice(list(SHAPES))](rng, m, d)
    scale = rng.choice(["unit", "symmetric", None])
    sparse = rng.random() < 0.5
    if sparse and scale == "unit":
        X = np.abs(X)
    if rng.random() < 0.3:
        X[:, -1] = X[:, 0]
    space = Products(int(rng.integers(1, 5)), bool(rng.random() < 0.5), scale)
    return sp.csc_array(X) if sparse else X, space, rng.uniform(0.5, 2.0, size=d) if rng.random() < 0.5 else None


def random_force(rng: np.random.Generator, m: int, k: int) -> np.ndarray:
    force = rng.normal(size=(m, k))
    if rng.random() < 0.4:
        force = np.round(force)
    return np.abs(force) if rng.random() < 0.2 else force


def best_distinct(score: np.ndarray, columns: np.ndarray, taken: list[int], count: int, above: float) -> np.ndarray:
    """Scores of the best `count` hypotheses whose outputs equal those of no better one and of none that is taken."""
    kept, seen = [], list(taken)
    for n in np.argsort(-score, kind="stable"):
        if len(kept) == count or score[n] <= max(above, 1e-12):
            break
        twins = [t for t in seen if np.allclose(columns[:, n], columns[:, t], rtol=1e-10, atol=1e-14)]
        if not any(score[t] > score[n] * (1 - 1e-9) for t in twins):
            kept.append(n)
            seen.append(n)
    return score[kept]


def scores_of(dictionary: Any, keys: np.ndarray, force: np.ndarray, dual_norm: Any) -> np.ndarray:
    return dual_norm(dictionary.columns(keys).correlate(force)) / dictionary.cost(keys)


# -- the search ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", NORMS, ids=repr)
def test_the_search_equals_brute_force(penalty, rng):
    for _ in range(60):
        X, space, cost = random_case(rng)
        dictionary = space.bind(X, Context(feature_costs=cost))
        factors, columns = everything(scaled(X, space.scale), space)
        force = random_force(rng, X.shape[0], int(rng.integers(1, 4)))
        score = penalty.dual_norm(columns.T @ force) / costs_of(factors, cost)
        levels = np.unique(np.round(score, 9))
        above = 0.0 if rng.random() < 0.5 or len(levels) < 2 else float(levels[-2:].mean())
        count = int(rng.integers(0, 9))
        found = dictionary.search(force, penalty.dual_norm, count, above=above)
        assert found.violation == pytest.approx(score.max(), rel=1e-10)
        wanted = best_distinct(score, columns, [], count, above)
        np.testing.assert_allclose(scores_of(dictionary, found.keys, force, penalty.dual_norm), wanted, rtol=1e-8)
        # what is excluded counts for the maximum and is not returned, and neither is its twin
        again = dictionary.search(force, penalty.dual_norm, count, above=above, exclude=found.keys[:2])
        assert again.violation == pytest.approx(found.violation, rel=1e-10)
        assert not set(again.keys) & set(found.keys[:2])
        taken = [factors.index(dictionary.hypothesis(key).factors) for key in found.keys[:2]]
        rest = best_distinct(score, columns, taken, count, above)
        np.testing.assert_allclose(scores_of(dictionary, again.keys, force, penalty.dual_norm), rest, rtol=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", ["unit", "symmetric", None])
def test_pruning_never_loses_the_maximum(scale, sparse, rng):
    """Deep trees with one product to find, so that bounds decide about most of them."""
    skipped = 0
    for _ in range(40):
        m, d, k = rng.integers(5, 40), rng.integers(6, 9), rng.integers(1, 3)
        X = SHAPES[rng.choice(list(SHAPES))](rng, m, d)
        X = np.abs(X) if sparse and scale == "unit" else X
        X = sp.csc_array(X) if sparse else X
        cost = rng.uniform(0.5, 2.0, size=d) if rng.random() < 0.5 else None
        space = Products(4, bool(rng.random() < 0.5), scale)
        factors, columns = everything(scaled(X, scale), space)
        penalty, force = NORMS[rng.integers(len(NORMS))], random_force(rng, m, k)
        score = penalty.dual_norm(columns.T @ force) / costs_of(factors, cost)
        dictionary = space.bind(X, Context(feature_costs=cost))
        for count, above in ((1, 0.0), (0, 0.0), (3, 2.0 * score.max()), (3, 0.9 * score.max())):
            found = dictionary.search(force, penalty.dual_norm, count, above=above)
            assert found.violation == pytest.approx(score.max(), rel=1e-10)
            wanted = best_distinct(score, columns, [], count, above)
            np.testing.assert_allclose(scores_of(dictionary, found.keys, force, penalty.dual_norm), wanted, rtol=1e-8)
            skipped += len(factors) - found.visited
    assert skipped > 0


@pytest.mark.parametrize("sparse", [False, True])
def test_the_search_in_small_parts_equals_brute_force(sparse, rng, monkeypatch):
    """Whatever the sizes of blocks, outputs and budgets, parts fit together."""
    for entries in (1, 7, 40, 300):
        monkeypatch.setattr(product_inputs, "BLOCK_ENTRIES", entries)
        monkeypatch.setattr(product_search, "BLOCK_ENTRIES", entries)
        monkeypatch.setattr(product_search, "CHUNK", 1 + entries // 10)
        monkeypatch.setattr(product_inputs, "OUTPUT_ENTRIES", entries)
        monkeypatch.setattr(product_inputs, "OUTPUT_VALUES", entries)
        monkeypatch.setattr(product_inputs, "WORK", entries)
        for shape, powers, degree in every(SHAPES, [False, True], [2, 3, 4]):
            X = SHAPES[shape](rng, 20, 6)
            space = Products(degree, not powers, "symmetric")
            dictionary = space.bind(sp.csc_array(X) if sparse else X)
            _, columns = everything(scaled(sp.csc_array(X) if sparse else X, "symmetric"), space)
            force = rng.normal(size=(20, 2))
            score = L1L2().dual_norm(columns.T @ force)
            found = dictionary.search(force, L1L2().dual_norm, 5)
            assert found.violation == pytest.approx(score.max(), rel=1e-10)
            wanted = best_distinct(score, columns, [], 5, 0.0)
            np.testing.assert_allclose(scores_of(dictionary, found.keys, force, L1L2().dual_norm), wanted, rtol=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_every_product_is_met_once(degree, interaction_only, sparse, rng):
    X = rng.uniform(0.1, 1.0, size=(30, 5))
    space = Products(degree, interaction_only, None)
    dictionary = space.bind(sp.csc_array(X) if sparse else X)
    factors, columns = everything(X, space)
    found = dictionary.search(rng.normal(size=(30, 1)), L1().dual_norm, 10 * len(factors))
    met = [dictionary.hypothesis(key).factors for key in found.keys]
    assert sorted(met) == sorted(factors)
    assert found.visited == len(factors)
    order = [met.index(own) for own in factors]
    np.testing.assert_allclose(full(dictionary.columns(found.keys[order]).matrix), columns, rtol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_bounds_rule_out_most_of_a_large_space(sparse, rng):
    X = 1.0 * (rng.random((200, 30)) < 0.2)
    y = np.where(X[:, 3] * X[:, 17] > 0, 1.0, -0.1)
    space = Products(4, interaction_only=True)
    found = space.bind(sp.csc_array(X) if sparse else X).search((y - y.mean())[:, None], L1().dual_norm, 1)
    factors, columns = everything(X, space)
    assert found.violation == pytest.approx(np.abs(columns.T @ (y - y.mean())).max(), rel=1e-12)
    assert len(factors) > 30_000
    assert found.visited < 2000


class Lp:
    """Weighted norms that the kernel does not know: p = 1.5, and the sum of two."""

    def __init__(self, weight: np.ndarray, mixed: bool) -> None:
        self.weight, self.mixed = weight, mixed

    def __call__(self, correlation: np.ndarray) -> np.ndarray:
        size = np.abs(correlation) * self.weight
        return size.max(axis=1) + size.sum(axis=1) if self.mixed else (size**1.5).sum(axis=1) ** (1 / 1.5)


@pytest.mark.parametrize("mixed", [False, True])
def test_any_monotone_norm_is_searched_exactly(mixed, rng):
    for _ in range(40):
        X, space, cost = random_case(rng)
        k = int(rng.integers(1, 4))
        dual_norm = Lp(rng.uniform(0.5, 2.0, size=k), mixed)
        force = random_force(rng, X.shape[0], k)
        factors, columns = everything(scaled(X, space.scale), space)
        score = dual_norm(columns.T @ force) / costs_of(factors, cost)
        found = space.bind(X, Context(feature_costs=cost)).search(force, dual_norm, 3)
        assert found.violation == pytest.approx(score.max(), rel=1e-10)
        assert len(found.keys) == len(best_distinct(score, columns, [], 3, 0.0))


@pytest.mark.parametrize("penalty", [NoPenalty(), NoPenalty(True), Ridge()], ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
def test_without_a_norm_the_largest_correlation_leads(penalty, sparse, rng):
    X, force = np.abs(rng.normal(size=(30, 5))), rng.normal(size=(30, 2))
    space = Products(3)
    dictionary = space.bind(sp.csc_array(X) if sparse else X)
    _, columns = everything(scaled(sp.csc_array(X) if sparse else X, "unit"), space)
    pull = -(columns.T @ force)
    score = (np.maximum(pull, 0) if penalty.positive else np.abs(pull)).max(axis=1)
    found = dictionary.search(force, penalty.dual_norm, 4, above=-1.0)
    assert found.violation == (0.0 if isinstance(penalty, Ridge) else np.inf)
    pull = -dictionary.columns(found.keys).correlate(force)
    best = (np.maximum(pull, 0) if penalty.positive else np.abs(pull)).max(axis=1)
    np.testing.assert_allclose(best, np.sort(score)[::-1][:4], rtol=1e-10)
    nothing = dictionary.search(0 * force, penalty.dual_norm, 4, above=-1.0)
    assert nothing.keys.size == 0
    assert nothing.violation == 0.0


def test_what_is_no_norm_is_refused(rng):
    dictionary = Products().bind(rng.random((10, 3)))
    with pytest.raises(ValueError, match="norm"):
        dictionary.search(rng.normal(size=(10, 1)), lambda correlation: np.maximum(correlation, 0.0).max(axis=1), 1)


def test_rank_decides_the_order_of_a_short_list(rng):
    X, force = rng.random((30, 6)), rng.normal(size=(30, 1))
    dictionary = Products().bind(X)
    plain = dictionary.search(force, L1().dual_norm, 6)
    seen = {}

    def rank(keys, correlation):
        np.testing.assert_allclose(dictionary.columns(keys).correlate(force), correlation, atol=1e-12)
        seen.update(zip(keys.tolist(), np.abs(correlation[:, 0]).tolist(), strict=True))
        return np.where(np.isin(keys, plain.keys[:2]), -1.0, -np.abs(correlation[:, 0]) + 1e3)

    found = dictionary.search(force, L1().dual_norm, 3, rank=rank)
    assert set(plain.keys) <= set(seen)
    assert not set(found.keys) & set(plain.keys[:2])
    assert [seen[key] for key in found.keys] == sorted(value for key, value in seen.items())[:3]


def test_outputs_that_are_there_already_are_not_found_again(rng):
    X = 1.0 * (rng.random((40, 3)) < 0.4)
    X = np.column_stack([X, np.maximum(X[:, 0], X[:, 1])])  # x0 * x3 is x0
    dictionary = Products(3).bind(X)
    found = dictionary.search(rng.normal(size=(40, 1)), L1().dual_norm, 100)
    columns = full(dictionary.columns(found.keys).matrix)
    assert len(np.unique(columns, axis=1).T) == len(found.keys)
    names = [repr(dictionary.hypothesis(key)) for key in found.keys]
    assert "x0" in names
    assert not any("^" in name for name in names)


def test_the_shape_of_the_force_does_not_matter_to_an_empty_space(rng):
    for X in (np.ones((10, 3)), sp.csc_array((10, 3)), sp.csc_array(np.ones((10, 3)))):
        found = Products(3).bind(X).search(rng.normal(size=(10, 2)), L1().dual_norm, 3)
        assert found.keys.size == 0
        assert found.violation == 0.0


# -- grow ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("interaction_only", [False, True])
def test_growing_looks_at_inputs_and_at_products_of_active_ones(interaction_only, sparse, rng, monkeypatch):
    monkeypatch.setattr(product_search, "BLOCK_ENTRIES", 40)
    X = rng.uniform(0.1, 1.0, size=(20, 5))
    cost = rng.uniform(0.5, 2.0, size=5)
    space = Products(3, interaction_only, None, search="grow")
    dictionary = space.bind(sp.csc_array(X) if sparse else X, Context(feature_costs=cost))
    assert not dictionary.exact
    factors, columns = everything(X, space)
    active = np.empty(0, dtype=np.int64)
    for _ in range(12):
        force = rng.normal(size=(20, 2))
        score = L1L2().dual_norm(columns.T @ force) / costs_of(factors, cost)
        bases = [dictionary.hypothesis(key).factors for key in active]
        seen = {own for own in factors if len(own) == 1} | set(bases)
        seen |= {tuple(sorted((*base, j))) for base in bases for j in range(5)} & set(factors)
        found = dictionary.search(force, L1L2().dual_norm, 2, exclude=active)
        within = [score[factors.index(own)] for own in seen]
        assert found.violation == pytest.approx(max(within), rel=1e-12)
        fresh = sorted((score[factors.index(own)] for own in seen - set(bases)), reverse=True)[:2]
        np.testing.assert_allclose(scores_of(dictionary, found.keys, force, L1L2().dual_norm), fresh, rtol=1e-10)
        active = np.concatenate([active, found.keys])
    assert max(len(dictionary.hypothesis(key).factors) for key in active) == 3


def test_growing_counts_everything_it_has_found_for_the_maximum(rng):
    X, force = rng.random((30, 6)), rng.normal(size=(30, 1))
    dictionary = Products(2, search="grow").bind(X)
    first = dictionary.search(force, L1().dual_norm, 6)
    second = dictionary.search(force, L1().dual_norm, 6, exclude=first.keys)
    known = dictionary.columns(np.concatenate([first.keys, second.keys]))
    assert dictionary.search(force, L1().dual_norm, 0).violation >= np.abs(known.correlate(force)).max() * (1 - 1e-12)


# -- hypotheses ------------------------------------------------------------------------------------------------------

FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "int": lambda X: X.astype(np.int64),
    "bool": lambda X: X > 0,
    "csc": sp.csc_array,
    "csr": sp.csr_array,
    "csr-matrix": sp.csr_matrix,
    "csc-float32": lambda X: sp.csc_array(X.astype(np.float32)),
    "csc-int64": lambda X: sp.csc_array(X.astype(np.int64)),
    "coo": lambda X: sp.coo_array(X),
}


@pytest.mark.parametrize("scale", ["unit", "symmetric", None])
@pytest.mark.parametrize("form", FORMS)
def test_columns_equal_the_outputs_of_hypotheses(form, scale, rng):
    X = FORMS[form](np.round(3 * rng.random((25, 5))) * (rng.random((25, 5)) < 0.7))
    parts = [X] if not sp.issparse(X) else [X.data]
    for part in parts:
        part.flags.writeable = False
    dictionary = Products(3, scale=scale).bind(X)
    found = dictionary.search(rng.normal(size=(25, 1)), L1().dual_norm, 12)
    columns = dictionary.columns(found.keys).matrix
    assert sp.issparse(columns) == sp.issparse(X)
    hypotheses = [dictionary.hypothesis(key) for key in found.keys]
    A = scaled(X, scale)
    np.testing.assert_allclose(full(columns), np.stack([A[:, own.factors].prod(axis=1) for own in hypotheses], axis=1))
    usable = X.tocsr() if sp.issparse(X) else X
    outputs = evaluate(hypotheses, usable)
    assert sp.issparse(outputs) == sp.issparse(X)
    np.testing.assert_array_equal(full(outputs), full(columns))
    for n, own in enumerate(hypotheses):
        np.testing.assert_array_equal(own(usable), full(columns)[:, n])
    assert full(dictionary.columns(found.keys[:0]).matrix).shape == (25, 0)


@pytest.mark.parametrize("scale", ["unit", "symmetric", None])
def test_new_values_are_scaled_as_the_old_ones_and_not_clipped(scale, rng):
    X, new = rng.random((20, 4)), 3.0 * rng.normal(size=(7, 4))
    dictionary = Products(2, scale=scale).bind(X)
    found = dictionary.search(rng.normal(size=(20, 1)), L1().dual_norm, 5)
    hypotheses = [dictionary.hypothesis(key) for key in found.keys]
    low, wide = (X.min(axis=0), np.ptp(X, axis=0)) if scale else (0.0, 1.0)
    A = (new - low) / wide
    A = 2 * A - 1 if scale == "symmetric" else A
    wanted = np.stack([A[:, own.factors].prod(axis=1) for own in hypotheses], axis=1)
    np.testing.assert_allclose(evaluate(hypotheses, new), wanted, rtol=1e-10)
    np.testing.assert_allclose(full(evaluate(hypotheses, sp.csr_array(new))), wanted, rtol=1e-10)
    spoiled = new.copy()
    unused = sorted(set(range(4)) - set(hypotheses[0].inputs))
    spoiled[:, unused] = np.nan
    np.testing.assert_allclose(hypotheses[0](spoiled), wanted[:, 0], rtol=1e-10)


def test_names_read_as_products(rng):
    dictionary = Products(3).bind(rng.random((9, 3)), Context(feature_names=["age", "income", "size"]))

    def named(*factors):
        names, shift, width = zip(*(parts[j] for j in sorted(set(factors))), strict=True)
        return Product(factors, names, shift, width)

    parts = [(name, *scale) for name, scale in zip(["age", "income", "size"], ranges_of(dictionary), strict=True)]
    keys = [dictionary.adopt(named(*factors)) for factors in [(0, 1), (0, 0, 1), (2,), (1, 1, 1)]]
    assert [repr(dictionary.hypothesis(key)) for key in keys] == ["age * income", "age^2 * income", "size", "income^3"]
    assert dictionary.hypothesis(keys[1]).inputs == (0, 1)
    assert dictionary.inputs(np.array(keys[:2])) == {0, 1}
    assert dictionary.adopt(named(0, 1)) == keys[0]
    assert dictionary.adopt(named(0, 1, 1, 2)) is None
    assert Products(3, interaction_only=True).bind(dictionary_data(dictionary)).adopt(named(0, 0)) is None
    assert dictionary.adopt(Features().bind(np.eye(3)).hypothesis(1)) is None
    other = Products(3).bind(2 * rng.random((9, 3)))
    assert other.adopt(dictionary.hypothesis(keys[0])) is None  # another scale, another function
    assert Products(3).bind(rng.random((9, 1))).adopt(dictionary.hypothesis(keys[0])) is None
    plain = Products().bind(rng.random((9, 2)))
    plain.search(np.ones((9, 1)), L1().dual_norm, 2)
    assert repr(plain.hypothesis(0)) in ("x0", "x1")


def ranges_of(dictionary: Any) -> list[tuple[float, float]]:
    """Shift and width of every input, as some hypothesis on it tells."""
    m = dictionary.columns(np.empty(0, dtype=np.int64)).matrix.shape[0]
    found = dictionary.search(np.random.default_rng(1).normal(size=(m, 1)), L1().dual_norm, 1000)
    singles = {own.factors: own for own in map(dictionary.hypothesis, found.keys) if len(own.factors) == 1}
    return [(own.shift[0], own.width[0]) for _, own in sorted(singles.items())]


def dictionary_data(dictionary: Any) -> np.ndarray:
    """Data on which inputs have the same ranges."""
    low, width = np.array(ranges_of(dictionary)).T
    return np.stack([low, low + width])


def test_costs_are_those_of_all_inputs_together(rng):
    X, cost = rng.random((12, 3)), np.array([1.0, 2.0, 4.0])
    dear, plain = Products(3).bind(X, Context(feature_costs=cost)), Products(3).bind(X)
    for dictionary in (dear, plain):
        keys = dictionary.search(rng.normal(size=(12, 1)), L1().dual_norm, 1000).keys
        wanted = [cost[list(dictionary.hypothesis(key).inputs)].sum() for key in keys]
        np.testing.assert_allclose(dictionary.cost(keys), wanted if dictionary is dear else 1.0)
        assert len(keys) == 19


def test_examples_without_weight_do_not_count(rng):
    X, force = rng.random((20, 4)), rng.normal(size=(20, 1))
    X[15:] = 100.0 * rng.normal(size=(5, 4))
    weight = np.r_[np.full(15, 1 / 15), np.zeros(5)]
    force[15:] = 0.0
    for how in (np.asarray, sp.csc_array):
        bound = Products(3, scale="symmetric").bind(how(X), Context(weight=weight))
        found = bound.search(force, L1().dual_norm, 5)
        alone = Products(3, scale="symmetric").bind(how(X[:15]))
        same = alone.search(force[:15], L1().dual_norm, 5)
        assert found.violation == pytest.approx(same.violation, rel=1e-12)
        for one, other in zip(found.keys, same.keys, strict=True):
            assert vars(bound.hypothesis(one)) == vars(alone.hypothesis(other))


def test_constant_inputs_drop_out(rng):
    X = rng.random((20, 4))
    X[:, 1] = 0.3
    for how in (np.asarray, sp.csc_array):
        for scale in ("unit", "symmetric"):
            dictionary = Products(2, scale=scale).bind(how(X))
            keys = dictionary.search(rng.normal(size=(20, 1)), L1().dual_norm, 1000).keys
            assert dictionary.inputs(keys) == {0, 2, 3}
            assert len(keys) == 9


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"degree": 0}, "degree"),
        ({"degree": 1.5}, "degree"),
        ({"degree": True}, "degree"),
        ({"interaction_only": "no"}, "interaction_only"),
        ({"scale": "standard"}, "scale"),
        ({"search": "greedy"}, "search"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(wrong, word):
    with pytest.raises(ValueError, match=word) as caught:
        Products(**wrong)
    assert str(caught.value).count(".") - str(wrong).count(".") == 1


def test_negative_sparse_data_has_no_unit_scale(rng):
    X = sp.csc_array(rng.normal(size=(10, 3)))
    with pytest.raises(ValueError, match="symmetric"):
        Products().bind(X)
    with pytest.raises(ValueError, match="symmetric"):
        SparseBoostRegressor(hypotheses=Products()).fit(X, rng.normal(size=10))


def test_sparse_data_is_never_made_dense(rng, monkeypatch):
    X = sp.random_array((50, 30), density=0.2, rng=rng, format="csc")

    def refuse(self, *args, **kwargs):
        raise AssertionError("a sparse matrix was made dense")

    for kind in (sp.csc_array, sp.csr_array, sp.coo_array):
        monkeypatch.setattr(kind, "toarray", refuse if kind is not sp.coo_array else kind.toarray)
    dictionary = Products(3).bind(X)
    found = dictionary.search(rng.normal(size=(50, 2)), L1L2().dual_norm, 5)
    assert sp.issparse(evaluate([dictionary.hypothesis(key) for key in found.keys], X))


# -- certificates ----------------------------------------------------------------------------------------------------


def explicit(X: Any, space: Products) -> np.ndarray:
    """The whole space as features; twins do not matter to the optimum."""
    return everything(scaled(X, space.scale), space)[1]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", ["unit", "symmetric"])
@pytest.mark.parametrize("positive", [False, True])
def test_the_optimum_is_that_of_the_explicit_features(positive, scale, sparse, rng):
    X = rng.random((60, 6)) * (rng.random((60, 6)) < 0.7)
    y = 3 * X[:, 0] * X[:, 1] - 2 * X[:, 2] * X[:, 3] * X[:, 4] + 0.1 * rng.normal(size=60)
    X, space = sp.csc_array(X) if sparse else X, Products(3, scale=scale)
    alpha = 0.05 * alpha_max(X, y, loss="squared", hypotheses=space)
    settings = {"loss": "squared", "penalty": "l1", "positive": positive, "tol": 1e-8}
    model = SparseBoostRegressor(alpha, hypotheses=space, **settings).fit(X, y)
    reference = SparseBoostRegressor(alpha, **settings).fit(explicit(X, space), y)
    assert model.converged_
    assert alpha == pytest.approx(0.05 * alpha_max(explicit(X, space), y, loss="squared"), rel=1e-9)
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-6)
    assert model.objective_ - model.dual_gap_ <= reference.objective_ * (1 + 1e-12)
    np.testing.assert_allclose(model.predict(X), reference.predict(explicit(X, space)), atol=1e-3)


@pytest.mark.parametrize("penalty", ["l1", "l1/l2", "l1/linf"])
def test_several_classes_are_certified_over_the_whole_space(penalty, rng):
    X = 1.0 * (rng.random((80, 7)) < 0.5)
    y = (X[:, 0] * X[:, 1] + 2 * X[:, 2] * X[:, 3] * X[:, 4]).astype(int) % 3
    space = Products(3, interaction_only=True)
    alpha = 0.1 * alpha_max(X, y, penalty=penalty, hypotheses=space)
    model = SparseBoostClassifier(alpha, penalty=penalty, hypotheses=space, tol=1e-7).fit(X, y)
    reference = SparseBoostClassifier(alpha, penalty=penalty, tol=1e-7).fit(explicit(X, space), y)
    assert model.converged_
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-5)
    assert model.objective_ - model.dual_gap_ <= reference.objective_ * (1 + 1e-12)
    assert model.score(X, y) == reference.score(explicit(X, space), y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_penalties_that_zero_nothing_take_in_the_whole_space(rng):
    X = rng.random((80, 4))
    y = 3 * X[:, 0] * X[:, 1] - 2 * X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=80)
    model = SparseBoostRegressor(0.01, penalty="l2", hypotheses=Products(2), max_rounds=5).fit(X, y)
    reference = SparseBoostRegressor(0.01, penalty="l2").fit(explicit(X, Products(2)), y)
    assert model.n_active_ == 14
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-3)


def test_growing_never_beats_the_exact_optimum(rng):
    X = rng.random((80, 6))
    y = 3 * X[:, 0] * X[:, 1] - 2 * X[:, 2] * X[:, 3] * X[:, 4] + 0.1 * rng.normal(size=80)
    alpha = 0.02 * alpha_max(X, y, loss="squared", hypotheses=Products(3))
    exact = SparseBoostRegressor(alpha, hypotheses=Products(3), tol=1e-7).fit(X, y)
    grown = SparseBoostRegressor(alpha, hypotheses=Products(3, search="grow"), tol=1e-7).fit(X, y)
    plain = SparseBoostRegressor(alpha, hypotheses=Products(1), tol=1e-7).fit(X, y)
    assert exact.objective_ - exact.dual_gap_ <= grown.objective_ < plain.objective_
    assert max(len(own.factors) for own in grown.hypotheses_) > 1


ROOT = Path(os.environ.get("SPARSEBOOST_DATA") or Path(__file__).parents[3] / "shared" / "data")


def test_a_hundred_thousand_inputs_are_certified_over_all_their_products():
    """dorothea: 100,000 flags, 1.7·10^14 products of at most three."""
    path = ROOT / "dorothea.npz"
    if not path.exists():
        pytest.skip("dorothea.npz is not in the data folder; set SPARSEBOOST_DATA")
    with np.load(path, allow_pickle=False) as parts:
        matrix = (parts["data"].astype(float), parts["indices"].astype(np.int32), parts["indptr"])
        X, y = sp.csr_array(matrix, shape=tuple(parts["shape"])), parts["y"]
    space = Products(3, interaction_only=True)
    alpha = 0.1 * alpha_max(X, y, hypotheses=space)
    model = SparseBoostClassifier(alpha, hypotheses=space).fit(X, y)
    assert model.converged_
    assert any(len(own.factors) > 1 for own in model.hypotheses_)
    assert model.objective_ < SparseBoostClassifier(alpha).fit(X, y).objective_
