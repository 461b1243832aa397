"""adelie: group elastic net in C++. Its losses of k outputs are divided by k, so alpha is too."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.problem import Problem
from benchmarks.solvers.base import Fit, Solver, path


class Adelie(Solver):
    name = "adelie"
    environment = "current"
    kinds = (
        "logistic l1", "softmax l1/l2", "multilabel l1/l2", "squared l1", "squared l1/l2", "squared l1 path",
        "squared l1/l2 path",
    )  # fmt: skip
    settings = tuple(10.0**-e for e in range(2, 16))
    single_precision = False  # its float32 matrices would need float32 everywhere

    def fit(self, problem: Problem, setting: float) -> Fit:
        import adelie as ad

        k, n = problem.n_outputs, problem.X.shape[1]
        X = ad.matrix.sparse(problem.X, n_threads=1) if problem.is_sparse else problem.X
        groups = None
        if problem.loss == "multilabel":  # k · m examples, k · n features, a group per row
            X = ad.matrix.kronecker_eye(X, k, n_threads=1)
            groups = np.arange(0, n * k, k)
        state = ad.grpnet(
            X, _family(ad, problem), groups=groups, penalty=np.ones(n), lmda_path=problem.alphas / k,
            intercept=False, tol=setting, irls_tol=setting, early_exit=False, adev_tol=1.0, progress_bar=False,
            n_threads=1,
        )  # fmt: skip
        coefs = state.betas.toarray() if sp.issparse(state.betas) else np.asarray(state.betas)
        return path(problem, coefs.reshape(len(problem.alphas), n, k).transpose(0, 2, 1))


def _family(ad: object, problem: Problem) -> object:
    target = problem.target()
    if problem.loss == "multilabel":
        return ad.glm.binomial(target.ravel())
    if problem.loss == "softmax":
        return ad.glm.multinomial(target)
    if problem.loss == "logistic":
        return ad.glm.binomial(target[:, 0])
    return ad.glm.gaussian(target[:, 0]) if problem.n_outputs == 1 else ad.glm.multigaussian(target)
