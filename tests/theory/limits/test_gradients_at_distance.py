"""Gradients over a distance: limits in the gain and the drive."""

import itertools

import numpy as np
import pytest
import scipy.integrate

from attnlab_theory.theory.limits import gradients_at_distance


def test_a_weak_layer_is_linear():
    # tanh'(x)^2 = 1 - 2 x^2 + ..., and x has variance drive^2 / (1 - gain^2) to leading order.
    gain, drive = 0.5, 1e-3
    assert gradients_at_distance.squared_rate(gain, drive) == pytest.approx(
        gain**2, rel=4 * drive**2 / (1 - gain**2)
    )


def test_without_a_matrix_nothing_is_handed_on():
    assert gradients_at_distance.squared_rate(0.0, 1.0) == 0


def test_the_settled_variance_is_a_fixed_point_and_at_least_the_drive():
    rng = np.random.default_rng(0)
    gain, drive = 1.5, 1.0
    q = gradients_at_distance.settled_variance(gain, drive)
    squares = np.tanh(np.sqrt(q) * rng.standard_normal(400_000)) ** 2
    error = gain**2 * np.std(squares) / np.sqrt(squares.size)
    assert abs(q - drive**2 - gain**2 * np.mean(squares)) <= 6 * error
    assert drive**2 < q < drive**2 + gain**2


@pytest.mark.parametrize(("gain", "drive"), [(2.0, 1.0), (5.0, 0.5), (10.0, 1.0), (100.0, 3.0)])
def test_rates_of_strong_layers_are_integrals_that_resolve_tanh(gain, drive):
    """Piecewise: between -1 and 1 over the deviation tanh does all of its turning."""
    q = gradients_at_distance.settled_variance(gain, drive)

    def mean(f):
        def density(x):
            return f(x) * np.exp(-(x**2) / (2 * q)) / np.sqrt(2 * np.pi * q)

        ends = [0, 1, 4, 20, 12 * np.sqrt(q) + 20]
        parts = [scipy.integrate.quad(density, *piece, epsabs=1e-13)[0] for piece in itertools.pairwise(ends)]
        return 2 * sum(parts)

    assert q == pytest.approx(gain**2 * mean(lambda x: np.tanh(x) ** 2) + drive**2, rel=1e-11)
    expected = gain**2 * mean(lambda x: np.cosh(np.minimum(x, 300)) ** -4)
    assert gradients_at_distance.squared_rate(gain, drive) == pytest.approx(expected, rel=1e-11)


def test_inputs_calm_a_chaotic_layer():
    assert gradients_at_distance.squared_rate(2.0, 0.2) > 1 > gradients_at_distance.squared_rate(2.0, 2.0)


def test_an_orthogonal_matrix_hands_everything_on():
    assert gradients_at_distance.linear_norm(1.0, 1000) == 1


@pytest.mark.parametrize("distance", [0, 1, 3, 10])
def test_a_stretched_rotation_has_the_norm_of_its_power(distance):
    turn = np.array([[np.cos(0.7), -3 * np.sin(0.7)], [np.sin(0.7) / 3, np.cos(0.7)]])
    norm = np.linalg.norm(np.linalg.matrix_power(0.9 * turn, distance), ord=2)
    found = gradients_at_distance.linear_norm(0.9, distance, stretch=3.0, angle=0.7)
    assert found == pytest.approx(norm)
    assert 0.9**distance * (1 - 1e-12) <= found <= 3 * 0.9**distance


@pytest.mark.parametrize(("gain", "drive"), [(0.9, 0.5), (2.0, 0.2)])
def test_the_mean_slope_gives_less_than_the_squared_one_and_both_are_means_over_units(gain, drive):
    rng = np.random.default_rng(0)
    q = gradients_at_distance.settled_variance(gain, drive)
    slopes = 1 - np.tanh(np.sqrt(q) * rng.standard_normal(400_000)) ** 2
    found = gradients_at_distance.rate_of_the_mean_slope(gain, drive)
    assert found < gradients_at_distance.squared_rate(gain, drive)
    assert found == pytest.approx(gain**2 * np.mean(slopes) ** 2, rel=1e-2)


def test_the_relative_variance_of_one_step_is_that_of_draws():
    gain, drive, d = 0.9, 0.5, 16
    rng = np.random.default_rng(1)
    q = gradients_at_distance.settled_variance(gain, drive)
    slopes = 1 - np.tanh(np.sqrt(q) * rng.standard_normal((200_000, d))) ** 2
    squares = np.mean((slopes * rng.standard_normal(slopes.shape)) ** 2, axis=1)
    relative = np.var(squares) / np.mean(squares) ** 2
    assert gradients_at_distance.relative_variance(gain, drive, d, 1) == pytest.approx(relative, rel=2e-2)
    steps = [1 + gradients_at_distance.relative_variance(gain, drive, d, distance) for distance in (1, 3)]
    assert steps[1] == pytest.approx(steps[0] ** 3)


@pytest.mark.parametrize("deviation", [0.3, 0.7, 1.5])
def test_of_two_tokens_the_gradient_is_an_integral_over_one_normal(deviation):
    g = np.linspace(-12, 12, 100_001)
    chance = np.exp(-(g**2) / 2) / np.sum(np.exp(-(g**2) / 2))
    alpha = 1 / (1 + np.exp(-np.sqrt(2) * deviation * g))
    squares = alpha**2 + (1 - alpha) ** 2
    wanted = chance @ (alpha**2 * (1 + deviation**2 * (1 - 2 * alpha + squares)))
    assert gradients_at_distance.attention_squared_gradient(2, deviation) == pytest.approx(wanted, rel=1e-9)
    assert gradients_at_distance.attention_squared_weight(2, deviation) == pytest.approx(
        chance @ alpha**2, rel=1e-9
    )
    fourth = chance @ alpha**4 * (1 + 2 * deviation**2 + 3 * deviation**4)
    assert gradients_at_distance.attention_squared_gradient_variance(2, deviation) == pytest.approx(
        fourth, rel=1e-9
    )


def test_scores_without_deviation_give_equal_weights_and_no_way_through_the_score():
    assert gradients_at_distance.attention_squared_gradient(8, 0.0) == pytest.approx(1 / 64, rel=1e-9)
