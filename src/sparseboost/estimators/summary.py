"""A page of text about a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseboost.losses import Loss
from sparseboost.penalties import Penalty

REASONS = {
    "gap": "the certified gap reached the target",
    "stationary": "the gradient vanished (without a penalty there is no tight certificate)",
    "max_rounds": "max_rounds was reached before the target gap",
    "time_budget": "the time budget ran out before the target gap",
    "max_features": "max_features inputs are in use",
    "callback": "a callback asked to stop",
    "stalled": "double precision allows no further decrease",
}
SCOPES = {"space": "", "induced": " over the hypotheses met so far (this space is searched by a heuristic)"}
MOST_ROWS = 30
MOST_OUTPUTS = 8


def _name(part: Any) -> str:
    return repr(part) if isinstance(part, (Loss, Penalty)) or part is None else str(part)


def _rounds(count: int) -> str:
    return "1 round" if count == 1 else f"{count} rounds"


def summary(model: Any) -> str:
    """What a fitted estimator uses, how good it provably is, and why it stopped."""
    used, total = int(model.get_support().sum()), model.n_features_in_
    hypotheses, rows = model._active()
    outputs = rows.shape[1]
    strength = f"{'nu' if hasattr(model, 'nu') else 'alpha'} {model.alpha:g}"
    last = model.history_[-1]
    empty = model.history_[0]["objective"]
    lines = [
        f"{type(model).__name__}: {_size(model, used, total)}, {outputs} output{'s' if outputs > 1 else ''}",
        f"  loss {_name(model.loss)}, penalty {_name(model.penalty)}, {strength}, solver {model.solver_}",
        f"  objective {model.objective_:.6g} (started at {empty:.6g}), at most {model.dual_gap_:.2g} above the optimum"
        + SCOPES[model.certificate_scope_],
        f"  stopped after {_rounds(model.n_rounds_)} and {last['seconds']:.2f} s: {REASONS[model.stopping_reason_]}",
        "",
    ]
    labels = _output_labels(model, outputs)
    shown = labels[:MOST_OUTPUTS]
    names = [repr(hypothesis) for hypothesis in hypotheses]
    width = max([len(name) for name in names] + [len("(intercept)")])
    head = " ".join(f"{label:>10.10}" for label in shown) + (" ..." if outputs > MOST_OUTPUTS else "")
    lines.append(f"  {'input' if model._over_features else 'hypothesis':<{width}} {head}")

    def row(name: str, values: np.ndarray) -> str:
        return f"  {name:<{width}} " + " ".join(f"{value:>10.4g}" for value in values[:MOST_OUTPUTS])

    lines.append(row("(intercept)", model.intercept_))
    order = np.argsort(-np.abs(rows).max(axis=1, initial=0.0), kind="stable")
    for j in order[:MOST_ROWS]:
        lines.append(row(names[j], rows[j]))
    if len(names) > MOST_ROWS:
        lines.append(f"  ... and {len(names) - MOST_ROWS} more; see hypotheses_ and coef_")
    return "\n".join(lines)


def _size(model: Any, used: int, total: int) -> str:
    inputs = f"{used} of {total} inputs used"
    return inputs if model._over_features else f"{model.n_active_} hypotheses, {inputs}"


def _output_labels(model: Any, outputs: int) -> list[str]:
    classes = getattr(model, "classes_", None)
    if classes is None or outputs == 1:
        return ["weight"] if outputs == 1 else [f"output {r}" for r in range(outputs)]
    return [str(label) for label in classes]
