"""Products of inputs as hypotheses: h(x) = x_a · x_b · …, of any degree up to a limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement
from math import comb
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from sparseboost.hypotheses.base import (
    Array,
    Candidates,
    Context,
    Dictionary,
    DualNorm,
    Hypothesis,
    HypothesisSpace,
    Rank,
)
from sparseboost.hypotheses.columns import Columns
from sparseboost.hypotheses.product_gauge import Gauge
from sparseboost.hypotheses.product_inputs import BLOCK_ENTRIES, bind_inputs, multiply
from sparseboost.hypotheses.product_search import Factors, ProductSearch, Shortlist

FEWEST_RANKED = 20  # a ranking chooses among this many at least


class Product(Hypothesis):
    """The hypothesis h(x) = Π_j (x_j − shift_j) / width_j over its factors.

    Attributes
    ----------
    factors : tuple of int
        The inputs that are multiplied, in order; a power repeats its input.
    inputs : tuple of int
        The same without repetitions.
    names : tuple of str
        Names of `inputs`.
    shift, width : tuple of float
        Scaling of `inputs`, learned when the space was bound. New values may leave the range seen then.
    """

    def __init__(
        self, factors: Factors, names: tuple[str, ...], shift: tuple[float, ...], width: tuple[float, ...]
    ) -> None:
        self.factors = factors
        self.inputs = tuple(sorted(set(factors)))
        self.names = names
        self.shift = shift
        self.width = width

    def __call__(self, X: Any) -> Array:
        outputs = self.outputs([self], X)
        return (outputs.toarray() if sp.issparse(outputs) else outputs).ravel()

    @classmethod
    def outputs(cls, hypotheses: Sequence[Any], X: Any) -> Any:
        places: dict[tuple[int, float, float], int] = {}
        factors = []
        for own in hypotheses:
            scaled = zip(own.inputs, own.shift, own.width, strict=True)
            where = {key[0]: places.setdefault(key, len(places)) for key in scaled}
            factors.append([where[j] for j in own.factors])
        used, shift, width = (np.array(part) for part in zip(*places, strict=True))
        part = X[:, used]
        if sp.issparse(part) and np.any(shift != 0.0):
            part = part.toarray()
        return multiply(scale(part, shift, width), factors)

    def __repr__(self) -> str:
        power = Counter(self.factors)
        return " * ".join(
            name if power[j] == 1 else f"{name}^{power[j]}" for j, name in zip(self.inputs, self.names, strict=True)
        )


class Products(HypothesisSpace):
    r"""Products of inputs, h(x) = x_{j1} · x_{j2} · …, of every degree from 1 up to a limit.

    The product of no inputs, where the paper starts, is the estimator's intercept. The exact search is a branch and
    bound: where inputs lie in [0, 1] a product only shrinks when it is multiplied, so the positive and the negative
    part of Σ_i force_i h(x_i) bound the correlations of all multiples of h; where they lie in [−1, 1],
    Σ_i |force_i h(x_i)| does. It finds the true maximum, so certificates hold over the whole space.

    Parameters
    ----------
    degree : int, default=2
        Largest number of factors.
    interaction_only : bool, default=False
        Whether the factors of a product are distinct inputs: no powers.
    scale : {"unit", "symmetric"} or None, default="unit"
        Inputs are first mapped to [0, 1] or to [−1, 1] by their smallest and largest training values; an input that
        is constant drops out. Sparse inputs are divided by their largest absolute value, so that zeros stay zeros;
        "unit" then needs values >= 0. None multiplies the values as they are: the search is still exact, but its
        bounds grow with the largest absolute value and rule out little.
    search : {"exact", "grow"}, default="exact"
        "grow" looks at the inputs and at the products of an active hypothesis with one input, as the paper does;
        certificates then hold for what it has looked at.

    Notes
    -----
    With costs of inputs, a product costs what its inputs cost together.

    References
    ----------
    MATH.md D9, D12.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.hypotheses import Context, Products
    >>> from sparseboost.penalties import L1
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> dictionary = Products(degree=2).bind(X, Context(feature_names=["age", "income"]))
    >>> found = dictionary.search(np.array([[1.0], [1.0], [1.0], [-3.0]]), L1().dual_norm, count=1)
    >>> dictionary.hypothesis(found.keys[0]), found.violation
    (age * income, 3.0)
    """

    def __init__(
        self,
        degree: int = 2,
        interaction_only: bool = False,
        scale: Literal["unit", "symmetric"] | None = "unit",
        search: Literal["exact", "grow"] = "exact",
    ) -> None:
        if isinstance(degree, (bool, np.bool_)) or not isinstance(degree, (int, np.integer)) or degree < 1:
            raise ValueError(f"degree must be an integer >= 1, got {degree!r}.")
        if not isinstance(interaction_only, (bool, np.bool_)):
            raise ValueError(f"interaction_only must be True or False, got {interaction_only!r}.")
        if scale not in ("unit", "symmetric", None):
            raise ValueError(f"scale must be 'unit', 'symmetric' or None, got {scale!r}.")
        if search not in ("exact", "grow"):
            raise ValueError(f"search must be 'exact' or 'grow', got {search!r}.")
        self.degree = int(degree)
        self.interaction_only = bool(interaction_only)
        self.scale = scale
        self.search = search

    def bind(self, X: Any, context: Context | None = None) -> ProductDictionary:
        if sp.issparse(X) and not (X.format == "csc" and X.has_canonical_format):
            X = sp.csc_array(X, copy=True)
            X.sum_duplicates()
        return ProductDictionary(X, self, context or Context())


class ProductDictionary(Dictionary):
    """Products of the inputs of X. Keys are handed out to products as they are found or adopted.

    Parameters
    ----------
    X : array or CSC matrix
        The data.
    space : Products
        What products there are.
    context : Context
        Names and costs of inputs, and which examples have weight.
    """

    def __init__(self, X: Any, space: Products, context: Context) -> None:
        self.exact = space.search == "exact"
        self._space = space
        self._context = context
        seen = None if context.weight is None or np.all(context.weight > 0) else context.weight > 0
        self._shift, self._width = ranges(X if seen is None else X[seen], space.scale)
        self._inputs = bind_inputs(scale(X, self._shift, self._width), seen)
        # cost of a product = base + Σ extra over its inputs: 1 by default, what its inputs cost together where they do
        given = context.feature_costs is not None
        self._base = 0.0 if given else 1.0
        self._extra = context.costs(X.shape[1]) if given else np.zeros(X.shape[1])
        self._factors: list[Factors] = []
        self._keys: dict[Factors, int] = {}

    def search(
        self,
        force: Array,
        dual_norm: DualNorm,
        count: int,
        *,
        above: float = 0.0,
        exclude: Array | None = None,
        rank: Rank | None = None,
    ) -> Candidates:
        force = np.ascontiguousarray(force, dtype=np.float64)
        gauge = Gauge(dual_norm, force.shape[1])
        wanted = count if rank is None or count <= 0 else max(count, FEWEST_RANKED)
        shortlist = Shortlist(self._inputs, gauge, wanted, above, force.shape[1])
        active = np.empty(0, dtype=np.int64) if exclude is None else np.asarray(exclude, dtype=np.int64)
        known = [self._factors[key] for key in active]
        shortlist.exclude(known, *self._scores(active, force, gauge))
        powers = not self._space.interaction_only
        costs = (self._base, self._extra)
        search = ProductSearch(self._inputs, costs, self._space.degree, powers, force, gauge, shortlist)
        if self.exact:
            search.exact()
        else:
            rest = np.setdiff1d(np.arange(len(self._factors)), active)
            for degree in {len(self._factors[key]) for key in rest}:
                same = np.array([key for key in rest if len(self._factors[key]) == degree])
                shortlist.add(np.array([self._factors[key] for key in same]), *self._scores(same, force, gauge))
            search.grow(known)
        factors, _, correlation = shortlist.found()
        keys = np.array([self._key(own) for own in factors], dtype=np.int64)
        violation = gauge.violation(shortlist.best)
        if rank is not None and keys.size:
            scores = rank(keys, correlation)
            best = np.argsort(-scores, kind="stable")[:count]
            keys = keys[best[scores[best] > 0]]
        return Candidates(keys, violation, visited=search.visited)

    def columns(self, keys: Array) -> Columns:
        return Columns(self._inputs.columns([self._factors[key] for key in keys]))

    def cost(self, keys: Array) -> Array:
        extra = [self._extra[sorted(set(self._factors[key]))].sum() for key in keys]
        return self._base + np.array(extra, dtype=float)

    def hypothesis(self, key: int) -> Product:
        factors = self._factors[key]
        inputs = sorted(set(factors))
        return Product(
            factors,
            tuple(self._context.name(j) for j in inputs),
            tuple(self._shift[inputs].tolist()),
            tuple(self._width[inputs].tolist()),
        )

    def inputs(self, keys: Array) -> set[int]:
        return set().union(*(self._factors[key] for key in keys))

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        if not isinstance(hypothesis, Product) or hypothesis.inputs[-1] >= len(self._extra):
            return None
        inputs, space = list(hypothesis.inputs), self._space
        same = np.array_equal(self._shift[inputs], hypothesis.shift) and np.array_equal(
            self._width[inputs], hypothesis.width
        )
        too_many = len(hypothesis.factors) > space.degree or (
            space.interaction_only and len(inputs) < len(hypothesis.factors)
        )
        return self._key(hypothesis.factors) if same and not too_many else None

    def listed(self, most: int) -> Array:
        """Keys of all products; an error where there are more than `most`."""
        d, space = len(self._extra), self._space
        degrees = range(1, space.degree + 1)
        number = sum(comb(d if space.interaction_only else d + r - 1, r) for r in degrees)
        if number > most:
            raise ValueError(f"There are {number:,} products, and at most {most:,} can be listed; lower the degree.")
        ways = combinations if space.interaction_only else combinations_with_replacement
        return np.array([self._key(own) for r in degrees for own in ways(range(d), r)], dtype=np.int64)

    def _key(self, factors: Factors) -> int:
        key = self._keys.setdefault(factors, len(self._factors))
        if key == len(self._factors):
            self._factors.append(factors)
        return key

    def _scores(self, keys: Array, force: Array, gauge: Gauge) -> tuple[Array, Array]:
        """Scores and correlations of products that have keys."""
        step = max(1, BLOCK_ENTRIES // max(len(force), 1))
        parts = [self.columns(keys[n : n + step]).correlate(force) for n in range(0, keys.size, step)]
        correlation = np.concatenate([np.empty((0, force.shape[1])), *parts])
        return gauge.score(correlation) / self.cost(keys), correlation


def ranges(X: Any, how: str | None) -> tuple[Array, Array]:
    """What is subtracted from every input, and what it is then divided by; infinity where it is constant."""
    d = X.shape[1]
    if how is None or X.shape[0] == 0:
        return np.zeros(d), np.ones(d)
    ends = (X.min(axis=0), X.max(axis=0))
    low, high = (np.asarray(end.toarray() if sp.issparse(end) else end, dtype=float).ravel() for end in ends)
    if sp.issparse(X):
        if how == "unit" and np.any(low < 0.0):
            raise ValueError("scale='unit' needs values >= 0 in sparse data; use scale='symmetric' or dense data.")
        shift, width = np.zeros(d), np.maximum(np.abs(low), np.abs(high))
    elif how == "unit":
        shift, width = low, high - low
    else:
        shift, width = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    return shift, np.where(low < high, width, np.inf)


def scale(X: Any, shift: Array, width: Array) -> Any:
    """(X − shift) / width in double precision: an array in column order, or a CSC matrix (which takes no shift)."""
    plain = not np.any(shift) and np.all(width == 1.0)
    if not sp.issparse(X):
        if plain:
            return np.asfortranarray(X, dtype=np.float64)
        scaled = np.empty(X.shape, order="F")
        np.subtract(X, shift, out=scaled)
        scaled /= width
        return scaled
    X = sp.csc_array(X, dtype=np.float64)
    if plain:
        return X
    data = X.data / np.repeat(width, np.diff(X.indptr))
    constant = not np.all(data)
    scaled = sp.csc_array((data, X.indices, X.indptr), shape=X.shape, copy=constant)  # the indices are the user's
    if constant:
        scaled.eliminate_zeros()
    return scaled
