"""Laws of learned hypotheses: what is kept, what is proposed, what is promised, and what never happens to the user."""

from __future__ import annotations

import pickle
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, alpha_max, load, save
from sparseboost.hypotheses import Context, Learned, Learners, Tree, Trees
from sparseboost.penalties import L1, L1L2, L1Linf, NoPenalty

sys.path.insert(0, str(Path(__file__).parents[1] / "oracles"))
from objectives import Question

M, D = 60, 5
ESTIMATORS = {
    "tree": DecisionTreeRegressor(max_depth=2),
    "random tree": ExtraTreeRegressor(max_depth=2),
    "tree classifier": DecisionTreeClassifier(max_depth=2),
    "neighbours": KNeighborsRegressor(5),
    "neighbours classifier": KNeighborsClassifier(5),
    "svr": SVR(),
    "pipeline": make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=2, max_features=2)),
    "network": MLPRegressor(hidden_layer_sizes=(4,), max_iter=30),
    "logistic": LogisticRegression(),
    "boosted": HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=3, min_samples_leaf=5),
}
SEEDED = {"random tree", "pipeline", "network"}
PENALTIES = [L1(), L1L2(), L1Linf(), L1(True), L1L2(True), L1Linf(True)]
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
every_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(rng, m=M, k=2):
    X = rng.normal(size=(m, D))
    weight = rng.exponential(size=m)
    weight /= weight.sum()
    force = weight[:, None] * (np.sin(2 * X[:, :k]) + X[:, 2:3] * [1.0, -0.5, 0.2][:k] + 0.1 * rng.normal(size=(m, k)))
    return X, weight, force - weight[:, None] * force.sum(axis=0)


def bound(estimator, X, weight, seed=0, **context):
    return Learners(estimator).bind(X, Context(weight=weight, random_state=seed, **context))


@every_penalty
@every_estimator
def test_a_search_knows_all_that_was_learned(name, penalty, rng):
    X, weight, force = data(rng)
    dictionary = bound(ESTIMATORS[name], X, weight)
    assert not dictionary.exact
    for turn in range(4):
        force = force * rng.uniform(0.5, 1.5, size=force.shape)
        before = dictionary.size
        found = dictionary.search(force, penalty.dual_norm, 3, exclude=np.arange(min(turn, 1)))
        assert max(before, 1) <= dictionary.size <= before + 2  # at most one per output, and none twice
        every = np.arange(dictionary.size)
        columns = dictionary.columns(every)
        violation = penalty.dual_norm(columns.matrix.T @ force) / dictionary.cost(every)
        assert found.violation == pytest.approx(violation.max(), rel=1e-12)
        order = [key for key in np.argsort(-violation, kind="stable") if violation[key] > 0 and key >= min(turn, 1)]
        np.testing.assert_array_equal(found.keys, order[:3])
        np.testing.assert_allclose(weight @ columns.matrix**2, 1.0, rtol=1e-9)  # all of one size
        for key in every:
            hypothesis = dictionary.hypothesis(int(key))
            np.testing.assert_allclose(hypothesis(X), columns.matrix[:, key], rtol=1e-12, atol=1e-12)
            assert hypothesis.number == key
        level = dictionary.search(force, penalty.dual_norm, 100, above=found.violation / 2)
        assert level.keys.size
        kept = dictionary.columns(level.keys)
        assert np.all(penalty.dual_norm(kept.matrix.T @ force) > found.violation / 2)


@every_estimator
def test_the_same_seed_learns_the_same_and_the_next_call_has_another(name, rng):
    X, weight, force = data(rng, m=200)
    first, second, other = (bound(ESTIMATORS[name], X, weight, seed) for seed in (0, 0, 1))
    for _ in range(3):
        for dictionary in (first, second, other):
            dictionary.search(force, L1L2().dual_norm, 1)
    every = np.arange(first.size)
    np.testing.assert_array_equal(first.columns(every).matrix, second.columns(every).matrix)
    if name in SEEDED:
        assert first.size > 1
        assert not np.array_equal(first.columns(every).matrix, other.columns(np.arange(other.size)).matrix)
    elif name != "neighbours classifier":  # it is fitted to a random resample
        assert first.size == 1  # the same fit again is the same hypothesis


