"""The weights of one head with stretched keys, and the independence of the heads."""

import numpy as np
import pytest

from attnlab_theory.theory.noisy_keys import stretched_key as theory
from tests.lengths import BETA, N, over_lengths, simpson_atol, softmax_of_stretched
from tests.tolerances import moment_atol


@pytest.mark.parametrize("wanted", [0, 1])
def test_the_weights_are_those_of_a_plain_integral_over_the_length(wanted):
    # Key a is stretched: only the head that asks for it hears the length.
    def weights(g):
        own = BETA * (1 + g * np.sqrt(theory.STRETCH)) if wanted == 0 else 0 * g + BETA
        return softmax_of_stretched(own, lambda score: score, [0.0] * (N - 1))[0]

    moments = theory.head_asking_for(N, BETA, 0.0, wanted, stretched=1)
    atol = simpson_atol() + moment_atol(N)
    assert abs(moments.first[wanted] - over_lengths(weights)) <= atol
    assert abs(moments.second[wanted, wanted] - over_lengths(lambda g: weights(g) ** 2)) <= atol


@pytest.mark.parametrize("stretched", [1, 4])
def test_heads_that_ask_for_one_key_each_have_independent_scores(stretched):
    queries = np.eye(4, 6)
    for i, mean in enumerate(np.eye(6)):
        covariance = 0.25 * np.eye(6) + theory.STRETCH * (i < stretched) * np.outer(mean, mean)
        between = queries @ covariance @ queries.T
        assert np.array_equal(between, np.diag(np.diag(between)))


def test_the_mean_of_the_first_values_is_wanted():
    assert np.array_equal(theory.mean_of_first(5, 2), [0.5, 0.5, 0.0, 0.0, 0.0])
