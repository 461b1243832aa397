"""scikit-learn's callback protocol where the installed version has it, and nothing where it has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparseboost.monitors import Record

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in for versions of scikit-learn without callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "RoundTasks", "with_callbacks"]


class RoundTasks:
    """Reports every round of a fit as one scikit-learn fit task.

    Parameters
    ----------
    estimator : estimator
        The estimator being fitted.
    X, y : array-like
        Its training data.
    snapshot : callable
        Returns the fitted attributes the estimator would have if it stopped now.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, snapshot: Callable[[], dict[str, Any] | None]) -> None:
        self._arguments = {"estimator": estimator, "X": X, "y": y, "reconstruction_attributes": snapshot}
        self._context = None
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(**self._arguments)

    def __call__(self, record: Record) -> bool:
        if self._context is None:
            return False
        task = self._context.subcontext(task_name=f"round {record['round']}")
        task.call_on_fit_task_begin(**self._arguments)
        return bool(task.call_on_fit_task_end(**self._arguments))

    def close(self) -> None:
        """Report the end of the fit."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._arguments)
