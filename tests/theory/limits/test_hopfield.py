"""Interference of random patterns against quadrature, and the capacity's limits."""

import fractions
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

from attnlab_theory.theory.limits import hopfield


@pytest.mark.parametrize(("d", "strength"), [(3, 2.0), (8, 8.0), (20, 30.0)])
def test_the_mean_power_is_an_integral_over_the_sphere(d, strength):
    def density(t):
        return (1 - t**2) ** ((d - 3) / 2)

    whole, _ = scipy.integrate.quad(density, -1, 1)
    mean, error = scipy.integrate.quad(lambda t: np.exp(strength * (t - 1)) * density(t), -1, 1)
    assert abs(hopfield.mean_power(d, strength) - mean / whole) <= (error + 1e-12 * mean) / whole


def test_two_dimensions_are_a_bessel_function():
    angles = 2 * np.pi * np.arange(400) / 400
    # The trapezoid rule over a period is exact to rounding.
    mean = np.mean(np.exp(3.0 * (np.cos(angles) - 1)))
    assert hopfield.mean_power(2, 3.0) == pytest.approx(mean, rel=64 * np.finfo(float).eps)


@pytest.mark.parametrize(("d", "strength"), [(300, 1.0), (1000, 100.0), (3000, 500.0), (8, 0.5)])
def test_the_mean_power_of_wide_memories_has_its_series_in_rational_numbers(d, strength):
    term, series, square = fractions.Fraction(1), fractions.Fraction(0), fractions.Fraction(strength) ** 2 / 4
    for n in range(800):
        series += term
        term = fractions.Fraction(float(term * square / (fractions.Fraction(d, 2) + n) / (n + 1)))
    expected = math.log(series) - strength
    # A logarithm of sums of gamma functions of up to 3,800.
    assert math.log(hopfield.mean_power(d, strength)) == pytest.approx(expected, abs=5e4 * np.finfo(float).eps)


@pytest.mark.parametrize("d", [2, 3, 64])
def test_with_no_strength_at_all_the_mean_power_is_one(d):
    assert hopfield.mean_power(d, 0.0) == 1


def test_without_strength_all_patterns_weigh_the_same():
    assert hopfield.mean_interference(10, 6, 1e-9) == pytest.approx(9, rel=2e-9)
    assert hopfield.capacity(6, 1e-9) == 2


def test_capacity_is_where_the_interference_is_one():
    n = hopfield.capacity(8, 8.0)
    assert hopfield.mean_interference(n, 8, 8.0) <= 1 < hopfield.mean_interference(n + 1, 8, 8.0)


@pytest.mark.parametrize("r", [0.5, 1.0, 2.0])
def test_the_capacity_grows_at_its_rate(r):
    low, high = (-np.log(hopfield.mean_power(d, r * d)) for d in (400, 800))
    # Laplace's method is off by a factor that tends to a constant, 1 + O(1 / d).
    assert abs((high - low) / 400 - hopfield.capacity_rate(r)) < 1 / 400


def test_the_variance_is_that_of_independent_powers():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200_000, 6))
    powers = np.exp(4.0 * (x[:, 0] / np.linalg.norm(x, axis=1) - 1))
    squares = (powers - hopfield.mean_power(6, 4.0)) ** 2
    error = np.std(squares) / np.sqrt(squares.size)
    assert abs(np.mean(squares) - hopfield.interference_variance(2, 6, 4.0)) <= 6 * error


def test_the_classical_capacity_is_a_seventh_of_the_width():
    assert hopfield.classical_capacity(1000) == 138


@pytest.mark.parametrize("r", [0.1, 0.5, 2.0])
def test_the_rate_of_the_capacity_is_the_least_exponent_of_the_mean_power(r):
    found = scipy.optimize.minimize_scalar(
        lambda t: -(r * (t - 1) + math.log1p(-(t**2)) / 2), bounds=(0.0, 1 - 1e-12), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    assert hopfield.capacity_rate(r) == pytest.approx(found.fun, rel=1e-8)
