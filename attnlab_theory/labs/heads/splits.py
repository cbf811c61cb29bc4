r"""Do heads gamble between two keys, and does a layer hedge? The split of near-tied pairs.

The mean score of a token is the score of its type's mean key. A pair is the two tokens of a row with the largest
mean scores. It is near-tied if the two mean scores differ by at most one standard deviation of the difference. So
chance, which moves the measured scores, does not affect the choice of pairs.

A head takes part if its expected weight on the pair is at least a half, with mean scores for the pair and actual
scores for all others. The split is m = alpha_a / (alpha_a + alpha_b) = sigma(z_a - z_b), where a is the type with
the smaller number.

For one head the mean scores are its own. For a layer they are averaged over its heads. That keeps the pairs that
heads share out among themselves. Then the splits of the heads are averaged too.
"""

from typing import NamedTuple

import numpy as np
import scipy.special
from jaxtyping import Bool, Float, Int

from attnlab_theory.labs.heads.fitting import Fit
from attnlab_theory.labs.heads.plan import Plan
from attnlab_theory.labs.heads.traces import Trace


class NearTies(NamedTuple):
    """Near-tied pairs of one head, or of one layer."""

    group: Int[np.ndarray, " n"]
    sentence: Int[np.ndarray, " n"]
    pair: Int[np.ndarray, " n"]
    """The number of the pair of types."""
    neighbours: Int[np.ndarray, " n"]
    """The number of the neighbours: the tokens before and after both tokens, as far as their types are frequent."""
    split: Float[np.ndarray, "n heads"]
    """The split m. NaN for a head that does not take part."""


class _Sentence(NamedTuple):
    """The rows of one sentence in which at least two frequent keys are seen."""

    number: int
    group: int
    actual: Float[np.ndarray, "layers h r t"]
    """The scores of all keys."""
    means: Float[np.ndarray, "layers h r m"]
    """The mean scores of frequent keys; -inf if the query does not see one."""
    variances: Float[np.ndarray, "layers h r m"]
    known: Int[np.ndarray, " m"]
    """The places of the frequent keys."""
    kinds: Int[np.ndarray, " t"]


