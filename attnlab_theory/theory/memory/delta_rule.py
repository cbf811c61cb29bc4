"""What one pass of the delta rule recalls, with and without a decay: mean errors over random unit keys."""

import math
from typing import Any

import scipy.optimize


def delta_error(n: int, d: int, age: int, *, beta: float = 1.0, decay: float = 1.0, scale: float = 1.0) -> float:
    """The mean error |scale S k_j - v_j|^2 of a key that is `age` writes old, S <- decay S (1 - beta k k^T) + beta
    v k^T.

    Read backwards: x = k_j meets the last write first, and each write maps x to decay (x - beta k (k . x)). The
    value of a write enters the output with beta k . x. Let a = E |x|^2, B = E (k_j . x)^2 and e = E k_j . x. While
    a write is newer than key j, its key is independent of x, and the three follow linear recursions. At key j |x|^2
    falls by c (k_j . x)^2, c = 2 beta - beta^2. For older writes a alone follows its recursion.

    Args:
        n: number of keys, of which j is the one with `age` newer ones.
        d: width of the keys, which have length one and uniform directions.
        age: writes since key j, from 0 to n - 1.
        beta: step of the rule, in (0, 1].
        decay: what the state is multiplied by before a write.
        scale: what the output is multiplied by.

    Source: docs/mathematics/memory.md#the-delta-rule-forgets.
    """
    c = 2 * beta - beta**2
    a = squared = mean = 1.0
    newer = older = 0.0
    for _ in range(age):
        newer += beta**2 * a / d
        kept = squared * (1 - 2 * beta / d + 2 * beta**2 / (d * (d + 2))) + beta**2 * a / (d * (d + 2))
        a, squared, mean = decay**2 * a * (1 - c / d), decay**2 * kept, decay * mean * (1 - beta / d)
    a = decay**2 * (a - c * squared)
    for _ in range(n - 1 - age):
        older += beta**2 * a / d
        a *= decay**2 * (1 - c / d)
    return scale**2 * (newer + older + beta**2 * squared) - 2 * scale * beta * mean + 1


def mean_delta_error(n: int, d: int, *, beta: float = 1.0, decay: float = 1.0, scale: float = 1.0) -> float:
    """The mean of `delta_error` over all n keys."""
    return math.fsum(delta_error(n, d, age, beta=beta, decay=decay, scale=scale) for age in range(n)) / n


def best_delta_scale(n: int, d: int, beta: float) -> float:
    """The scale of least mean error at a step: the mean error is a parabola in it.

    Source: docs/mathematics/memory.md#a-sum-that-is-read-with-a-scale.
    """
    at_one, at_minus = (mean_delta_error(n, d, beta=beta, scale=scale) for scale in (1.0, -1.0))
    return (at_minus - at_one) / 4 / ((at_one + at_minus) / 2 - 1)


def best_step(n: int, d: int) -> float:
    """The step in (0, 1] at which the delta rule, read with its best scale, has the least mean error."""

    def error(beta: float) -> float:
        return mean_delta_error(n, d, beta=beta, scale=best_delta_scale(n, d, beta))

    found: Any = scipy.optimize.minimize_scalar(error, bounds=(1e-3, 1.0), method="bounded")
    return float(found.x)


def delta_error_of_many(filled: float, age: float) -> float:
    """The limit of `delta_error` at beta = 1 for wide keys, n = `filled` d and an age of `age` d.

    It is (1 - e^-age) (2 - e^-filled), never more than 2.

    Source: docs/mathematics/memory.md#the-delta-rule-forgets.
    """
    return (1 - math.exp(-age)) * (2 - math.exp(-filled))


def least_squares_error(n: int, d: int) -> float:
    """The mean error of least squares, S = V K^+, over n keys in general position: max(0, 1 - d/n).

    Source: docs/mathematics/memory.md#least-squares-recalls-up-to-d.
    """
    return max(0.0, 1 - d / n)


def repeated_write(beta: float, times: int) -> float:
    """What `times` writes of nothing under one unit key leave of what it answered: (1 - beta)^times.

    Source: docs/mathematics/memory.md#writing-twice.
    """
    return (1 - beta) ** times
