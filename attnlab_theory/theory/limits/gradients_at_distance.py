"""How gradients change over a distance, in a recurrent layer and in attention (docs/mathematics/limits.md).

The layer is h_i = tanh(W h_{i-1} + x_i), or the same without tanh. The entries of its recurrent matrix W are normal
with variance gain^2 / d, and its inputs are normal with variance drive^2.
"""

import functools
import math
from collections.abc import Callable

import numpy as np

from attnlab_theory.theory.noisy_keys import moments


def _normal_mean(f: Callable[[np.ndarray], np.ndarray], deviation: float) -> float:
    """E f(x) of a normal x: by the trapezoid rule, which tanh's poles at a distance of pi / 2 leave exact."""
    nodes = np.linspace(-12, 12, 2 * math.ceil(96 * max(deviation, 1.0)) + 1)
    chances = np.exp(-(nodes**2) / 2)
    return float(np.sum(chances * f(deviation * nodes)) / np.sum(chances))


@functools.cache
def settled_variance(gain: float, drive: float) -> float:
    """The variance q of a unit's input after many steps: q = gain^2 E[tanh(sqrt(q) z)^2] + drive^2.

    This holds for infinitely wide layers. The right side is concave in q, so an iteration from above goes down to
    q.
    """
    q = gain**2 + drive**2
    for _ in range(500):
        q = gain**2 * _normal_mean(lambda x: np.tanh(x) ** 2, math.sqrt(q)) + drive**2
    return q


def variance_after(steps: int, gain: float, drive: float) -> float:
    """The variance of a unit's input after so many steps from a state of zeros. It rises to `settled_variance`."""
    q = drive**2
    for _ in range(steps):
        q = gain**2 * _normal_mean(lambda x: np.tanh(x) ** 2, math.sqrt(q)) + drive**2
    return q


def squared_rate(gain: float, drive: float) -> float:
    """The factor of one step on the mean square of a gradient: gain^2 E[tanh'(sqrt(q) z)^2].

    Below one the gradient vanishes geometrically, above one it explodes.

    Source: Poole et al. 2016.
    """
    q = settled_variance(gain, drive)
    return gain**2 * _normal_mean(lambda x: (1 - np.tanh(x) ** 2) ** 2, math.sqrt(q))


def rate_of_the_mean_slope(gain: float, drive: float) -> float:
    """gain^2 E[tanh'(sqrt(q) z)]^2: the same with the square outside. It leaves out that slopes vary."""
    q = settled_variance(gain, drive)
    return gain**2 * _normal_mean(lambda x: 1 - np.tanh(x) ** 2, math.sqrt(q)) ** 2


def relative_variance(gain: float, drive: float, d: int, distance: int) -> float:
    """The variance of the squared gradient divided by the square of its mean, if all steps were independent.

    One step of width d has (3 E[tanh'^4] / E[tanh'^2]^2 - 1) / d: a mean of d terms tanh'^2 times the square of a
    normal. Steps of one layer share its matrix and are not independent: the true variance is somewhat larger.
    """
    q = settled_variance(gain, drive)
    second, fourth = (_normal_mean(lambda x, p=p: (1 - np.tanh(x) ** 2) ** p, math.sqrt(q)) for p in (2, 4))
    return (1 + (3 * fourth / second**2 - 1) / d) ** distance - 1


def linear_norm(radius: float, distance: int, *, stretch: float = 1.0, angle: float = 0.0) -> float:
    """Norm of the Jacobian without tanh, W = radius S R S^-1: radius^distance, times at most `stretch`.

    R turns planes by an angle, and S stretches one axis of each. The n-th power of S R S^-1 turns by n angles. In
    every plane it has determinant 1, so its Frobenius norm there gives its larger singular value.

    Source: docs/mathematics/limits.md#gradients-through-a-recurrent-layer.
    """
    turned = distance * angle
    squares = 2 * math.cos(turned) ** 2 + (stretch**2 + stretch**-2) * math.sin(turned) ** 2
    return radius**distance * (math.sqrt(squares + 2) + math.sqrt(max(0.0, squares - 2))) / 2


def attention_squared_weight(n: int, deviation: float) -> float:
    """E[alpha^2] of one of n weights whose scores are independent N(0, deviation^2)."""
    return _moment(n, deviation, 2)


def attention_squared_gradient(n: int, deviation: float) -> float:
    """Mean square response of attention's output to a change of one token that is key and value, for wide tokens.

    The Jacobian in token j is alpha_j W_V (I + (x_j - mean) u^T / sqrt(d)). Here u . x_j / sqrt(d) is its score,
    and `mean` the mean of the tokens under the weights. Let W_V be orthogonal, and tokens have width d and
    variance 1. For large d, the square of the Frobenius norm divided by d tends to alpha_j^2 (1 + deviation^2 |x_j
    - mean|^2 / d), and |x_j - mean|^2 / d tends to 1 - 2 alpha_j + sum_k alpha_k^2.
    """
    second, third, fourth = (_moment(n, deviation, power) for power in (2, 3, 4))
    squares = fourth + (n - 1) * _moment(n, deviation, 2, 2)
    return second + deviation**2 * (second - 2 * third + squares)


def attention_squared_gradient_variance(n: int, deviation: float) -> float:
    """An upper estimate of the variance of |J r|^2 / |r|^2 for normal r: the mean of alpha^4 (1 + 2 s^2 + 3 s^4).

    J r has two parts. The part through the score is s times a normal number. Most weights are small, so |x_j -
    mean|^2 is about d.
    """
    return _moment(n, deviation, 4) * (1 + 2 * deviation**2 + 3 * deviation**4)


def _moment(n: int, deviation: float, *powers: int) -> float:
    return moments.weight_moment(np.zeros(n), np.full(n, deviation**2), (*powers, *(0,) * (n - len(powers))))
