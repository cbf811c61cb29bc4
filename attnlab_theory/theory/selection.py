"""Which weights a query can reach (claims B.3), from entropy and from nothing that looks for a query."""

import math
from collections.abc import Sequence

import numpy as np
import scipy.optimize
import scipy.special


def mixture_cap(mixture: Sequence[float]) -> float:
    """The largest weight any query gives to a key that is the mixture sum_i lambda_i k_i of other keys.

    Its score is the same mixture of theirs, z = sum lambda_i z_i, so by Jensen sum_i e^{z_i - z} =
    sum_i lambda_i e^{z_i - z - ln lambda_i} >= e^{H(lambda)}, with equality at z_i = z + ln lambda_i + H.
    Its weight is at most 1 / (1 + e^{H(lambda)}).

    Source: claims B.3.
    """
    shares = np.asarray(mixture, dtype=np.float64)
    positive = shares[shares > 0]
    return float(1 / (1 + np.exp(-np.sum(positive * np.log(positive)))))


def most_entropy(keys: np.ndarray, weights: np.ndarray) -> float:
    """The largest entropy, in nats, of any weights with the same mean key as the given ones.

    A concave programme over the weights themselves: it never sees a query, and so checks, by strong
    duality, whatever found one.

    Raises:
        ArithmeticError: if the programme does not converge.
    """
    n = len(keys)
    centred = keys - weights @ keys
    # Independent constraints only: the optimiser's inner system must not be singular.
    _, sizes, rows = np.linalg.svd(np.vstack([centred.T, np.ones(n)]))
    rows = rows[: int(np.sum(sizes > 1e-12 * sizes[0]))]
    solved = scipy.optimize.minimize(
        lambda r: float(np.sum(scipy.special.xlogy(r, r))),
        np.asarray(weights, dtype=np.float64),
        jac=lambda r: 1 + np.log(np.maximum(r, 1e-300)),
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda r: rows @ (r - weights), "jac": lambda r: rows},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    if not solved.success:
        raise ArithmeticError(f"the entropy programme did not converge: {solved.message}")
    return -float(solved.fun)


def least_divergence(keys: np.ndarray, weights: np.ndarray) -> float:
    """min over q of KL(weights | softmax(keys q)), in nats: what entropy the weights lack.

    The dual of the minimisation over q is to maximise the entropy over weights with the same mean key.

    Source: claims B.3; Cover and Thomas 2006, "Elements of information theory", section 12.1.
    """
    entropy = -float(np.sum(scipy.special.xlogy(weights, weights)))
    return max(0.0, most_entropy(keys, weights) - entropy)


def subset_fidelity(keys: np.ndarray, subset: Sequence[int]) -> float:
    """The best geometric mean, over a subset, of |S| times its weights: 1 where the subset can be averaged.

    It is e^{-KL} for the uniform law on the subset.
    """
    wanted = np.zeros(len(keys))
    wanted[list(subset)] = 1 / len(subset)
    return math.exp(-least_divergence(keys, wanted))
