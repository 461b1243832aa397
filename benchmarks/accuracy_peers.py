"""Runs in an environment of its own: one booster on one split, and what it costs in inputs."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

ROUNDS = 300


def lightgbm(kind, parts, l1=0.0, leaves=31):
    import lightgbm

    family = lightgbm.LGBMRegressor if kind == "regression" else lightgbm.LGBMClassifier
    model = family(
        n_estimators=ROUNDS, learning_rate=0.1, num_leaves=leaves, reg_alpha=l1, n_jobs=1, verbose=-1, random_state=0
    )
    stop = lightgbm.early_stopping(30, verbose=False)
    model.fit(parts["X"], parts["y"], eval_set=[(parts["Xv"], parts["yv"])], callbacks=[stop])
    return model, np.flatnonzero(model.booster_.feature_importance("split", iteration=model.best_iteration_))


def xgboost(kind, parts, l1=0.0, depth=6):
    import xgboost

    family = xgboost.XGBRegressor if kind == "regression" else xgboost.XGBClassifier
    model = family(
        n_estimators=ROUNDS, learning_rate=0.1, max_depth=depth, reg_alpha=l1, n_jobs=1, tree_method="hist",
        early_stopping_rounds=30, random_state=0,
    )  # fmt: skip
    model.fit(parts["X"], parts["y"], eval_set=[(parts["Xv"], parts["yv"])], verbose=False)
    trees = model.get_booster()[: model.best_iteration + 1].trees_to_dataframe()
    return model, np.unique(trees["Feature"][trees["Feature"] != "Leaf"])


def hist(kind, parts):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    family = HistGradientBoostingRegressor if kind == "regression" else HistGradientBoostingClassifier
    model = family(max_iter=ROUNDS, learning_rate=0.1, early_stopping=True, n_iter_no_change=30, random_state=0)
    model.fit(parts["X"], parts["y"], X_val=parts["Xv"], y_val=parts["yv"])
    nodes = [tree.nodes for trees in model._predictors for tree in trees]
    return model, np.unique(np.concatenate([node["feature_idx"][node["is_leaf"] == 0] for node in nodes]))


def ebm(kind, parts):
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    family = ExplainableBoostingRegressor if kind == "regression" else ExplainableBoostingClassifier
    model = family(n_jobs=1, random_state=0, outer_bags=4, interactions=0)
    model.fit(np.vstack([parts["X"], parts["Xv"]]), np.concatenate([parts["y"], parts["yv"]]))
    terms = zip(model.term_features_, model.term_scores_, strict=True)
    used = {j for term, scores in terms if np.any(scores) for j in term}
    return model, np.array(sorted(used))


PEERS = {
    "LightGBM": lightgbm,
    "LightGBM, l1=10": lambda kind, parts: lightgbm(kind, parts, l1=10.0),
    "LightGBM, stumps": lambda kind, parts: lightgbm(kind, parts, leaves=2),
    "XGBoost": xgboost,
    "XGBoost, l1=10": lambda kind, parts: xgboost(kind, parts, l1=10.0),
    "XGBoost, depth 1": lambda kind, parts: xgboost(kind, parts, depth=1),
    "HistGradientBoosting": hist,
    "EBM": ebm,
}


def main():
    path, kind = sys.argv[1:]
    with np.load(path) as file:
        parts = dict(file)
    for name, peer in PEERS.items():
        started = time.process_time()
        try:
            model, used = peer(kind, parts)
        except Exception as error:  # a peer that cannot do it is a line of the table, not the end of it
            print(json.dumps({"method": name, "error": f"{type(error).__name__}: {error}"[:200]}), flush=True)
            continue
        seconds = time.process_time() - started
        found = model.predict(parts["Xt"])
        if kind == "regression":
            error = float(np.sqrt(np.mean((found - parts["yt"]) ** 2)))
        else:
            error = float(np.mean(found != parts["yt"]))
        print(json.dumps({"method": name, "error_rate": error, "inputs": len(used), "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
