r"""Errors of random-feature estimates of exp(x . y), in closed form (docs/mathematics/features.md).

An estimate is the mean over m projections w of products f(w), each scaled here by exp(-x . y): all have
expectation one, and every error is relative. With z = x + y, L = |z|^2 and D = |x - y|^2 (so that
exp(x . y) = e^((L - D)/4)) the law of f depends on L alone, or on D alone for trigonometric features.

An estimator is described by its `Powers`: E f^k, k = 1..4, is a sum of e^(height + rate). For independent
projections that is enough. For orthogonal ones, directions are Haar and norms chi. Then term n of the series of
e^rate in each factor is multiplied by (d)_n = d (d+2) ... (d+2n-2), and the product of terms n_1, n_2, ... is
divided by (d)_(n_1+n_2+...).
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
import scipy.special

Powers = tuple[tuple[tuple[float, float], ...], ...]
"""For k = 1, 2, 3, 4, pairs (height, rate): E f^k = sum of exp(height + rate)."""


def trigonometric(difference: float) -> Powers:
    """f = e^(D/2) cos(w.(x-y)), at D = `difference`; relative variance cosh D - 1."""
    return _cosines(-difference)


def hyperbolic(length: float) -> Powers:
    """f = e^(-L/2) cosh(w.z), at L = `length`; relative variance cosh L - 1."""
    return _cosines(length)


def positive(length: float) -> Powers:
    """f = e^(w.z - L/2), at L = `length`; relative variance e^L - 1."""
    return generalized(length, 1, 0.0)


def generalized(length: float, d: int, a: float) -> Powers:
    """f = (1-4a)^(d/2) exp(2a |w|^2 + sqrt(1-4a) w.z - L/2).

    E f^k is infinite where 4 k a >= 1. For 1/8 <= a < 1/4 the estimate is unbiased, and its variance is infinite.
    """
    return dense([length, *[0.0] * (d - 1)], [a] * d)


def dense(squares: Sequence[float], parameters: Sequence[float]) -> Powers:
    """f of dense exponential features: squared coordinates of z in the features' basis, and their parameters a_i.

    Only where all parameters are equal does the law of orthogonal projections apply.
    """
    squares_, a = np.asarray(squares, np.float64), np.asarray(parameters, np.float64)
    powers = []
    for k in (1, 2, 3, 4):
        left = 1 - 4 * k * a
        if np.min(left) <= 0:
            powers.append(((math.inf, 0.0),))
            continue
        height = float(np.sum(k * np.log(1 - 4 * a) - np.log(left)) / 2 - k * np.sum(squares_) / 2)
        powers.append(((height, float(np.sum(k**2 * (1 - 4 * a) * squares_ / (2 * left)))),))
    return tuple(powers)


def _cosines(length: float) -> Powers:
    """Powers of e^(-L/2) cosh(w.z), as sums of cosh(j w.z), whose mean is e^(j^2 L/2); cosines for L < 0."""
    sums = ([(1, 1)], [(1 / 2, 0), (1 / 2, 2)], [(3 / 4, 1), (1 / 4, 3)], [(3 / 8, 0), (1 / 2, 2), (1 / 8, 4)])
    return tuple(
        tuple((math.log(share) - k * length / 2, j**2 * length / 2) for share, j in sums[k - 1])
        for k in (1, 2, 3, 4)
    )


def moment(powers: Powers, k: int) -> float:
    """E f^k, k = 1..4; infinite past float64."""
    with np.errstate(over="ignore"):
        return float(np.sum(np.exp([height + rate for height, rate in powers[k - 1]])))


def mixed_moment(powers: Powers, ks: tuple[int, ...], d: int) -> float:
    """E of the product of f(w_i)^(k_i) over orthogonal projections w_i with independent chi norms.

    The series of trigonometric features alternates: its rounding grows as the exponential of the rates.

    Raises:
        ValueError: if there are more projections than dimensions.

    Source: the moments of a uniform direction, E prod u_i^(2 n_i) = prod (1)_(n_i) / (d)_(n_1 + n_2 + ...).
    """
    if len(ks) > d:
        raise ValueError(f"{len(ks)} orthogonal projections do not fit in {d} dimensions")
    reach = sum(max(abs(rate) for _, rate in powers[k - 1]) for k in ks)
    n = np.arange(40 + int(4 * reach))
    log_rising = n * math.log(2) + scipy.special.gammaln(d / 2 + n) - scipy.special.gammaln(d / 2)
    # Powers of `unit` keep every term in range; they cancel at the end.
    unit = math.log(2 * (n.size + d))
    product = np.ones(1)
    for k in ks:
        series = np.zeros(n.size)
        for height, rate in powers[k - 1]:
            size = scipy.special.xlogy(n, abs(rate)) + log_rising - n * unit - scipy.special.gammaln(n + 1)
            series += np.sign(rate) ** n * np.exp(height + size)
        product = np.convolve(product, series)[: n.size]
    return float(np.sum(product * np.exp(n * unit - log_rising)))


def orthogonal_covariance(powers: Powers, d: int) -> float:
    """Cov(f(w_1), f(w_2)) for orthogonal projections, in closed form: nothing cancels, whatever the rate's sign.

    Source: docs/mathematics/features.md for positive features. Hyperbolic ones go the same way. The double sum over
    (d/2)_a (d/2)_b / (a! b! (d/2)_(a+b)) is confluent hypergeometric, by Vandermonde's identity.
    """
    ((height, rate),) = powers[0]
    root = math.exp(height)
    return root * float(scipy.special.hyp1f1(d, d / 2, rate)) * root - 1


def published_orthogonal_covariance(length: float, d: int) -> float:
    """A published upper bound on that of positive features: -2/(d+2) (1 - e^(-L/2))^2.

    Source: Choromanski et al. 2021, "Rethinking attention with performers", theorem 2.
    """
    return -2 / (d + 2) * math.expm1(-length / 2) ** 2


def mean_squared_error(powers: Powers, m: int, *, orthogonal_in: int | None = None) -> float:
    """E (estimate - 1)^2 from m projections.

    Args:
        powers: of the estimator.
        m: projections; trigonometric and hyperbolic estimators make 2m features of them.
        orthogonal_in: None for independent projections; the width d for blocks of d orthogonal ones.
    """
    pairs = sum(times * block * (block - 1) for block, times in _blocks(m, orthogonal_in).items())
    saved = pairs * orthogonal_covariance(powers, orthogonal_in) if orthogonal_in else 0.0
    return (moment(powers, 2) - 1) / m + saved / m**2


def squared_error_variance(powers: Powers, m: int, *, orthogonal_in: int | None = None) -> float:
    """Var (estimate - 1)^2. It is infinite if the fourth moment is.

    Args:
        powers: of the estimator.
        m: projections; trigonometric and hyperbolic estimators make 2m features of them.
        orthogonal_in: None for independent projections; the width d for blocks of d orthogonal ones.
    """
    if moment(powers, 4) == math.inf:
        return math.inf
    size, fourth, squares = orthogonal_in or 1, 0.0, 0.0
    # Independent blocks of mean zero: of fourth powers only pairs of squares survive.
    for block, times in _blocks(m, orthogonal_in).items():
        fourth += times * (block / m) ** 4 * _fourth_moment_of_block(powers, block, size)
        squares += times * ((block / m) ** 2 * mean_squared_error(powers, block, orthogonal_in=size)) ** 2
    return fourth - 3 * squares + 2 * mean_squared_error(powers, m, orthogonal_in=orthogonal_in) ** 2


def _blocks(m: int, d: int | None) -> dict[int, int]:
    """How many blocks of orthogonal projections have each size. Independent projections are blocks of one."""
    size = d or 1
    return {block: times for block, times in ((size, m // size), (m % size, 1)) if block and times}


@functools.cache
def _fourth_moment_of_block(powers: Powers, m: int, d: int) -> float:
    """The fourth central moment of the mean of m orthogonal products. Counts which factors share a projection."""

    def expected(*ks: int) -> float:
        ways = math.perm(m, len(ks))
        return 0.0 if not ways else ways * (moment(powers, ks[0]) if len(ks) == 1 else mixed_moment(powers, ks, d))

    second = (expected(2) + expected(1, 1)) / m**2
    third = (expected(3) + 3 * expected(2, 1) + expected(1, 1, 1)) / m**3
    fourth = (
        expected(4) + 4 * expected(3, 1) + 3 * expected(2, 2) + 6 * expected(2, 1, 1) + expected(1, 1, 1, 1)
    ) / m**4
    return fourth - 4 * third + 6 * second - 3


def tilted_square_variance(length: float, tilt: float) -> float:
    """Variance of the squared positive product, divided by its mean e^L, when w ~ N(tilt z, I) is reweighted.

    At tilt 2 there is none; at tilt 0, plain draws, it is e^(4L) - 1.
    """
    return math.expm1((2 - tilt) ** 2 * length)


def naive_test_failure_if_normal(length: float, draws: int, tolerance: float) -> float:
    """The same by the central limit theorem: the mean is taken as normal, with the variance of a squared error.

    Args:
        length: L = |x + y|^2.
        draws: how many squared errors are averaged.
        tolerance: relative to their mean.
    """
    deviation = math.sqrt(squared_error_variance(positive(length), 1) / draws) / math.expm1(length)
    return math.erfc(tolerance / deviation / math.sqrt(2))


@functools.cache
def naive_test_failure(length: float, draws: int, tolerance: float) -> float:
    """P(the mean of `draws` squared errors of one positive product is off by more than a relative `tolerance`).

    By Gil-Pelaez's inversion of the characteristic function of the sum.

    Source: Gil-Pelaez 1951, "Note on the inversion theorem".
    """
    mean = math.expm1(length)
    g = np.linspace(-12, 12, 6001)
    chance = np.exp(-(g**2) / 2)
    chance /= chance.sum()
    squares = np.expm1(math.sqrt(length) * g - length / 2) ** 2 / mean
    # In units of the mean: below t_low the integrand has its limit, beyond t_high the function has died away.
    t = np.exp(np.linspace(math.log(1e-4), math.log(1e4), 3000))
    share = np.array([np.sum(chance * np.exp(1j * x * squares / draws)) for x in t]) ** draws
    below = [
        0.5 - float(np.trapezoid(np.imag(np.exp(-1j * t * edge) * share), np.log(t))) / math.pi
        for edge in (1 - tolerance, 1 + tolerance)
    ]
    return 1 - (below[1] - below[0])
