r"""How far the scores of one fixed query of another sentence are from normal, within a type.

A test of normality rejects everything at these sizes, so the distance is measured. It is the largest difference of
two distribution functions: that of the scores, and that of the normal law from the fitting half. Each type has one
query. Only the first occurrence in each sentence counts, so the numbers of a type are independent.

If sentence s is replaced, the mean over types of the measured distances moves by at most c_s. Here n_w sentences
hold type w, and c_s is the mean over types of 1 / n_w if the sentence holds the type, else 0. So the mean lies
within sqrt(sum c_s^2 ln(2 / error) / 2) of its expectation (McDiarmid). The expectation is at least the true mean
distance, because a supremum is convex. It exceeds that by at most the mean of E sup |F_n - F| <= 0.889 / sqrt(n_w)
(Dvoretzky-Kiefer-Wolfowitz).

Sources: McDiarmid 1989; Massart 1990.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.special
from jaxtyping import Float, Int

from attnlab_theory.labs.heads.fitting import Fit
from attnlab_theory.stats.groups import Bands

EXCESS = 0.889
"""The integral over x > 0 of min(1, 2 exp(-2 x^2)), rounded up."""


class _Law(NamedTuple):
    """The normal law of the scores of each type's query, from the fitting half."""

    query: Float[np.ndarray, "layers h types d"]
    mean: Float[np.ndarray, "layers h types"]
    deviation: Float[np.ndarray, "layers h types"]


class Normality:
    """The scores of the judging half, standardised: one number for each head, type and sentence."""

    def __init__(self, fit: Fit) -> None:
        types = fit.means.shape[2]
        query = fit.queries[:, :, np.arange(types) % fit.queries.shape[2]]
        variance = np.einsum("lhtd,lhtde,lhte->lht", query, fit.covariances, query, optimize=True)
        self.law = _Law(
            query, np.sum(query * fit.means, axis=3), np.sqrt(np.maximum(variance, np.finfo(float).tiny))
        )
        self.varies = fit.varies
        self._scores: list[list[np.ndarray]] = [[] for _ in range(types)]
        self._held: list[np.ndarray] = []

    def add(self, k: Float[np.ndarray, "layers h m d"], kinds: Int[np.ndarray, " m"]) -> None:
        """Add the frequent keys of one sentence."""
        held, first = np.unique(kinds, return_index=True)
        scores = np.sum(k[:, :, first] * self.law.query[:, :, held], axis=3)
        scores = (scores - self.law.mean[:, :, held]) / self.law.deviation[:, :, held]
        for at, kind in enumerate(held):
            self._scores[kind].append(scores[:, :, at].astype(np.float32))
        self._held.append(held)

    def distances(self) -> Float[np.ndarray, "types layers h"]:
        """The measured distances."""
        return np.stack([_distance(np.stack(scores)) for scores in self._scores])

    def bands(self, error_rate: float) -> Bands:
        """The mean distance over types of every head, with intervals that hold for all heads together."""
        found = np.where(self.varies, np.mean(self.distances(), axis=0), np.nan)
        sizes = np.array([len(scores) for scores in self._scores])
        moves = np.array([np.sum(1 / sizes[held]) / len(sizes) for held in self._held])
        radius = math.sqrt(float(np.sum(moves**2)) * math.log(2 * found.size / error_rate) / 2)
        excess = EXCESS * float(np.mean(1 / np.sqrt(sizes)))
        return Bands(found, np.fmax(found - radius - excess, 0.0), np.fmin(found + radius, 1.0))


def _distance(scores: Float[np.ndarray, "n layers h"]) -> Float[np.ndarray, "layers h"]:
    """The largest difference from the standard normal distribution function."""
    chances = scipy.special.ndtr(np.sort(scores.astype(np.float64), axis=0))
    steps = np.arange(len(scores) + 1)[:, None, None] / len(scores)
    return np.maximum(np.max(steps[1:] - chances, axis=0), np.max(chances - steps[:-1], axis=0))
