"""A page of text about a fitted `MarginBoostClassifier`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseboost.estimators.summary import MOST_ROWS, REASONS, SCOPES

MARGIN_REASONS = REASONS | {
    "not_separable": "the best edge fell to tol, so no classifier has a margin above tol: the data is not separable",
}


def margin_summary(model: Any) -> str:
    """What a fitted model uses, between which bounds the largest margin lies, and why it stopped."""
    n, used, last = model.n_active_, len(model.inputs_used_), model.history_[-1]
    rounds = "1 round" if model.n_rounds_ == 1 else f"{model.n_rounds_} rounds"
    high = min(record["edge"] for record in model.history_) if model.certificate_scope_ == "space" else model.edge_
    lines = [
        f"MarginBoostClassifier: {n} hypotheses on {used} of {model.n_features_in_} inputs, method {model.method}",
        f"  margin {model.margin_:.6g}; the largest margin of any classifier is between {max(model.margin_, 0.0):.6g} "
        f"and {high:.6g}{SCOPES[model.certificate_scope_]}",
        f"  stopped after {rounds} and {last['seconds']:.2f} s: {MARGIN_REASONS[model.stopping_reason_]}",
        "",
    ]
    names = [repr(hypothesis) for hypothesis in model.hypotheses_]
    share = model.weights_ / max(float(model.weights_.sum()), np.finfo(float).tiny)
    lines.append(f"    share  says {model.classes_[1]!s} where positive")
    for j in np.argsort(-share, kind="stable")[:MOST_ROWS]:
        lines.append(f"  {share[j]:7.4f}  {names[j]}")
    if n > MOST_ROWS:
        lines.append(f"  ... and {n - MOST_ROWS} more; see hypotheses_ and weights_")
    return "\n".join(lines)
