"""The fit to the fitting half of the sentences: mean and covariance of each type's keys, and some queries."""

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab_theory.labs.heads.plan import TYPES, Plan
from attnlab_theory.labs.heads.traces import Trace, softmax

QUERIES = 128
"""How many queries are kept, each of another sentence. Keys of the judging half meet no query of their sentence."""


PLACES, AWAY = 64, 16
"""The baselines of positions tell apart so many places in a sentence, and so many distances to either side. The
last of each stands for all further ones."""

ROUNDING = 1e-9
"""A variance below this share of the mean square counts as zero: the keys of a type are all equal."""


BASELINES = ("the type", "length", "length and place", "length and distance", "length and word")
"""Predictions of weights that need no theory: the mean weight of the type, and those of `Baselines`."""


class Baselines(NamedTuple):
    """Weights without any key: means over the fitting half of n times a weight, where a query sees n keys."""

    words: Float[np.ndarray, "layers h types"]
    """By the type of the key."""
    places: Float[np.ndarray, "layers h places"]
    """By the key's place in the sentence."""
    distances: Float[np.ndarray, "layers h distances"]
    """By the place of the key minus that of the query."""

    def of(
        self, *, kinds: Int[np.ndarray, " m"], keys: Int[np.ndarray, " m"], row: int, n: int
    ) -> Float[np.ndarray, "baselines layers h m"]:
        """The weights of some keys of one query, which sees n, in the order of `BASELINES` after the first."""
        even = np.ones((*self.words.shape[:2], len(keys)))
        places, distances = self.places[:, :, place_of(keys)], self.distances[:, :, distance_of(keys - row)]
        return np.stack([even, places, distances, self.words[:, :, kinds]]) / n


def place_of(keys: Int[np.ndarray, "*m"]) -> Int[np.ndarray, "*m"]:
    """The column of `Baselines.places`."""
    return np.minimum(keys, PLACES - 1)


def distance_of(apart: Int[np.ndarray, "*m"]) -> Int[np.ndarray, "*m"]:
    """The column of `Baselines.distances`."""
    return np.clip(apart, -AWAY, AWAY) + AWAY


class Moments:
    """Sums over keys, by type. The keys themselves are not kept."""

    def __init__(self, layers: int, h: int, types: int, d: int) -> None:
        self.counts: Float[np.ndarray, " types"] = np.zeros(types)
        self.sums: Float[np.ndarray, "layers h types d"] = np.zeros((layers, h, types, d))
        self.squares: Float[np.ndarray, "layers h types d d"] = np.zeros((layers, h, types, d, d))

    def add(self, k: Float[np.ndarray, "layers h m d"], kinds: Int[np.ndarray, " m"]) -> None:
        """Add keys of these types to the sums."""
        for kind in np.unique(kinds):
            own = k[:, :, kinds == kind]
            self.counts[kind] += own.shape[2]
            self.sums[:, :, kind] += np.sum(own, axis=2)
            self.squares[:, :, kind] += np.matmul(np.swapaxes(own, 2, 3), own)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fit:
    """The keys of each type, and foreign queries."""

    plan: Plan
    """The plan without types whose keys are equal in every head, such as a word that only begins sentences."""
    means: Float[np.ndarray, "layers h types d"]
    covariances: Float[np.ndarray, "layers h types d d"]
    weights: Float[np.ndarray, "layers h types"]
    """The mean weight of a type's token, over queries that see it."""
    baselines: Baselines
    queries: Float[np.ndarray, "layers h n d"]
    """Queries, scaled so that the mean over types of the variance of their scores within a type is one."""
    varies: Bool[np.ndarray, "layers h"]
    """Whether keys of a type differ. In the first layer they may be equal, if positions are not added to tokens."""

    @property
    def away(self) -> Float[np.ndarray, "layers h types d"]:
        """The means of types, minus their mean over types."""
        return self.means - np.mean(self.means, axis=2, keepdims=True)


