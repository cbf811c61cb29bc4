"""How a gradient fares over a distance, in a recurrent layer and in attention (docs/mathematics/limits.md).

The layer is h_i = tanh(W h_{i-1} + x_i), its recurrent matrix W normal with entries of variance gain^2 / d and its
inputs normal of variance drive^2; or the same without tanh.
"""

import math
from collections.abc import Callable

import numpy as np


def _normal_mean(f: Callable[[np.ndarray], np.ndarray], deviation: float) -> float:
    """E f(x) of a normal x: by the trapezoid rule, which tanh's poles at a distance of pi / 2 leave exact."""
    nodes = np.linspace(-12, 12, 2 * math.ceil(96 * max(deviation, 1.0)) + 1)
    chances = np.exp(-(nodes**2) / 2)
    return float(np.sum(chances * f(deviation * nodes)) / np.sum(chances))


def settled_variance(gain: float, drive: float) -> float:
    """The variance q of a unit's input once the layer has run for long: q = gain^2 E[tanh(sqrt(q) z)^2] + drive^2.

    Infinitely wide layers; iterated from above, where the right side, concave in q, brings it down.
    """
    q = gain**2 + drive**2
    for _ in range(500):
        q = gain**2 * _normal_mean(lambda x: np.tanh(x) ** 2, math.sqrt(q)) + drive**2
    return q


def squared_rate(gain: float, drive: float) -> float:
    """What one step does to the mean square of a gradient: gain^2 E[tanh'(sqrt(q) z)^2].

    Below one it vanishes geometrically, above one it explodes.

    Source: Poole et al. 2016.
    """
    q = settled_variance(gain, drive)
    return gain**2 * _normal_mean(lambda x: (1 - np.tanh(x) ** 2) ** 2, math.sqrt(q))


def rate_of_the_mean_slope(gain: float, drive: float) -> float:
    """gain^2 E[tanh'(sqrt(q) z)]^2: the same with the square outside, which leaves out that slopes vary."""
    q = settled_variance(gain, drive)
    return gain**2 * _normal_mean(lambda x: 1 - np.tanh(x) ** 2, math.sqrt(q)) ** 2


def relative_variance(gain: float, drive: float, d: int, distance: int) -> float:
    """The variance of the squared gradient of one change over the square of its mean, were all steps independent.

    One step of width d has (3 E[tanh'^4] / E[tanh'^2]^2 - 1) / d: a mean of d terms tanh'^2 times the square of a
    normal. Steps of one layer share its matrix and are not independent: the true variance is somewhat larger.
    """
    q = settled_variance(gain, drive)
    second, fourth = (_normal_mean(lambda x, p=p: (1 - np.tanh(x) ** 2) ** p, math.sqrt(q)) for p in (2, 4))
    return (1 + (3 * fourth / second**2 - 1) / d) ** distance - 1


def linear_norm(gain: float, distance: int) -> float:
    """Norm of the Jacobian without tanh and with gain times an orthogonal matrix: gain^distance."""
    return gain**distance


def attention_norm(n: int) -> float:
    """Mean norm of the Jacobian of an output in any one of n values: 1 / n at every distance.

    The Jacobian in a value is its weight times the identity; weights add up to one, and without positions
    none of n keys of one law is preferred.
    """
    return 1 / n
