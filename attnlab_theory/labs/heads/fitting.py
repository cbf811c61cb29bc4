"""What the fitting half of the sentences says: mean and covariance of each type's keys, and queries to ask them."""

import dataclasses
from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab_theory.labs.heads.plan import TYPES, Plan
from attnlab_theory.labs.heads.traces import Trace, softmax

QUERIES = 128
"""Queries that are kept, one of a sentence each. Keys of the judging half meet none of their own sentence."""


ROUNDING = 1e-9
"""A variance that is smaller than this share of the mean square is none: the keys of a type are all alike."""


class Moments:
    """Sums over keys, by type: all that is kept of them."""

    def __init__(self, layers: int, h: int, types: int, d: int) -> None:
        self.counts: Float[np.ndarray, " types"] = np.zeros(types)
        self.sums: Float[np.ndarray, "layers h types d"] = np.zeros((layers, h, types, d))
        self.squares: Float[np.ndarray, "layers h types d d"] = np.zeros((layers, h, types, d, d))

    def add(self, k: Float[np.ndarray, "layers h m d"], kinds: Int[np.ndarray, " m"]) -> None:
        """Take in keys of these types."""
        for kind in np.unique(kinds):
            own = k[:, :, kinds == kind]
            self.counts[kind] += own.shape[2]
            self.sums[:, :, kind] += np.sum(own, axis=2)
            self.squares[:, :, kind] += np.matmul(np.swapaxes(own, 2, 3), own)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fit:
    """The keys of each type, and foreign queries."""

    plan: Plan
    """Without the types whose keys are all alike in every head, as those of a word that only begins sentences."""
    means: Float[np.ndarray, "layers h types d"]
    covariances: Float[np.ndarray, "layers h types d d"]
    weights: Float[np.ndarray, "layers h types"]
    """The mean weight that a type's token is given by queries that see it."""
    queries: Float[np.ndarray, "layers h n d"]
    """Scaled so that the variance of their scores within a type is one, on average over types of equal weight."""
    varies: Bool[np.ndarray, "layers h"]
    """Whether keys of a type differ at all; before any position or neighbour is mixed in they may not."""

    @property
    def away(self) -> Float[np.ndarray, "layers h types d"]:
        """The means, seen from their mean over types."""
        return self.means - np.mean(self.means, axis=2, keepdims=True)


def fitted(traces: Iterable[Trace], plan: Plan, *, seed: int = 0) -> Fit:
    """Read the fitting half once; sums are all that is kept.

    Args:
        traces: of the plan's `fitting` sentences.
        plan: says which types count.
        seed: of the choice of queries.

    Raises:
        ValueError: if there is no trace, or in every head the keys of some type are all alike.
    """
    rng = np.random.default_rng(seed)
    types = len(plan.types)
    found: Moments | None = None
    weights, weighed, asked = np.zeros(()), np.zeros(types), []
    for number, trace in enumerate(traces):
        kinds = plan.kinds(trace.tokens)
        known = np.flatnonzero(kinds >= 0)
        if found is None:
            layers, h, _, d = trace.k.shape
            found = Moments(layers, h, types, d)
        found.add(trace.k[:, :, known].astype(np.float64), kinds[known])
        member = one_hot(kinds[known], types)
        weights = weights + np.sum(softmax(trace.scores())[..., known], axis=2) @ member
        weighed += trace.visible[:, known].sum(axis=0) @ member
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
    scale = np.mean(variances / np.where(varies[..., None], of_type, 1.0)[..., None], axis=2)
    return Fit(
        plan=dataclasses.replace(plan, types=plan.types[chosen], counts=plan.counts[chosen]),
        means=means[:, :, chosen],
        covariances=covariances[:, :, chosen],
        weights=(weights / np.maximum(weighed, 1))[:, :, chosen],
        queries=queries / np.sqrt(np.where(varies[..., None], np.maximum(scale, ROUNDING), 1.0))[..., None],
        varies=varies,
    )


def one_hot(kinds: Int[np.ndarray, " n"], types: int) -> Float[np.ndarray, "n types"]:
    """A row for each token, 1 at its type; sums by type are products with it."""
    return (kinds[:, None] == np.arange(types)).astype(np.float64)


def spread(
    queries: Float[np.ndarray, "layers h n d"], covariances: Float[np.ndarray, "layers h types d d"]
) -> Float[np.ndarray, "layers h types n"]:
    """The variances q^T Sigma q of every query's scores within every type."""
    return np.sum(np.matmul(queries[:, :, None], covariances) * queries[:, :, None], axis=4)


def _is_due(number: int, asked: int, sentences: int) -> bool:
    """Whether this sentence lends a query, so that those that do are spread over all."""
    return asked < QUERIES and number * min(QUERIES, sentences) >= asked * sentences
