"""One head, two heads, many heads: known numbers, limits, symmetries and other roads to the same number."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from attnlab_theory.theory.noisy_keys import moments
from attnlab_theory.theory.noisy_keys import stretched_key as theory
from tests.tolerances import moment_atol

N, BETA = 16, 30.0


def over_lengths(function, low=-10.0, high=10.0):
    """E[function(g)] over g standard normal between two ends, by Simpson's rule on a fine grid."""
    g = np.linspace(low, high, 200_001)
    values = np.array(function(g)) * np.exp(-g * g / 2) / math.sqrt(2 * math.pi)
    return integrate.simpson(values, x=g)


def softmax_of_stretched(g, scores_a, others):
    """Weights when key a scores scores_a(g) and the others score as listed."""
    scores = np.stack([scores_a(g), *(np.full_like(g, other) for other in others)])
    scores -= scores.max(axis=0)
    return np.exp(scores) / np.exp(scores).sum(axis=0)


def one_head_weights(g, beta=BETA):
    return softmax_of_stretched(g, lambda g: beta * (1 + g / math.sqrt(2)), [beta, *[0.0] * (N - 2)])


def two_heads_weights(g, beta=BETA):
    first = softmax_of_stretched(g, lambda g: beta * (1 + g / math.sqrt(2)), [0.0] * (N - 1))
    second = softmax_of_stretched(g, lambda g: 0 * g, [beta, *[0.0] * (N - 2)])
    return (first + second) / 2


def squared_error(weights):
    half = np.where(np.arange(N) < 2, 0.5, 0.0)
    return ((weights - half[:, None]) ** 2).sum(axis=0)


def simpson_atol():
    """Simpson's rule of step h on a bump of width w = 1 / (BETA / sqrt(2)) errs by about (h / w)^4 of its share."""
    return (1e-4 * BETA / math.sqrt(2)) ** 4


def test_the_errors_are_those_of_a_plain_integral_over_the_length():
    one = over_lengths(lambda g: squared_error(one_head_weights(g)))
    two = over_lengths(lambda g: squared_error(two_heads_weights(g)))
    heard = over_lengths(lambda g: squared_error(two_heads_weights(g)), low=-math.sqrt(2))
    heard /= 1 - theory.ignored_key_probability(0.0)
    atol = simpson_atol() + moment_atol(N)
    assert abs(theory.one_head_error(N, BETA, 0.0) - one) <= atol
    assert abs(theory.many_heads_error(N, BETA, 0.0, 2, 1) - two) <= atol
    assert abs(theory.two_heads_error_when_heard(N, BETA, 0.0) - heard) <= 2 * atol


def test_the_numbers_of_the_sheet():
    assert round(theory.one_head_error(N, BETA, 0.0), 4) == 0.4625
    assert round(theory.many_heads_error(N, BETA, 0.0, 2, 1), 4) == 0.0245
    assert round(theory.two_heads_error_when_heard(N, BETA, 0.0), 4) == 0.0040
    assert round(theory.lost_key_probability(N, BETA), 4) == 0.0991
    assert round(theory.ignored_key_probability(0.0), 4) == 0.0786
    assert round(theory.ignored_key_probability(0.5), 4) == 0.1587  # one standard deviation
    assert round(theory.one_head_error(N, BETA, 0.0) / theory.many_heads_error(N, BETA, 0.0, 2, 1)) == 19
    assert round(theory.one_head_error(N, BETA, 0.0) / theory.two_heads_error_when_heard(N, BETA, 0.0)) == 115


@pytest.mark.parametrize("variance", [0.0, 1e-4, 1e-2])
def test_hearing_and_not_hearing_make_up_the_whole(variance):
    # What the conditional error leaves is spent when the key points away: between nothing and a full half each.
    whole = theory.many_heads_error(N, BETA, variance, 2, 1)
    away = theory.ignored_key_probability(variance)
    rest = whole - (1 - away) * theory.two_heads_error_when_heard(N, BETA, variance)
    # Head 1 then spreads over at most the n - 1 other keys, or one of them: 1/4 (1 + 1/(n-1)) to 1/4 (1 + 1).
    assert 0.25 * away <= rest <= 0.5 * away


