"""Laws of kernels as hypotheses: values, support sets, memory, search, and certificates over the whole space."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, alpha_max, load, save
from sparseboost.hypotheses import Context, Kernel, SupportVector, blocks, evaluate, kernel, perceptron
from sparseboost.penalties import L1, L1L2, L1Linf

sys.path.insert(0, str(Path(__file__).parents[1] / "oracles"))
from objectives import Question, hot

M, D = 31, 4


def written_rbf(x, s, gamma=1 / D):
    return np.exp(-gamma * ((x[:, None] - s[None]) ** 2).sum(axis=2))


def written_laplacian(x, s, gamma=1 / D):
    return np.exp(-gamma * np.abs(x[:, None] - s[None]).sum(axis=2))


def written_cosine(x, s):
    return (x @ s.T) / np.linalg.norm(x, axis=1)[:, None] / np.linalg.norm(s, axis=1)


def negative_distance(x, s, power=1.0):
    """A kernel of the user's own, for dense and sparse data."""
    x, s = (np.asarray(part.toarray() if sp.issparse(part) else part) for part in (x, s))
    return -(np.linalg.norm(x[:, None] - s[None], axis=2) ** power)


KERNELS = {
    "rbf": (Kernel("rbf"), written_rbf),
    "rbf-gamma": (Kernel("rbf", gamma=0.7), lambda x, s: written_rbf(x, s, 0.7)),
    "poly": (Kernel("poly", degree=2, gamma=0.5, coef0=0.3), lambda x, s: (0.5 * x @ s.T + 0.3) ** 2),
    "cosine": (Kernel("cosine"), written_cosine),
    "laplacian": (Kernel("laplacian"), written_laplacian),
    "linear": (Kernel("linear"), lambda x, s: x @ s.T),
    "sigmoid": (Kernel("sigmoid", gamma=0.1), lambda x, s: np.tanh(0.1 * x @ s.T + 1)),
    "own": (Kernel(negative_distance, power=1.5), lambda x, s: negative_distance(x, s, 1.5)),
}
FORMS = {
    "dense": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "whole numbers": lambda X: np.round(3 * X).astype(np.int32),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "csc-matrix": sp.csc_matrix,
    "long indices": lambda X: long_indices(X),
}


def long_indices(X):
    whole = sp.csr_array(X)
    whole.indices, whole.indptr = whole.indices.astype(np.int64), whole.indptr.astype(np.int64)
    return whole


def data(rng, m=M):
    X = rng.normal(size=(m, D)) + 0.3
    X[rng.random((m, D)) < 0.2] = 0.0
    X[:, 0] += 0.1  # no empty rows: they have no cosine
    return X


def full(X):
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)


def bound(space, X, **context):
    """The same space with all examples as support."""
    space = Kernel(space.kernel, gamma=space.gamma, support="all", memory=space.memory, **space.params)
    return space.bind(X, Context(**context))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KERNELS)
def test_columns_are_the_kernel_and_what_the_hypotheses_give(name, form, rng):
    space, written = KERNELS[name]
    X = FORMS[form](data(rng))
    plain = full(X)
    dictionary = bound(space, X)
    wanted = written(plain, plain)
    keys = np.array([7, 0, 30, 11])
    columns = dictionary.columns(keys)
    assert columns.matrix.flags.f_contiguous
    np.testing.assert_allclose(columns.matrix, wanted[:, keys], rtol=1e-9, atol=1e-12)
    hypotheses = [dictionary.hypothesis(int(key)) for key in keys]
    new = FORMS[form](data(rng, 9))
    other = full(new) if sp.issparse(new) else sp.csr_array(new)  # the form may differ between fit and prediction
    for place, hypothesis in enumerate(hypotheses):
        np.testing.assert_allclose(hypothesis(X), columns.matrix[:, place], rtol=1e-9, atol=1e-12)
        assert hypothesis.inputs == tuple(range(D))
    for given in (new, other):
        outputs = written(full(given), plain[keys])
        np.testing.assert_allclose(evaluate(hypotheses, given), outputs, rtol=1e-9, atol=1e-12)
    assert dictionary.columns(keys[:0]).matrix.shape == (M, 0)


