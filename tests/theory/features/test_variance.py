"""Errors of random features: the formulas, limits, brute force in two dimensions."""

import fractions
import functools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from attnlab_theory.theory.features import bias, pair
from attnlab_theory.theory.features import variance as theory
from tests.tolerances import feature_moment_rtol

LENGTHS = st.floats(0.0625, 3, width=32, allow_subnormal=False)


def close(found: float, wanted: float, terms: float = 1.0) -> bool:
    """Equal up to rounding of moments of size `terms`."""
    return abs(found - wanted) <= feature_moment_rtol() * max(abs(wanted), terms)


@given(length=LENGTHS, m=st.integers(1, 50))
def test_errors_are_those_of_the_book(length, m):
    """Closed forms, as relative variances per projection."""
    for powers, wanted in (
        (theory.trigonometric(length), math.cosh(length) - 1),
        (theory.positive(length), math.expm1(length)),
        (theory.hyperbolic(length), math.cosh(length) - 1),
    ):
        assert close(theory.mean_squared_error(powers, m), wanted / m, math.exp(4 * length))


@given(length=LENGTHS, x=st.floats(0.25, 2, width=32), m=st.integers(1, 9))
def test_relative_errors_times_the_kernel_are_the_published_ones(length, x, m):
    difference = x
    kernel = math.exp((length - difference) / 4)
    trig = math.exp(length) / kernel**2 * math.expm1(-difference) ** 2 / (2 * m)
    pos = math.exp(length) * kernel**2 * -math.expm1(-length) / m
    hyp = -math.expm1(-length) / 2 * pos
    for powers, wanted in (
        (theory.trigonometric(difference), trig),
        (theory.positive(length), pos),
        (theory.hyperbolic(length), hyp),
    ):
        assert close(theory.mean_squared_error(powers, m) * kernel**2, wanted, math.exp(4 * length) * kernel**2)


@given(length=LENGTHS, a=st.floats(-1, 0.1171875, width=32), d=st.integers(1, 8))
def test_generalized_second_moment_is_that_of_the_book(length, a, d):
    """The second moment in closed form, divided by exp(2 x.y), at D = 1: exp(-|x|^2 - |y|^2 - 2 x.y) = e^-L."""
    wanted = (1 - 4 * a) ** d * (1 - 8 * a) ** (-d / 2) * math.exp(2 * (1 - 4 * a) * length / (1 - 8 * a) - length)
    assert close(theory.moment(theory.generalized(length, d, a), 2) / wanted, 1.0)


@pytest.mark.parametrize("a", [0.125, 0.2])
def test_beyond_an_eighth_the_mean_is_one_and_the_variance_infinite(a):
    powers = theory.generalized(1.0, 4, a)
    assert close(theory.moment(powers, 1), 1.0)
    assert theory.moment(powers, 2) == math.inf


@given(length=LENGTHS, d=st.integers(1, 64))
def test_no_parameter_beats_the_best(length, d):
    best = pair.best_parameter(length, d)
    least = theory.moment(theory.generalized(length, d, best), 2)
    assert best < 0
    for a in (best - 0.01, best + 0.01, best / 2, 2 * best, 0.0, 0.05):
        assert theory.moment(theory.generalized(length, d, a), 2) > least


MAPS = {
    "trigonometric": (theory.trigonometric, lambda s, q, d: math.exp(0.35) * np.cos(s)),
    "positive": (theory.positive, lambda s, q, d: np.exp(s - 0.35)),
    "hyperbolic": (theory.hyperbolic, lambda s, q, d: np.exp(-0.35) * np.cosh(s)),
    "generalized": (
        lambda length: theory.generalized(length, 2, -0.2),
        lambda s, q, d: 1.8 ** (d / 2) * np.exp(-0.4 * q + math.sqrt(1.8) * s - 0.35),
    ),
}


@pytest.mark.parametrize("name", MAPS)
def test_every_power_has_the_moment_it_should(name):
    """At length 0.7 in two dimensions, by quadrature over w: the first coordinate is that along z."""
    powers, product = MAPS[name]
    nodes, weights = np.polynomial.hermite_e.hermegauss(90)
    chance = np.outer(weights, weights) / np.sum(weights) ** 2
    f = product(math.sqrt(0.7) * nodes[:, None], nodes[:, None] ** 2 + nodes[None] ** 2, 2)
    for k in (1, 2, 3, 4):
        assert close(float(np.sum(chance * f**k)), theory.moment(powers(0.7), k), 10.0)


