"""What the queries submitted for UW's four keys do to the weights (docs/mathematics/selecting.md)."""

import math
from collections.abc import Sequence

import numpy as np
import scipy.optimize
import scipy.special


def weights(keys: np.ndarray, query: np.ndarray) -> np.ndarray:
    """softmax(keys query), in float64."""
    return scipy.special.softmax(keys @ query)


def furthest_from_even(keys: np.ndarray, query: np.ndarray, wanted: Sequence[int]) -> float:
    """The largest difference of a weight from an equal share of the wanted keys."""
    even = np.zeros(len(keys))
    even[list(wanted)] = 1 / len(wanted)
    return float(np.max(np.abs(weights(keys, query) - even)))


def even_bound(keys: np.ndarray, query: np.ndarray) -> float:
    """How far weights can be from equal at most, when scores span `range`: (e^range - 1) / n.

    With n keys, e^{-range} / n <= weight <= e^{range} / n, and 1 - e^{-r} <= e^r - 1.
    """
    return math.expm1(float(np.ptp(keys @ query))) / len(keys)


def pair_query(keys: np.ndarray, norm: float) -> np.ndarray:
    """The query of norm 1 (2 or infinity) that scores the first two of four keys alike and leads by most.

    In the 2-norm: seen along the difference of the two, the best direction is the shortest vector between the
    origin and the segment of the two remaining gaps. In the maximum norm it is a linear programme.

    Raises:
        ValueError: for another norm.
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
