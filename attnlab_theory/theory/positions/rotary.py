"""What rotary and sinusoidal scores know of distance (docs/mathematics/positions.md)."""

import math

import numpy as np


def frequencies(d: int, base: float) -> np.ndarray:
    """The d/2 angular frequencies base**(-2j/d), in radians per token."""
    return np.array([math.exp(-2 * j / d * math.log(base)) for j in range(d // 2)])


def mean_score(d: int, distance: float, base: float) -> float:
    """Mean rotary score of a random unit vector with itself, `distance` tokens away.

    The squared lengths of its d/2 pairs have mean 2/d each, and a pair turned by an angle has the cosine of
    it left: (2/d) sum_j cos(distance * theta_j). It is also the product of two sinusoidal position
    vectors, over that of one with itself.

    Source: docs/mathematics/positions.md; Su et al. 2021, section 3.4.3.
    """
    return float(np.mean(np.cos(distance * frequencies(d, base))))


def envelope(d: int, octave: int, base: float) -> float:
    """Largest mean score at a whole distance in [2**octave, 2**(octave + 1))."""
    distances = np.arange(2**octave, 2 ** (octave + 1))
    return float(np.max(np.mean(np.cos(np.outer(distances, frequencies(d, base))), axis=1)))


def doubling_law(base: float) -> float:
    """What a score loses when the distance doubles: ln 2 / ln base, for many frequencies and 1 << distance << base.

    Of all frequencies base**-u, 0 < u < 1, those with distance * theta << 1 have a cosine of one and those
    with distance * theta >> 1 average to nothing; doubling the distance moves ln 2 / ln base of them over.

    Source: docs/mathematics/positions.md#the-price-of-doubling-the-distance.
    """
    return math.log(2) / math.log(base)
