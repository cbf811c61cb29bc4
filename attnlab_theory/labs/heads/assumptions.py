"""Which assumption fails where theory does not predict weights?

Theory takes the key of a frequent type as a draw from N(mu, Sigma), independent of the query and of other keys. So
the deviation (q . k - q . mu) / sqrt(q . Sigma q) has mean 0 and variance 1, and two deviations of one sentence
have no covariance. Queries may depend on keys, keys on each other, and rare types may differ.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from attnlab_theory.labs.heads import calibration
from attnlab_theory.labs.heads.calibration import Predictions
from attnlab_theory.stats.groups import sums_without_each


class AssumptionReplicates(NamedTuple):
    """Numbers of every head: from all groups, then without each."""

    shift: Float[np.ndarray, "r layers h"]
    """The mean deviation: 0 if queries do not depend on the keys of their sentence."""
    spread: Float[np.ndarray, "r layers h"]
    """The variance of deviations: 1 if queries do not depend on the keys, in either direction."""
    together: Float[np.ndarray, "r layers h"]
    """The covariance of two deviations of a sentence: 0 if its keys do not depend on each other."""
    for_common: Float[np.ndarray, "r layers h"]
    """The explained share of the weights of commoner types, minus that of rarer ones."""


def of_heads(found: Predictions, groups: int) -> AssumptionReplicates:
    """The numbers that the predictions assume, as measured."""
    away = found.deviation
    # The rows of a sentence stand together: its pairs of keys are those of a sum, squared, less the squares.
    starts = np.flatnonzero(np.diff(found.sentence, prepend=-1))
    held = np.diff(starts, append=len(found.sentence))[:, None, None]
    squares = np.add.reduceat(away, starts, axis=0) ** 2
    n, s, ss = (sums_without_each(part, found.group, groups) for part in (np.ones_like(away), away, away**2))
    of_sentences = (held * (held - 1), squares)
    pairs, squared = (sums_without_each(part, found.group[starts], groups) for part in of_sentences)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = s / n
        for_common = _explained(found, found.common, groups) - _explained(found, ~found.common, groups)
        return AssumptionReplicates(shift, ss / n - shift**2, (squared - ss) / pairs - shift**2, for_common)


def _explained(found: Predictions, chosen: Bool[np.ndarray, " n"], groups: int) -> Float[np.ndarray, "r layers h"]:
    """The explained share of some of the weights."""
    return calibration.of_heads(Predictions(*(part[chosen] for part in found)), groups).explained
