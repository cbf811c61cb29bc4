"""Theory of positions: limits, symmetries, brute force."""

import numpy as np
import pytest
import scipy.integrate
import scipy.special

from attnlab_theory.theory.positions import rotary as theory
from tests.tolerances import host_sum_atol


def test_frequencies_go_from_one_down_to_almost_one_over_base():
    theta = theory.frequencies(8, 10000.0)
    assert np.max(np.abs(theta - [1, 0.1, 0.01, 0.001])) <= host_sum_atol(8)


@pytest.mark.parametrize("d", [2, 8, 64])
def test_score_at_distance_zero_is_one_and_even_in_distance(d):
    assert theory.mean_score(d, 0.0, 100.0) == 1
    assert theory.mean_score(d, 7.0, 100.0) == theory.mean_score(d, -7.0, 100.0)


def test_width_two_is_a_cosine():
    assert theory.mean_score(2, 5.0, 10000.0) == np.cos(5.0)


def test_mean_score_is_that_of_random_vectors():
    """Pairs of normals over their length, turned as complex numbers: the mean is within six errors of it."""
    rng = np.random.default_rng(0)
    pairs = rng.standard_normal((200_000, 4)) + 1j * rng.standard_normal((200_000, 4))
    pairs /= np.linalg.norm(pairs, axis=1, keepdims=True)
    turned = pairs * np.exp(1j * 3.0 * 50.0 ** (-np.arange(4) / 4))
    scores = np.real(np.sum(turned * np.conj(pairs), axis=1))
    error = np.std(scores) / np.sqrt(scores.size)
    assert abs(np.mean(scores) - theory.mean_score(8, 3.0, 50.0)) <= 6 * error


def test_many_frequencies_approach_the_cosine_integral():
    """(Ci(x) - Ci(x / b)) / ln b; a left sum of m terms errs by the total variation over m, here below 8 / m."""
    x, base, d = 6.0, 10000.0, 20_000
    limit = (scipy.special.sici(x)[1] - scipy.special.sici(x / base)[1]) / np.log(base)
    assert abs(theory.mean_score(d, x, base) - limit) <= 8 / (d / 2)


def test_envelope_is_the_largest_of_its_octave():
    octave = [theory.mean_score(16, x, 500.0) for x in (4.0, 5.0, 6.0, 7.0)]
    assert abs(theory.envelope(16, 2, 500.0) - max(octave)) <= host_sum_atol(16)


def doubling_cost(d, nearest, base):
    """Mean of what the score loses when the distance doubles, over distances in [nearest, 2 * nearest].

    The mean of cos(x theta) over x in [a, b] is (sin(b theta) - sin(a theta)) / ((b - a) theta).
    """
    theta = theory.frequencies(d, base)

    def octave_mean(a):
        return np.mean((np.sin(2 * a * theta) - np.sin(a * theta)) / (a * theta))

    return octave_mean(nearest) - octave_mean(2 * nearest)


@pytest.mark.parametrize("nearest", [1.0, 10.0])
def test_doubling_cost_is_the_mean_over_an_octave(nearest):
    def loss(x):
        return theory.mean_score(16, x, 500.0) - theory.mean_score(16, 2 * x, 500.0)

    total, error = scipy.integrate.quad(loss, nearest, 2 * nearest)
    assert abs(doubling_cost(16, nearest, 500.0) - total / nearest) <= error / nearest + host_sum_atol(16)


@pytest.mark.parametrize("base", [500.0, 1e4, 5e5, 1e7])
@pytest.mark.parametrize("d", [128, 256, 2**12])
def test_doubling_cost_is_within_a_hundredth_of_the_law(d, base):
    """Where the claim is made: distances from 4 to base / 32, widths from 128 on."""
    costs = np.array([doubling_cost(d, nearest, base) for nearest in np.geomspace(4, base / 32, 100)])
    assert np.max(np.abs(costs - theory.doubling_law(base))) < 0.01


@pytest.mark.parametrize("base", [500.0, 10000.0])
def test_doubling_cost_approaches_the_law(base):
    """At the geometric mean of 1 and base, nearly all frequencies are on one side or the other."""
    nearest, d = np.sqrt(base), 2**17
    # The mean of cos over an octave is g(y) = int_1^2 cos(s y) ds: |g'| <= 3/2, and <= 3/y + 2/y^2. A left sum
    # of d/2 terms errs by g's variation up to y = 2 nearest over d/2; two octaves pay.
    variation = 3 / 2 + 3 * np.log(2 * nearest) + 2
    # Beyond the law: the averaged cosine integral, of order 2/nearest^2 below and (4 nearest/base)^2/4 above.
    beyond = (2 / nearest**2 + (4 * nearest / base) ** 2 / 4) / np.log(base)
    exact = doubling_cost(d, nearest, base)
    assert abs(exact - theory.doubling_law(base)) <= beyond + 2 * variation / (d / 2)
    assert beyond + 2 * variation / (d / 2) < theory.doubling_law(base) / 20


@pytest.mark.parametrize("octave", [0, 3, 6])
def test_the_envelope_is_the_largest_score_of_an_octave(octave):
    distances = range(2**octave, 2 ** (octave + 1))
    largest = max(theory.mean_score(16, float(distance), 100.0) for distance in distances)
    assert theory.envelope(16, octave, 100.0) == pytest.approx(largest, rel=1e-12)
    # At width 2 and base 1 a score is the cosine of the distance: in [8, 16) the largest is that of 13.
    assert theory.envelope(2, 3, 1.0) == pytest.approx(np.cos(13.0), rel=1e-12)
