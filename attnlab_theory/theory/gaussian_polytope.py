"""How many faces the hull of n standard normal points in d dimensions has, exactly (claims B.3).

The hull is, up to an affine map, a random projection of the regular simplex with n vertices, and the mean
number of faces that survive a projection is a sum over faces of products of angles. Angles of regular
simplices are orthant probabilities of exchangeable normals: integrals in one dimension.
"""

import functools
import math

import scipy.integrate
import scipy.special


def share_of_faces(n: int, d: int, size: int) -> float:
    """Probability that `size` given ones of n standard normal points in d dimensions span a face of the hull.

    Points are in general position, so a query can select the subset exactly then. 1 from d = n - 1 on.

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


@functools.cache
def orthant(n: int, covariance: float) -> float:
    """P(all n are negative) for normals of variance 1 + covariance and equal covariances.

    They are sqrt(covariance) times a common normal plus independent ones; for a negative covariance the
    common one becomes imaginary, and the normal distribution function is continued to imaginary arguments.

    Args:
        n: how many.
        covariance: at least -1/n, where they add up to zero.

    Source: Kabluchko and Zaporozhets 2020, "Absorption probabilities for Gaussian polytopes and regular
        spherical simplices", proposition 1.4.
    """
    if n == 0:
        return 1.0
    root = math.sqrt(abs(covariance))

    def real(x: float) -> float:
        return float(scipy.special.ndtr(root * x)) ** n * math.exp(-x * x / 2)

    def imaginary(x: float) -> float:
        # Phi(iy) = 1/2 + i e^{y^2/2} dawson(y / sqrt 2) / sqrt(pi); e^{y^2/2} is taken out of the n-th
        # power and into the normal density, where the two cancel instead of overflowing.
        y = root * x
        phase = complex(math.exp(-y * y / 2) / 2, float(scipy.special.dawsn(y / math.sqrt(2))) / math.sqrt(math.pi))
        return (phase**n).real * math.exp((n * y * y - x * x) / 2)

    # What is left of the normal density decays like exp(-x^2 (1 - n |covariance|) / 2).
    decay = 1.0 if covariance >= 0 else max(1 + n * covariance, 1e-4)
    reach = 12 / math.sqrt(decay)
    integral, _ = scipy.integrate.quad(
        real if covariance >= 0 else imaginary, -reach, reach, epsabs=1e-13, epsrel=1e-12, limit=400
    )
    return integral / math.sqrt(2 * math.pi)
