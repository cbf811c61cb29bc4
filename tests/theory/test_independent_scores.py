"""The one integral for means over independent scores, held to sums over all cases and to other quadratures."""

import itertools
import math

import numpy as np
import pytest

from attnlab_theory.theory import independent_scores
from attnlab_theory.theory.independent_scores import Law, log_normalizer, normal, of_cosines, participation, share
from attnlab_theory.theory.noisy_keys import moments

RTOL = 1e-11
"""The rule errs by e^(-8 pi^2); its sums of some hundred terms by as many roundings."""

LAW = Law(np.array([-1.3, 0.4, 2.0]), np.array([0.5, 0.3, 0.2]))


def every_case(n: int):
    """All scores of n keys of the law with three points, and their chances."""
    for case in itertools.product(range(3), repeat=n):
        chosen = list(case)
        yield np.exp(LAW.scores[chosen]), math.prod(LAW.chances[chosen])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_means_over_a_law_of_three_points_are_sums_over_all_cases(n):
    cases = list(every_case(n))
    squares = sum(chance * np.sum((e / e.sum()) ** 2) for e, chance in cases)
    assert participation(LAW, n) == pytest.approx(squares, rel=RTOL)
    assert log_normalizer(LAW, n) == pytest.approx(sum(p * math.log(e.sum()) for e, p in cases), rel=RTOL)
    for power in (1, 2, 3):
        own = sum(chance * (math.exp(0.7) / (math.exp(0.7) + e.sum())) ** power for e, chance in cases)
        assert share(LAW, n, 0.7, power) == pytest.approx(own, rel=RTOL)


@pytest.mark.parametrize(("n", "spread"), [(3, 0.2), (64, 1.0), (40, 3.0)])
def test_normal_scores_have_the_moments_of_noisy_keys(n, spread):
    found = moments.weight_moments(np.zeros(n + 1), np.append(np.full(n, spread**2), 0.0))
    assert share(normal(spread), n, 0.0) == pytest.approx(found.first[-1], rel=1e-9)
    assert share(normal(spread), n, 0.0, power=2) == pytest.approx(found.second[-1, -1], rel=1e-9)
    alone = moments.weight_moments(np.zeros(n), np.full(n, spread**2))
    assert participation(normal(spread), n) == pytest.approx(np.trace(alone.second), rel=1e-9)


def test_an_exponential_of_a_cosine_has_the_mean_of_a_bessel_function():
    law = of_cosines(3, 2.0)
    assert law.chances @ np.exp(law.scores) == pytest.approx(math.sinh(2.0) / 2.0, rel=1e-6)
    assert law.chances @ law.scores**2 == pytest.approx(4 / 3, rel=1e-6)


def test_scores_without_spread_share_evenly():
    assert participation(normal(0.0), 10) == pytest.approx(0.1, rel=RTOL)
    assert share(normal(0.0), 10, 0.0) == pytest.approx(1 / 11, rel=RTOL)
    assert log_normalizer(normal(0.0), 10) == pytest.approx(math.log(10), rel=RTOL)


def test_no_power_of_a_transform_underflows():
    assert 0 < share(normal(1.0), 10**6, 0.0) < 1e-6
    assert independent_scores.participation(normal(1.0), 10**6) == pytest.approx(math.e / 10**6, rel=1e-3)