@functools.cache
def chi_norms() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and probabilities of a chi_2 norm."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    r = 7 * (nodes + 1)
    return r, 7 * weights * r * np.exp(-(r**2) / 2)


def radial(name: str, angle: np.ndarray, k: int, length: float) -> np.ndarray:
    """E over a chi_2 norm r of f(r (cos angle, sin angle))^k, the point z along the first axis."""
    _, product = MAPS[name]
    r, chance = chi_norms()
    f = product(math.sqrt(length) * r[None] * np.cos(angle)[:, None], r[None] ** 2, 2)
    return f**k @ chance


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("ks", [(1, 1), (2, 1), (3, 1), (2, 2)])
def test_mixed_moments_of_orthogonal_projections_by_brute_force(name, ks):
    """In two dimensions: one angle, two norms. The trapezoid rule is exact for a smooth periodic integrand."""
    angles = 2 * np.pi * np.arange(128) / 128
    turned = (radial(name, angles + i * np.pi / 2, k, 0.7) for i, k in enumerate(ks))
    wanted = float(np.mean(math.prod(turned)))
    assert close(theory.mixed_moment(MAPS[name][0](0.7), ks, 2), wanted, 10.0)


def test_orthogonal_covariance_is_the_series_of_the_book():
    """A double sum; and in the same room, hyperbolic features have it too."""
    for length, d in ((0.5, 2), (1.44, 8), (3.0, 16)):

        def rising(n: int, d=d) -> float:
            return math.prod([float(d + 2 * i) for i in range(n)])

        series = sum(
            (length / 2) ** (a + b)
            / (math.factorial(a) * math.factorial(b))
            * (1 - rising(a) * rising(b) / rising(a + b))
            for a in range(1, 40)
            for b in range(1, 40)
        )
        for powers in (theory.positive(length), theory.hyperbolic(length)):
            assert close(theory.orthogonal_covariance(powers, d), -math.exp(-length) * series)
        assert theory.orthogonal_covariance(theory.positive(length), d) < theory.published_orthogonal_covariance(
            length, d
        )


@given(length=LENGTHS, d=st.integers(2, 64))
def test_orthogonal_covariance_is_a_mixed_moment(length, d):
    """Trigonometric features have an alternating series, which still has its digits at these lengths."""
    for powers in (theory.trigonometric(length), theory.hyperbolic(length), theory.generalized(length, d, -0.1)):
        wanted = theory.mixed_moment(powers, (1, 1), d) - 1
        assert close(theory.orthogonal_covariance(powers, d), wanted, math.exp(2 * length))


@given(length=st.integers(1, 60).map(float), d=st.integers(2, 64))
def test_orthogonal_covariance_is_its_series_in_rational_numbers(length, d):
    """sum_n (d)_n / (d/2)_n rate^n / n!, (x)_n = x (x+1) ... (x+n-1), in which nothing is rounded."""
    for powers, rate in (
        (theory.trigonometric(length), fractions.Fraction(-length / 2)),
        (theory.positive(length), fractions.Fraction(length / 2)),
    ):
        term, series = fractions.Fraction(1), fractions.Fraction(0)
        for n in range(300):
            series += term
            term *= fractions.Fraction(2 * (d + n), d + 2 * n) * rate / (n + 1)
        root = fractions.Fraction(math.exp(-rate))
        assert close(theory.orthogonal_covariance(powers, d), float(root * series * root) - 1)


@given(length=st.floats(0.0625, 60, width=32), d=st.integers(2, 64))
def test_no_covariance_exceeds_the_variance(length, d):
    for powers in (theory.trigonometric(length), theory.positive(length), theory.hyperbolic(length)):
        variance = theory.moment(powers, 2) - 1
        assert abs(theory.orthogonal_covariance(powers, d)) <= variance * (1 + feature_moment_rtol())


