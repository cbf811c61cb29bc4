"""The share of a sink, at sizes where it is known."""

import math

import numpy as np
import pytest
import scipy.special

from attnlab_theory.theory.sinks import length


def test_beside_one_score_the_share_is_a_mean_of_a_sigmoid():
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    mean = weights @ scipy.special.expit(0.7 - 0.5 * nodes) / weights.sum()
    square = weights @ scipy.special.expit(0.7 - 0.5 * nodes) ** 2 / weights.sum()
    assert length.mean_share(1, 0.5, 0.7) == pytest.approx(mean, rel=1e-10)
    assert length.share_variance(1, 0.5, 0.7) == pytest.approx(square - mean**2, rel=1e-8)


def test_jensen_puts_the_share_above_that_beside_the_mean_sum_and_without_spread_on_it():
    assert length.mean_share(64, 2.0, 0.0) > 1.3 * length.share_beside_the_mean_sum(64, 2.0, 0.0)
    assert length.share_beside_the_mean_sum(64, 1e-4, 1.0) == pytest.approx(
        length.mean_share(64, 1e-4, 1.0), rel=1e-7
    )
    assert length.share_beside_the_mean_sum(3, 0.0, math.log(2)) == pytest.approx(2 / 5)
    assert length.share_beside_the_mean_sum(64, 2.0, 0.0) == pytest.approx(1 / (1 + 64 * math.e**2))


@pytest.mark.parametrize(("n", "score"), [(64, 4.65), (1024, 7.43), (16384, 10.20)])
def test_a_sink_that_keeps_half_grows_like_the_logarithm(n, score):
    assert length.mean_share(n, 1.0, score) == pytest.approx(0.5, abs=2e-3)
    assert score == pytest.approx(math.log(n) + 0.5, abs=0.02)


def test_the_variance_is_positive_where_nothing_varies():
    assert length.share_variance(4, 1e-9, 0.0) > 0
