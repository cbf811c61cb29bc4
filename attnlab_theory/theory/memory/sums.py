"""What a plain sum of outer products recalls: the mean error |S k_j - v_j|^2 over random keys and orthonormal
values.

A memory of n independent keys is read with key j, which is `age` writes old. Unit keys have uniform directions in d
dimensions, normal ones the law N(0, I/d). The output may be multiplied by `scale` first.
"""

import functools
import math

import numpy as np
import scipy.special


def sum_error(
    n: int, d: int, age: float, *, decay: float = 1.0, scale: float = 1.0, normal_keys: bool = False
) -> float:
    """The mean error of one key in a sum whose state is multiplied by `decay` before each write.

    Every other key i adds decay^(2 (n - i)) / d, for E (k_i . k_j)^2 = 1/d. The key itself adds (scale |k|^2
    decay^age - 1)^2, and a normal key has E |k|^4 = 1 + 2/d.

    Source: docs/mathematics/memory.md#a-sum-overflows.
    """
    kept = [decay ** (2 * i) for i in range(n)]
    others = scale**2 * (math.fsum(kept) - decay ** (2 * age)) / d
    own = (scale * decay**age - 1) ** 2
    return others + own + (2 / d * scale**2 * decay ** (2 * age) if normal_keys else 0.0)


def sum_variance(n: int, d: int) -> float:
    """The variance of the error of a normal key in a plain sum.

    Given r = |k_j|^2 the error has the mean p(r) = r^2 + (c - 2) r + 1, c = (n - 1)/d, and the variance 2 c r^2 /
    d. The moments of r are m_i = prod_(l < i) (1 + 2 l/d).

    Source: docs/mathematics/memory.md#a-sum-overflows.
    """
    c = (n - 1) / d
    moments = [math.prod(1 + 2 * below / d for below in range(i)) for i in range(5)]
    mean = (1.0, c - 2, 1.0)
    square = [sum(mean[i] * mean[at - i] for i in range(3) if 0 <= at - i < 3) for at in range(5)]
    of_mean = sum(p * m for p, m in zip(square, moments, strict=True))
    return of_mean - sum(p * m for p, m in zip(mean, moments, strict=False)) ** 2 + 2 * c * moments[2] / d


def best_scale(n: int, d: int) -> float:
    """The scale of least mean error of a plain sum over unit keys: d / (d + n - 1)."""
    return d / (d + n - 1)


def scaled_sum_error(n: int, d: int) -> float:
    """The mean error of a plain sum over unit keys, read with its best scale: (n - 1) / (n - 1 + d).

    Source: docs/mathematics/memory.md#a-sum-that-is-read-with-a-scale.
    """
    return (n - 1) / (n - 1 + d)


@functools.cache
def wrong_signs(n: int, d: int) -> float:
    """The chance that the sign of an answer is wrong, if values are signs and the keys of length one.

    The answer is 1 + a sum of n - 1 random cosines, of a law symmetric around 0. Gil-Pelaez: P(sum > 1) = 1/2 - the
    integral of sin(u) phi(u)^(n-1) / u over u > 0, over pi. A cosine has phi(u) = Gamma(d/2) (2/u)^(d/2-1)
    J_(d/2-1)(u).

    Source: docs/mathematics/memory.md#signs-are-recalled-longer.
    """
    # phi^(n-1) falls as u^(-(d-1)(n-1)/2): nothing is left at u = 400.
    u = np.linspace(0, 400, 400_001)[1:]
    cosine = np.exp(math.lgamma(d / 2) + (d / 2 - 1) * np.log(2 / u)) * scipy.special.jv(d / 2 - 1, u)
    integrand = np.concatenate([[1.0], np.sin(u) / u * cosine ** (n - 1)])
    return 0.5 - float(np.trapezoid(integrand, dx=1e-3)) / math.pi


def first_overflow(decay: float) -> int:
    """The first t for which decay^-t is infinite in float32, whose largest number is below 2^128.

    Source: docs/mathematics/memory.md#a-decay-bounds-the-sum.
    """
    return math.floor(math.log(float(np.finfo(np.float32).max)) / -math.log(decay)) + 1


def first_underflow(decay: float) -> int:
    """The first t for which decay^t is 0 in float32, whose smallest number is 2^-149: half of it goes to 0."""
    return math.ceil(150 * math.log(2) / -math.log(decay))
