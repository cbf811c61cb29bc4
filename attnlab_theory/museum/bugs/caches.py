"""Bugs in caches and tiles, which should give the same numbers another way, and do not."""

import dataclasses
import functools

import jax
import jax.numpy as jnp

from attnlab_theory.attention import attention, causal_mask
from attnlab_theory.attention.caching import decode_step, empty_cache
from attnlab_theory.identities import agreement, causality
from attnlab_theory.identities.operators import BLOCKED, SCHEMES, TILED, decoded, longer, queries_keys_values
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bug import Bug


def counts_one_too_far(case, scheme):
    n, width = case.x.shape
    ahead = dataclasses.replace(case, x=jnp.roll(case.x, 1, axis=0))

    def step(cache, position):
        q = queries_keys_values(ahead, scheme, (position[None] + 1) % n)[0]
        k, v = queries_keys_values(case, scheme, position[None])[1:]
        output, cache = decode_step(cache, q[0], k[0], v[0], scale=case.scale)
        return cache, output

    return jax.lax.scan(step, empty_cache(n, width, width, dtype=case.x.dtype), jnp.arange(n))[1]


OFF_BY_ONE = Bug(
    name="cache-off-by-one",
    story="While decoding, positions are counted wrongly once the cache has grown: here the new query stands one "
    "further than its key. Without positions nothing is wrong, with them everything.",
    where="https://github.com/skyzh/tiny-llm/pull/46",
    code=(counts_one_too_far,),
    checks=tuple(agreement.decoding(scheme, counts_one_too_far) for scheme in reversed(SCHEMES)),
    exhibit=lambda: exhibit.outputs(
        functools.partial(decoded, scheme="rotary"), functools.partial(counts_one_too_far, scheme="rotary")
    ),
)


def loses_its_newest_key(q, k, v, *, scale):
    mask = jnp.tril(jnp.ones((len(q), len(k)), bool), -1).at[0, 0].set(True)
    return attention(q, k, v, mask, scale=scale)


def decoded_blind(case, scheme):
    q, k, v = queries_keys_values(case, scheme, range(case.x.shape[0]))
    return loses_its_newest_key(q, k, v, scale=case.scale)


NEWEST = Bug(
    name="cache-loses-its-newest-key",
    story="The cache is cut one entry short, [:-1], and a token never sees itself. No output leaks, all but the "
    "first are wrong.",
    where="https://github.com/UChi-JCL/CacheGen/pull/8",
    code=(loses_its_newest_key,),
    checks=(
        agreement.cached(loses_its_newest_key),
        agreement.decoding("none", decoded_blind),
        causality.causal("cached", functools.partial(decoded_blind, scheme="rotary")),
    ),
    exhibit=lambda: exhibit.weights(
        attention, lambda q, k, v, mask, *, scale: loses_its_newest_key(q, k, v, scale=scale)
    ),
)


def forgets_to_rescale(q, k, v, mask=None, *, scale):
    weights, o = jnp.zeros((len(q), 1), q.dtype), jnp.zeros((len(q), v.shape[1]), q.dtype)
    size = max(2, len(k) // 8)
    for at in range(0, len(k), size):
        tile = slice(at, at + size)
        scores = jnp.where(True if mask is None else mask[:, tile], scale * q @ k[tile].T, -jnp.inf)
        m = jnp.maximum(scores.max(axis=1, keepdims=True), -1e30)
        powers = jnp.exp(scores - m)
        weights, o = weights + powers.sum(axis=1, keepdims=True), o + powers @ v[tile]
    return o / weights


def _tiled(q, k, v, mask=None, *, scale):
    q, k, v = longer(q), longer(k), longer(v)
    return forgets_to_rescale(q, k, v, causal_mask(len(q)), scale=scale)


def _longer_causal(q, k, v, *, scale):
    q, k, v = longer(q), longer(k), longer(v)
    return attention(q, k, v, causal_mask(len(q)), scale=scale)


RESCALING = Bug(
    name="rescaling-forgotten",
    story="Attention tile by tile: each tile subtracts its own maximum, and the sums are added as if all tiles "
    "had the same maximum. With one tile, or small scores, all is well.",
    where="folklore; the rule that is broken: Milakov and Gimelshein 2018, https://arxiv.org/abs/1805.02867",
    code=(forgets_to_rescale,),
    checks=(
        agreement.blocked(dataclasses.replace(BLOCKED, mix=forgets_to_rescale), attention),
        agreement.blocked(dataclasses.replace(TILED, mix=_tiled), _longer_causal),
    ),
    exhibit=lambda: exhibit.weights(attention, forgets_to_rescale),
)


BUGS = (OFF_BY_ONE, NEWEST, RESCALING)