def fitted(traces: Iterable[Trace], plan: Plan, *, seed: int = 0) -> Fit:
    """Read the fitting half once. Only sums are kept.

    Args:
        traces: of the plan's `fitting` sentences.
        plan: with the types.
        seed: of the choice of queries.

    Raises:
        ValueError: if there is no trace, or too few types have keys that differ.
    """
    rng = np.random.default_rng(seed)
    types = len(plan.types)
    found: Moments | None = None
    weights, weighed, asked = np.zeros(()), np.zeros(types), []
    sums, counts = [np.zeros(())] * 3, [np.zeros(())] * 3
    for number, trace in enumerate(traces):
        kinds = plan.kinds(trace.tokens)
        known = np.flatnonzero(kinds >= 0)
        if found is None:
            layers, h, _, d = trace.k.shape
            found = Moments(layers, h, types, d)
        found.add(trace.k[:, :, known].astype(np.float64), kinds[known])
        member = one_hot(kinds[known], types)
        own, visible = softmax(trace.scores()), trace.visible
        weights = weights + np.sum(own[..., known], axis=2) @ member
        weighed += visible[:, known].sum(axis=0) @ member
        scaled = own * visible.sum(axis=1)[:, None]
        t = len(kinds)
        places = one_hot(place_of(np.arange(t)), PLACES)
        apart = one_hot(distance_of(np.arange(t)[None, :] - np.arange(t)[:, None]).reshape(-1), 2 * AWAY + 1)
        of_keys, of_pairs = np.sum(scaled, axis=2), scaled.reshape(*scaled.shape[:2], -1)
        for at, (values, seen, by) in enumerate(
            (
                (of_keys[:, :, known], visible[:, known].sum(axis=0), member),
                (of_keys, visible.sum(axis=0), places),
                (of_pairs, visible.reshape(-1), apart),
            )
        ):
            sums[at], counts[at] = sums[at] + values @ by, counts[at] + seen @ by
        words = np.flatnonzero(~trace.tokens.special)
        if len(words) and _is_due(number, len(asked), len(plan.fitting)):
            asked.append(trace.q[:, :, rng.choice(words)].astype(np.float64))
    if found is None or not asked:
        raise ValueError("no sentence to fit keys to: take more sentences")
    means = found.sums / found.counts[:, None]
    covariances = found.squares / found.counts[:, None, None] - means[..., :, None] * means[..., None, :]
    queries = np.stack(asked, axis=2)
    variances = spread(queries, covariances)
    of_type = np.mean(variances, axis=3)
    largest = np.mean(np.matmul(means, np.swapaxes(queries, 2, 3)) ** 2, axis=3) + of_type
    differ = of_type > ROUNDING * largest
    chosen = np.flatnonzero(np.any(differ, axis=(0, 1)))
    varies = np.all(differ[:, :, chosen], axis=2)
    if len(chosen) < TYPES or not np.any(varies):
        raise ValueError("no head's keys vary within three types or more: there is nothing to judge")
    variances, of_type = variances[:, :, chosen], of_type[:, :, chosen]
    # Where nothing was seen, a key is expected to get its equal share.
    means_of_words, *others = (
        np.where(count > 0, each / np.maximum(count, 1), 1.0) for each, count in zip(sums, counts, strict=True)
    )
    scale = np.mean(variances / np.where(varies[..., None], of_type, 1.0)[..., None], axis=2)
    return Fit(
        plan=dataclasses.replace(plan, types=plan.types[chosen], counts=plan.counts[chosen]),
        means=means[:, :, chosen],
        covariances=covariances[:, :, chosen],
        weights=(weights / np.maximum(weighed, 1))[:, :, chosen],
        baselines=Baselines(means_of_words[:, :, chosen], *others),
        queries=queries / np.sqrt(np.where(varies[..., None], np.maximum(scale, ROUNDING), 1.0))[..., None],
        varies=varies,
    )


def one_hot(kinds: Int[np.ndarray, " n"], types: int) -> Float[np.ndarray, "n types"]:
    """A row for each token, with 1 at its type. Sums by type are products with this matrix."""
    return (kinds[:, None] == np.arange(types)).astype(np.float64)


def spread(
    queries: Float[np.ndarray, "layers h n d"], covariances: Float[np.ndarray, "layers h types d d"]
) -> Float[np.ndarray, "layers h types n"]:
    """The variances q^T Sigma q of every query's scores within every type."""
    return np.sum(np.matmul(queries[:, :, None], covariances) * queries[:, :, None], axis=4)


def _is_due(number: int, asked: int, sentences: int) -> bool:
    """Whether this sentence gives a query. Those that do are spread over all sentences."""
    return asked < QUERIES and number * min(QUERIES, sentences) >= asked * sentences
