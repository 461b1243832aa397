"""Laws of stumps: the search equals brute force over the whole space, columns equal outputs, names read well."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp

from sparseboost.hypotheses import CategoryStump, Context, Stump, Stumps, evaluate, stump_bins, stump_subsets
from sparseboost.penalties import L1, L1L2, L1Linf, NoPenalty

M = 41
COLORS = ["red", "green", "blue", "grey", "pink"]
NAMES = ["age", "income", "flat", "color", "shape", "share", "size"]
NORMS = [kind(positive) for kind in (L1, L1L2, L1Linf) for positive in (False, True)]


def inputs(rng: np.random.Generator, missing: bool) -> np.ndarray:
    """Few values, many values, one value, categories (one that never occurs, one unknown), a sparse input, ties."""
    X = np.empty((M, len(NAMES)))
    X[:, 0] = rng.integers(30, 36, size=M)
    X[:, 1] = rng.normal(size=M) * 1e3
    X[:, 2] = 7.0
    X[:, 3] = rng.choice([0, 1, 2, 4], size=M)
    X[:, 4] = rng.choice([0, 1, 2], size=M)
    X[:, 5] = np.where(rng.random(M) < 0.6, 0.0, rng.normal(size=M))
    X[:, 6] = np.round(rng.normal(size=M), 1)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
        X[rng.random(M) < 0.1, 4] = -1.0
        X[rng.random(M) < 0.1, 4] = 9.0
    return X


def context(costs: bool = False, **more) -> Context:
    cost = np.array([1.0, 2.0, 0.5, 1.5, 3.0, 0.7, 1.1]) if costs else None
    return Context(NAMES, cost, categories={3: COLORS, 4: ["box", "ball", "rod"]}, **more)


def holds(X: np.ndarray, j: int, labels: int | None, subsets: bool) -> list[np.ndarray]:
    """Where every hypothesis of one input holds, spelled out."""
    x, lost = X[:, j], np.isnan(X[:, j])
    if labels is not None:
        single = [x == code for code in range(labels)] + [lost]
        single = [rule for rule in single if rule.any()]
        sizes = range(1, len(single) + 1) if subsets else [1]
        rules = [np.any(chosen, axis=0) for size in sizes for chosen in combinations(single, size)]
    else:
        values = np.unique(x[~lost])
        rules = [x <= low for low in values[:-1]]
        if lost.any():
            rules += [lost] + [rule | lost for rule in rules]
    return [rule for rule in rules if 0 < rule.sum() < len(x)]


def everything(X: np.ndarray, bound: Context, space: Stumps) -> tuple[np.ndarray, np.ndarray]:
    """The outputs of the whole space, and the costs, by brute force."""
    columns, cost = [], []
    for j in range(X.shape[1]):
        labels = len(bound.categories[j]) if j in bound.categories else None
        for rule in holds(X, j, labels, space.categories == "subsets"):
            column = np.where(rule, 1.0, -1.0 if space.outputs == "sign" else 0.0)
            for sign in (1, -1) if space.negated else (1,):
                columns.append(sign * column)
                cost.append(bound.costs(X.shape[1])[j])
    return np.column_stack(columns), np.array(cost)


@pytest.mark.parametrize("norm", NORMS, ids=repr)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("outputs", ["sign", "indicator"])
@pytest.mark.parametrize("categories", ["subsets", "one-vs-rest"])
def test_search_finds_the_maximum_of_the_whole_space(norm, k, outputs, categories, rng):
    for missing, negated, sparse, costs in product((False, True), repeat=4):
        X = inputs(rng, missing)
        force = rng.normal(size=(M, k))
        space = Stumps(outputs=outputs, categories=categories, negated=negated)
        bound = context(costs)
        columns, cost = everything(X, bound, space)
        truth = norm.dual_norm(columns.T @ force) / cost
        dictionary = space.bind(sp.csc_array(X) if sparse else X, bound)
        found = dictionary.search(force, norm.dual_norm, 6)
        assert dictionary.exact
        assert found.violation == pytest.approx(truth.max(), rel=1e-12)
        value = scores(dictionary, found.keys, force, norm)
        assert value[0] == pytest.approx(truth.max(), rel=1e-12)
        assert np.all(np.diff(value) <= 1e-12)
        assert len(set(found.keys)) == found.keys.size == 6


def scores(dictionary, keys, force, norm) -> np.ndarray:
    return norm.dual_norm(dictionary.columns(keys).correlate(force)) / dictionary.cost(keys)


@pytest.mark.parametrize("outputs", ["sign", "indicator"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("thresholds", ["exact", "quantile"])
def test_keys_run_over_all_hypotheses_and_columns_equal_their_outputs(outputs, sparse, missing, thresholds, rng):
    X = inputs(rng, missing)
    space = Stumps(thresholds, 5, outputs, categories="one-vs-rest", negated=True)
    dictionary = space.bind(sp.csc_array(X) if sparse else X, context(True))
    keys = rng.permutation(dictionary.stumps.first_set)
    columns = dictionary.columns(keys).matrix
    hypotheses = [dictionary.hypothesis(key) for key in keys]
    for data in (X, sp.csc_array(X), sp.csr_array(X)):
        np.testing.assert_array_equal(evaluate(hypotheses, data), columns)
    np.testing.assert_array_equal(hypotheses[0](X), columns[:, 0])
    assert np.all(columns.min(axis=0) < columns.max(axis=0))  # no constants
    assert columns.flags.f_contiguous
    distinct = {(hypothesis.inputs, column.tobytes()) for hypothesis, column in zip(hypotheses, columns.T, strict=True)}
    assert len(distinct) == keys.size
    np.testing.assert_array_equal(dictionary.cost(keys), context(True).feature_costs[[h.feature for h in hypotheses]])
    assert [dictionary.adopt(hypothesis) for hypothesis in hypotheses] == list(keys)
    if thresholds == "exact":
        whole = everything(X, context(True), space)[0]
        assert dictionary.stumps.first_set == whole.shape[1]
        assert sorted(map(bytes, np.ascontiguousarray(whole.T + 0.0))) == sorted(
            map(bytes, np.ascontiguousarray(columns.T + 0.0))
        )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("outputs", ["sign", "indicator"])
def test_sums_over_examples_do_not_need_the_matrix(sparse, outputs, rng):
    X = inputs(rng, True)
    dictionary = Stumps(outputs=outputs, negated=True).bind(sp.csc_array(X) if sparse else X, context())
    keys = rng.permutation(dictionary.stumps.first_set)[:40]
    matrix = dictionary.columns(keys).matrix
    for k in (1, 3):
        coef, force = rng.normal(size=(40, k)) * (rng.random((40, 1)) < 0.7), rng.normal(size=(M, k))
        lazy = dictionary.columns(keys)
        np.testing.assert_allclose(lazy.dot(coef), matrix @ coef, atol=1e-12)
        np.testing.assert_allclose(lazy.correlate(force), matrix.T @ force, atol=1e-12)
        assert "matrix" not in vars(lazy)


def test_columns_can_be_appended_and_dropped_before_and_after_they_are_written(rng):
    X = inputs(rng, True)
    dictionary = Stumps().bind(X, context())
    found = dictionary.search(rng.normal(size=(M, 1)), L1().dual_norm, 500).keys
    first, second = found[:9], found[9:]
    assert found.max() >= dictionary.stumps.first_set
    for written in (False, True):
        empty = dictionary.columns(np.empty(0, dtype=np.int64))
        columns = dictionary.columns(first)
        if written:
            assert empty.matrix.shape == (M, 0)
            assert columns.matrix.shape == (M, 9)
        joined = empty.append(columns).append(dictionary.columns(second))
        assert ("matrix" in vars(joined)) == written
        mask = rng.random(found.size) < 0.5
        np.testing.assert_array_equal(joined.keep(mask).matrix, dictionary.columns(found[mask]).matrix)
        np.testing.assert_array_equal(joined.matrix, dictionary.columns(found).matrix)
        assert joined.matrix.flags.f_contiguous
        np.testing.assert_allclose(joined.dot(np.ones((found.size, 1)))[:, 0], joined.matrix.sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("outputs", ["sign", "indicator"])
@pytest.mark.parametrize("sparse", [False, True])
def test_standardized_stumps_cost_their_standard_deviation(outputs, sparse, rng):
    X, force, weight = inputs(rng, True), rng.normal(size=(M, 1)), rng.exponential(size=M)
    space = Stumps(outputs=outputs, standardize=True)
    bound = context(True, weight=weight / weight.sum())
    columns, cost = everything(X, bound, space)
    mean = bound.weight @ columns
    cost = cost * np.sqrt(bound.weight @ (columns - mean) ** 2)
    dictionary = space.bind(sp.csc_array(X) if sparse else X, bound)
    found = dictionary.search(force, L1().dual_norm, 50)
    assert found.violation == pytest.approx((np.abs(columns.T @ force)[:, 0] / cost).max())
    own = dictionary.columns(found.keys).matrix
    deviation = np.sqrt(bound.weight @ (own - bound.weight @ own) ** 2)
    inputs_cost = bound.feature_costs[dictionary.stumps.inputs(found.keys)]
    np.testing.assert_allclose(dictionary.cost(found.keys), deviation * inputs_cost)
    np.testing.assert_allclose(scores(dictionary, found.keys, force, L1())[0], found.violation)
    single = Stumps(outputs=outputs, standardize=True, categories="one-vs-rest").bind(X, bound)
    assert single.strongest(force[:, 0]).violation == pytest.approx(single.search(force, L1().dual_norm, 1).violation)


@pytest.mark.parametrize("k", [1, 2])
def test_sets_of_categories_have_columns_names_and_keys(k, rng):
    X = inputs(rng, True)
    dictionary = Stumps(negated=True).bind(X, context())
    keys = set()
    for _ in range(5):
        keys |= set(dictionary.search(rng.normal(size=(M, k)), L1(True).dual_norm, 200).keys)
    sets = np.array(sorted(key for key in keys if key >= dictionary.stumps.first_set))
    assert sets.size > 5
    hypotheses = [dictionary.hypothesis(key) for key in sets]
    assert all(isinstance(hypothesis, CategoryStump) for hypothesis in hypotheses)
    np.testing.assert_array_equal(evaluate(hypotheses, X), dictionary.columns(sets).matrix)
    assert [dictionary.adopt(hypothesis) for hypothesis in hypotheses] == list(sets)
    fresh = Stumps(negated=True).bind(X, context())
    adopted = [fresh.adopt(hypothesis) for hypothesis in hypotheses]
    np.testing.assert_array_equal(fresh.columns(np.array(adopted)).matrix, dictionary.columns(sets).matrix)
    mixed = np.array([0, sets[0], 3, sets[-1]])
    np.testing.assert_array_equal(dictionary.columns(mixed).matrix[:, 1], hypotheses[0](X))
    np.testing.assert_array_equal(dictionary.cost(mixed), 1.0)


def test_adopt_finds_the_same_split_of_other_data(rng):
    dictionary = Stumps().bind(np.array([[1.0], [2.0], [4.0]]))
    assert dictionary.adopt(Stump(0, 3.9, "x0")) == 1
    assert dictionary.adopt(Stump(0, 2.0, "x0")) == 1
    assert dictionary.adopt(Stump(0, 4.0, "x0")) is None
    assert dictionary.adopt(Stump(0, 0.9, "x0")) is None
    assert dictionary.adopt(Stump(1, 2.0, "x0")) is None
    assert dictionary.adopt(Stump(0, 2.0, "x0", negated=True)) is None
    assert dictionary.adopt(Stump(0, 2.0, "x0", scale="indicator")) is None
    assert dictionary.adopt(CategoryStump(0, [1], ["a"], "x0")) is None
    coarse = Stumps("quantile", 2).bind(np.arange(8.0)[:, None])
    assert coarse.adopt(Stump(0, 3.5, "x0")) == 0
    assert coarse.adopt(Stump(0, 4.5, "x0")) is None  # a cut through a bin
    relabelled = Context(categories={0: ["blue", "red"]})
    other = Stumps().bind(np.array([[0.0], [1.0], [np.nan]]), relabelled)
    assert repr(other.hypothesis(other.adopt(CategoryStump(0, [0], ["red"], "x0")))) == "x0 == red"
    assert other.adopt(CategoryStump(0, [0], ["green"], "x0")) is None


# -- bins ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_bins_hold_about_the_same_weight(sparse, rng):
    X = np.where(rng.random((400, 2)) < 0.5, 0.0, rng.normal(size=(400, 2)))
    bins = Stumps("quantile", 8).bind(sp.csc_array(X) if sparse else X).bins
    for j in range(2):
        cuts = bins.highs[bins.starts[j] : bins.starts[j + 1]]
        assert bins.n_values[j] == 8
        sizes = np.bincount(np.searchsorted(cuts, X[:, j]), minlength=8)
        zeros = np.searchsorted(cuts, 0.0)
        assert sizes[zeros] >= np.sum(X[:, j] == 0)
        others = np.delete(sizes, zeros)
        assert others.max() <= 2 * others.min() + 2  # the heavy value costs the others nothing


def test_quantiles_count_weights_as_repetitions(rng):
    X, times = np.round(rng.normal(size=(90, 3)), 2), rng.integers(1, 4, size=90)
    weighted = Stumps("quantile", 7).bind(X, Context(weight=times / times.sum())).bins
    repeated = Stumps("quantile", 7).bind(np.repeat(X, times, axis=0)).bins
    np.testing.assert_array_equal(weighted.highs, repeated.highs)
    np.testing.assert_array_equal(
        Stumps("quantile", 7).bind(sp.csc_array(X), Context(weight=times / times.sum())).bins.highs, repeated.highs
    )


def test_few_values_are_all_separated_by_quantiles(rng):
    X = rng.integers(0, 9, size=(300, 4)).astype(float)
    force = rng.normal(size=(300, 2))
    every, some = Stumps("exact").bind(X), Stumps("quantile", 9).bind(X)
    assert every.stumps.n_enumerated == some.stumps.n_enumerated == 4 * 8
    assert every.search(force, L1().dual_norm, 3).violation == some.search(force, L1().dual_norm, 3).violation


@pytest.mark.parametrize("values", [3, 400, 70_000])
def test_codes_are_as_small_as_can_be(values):
    X = np.arange(float(values))[:, None]
    dictionary = Stumps().bind(X)
    assert dictionary.bins.codes.dtype.itemsize == {3: 1, 400: 2, 70_000: 4}[values]
    assert dictionary.stumps.n_enumerated == values - 1
    force = np.where(values // 3 > X, 1.0, -1.0)
    found = dictionary.search(force, L1().dual_norm, 1)
    assert found.violation == values
    assert dictionary.hypothesis(found.keys[0]).threshold == pytest.approx(values // 3 - 0.5, abs=0.5)


@pytest.mark.parametrize("kind", [np.float32, np.int32, np.int8, bool])
def test_any_type_of_numbers_is_compared_in_double_precision(kind, rng):
    X = (rng.normal(size=(60, 3)) * 3).astype(kind)
    dictionary = Stumps(outputs="indicator").bind(X)
    keys = np.arange(dictionary.stumps.n_enumerated)
    np.testing.assert_array_equal(
        evaluate([dictionary.hypothesis(key) for key in keys], X), dictionary.columns(keys).matrix
    )


def test_neighbouring_doubles_are_separated():
    low = 0.1 + 0.2
    high = np.nextafter(low, 1.0)
    dictionary = Stumps().bind(np.array([[low], [high]]))
    np.testing.assert_array_equal(dictionary.hypothesis(0)(np.array([[low], [high]])), [1.0, -1.0])


# -- what a search returns -------------------------------------------------------------------------------------------


def test_candidates_differ(rng):
    X = rng.random(size=(2000, 3))
    force = np.sin(9 * X[:, :1]) + 0.5 * np.sin(5 * X[:, 1:2]) + 0.1 * rng.normal(size=(2000, 1))
    dictionary = Stumps().bind(X)
    found = [dictionary.hypothesis(key) for key in dictionary.search(force, L1().dual_norm, 6).keys]
    assert {hypothesis.feature for hypothesis in found} >= {0, 1}
    thresholds = np.sort([hypothesis.threshold for hypothesis in found if hypothesis.feature == 0])
    assert thresholds.size > 1
    assert np.diff(thresholds).min() > 0.05


def test_above_and_exclude_limit_what_is_returned_and_not_the_violation(rng):
    X, force = inputs(rng, True), rng.normal(size=(M, 2))
    dictionary = Stumps(categories="one-vs-rest").bind(X, context())
    keys = np.arange(dictionary.stumps.first_set)
    value = scores(dictionary, keys, force, L1L2())
    limit = np.median(value)
    out = np.argsort(-value)[:5]
    found = dictionary.search(force, L1L2().dual_norm, 10_000, above=limit, exclude=out)
    assert found.violation == pytest.approx(value.max())
    assert set(found.keys) <= set(keys[value > limit]) - set(out)
    # all but mirrors: of two categories only one
    assert set(keys[value > limit]) - set(out) - set(found.keys) <= {
        key for key in keys if is_category(dictionary, key)
    }
    assert dictionary.search(force, L1L2().dual_norm, 10, above=value.max() * 1.01).keys.size == 0
    assert dictionary.search(force, L1L2().dual_norm, 0).keys.size == 0


def is_category(dictionary, key) -> bool:
    return isinstance(dictionary.hypothesis(key), CategoryStump)


def test_excluded_sets_are_not_returned_again(rng):
    X, force = inputs(rng, False), rng.normal(size=(M, 1))
    dictionary = Stumps().bind(X, context())
    first = dictionary.search(force, L1().dual_norm, 500).keys
    second = dictionary.search(force, L1().dual_norm, 500, exclude=first).keys
    assert np.any(first >= dictionary.stumps.first_set)
    assert not set(first) & set(second)


def test_rank_sees_a_short_list_and_decides(rng):
    X, force = rng.normal(size=(200, 4)), rng.normal(size=(200, 1))
    dictionary = Stumps().bind(X)
    seen = {}

    def rank(keys, correlation):
        seen["keys"] = keys
        np.testing.assert_allclose(correlation, dictionary.columns(keys).correlate(force), atol=1e-9)
        return np.where(keys % 2 == 0, keys.astype(float), 0.0)

    found = dictionary.search(force, L1().dual_norm, 9, rank=rank)
    assert 9 <= seen["keys"].size <= 18
    assert set(found.keys) <= set(seen["keys"])
    assert np.all(found.keys % 2 == 0)
    assert np.all(np.diff(found.keys) < 0)


def test_without_a_penalty_the_steepest_come_first(rng):
    X, force = rng.normal(size=(100, 3)), rng.normal(size=(100, 2))
    dictionary = Stumps().bind(X)
    found = dictionary.search(force, NoPenalty().dual_norm, 4, above=-1.0)
    assert found.violation == np.inf
    steepness = np.abs(dictionary.columns(np.arange(dictionary.stumps.n_enumerated)).correlate(force)).max(axis=1)
    assert found.keys[0] == steepness.argmax()
    assert np.all(np.diff(steepness[found.keys]) <= 0)


@pytest.mark.parametrize("sparse", [False, True])
def test_threads_give_the_same_bits(sparse, rng, monkeypatch):
    monkeypatch.setattr(stump_bins, "BLOCK_ENTRIES", 100)
    monkeypatch.setattr(stump_bins.blocks, "__defaults__", (100,))
    X = inputs(rng, True)
    force = rng.normal(size=(M, 3))
    answers = []
    for jobs in (1, 2, 5):
        dictionary = Stumps().bind(sp.csc_array(X) if sparse else X, context(n_jobs=jobs))
        found = dictionary.search(force, L1L2().dual_norm, 30)
        answers.append((found.violation, found.keys.tobytes(), dictionary.columns(found.keys).matrix.tobytes()))
    assert answers[0] == answers[1] == answers[2]


def test_many_categories_and_outputs_are_searched_honestly(rng):
    n = 20
    X = rng.integers(0, n, size=(500, 1)).astype(float)
    dictionary = Stumps().bind(X, Context(categories={0: list(range(n))}))
    assert not dictionary.exact
    force = rng.normal(size=(500, 3))
    found = dictionary.search(force, L1L2().dual_norm, 5)
    assert not dictionary.exact
    assert found.violation == pytest.approx(scores(dictionary, found.keys, force, L1L2()).max())
    again = rng.normal(size=(500, 3))
    met = np.arange(dictionary.stumps.first_set + len(dictionary.stumps.sets))
    least = scores(dictionary, met, again, L1L2()).max()
    assert dictionary.search(again, L1L2().dual_norm, 5).violation >= least * (1 - 1e-12)
    best = dictionary.search(force[:, :1], L1().dual_norm, 1)
    assert dictionary.exact
    sums = np.bincount(X[:, 0].astype(int), weights=force[:, 0], minlength=n)
    assert best.violation == pytest.approx(np.abs(sums).sum())
    narrow = Stumps(categories="one-vs-rest").bind(X, Context(categories={0: list(range(n))}))
    assert narrow.exact


def test_mirrors_are_proposed_once(rng):
    X = rng.integers(0, 2, size=(50, 1)).astype(float)
    dictionary = Stumps().bind(X, Context(categories={0: ["no", "yes"]}))
    force = rng.normal(size=(50, 1))
    assert dictionary.search(force, L1().dual_norm, 9).keys.size == 1
    one_sided = dictionary.search(force, L1(True).dual_norm, 9)
    assert scores(dictionary, one_sided.keys, force, L1(True))[0] == pytest.approx(one_sided.violation)
    wide = Stumps().bind(rng.integers(0, 4, size=(50, 1)), Context(categories={0: list("abcd")}))
    columns = wide.columns(wide.search(rng.normal(size=(50, 2)), L1().dual_norm, 99).keys).matrix
    assert np.abs(np.triu(columns.T @ columns, 1)).max() < 50


@pytest.mark.parametrize("X", [np.empty((5, 0)), np.ones((5, 2)), np.full((5, 1), np.nan), sp.csc_array((5, 3))])
def test_data_without_thresholds_offers_nothing(X):
    dictionary = Stumps().bind(X)
    found = dictionary.search(np.ones((5, 2)), L1().dual_norm, 3)
    assert found.keys.size == 0
    assert found.violation == 0.0
    assert dictionary.columns(np.empty(0, dtype=np.int64)).matrix.shape == (5, 0)


def test_the_input_is_not_modified(rng):
    X = inputs(rng, True)
    for data in (X, np.asfortranarray(X), sp.csc_array(X)):
        parts = [data.data, data.indices, data.indptr] if sp.issparse(data) else [data]
        for part in parts:
            part.flags.writeable = False
        dictionary = Stumps().bind(data, context())
        dictionary.search(rng.normal(size=(M, 1)), L1().dual_norm, 3)


# -- what people read ------------------------------------------------------------------------------------------------


def test_names():
    X = np.array([[41.0, 0.0, 3.0], [42.0, 1.0, np.nan], [np.nan, 2.0, 5.0], [61.0, np.nan, 5.0]])
    bound = Context(["age", "color", "n"], categories={1: ["red", "green", "blue"]})

    def names(**options) -> list[str]:
        dictionary = Stumps(categories="one-vs-rest", **options).bind(X, bound)
        return [repr(dictionary.hypothesis(key)) for key in range(dictionary.stumps.first_set)]

    plain = ["age <= 41.5", "age <= 50", "age is missing", "age <= 41.5 or missing", "age <= 50 or missing"]
    assert names()[:5] == plain
    assert names()[5:9] == ["color == red", "color == green", "color == blue", "color is missing"]
    assert names()[9:] == ["n <= 4", "n is missing", "n <= 4 or missing"]
    turned = ["age > 41.5 or missing", "age > 50 or missing", "age is not missing", "age > 41.5", "age > 50"]
    assert names(negated=True)[12:17] == turned
    assert names(negated=True)[17:21] == ["color != red", "color != green", "color != blue", "color is not missing"]
    assert names(negated=True, outputs="indicator")[12] == "-(age <= 41.5)"
    assert repr(CategoryStump(1, [0, 2], ["red", "blue"], "color")) == "color in {red, blue}"
    assert repr(CategoryStump(1, [0], ["red"], "color", True, negated=True)) == "color not in {red, missing}"
    assert repr(Stump(0, -2.0, "x0")) == "x0 <= -2"
    assert Stumps().bind(X).hypothesis(0).inputs == (0,)


def test_new_categories_are_none_of_them():
    rule = CategoryStump(0, [0, 2], ["a", "c"], "x0", missing=True)
    np.testing.assert_array_equal(rule(np.array([[0.0], [1.0], [2.0], [-1.0], [7.0], [np.nan]])), [1, -1, 1, -1, -1, 1])


def test_thresholds_have_the_fewest_digits_that_separate(rng):
    from sparseboost.hypotheses.stump_rules import between

    for low, high in np.sort(rng.normal(size=(200, 2)) * 10.0 ** rng.integers(-8, 8, size=(200, 1)), axis=1):
        found = between(low, high)
        assert low < found < high
        digits = len(repr(found).replace(".", "").split("e")[0].strip("-0"))
        coarser = float(f"{0.5 * (low + high):.{digits - 1}g}") if digits > 1 else np.nan
        assert not low < coarser < high


def test_sets_of_many_categories_are_cuts_of_orders(rng):
    assert stump_subsets.candidate_sets(rng.normal(size=(30, 4)), True).shape[0] <= 2 * 5 * 29
    assert stump_subsets.candidate_sets(rng.normal(size=(5, 2)), True).shape[0] == 2**5 - 2
    assert stump_subsets.candidate_sets(rng.normal(size=(5, 2)), False).shape[0] == 2**5 - 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"thresholds": "all"},
        {"n_bins": 1},
        {"n_bins": 2.5},
        {"n_bins": True},
        {"outputs": "signs"},
        {"missing": None},
        {"categories": "ordered"},
    ],
)
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(ValueError, match=f"Stumps needs {next(iter(wrong))} to be"):
        Stumps(**wrong)