class Splits:
    """Near-tied pairs of the judging half: a few numbers for each."""

    def __init__(self, fit: Fit, plan: Plan) -> None:
        self.fit, self.plan = fit, plan
        layers, h = fit.means.shape[:2]
        self.shape = layers, h
        self._heads: list[tuple[np.ndarray, ...]] = []
        self._layers: list[tuple[np.ndarray, ...]] = []

    def add(self, trace: Trace, scores: Float[np.ndarray, "layers h t t"], sentence: int, group: int) -> None:
        """Add the pairs of one sentence."""
        kinds = self.plan.kinds(trace.tokens)
        known = np.flatnonzero(kinds >= 0)
        if len(known) < 2:
            return
        rows = np.flatnonzero(~trace.tokens.special)
        # A token's own key moves with its query.
        seen = trace.visible[np.ix_(rows, known)] & (rows[:, None] != known[None, :])
        rows, seen = rows[seen.sum(axis=1) >= 2], seen[seen.sum(axis=1) >= 2]
        if not len(rows):
            return
        q, actual = trace.q[:, :, rows].astype(np.float64), scores[:, :, rows]
        means = np.matmul(q, np.swapaxes(self.fit.means[:, :, kinds[known]], 2, 3))
        variances = self._variances(q, kinds[known])
        found = _Sentence(sentence, group, actual, np.where(seen, means, -np.inf), variances, known, kinds)
        self._heads.append(self._of_heads(found))
        self._layers.append(self._of_layers(found))

    def of_head(self, layer: int, head: int) -> NearTies:
        """The pairs of one head, by its own mean scores."""
        at, group, sentence, pair, neighbours, split = _joined(self._heads)
        own = at == layer * self.shape[1] + head
        return NearTies(
            group[own], sentence[own], pair[own], neighbours[own], split[own].astype(np.float64)[:, None]
        )

    def of_layer(self, layer: int) -> NearTies:
        """The pairs of a layer, by mean scores averaged over its heads, with all heads that take part."""
        at, group, sentence, pair, neighbours, split = _joined(self._layers)
        own = at == layer
        split = split.reshape(-1, self.shape[1])
        return NearTies(group[own], sentence[own], pair[own], neighbours[own], split[own].astype(np.float64))

    def _variances(
        self, q: Float[np.ndarray, "layers h r d"], kinds: Int[np.ndarray, " m"]
    ) -> Float[np.ndarray, "layers h r m"]:
        """The variance of each query's scores, by key: q^T Sigma q of the key's type."""
        found = np.zeros((*q.shape[:3], len(kinds)))
        for kind in np.unique(kinds):
            variance = np.sum(np.matmul(q, self.fit.covariances[:, :, kind]) * q, axis=3)
            found[..., kinds == kind] = np.maximum(variance, 0.0)[..., None]
        return found

    def _of_heads(self, s: _Sentence) -> tuple[np.ndarray, ...]:
        near, a, b = _near_ties(s.means, s.variances, s.kinds[s.known])
        layer, head, row = np.nonzero(near & _takes_part(s, a, b))
        first, second = s.known[a[layer, head, row]], s.known[b[layer, head, row]]
        difference = s.actual[layer, head, row, first] - s.actual[layer, head, row, second]
        return self._noted(s, layer * self.shape[1] + head, first, second, scipy.special.expit(difference))

    def _of_layers(self, s: _Sentence) -> tuple[np.ndarray, ...]:
        near, a, b = _near_ties(np.mean(s.means, axis=1), np.mean(s.variances, axis=1), s.kinds[s.known])
        takes_part = _takes_part(s, *(np.broadcast_to(each[:, None], s.means.shape[:3]) for each in (a, b)))
        layer, row = np.nonzero(near & (takes_part.sum(axis=1) >= 2))
        first, second = s.known[a[layer, row]], s.known[b[layer, row]]
        difference = s.actual[layer, :, row, first] - s.actual[layer, :, row, second]
        split = np.where(takes_part[layer, :, row], scipy.special.expit(difference), np.nan)
        return self._noted(s, layer, first, second, split)

    def _noted(
        self, s: _Sentence, at: np.ndarray, first: np.ndarray, second: np.ndarray, split: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        pair = s.kinds[first] * len(self.plan.types) + s.kinds[second]
        neighbours = np.zeros_like(pair)
        for place in (first - 1, first + 1, second - 1, second + 1):
            inside = (place >= 0) & (place < len(s.kinds))
            kind = np.where(inside, s.kinds[np.clip(place, 0, len(s.kinds) - 1)], -1)
            neighbours = neighbours * (len(self.plan.types) + 1) + kind + 1
        told = (at, np.full_like(at, s.group), np.full_like(at, s.number), pair, neighbours)
        return *(part.astype(np.int64) for part in told), split.astype(np.float32)


def _joined(parts: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """The columns of all sentences, joined. They stay joined, so this is done once."""
    if len(parts) > 1:
        parts[:] = [tuple(np.concatenate(each) for each in zip(*parts, strict=True))]
    return parts[0] if parts else (*(np.zeros(0, np.int64) for _ in range(5)), np.zeros(0, np.float32))


def _near_ties(
    means: Float[np.ndarray, "*rows m"], variances: Float[np.ndarray, "*rows m"], kinds: Int[np.ndarray, " m"]
) -> tuple[Bool[np.ndarray, "*rows"], Int[np.ndarray, "*rows"], Int[np.ndarray, "*rows"]]:
    """Whether the two top keys are near-tied and of two types, and which they are, the smaller type first."""
    top = np.argpartition(-means, 1, axis=-1)[..., :2]
    a, b = top[..., 0], top[..., 1]
    swap = kinds[a] > kinds[b]
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    pair = np.stack([a, b], axis=-1)
    score, variance = (np.take_along_axis(each, pair, axis=-1) for each in (means, variances))
    apart = np.abs(score[..., 0] - score[..., 1])
    return (kinds[a] != kinds[b]) & (apart <= np.sqrt(np.sum(variance, axis=-1))), a, b


def _takes_part(
    s: _Sentence, a: Int[np.ndarray, "layers h r"], b: Int[np.ndarray, "layers h r"]
) -> Bool[np.ndarray, "layers h r"]:
    """Whether the pair is expected to get half of a head's weight."""
    pair = np.stack([a, b], axis=-1)
    expected = np.logaddexp.reduce(np.take_along_axis(s.means, pair, axis=3), axis=3)
    rest = s.actual.copy()
    np.put_along_axis(rest, s.known[pair], -np.inf, axis=3)
    top = np.maximum(np.max(rest, axis=3), np.finfo(float).min)
    powers = np.sum(np.exp(rest - top[..., None]), axis=3)
    return expected >= top + np.log(np.maximum(powers, np.finfo(float).tiny))
