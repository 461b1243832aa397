"""Standardised inputs without touching them: their scale goes into their costs."""

from __future__ import annotations

import numpy as np

from sparseboost.hypotheses import Dictionary, FeatureDictionary
from sparseboost.penalties import NoPenalty, Norm, Penalty, Ridge

Array = np.ndarray


def standardized(dictionary: Dictionary, penalty: Penalty, weight: Array, centred: bool) -> Dictionary:
    """The same hypotheses at the costs that make their standard deviations (or root mean squares) equal.

    A weight of x/σ is σ times a weight of x, so a norm of it is the norm of the weight of x at the cost σ; a squared
    norm at σ². Centring would only move the intercept. A constant column keeps its cost: nothing pulls at its weight.
    """
    if isinstance(penalty, NoPenalty):
        return dictionary
    if not isinstance(dictionary, FeatureDictionary):
        raise ValueError(
            "standardize=True is for hypotheses='features'; stumps and trees do not depend on the scale of the inputs, "
            "products and kernels have a scale of their own."
        )
    if not isinstance(penalty, (Norm, Ridge)):
        raise ValueError(f"standardize=True needs a norm or the squared ridge, not {penalty!r}.")
    energy = dictionary.energy(weight)
    mean = dictionary.correlate(weight[:, None])[:, 0] if centred else np.zeros_like(energy)
    return at_equal_scale(dictionary, penalty, energy, mean)


def at_equal_scale(dictionary: FeatureDictionary, penalty: Penalty, energy: Array, mean: Array) -> Dictionary:
    """The same inputs at costs from their mean squares and means (or zeros, where nothing is centred)."""
    variance = energy - mean**2
    scale = np.where(variance > 1e-12 * energy, np.sqrt(np.maximum(variance, 0.0)), 1.0)
    keys = np.arange(dictionary.size)
    return dictionary.at_cost(dictionary.cost(keys) * (scale**2 if isinstance(penalty, Ridge) else scale))
