"""Laws of scores under any covariances of the keys: q . k_i ~ N(q . mu_i, q^T Sigma_i q) (claims D.6)."""

import numpy as np
from jaxtyping import Float


def score_laws(
    query: Float[np.ndarray, " d"], means: Float[np.ndarray, "s d"], covariances: Float[np.ndarray, "s d d"]
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]:
    """Means and variances of one query's scores of independent keys k_i ~ N(mu_i, Sigma_i).

    Raises:
        ValueError: if a covariance is not symmetric, or gives the score a negative variance.
    """
    if not np.array_equal(covariances, np.swapaxes(covariances, 1, 2)):
        raise ValueError("a covariance must be symmetric")
    variances = np.einsum("d,sde,e->s", query, covariances, query)
    if not np.all(variances >= 0):
        raise ValueError(f"a covariance must not give a negative variance, but one gives {variances.min()}")
    return means @ query, variances


def stretched_covariance(
    mean: Float[np.ndarray, " d"], *, variance: float, stretch: float
) -> Float[np.ndarray, "d d"]:
    """variance * I + stretch * mu mu^T, the covariance of the homework's noisy key."""
    return variance * np.eye(mean.size) + stretch * np.outer(mean, mean)


def product_variance(first: float, second: float, covariance: float) -> float:
    """Var(xy) for centred jointly normal x and y, from their variances and covariance.

    E[x^2 y^2] = Var(x) Var(y) + 2 Cov(x, y)^2.

    Source: Isserlis 1918.
    """
    return first * second + covariance**2
