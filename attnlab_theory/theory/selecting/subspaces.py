"""The cost of extracting one summand of a sum, by the principal angles alone (docs/mathematics/selecting.md)."""

import numpy as np
from numpy.typing import ArrayLike


def extractor_norm(angles: ArrayLike) -> float:
    r"""2-norm of the matrix that extracts v_a from v_a + v_b: 1 / sin(theta_min).

    In the plane of the i-th pair of principal vectors the matrix projects onto one line, along another at angle
    theta_i. Such a projection has the single singular value 1/sin(theta_i).

    Args:
        angles: the principal angles, in radians.

    Source: docs/mathematics/selecting.md; Ipsen and Meyer 1995, "The angle between complementary subspaces".
    """
    return float(1 / np.sin(np.min(np.asarray(angles, dtype=np.float64))))


def blend_noise(angles: ArrayLike, m: int, n: int, noise: float, blend: float) -> tuple[float, float]:
    r"""Mean and variance of ||M (v_a + v_b + e) - v_a||^2 for M = blend * extractor + (1 - blend) A A^T.

    v_b has coordinates N(0, 1/n) in an orthonormal basis of B, so E||v_b||^2 = 1, and e ~ N(0, noise^2 I). Along
    the principal vectors of A the errors are Gaussian and independent. The i-th has the variance (1 - blend)^2
    cos^2(theta_i)/n + noise^2 (1 + blend^2 cot^2(theta_i)). The first term is the part of v_b that gets through,
    the second the noise times the squared length of that row of M. So the squared error is a Gaussian quadratic
    form. At blend 1 the mean is noise^2 ||M||_F^2 = noise^2 sum 1/sin^2(theta_i).

    Args:
        angles: the principal angles, in radians; min(m, n) of them.
        m: dimension of the subspace A that is kept.
        n: dimension of the other, B.
        noise: standard deviation of each coordinate.
        blend: 1 for the exact extractor, 0 for A A^T.

    Source: docs/mathematics/selecting.md.
    """
    theta = np.asarray(angles, dtype=np.float64)
    eigenvalues = np.full(m, float(noise) ** 2)
    eigenvalues[: theta.size] += (1 - blend) ** 2 * np.cos(theta) ** 2 / n + (noise * blend / np.tan(theta)) ** 2
    return float(np.sum(eigenvalues)), float(2 * np.sum(eigenvalues**2))


def projector_error(angles: ArrayLike, n: int) -> float:
    r"""||A^T v_b|| for the unit vector v_b that lies equally along every principal vector of B.

    Args:
        angles: the principal angles, in radians.
        n: dimension of B.

    Source: docs/mathematics/selecting.md.
    """
    return float(np.sqrt(np.sum(np.cos(np.asarray(angles, dtype=np.float64)) ** 2) / n))


def common_vector_error() -> float:
    """The least worst-case error of any matrix on a unit vector common to A and B: 1/2.

    M v must be v if v is the summand in A, and 0 if it is the summand in B. But ||M v - v|| + ||M v|| >= ||v||. So
    the larger of the two errors is at least 1/2, with equality for M v = v/2.

    Source: docs/mathematics/selecting.md.
    """
    return 0.5
