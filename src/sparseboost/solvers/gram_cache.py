"""Inner products of columns that a fit, or a whole path of fits, has met."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseboost.ensemble import Ensemble
from sparseboost.hypotheses import Dictionary
from sparseboost.problem import Problem

Array = np.ndarray
MOST_KEYS = 4000


class GramCache:
    """Σ_i s_i h_j(x_i) h_l(x_i) of every pair of hypotheses that was active, for losses of constant curvature."""

    def __init__(self) -> None:
        self._owner: tuple[Any, Any] = (None, None)
        self._forget()

    def _forget(self) -> None:
        self._place: dict[int, int] = {}
        self._matrix = np.empty((0, 0))

    def inner(self, problem: Problem, ensemble: Ensemble) -> Array:
        """Inner products of the active hypotheses, shape (n, n); only new pairs are computed."""
        owner = (problem.dictionary, problem.weight)
        if self._owner[0] is not owner[0] or self._owner[1] is not owner[1]:
            self._forget()
            self._owner = owner
        fresh = np.array([int(key) not in self._place for key in ensemble.keys], dtype=bool)
        if len(self._place) + fresh.sum() > MOST_KEYS:
            self._forget()
            fresh[:] = True
        if np.any(fresh):
            self._extend(problem.dictionary, problem.weight, ensemble, fresh)
        places = np.array([self._place[int(key)] for key in ensemble.keys], dtype=np.intp)
        return self._matrix[np.ix_(places, places)]

    def _extend(self, dictionary: Dictionary, weight: Array, ensemble: Ensemble, fresh: Array) -> None:
        known = np.fromiter(self._place, dtype=np.int64, count=len(self._place))
        new = ensemble.columns.keep(fresh)
        n = known.size
        grown = np.empty((n + new.size, n + new.size))
        grown[:n, :n] = self._matrix
        grown[n:, n:] = new.inner(weight)
        if n:
            cross = dictionary.columns(known).cross(new, weight)
            grown[:n, n:], grown[n:, :n] = cross, cross.T
        self._matrix = grown
        for key in ensemble.keys[fresh]:
            self._place[int(key)] = len(self._place)