def test_errors_of_long_vectors_are_worked_out_as_far_as_float64_goes():
    assert close(theory.mean_squared_error(theory.positive(100.0), 4) / math.expm1(100.0), 1 / 4)
    assert close(theory.squared_error_variance(theory.positive(100.0), 1) / math.exp(600.0), 1.0)
    assert theory.squared_error_variance(theory.positive(120.0), 4) == math.inf


@pytest.mark.parametrize("a", [0.0625, 0.1, 0.2])
@pytest.mark.parametrize("width", [None, 4])
def test_an_estimate_without_a_fourth_moment_has_squared_errors_without_a_variance(a, width):
    assert theory.squared_error_variance(theory.generalized(1.0, 4, a), 3, orthogonal_in=width) == math.inf


def test_independent_errors_are_the_textbook_moments_of_a_mean():
    powers = theory.hyperbolic(0.8)
    one, two, three, four = (theory.moment(powers, k) for k in (1, 2, 3, 4))
    assert close(one, 1.0)
    central = four - 4 * three + 6 * two - 3
    for m in (1, 2, 7):
        fourth = (central + 3 * (m - 1) * (two - 1) ** 2) / m**3
        assert close(theory.squared_error_variance(powers, m), fourth - ((two - 1) / m) ** 2, four)


def test_blocks_of_orthogonal_projections_add_their_covariances():
    """Sum over blocks of m_b (m_b - 1) / m^2 in place of 1 - 1/m."""
    powers, d, m = theory.positive(0.5), 4, 10
    covariance = theory.orthogonal_covariance(powers, d)
    wanted = math.expm1(0.5) / m + (2 * 4 * 3 + 2 * 1) / m**2 * covariance
    assert close(theory.mean_squared_error(powers, m, orthogonal_in=d), wanted)
    assert close(theory.mean_squared_error(powers, 5, orthogonal_in=1), math.expm1(0.5) / 5)


def test_too_many_orthogonal_projections_are_refused():
    with pytest.raises(ValueError, match="3 orthogonal projections do not fit in 2 dimensions"):
        theory.mixed_moment(theory.positive(1.0), (1, 1, 1), 2)


def test_fixed_norms_by_brute_force_in_three_dimensions():
    """There the height of a uniform direction is uniform: the mean is sinh(c)/c with c = sqrt(3 L)."""
    for length in (0.5, 2.0):
        c = math.sqrt(3 * length)
        assert close(bias.fixed_norm_mean(length, 3), math.exp(-length / 2) * math.sinh(c) / c)
        twice = math.exp(-length) * math.sinh(2 * c) / (2 * c)
        wanted = twice - bias.fixed_norm_mean(length, 3) ** 2
        assert close(bias.fixed_norm_variance(length, 3, 1), wanted, 10.0)
    assert round(math.exp(0.36) * bias.fixed_norm_mean(1.44, 8), 3) == 1.370


def test_a_full_tilt_has_no_variance_and_none_has_the_plain_one():
    assert theory.tilted_square_variance(3.0, 2.0) == 0.0
    plain = theory.moment(theory.positive(0.7), 4) / theory.moment(theory.positive(0.7), 2) ** 2 - 1
    assert close(theory.tilted_square_variance(0.7, 0.0), plain, 100.0)


def test_chance_of_failing_is_that_of_simulated_tests():
    """Draws two million normals."""
    rng = np.random.default_rng(0)
    squares = np.expm1(math.sqrt(2) * rng.standard_normal((4000, 500)) - 1) ** 2 / math.expm1(2)
    simulated = float(np.mean(np.abs(squares.mean(axis=1) - 1) > 0.1))
    # Five deviations of a proportion of 4,000.
    assert abs(theory.naive_test_failure(2.0, 500, 0.1) - simulated) <= 5 * 0.5 / math.sqrt(4000)


def test_chance_of_failing_tends_to_the_normal_law():
    """At L = 0.1 the fourth moment is mild, and a million draws are many."""
    powers, draws, tolerance = theory.positive(0.1), 10**6, 0.002
    spread = math.sqrt(theory.squared_error_variance(powers, 1)) / theory.mean_squared_error(powers, 1)
    wanted = math.erfc(tolerance * math.sqrt(draws / 2) / spread)
    # Berry-Esseen's error is below 0.5 * skewness / sqrt(draws), and the skewness here below 40.
    assert abs(theory.naive_test_failure(0.1, draws, tolerance) - wanted) <= 0.5 * 40 / math.sqrt(draws)


