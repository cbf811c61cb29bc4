"""The error of a Gaussian sketch of attention's matrix, and the least error of any matrix of low rank.

P is n x n, and R is r x n with independent entries N(0, 1/r). Norms are Frobenius norms.
"""

import math

import scipy.special


def product_error(r: int, product_square: float, matrix_square: float, vector_square: float) -> float:
    """E |P R^T R w - P w|^2 = (|P w|^2 + |P|^2 |w|^2) / r.

    Each of r independent rows g of sqrt(r) R adds P g (g.w). Its mean is P w, and its second moment
    2 |P w|^2 + |P|^2 |w|^2 (Isserlis). The mean of r of them has a variance r times smaller.

    Args:
        r: rows of the sketch.
        product_square: |P w|^2.
        matrix_square: |P|^2.
        vector_square: |w|^2.
    """
    return (product_square + matrix_square * vector_square) / r


def product_error_variance(
    r: int, product_square: float, rest_square: float, rest_fourth: float, overlap: float = 0.0
) -> float:
    """The variance of |P R^T R w - P w|^2 for a unit vector w.

    With B = P (I - w w^T) the error is P w (s/r - 1) + sqrt(s)/r B xi. Here s is chi-squared with r degrees of
    freedom, and xi is a normal vector, independent of s. The variance follows from four moments of s and two of |B
    xi|^2.

    Args:
        r: rows of the sketch.
        product_square: |P w|^2.
        rest_square: |B|^2.
        rest_fourth: |B B^T|^2.
        overlap: |B^T P w|^2.

    Source: docs/mathematics/sparse.md#a-sketched-product.
    """
    mean = product_error(r, product_square, product_square + rest_square, 1.0)
    square = (
        product_square**2 * (12 / r**2 + 48 / r**3)
        + (4 * overlap + 2 * product_square * rest_square) * (2 + 8 / r) / r**2
        + (r + 2) / r**3 * (rest_square**2 + 2 * rest_fourth)
    )
    return float(square - mean**2)


def sharp_product_variance(n: int, beta: float, r: int) -> float:
    """The same for P = softmax(beta I) and the vector w of equal entries: P w = w, and B has one eigenvalue."""
    square = sharp_eigenvalue(n, beta) ** 2
    return product_error_variance(r, 1.0, (n - 1) * square, (n - 1) * square**2)


def sharp_matrix_variance(n: int, beta: float, r: int) -> float:
    """The variance of |P R^T R - P|^2 / |P|^2 for P = softmax(beta I).

    In eigenvectors of P it is a sum over columns of R^T R - I, weighted by squared eigenvalues. Columns have one
    variance, which is `product_error_variance` of the identity, and one covariance. The covariance follows from the
    variance of the sum of all columns, tr (R^T R - I)^2, by the moments of a Wishart matrix.

    Source: docs/mathematics/sparse.md#a-sketched-matrix.
    """
    of_column = product_error_variance(r, 1.0, n - 1.0, n - 1.0)
    of_sum = (
        4 * n * (2 * n**2 + 2 * r**2 + 5 * n * r + 5 * n + 5 * r + 5) / r**3
        - 16 * n * (n + r + 1) / r**2
        + 8 * n / r
    )
    of_pair = (of_sum - n * of_column) / (n * (n - 1))
    square = sharp_eigenvalue(n, beta) ** 2
    total, squares = 1 + (n - 1) * square, 1 + (n - 1) * square**2
    return (of_column * squares + of_pair * (total**2 - squares)) / total**2


def matrix_error(n: int, r: int) -> float:
    """E |P R^T R - P|^2 / |P|^2 = (n + 1) / r: `product_error` summed over the unit vectors w."""
    return (n + 1) / r


def sharp_matrix_square(n: int, beta: float) -> float:
    """|P|^2 where every position looks at itself with strength beta: softmax of beta times the identity.

    Between 1 (beta = 0: every position looks everywhere) and n (beta large: P is the identity).
    """
    rest = math.exp(-beta)
    return n * (1 + (n - 1) * rest**2) / (1 + (n - 1) * rest) ** 2


def sharp_eigenvalue(n: int, beta: float) -> float:
    """(e^beta - 1) / (e^beta + n - 1), the n - 1 eigenvalues of softmax(beta I) besides 1."""
    rest = math.exp(-beta)
    return (1 - rest) / (1 + (n - 1) * rest)


def sharp_rank_error(n: int, beta: float, r: int) -> float:
    """The least |P - Q|^2 / |P|^2 over Q of rank r, for the same P.

    P is symmetric with eigenvalues 1, once, and `sharp_eigenvalue`, n - 1 times (Eckart and Young).
    """
    small = sharp_eigenvalue(n, beta)
    return (n - r) * small**2 / (1 + (n - 1) * small**2)


def rank_of_degree(d: int, degree: int) -> int:
    """The rank of a polynomial of the given degree in inner products of d coordinates: its count of monomials."""
    return math.comb(d + degree, degree)


def polynomial_error(peak: float, degree: int) -> float:
    """A bound on |P - Q| for some Q of rank `rank_of_degree`, whatever queries and keys with scores |z| <= peak.

    Q replaces e^z by its Taylor polynomial under the same normalizers. An entry errs by at most the tail over a
    normalizer of at least n e^-peak. There are n^2 entries.
    """
    # The tail is e^peak times the regularized incomplete gamma function.
    return math.exp(2 * peak) * float(scipy.special.gammainc(degree + 1, peak))


def promised_rows(n: int, epsilon: float) -> int:
    """The rows at which Linformer's theorem 1 promises |P R^T R w - P w| <= epsilon |P w| with high probability.

    Source: Wang et al. 2020, "Linformer", theorem 1: k = 5 log(n) / (epsilon^2 - epsilon^3).
    """
    return math.ceil(5 * math.log(n) / (epsilon**2 - epsilon**3))