@pytest.mark.parametrize(("n", "beta", "variance"), [(16, 30.0, 1e-4), (16, 12.0, 1e-2), (4, 5.0, 1e-3)])
def test_the_square_of_the_error_when_heard_is_little_less_than_its_bound(n, beta, variance):
    draws, rng = 100_000, np.random.default_rng(0)
    # Head 1's scores and head 2's are independent, the stretch left out of head 2's.
    first, second = beta * math.sqrt(variance) * rng.standard_normal((2, draws, n))
    first[:, 0] += beta * (1 + math.sqrt(theory.STRETCH) * rng.standard_normal(draws))
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
    sigma = 2 * variance * np.eye(2) + np.diag([theory.STRETCH, 0.0])
    assert abs(theory.ratio_deviation(beta, variance) - math.sqrt(q @ sigma @ q)) <= moment_atol(1)


# A weak query too: there the other keys' weight shows.
@pytest.mark.parametrize(("heads", "beta"), [(1, BETA), (2, BETA), (1, 2.5), (2, 2.5)])
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


@pytest.mark.parametrize("stretched", [1, 4])
def test_many_heads_agree_with_a_joint_calculation(stretched):
    # E||c - t||^2 = sum over pairs of heads of inner products, head by head, instead of covariances and bias.
    count, n, beta, variance = 4, 8, 6.0, 0.01
    heads = [theory.head_asking_for(n, beta, variance, wanted, stretched) for wanted in range(count)]
    target = np.where(np.arange(n) < count, 1 / count, 0.0)
    total = target @ target
    for i, one in enumerate(heads):
        total -= 2 * target @ one.first / count
        for j, other in enumerate(heads):
            total += (np.trace(one.second) if i == j else one.first @ other.first) / count**2
    assert abs(theory.many_heads_error(n, beta, variance, count, stretched) - total) <= count**2 * moment_atol(n)


def test_the_rates_in_the_number_of_heads():
    single = theory.many_heads_error(N, BETA, 0.0, 1, 1)
    for count in (2, 4, 8, 16):
        # One stretched key is 1/H^2 of one head, up to what the other heads leak.
        leak = (N - 1) * math.exp(-BETA) / single
        atol = count**2 * moment_atol(N) / single
        assert (
            abs(count**2 * theory.many_heads_error(N, BETA, 0.0, count, 1) / single - 1) <= 4 * count * leak + atol
        )
        # All stretched: variances add to 1/H; the bias makes up for the rest, p^2-small, p the lost share.
        ratio = count * theory.many_heads_error(N, BETA, 0.0, count, count) / single
        assert abs(ratio - 1) <= 2 * theory.lost_key_probability(N, BETA)


def test_the_variance_of_one_head_tends_to_that_of_a_coin():
    variances = [theory.one_head_variance(N, beta, 0.0) for beta in (2.0, 5.0, 10.0, 50.0, 1000.0)]
    assert variances == sorted(variances)
    assert variances[-1] < 0.25 < variances[-1] + 1e-3


def test_the_error_variance_agrees_with_an_integral_over_the_length():
    means, variances = moments.score_laws(
        BETA * np.eye(2, N).sum(axis=0), np.eye(N), variance=0.0, stretch=theory.STRETCH * np.eye(1, N)[0]
    )
    half = np.where(np.arange(N) < 2, 0.5, 0.0)
    square = over_lengths(lambda g: squared_error(one_head_weights(g)) ** 2)
    wanted = square - theory.one_head_error(N, BETA, 0.0) ** 2
    assert abs(moments.squared_error_variance(means, variances, half) - wanted) <= simpson_atol() + 9 * moment_atol(
        N
    )
