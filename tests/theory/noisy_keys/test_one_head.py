"""One head's gamble: known numbers, limits, symmetries and a plain integral over the key's length."""

import math

import numpy as np
import pytest

from attnlab_theory.theory.noisy_keys import moments
from attnlab_theory.theory.noisy_keys import one_head as theory
from attnlab_theory.theory.noisy_keys.stretched_key import STRETCH
from tests.lengths import BETA, N, one_head_weights, over_lengths, simpson_atol, squared_error
from tests.tolerances import moment_atol


def test_the_error_is_that_of_a_plain_integral_over_the_length():
    wanted = over_lengths(lambda g: squared_error(one_head_weights(g)))
    assert abs(theory.one_head_error(N, BETA, 0.0) - wanted) <= simpson_atol() + moment_atol(N)


def test_the_number_of_the_sheet():
    assert round(theory.one_head_error(N, BETA, 0.0), 4) == 0.4625


def test_the_error_variance_agrees_with_an_integral_over_the_length():
    means, variances = moments.score_laws(
        BETA * np.eye(2, N).sum(axis=0), np.eye(N), variance=0.0, stretch=STRETCH * np.eye(1, N)[0]
    )
    half = np.where(np.arange(N) < 2, 0.5, 0.0)
    square = over_lengths(lambda g: squared_error(one_head_weights(g)) ** 2)
    wanted = square - theory.one_head_error(N, BETA, 0.0) ** 2
    assert abs(moments.squared_error_variance(means, variances, half) - wanted) <= simpson_atol() + 9 * moment_atol(
        N
    )


def test_the_share_is_logit_normal_and_symmetric():
    deviation = theory.ratio_deviation(3.0, 0.1)
    assert theory.logit_normal_probability(0.0, 1.0, deviation) == 1.0
    low = theory.logit_normal_probability(0.1, 0.3, deviation)
    assert abs(low - theory.logit_normal_probability(0.7, 0.9, deviation)) <= moment_atol(1)
    wanted = over_lengths(lambda g: (1 / (1 + np.exp(-deviation * g)) - 0.5) ** 2)
    assert abs(theory.logit_normal_variance(deviation) - wanted) <= simpson_atol()


def test_the_share_variance_is_that_of_the_score_difference():
    # q^T (Sigma_a + Sigma_b) q with the covariances written out.
    beta, variance = 3.0, 0.2
    q = np.array([beta, beta])
    sigma = 2 * variance * np.eye(2) + np.diag([STRETCH, 0.0])
    assert abs(theory.ratio_deviation(beta, variance) - math.sqrt(q @ sigma @ q)) <= moment_atol(1)


def test_the_variance_of_one_head_tends_to_that_of_a_coin():
    variances = [theory.one_head_variance(N, beta, 0.0) for beta in (2.0, 5.0, 10.0, 50.0, 1000.0)]
    assert variances == sorted(variances)
    assert variances[-1] < 0.25 < variances[-1] + 1e-3


@pytest.mark.parametrize(("n", "beta"), [(4, 0.5), (16, 2.0), (16, 6.0)])
def test_the_delta_methods_variance_is_the_squared_slope_of_the_weight(n, beta):
    def weight(score: float) -> float:
        return math.exp(score) / (math.exp(score) + math.exp(beta) + n - 2)

    slope = (weight(beta + 1e-5) - weight(beta - 1e-5)) / 2e-5
    # The score of the stretched key has variance beta^2 / 2.
    assert theory.one_head_delta_variance(n, beta) == pytest.approx(slope**2 * beta**2 / 2, rel=1e-6)
