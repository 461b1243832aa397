"""Sums over blocks of rows equal sums over all rows; no cluster is needed for that."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from components import LOSSES, PENALTIES

pytest.importorskip("distributed", reason="Dask is an extra")

from sparseboost.dask.dictionaries import RemoteFeatures, RemoteStumps
from sparseboost.dask.problem import RemoteProblem, Rows, best_constant
from sparseboost.dask.rows import RowBlock
from sparseboost.dask.sketch import Merge, encoded, shared_bins, sketch, smallest
from sparseboost.ensemble import Ensemble
from sparseboost.executor import Serial
from sparseboost.hypotheses import Context, Features, StumpDictionary, Stumps
from sparseboost.hypotheses.stump_bins import Bins, make_bins
from sparseboost.hypotheses.stump_keys import StumpKeys
from sparseboost.losses import Loss
from sparseboost.penalties import Norm
from sparseboost.problem import Problem

EDGES = (0, 3, 20, 21, 60)
NORMS = [penalty for penalty in PENALTIES if isinstance(penalty, Norm)]


def rows_of(dictionaries, y, weight) -> Rows:
    parts = [slice(*edge) for edge in pairwise(EDGES)]
    blocks = [RowBlock(own, y[part], weight[part]) for own, part in zip(dictionaries, parts, strict=True)]
    return Rows(Serial(), blocks, np.diff(EDGES).tolist())


def problems(case, penalty, rng, free, sparse=False):
    X = np.where(rng.random((60, 7)) < 0.6, rng.normal(size=(60, 7)), 0.0)
    X = sp.csr_array(X) if sparse else X
    y = case.y(60, rng)
    weight = rng.random(60)
    weight /= weight.sum()
    parts = [slice(*edge) for edge in pairwise(EDGES)]
    rows = rows_of([Features().bind(X[part]) for part in parts], y, weight)
    whole = Problem(case.loss, penalty, 0.1, Features().bind(X), y, weight, free)
    remote = RemoteFeatures((60, 7), rows, Context())
    return whole, RemoteProblem(case.loss, penalty, 0.1, remote, y[:1], np.ones(1), free, rows=rows)


@pytest.mark.parametrize("case", LOSSES, ids=lambda case: case.name)
@pytest.mark.parametrize("free", [False, True])
def test_objective_bound_and_candidates_are_those_of_all_rows(case, free, rng):
    for penalty in NORMS:
        whole, remote = problems(case, penalty, rng, free, sparse=case.k == 1)
        if not case.loss.smooth:
            whole, remote = whole.smoothed(0.3), remote.smoothed(0.3)
        coef = np.maximum(rng.normal(size=(3, case.k)), 0.0) if penalty.positive else rng.normal(size=(3, case.k))
        looks = []
        for problem in (whole, remote):
            ensemble = Ensemble.empty(problem.dictionary, np.full(case.k, 0.2)).extend(
                problem.dictionary, np.array([4, 0, 5])
            )
            ensemble = Ensemble(ensemble.keys, ensemble.columns, ensemble.cost, coef, ensemble.intercept)
            survey = problem.survey(ensemble, ensemble.score(), 2)
            looks.append([
                survey.objective, survey.lower_bound, survey.candidates.violation,
                problem.driving_objective(ensemble, ensemble.score()),
                problem.restricted_gap(ensemble, ensemble.score()), *survey.candidates.keys,
            ])  # fmt: skip
        if free and type(case.loss).balance is not Loss.balance:  # kinks that absorb imbalance need to see all rows
            looks = [look[:1] for look in looks]
        np.testing.assert_allclose(looks[0], looks[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", LOSSES, ids=lambda case: case.name)
def test_the_best_constant_is_that_of_all_rows(case, rng, monkeypatch):
    whole, remote = problems(case, NORMS[0], rng, True)
    found = best_constant(case.loss, remote.rows)
    mean = [whole.loss_value(np.broadcast_to(constant, (60, case.k))) for constant in (found, whole.start)]
    assert mean[0] == pytest.approx(mean[1], rel=1e-9, abs=1e-12)
    if case.targets == "reals":  # targets with too many values to count
        monkeypatch.setattr("sparseboost.dask.problem.MOST_VALUES", 3)
        found = best_constant(case.loss, remote.rows)
        assert whole.loss_value(np.broadcast_to(found, (60, case.k))) == pytest.approx(mean[1], rel=1e-9, abs=1e-12)


def stump_data(rng, sparse):
    X = np.round(rng.normal(size=(60, 5)), 1)
    X[:, 1] = np.where(rng.random(60) < 0.7, 0.0, X[:, 1])
    X[:, 4] = 2.0
    if not sparse:
        X[::7, 2] = np.nan
    return X


def shared(X, space, weight, most=10_000):
    parts = [slice(*edge) for edge in pairwise(EDGES)]
    merged = Merge(most)(*[sketch(X[part], weight[part], most) for part in parts])
    bins = shared_bins(merged, 60, space)
    blocks = [encoded(X[part], Bins(**vars(bins))) for part in parts]
    if not merged.whole:
        lows = np.min([smallest(X[part], own) for part, own in zip(parts, blocks, strict=True)], axis=0)
        vars(bins)["lows"] = np.where(np.isnan(bins.highs), np.nan, lows)
    return bins, blocks


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("space", [Stumps(), Stumps("quantile", n_bins=4)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_of_all_blocks_are_those_of_all_rows(sparse, space, weighted, rng):
    X = stump_data(rng, sparse)
    X = sp.csr_array(X) if sparse else X
    weight = rng.integers(1, 5, size=60).astype(float) if weighted else np.ones(60)
    bins, blocks = shared(X, space, weight)
    most = 61 if space.thresholds == "exact" else 4
    local = make_bins(X, Context(weight=weight), most)
    for name in ("starts", "n_values", "lows", "highs"):
        np.testing.assert_array_equal(getattr(bins, name), getattr(local, name))
    force = rng.normal(size=(60, 2))
    parts = [force[slice(*edge)] for edge in pairwise(EDGES)]
    sums = sum(own.sums(part, part.sum(axis=0), 0, 5) for own, part in zip(blocks, parts, strict=True))
    np.testing.assert_allclose(sums, local.sums(force, force.sum(axis=0), 0, 5), atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_thresholds_from_a_lossy_sketch_cut_where_the_codes_do(sparse, rng):
    """Values that no sketch kept must be on the same side of a threshold for codes and for hypotheses."""
    X = rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.8)
    given = sp.csr_array(X) if sparse else X
    space = Stumps("quantile", n_bins=4)
    bins, blocks = shared(given, space, np.ones(60), most=6)
    context = Context()
    keys = StumpKeys(bins, context, space)
    for key in range(keys.n_enumerated):
        stump = keys.hypothesis(key)
        columns = [StumpDictionary(StumpKeys(own, context, space)).columns(np.array([key])).matrix for own in blocks]
        np.testing.assert_array_equal(np.concatenate(columns)[:, 0], stump(X))


def test_lossy_sketches_keep_all_weight_and_ranks(rng):
    X = rng.normal(size=(5000, 2))
    weight = rng.random(5000)
    parts = np.array_split(np.arange(5000), 9)
    merged = Merge(64)(*[sketch(X[part], weight[part], 64) for part in parts])
    assert not merged.whole
    assert merged.mass.sum() == pytest.approx(2 * weight.sum())
    n_values, _, highs = merged.cut(8)
    for j, edges in enumerate(np.split(highs, np.cumsum(n_values)[:-1])):
        share = [weight[X[:, j] <= edge].sum() / weight.sum() for edge in edges]
        np.testing.assert_allclose(
            share, np.arange(1, 9) / 8, atol=3 / 64
        )  # one bin per summary, per merge and per cut


def test_too_many_values_for_exact_thresholds(monkeypatch, rng):
    monkeypatch.setattr("sparseboost.dask.sketch.LARGEST_BINS", 10)
    X = rng.normal(size=(60, 2))
    with pytest.raises(ValueError, match=r"more than 10 different values over all partitions; use Stumps\('quantile'"):
        shared(X, Stumps(), np.ones(60), most=10)


def test_stump_search_over_blocks(rng):
    for sparse in (False, True):
        for standardize in (False, True):
            X = stump_data(rng, sparse)
            X = sp.csr_array(X) if sparse else X
            space = Stumps(standardize=standardize, negated=True)
            y, weight = LOSSES[4].y(60, rng), np.full(60, 1 / 60)
            bins, blocks = shared(X, space, np.ones(60))
            plain = Stumps(negated=True)
            dictionaries = [StumpDictionary(StumpKeys(own, Context(), plain)) for own in blocks]
            rows = rows_of(dictionaries, y, weight)
            penalty = NORMS[1]
            whole = Problem(LOSSES[4].loss, penalty, 0.01, space.bind(X, Context(weight=weight)), y, weight)
            dictionary = RemoteStumps(bins, Context(weight=weight), space, rows)
            remote = RemoteProblem(LOSSES[4].loss, penalty, 0.01, dictionary, y[:1], np.ones(1), rows=rows)
            looks = [
                problem.survey(empty, empty.score(), 5)
                for problem in (whole, remote)
                for empty in [Ensemble.empty(problem.dictionary, problem.start)]
            ]
            force = whole.force(whole.dual_point(np.broadcast_to(whole.start, (60, 3))))
            values = [  # neighbours and mirror images may tie
                penalty.violation(whole.dictionary.columns(keys).correlate(force), whole.dictionary.cost(keys))
                for keys in (look.candidates.keys for look in looks)
            ]
            np.testing.assert_allclose(values[0], values[1], rtol=1e-9)
            assert looks[0].lower_bound == pytest.approx(looks[1].lower_bound, abs=1e-12)
