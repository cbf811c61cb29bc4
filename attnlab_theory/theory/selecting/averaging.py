"""How one query shares its weight among several orthonormal keys (docs/mathematics/selecting.md)."""

import math


def share(n: int, size: int, beta: float) -> float:
    """Weight of each of `size` wanted keys among n orthonormal ones. The query is beta times their sum.

    The wanted scores are beta, the others 0: e^beta / (size e^beta + n - size).

    Source: docs/mathematics/selecting.md; Stanford CS224n assignment 5, question 1(b).
    """
    return 1 / (size + (n - size) * math.exp(-beta))


def error_coefficient(n: int, size: int, beta: float) -> float:
    """The factor c in: output - mean of wanted values = c (mean of other values - mean of wanted values).

    This is an equality, not a bound. Weights are equal inside the wanted set, and equal outside it. So the output
    is the mixture of the two means with weights 1 - c and c. c is the weight outside the wanted set.

    Source: docs/mathematics/selecting.md, there for size = 2.
    """
    x = (n - size) * math.exp(-beta)
    return x / (size + x)