def test_support_vectors_of_different_kernels_are_evaluated_together(rng, monkeypatch):
    X = data(rng)
    hypotheses = [bound(KERNELS[name][0], X).hypothesis(key) for key in (3, 5) for name in ("rbf", "poly", "rbf-gamma")]
    wanted = np.column_stack([hypothesis(X) for hypothesis in hypotheses])
    calls = []
    plain = kernel.pairwise_kernels
    monkeypatch.setattr(kernel, "pairwise_kernels", lambda *args, **kw: calls.append(1) or plain(*args, **kw))
    np.testing.assert_allclose(evaluate(hypotheses, X), wanted, rtol=1e-12)
    assert len(calls) == 3  # one per kernel, not one per vector


# -- sums within a memory limit --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("held", [0, 5, M, 100])
@pytest.mark.parametrize("jobs", [1, 3])
def test_all_sums_equal_the_plain_matrix_products_whatever_is_held(form, held, jobs, rng, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", M)  # four columns per block
    X = FORMS[form](data(rng))
    space = Kernel("rbf", support="all", memory=8 * M * held / kernel.MEGABYTE)
    dictionary = space.bind(X, Context(n_jobs=jobs))
    assert dictionary._held.shape[1] == min(held, M)
    plain = written_rbf(full(X), full(X))
    force, up, down = rng.normal(size=(M, 3)), rng.exponential(size=(M, 3)), rng.exponential(size=(M, 3))
    weight = rng.exponential(size=M) * (rng.random(M) < 0.7)
    keys = np.array([25, 0, 3])
    np.testing.assert_allclose(dictionary.correlate(force), plain.T @ force, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(dictionary.energy(weight), weight @ plain**2, rtol=1e-9)
    np.testing.assert_allclose(dictionary.reach(weight), np.abs(plain[weight > 0]).max(axis=0))
    template = rng.exponential(size=M)
    np.testing.assert_allclose(dictionary.absolute_scores(template), np.abs(plain) @ template, rtol=1e-9)
    plus, minus = dictionary.split_correlate(keys, up, down)
    np.testing.assert_allclose(plus, plain[:, keys].T @ down, rtol=1e-9)
    np.testing.assert_allclose(minus, plain[:, keys].T @ up, rtol=1e-9)
    dear = dictionary.at_cost(np.arange(1.0, M + 1))
    np.testing.assert_array_equal(dear.cost(keys), keys + 1.0)
    np.testing.assert_array_equal(dictionary.cost(keys), 1.0)


def test_what_is_not_held_is_computed_a_block_at_a_time(rng, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", M)
    widths = []
    plain = kernel.similarity

    def watched(name, params, X, points):
        widths.append(points.shape[0])
        return plain(name, params, X, points)

    dictionary = Kernel(support="all", memory=0).bind(data(rng))
    monkeypatch.setattr(kernel, "similarity", watched)
    dictionary.search(rng.normal(size=(M, 1)), L1().dual_norm, 3)
    assert sum(widths) == M
    assert max(widths) <= 4
    widths.clear()
    held = Kernel(support="all").bind(data(rng))
    widths.clear()
    held.search(rng.normal(size=(M, 1)), L1().dual_norm, 3)
    held.columns(np.arange(5))
    assert widths == []  # all of it is held


def test_threads_give_the_same_bits(rng, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", M)
    X, force = data(rng), rng.normal(size=(M, 2))
    for memory in (0, 512):
        alone = Kernel(support="all", memory=memory).bind(X).correlate(force)
        many = Kernel(support="all", memory=memory).bind(X, Context(n_jobs=4)).correlate(force)
        np.testing.assert_array_equal(alone, many)


# -- search ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [L1(), L1L2(), L1Linf(), L1(True)], ids=repr)
@pytest.mark.parametrize("name", ["rbf", "poly", "own"])
def test_search_returns_the_true_maximum_in_order(name, penalty, rng):
    space, written = KERNELS[name]
    X = data(rng)
    cost = rng.uniform(0.5, 2, size=M)
    dictionary = bound(space, X).at_cost(cost)
    assert dictionary.exact
    for _ in range(5):
        force = rng.normal(size=(M, 2))
        correlation = written(X, X).T @ force
        violation = penalty.dual_norm(correlation) / cost
        order = np.argsort(-violation, kind="stable")
        found = dictionary.search(force, penalty.dual_norm, 4)
        np.testing.assert_array_equal(found.keys, [key for key in order[:4] if violation[key] > 0])
        assert found.violation == pytest.approx(violation.max(), rel=1e-9)
        rest = dictionary.search(force, penalty.dual_norm, M, above=violation.mean(), exclude=order[:3])
        np.testing.assert_array_equal(rest.keys, [key for key in order[3:] if violation[key] > violation.mean()])
        assert rest.violation == found.violation


# -- support sets ----------------------------------------------------------------------------------------------------


def slow_pass(gram, walk, target, n_classes, tube):
    """The Perceptron one example at a time, as one would write it on a board."""
    k = n_classes if n_classes and n_classes > 2 else target.shape[1]
    weights, found = np.zeros((len(gram), k)), []
    if n_classes is None:
        target = (target - target[walk].mean(axis=0)) / target[walk].std(axis=0)
    for i in walk:
        score, change = gram[i] @ weights, np.zeros(k)
        if n_classes is None:
            error = target[i] - score
            change = np.sign(error) * np.maximum(np.abs(error) - tube, 0) / gram[i, i]
        elif n_classes == 2:
            change[target[i] * score <= 0] = target[i][target[i] * score <= 0]
        else:
            own = int(target[i, 0])
            rivals = [r for r in range(k) if r != own]
            rival = rivals[int(np.argmax(score[rivals]))]
            if score[own] <= score[rival]:
                change[own], change[rival] = 1, -1
        if change.any():
            weights[i] += change
            found.append(i)
    return np.sort(found)


TARGETS = {
    "binary": (2, lambda X, rng: np.sign(X[:, :1] + 0.5 * rng.normal(size=(len(X), 1)))),
    "labels": (2, lambda X, rng: np.sign(X[:, :3] + 0.5 * rng.normal(size=(len(X), 3)))),
    "classes": (3, lambda X, rng: np.argmax(X[:, :3] + 0.5 * rng.normal(size=(len(X), 3)), axis=1)[:, None] * 1.0),
    "real": (None, lambda X, rng: 40 + 9 * (X[:, :1] ** 2 + 0.2 * rng.normal(size=(len(X), 1)))),
    "reals": (None, lambda X, rng: 40 + 9 * (X[:, :2] ** 2 + 0.2 * rng.normal(size=(len(X), 2)))),
}


@pytest.mark.parametrize("block", [1, 7, 256])
@pytest.mark.parametrize("kind", TARGETS)
def test_the_perceptron_walks_as_one_example_at_a_time(kind, block, rng, monkeypatch):
    monkeypatch.setattr(perceptron, "BLOCK", block)
    n_classes, make = TARGETS[kind]
    X = data(rng, 80)
    target = make(X, rng)
    weight = np.where(rng.random(80) < 0.2, 0.0, 1.0)
    context = Context(target=target, weight=weight / weight.sum(), n_classes=n_classes, random_state=3)
    for space, written in (KERNELS["rbf"], KERNELS["poly"]):
        space = Kernel(space.kernel, gamma=space.gamma, tube=0.2, **space.params)
        dictionary = space.bind(X, context)
        walk = np.random.RandomState(3).permutation(np.flatnonzero(weight))
        wanted = slow_pass(written(X, X), walk, target, n_classes, 0.2)
        np.testing.assert_array_equal(dictionary.numbers, wanted)
        assert 0 < wanted.size < weight.sum()
        np.testing.assert_array_equal(dictionary.points, X[wanted])


def test_examples_without_weight_are_as_if_they_were_not_there(rng):
    X = data(rng, 60)
    target = np.sign(X[:, :1] + rng.normal(size=(60, 1)))
    weight = np.r_[np.full(40, 1 / 40), np.zeros(20)]
    for support in ("all", "perceptron", "kmeans"):
        space = Kernel(support=support, number=6)
        some = space.bind(X, Context(target=target, weight=weight, n_classes=2, random_state=0))
        few = Context(target=target[:40], weight=weight[:40], n_classes=2, random_state=0)
        np.testing.assert_allclose(some.points, space.bind(X[:40], few).points)


def test_the_walk_follows_the_seed(rng):
    X = data(rng, 60)
    target = np.sign(rng.normal(size=(60, 1)))

    def rows(seed):
        return tuple(Kernel().bind(X, Context(target=target, n_classes=2, random_state=seed)).numbers)

    assert rows(0) == rows(0)
    assert len({rows(seed) for seed in range(5)}) > 1


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_centres_are_the_means_of_what_is_nearest_to_them(form, rng):
    X = np.concatenate([rng.normal(size=(20, D)) + 20 * shift for shift in np.eye(D)])
    weight = rng.exponential(size=len(X))
    context = Context(weight=weight / weight.sum(), random_state=0)
    dictionary = Kernel(support="kmeans", number=D).bind(FORMS[form](X), context)
    points = full(dictionary.points)
    nearest = ((X[:, None] - points[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert np.bincount(nearest, minlength=D).tolist() == [20] * D
    for place, point in enumerate(points):
        mine = nearest == place
        np.testing.assert_allclose(point, np.average(X[mine], axis=0, weights=weight[mine]), atol=1e-9)
    assert Kernel(support="kmeans", number=500).bind(X[:7], Context(random_state=0)).size == 7


def test_given_points(rng):
    X, points = data(rng), data(rng, 5)
    for given in (points, points.tolist(), sp.csr_array(points)):
        for form in ("dense", "csr"):
            dictionary = Kernel(support=given).bind(FORMS[form](X))
            assert dictionary.size == 5
            np.testing.assert_allclose(dictionary.columns(np.arange(5)).matrix, written_rbf(X, points), rtol=1e-9)


def test_a_constant_target_still_leaves_one_support_vector(rng):
    assert Kernel().bind(data(rng), Context(target=np.ones((M, 1)), random_state=0)).size == 1


# -- what people see and keep ----------------------------------------------------------------------------------------


def test_names(rng):
    X = data(rng)
    target = np.sign(X[:, :1])
    dictionary = Kernel("rbf").bind(X, Context(target=target, n_classes=2, random_state=0))
    assert repr(dictionary.hypothesis(1)) == f"rbf(x, #{dictionary.numbers[1]})"
    assert repr(bound(KERNELS["own"][0], X).hypothesis(17)) == "negative_distance(x, #17)"
    assert repr(Kernel()) == "Kernel('rbf')"
    assert repr(Kernel("poly", degree=2, support="all")) == "Kernel('poly', support='all', degree=2)"


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_hypothesis_needs_no_training_data(form, rng):
    X = FORMS[form](data(rng))
    new = data(rng, 5)
    hypothesis = bound(KERNELS["poly"][0], X).hypothesis(4)
    wanted = hypothesis(new)
    (X.data if sp.issparse(X) else X)[:] = 99.0
    np.testing.assert_array_equal(hypothesis(new), wanted)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(hypothesis))(new), wanted)
    assert len(pickle.dumps(hypothesis)) < 2000


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_hypotheses_of_an_earlier_fit_are_found_again(form, rng):
    X = FORMS[form](data(rng))
    dictionary = bound(KERNELS["poly"][0], X)
    shuffled = bound(KERNELS["poly"][0], X[::-1] if form == "dense" else sp.csr_array(full(X)[::-1].copy()))
    for key in range(M):
        assert dictionary.adopt(dictionary.hypothesis(key)) == key
        assert shuffled.adopt(dictionary.hypothesis(key)) == M - 1 - key
    assert dictionary.adopt(bound(KERNELS["rbf"][0], X).hypothesis(0)) is None
    stranger = SupportVector("poly", {"degree": 2, "gamma": 0.5, "coef0": 0.3}, np.full((1, D), 7.0), 0)
    assert dictionary.adopt(stranger) is None


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_scale_is_that_of_support_vector_machines(form, rng):
    X = FORMS[form](3 * data(rng))
    dictionary = Kernel("rbf", gamma="scale", support="all").bind(X)
    machine = SVC(gamma="scale").fit(X, np.arange(M) % 2)
    assert dictionary.params["gamma"] == pytest.approx(machine._gamma, rel=1e-12)


def test_a_hypothesis_costs_what_all_inputs_cost_together(rng):
    dictionary = Kernel(support="all").bind(data(rng), Context(feature_costs=np.array([1.0, 3.0, 2.0, 0.5])))
    np.testing.assert_array_equal(dictionary.cost(np.arange(M)), 6.5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X: Kernel("rfb"), "one of additive_chi2"),
        (lambda X: Kernel("rbf", degree=3), "no parameter 'degree'; it has: gamma"),
        (lambda X: Kernel("cosine", gamma=1.0), "no parameter 'gamma'; it has: none"),
        (lambda X: Kernel(gamma="auto"), "'scale' or None, got 'auto'"),
        (lambda X: Kernel(support="random"), "perceptron, all, kmeans or an array"),
        (lambda X: Kernel(number=0), "number >= 1"),
        (lambda X: Kernel(memory=-1), "memory >= 0"),
        (lambda X: Kernel(tube=-1), "tube >= 0"),
        (lambda X: Kernel().bind(X), "needs the targets"),
        (lambda X: Kernel(support=X[:, :2]).bind(X), r"4 inputs like X, got shape \(31, 2\)"),
        (lambda X: Kernel(support=X[0]).bind(X), r"got shape \(4,\)"),
        (lambda X: Kernel("chi2", support="all").bind(-np.abs(X)), "chi2 fails on this X"),
        (lambda X: Kernel(lambda x, s: x[:, 0], support="all").bind(X), r"shape \(31, 31\), it gave \(31,\)"),
        (lambda X: Kernel("poly", degree=400, gamma=100, support="all").bind(X), "not finite"),
    ],
)
def test_complaints_are_one_sentence(make, words, rng):
    with pytest.raises((ValueError, TypeError), match=words) as complaint, np.errstate(over="ignore"):
        make(data(rng))
    assert "\n" not in str(complaint.value)


# -- fits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [0, 512])
@pytest.mark.parametrize(("kind", "penalty"), [("logistic", "l1"), ("softmax", "l1/l2"), ("squared", "l1")])
def test_a_fit_is_optimal_over_the_whole_space(kind, penalty, memory, rng):
    X = data(rng, 50)
    y = {
        "logistic": (X[:, 0] * X[:, 1] > 0).astype(int),
        "softmax": np.argmax(X[:, :3], axis=1),
        "squared": np.sin(2 * X[:, 0]) + X[:, 1] ** 2,
    }[kind]
    space = Kernel("rbf", gamma=0.8, support="all", memory=memory)
    alpha = 0.15 * alpha_max(
        X, y, hypotheses=space, penalty=penalty, loss="squared" if kind == "squared" else "logistic"
    )
    family = SparseBoostRegressor if kind == "squared" else SparseBoostClassifier
    model = family(alpha, hypotheses=space, penalty=penalty, tol=1e-7).fit(X, y)
    written = written_rbf(X, X, 0.8)
    question = Question(kind, penalty, alpha, written, y)
    assert model.converged_
    assert 0 < model.n_active_ < 50
    assert model.objective_ - model.dual_gap_ <= question.optimum() + 1e-8
    assert model.objective_ == pytest.approx(question.optimum(), abs=1e-6)
    coef = np.zeros((model.coef_.shape[0], 50))
    coef[:, [h.number for h in model.hypotheses_]] = model.coef_
    assert question.objective(coef, model.intercept_) == pytest.approx(model.objective_, rel=1e-9)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_model_file_holds_the_support_vectors(form, rng, tmp_path):
    pytest.importorskip("skops")
    X = FORMS[form](data(rng, 60))
    y = (full(X)[:, 0] > 0.3).astype(int)
    model = SparseBoostClassifier(0.01, hypotheses=Kernel("poly", degree=2), random_state=0).fit(X, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert repr(again.hypotheses_) == repr(model.hypotheses_)
    own = SparseBoostClassifier(0.01, hypotheses=KERNELS["own"][0], random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="a safe file cannot hold"):
        save(own, tmp_path / "own.skops")


def test_the_estimator_tells_the_perceptron_what_the_targets_are(rng):
    X = data(rng, 90)
    walk = np.random.RandomState(0).permutation(90)
    classes = np.argmax(X[:, :3], axis=1)
    cases = [
        (SparseBoostClassifier, classes, classes[:, None] * 1.0, 3),
        (SparseBoostClassifier, (classes > 0).astype(int), np.where(classes > 0, 1.0, -1.0)[:, None], 2),
        (SparseBoostClassifier, hot(classes).astype(int), 2 * hot(classes) - 1, 2),
        (SparseBoostRegressor, classes * 1.0, classes[:, None] * 1.0, None),
    ]
    for family, y, target, n_classes in cases:
        model = family(1e-3, hypotheses=Kernel(), random_state=0, max_rounds=1, tol=1.0).fit(X, y)
        wanted = slow_pass(written_rbf(X, X), walk, target, n_classes, 0.5)
        assert {h.number for h in model.hypotheses_} <= set(wanted.tolist())
        assert model.n_active_ > 0
