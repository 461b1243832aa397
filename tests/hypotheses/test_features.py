"""Laws of the dictionary of features: columns, correlations, search, and what it may not do to the input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sparseboost.hypotheses import Context, Features, blocks, features
from sparseboost.penalties import L1, L1L2, L1Linf

M, N = 23, 7


def values(rng: np.random.Generator) -> np.ndarray:
    X = np.round(4 * rng.normal(size=(M, N)))
    X[rng.random((M, N)) < 0.5] = 0.0
    X[:, 3] = 0.0
    return X


def duplicated(X: np.ndarray, kind: type) -> sp.sparray:
    """CSR or CSC with every entry given twice (halves), in unsorted order."""
    whole = kind(X)
    indices = np.concatenate([np.tile(part, 2)[::-1] for part in np.split(whole.indices, whole.indptr[1:-1])])
    data = np.concatenate([np.tile(part / 2, 2)[::-1] for part in np.split(whole.data, whole.indptr[1:-1])])
    return kind((data, indices, 2 * whole.indptr), shape=X.shape)


def unsorted(X: np.ndarray) -> sp.sparray:
    whole = sp.csc_array(X)
    cut = whole.indptr[1:-1]
    data = np.concatenate([part[::-1] for part in np.split(whole.data, cut)])
    indices = np.concatenate([part[::-1] for part in np.split(whole.indices, cut)])
    return sp.csc_array((data, indices, whole.indptr), shape=X.shape)


def long_indices(X: np.ndarray) -> sp.sparray:
    whole = sp.csc_array(X)
    whole.indices, whole.indptr = whole.indices.astype(np.int64), whole.indptr.astype(np.int64)
    return whole


def coordinates(X: np.ndarray) -> sp.sparray:
    whole = sp.coo_array(X)
    double = (np.r_[whole.data, whole.data] / 2, (np.r_[whole.row, whole.row], np.r_[whole.col, whole.col]))
    return sp.coo_array(double, shape=X.shape)


FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "float32-C": lambda X: X.astype(np.float32),
    "float32-F": lambda X: np.asfortranarray(X.astype(np.float32)),
    "int-C": lambda X: X.astype(np.int32),
    "int-F": lambda X: np.asfortranarray(X.astype(np.int64)),
    "int8": lambda X: X.astype(np.int8),
    "bool": lambda X: X > 0,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "csr-matrix": sp.csr_matrix,
    "csc-matrix": sp.csc_matrix,
    "csc-float32": lambda X: sp.csc_array(X.astype(np.float32)),
    "csr-int": lambda X: sp.csr_array(X.astype(np.int64)),
    "csc-int8": lambda X: sp.csc_array(X.astype(np.int8)),
    "csc-bool": lambda X: sp.csc_array(X > 0),
    "csc-int64-indices": long_indices,
    "csr-duplicates": lambda X: duplicated(X, sp.csr_array),
    "csc-duplicates": lambda X: duplicated(X, sp.csc_array),
    "coo-duplicates": coordinates,
    "csc-unsorted": unsorted,
}
every_form = pytest.mark.parametrize("form", FORMS)


def full(X) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)


def frozen(X) -> list[np.ndarray]:
    """Copies of everything the input consists of."""
    if not sp.issparse(X):
        return [X.copy()]
    if X.format == "coo":
        return [X.data.copy(), X.row.copy(), X.col.copy()]
    return [X.data.copy(), X.indices.copy(), X.indptr.copy()]


def lock(X) -> None:
    """Writing to the input now raises."""
    for part in [X] if not sp.issparse(X) else [X.data, *([] if X.format == "coo" else [X.indices, X.indptr])]:
        part.flags.writeable = False


@every_form
def test_all_sums_equal_the_plain_matrix_products(form, rng, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 2 * M)  # several blocks
    X = FORMS[form](values(rng))
    plain = full(X)
    dictionary = Features().bind(X)
    force, up, down = rng.normal(size=(M, 3)), rng.exponential(size=(M, 3)), rng.exponential(size=(M, 3))
    weight = rng.exponential(size=M) * (rng.random(M) < 0.7)
    keys = np.array([5, 0, 3])
    assert dictionary.size == N
    np.testing.assert_allclose(dictionary.correlate(force), plain.T @ force, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dictionary.energy(weight), weight @ plain**2, rtol=1e-12)
    np.testing.assert_allclose(dictionary.reach(weight), np.abs(plain[weight > 0]).max(axis=0))
    np.testing.assert_allclose(dictionary.reach(np.ones(M)), np.abs(plain).max(axis=0))
    template = rng.exponential(size=N)
    np.testing.assert_allclose(dictionary.absolute_scores(template), np.abs(plain) @ template, rtol=1e-12)
    plus, minus = dictionary.split_correlate(keys, up, down)
    right, left = np.maximum(plain[:, keys], 0), np.maximum(-plain[:, keys], 0)
    np.testing.assert_allclose(plus, right.T @ down + left.T @ up, rtol=1e-12)
    np.testing.assert_allclose(minus, right.T @ up + left.T @ down, rtol=1e-12)


@every_form
def test_columns_equal_the_hypotheses_outputs(form, rng):
    X = FORMS[form](values(rng))
    dictionary = Features().bind(X)
    for keys in (np.array([4, 1, 3, 6]), np.array([2]), np.empty(0, dtype=np.int64)):
        columns = dictionary.columns(keys)
        assert columns.size == keys.size
        found = full(columns.matrix)
        assert columns.matrix.dtype == np.float64
        for position, key in enumerate(keys):
            outputs = dictionary.hypothesis(key)(X if not sp.issparse(X) or X.format != "coo" else X.tocsr())
            np.testing.assert_array_equal(found[:, position], outputs)
            np.testing.assert_array_equal(outputs, full(X)[:, key])
        coef, force = rng.normal(size=(keys.size, 2)), rng.normal(size=(M, 2))
        np.testing.assert_allclose(columns.dot(coef), full(X)[:, keys] @ coef, atol=1e-12)
        np.testing.assert_allclose(columns.correlate(force), full(X)[:, keys].T @ force, atol=1e-12)


@every_form
def test_the_input_is_never_modified(form, rng):
    X = FORMS[form](values(rng))
    before = frozen(X)
    lock(X)
    dictionary = Features().bind(X)
    dictionary.correlate(rng.normal(size=(M, 2)))
    dictionary.search(rng.normal(size=(M, 2)), L1().dual_norm, 3)
    dictionary.energy(np.ones(M))
    dictionary.reach(np.ones(M))
    columns = dictionary.columns(np.arange(N))
    columns.split_correlate(np.ones((M, 2)), np.ones((M, 2)))
    columns.keep(np.arange(N) % 2 == 0).append(dictionary.columns(np.array([1])))
    for old, new in zip(before, frozen(X), strict=True):
        np.testing.assert_array_equal(old, new)


@every_form
def test_columns_can_be_appended_and_dropped(form, rng):
    X = FORMS[form](values(rng))
    dictionary = Features().bind(X)
    empty = dictionary.columns(np.empty(0, dtype=np.int64))
    joined = empty.append(dictionary.columns(np.array([2, 0]))).append(dictionary.columns(np.array([5])))
    np.testing.assert_array_equal(full(joined.matrix), full(X)[:, [2, 0, 5]])
    kept = joined.keep(np.array([True, False, True]))
    np.testing.assert_array_equal(full(kept.matrix), full(X)[:, [2, 5]])
    data, indices, indptr = kept.flat
    assert (data.dtype, indices.dtype, indptr.dtype) == (np.float64, np.int32, np.int64)
    assert full(joined.keep(np.zeros(3, dtype=bool)).matrix).shape == (M, 0)


# -- no copies, no densifying ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csc_matrix])
def test_csc_in_double_precision_is_used_as_it_is(kind, rng):
    X = kind(values(rng))
    bound = Features().bind(X).X
    assert np.shares_memory(bound.data, X.data)
    assert np.shares_memory(bound.indices, X.indices)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_dense_data_is_used_as_it_is(order, dtype, rng):
    X = np.asarray(values(rng), dtype=dtype, order=order)
    assert np.shares_memory(Features().bind(X).X, X)


def test_flat_columns_are_a_view(rng):
    columns = Features().bind(np.asfortranarray(values(rng))).columns(np.arange(N))
    assert np.shares_memory(columns.flat[0], columns.matrix)


@pytest.mark.parametrize("form", [form for form in FORMS if form.startswith(("cs", "coo"))])
def test_sparse_data_is_never_made_dense(form, rng, monkeypatch):
    X = FORMS[form](values(rng))

    def refuse(self, *args, **kwargs):
        if self.ndim > 1 and min(self.shape) > 1:
            raise AssertionError("a sparse matrix was made dense")
        return original[type(self)](self, *args, **kwargs)

    original = {}
    for kind in (sp.csc_array, sp.csr_array, sp.coo_array, sp.csc_matrix, sp.csr_matrix, sp.coo_matrix):
        original[kind] = kind.toarray
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    dictionary = Features().bind(X)
    dictionary.search(rng.normal(size=(M, 2)), L1().dual_norm, 3)
    dictionary.energy(np.ones(M))
    dictionary.reach(np.arange(M) % 2.0)
    dictionary.absolute_scores(np.ones(N))
    dictionary.hypothesis(0)(X.tocsr())
    columns = dictionary.columns(np.arange(4)).append(dictionary.columns(np.array([5])))
    columns.keep(np.arange(5) > 1).split_correlate(np.ones((M, 1)), np.ones((M, 1)))
    assert sp.issparse(columns.matrix)


def test_blocks_bound_the_temporary_memory(rng, monkeypatch):
    """Data that is not in double precision is converted block by block, if at all."""
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 2 * M)
    X = values(rng).astype(np.float32)
    sizes = []
    plain = features.Columns

    class Watched(plain):
        def __init__(self, matrix):
            sizes.append(matrix.size)
            super().__init__(matrix)

    monkeypatch.setattr(features, "Columns", Watched)
    Features().bind(X).energy(np.ones(M))
    assert max(sizes) <= 2 * M


# -- search ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [L1(), L1L2(), L1Linf(), L1(True)], ids=repr)
@pytest.mark.parametrize("form", ["C", "float32-F", "csr", "csc-duplicates"])
def test_search_returns_the_true_maximum_in_order(form, penalty, rng):
    X = FORMS[form](values(rng))
    cost = rng.uniform(0.5, 2, size=N)
    dictionary = Features().bind(X, Context(feature_costs=cost))
    for _ in range(10):
        force = rng.normal(size=(M, 2))
        violation = penalty.dual_norm(full(X).T @ force) / cost
        order = np.argsort(-violation, kind="stable")
        found = dictionary.search(force, penalty.dual_norm, 3)
        np.testing.assert_array_equal(found.keys, [key for key in order[:3] if violation[key] > 0])
        assert found.violation == pytest.approx(violation.max(), rel=1e-12)
        np.testing.assert_allclose(found.correlation, full(X).T @ force, atol=1e-12)
        level = violation[order[N // 2 - 1 : N // 2 + 1]].mean()  # between two: sums may differ in the last bit
        above = dictionary.search(force, penalty.dual_norm, N, above=level)
        np.testing.assert_array_equal(above.keys, [key for key in order if violation[key] > level])
        rest = dictionary.search(force, penalty.dual_norm, N, exclude=order[:2])
        np.testing.assert_array_equal(rest.keys, [key for key in order[2:] if violation[key] > 0])
        assert rest.violation == found.violation  # what is excluded still counts for the certificate
        none = dictionary.search(force, penalty.dual_norm, 0)
        assert none.keys.size == 0
        assert none.violation == found.violation


def test_ties_go_to_the_lowest_index(rng):
    column = rng.normal(size=(M, 1))
    X = np.hstack([0.5 * column, column, -column, column, 0 * column])
    found = Features().bind(X).search(column, L1().dual_norm, 3)
    np.testing.assert_array_equal(found.keys, [1, 2, 3])


def test_rank_decides_the_order_and_refuses_what_is_not_positive(rng):
    X, force = values(rng), rng.normal(size=(M, 1))
    seen = {}

    def rank(keys, correlation):
        seen["keys"] = keys
        np.testing.assert_allclose(correlation, (X.T @ force)[keys], atol=1e-12)
        return np.where(keys % 2 == 0, keys.astype(float), 0.0)

    found = Features().bind(X).search(force, L1().dual_norm, 10, exclude=np.array([4]), rank=rank)
    np.testing.assert_array_equal(found.keys, [6, 2])  # 0 has rank 0
    assert 4 not in seen["keys"]
    assert 3 not in seen["keys"]  # the zero column violates nothing


@pytest.mark.parametrize("form", ["csc", "csr", "csc-float32", "C"])
def test_threads_give_the_same_bits(form, rng):
    X = FORMS[form](rng.normal(size=(200, 31)) * (rng.random((200, 31)) < 0.3))
    force = rng.normal(size=(200, 3))
    alone = Features().bind(X, Context(n_jobs=1)).correlate(force)
    for jobs in (2, 3, 8, 64):
        np.testing.assert_array_equal(Features().bind(X, Context(n_jobs=jobs)).correlate(force), alone)


def test_names_and_costs(rng):
    X = values(rng)
    named = Features().bind(X, Context(feature_names=[f"f{j}" for j in range(N)], feature_costs=np.arange(1.0, N + 1)))
    assert repr(named.hypothesis(2)) == "f2"
    np.testing.assert_array_equal(named.cost(np.array([3, 0])), [4.0, 1.0])
    plain = Features().bind(X)
    assert repr(plain.hypothesis(2)) == "x2"
    np.testing.assert_array_equal(plain.cost(np.arange(N)), 1.0)
    assert plain.exact


def test_an_all_zero_sparse_matrix_is_handled(rng):
    dictionary = Features().bind(sp.csc_array((M, N)))
    columns = dictionary.columns(np.arange(N))
    plus, minus = columns.split_correlate(np.ones((M, 2)), np.ones((M, 2)))
    assert not plus.any()
    assert not minus.any()
    assert dictionary.search(np.ones((M, 2)), L1().dual_norm, 3).keys.size == 0
    assert not dictionary.reach(np.ones(M)).any()
