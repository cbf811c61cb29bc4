"""Three tokens with and without keys, queries and values, and the least norm of a routing.

Tokens are written in units of beta along the orthogonal directions u_a, u_b, u_c, u_d, in this order.
"""

import enum
import itertools
import math
from collections.abc import Sequence
from typing import assert_never

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from attnlab_theory.theory.selecting.copying import leak_bound


class Direction(enum.StrEnum):
    """The orthogonal directions u_a, u_b, u_c and u_d."""

    A = "a"
    B = "b"
    C = "c"
    D = "d"


class Middle(enum.StrEnum):
    """The second token: u_a, or one of the homework's suggestions for it."""

    A = "a"
    A_AND_D = "a+d"
    A_AND_C = "a+c"


class Head(enum.StrEnum):
    """The matrices of a head that are not the identity, divided by beta^2.

    `PLAIN`: Q = K = V = I. `VALUES`: V = u_b u_b^T - u_c u_c^T. `OTHER_VALUES`: V = (u_b - u_c) u_d^T + u_b u_a^T.
    `CONSTRUCTED`: the V of `VALUES`, and Q = u_d u_a^T + u_c u_d^T.
    """

    PLAIN = "plain"
    VALUES = "values"
    OTHER_VALUES = "other values"
    CONSTRUCTED = "constructed"


DIRECTIONS = tuple(Direction)

MIDDLES: dict[Middle, tuple[int, int, int, int]] = {
    Middle.A: (1, 0, 0, 0),
    Middle.A_AND_D: (1, 0, 0, 1),
    Middle.A_AND_C: (1, 0, 1, 0),
}
"""The second token over `DIRECTIONS`."""

U_B = np.array([0.0, 1.0, 0.0, 0.0])


def tokens(middle: Middle) -> np.ndarray:
    """The three tokens u_d + u_b, the middle one, u_c + u_b, one per row, over `DIRECTIONS`."""
    return np.array([(0, 1, 0, 1), MIDDLES[middle], (0, 1, 1, 0)], dtype=np.float64)


ALIKE = ((2, 0, 1), (0, 1, 0), (1, 0, 2))
"""Scores of the three tokens with themselves: x_1 and x_3 have the length sqrt(2) and share u_b."""

ROUTED = ((0, 0, 1), (1, 0, 0), (0, 0, 0))
"""Scores of the constructed Q: x_1 asks for u_c, x_2 for u_d, x_3 for nothing."""


def weights(head: Head, beta: float) -> np.ndarray:
    """Attention weights of the three tokens with the middle one u_a, at scale 1.

    The exponential of beta^2 to the power of a score, over the sum of its row.

    Args:
        beta: the norm of every u.

    Source: docs/mathematics/routing.md#matrices-that-solve-the-homework.
    """
    scores = np.array(ROUTED if Head(head) is Head.CONSTRUCTED else ALIKE)
    return scipy.special.softmax(beta**2 * scores, axis=1)


def outputs(head: Head, beta: float) -> np.ndarray:
    """The outputs of attention, in units of beta over `DIRECTIONS`."""
    x = tokens(Middle.A)
    match Head(head):
        case Head.PLAIN:
            values = x
        case Head.VALUES | Head.CONSTRUCTED:
            values = x * np.array([0, 1, -1, 0])
        case Head.OTHER_VALUES:
            values = np.vstack([wanted_outputs(), np.zeros(4)])
        case other:
            assert_never(other)
    return weights(head, beta) @ values


def wanted_outputs() -> np.ndarray:
    """The outputs that the homework wants for tokens 1 and 2: u_b - u_c and u_b."""
    return np.array([(0, 1, -1, 0), U_B])


def self_leak(middle: Middle, beta: float) -> float:
    """The weight that token 2 gives to others under Q = K = I.

    The token u_a scores beta^2 with itself and 0 with the others: 2/(e^{beta^2} + 2). The token u_a + u_d scores
    2 beta^2 with itself, beta^2 with the token with which it shares u_d, and 0 with the other. u_a + u_c does
    likewise.

    Source: docs/mathematics/routing.md.
    """
    others = 2.0 if Middle(middle) is Middle.A else np.exp(beta**2) + 1
    itself = np.exp(beta**2) if Middle(middle) is Middle.A else np.exp(2 * beta**2)
    return float(others / (itself + others))


