"""Which weights a query can reach, by entropy alone: no query is searched for.

See docs/mathematics/selecting.md.
"""

import math
from collections.abc import Sequence

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.special


def mixture_cap(mixture: Sequence[float]) -> float:
    """The largest weight any query gives to a key that is the mixture sum_i lambda_i k_i of other keys.

    Its score is the same mixture of their scores, z = sum lambda_i z_i. So by Jensen's inequality
    sum_i e^{z_i - z} = sum_i lambda_i e^{z_i - z - ln lambda_i} >= e^{H(lambda)}. Equality holds at
    z_i = z + ln lambda_i + H. Its weight is at most 1 / (1 + e^{H(lambda)}).

    Source: docs/mathematics/selecting.md.
    """
    shares = np.asarray(mixture, dtype=np.float64)
    positive = shares[shares > 0]
    return float(1 / (1 + np.exp(-np.sum(positive * np.log(positive)))))


def most_entropy(keys: np.ndarray, weights: np.ndarray) -> float:
    """The largest entropy, in nats, of any weights with the same mean key as the given ones.

    This is a concave programme over the weights themselves. No query occurs in it. By strong duality it checks
    whatever finds a query.

    Raises:
        ArithmeticError: if the programme does not converge.
    """
    n = len(keys)
    equal = np.vstack([(keys - weights @ keys).T, np.ones(n)])
    # Weights that are zero in every feasible point have infinite slope: find them, and a start where no
    # other is zero, by asking for the most that each can be.
    most = [
        scipy.optimize.linprog(-np.eye(n)[j], A_eq=equal, b_eq=equal @ weights, bounds=(0, 1)).x for j in range(n)
    ]
    free = np.array([most[j][j] > 1e-9 for j in range(n)])
    # The average of feasible points is feasible only up to the solver's 1e-7: correct it, then stay in
    # the null space of the constraints.
    point = np.mean(most, axis=0)[free]
    point = point + np.linalg.pinv(equal[:, free]) @ (equal @ weights - equal[:, free] @ point)
    ways = scipy.linalg.null_space(equal[:, free])
    decrement = math.inf
    for _ in range(200):
        slope = ways.T @ (1 + np.log(point))
        step = (
            ways @ np.linalg.solve(ways.T @ (ways / point[:, None]), -slope) if ways.size else np.zeros_like(point)
        )
        decrement = math.sqrt(float(np.sum(step**2 / point)))
        if decrement < 1e-9:
            return float(np.sum(scipy.special.entr(point + step)))
        # The entropy of a negative weight is -inf here, so halving the step keeps every weight positive too.
        length, entropy = 1.0, float(np.sum(scipy.special.entr(point)))
        while (
            np.sum(scipy.special.entr(point + length * step)) < entropy + length * decrement**2 / 4 - 1e-15
            and length > 1e-12
        ):
            length /= 2
        point = point + length * step
    raise ArithmeticError(f"the entropy programme did not converge: a decrement of {decrement:g} is left")


def least_divergence(keys: np.ndarray, weights: np.ndarray) -> float:
    """min over q of KL(weights | softmax(keys q)), in nats: the entropy that the weights lack.

    The dual of the minimisation over q is to maximise the entropy over weights with the same mean key.

    Source: docs/mathematics/selecting.md; Cover and Thomas 2006, "Elements of information theory", section 12.1.
    """
    entropy = -float(np.sum(scipy.special.xlogy(weights, weights)))
    return max(0.0, most_entropy(keys, weights) - entropy)


def subset_fidelity(keys: np.ndarray, subset: Sequence[int]) -> float:
    """The largest geometric mean, over a subset S, of |S| times its weights. It is 1 if the subset can be averaged.

    It is e^{-KL} for the uniform law on the subset.
    """
    wanted = np.zeros(len(keys))
    wanted[list(subset)] = 1 / len(subset)
    return math.exp(-least_divergence(keys, wanted))
