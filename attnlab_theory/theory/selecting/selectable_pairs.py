"""How many faces the hull of n standard normal points in d dimensions has, exactly (docs/mathematics/selecting.md).

The hull is a random projection of the regular simplex with n vertices, up to an affine map. The mean number of
faces that survive a projection is a sum over faces of products of angles. Angles of regular simplices are orthant
probabilities of exchangeable normals: integrals in one dimension.
"""

import cmath
import functools
import math

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special


def share_of_faces(n: int, d: int, size: int) -> float:
    """Probability that `size` given points of n standard normal ones in d dimensions span a face of the hull.

    Points are in general position, so exactly then a query can select the subset. From d = n - 1 on it is 1.

    Source: Baryshnikov and Vitale 1994, "Regular simplices and Gaussian samples"; Affentranger and Schneider
    1992, "Random projections of regular simplices", formula (5); angles: Kabluchko and Zaporozhets 2020.
    """
    if d >= n - 1:
        return 1.0
    total = 0.0
    # Over faces with m vertices that hold the subset, m = d, d - 2, ...: the internal angle at the subset
    # times the external angle at the face.
    for m in range(d, size - 1, -2):
        total += math.comb(n - size, m - size) * orthant(m - size, -1 / m) * orthant(n - m, 1 / m)
    return 2 * total


def share_that_lead_themselves(n: int, d: int) -> float:
    """Probability that the first of n standard normal keys in d dimensions has the highest score under q = itself.

    Given its length r, it scores r^2, and the others score r times independent standard normals: E Phi(r)^(n - 1).

    Source: docs/mathematics/selecting.md#how-often-random-keys-can-be-averaged.
    """

    # Importing scipy.stats, which has the law of a length, would cost every command its time.
    constant = math.log(2) - d / 2 * math.log(2) - float(scipy.special.gammaln(d / 2))

    def at(r: float) -> float:
        density = float(np.exp(constant + scipy.special.xlogy(d - 1, r) - r**2 / 2))
        return math.exp((n - 1) * float(scipy.special.log_ndtr(r))) * density

    integral, _ = scipy.integrate.quad(at, 0, math.sqrt(d) + 12, epsabs=1e-12, limit=200)
    return integral


def least_share_of_corner_pairs(n: int, d: int) -> float:
    """A lower bound on the share of pairs that are corners of the hull of n standard normal points in d dimensions.

    With C corners, C (C - 1) of the n (n - 1) ordered pairs are. Given the mean of C, this is least if C is
    constant.

    Source: docs/mathematics/selecting.md#how-often-random-keys-can-be-averaged.
    """
    corners = n * share_of_faces(n, d, 1)
    return corners * (corners - 1) / (n * (n - 1))


@functools.cache
def orthant(n: int, covariance: float) -> float:
    """P(all n are negative) for normals of variance 1 + covariance and equal covariances.

    They are sqrt(covariance) times a common normal, plus independent ones. For a negative covariance the common one
    becomes imaginary, and the normal distribution function is continued to imaginary arguments. There the integral
    runs parallel to the real axis through the saddle, where nothing cancels.

    Args:
        n: how many.
        covariance: at least -1/n, where they add up to zero.

    Source: Kabluchko and Zaporozhets 2020, "Absorption probabilities for Gaussian polytopes and regular
        spherical simplices", proposition 1.4.
    """
    if not n * covariance:
        return 0.5**n
    # What is left of the normal density decays like exp(-decay x^2 / 2), or faster.
    decay = min(1.0, 1 + n * covariance)
    if decay < n * float(np.finfo(float).eps):
        return 0.0
    root = cmath.sqrt(covariance)
    saddle = _saddle(n * covariance) / root

    def integrand(x: float) -> float:
        at = saddle + x
        return cmath.exp(n * complex(scipy.special.log_ndtr(root * at)) - at * at / 2).real

    reach = 12 / math.sqrt(decay)
    integral, _ = scipy.integrate.quad(integrand, -reach, reach, epsabs=0, epsrel=1e-12, limit=400)
    return integral / math.sqrt(2 * math.pi)


def _saddle(strength: float) -> float:
    """The u with u = strength * phi(u) / Phi(u): where strength * log Phi(u) - u^2 / 2 is stationary."""

    def slope(u: float) -> float:
        # phi / Phi, in the form that neither overflows nor cancels.
        return u - strength * math.sqrt(2 / math.pi) / float(scipy.special.erfcx(-u / math.sqrt(2)))

    # phi / Phi falls, and is less than |u| + 1 / |u| for u < 0; a little further, for rounding.
    end = 1.001 * (strength if strength > 0 else -math.sqrt(-strength / (1 + strength)))
    return float(scipy.optimize.root_scalar(slope, bracket=sorted((0.0, end))).root)
