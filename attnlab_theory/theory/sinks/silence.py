"""How often 0 is a mean of random values, so that a head can say nothing (docs/mathematics/sinks.md)."""

import math


def chance_of_silence(n: int, d: int) -> float:
    """The chance that 0 lies in the hull of n random values in d dimensions, of a symmetric law without ties.

    Of the 2^n ways to flip signs, 2 sum_{k < d} C(n - 1, k) leave all values on one side of a hyperplane through 0.

    Source: docs/mathematics/sinks.md#silence-needs-twice-as-many-values-as-dimensions; Wendel 1962.
    """
    return 1 - sum(math.comb(n - 1, k) for k in range(d)) / 2 ** (n - 1)
