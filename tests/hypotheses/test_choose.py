"""The best few of many hypotheses, against sorting all of them."""

from __future__ import annotations

import numpy as np
import pytest

from sparseboost.hypotheses.blocks import choose


@pytest.mark.parametrize("count", [1, 3, 10, 60, 500])
def test_the_few_best_are_the_first_of_all_in_order_and_ties_go_to_the_lowest_index(
    count: int, rng: np.random.Generator
) -> None:
    violation = rng.integers(0, 30, size=200).astype(float)  # many ties
    exclude = rng.choice(200, 20, replace=False)
    found = choose(violation[:, None], violation, count, above=4.0, exclude=exclude)
    eligible = [j for j in range(200) if violation[j] > 4.0 and j not in set(exclude.tolist())]
    np.testing.assert_array_equal(found, sorted(eligible, key=lambda j: (-violation[j], j))[:count])