def test_squared_errors_of_orthogonal_blocks_by_brute_force_in_four_dimensions():
    """The products of an orthonormal frame with a fixed direction are the coordinates of a uniform one."""
    length, d = 0.5, 4
    # A grid over directions in four dimensions, and the law of a projection's norm.
    x, weights = np.polynomial.legendre.leggauss(16)
    angle, weights = math.pi * (x + 1) / 2, math.pi / 2 * weights
    round_, turns = 2 * math.pi * np.arange(24) / 24, np.full(24, 2 * math.pi / 24)
    first, second, third = np.meshgrid(angle, angle, round_, indexing="ij")
    mass = np.einsum("i,j,k->ijk", weights * np.sin(angle) ** 2, weights * np.sin(angle), turns).ravel()
    mass /= mass.sum()
    coordinates = np.stack(
        [
            np.cos(first),
            np.sin(first) * np.cos(second),
            np.sin(first) * np.sin(second) * np.cos(third),
            np.sin(first) * np.sin(second) * np.sin(third),
        ]
    ).reshape(4, -1)
    norms = np.linspace(0, 12, 241)
    law = norms**3 * np.exp(-(norms**2) / 2)
    law /= law.sum()
    grid = np.linspace(-1, 1, 801)

    def moment(power: int) -> np.ndarray:
        """E[ratio^power] of one projection, given its coordinate."""
        at = np.exp(power * (math.sqrt(length) * grid[:, None] * norms - length / 2)) @ law
        return np.interp(coordinates, grid, at)

    moments = np.stack([np.ones_like(coordinates), *(moment(power) for power in (1, 2, 3, 4))])
    for m in (2, 3, 4):
        # The moments of a sum of independent numbers, by the product of their exponential series.
        series = np.zeros((5, mass.size))
        series[0] = 1
        for i in range(m):
            terms = [moments[power, i] / math.factorial(power) for power in range(5)]
            series = np.stack([sum(series[j] * terms[k - j] for j in range(k + 1)) for k in range(5)])
        one, two, three, four = (mass @ series[k] * math.factorial(k) / m**k for k in (1, 2, 3, 4))
        second = two - 2 * one + 1
        fourth = four - 4 * three + 6 * two - 4 * one + 1
        found = theory.squared_error_variance(theory.positive(length), m, orthogonal_in=d)
        assert found == pytest.approx(fourth - second**2, rel=1e-3)


def test_fixed_norms_of_an_orthogonal_frame_by_brute_force_in_three_dimensions():
    length = 0.8
    x, weights = np.polynomial.legendre.leggauss(24)
    turns = 2 * math.pi * np.arange(48) / 48
    height = np.repeat(x, 48)
    mass = np.repeat(weights, 48) / 96
    across = np.sqrt(1 - height**2)
    u = np.stack([height, across * np.cos(np.tile(turns, 24)), across * np.sin(np.tile(turns, 24))])
    ratios = np.exp(math.sqrt(3 * length) * u - length / 2)
    for m in (1, 2, 3):
        estimate = ratios[:m].mean(axis=0)
        wanted = mass @ estimate**2 - (mass @ estimate) ** 2
        assert bias.fixed_norm_variance(length, 3, m) == pytest.approx(wanted, rel=1e-9)


def test_the_normal_law_of_a_naive_test_has_the_variance_of_its_squares():
    length, draws, tolerance = 1.5, 1000, 0.3
    g = np.linspace(-14, 14, 20001)
    chance = np.exp(-(g**2) / 2) / np.sum(np.exp(-(g**2) / 2))
    squares = np.expm1(math.sqrt(length) * g - length / 2) ** 2
    mean = chance @ squares
    deviation = math.sqrt(chance @ (squares - mean) ** 2 / draws) / mean
    wanted = 2 * scipy.stats.norm.sf(tolerance / deviation)
    assert theory.naive_test_failure_if_normal(length, draws, tolerance) == pytest.approx(wanted, rel=1e-6)
