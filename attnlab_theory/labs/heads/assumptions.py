"""Which assumption breaks where theory does not predict weights: queries that move, keys that move, rare types.

Theory takes the key of a frequent type for a draw from N(mu, Sigma), independent of the query and of other keys.
So the deviation (q . k - q . mu) / sqrt(q . Sigma q) has mean 0 and variance 1, and two deviations of one sentence
have no covariance.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab_theory.stats.groups import with_each_left_out

Sums = Float[np.ndarray, "r ..."]
"""From all groups, then without each."""


class Deviations(NamedTuple):
    """One row for each frequent key that was predicted; columns are heads."""

    group: Int[np.ndarray, " n"]
    sentence: Int[np.ndarray, " n"]
    common: Bool[np.ndarray, " n"]
    """Whether its type is of the commoner half."""
    score: Float[np.ndarray, "n layers h"]
    """How far its score is from what its type's mean key scores, in standard deviations."""
    missed: Float[np.ndarray, "n layers h"]
    """Its weight less the predicted one."""
    weight: Float[np.ndarray, "n layers h"]


class AssumptionReplicates(NamedTuple):
    """Numbers of every head: from all groups, then without each."""

    shift: Float[np.ndarray, "r layers h"]
    """The mean deviation: 0 where queries do not move with the keys of their sentence."""
    spread: Float[np.ndarray, "r layers h"]
    """The variance of deviations: 1 where queries do not move with the keys, for either sign."""
    together: Float[np.ndarray, "r layers h"]
    """The covariance of two deviations of a sentence: 0 where its keys do not move together."""
    for_common: Float[np.ndarray, "r layers h"]
    """The explained share of weights of the commoner types, less that of the rarer ones."""


def of_heads(found: Deviations, groups: int) -> AssumptionReplicates:
    """What the predictions assume, as it is."""
    n, shift = _mean(found.score, found.group, groups)
    _, squares = _mean(found.score**2, found.group, groups)
    pairs, products = _pairs(found, groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = shift / n
        together = products / pairs - shift**2
        explained = [_explained(found, chosen, groups) for chosen in (found.common, ~found.common)]
        spread = squares / n - shift**2
    return AssumptionReplicates(shift, spread, together, explained[0] - explained[1])


def _mean(values: Float[np.ndarray, "n layers h"], group: Int[np.ndarray, " n"], groups: int) -> tuple[Sums, Sums]:
    """How many there are, and their sum."""
    one = np.ones((len(values), 1, 1))
    summed = (np.stack([np.sum(part[group == g], axis=0) for g in range(groups)]) for part in (one, values))
    n, total = map(with_each_left_out, summed)
    return n, total


def _pairs(found: Deviations, groups: int) -> tuple[Sums, Sums]:
    """How many ordered pairs of keys of one sentence there are, and the sum of their deviations' products."""
    _, first = np.unique(found.sentence, return_index=True)
    starts = np.sort(first)
    held = np.diff([*starts, len(found.sentence)])
    total, squares = (np.add.reduceat(part, starts, axis=0) for part in (found.score, found.score**2))
    number = (held * (held - 1.0))[:, None, None]
    group = found.group[starts]
    return _mean(number, group, groups)[1], _mean(total**2 - squares, group, groups)[1]


def _explained(found: Deviations, chosen: Bool[np.ndarray, " n"], groups: int) -> Float[np.ndarray, "r layers h"]:
    """1 less the squared error over that of the overall mean, of some of the keys."""
    group, weight = found.group[chosen], found.weight[chosen]
    n, s = _mean(weight, group, groups)
    ss, missed = (_mean(part**2, group, groups)[1] for part in (weight, found.missed[chosen]))
    return 1 - missed / (ss - s**2 / n)
