"""Unit keys whose entries are rounded to centroids (docs/mathematics/precision.md)."""

import functools
import math

import numpy as np
import scipy.special


@functools.cache
def normal_centroids(bits: int) -> tuple[float, ...]:
    """The 2^bits numbers to which a standard normal number is rounded with the least mean square error.

    Lloyd's iteration: each is the mean of the numbers that are nearest to it.
    """
    points = scipy.special.ndtri((np.arange(2**bits) + 0.5) / 2**bits)
    for _ in range(2000):
        ends = np.concatenate([[-np.inf], (points[1:] + points[:-1]) / 2, [np.inf]])
        density = np.exp(-(ends**2) / 2) / np.sqrt(2 * np.pi)
        points = -np.diff(density) / np.diff(scipy.special.ndtr(ends))
    return tuple(float(x) for x in points)


@functools.cache
def kept_score(d: int, bits: int) -> float:
    """E <k, k'> for a key k of length one and even direction, and k' its entries rounded to centroids over sqrt(d).

    sqrt(d) times the sum over the cells of c_j E[t; cell j], t an entry, whose density is (1 - t^2)^((d-3)/2) times
    Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)). The integral of t (1 - t^2)^((d-3)/2) is -(1 - t^2)^((d-1)/2) / (d - 1).

    Source: docs/mathematics/precision.md#a-centroid-quantiser-cools-scores.
    """
    points = np.array(normal_centroids(bits))
    ends = np.clip(np.concatenate([[-np.inf], (points[1:] + points[:-1]) / 2, [np.inf]]) / d**0.5, -1, 1)
    height = math.exp(math.lgamma(d / 2) - math.lgamma((d - 1) / 2)) / math.sqrt(math.pi)
    means = -np.diff((1 - ends**2) ** ((d - 1) / 2)) * height / (d - 1)
    return float(d**0.5 * points @ means)