@every_estimator
def test_the_users_estimator_is_never_touched(name, rng):
    X, weight, force = data(rng)
    estimator = ESTIMATORS[name]
    before, held = repr(estimator), set(vars(estimator))
    copies = X.copy(), weight.copy(), force.copy()
    dictionary = bound(estimator, X, weight)
    dictionary.search(force, L1L2().dual_norm, 2)
    assert repr(estimator) == before
    assert set(vars(estimator)) == held
    for old, new in zip(copies, (X, weight, force), strict=True):
        np.testing.assert_array_equal(old, new)


def test_registered_hypotheses_come_back(rng):
    """What was learned for one gradient and pruned is found again when the gradient returns; nothing new is learned."""
    X, weight, force = data(rng)
    dictionary = bound(ESTIMATORS["tree"], X, weight)
    first = dictionary.search(force, L1().dual_norm, 1)
    turned = weight[:, None] * rng.normal(size=force.shape)
    dictionary.search(turned, L1().dual_norm, 1, exclude=first.keys)
    size = dictionary.size
    again = dictionary.search(force, L1().dual_norm, 1)
    np.testing.assert_array_equal(again.keys, first.keys)
    assert again.violation == pytest.approx(first.violation, rel=1e-12)
    assert dictionary.size == size


# -- directions ------------------------------------------------------------------------------------------------------


def written_norm(penalty, rows):
    """The dual norms, written down."""
    rows = np.maximum(-rows, 0) if penalty.positive else np.abs(rows)
    return {L1: rows.max(axis=1), L1L2: np.sqrt((rows**2).sum(axis=1)), L1Linf: rows.sum(axis=1)}[type(penalty)]


GRADIENTS = {
    "any": lambda rng: rng.normal(size=(M, 3)),
    "unrelated outputs": lambda rng: np.linalg.qr(rng.normal(size=(M, 3)))[0],
    "one signal": lambda rng: rng.normal(size=(M, 1)) * [0.3, 1.0, 0.6] + 0.01 * rng.normal(size=(M, 3)),
    "one signal, both signs": lambda rng: rng.normal(size=(M, 1)) * [0.3, -1.0, 0.6] + 0.01 * rng.normal(size=(M, 3)),
}


@pytest.mark.parametrize("gradient", GRADIENTS)
@every_penalty
def test_a_learner_that_follows_perfectly_reaches_what_is_possible(penalty, gradient, rng):
    """An unlimited tree: the best function of unit size for a direction u is −force · u / weight, normalised."""
    X, weight, _ = data(rng)
    for share in (GRADIENTS[gradient](rng) for _ in range(3)):
        force = np.sqrt(weight)[:, None] * share
        dictionary = bound(DecisionTreeRegressor(), X, weight)
        reached = dictionary.search(force, penalty.dual_norm, 1).violation
        signs = np.array([[a, b, c] for a in (1, 0, -1) for b in (1, 0, -1) for c in (1, 0, -1) if a or b or c])
        tried = np.concatenate([rng.normal(size=(20000, 3)), signs])
        correlation = -tried @ (share.T @ share) / np.linalg.norm(tried @ share.T, axis=1)[:, None]
        best = written_norm(penalty, correlation).max()
        assert 0.95 * best <= reached <= best * (1 + 1e-3)
        if isinstance(penalty, L1L2) and not penalty.positive:
            assert reached == pytest.approx(np.linalg.norm(share, 2), rel=1e-9)  # the leading singular value
        if isinstance(penalty, L1) and not penalty.positive:
            assert reached == pytest.approx(np.linalg.norm(share, axis=0).max(), rel=1e-9)  # the largest output


