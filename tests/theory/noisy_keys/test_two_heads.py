"""Two heads' hedge: known numbers, limits and a plain integral over the key's length."""

import itertools
import math

import numpy as np
import pytest

from attnlab_theory.theory.noisy_keys import two_heads as theory
from attnlab_theory.theory.noisy_keys.one_head import one_head_error
from attnlab_theory.theory.noisy_keys.stretched_key import STRETCH
from tests.lengths import (
    BETA,
    N,
    one_head_weights,
    over_lengths,
    simpson_atol,
    softmax_of_stretched,
    squared_error,
    two_heads_weights,
)
from tests.tolerances import moment_atol


def test_the_errors_are_those_of_a_plain_integral_over_the_length():
    two = over_lengths(lambda g: squared_error(two_heads_weights(g)))
    heard = over_lengths(lambda g: squared_error(two_heads_weights(g)), low=-math.sqrt(2))
    heard /= 1 - theory.ignored_key_probability(0.0)
    atol = simpson_atol() + moment_atol(N)
    assert abs(theory.two_heads_error(N, BETA, 0.0) - two) <= atol
    assert abs(theory.two_heads_error_when_heard(N, BETA, 0.0) - heard) <= 2 * atol


def test_the_numbers_of_the_sheet():
    assert round(theory.two_heads_error(N, BETA, 0.0), 4) == 0.0245
    assert round(theory.two_heads_error_when_heard(N, BETA, 0.0), 4) == 0.0040
    assert round(theory.lost_key_probability(N, BETA), 4) == 0.0991
    assert round(theory.ignored_key_probability(0.0), 4) == 0.0786
    assert round(theory.ignored_key_probability(0.5), 4) == 0.1587  # one standard deviation
    assert round(one_head_error(N, BETA, 0.0) / theory.two_heads_error(N, BETA, 0.0)) == 19
    assert round(one_head_error(N, BETA, 0.0) / theory.two_heads_error_when_heard(N, BETA, 0.0)) == 115


@pytest.mark.parametrize("variance", [0.0, 1e-4, 1e-2])
def test_hearing_and_not_hearing_make_up_the_whole(variance):
    # What the conditional error leaves is spent when the key points away: between nothing and a full half each.
    whole = theory.two_heads_error(N, BETA, variance)
    away = theory.ignored_key_probability(variance)
    rest = whole - (1 - away) * theory.two_heads_error_when_heard(N, BETA, variance)
    # Head 1 then spreads over at most the n - 1 other keys, or one of them: 1/4 (1 + 1/(n-1)) to 1/4 (1 + 1).
    assert 0.25 * away <= rest <= 0.5 * away


@pytest.mark.parametrize(("n", "beta", "variance"), [(16, 30.0, 1e-4), (16, 12.0, 1e-2), (4, 5.0, 1e-3)])
def test_the_square_of_the_error_when_heard_is_little_less_than_its_bound(n, beta, variance):
    draws, rng = 100_000, np.random.default_rng(0)
    # Head 1's scores and head 2's are independent, the stretch left out of head 2's.
    first, second = beta * math.sqrt(variance) * rng.standard_normal((2, draws, n))
    first[:, 0] += beta * (1 + math.sqrt(STRETCH) * rng.standard_normal(draws))
    second[:, 1] += beta
    heard = first[:, 0] >= 0
    weights = [np.exp(z - z.max(axis=1, keepdims=True)) for z in (first[heard], second[heard])]
    output = sum(w / w.sum(axis=1, keepdims=True) for w in weights) / 2
    square = np.sum((output - np.eye(2, n).sum(axis=0) / 2) ** 2, axis=1) ** 2
    bound = theory.error_when_heard_square(n, beta, variance)
    spread = 6 * square.std() / math.sqrt(draws)
    assert bound / 2 - spread <= square.mean() <= bound + spread


def test_the_key_is_lost_in_the_limit_as_often_as_it_points_away():
    gap = theory.lost_key_probability(N, 1e6) - theory.ignored_key_probability(0.0)
    # The argument moves by sqrt(2) ln(15) / beta, the density there is phi(sqrt 2) < 0.15.
    assert 0 < gap <= 0.15 * math.sqrt(2) * math.log(N - 1) / 1e6


@pytest.mark.parametrize("beta", [0.5, 30.0])
def test_less_than_an_even_share_means_that_the_key_points_away(beta):
    away = theory.ignored_key_probability(0.0)
    assert abs(theory.lost_key_probability(N, beta, 1 / N) - away) <= moment_atol(1) / beta


@pytest.mark.parametrize(("n", "beta"), [(4, 3.0), (16, 30.0), (64, 10.0)])
def test_the_lost_key_probability_is_the_crossing_of_one_half(n, beta):
    # At the threshold itself the weight is one half: e^z / (e^z + n - 1).
    threshold = math.log(n - 1)
    g = (threshold / beta - 1) * math.sqrt(2)
    weights = softmax_of_stretched(np.array([g]), lambda g: beta * (1 + g / math.sqrt(2)), [0.0] * (n - 1))
    assert abs(weights[0, 0] - 0.5) <= moment_atol(n)
    assert abs(theory.lost_key_probability(n, beta) - 0.5 * math.erfc(-g / math.sqrt(2))) <= moment_atol(1)


# A weak query too: there the other keys' weight shows.
@pytest.mark.slow("two of five members stay inside", but=2)
@pytest.mark.parametrize(("heads", "beta"), [(1, BETA), (2, BETA), (1, 2.5), (2, 2.5), (2, 0.7)])
def test_landing_probabilities_are_those_of_a_grid_of_lengths(heads, beta):
    edges = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    ranges = list(itertools.pairwise(edges))
    table = np.array([[theory.landing_probability(N, beta, heads, a, b) for b in ranges] for a in ranges])
    assert abs(table.sum() - 1) <= 25 * moment_atol(1)
    g = np.linspace(-10, 10, 400_001)
    weights = one_head_weights(g, beta) if heads == 1 else two_heads_weights(g, beta)
    density = np.exp(-g * g / 2) / math.sqrt(2 * math.pi) * (g[1] - g[0])
    counted, _, _ = np.histogram2d(weights[0], weights[1], bins=[edges, edges], weights=density)
    # A cell's two ends fall between grid points: two steps of density at most.
    assert np.all(np.abs(table - counted) <= 2 * (g[1] - g[0]))
