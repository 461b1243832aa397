"""FunctionalBoostRanker and the measures of rankings."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.metrics import ndcg_score, roc_auc_score
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.tree import DecisionTreeRegressor

from sparseboost import FunctionalBoostRanker, disagreement, disagreement_scorer, ndcg, ndcg_scorer


def queries(seed: int = 0, m: int = 240, count: int = 12):
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(m, 4)), rng.permutation(np.arange(m) % count)
    return X, np.digitize(X[:, 0] - np.abs(X[:, 1]) + 0.2 * rng.normal(size=m), [-1.0, 0.0, 1.0]), qid


@pytest.mark.parametrize("algorithm", ["residual", "repeated", "naive"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rankers_rank(algorithm: str) -> None:
    X, y, qid = queries()
    new_X, new_y, new_qid = queries(1)
    model = FunctionalBoostRanker(algorithm=algorithm, max_rounds=60, max_learners=300).fit(X, y, qid=qid)
    assert disagreement(new_y, model.predict(new_X), new_qid) < 0.2
    assert model.score(new_X, new_y, new_qid) > 0.9
    order = np.random.default_rng(0).permutation(y.size)
    mixed = FunctionalBoostRanker(algorithm=algorithm, max_rounds=60, max_learners=300)
    mixed.fit(X[order], y[order], qid=np.array([f"query {q}" for q in qid[order]]))
    np.testing.assert_allclose(mixed.predict(new_X), model.predict(new_X), atol=1e-9)


def test_pairs_of_different_queries_do_not_count(rng: np.random.Generator) -> None:
    """A query whose documents are all equally relevant changes nothing, whatever its relevance."""
    X, y, qid = queries()
    more = rng.normal(size=(30, 4))
    model = FunctionalBoostRanker(max_rounds=10).fit(X, y, qid=qid)
    plus = FunctionalBoostRanker(max_rounds=10, learner=DecisionTreeRegressor(max_depth=1))
    plus.fit(np.vstack([X, more]), np.r_[y, np.full(30, 3)], qid=np.r_[qid, np.full(30, 99)])
    assert plus.history_[0]["loss"] == pytest.approx(model.history_[0]["loss"])
    gradient = plus.loss_.gradient(
        plus.loss_.targets(np.r_[y, np.full(30, 3)], np.r_[qid, np.full(30, 99)]), np.zeros((270, 1))
    )
    assert not gradient[240:].any()


def test_early_stopping_of_rankers_sets_whole_queries_aside() -> None:
    X, y, qid = queries(m=400, count=20)
    model = FunctionalBoostRanker(max_rounds=300, n_iter_no_change=5, validation_fraction=0.3, random_state=0)
    model.fit(X, y, qid=qid)
    assert model.stopping_reason_ == "no_improvement"
    with pytest.raises(ValueError, match="pass qid"):
        FunctionalBoostRanker(n_iter_no_change=5).fit(X, y)


def test_measures_of_rankings(rng: np.random.Generator) -> None:
    y, score, qid = rng.integers(0, 4, 60), rng.integers(0, 5, 60) / 4, rng.integers(0, 4, 60)
    wrong = pairs = 0.0
    for a in range(60):
        for b in range(60):
            if qid[a] == qid[b] and y[a] > y[b]:
                pairs += 1
                wrong += 0.5 if score[a] == score[b] else float(score[a] < score[b])
    assert disagreement(y, score, qid) == pytest.approx(wrong / pairs)
    assert disagreement(y > 1, score) == pytest.approx(1 - roc_auc_score(y > 1, score))
    assert ndcg(y, y, qid) == pytest.approx(1.0)
    theirs = np.mean([ndcg_score([2.0 ** y[qid == q] - 1], [score[qid == q]]) for q in range(4)])
    assert ndcg(y, score, qid) == pytest.approx(theirs)
    at = np.mean([ndcg_score([2.0 ** y[qid == q] - 1], [score[qid == q]], k=5) for q in range(4)])
    assert ndcg(y, score, qid, k=5) == pytest.approx(at)
    assert ndcg([1, 0, 0], [1.0, 0.5, 0.0], [0, 0, 1]) == 1.0, "a query without relevant documents is left out"
    for measure, words in ((ndcg, "greater than 0"), (disagreement, "different relevance")):
        with pytest.raises(ValueError, match=words):
            measure([0, 0], [1.0, 2.0])


def test_scorers_work_in_cross_validation() -> None:
    X, y, qid = queries()
    with sklearn.config_context(enable_metadata_routing=True):
        model = FunctionalBoostRanker(max_rounds=20).set_fit_request(qid=True).set_score_request(qid=True)
        scoring = {
            "ndcg": ndcg_scorer.set_score_request(qid=True),
            "disagreement": disagreement_scorer.set_score_request(qid=True),
        }
        found = cross_validate(
            model, X, y, scoring=scoring, cv=GroupKFold(3), params={"qid": qid, "groups": qid}, error_score="raise"
        )
    assert np.all(found["test_ndcg"] > 0.8)
    assert np.all(found["test_disagreement"] > -0.3)
