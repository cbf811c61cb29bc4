"""What the queries submitted for UW's four keys do to the weights (docs/mathematics/selecting.md)."""

import math
from collections.abc import Sequence

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special


def weights(keys: np.ndarray, query: np.ndarray) -> np.ndarray:
    """softmax(keys query), in float64."""
    return scipy.special.softmax(keys @ query)


def grown_weights(keys: np.ndarray, direction: np.ndarray, strengths: Sequence[float]) -> np.ndarray:
    """The weights at every strength, by a differential equation that starts with equal weights at strength 0.

    A weight grows at the rate by which its score z_i = k_i . x exceeds the mean score under the weights:
    d alpha_i / dS = alpha_i (z_i - sum_j alpha_j z_j). No exponential is taken. Weights are exact to GROWN.

    Args:
        direction: the query x at strength 1.
        strengths: rising, and positive.

    Returns:
        A row of weights for every strength.

    Raises:
        ArithmeticError: if the equation could not be solved.

    Source: docs/mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework.
    """
    scores = keys @ direction
    solved = scipy.integrate.solve_ivp(
        lambda _, weights: weights * (scores - weights @ scores),
        (0.0, strengths[-1]),
        np.full(len(keys), 1 / len(keys)),
        method="LSODA",
        t_eval=strengths,
        rtol=1e-11,
        atol=1e-13,
    )
    if not (solved.success and np.all(np.isfinite(solved.y))):
        raise ArithmeticError(f"the weights did not grow to strength {strengths[-1]:g}: {solved.message}")
    return solved.y.T


GROWN = 1e-9
"""The error of `grown_weights`: a hundred times the tolerance of a step. Errors shrink where weights settle."""


def share_of_the_longer(keys: np.ndarray, strength: float) -> float:
    """The share of the second of two keys in the weight of both, when the query is `strength` times their mean.

    (k_2 - k_1) . (k_1 + k_2) / 2 = (|k_2|^2 - |k_1|^2) / 2. So only their lengths matter.

    Source: docs/mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework.
    """
    first, second = (float(np.sum(key**2)) for key in keys[:2])
    return float(scipy.special.expit(strength * (second - first) / 2))


def pair_bound(margin: float) -> float:
    """How far a weight can be from equal shares. Two of four keys tie, and lead the other two by `margin`.

    Relative to the two, the others weigh a and b, each at most x = e^-margin. The wanted weights are 1 / (2 + a +
    b). They are too small by (a + b) / 2 of themselves, and the others are a and b times as large. All are off by
    at most x / (2 + x).

    Source: docs/mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework.
    """
    x = math.exp(-margin)
    return x / (2 + x)


def furthest_from_even(keys: np.ndarray, query: np.ndarray, wanted: Sequence[int]) -> float:
    """The largest difference of a weight from an equal share of the wanted keys."""
    even = np.zeros(len(keys))
    even[list(wanted)] = 1 / len(wanted)
    return float(np.max(np.abs(weights(keys, query) - even)))


def even_bound(keys: np.ndarray, query: np.ndarray) -> float:
    """The furthest that weights can be from equal, when scores span `range`: (e^range - 1) / n.

    With n keys, e^{-range} / n <= weight <= e^{range} / n, and 1 - e^{-r} <= e^r - 1.
    """
    return math.expm1(float(np.ptp(keys @ query))) / len(keys)


def pair_query(keys: np.ndarray, norm: float) -> np.ndarray:
    """The query of norm 1 that scores the first two of four keys alike, and leads the others by most.

    For the 2-norm, project along the difference of the two keys. The best direction is the shortest vector from the
    origin to the segment between the two remaining gaps. For the maximum norm it is a linear programme.

    Raises:
        ValueError: if the norm is neither 2 nor infinity.
    """
    if norm == math.inf:
        equal = np.append(keys[0] - keys[1], 0.0)[None, :]
        below = np.hstack([keys[2:] - keys[0], np.ones((2, 1))])
        box = [(-1.0, 1.0)] * keys.shape[1]
        cost = np.append(np.zeros(keys.shape[1]), -1.0)
        solved = scipy.optimize.linprog(
            cost, A_ub=below, b_ub=np.zeros(2), A_eq=equal, b_eq=[0.0], bounds=[*box, (None, None)]
        )
        return solved.x[:-1]
    if norm != 2:
        raise ValueError(f"norm must be 2 or infinity, not {norm}")
    along = (keys[0] - keys[1]) / np.linalg.norm(keys[0] - keys[1])
    gaps = keys[0] - keys[2:]
    gaps = gaps - np.outer(gaps @ along, along)
    side = gaps[1] - gaps[0]
    share = float(np.clip(-(gaps[0] @ side) / (side @ side), 0, 1))
    shortest = gaps[0] + share * side
    return shortest / np.linalg.norm(shortest)


def margin(keys: np.ndarray, query: np.ndarray, wanted: Sequence[int]) -> float:
    """Lowest wanted score minus highest other score."""
    scores = keys @ query
    return float(np.min(scores[list(wanted)]) - np.max(np.delete(scores, list(wanted))))
