"""Kernels as hypotheses: h_j(x) = K(x_j, x) for the points x_j of a support set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.utils import check_random_state

from sparseboost.hypotheses.base import Array, Context, Hypothesis, HypothesisSpace
from sparseboost.hypotheses.blocks import BlockDictionary, ranges
from sparseboost.hypotheses.columns import Columns
from sparseboost.hypotheses.perceptron import mistakes

KernelLike = str | Callable[..., Array]
MEGABYTE = 1_000_000
SUPPORTS = ("perceptron", "all", "kmeans")


class SupportVector(Hypothesis):
    """The hypothesis h(x) = K(s, x) for one support vector s, which it holds.

    Parameters
    ----------
    kernel : str or callable
        As in `Kernel`.
    params : mapping
        Parameters of the kernel.
    vector : array or sparse matrix of shape (1, d)
        s.
    number : int
        The row of X that s was, or its place among given points or centres.
    """

    def __init__(self, kernel: KernelLike, params: Mapping[str, Any], vector: Any, number: int) -> None:
        self.kernel = kernel
        self.params = dict(params)
        self.number = number
        self.n_inputs = int(vector.shape[1])
        # plain arrays, because a safe file takes no sparse matrices
        self.places = vector.indices if sp.issparse(vector) else None
        self.values = vector.data if sp.issparse(vector) else vector[0]

    @property
    def inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        """All inputs."""
        return tuple(range(self.n_inputs))

    @property
    def vector(self) -> Any:
        """The support vector, of shape (1, d)."""
        if self.places is None:
            return self.values[None, :]
        return sp.csr_array((self.values, self.places, np.array([0, self.places.size])), shape=(1, self.n_inputs))

    def __call__(self, X: Any) -> Array:
        return similarity(self.kernel, self.params, X, self.vector)[:, 0]

    @classmethod
    def outputs(cls, hypotheses: Sequence[Any], X: Any) -> Array:
        out = np.empty((X.shape[0], len(hypotheses)))
        groups: dict[Any, list[int]] = {}
        for j, hypothesis in enumerate(hypotheses):
            groups.setdefault((hypothesis.formula, hypothesis.places is None), []).append(j)
        for where in groups.values():  # one call per kernel
            first = hypotheses[where[0]]
            stack = np.vstack if first.places is None else sp.vstack
            vectors = stack([hypotheses[j].vector for j in where])
            out[:, where] = similarity(first.kernel, first.params, X, vectors)
        return out

    @property
    def formula(self) -> tuple[Any, ...]:
        """What is equal for all support vectors of one kernel."""
        return self.kernel, *sorted(self.params.items())

    def __repr__(self) -> str:
        return f"{_name(self.kernel)}(x, #{self.number})"


class Kernel(HypothesisSpace):
    r"""All h_j(x) = K(x_j, x) for the points x_j of a support set. The search is exact.

    Every hypothesis looks at all inputs; with `feature_costs` it costs what they cost together.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A name that scikit-learn's `pairwise_kernels` knows ("rbf", "poly", "cosine", "laplacian", "linear", "sigmoid",
        "chi2", …), or a function of two matrices (m, d) and (s, d) that gives all their values, (m, s).
    gamma : float, "scale" or None, default=None
        None is scikit-learn's default, 1/d for most kernels; "scale" is 1/(d · variance of X).
    support : {"perceptron", "all", "kmeans"} or array of shape (s, d), default="perceptron"
        "perceptron": the examples that a Perceptron with this kernel gets wrong in one pass through the data in random
        order; for real targets those it misses by more than `tube` standard deviations. "all": all examples. "kmeans":
        the centres of `number` clusters. Examples without weight are left out.
    number : int, default=100
        How many centres "kmeans" looks for.
    tube : float, default=0.5
        Half width, in standard deviations of the target, of the tube for "perceptron" in regression.
    memory : float, default=512
        Megabytes for kernel values. Columns beyond it are computed anew, in blocks, in every search.
    **params
        Other parameters of the kernel: `degree` and `coef0` of "poly", or whatever a callable takes.

    References
    ----------
    MATH.md D8, D9; Duchi & Singer (2009), section 10, built the support set of their digits this way.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseboost.hypotheses import Kernel
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> dictionary = Kernel("rbf", gamma=1.0, support="all").bind(X)
    >>> dictionary.hypothesis(1)
    rbf(x, #1)
    >>> dictionary.hypothesis(1)(X).round(3)
    array([0.368, 1.   , 0.018])
    """

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        *,
        gamma: float | Literal["scale"] | None = None,
        support: str | Any = "perceptron",
        number: int = 100,
        tube: float = 0.5,
        memory: float = 512,
        **params: Any,
    ) -> None:
        if not callable(kernel) and kernel not in KERNEL_PARAMS:
            raise ValueError(f"Kernel needs one of {', '.join(sorted(KERNEL_PARAMS))} or a callable, got {kernel!r}.")
        given = set(params) | ({"gamma"} if gamma is not None else set())
        unknown = sorted(given - set(KERNEL_PARAMS[kernel])) if isinstance(kernel, str) else []
        if unknown:
            known = ", ".join(sorted(KERNEL_PARAMS[kernel])) or "none"
            raise ValueError(f"The {kernel} kernel has no parameter {unknown[0]!r}; it has: {known}.")
        if isinstance(support, str) and support not in SUPPORTS:
            raise ValueError(f"support must be one of {', '.join(SUPPORTS)} or an array of points, got {support!r}.")
        if isinstance(gamma, str) and gamma != "scale":
            raise ValueError(f"gamma must be a number, 'scale' or None, got {gamma!r}.")
        if number < 1 or not memory >= 0 or not tube >= 0:
            raise ValueError(f"Kernel needs number >= 1, memory >= 0 and tube >= 0, got {number}, {memory} and {tube}.")
        self.kernel = kernel
        self.gamma = gamma
        self.support = support
        self.number = number
        self.tube = tube
        self.memory = memory
        self.params = params

    def __repr__(self) -> str:
        default, own = vars(Kernel()), {**vars(self), **self.params}
        changed = [key for key in own if key not in ("kernel", "params") and repr(own[key]) != repr(default.get(key))]
        shown = [f"{key}={own[key]!r}" for key in changed]
        return f"Kernel({', '.join([repr(_name(self.kernel)), *shown])})"

    def bind(self, X: Any, context: Context | None = None) -> KernelDictionary:
        context = context or Context()
        X = X.tocsr() if sp.issparse(X) else X
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)  # once, not in every block
        params = dict(self.params)
        if self.gamma is not None:
            params["gamma"] = _scale(X) if self.gamma == "scale" else self.gamma
        points, numbers = self._support(X, params, context)
        return KernelDictionary(X, points, numbers, self.kernel, params, self.memory, context)

    def _support(self, X: Any, params: Mapping[str, Any], context: Context) -> tuple[Any, Array]:
        if not isinstance(self.support, str):
            return _as_points(self.support, X)
        rows = np.arange(X.shape[0]) if context.weight is None else np.flatnonzero(context.weight > 0)
        if self.support == "kmeans":
            weight = None if context.weight is None else context.weight[rows]
            clusters = KMeans(min(self.number, rows.size), random_state=context.random_state)
            centres = clusters.fit(X[rows], sample_weight=weight).cluster_centers_
            return _as_points(centres, X)
        if self.support == "perceptron":
            if context.target is None:
                raise ValueError("support='perceptron' needs the targets; bind with Context(target=...) or use 'all'.")

            def gram(some: Array, others: Array) -> Array:
                return similarity(self.kernel, params, X[some], X[others])

            walk = check_random_state(context.random_state).permutation(rows)
            found = mistakes(gram, walk, context.target, context.n_classes, self.tube)
            rows = np.sort(found) if found.size else walk[:1]  # a constant target has no mistakes
        return X[rows], rows


class KernelDictionary(BlockDictionary):
    """The kernel between all examples and the support vectors, as much of it as the memory limit allows."""

    def __init__(
        self,
        X: Any,
        points: Any,
        numbers: Array,
        kernel: KernelLike,
        params: Mapping[str, Any],
        memory: float,
        context: Context,
    ) -> None:
        cost = np.full(points.shape[0], context.joint_cost(range(X.shape[1])))
        super().__init__(X.shape[0], points.shape[0], cost, context)
        self.X = X
        self.points = points
        self.numbers = numbers
        self.kernel = kernel
        self.params = params
        held = min(self.size, int(memory * MEGABYTE / (8 * self.n_examples)))
        self._held = np.empty((self.n_examples, held), order="F")
        self.in_threads(self._fill, self.parts(held))

    def _fill(self, part: slice) -> None:
        self._held[:, part] = similarity(self.kernel, self.params, self.X, self.points[part])

    def block(self, part: slice) -> Columns:
        return Columns(self._held[:, part]) if part.stop <= self._held.shape[1] else super().block(part)

    def parts(self, length: int) -> Iterator[slice]:
        return ranges(length, -(-self.n_examples // 4))  # wider blocks: every call looks at all of X first

    def columns(self, keys: Array) -> Columns:
        held = keys < self._held.shape[1]
        if keys.size and not held.any():
            return Columns(np.asfortranarray(similarity(self.kernel, self.params, self.X, self.points[keys])))
        out = np.empty((self.n_examples, keys.size), order="F")
        out[:, held] = self._held[:, keys[held]]
        if not held.all():
            out[:, ~held] = similarity(self.kernel, self.params, self.X, self.points[keys[~held]])
        return Columns(out)

    def hypothesis(self, key: int) -> SupportVector:
        return SupportVector(self.kernel, self.params, self.points[[key]], int(self.numbers[key]))

    def inputs(self, keys: Array) -> set[int]:
        return set(range(self.X.shape[1])) if keys.size else set()

    def adopt(self, hypothesis: Hypothesis) -> int | None:
        if not isinstance(hypothesis, SupportVector) or hypothesis.formula != (
            self.kernel,
            *sorted(self.params.items()),
        ):
            return None
        return self._places.get(_identity(hypothesis.vector))

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {_identity(self.points[[key]]): key for key in reversed(range(self.size))}


def similarity(kernel: KernelLike, params: Mapping[str, Any], X: Any, points: Any) -> Array:
    """K of every example and every point, shape (m, s)."""
    if sp.issparse(X):
        X, points = _compressed(X), _compressed(points)
    elif sp.issparse(points):
        points = points.toarray()
    try:
        if callable(kernel):
            out = kernel(X, points, **params)
        else:
            out = pairwise_kernels(points, X, metric=kernel, **params).T  # they are symmetric: this is column order
    except (ValueError, TypeError) as error:
        raise type(error)(f"The kernel {_name(kernel)} fails on this X: {str(error).splitlines()[0]}") from error
    out = np.asarray(out, dtype=np.float64)
    if out.shape != (X.shape[0], points.shape[0]):
        wanted = (X.shape[0], points.shape[0])
        raise ValueError(f"The kernel {_name(kernel)} must give an array of shape {wanted}, it gave {out.shape}.")
    if not np.isfinite(out.sum()) and not np.isfinite(out).all():
        raise ValueError(f"The kernel {_name(kernel)} gives values that are not finite; scale X or change the kernel.")
    return out


def _compressed(X: Any) -> Any:
    """CSR with short indices: scikit-learn's loops over sparse rows take no others."""
    X = sp.csr_array(X)
    short = X.indices.dtype == np.int32 and X.indptr.dtype == np.int32
    if short or X.nnz > np.iinfo(np.int32).max:
        return X
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _name(kernel: KernelLike) -> str:
    return kernel if isinstance(kernel, str) else getattr(kernel, "__name__", type(kernel).__name__)


def _scale(X: Any) -> float:
    """1/(d · variance of X), as scikit-learn's support vector machines have it."""
    variance = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var()
    return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0


def _as_points(points: Any, X: Any) -> tuple[Any, Array]:
    """Support points and their numbers."""
    if not sp.issparse(points):
        points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != X.shape[1] or points.shape[0] == 0:
        raise ValueError(f"support needs points with {X.shape[1]} inputs like X, got shape {points.shape}.")
    points = sp.csr_array(points) if sp.issparse(points) else points
    return points, np.arange(points.shape[0])


def _identity(vector: Any) -> Any:
    """Something hashable that is equal for equal vectors."""
    if not sp.issparse(vector):
        return (np.asarray(vector, dtype=np.float64) + 0.0).tobytes()  # −0 is 0
    vector = sp.csr_array(vector, dtype=np.float64, copy=True)
    vector.sum_duplicates()
    vector.eliminate_zeros()
    return vector.indices.astype(np.int64).tobytes(), vector.data.tobytes()
