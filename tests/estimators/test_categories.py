"""Categorical and missing inputs, as they arrive in data frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sparseboost import SparseBoostClassifier, SparseBoostRegressor, load, save
from sparseboost.estimators.categories import encode_categories
from sparseboost.hypotheses import Stumps

COLOURS = ["red", "green", "blue", "grey"]


def frame(m=300, seed=0):
    rng = np.random.default_rng(seed)
    colour = rng.choice(COLOURS, size=m)
    size = rng.normal(size=m)
    y = 2.0 * np.isin(colour, ["red", "grey"]) + (size > 0.5) + 0.05 * rng.normal(size=m)
    return pd.DataFrame({"size": size, "colour": pd.Categorical(colour)}), y


def test_the_set_of_categories_that_matters_is_found():
    X, y = frame()
    model = SparseBoostRegressor(0.01, hypotheses="stumps").fit(X, y)
    assert "colour in {grey, red}" in map(repr, model.hypotheses_) or "colour in {blue, green}" in map(
        repr, model.hypotheses_
    )
    assert model.score(X, y) > 0.9
    assert model.certificate_scope_ == "space"
    assert model.converged_


def test_order_of_rows_and_of_categories_does_not_matter():
    X, y = frame()
    plain = SparseBoostRegressor(0.01, hypotheses="stumps").fit(X, y)
    other = X.assign(colour=X["colour"].cat.set_categories(COLOURS[::-1]))
    again = SparseBoostRegressor(0.01, hypotheses="stumps").fit(other, y)
    np.testing.assert_allclose(again.objective_, plain.objective_, atol=plain.dual_gap_ + again.dual_gap_)
    np.testing.assert_allclose(plain.predict(other), plain.predict(X))


def test_unknown_categories_are_none_of_them_and_missing_ones_are_missing():
    X, y = frame()
    model = SparseBoostRegressor(0.01, hypotheses="stumps").fit(X, y)
    new = pd.DataFrame({"size": [0.0, 0.0, 0.0], "colour": pd.Categorical(["violet", None, "blue"])})
    assert np.all(np.isfinite(model.predict(new)))


def test_frames_of_other_makes_and_listed_columns_give_the_same_model(tmp_path):
    X, y = frame()
    model = SparseBoostRegressor(0.01, hypotheses="stumps").fit(X, y)
    text = X.assign(colour=X["colour"].astype(str))
    listed = SparseBoostRegressor(0.01, hypotheses=Stumps(categorical_features=["colour"])).fit(text, y)
    polars = pl.DataFrame({"size": X["size"].to_numpy(), "colour": text["colour"].to_list()}).with_columns(
        pl.col("colour").cast(pl.Categorical)
    )
    framed = SparseBoostRegressor(0.01, hypotheses="stumps").fit(polars, y)
    codes = np.column_stack([X["size"], X["colour"].cat.codes])
    coded = SparseBoostRegressor(0.01, hypotheses=Stumps(categorical_features=[1])).fit(codes, y)
    masked = SparseBoostRegressor(0.01, hypotheses=Stumps(categorical_features=[False, True])).fit(codes, y)
    for other, data in ((listed, text), (framed, polars), (coded, codes), (masked, codes)):
        np.testing.assert_allclose(other.predict(data), model.predict(X), atol=1e-6)
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(X), model.predict(X))


def test_missing_values_take_the_side_that_helps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[rng.random(400) < 0.3, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]) | (X[:, 0] < -0.5), "left", "right")
    model = SparseBoostClassifier(0.02, hypotheses="stumps").fit(X, y)
    assert any(repr(h).endswith("or missing") for h in model.hypotheses_)
    assert model.score(X, y) == 1.0
    with pytest.raises(ValueError, match="NaN"):
        SparseBoostClassifier(0.02).fit(X, y)


@pytest.mark.parametrize(
    ("listed", "message"),
    [(["shape"], "'shape', which is not a column"), ([7], "indices below 2"), ([True], "mask needs 2 entries")],
)
def test_wrong_lists_are_refused(listed, message):
    X, y = frame(20)
    with pytest.raises(ValueError, match=message):
        SparseBoostRegressor(hypotheses=Stumps(categorical_features=listed)).fit(X, y)


def test_text_without_a_word_that_it_is_categorical_is_refused():
    X, y = frame(20)
    with pytest.raises(ValueError, match="numbers only"):
        SparseBoostRegressor(hypotheses="stumps").fit(X.assign(colour=X["colour"].astype(str)), y)


def test_the_users_frame_is_left_alone():
    X, y = frame(50)
    before = X.copy()
    encode_categories(X, None, None)
    SparseBoostRegressor(hypotheses="stumps").fit(X, y)
    pd.testing.assert_frame_equal(X, before)
