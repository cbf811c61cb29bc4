"""From scores to outputs, for every head of a batch: mask, softmax, dropout of weights, means of the values."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from attnlab_theory.axes import PRNGKeyArray
from attnlab_theory.language.models.layers import at_least_single, kept


class Place(NamedTuple):
    """The positions of the tokens of a batch, and which tokens they see. One row may stand for all."""

    at: Int[Array, "rows t"]
    mask: Bool[Array, "rows t t"]
    counted: bool
    """Whether positions are 0, 1, 2, … in every row. Then slices do, and no rows are gathered."""
    packed: bool
    """Whether a row holds several documents."""


def place(b: int, t: int, segments: Int[Array, "b t"] | None, positions: Int[Array, "b t"] | None) -> Place:
    """The causal mask within each segment, and positions that restart with each segment unless they are given."""
    past = jnp.tril(jnp.ones((t, t), bool))[None]
    if segments is None:
        mask = past
    else:
        mask = past & (segments[:, :, None] == segments[:, None, :])
        positions = restarted(segments) if positions is None else positions
    if positions is None:
        return Place(jnp.arange(t)[None], mask, counted=True, packed=False)
    return Place(positions, mask, counted=False, packed=segments is not None)


def restarted(segments: Int[Array, "b t"]) -> Int[Array, "b t"]:
    """Each token's position in its own run of equal segment numbers, from 0."""
    everywhere = jnp.broadcast_to(jnp.arange(segments.shape[1])[None, :], segments.shape)
    starts = jnp.pad(segments[:, 1:] != segments[:, :-1], ((0, 0), (1, 0)))
    return everywhere - lax.cummax(jnp.where(starts, everywhere, 0), axis=1)


def weighted_means(
    scores: Float[Array, "rows h t s"],
    v: Float[Array, "b h s d"],
    mask: Bool[Array, "masks t s"],
    *,
    rate: float,
    key: PRNGKeyArray | None,
) -> Float[Array, "b h t d"]:
    """The means of the values under the softmax of the scores. With a key, weights are dropped at `rate`.

    Powers are normalised after the product with the values: t * d divisions instead of t * s. Every query must see
    a key, at least its own. Scores of one row serve all rows of the batch, each with its own dropout.
    """
    scores = at_least_single(scores)
    # Added, not chosen: then the gradient asks no mask, and the powers that it is multiplied with are zero anyway.
    seen = scores + jnp.where(mask[:, None], jnp.zeros((), scores.dtype), -jnp.inf)
    powers = jnp.exp(seen - lax.stop_gradient(jnp.max(seen, axis=3, keepdims=True)))
    normaliser = jnp.sum(powers, axis=3, keepdims=True)
    if key is not None and rate > 0:
        powers = jnp.where(kept(key, (v.shape[0], *powers.shape[1:]), rate), powers, 0)
        normaliser = normaliser * (1 - rate)
    return (jnp.matmul(powers.astype(v.dtype), v).astype(normaliser.dtype) / normaliser).astype(v.dtype)