def test_more_than_one_is_learned_for_several_outputs(rng):
    X, weight, force = data(rng, k=3)
    dictionary = bound(ESTIMATORS["tree"], X, weight)
    assert dictionary.search(force, L1L2().dual_norm, 10).keys.size == 3
    single = bound(ESTIMATORS["tree"], X, weight)
    assert single.search(force, L1L2().dual_norm, 1).keys.size == 1
    assert single.size == 1
    high = bound(ESTIMATORS["tree"], X, weight)
    level = np.linalg.svd(force / np.sqrt(weight)[:, None], compute_uv=False)
    high.search(force, L1L2().dual_norm, 10, above=level[:2].mean())
    assert high.size == 1  # the other directions cannot reach this level
    perfect = bound(DecisionTreeRegressor(), X, weight)
    perfect.search(force, L1L2().dual_norm, 10)
    every = perfect.columns(np.arange(3)).matrix
    np.testing.assert_allclose(np.linalg.norm(every.T @ force, axis=1), level, rtol=1e-9)  # all singular vectors
    np.testing.assert_allclose(every.T @ (weight[:, None] * every), np.eye(3), atol=1e-9)


def test_no_request_still_looks_for_violations(rng):
    """`alpha_max` and the certificate ask for no candidates, only for the violation."""
    X, weight, force = data(rng, k=1)
    dictionary = bound(ESTIMATORS["tree"], X, weight)
    found = dictionary.search(force, L1().dual_norm, 0, above=1e9)
    assert found.keys.size == 0
    assert found.violation > 0


def test_without_penalty_all_that_pulls_is_offered(rng):
    X, weight, force = data(rng)
    found = bound(ESTIMATORS["tree"], X, weight).search(
        force, NoPenalty().dual_norm, 5, above=-1.0, rank=lambda keys, correlation: np.abs(correlation).max(axis=1)
    )
    assert found.keys.size == 2


def test_a_gradient_of_zeros_teaches_nothing(rng):
    X, weight, force = data(rng)
    for name in ("tree", "tree classifier", "logistic"):
        dictionary = bound(ESTIMATORS[name], X, weight)
        found = dictionary.search(0 * force, L1L2().dual_norm, 5)
        assert (found.keys.size, found.violation, dictionary.size) == (0, 0.0, 0)
        assert dictionary.columns(found.keys).matrix.shape == (M, 0)


def test_rounding_is_not_learned(rng):
    """A tree that finds no split predicts the mean of a balanced gradient: a zero, up to rounding."""
    X, weight, force = data(rng)
    dictionary = bound(DecisionTreeRegressor(min_samples_leaf=M), X, weight)
    found = dictionary.search(force, L1L2().dual_norm, 2)
    assert (dictionary.size, found.violation, found.keys.size) == (0, 0.0, 0)


# -- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tree", "tree classifier", "pipeline of trees", "ridge", "logistic"])
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(name, rng):
    estimator = {
        **ESTIMATORS,
        "pipeline of trees": make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=2)),
        "ridge": Ridge(1.0),
    }[name]
    X, _, _ = data(rng)
    gradient = np.sin(2 * X[:, :1]) + 0.3 * rng.normal(size=(M, 1))
    gradient -= gradient.mean()
    count = rng.integers(0, 3, size=M)
    rows = np.repeat(np.arange(M), count)
    if name in ("pipeline of trees", "ridge", "logistic"):  # scaling, and a penalty beside Σ weight · loss, count rows
        count = np.where(count == 0, 0, 1)
        rows = np.flatnonzero(count)
    weight = count / count.sum()
    dictionary = bound(estimator, X, weight)
    dictionary.search(weight[:, None] * gradient, L1().dual_norm, 1)
    repeated = bound(estimator, X[rows], None)
    repeated.search(gradient[rows] / rows.size, L1().dual_norm, 1)
    np.testing.assert_allclose(dictionary.hypothesis(0)(X), repeated.hypothesis(0)(X), rtol=1e-6, atol=1e-9)