def nearest_mixture(middle: Middle) -> tuple[np.ndarray, float]:
    """The weights of the mixture of tokens that is closest to u_b, and its distance in units of beta.

    Source: docs/mathematics/routing.md#no-mixture-comes-near, where a separating direction certifies both.
    """
    if Middle(middle) is Middle.A:
        return np.array([0.4, 0.2, 0.4]), math.sqrt(0.4)
    return np.array([0.5, 0.0, 0.5]), math.sqrt(0.5)


def constructed_error(row: int, beta: float) -> float:
    """Exact distance of output 1 or 2 from the wanted one under the constructed K, Q, V.

    The two other tokens share the leak evenly. So the distance is leak/2 times ||2 v_goal - v_i - v_j||. The
    values are u_b, 0 and u_b - u_c, which gives ||u_b - 2 u_c|| for output 1 and ||u_b + u_c|| for output 2.

    Args:
        row: 1 or 2, as the homework numbers the tokens.
        beta: the norm of every u.

    Source: docs/mathematics/routing.md.
    """
    return leak_bound(3, beta**2) / 2 * beta * math.sqrt({1: 5, 2: 2}[row])


def constructed_bound(row: int, beta: float) -> float:
    """The copy bound on the same distance: the leak at margin beta^2, times the distance of the farthest value.

    Source: docs/mathematics/routing.md, docs/mathematics/selecting.md.
    """
    return leak_bound(3, beta**2) * beta * math.sqrt({1: 2, 2: 1}[row])


def identity_output(beta: float) -> float:
    """Norm of c_2 under Q = K = I and the constructed V. V x_2 = 0, so the leak alone gives leak/2 ||2 u_b - u_c||.

    Source: docs/mathematics/routing.md.
    """
    return self_leak(Middle.A, beta) / 2 * beta * math.sqrt(5)


def other_values_error(row: int, beta: float) -> float:
    """Distance of output 1 or 2 from the wanted one under Q = K = I, when each token's value is its wanted output.

    Args:
        row: 1 or 2, as the homework numbers the tokens.
        beta: the norm of every u.

    Source: docs/mathematics/routing.md#values-alone-are-enough-if-they-are-others.
    """
    e = math.exp(beta**2)
    # In the directions u_b and u_c: what c_1 misses is (-e, e + 1) over its normaliser.
    return beta * {1: math.hypot(e, e + 1) / (e**2 + e + 1), 2: math.sqrt(2) / (e + 2)}[row]


def least_routing_norm(gram: ArrayLike, routes: Sequence[int | None], margin: float) -> float:
    """Least Frobenius norm of W = K^T Q with every margin at least `margin`, by trying every active set.

    Exact, independent of any solver, and exponential: for up to a dozen margins.

    Args:
        gram: inner products of the inputs, positive definite.
        routes: for every input, the number of the input that it attends to, or None.
        margin: by which its score leads all others. It has no unit.

    Source: docs/mathematics/routing.md; Karush, Kuhn and Tucker's conditions.
    """
    x = np.linalg.cholesky(np.asarray(gram, dtype=np.float64))
    rows = [
        np.outer(x[goal] - x[j], x[i]).ravel()
        for i, goal in enumerate(routes)
        if goal is not None
        for j in range(len(x))
        if j != goal
    ]
    constraints = np.stack(rows)
    slack = 1e-9
    for size in range(1, len(rows) + 1):
        for active in itertools.combinations(range(len(rows)), size):
            chosen = constraints[list(active)]
            multipliers = np.linalg.lstsq(chosen @ chosen.T, np.ones(size), rcond=None)[0]
            w = multipliers @ chosen
            if np.min(multipliers) >= -slack and np.min(constraints @ w) >= 1 - slack:
                return margin * float(np.linalg.norm(w))
    raise ValueError("no active set satisfies the conditions: the Gram matrix is too close to singular")


def random_cycle_share(rows: int) -> float:
    """Probability that a random head routes `rows` of three orthonormal inputs in a given cycle.

    With a Gaussian W = K^T Q the nine scores are independent. So the largest score of a row is the wanted one with
    probability 1/3. With Q = K, two or more rows are impossible (docs/mathematics/identities.md).
    """
    return 3.0**-rows
