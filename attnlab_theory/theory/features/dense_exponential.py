r"""Dense exponential features: the parameters that suit given queries and keys, in closed form.

The features exp(w^T A w + w^T B x - |x|^2/2), B = (I - 4A)^(1/2), are unbiased for every symmetric A < I/8. What
is minimised over A is the **mean over pairs of the logarithm of the second moment** of one projection's product,
relative to exp(2 q.k); the mean of the second moment itself has no closed form, and is ruled by its worst pair. In
the basis where A = diag(a) it is

    sum_i log(1 - 4 a_i) - log(1 - 8 a_i)/2 + M_ii / (1 - 8 a_i),      M = E[(q + k)(q + k)^T].

For a given basis each a_i is the best generalized exponential parameter in one dimension at length M_ii. The least
value is a concave function of M_ii, so that (Schur and Horn) no basis does better than the eigenvectors of M.
"""

import numpy as np
from jaxtyping import Float

Moments = Float[np.ndarray, "d d"]


def pair_second_moment(q: Float[np.ndarray, "t d"], k: Float[np.ndarray, "s d"]) -> Moments:
    """E[(q + k)(q + k)^T] over all pairs of a query and a key, from their second moments and means.

    Args:
        q: queries, scaled as the features will see them.
        k: keys, scaled likewise.
    """
    cross = np.outer(q.mean(axis=0), k.mean(axis=0))
    return q.T @ q / len(q) + k.T @ k / len(k) + cross + cross.T


def best_parameters(second_moment: Moments) -> tuple[Float[np.ndarray, " d"], Moments]:
    """The parameters a and the basis (columns) that minimise the mean logarithmic second moment.

    Args:
        second_moment: E[(q + k)(q + k)^T], as from `pair_second_moment`.

    Returns:
        What `dense_exponential_features` takes; no a_i is positive.

    Raises:
        ValueError: if the matrix is not symmetric positive semidefinite, up to rounding.

    Source: Likhosherstov et al. 2023, "FAVOR#" (its SDERF).
    """
    lengths, basis = _spectrum(second_moment)
    lengths = np.maximum(lengths, 0.0)
    return (1 - 2 * lengths - np.sqrt((2 * lengths + 1) ** 2 + 8 * lengths)) / 16, basis


def mean_log_second_moment(second_moment: Moments, a: Float[np.ndarray, " d"], basis: Moments) -> float:
    """What `best_parameters` minimises, at any parameters: 0 is an estimate without variance."""
    lengths = np.einsum("di,de,ei->i", basis, second_moment, basis)
    return float(np.sum(np.log(1 - 4 * a) - np.log(1 - 8 * a) / 2 + lengths / (1 - 8 * a)))


def balancing_map(q_moment: Moments, k_moment: Moments) -> Moments:
    """The symmetric S for which queries S q and keys S^-1 k, of the same products, are shortest on average.

    It minimises E|S q|^2 + E|S^-1 k|^2: S^2 is the geometric mean of the inverse second moment of q and that of k.
    With one parameter a for all directions this is also the least mean logarithmic second moment over all S.

    Args:
        q_moment: E[q q^T], positive definite.
        k_moment: E[k k^T], positive definite.

    Raises:
        ValueError: if one of them is not symmetric positive definite.

    Source: Likhosherstov et al. 2023, "FAVOR#" (its ADERF), derived here by the geometric mean.
    """
    for name, matrix in {"q_moment": q_moment, "k_moment": k_moment}.items():
        if not _spectrum(matrix)[0][0] > 0:
            raise ValueError(f"{name} must be positive definite: some direction holds no queries or no keys")
    half = _power(q_moment, 0.5)
    inverse_half = _power(q_moment, -0.5)
    return _power(inverse_half @ _power(half @ k_moment @ half, 0.5) @ inverse_half, 0.5)


def _power(matrix: Moments, exponent: float) -> Moments:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.maximum(values, 0.0) ** exponent) @ vectors.T


def _spectrum(matrix: Moments) -> tuple[Float[np.ndarray, " d"], Moments]:
    rounding = 64 * len(matrix) * np.finfo(np.float64).eps * float(np.max(np.abs(matrix), initial=0.0))
    if not np.max(np.abs(matrix - matrix.T), initial=0.0) <= rounding:
        raise ValueError("a second moment must be symmetric and finite")
    values, vectors = np.linalg.eigh(matrix)
    if not values[0] >= -rounding:
        raise ValueError(f"a second moment must be positive semidefinite, but has the eigenvalue {values[0]:.6g}")
    return values, vectors