class Watched(RegressorMixin, BaseEstimator):
    """Remembers what it was fitted with."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Watched.seen.append((X, y, sample_weight))
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return X[:, 0] + self.mean_


def test_a_regressor_is_fitted_to_the_negative_gradient(rng):
    X, weight, _ = data(rng)
    weight[:7] = 0.0
    weight /= weight.sum()
    gradient = rng.normal(size=(M, 1))
    Watched.seen.clear()
    bound(Watched(), X, weight).search(weight[:, None] * gradient, L1().dual_norm, 1)
    (seen, target, shares) = Watched.seen[0]
    np.testing.assert_array_equal(seen, X[7:])
    np.testing.assert_allclose(shares / shares.sum(), weight[7:])
    assert shares.mean() == pytest.approx(1.0)
    ratio = target / gradient[7:, 0]
    np.testing.assert_allclose(np.abs(ratio), np.abs(ratio[0]))
    assert np.sum(weight[7:] * target**2) == pytest.approx(1.0)
    Watched.seen.clear()
    bound(Watched(), X, weight).search(weight[:, None] * gradient, L1(True).dual_norm, 1)
    assert np.all(Watched.seen[0][1] * gradient[7:, 0] < 0)  # a weight ≥ 0 must follow the negative gradient


class WatchedClassifier(ClassifierMixin, BaseEstimator):
    """Remembers what it was fitted with."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        WatchedClassifier.seen.append((X, y, sample_weight))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.where(X[:, 0] > 0, 1.0, -1.0)


@pytest.mark.parametrize(
    "wrap", [lambda estimator: estimator, lambda estimator: make_pipeline("passthrough", estimator)]
)
def test_weights_reach_the_estimator_through_a_pipeline_too(wrap, rng):
    X, weight, force = data(rng, k=1)
    Watched.seen.clear()
    bound(wrap(Watched()), X, weight).search(force, L1().dual_norm, 1)
    np.testing.assert_allclose(Watched.seen[0][2], weight * M)
    WatchedClassifier.seen.clear()
    bound(wrap(WatchedClassifier()), X, weight).search(force, L1().dual_norm, 1)
    _, target, size = WatchedClassifier.seen[0]
    np.testing.assert_array_equal(target, np.sign(target[0] * force[0]) * np.sign(force[:, 0]))
    np.testing.assert_allclose(size, np.abs(force[:, 0]) / np.abs(force).mean())


class Unweighted(WatchedClassifier):
    def fit(self, X, y):
        return super().fit(X, y)


def test_a_classifier_without_weights_sees_a_resample(rng):
    X, weight, _ = data(rng, m=2000)
    size = np.where(np.arange(2000) < 1000, 9.0, 1.0)
    force = (size * np.sign(X[:, 0]))[:, None] / 10000
    WatchedClassifier.seen.clear()
    bound(Unweighted(), X, weight).search(force, L1().dual_norm, 1)
    seen, target, _ = WatchedClassifier.seen[0]
    assert len(seen) == 2000
    np.testing.assert_array_equal(target, np.sign(target[0] * seen[0, 0]) * np.sign(seen[:, 0]))
    heavy = np.isin(seen[:, 1], X[:1000, 1]).mean()
    assert 0.87 < heavy < 0.93  # their share of the gradient


def test_a_classifier_is_fitted_to_signs_with_the_size_as_weight(rng):
    """A stump classifier on one column: no threshold has a smaller weighted error."""
    X, weight, force = data(rng, k=1)
    dictionary = bound(DecisionTreeClassifier(max_depth=1), X[:, :1], weight)
    dictionary.search(force, L1().dual_norm, 1)
    column = dictionary.columns(np.array([0])).matrix[:, 0]
    assert set(np.unique(column)) == {-1.0, 1.0}
    cuts = np.sort(X[:, 0])
    best = max(abs(force[:, 0] @ np.where(X[:, 0] <= cut, 1.0, -1.0)) for cut in cuts)
    assert abs(force[:, 0] @ column) >= 0.8 * best  # it minimises impurity, not error


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("estimator", [ESTIMATORS["tree classifier"], KNeighborsClassifier(5), GaussianNB()], ids=repr)
def test_examples_without_gradient_have_no_class(estimator, rng):
    X, weight, force = data(rng, k=1)
    force[X[:, 1] > 0] = 0.0
    dictionary = bound(estimator, X, weight)
    dictionary.search(force, L1().dual_norm, 1)
    assert set(np.unique(dictionary.columns(np.array([0])).matrix)) == {-1.0, 1.0}


