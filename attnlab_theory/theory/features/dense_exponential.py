r"""Dense exponential features: the parameters that suit given queries and keys, in closed form.

The features exp(w^T A w + w^T B x - |x|^2/2), B = (I - 4A)^(1/2), are unbiased for every symmetric A < I/8. Each
pair has a second moment: that of one projection's product, relative to exp(2 q.k). A minimises the **mean over
pairs of its logarithm**. The mean of the second moment itself has no closed form, and the worst pair dominates it.
In the basis where A = diag(a) the minimised mean is

    sum_i log(1 - 4 a_i) - log(1 - 8 a_i)/2 + M_ii / (1 - 8 a_i),      M = E[(q + k)(q + k)^T].

In a given basis each a_i is the best generalized exponential parameter in one dimension at length M_ii. The least
value is a concave function of M_ii. So no basis does better than the eigenvectors of M (Schur and Horn).
"""

import numpy as np
from jaxtyping import Float

Moments = Float[np.ndarray, "d d"]


def best_parameters(second_moment: Moments) -> tuple[Float[np.ndarray, " d"], Moments]:
    """The parameters a and the basis (columns) that minimise the mean logarithmic second moment.

    Args:
        second_moment: E[(q + k)(q + k)^T] over pairs of a query and a key, both scaled as the features see them.

    Returns:
        What `dense_exponential_features` takes; no a_i is positive.

    Raises:
        ValueError: if the matrix is not symmetric positive semidefinite, up to rounding.

    Source: Likhosherstov et al. 2023, "FAVOR#" (its SDERF).
    """
    lengths, basis = _spectrum(second_moment)
    lengths = np.maximum(lengths, 0.0)
    return (1 - 2 * lengths - np.sqrt((2 * lengths + 1) ** 2 + 8 * lengths)) / 16, basis


def _spectrum(matrix: Moments) -> tuple[Float[np.ndarray, " d"], Moments]:
    rounding = 64 * len(matrix) * np.finfo(np.float64).eps * float(np.max(np.abs(matrix), initial=0.0))
    if not np.max(np.abs(matrix - matrix.T), initial=0.0) <= rounding:
        raise ValueError("a second moment must be symmetric and finite")
    values, vectors = np.linalg.eigh(matrix)
    if not values[0] >= -rounding:
        raise ValueError(f"a second moment must be positive semidefinite, but has the eigenvalue {values[0]:.6g}")
    return values, vectors
