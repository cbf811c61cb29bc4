"""How rotary and sinusoidal scores depend on distance (docs/mathematics/positions.md)."""

import math

import numpy as np


def frequencies(d: int, base: float) -> np.ndarray:
    """The d/2 angular frequencies base**(-2j/d), in radians per token."""
    return np.array([math.exp(-2 * j / d * math.log(base)) for j in range(d // 2)])


def mean_score(d: int, distance: float, base: float) -> float:
    """Mean rotary score of a random unit vector with itself, `distance` tokens away.

    The squared lengths of its d/2 pairs have mean 2/d each. A pair turned by an angle keeps the cosine of the
    angle. So the mean is (2/d) sum_j cos(distance * theta_j). It is also the product of two sinusoidal position
    vectors, divided by that of one with itself.

    Source: docs/mathematics/positions.md; Su et al. 2021, section 3.4.3.
    """
    return float(np.mean(np.cos(distance * frequencies(d, base))))


def envelope(d: int, octave: int, base: float) -> float:
    """Largest mean score at a whole distance in [2**octave, 2**(octave + 1))."""
    distances = np.arange(2**octave, 2 ** (octave + 1))
    return float(np.max(np.mean(np.cos(np.outer(distances, frequencies(d, base))), axis=1)))


def doubling_law(base: float) -> float:
    """The loss of a score when the distance doubles: ln 2 / ln base.

    There are many frequencies, and 1 << distance << base. Frequencies are base**-u, 0 < u < 1. Those with distance
    * theta << 1 have a cosine of one. Those with distance * theta >> 1 average to nothing. When the distance
    doubles, a share ln 2 / ln base of them changes sides.

    Source: docs/mathematics/positions.md#the-price-of-doubling-the-distance.
    """
    return math.log(2) / math.log(base)