# -- trees -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "missing"), [(np.asarray, False), (np.asarray, True), (sp.csc_array, False), (sp.csr_matrix, False)]
)
@pytest.mark.parametrize("depth", [1, 3, None])
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier, ExtraTreeRegressor])
def test_a_tree_is_what_scikit_learn_learned(kind, depth, form, missing, rng, monkeypatch):
    X, weight, force = data(rng, m=150, k=1)
    X = np.round(X, 1)
    X[rng.random(X.shape) < 0.3] = np.nan if missing else 0.0
    fitted = []
    plain = kind.fit
    monkeypatch.setattr(kind, "fit", lambda self, *args, **kw: fitted.append(self) or plain(self, *args, **kw))
    dictionary = bound(kind(max_depth=depth), form(X), weight)
    dictionary.search(force, L1().dual_norm, 1)
    tree = dictionary.hypothesis(0)
    assert isinstance(tree, Tree)
    new = np.concatenate([X, np.round(rng.normal(size=(100, D)), 1)])
    wanted = fitted[0].predict(new)
    scale = np.sqrt(weight @ fitted[0].predict(form(X)) ** 2)
    np.testing.assert_allclose(tree(form(new)), wanted / scale, rtol=1e-12)
    np.testing.assert_allclose(Tree.outputs([tree, tree], form(new))[:, 1], wanted / scale, rtol=1e-12)
    used = sorted({int(j) for j in fitted[0].tree_.feature if j >= 0})
    assert list(tree.inputs) == used
    scrambled = np.where(np.isin(np.arange(D), used), new, 77.0)
    np.testing.assert_array_equal(tree(scrambled), tree(new))  # no other input matters
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tree))(new), tree(new))


def test_names():
    X = np.arange(12.0)[:, None]
    force = np.sin(X) - np.sin(X).mean()
    dictionary = Trees(max_depth=3).bind(X, Context(random_state=0))
    for turn in range(3):
        found = dictionary.search(force * np.cos(turn * X), L1().dual_norm, 1)
    assert repr(dictionary.hypothesis(found.keys[0])) == "DecisionTreeRegressor(max_depth=3) #2"
    long = make_pipeline(StandardScaler(), StandardScaler(), LinearRegression())
    assert "\n" not in repr(Learners(long))
    assert repr(Trees(2, min_samples_leaf=3)) == "Trees(max_depth=2, min_samples_leaf=3)"


def test_a_hypothesis_costs_what_its_inputs_cost_together(rng):
    X, weight, force = data(rng, k=1)
    cost = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    dictionary = bound(DecisionTreeRegressor(max_depth=2), X, weight, feature_costs=cost)
    found = dictionary.search(force, L1().dual_norm, 1)
    tree = dictionary.hypothesis(0)
    np.testing.assert_array_equal(dictionary.cost(found.keys), [cost[list(tree.inputs)].sum()])
    assert found.violation == pytest.approx(abs(force[:, 0] @ tree(X)) / cost[list(tree.inputs)].sum())
    line = bound(LinearRegression(), X, weight, feature_costs=cost)
    np.testing.assert_array_equal(line.cost(line.search(force, L1().dual_norm, 1).keys), [15.0])
    constant = bound(DecisionTreeRegressor(max_depth=1, min_samples_leaf=M), X, weight, feature_costs=cost)
    constant.search(force + weight[:, None], L1().dual_norm, 1)
    assert constant.hypothesis(0).inputs == ()
    np.testing.assert_array_equal(constant.cost(np.array([0])), [1.0])


