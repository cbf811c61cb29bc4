"""What rotary positions say of distance, and what a larger base does to angles."""

import math

import numpy as np
import scipy.special

from attnlab_theory.theory.positions.rotary import frequencies, mean_score


def near_key_wins(d: int, mean: float, near: float, far: float, base: float) -> float:
    """The chance that the nearer of two keys scores higher, keys `mean` u + N(0, I), query u with equal pairs.

    Source: docs/mathematics/recency.md#rotary-favours-near-keys-as-far-as-they-share-a-mean.
    """
    lead = mean * (mean_score(d, near, base) - mean_score(d, far, base))
    return float(scipy.special.ndtr(lead / math.sqrt(2)))


def copy_wins(d: int, distance: float, base: float) -> float:
    """The chance that a copy of the query at a distance scores higher than a random key N(0, I/d).

    Source: docs/mathematics/recency.md#likeness-counts-against-from-a-distance-on.
    """
    return float(scipy.special.ndtr(math.sqrt(d) * mean_score(d, distance, base)))


def first_distance_against(d: int, base: float) -> int:
    """The first distance at which a copy scores below zero, so that a random key beats it more often than not."""
    distance = 1
    while mean_score(d, distance, base) >= 0:
        distance += 1
    return distance


def quarter_turn(d: int, base: float) -> float:
    """The distance at which the slowest pair has turned by a right angle."""
    return math.pi / 2 * base ** ((d - 2) / d)


def pairs_that_leave(d: int, base: float, length: int) -> int:
    """How many pairs get angles that training never showed, if the base is raised as NTK scaling does.

    Pair j never finishes a turn in training if length base^(-2j/d) < 2 pi: those from ceil((d/2)
    log_base(length/2pi)) on. After scaling, at the new length, pair j's angle has grown by s^(1 - 2j/(d-2)): above
    1 for all but the last.

    Source: docs/mathematics/recency.md#a-larger-base-stretches-angles.
    """
    return d // 2 - math.ceil(d / 2 * math.log(length / (2 * math.pi), base)) - 1


def pairs_by_radians(d: int, base: float, length: int) -> int:
    """The same count with a turn taken for one radian: what is left out is 2 pi."""
    return d // 2 - math.ceil(d / 2 * math.log(length, base)) - 1


def yarn_factor(factor: float) -> float:
    """0.1 ln s + 1: what YaRN multiplies queries and keys by, each. Scores grow by its square.

    Source: Peng et al. 2024.
    """
    return 0.1 * math.log(factor) + 1


def lead(d: int, turn: int, distances: int, base: float) -> float:
    """By how much a key that is turned by `turn` positions scores highest at that distance, among 0, 1, ...

    The score at distance delta is m_d(delta - turn), which is one at delta = turn.

    Source: docs/mathematics/recency.md#rotary-favours-near-keys-as-far-as-they-share-a-mean.
    """
    away = np.abs(np.arange(distances) - turn)
    return 1 - float(np.max(np.mean(np.cos(np.outer(away[away > 0], frequencies(d, base))), axis=1)))


def lead_of_the_first_pair() -> float:
    """1 - cos 1: how far neighbours are apart if every pair turned as fast as the first."""
    return 1 - math.cos(1)


def neighbours_apart(d: int, base: float) -> float:
    """1 - m_d(1): by how much a copy scores less at distance 1 than at 0.

    Source: docs/mathematics/recency.md#a-larger-base-stretches-angles.
    """
    return 1 - mean_score(d, 1, base)


def neighbours_apart_if_interpolated(d: int, base: float, factor: float) -> float:
    """The same with positions squeezed by a factor: 1 - m_d(1 / s)."""
    return 1 - mean_score(d, 1 / factor, base)


def neighbours_apart_by_ntk(d: int, base: float, factor: float) -> float:
    """The same with the base of NTK scaling, b s^(d / (d - 2))."""
    return neighbours_apart(d, base * factor ** (d / (d - 2)))
