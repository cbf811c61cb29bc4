"""Sentences of typed tokens whose keys follow a known law, and layers of heads that ask for pairs of them."""

import enum
from typing import NamedTuple, assert_never

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from attnlab_theory import refuse
from attnlab_theory.sampling.keys import deviation_of


class KeyLaw(enum.StrEnum):
    """How the keys of a type lie around their mean."""

    NOISY_LENGTH = "noisy length"
    """Sigma = a I + s mu mu^T: the homework's."""
    ISOTROPIC = "isotropic"
    """Sigma = a I."""
    SHARED_SPECTRUM = "shared spectrum"
    """Means and noise have the variance 1/i along axis i, and nothing else in common."""
    COMMON_MOTION = "common motion"
    """Sigma = a I, but most of it is one vector that all keys of a sentence share."""


class LayerLaw(enum.StrEnum):
    """What the heads of a layer ask for, and whether they read the same noisy keys."""

    HEDGING = "hedging"
    """One head asks for the first of a pair, the next for the second."""
    COPYING = "copying"
    """All heads ask the same keys for both."""
    COINS = "independent coins"
    """All heads ask for both, each with noise of its own."""


COMMON = 0.8
"""The part of the noise that a sentence's keys share under `COMMON_MOTION`."""


class Asked(NamedTuple):
    """Queries and keys of a layer; the score of query i for key j is q_i . k_j."""

    q: Float[Array, "n h t d"]
    k: Float[Array, "n h t d"]


def typed_keys(
    key: PRNGKeyArray,
    law: KeyLaw,
    kinds: Int[Array, "n t"],
    *,
    heads: int,
    d: int,
    variance: float = 0.1,
    stretch: float = 0.5,
) -> Float[Array, "n h t d"]:
    """Keys of every token in every sentence; each head has means and noise of its own.

    Args:
        key: consumed whole.
        law: of the noise.
        kinds: the type of each token, from 0 on.
        heads: how many.
        d: width of a key.
        variance: a, where a mean has the squared length 1 - 1 / types on average.
        stretch: s, under `NOISY_LENGTH`.

    Raises:
        ValueError: if a size is not a positive whole number, or a variance is negative or has a root that no key
            can hold.
    """
    refuse.not_a_size(heads=heads, d=d)
    refuse.negative(variance=variance, stretch=stretch)
    for_means, for_noise, for_rest = jax.random.split(key, 3)
    (n, t), types = kinds.shape, int(jnp.max(kinds)) + 1
    means = jax.random.normal(for_means, (heads, types, d)) / jnp.sqrt(d)
    # The origin is the mean over types: where real keys have theirs is a matter of the gauge.
    means = means - jnp.mean(means, axis=1, keepdims=True)
    noise = deviation_of(variance, means.dtype, "variance") * jax.random.normal(for_noise, (n, heads, t, d))
    match law:
        case KeyLaw.NOISY_LENGTH:
            length = 1 + deviation_of(stretch, means.dtype, "stretch") * jax.random.normal(
                for_rest, (n, heads, t, 1)
            )
            return length * _of_tokens(means, kinds) + noise
        case KeyLaw.ISOTROPIC:
            return _of_tokens(means, kinds) + noise
        case KeyLaw.SHARED_SPECTRUM:
            deviations = 1 / jnp.sqrt(1 + jnp.arange(d, dtype=means.dtype))[None, None, None]
            return deviations * (_of_tokens(means, kinds) + noise)
        case KeyLaw.COMMON_MOTION:
            motion = deviation_of(variance, means.dtype, "variance") * jax.random.normal(for_rest, (n, heads, 1, d))
            return _of_tokens(means, kinds) + jnp.sqrt(COMMON) * motion + jnp.sqrt(1 - COMMON) * noise
        case _:
            assert_never(law)


def asking_layer(
    key: PRNGKeyArray,
    law: LayerLaw,
    kinds: Int[Array, "n t"],
    *,
    heads: int,
    beta: float,
    variance: float = 1e-3,
    stretch: float = 0.5,
) -> Asked:
    """Every token asks for the two tokens after it, around the end of the sentence. Keys have noisy lengths.

    Means are orthonormal, one for each type.

    Args:
        key: consumed whole.
        law: who asks for what.
        kinds: the type of each token; at least three tokens.
        heads: how many.
        beta: the strength of every query.
        variance, stretch: a and s of the keys.

    Raises:
        ValueError: if a size is not a positive whole number, a variance is negative, or sentences are too short.
    """
    refuse.not_a_size(heads=heads)
    refuse.negative(variance=variance, stretch=stretch)
    (n, t), d = kinds.shape, int(jnp.max(kinds)) + 1
    if t < 3:
        raise ValueError(f"a token asks for two others, and sentences have {t} tokens: at least 3 are needed")
    means = jnp.eye(d)[kinds][:, None]
    first, second = beta * jnp.roll(means, -1, axis=2), beta * jnp.roll(means, -2, axis=2)
    own = heads if law == LayerLaw.COINS else 1
    for_length, for_noise = jax.random.split(key)
    length = 1 + deviation_of(stretch, means.dtype, "stretch") * jax.random.normal(for_length, (n, own, t, 1))
    k = length * means + deviation_of(variance, means.dtype, "variance") * jax.random.normal(
        for_noise, (n, own, t, d)
    )
    match law:
        case LayerLaw.HEDGING:
            q = jnp.where((jnp.arange(heads) % 2 == 0)[None, :, None, None], first, second)
        case LayerLaw.COPYING | LayerLaw.COINS:
            q = first + second
        case _:
            assert_never(law)
    return Asked(*(jnp.broadcast_to(part, (n, heads, t, d)) for part in (q, k)))


def _of_tokens(means: Float[Array, "h types d"], kinds: Int[Array, "n t"]) -> Float[Array, "n h t d"]:
    return jnp.moveaxis(means[:, kinds], 0, 1)