# -- earlier fits ----------------------------------------------------------------------------------------------------


@every_estimator
def test_hypotheses_of_an_earlier_fit_are_adopted(name, rng):
    X, weight, force = data(rng)
    dictionary = bound(ESTIMATORS[name], X, weight)
    dictionary.search(force, L1L2().dual_norm, 2)
    other = bound(ESTIMATORS[name], X + 0.1, weight)
    for key in range(dictionary.size):
        old = pickle.loads(pickle.dumps(dictionary.hypothesis(key)))
        assert dictionary.adopt(old) == key  # it is here already
        new = other.adopt(old)
        np.testing.assert_allclose(other.columns(np.array([new])).matrix[:, 0], old(X + 0.1), rtol=1e-12)
    other.search(force, L1L2().dual_norm, 2)
    numbers = [other.hypothesis(key).number for key in range(other.size)]
    assert len(set(numbers)) == len(numbers)
    assert bound(LinearRegression(), X, weight).adopt(old) is None
    assert bound(ESTIMATORS[name], X[:, :4], weight).adopt(old) is None


def test_nearly_the_same_is_not_the_same(rng):
    X, weight, force = data(rng)
    dictionary = bound(ESTIMATORS["tree"], X, weight)
    dictionary.search(force, L1().dual_norm, 1)
    assert dictionary.size == 1
    other = pickle.loads(pickle.dumps(dictionary.hypothesis(0)))
    other.values = other.values * (1 + 1e-9)
    assert dictionary.adopt(other) == 0  # rounding
    other.values = other.values + np.where(np.arange(other.values.size) == np.argmax(other.values), 0.01, 0.0)
    assert dictionary.adopt(other) == 1


# -- complaints ------------------------------------------------------------------------------------------------------


class Broken(RegressorMixin, BaseEstimator):
    def __init__(self, how="fit"):
        self.how = how

    def fit(self, X, y):
        if self.how == "fit":
            raise RuntimeError("the moon is full\nand more")
        return self

    def predict(self, X):
        return np.full(X.shape[0], np.nan)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X, f: Learners("tree"), "regressor or classifier"),
        (lambda X, f: Learners(DecisionTreeRegressor), "regressor or classifier"),
        (lambda X, f: Learners(KMeans(3)), "regressor or classifier"),
        (lambda X, f: Learners(StandardScaler()), "regressor or classifier"),
        (lambda X, f: Learners(Broken()).bind(X).search(f, L1().dual_norm, 1), "Broken.* not be fitted.*moon is full"),
        (lambda X, f: Learners(Broken("nan")).bind(X).search(f, L1().dual_norm, 1), "Broken.* not finite"),
        (lambda X, f: Learners(SVR(kernel="x")).bind(X).search(f, L1().dual_norm, 1), "SVR.*could not be fitted"),
        (lambda X, f: Learners(HistGradientBoostingRegressor()).bind(sp.csc_array(X)), "does not take sparse X"),
    ],
)
def test_complaints_are_one_sentence(make, words, rng):
    X, _, force = data(rng)
    with pytest.raises((ValueError, TypeError), match=words) as complaint:
        make(X, force)
    assert "\n" not in str(complaint.value)


