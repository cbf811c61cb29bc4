"""Habits of heads: how many keys share the weight, which keys get it, and the largest weight at each length."""

import numpy as np
from jaxtyping import Bool, Float

from attnlab_theory.labs.heads.traces import Trace
from attnlab_theory.stats.groups import LEAST, with_each_left_out

QUANTITIES = (
    "effective keys",
    "share of keys",
    "weight on first",
    "weight on separators",
    "weight on self",
    "weight on previous",
    "weight on next",
    "weight on same word",
)
"""The quantities that are averaged over rows. A weight is averaged over the rows that have such a key.

effective keys: the exponential of the entropy of a row. share of keys: the same over the number of keys it sees.
separators: special tokens but the first. same word: the same token at another place.
"""

LENGTHS = (2, 4, 8, 16, 32, 64, 128)
"""The beginnings of the ranges of numbers of keys. Each ends before the next; the last has no end."""


class Habits:
    """Sums over rows, by group of sentences. Queries are words that see two keys or more."""

    def __init__(self, layers: int, h: int, groups: int) -> None:
        self.sums = np.zeros((groups, len(QUANTITIES), layers, h))
        self.counts = np.zeros((groups, len(QUANTITIES)))
        self.top = np.zeros((groups, len(LENGTHS), layers, h))
        self.bound = np.zeros((groups, len(LENGTHS), layers, h))
        self.rows = np.zeros((groups, len(LENGTHS)))

    def add(
        self,
        trace: Trace,
        scores: Float[np.ndarray, "layers h t t"],
        weights: Float[np.ndarray, "layers h t t"],
        group: int,
    ) -> None:
        """Add one sentence to the sums."""
        visible = trace.visible
        number = visible.sum(axis=1)
        asks = ~trace.tokens.special & (number >= 2)
        if not np.any(asks):
            return
        entropy = -np.sum(weights * np.log(np.where(weights > 0, weights, 1)), axis=3)
        effective = np.exp(entropy)
        for at, values in enumerate((effective, effective / number)):
            self.sums[group, at] += np.sum(values[:, :, asks], axis=2)
            self.counts[group, at] += np.sum(asks)
        for at, wanted in enumerate(_wanted(trace), start=2):
            there = wanted & visible & asks[:, None]
            self.sums[group, at] += np.sum(weights * there, axis=(2, 3))
            self.counts[group, at] += np.sum(np.any(there, axis=1))
        least = np.min(np.where(visible, scores, np.inf), axis=3)
        # With all |z| <= M, max alpha <= e^{2M} / (e^{2M} + n - 1); a shift of the scores makes 2M their spread.
        bound = 1 / (1 + (number - 1) * np.exp(least - np.max(scores, axis=3)))
        ranges = np.searchsorted(LENGTHS, number, side="right") - 1
        for at in np.unique(ranges[asks]):
            chosen = asks & (ranges == at)
            self.top[group, at] += np.sum(np.max(weights, axis=3)[:, :, chosen], axis=2)
            self.bound[group, at] += np.sum(bound[:, :, chosen], axis=2)
            self.rows[group, at] += np.sum(chosen)

    def replicates(self) -> Float[np.ndarray, "r quantities layers h"]:
        """The means over rows: from all groups, then without each. NaN if there is no such key."""
        return _ratio(self.sums, self.counts[..., None, None])

    def bluntness(self) -> tuple[Float[np.ndarray, "r lengths layers h"], Float[np.ndarray, "r lengths layers h"]]:
        """The mean largest weight by number of keys, and the mean of its bound by the spread of scores.

        NaN for lengths that fewer than `LEAST` groups have, because without one group there may be no such row.
        """
        held = np.sum(self.rows > 0, axis=0) >= LEAST
        rows = np.where(held, self.rows, np.nan)[..., None, None]
        return _ratio(self.top, rows), _ratio(self.bound, rows)


def _wanted(trace: Trace) -> list[Bool[np.ndarray, "t t"]]:
    """The keys (columns) of a query (row) whose weights count, for each quantity that is a weight."""
    ids, special = trace.tokens.ids, trace.tokens.special
    t = len(ids)
    place = np.arange(t)
    apart = place[None, :] - place[:, None]
    first = np.broadcast_to(place == 0, (t, t))
    separators = np.broadcast_to(special & (place > 0), (t, t))
    same = (ids[:, None] == ids[None, :]) & (apart != 0)
    return [first, separators, apart == 0, apart == -1, apart == 1, same]


def _ratio(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return with_each_left_out(sums) / with_each_left_out(counts)