def test_missing_values_are_allowed_where_the_estimator_takes_them(rng):
    assert Trees().allows_missing
    assert Learners(HistGradientBoostingRegressor()).allows_missing
    assert not Learners(KNeighborsRegressor()).allows_missing
    X, _, _ = data(rng)
    y = (X[:, 0] > 0).astype(int)
    X[::4, 0] = np.nan
    model = SparseBoostClassifier(0.05, hypotheses=Trees(2), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    with pytest.raises(ValueError, match="NaN"):
        SparseBoostClassifier(0.05, hypotheses=KNeighborsRegressor()).fit(X, y)


@pytest.mark.parametrize("name", ["tree", "neighbours", "svr", "logistic", "tree classifier"])
def test_sparse_data_teaches_the_same(name, rng):
    X, weight, force = data(rng)
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = bound(ESTIMATORS[name], X, weight), bound(ESTIMATORS[name], sp.csc_array(X), weight)
    for dictionary in (dense, sparse):
        dictionary.search(force, L1L2().dual_norm, 2)
    assert dense.size == sparse.size
    every = np.arange(dense.size)
    np.testing.assert_allclose(dense.columns(every).matrix, sparse.columns(every).matrix, rtol=1e-3, atol=1e-3)


# -- fits ------------------------------------------------------------------------------------------------------------


@every_estimator
def test_a_fit_is_optimal_over_what_it_induced(name, rng):
    X, _, _ = data(rng)
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    estimator = ESTIMATORS[name]
    alpha = 0.2 * alpha_max(X, y, hypotheses=estimator, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparseBoostClassifier(alpha, hypotheses=estimator, random_state=0, max_rounds=60, tol=1e-6).fit(X, y)
    assert model.certificate_scope_ == "induced"
    assert model.n_active_ > 0
    met = [hypothesis for _, hypothesis in sorted(model._met.items())]
    kind = Tree if "tree" in name else Learned
    assert all(isinstance(hypothesis, kind) for hypothesis in met)
    outputs = np.column_stack([hypothesis(X) for hypothesis in met])
    question = Question("logistic", "l1", alpha, outputs, y)
    assert model.objective_ - model.dual_gap_ <= question.optimum() + 1e-8
    objectives = [record["objective"] for record in model.history_]
    assert all(after <= before + 1e-9 for before, after in pairwise(objectives))
    if model.converged_:
        assert model.objective_ <= question.optimum() + 1e-5
    stages = list(model.staged_decision_function(X))
    np.testing.assert_allclose(stages[-1], model.decision_function(X), rtol=1e-9, atol=1e-9)


def test_model_files_hold_trees_and_refuse_what_they_cannot_hold(rng, tmp_path):
    pytest.importorskip("skops")
    X, _, _ = data(rng)
    X[::7, 0] = np.nan
    y = (X[:, 1] > 0).astype(int)
    for space in (Trees(2), DecisionTreeClassifier(max_depth=2)):
        model = SparseBoostClassifier(0.05, hypotheses=space, random_state=0).fit(X, y)
        save(model, tmp_path / "model.skops")
        again = load(tmp_path / "model.skops")
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        assert repr(again.hypotheses_) == repr(model.hypotheses_)
    X = np.nan_to_num(X)
    model = SparseBoostClassifier(0.05, hypotheses=KNeighborsRegressor(), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="a safe file cannot hold"):
        save(model, tmp_path / "other.skops")


def test_above_alpha_max_the_model_is_empty_and_below_it_is_not(rng):
    X, _, _ = data(rng)
    y = X[:, 0] * X[:, 1]
    largest = alpha_max(X, y, hypotheses=Trees(2), loss="squared", random_state=0)
    assert SparseBoostRegressor(1.0001 * largest, hypotheses=Trees(2), random_state=0).fit(X, y).n_active_ == 0
    assert SparseBoostRegressor(0.999 * largest, hypotheses=Trees(2), random_state=0).fit(X, y).n_active_ > 0


def test_weights_of_least_squares_trees_grow_towards_the_target(rng):
    """With little penalty and deep trees the training error goes to zero; with the whole penalty it stays."""
    X, _, _ = data(rng)
    y = X[:, 0] * X[:, 1]
    largest = alpha_max(X, y, hypotheses=Trees(None), loss="squared", random_state=0)
    scores = [
        SparseBoostRegressor(share * largest, hypotheses=Trees(None), random_state=0).fit(X, y).score(X, y)
        for share in (0.9, 0.5, 0.1, 0.01)
    ]
    np.testing.assert_allclose(scores, [1 - share**2 for share in (0.9, 0.5, 0.1, 0.01)], atol=0.02)
