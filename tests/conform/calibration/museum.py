"""The bugs of the museum as black boxes: functions of queries, keys and values. Others stand in `others.py`."""

import functools

import jax
import jax.numpy as jnp

from attnlab_theory.attention import (
    attention,
    attention_weights,
    averaged_heads,
    causal_mask,
    differential_weights,
    latent_attention,
    multi_head_attention,
    sigmoid_weights,
)
from attnlab_theory.museum.bugs import caches, masks, sharing, sinks, split_heads, weights
from tests.conform.calibration import others
from tests.conform.calibration.judging import Box


def usual(q, scale=None):
    return q.shape[-1] ** -0.5 if scale is None else scale


def masked(mix):
    """A wrong operator (q, k, v, mask, scale=) with both arguments."""
    return lambda q, k, v, mask=None, scale=None: mix(q, k, v, mask, scale=usual(q, scale))


def unmasked(mix):
    return lambda q, k, v, scale=None: mix(q, k, v, scale=usual(q, scale))


def causal(mix):
    """A wrong operator under a right causal mask."""
    return lambda q, k, v, scale=None: mix(q, k, v, causal_mask(len(q), len(k)), scale=usual(q, scale))


def one_ahead(q, k, v, scale=None):
    ahead = jnp.tri(len(q), len(k), len(k) - len(q) + 1, dtype=bool)
    return attention(q, k, v, ahead, scale=usual(q, scale))


def centred(mix):
    return lambda *x, **options: mix(*(each - each.mean(axis=0, keepdims=True) for each in x), **options)


def tokens_first(q, k, v, scale=None):
    """[t h d] as the heads' own [h t d] by a reshape where a transpose was due."""
    q, k, v = (x.reshape(x.shape[1], x.shape[0], x.shape[2]) for x in (q, k, v))
    return multi_head_attention(q, k, v, scale=usual(q, scale)).swapaxes(0, 1)


def of_latents(mix):
    """Heads above latent rows [s r], for each element of a batch."""
    return jax.jit(lambda q, c, w_uk, w_uv: jax.vmap(lambda q, c: mix(q, c, w_uk, w_uv))(q, c))


def of_scores(scores):
    """Wrong scores (q, k, scale=), and what they mix."""
    return lambda q, k, v, scale=None: jax.nn.softmax(scores(q, k, scale=usual(q, scale)), axis=1) @ v


def mixtures(q, k, v, scale=None):
    """Two mixtures of all keys under a triangular mask, as in `linformer_under_a_mask`."""
    m, n = 2, len(k)
    e = jnp.cos(1.0 + jnp.arange(m * n, dtype=k.dtype)).reshape(m, n)
    visible = jnp.arange(m)[None, :] <= jnp.arange(len(q))[:, None]
    return attention(q, e @ k, e @ v, visible, scale=usual(q, scale))


def all_gradients(q, k, *, scale):
    """The same normaliser as that of `normaliser_without_gradient`, and its gradient."""
    powers = jnp.exp(scale * q @ k.T)
    return powers / powers.sum(axis=1, keepdims=True)


def by_weights(weigh):
    """Weights (q, k, scale=), and what they mix. One more coordinate subtracts the maximum: none overflows."""

    def target(q, k, v):
        most = jax.lax.stop_gradient((q @ k.T).max(axis=1, keepdims=True))
        q, k, scale = jnp.append(q, -most, axis=1), jnp.append(k, jnp.ones_like(k[:, :1]), axis=1), usual(q)
        return weigh(q, k, scale=scale) @ v

    return jax.jit(target)


def two_equal_heads(mix):
    """Two heads that are alike are one head."""

    def target(q, k, v, scale=None):
        return jax.vmap(lambda row: mix(jnp.stack((row, row)), k, v, scale=usual(q, scale)))(q)

    return target


def scaled_bias(q, k, v, mask=None, bias=None):
    if bias is None:
        return attention(q, k, v, mask, scale=usual(q))
    return masks.bias_before_the_scale(q, k, v, mask, scale=usual(q), bias=bias)


def sunk(mix):
    """A wrong operator with a sink for each head, [h t d]."""

    def target(q, k, v, mask=None, scale=None, sinks=None):
        if sinks is None:
            return jax.vmap(lambda q, k, v: attention(q, k, v, mask, scale=usual(q, scale)))(q, k, v)
        return jax.vmap(lambda q, k, v, sink: mix(q, k, v, mask, scale=usual(q, scale), sink=sink))(q, k, v, sinks)

    return target


def sigmoids(weigh):
    """Sigmoids of scores without a shift, and what they mix."""
    return masked(lambda q, k, v, mask, *, scale: weigh(q, k, mask, scale=scale) @ v)


def mapped(weigh):
    """Weights of two arrays of queries, and what they mix."""

    def target(q1, q2, k, v, lam, scale=None):
        return weigh(q1, q2, k, lam=lam, scale=usual(q1, scale)) @ v

    return target


unshifted = functools.partial(sigmoid_weights, shift=0.0)

BOXES = {
    "zero-after-softmax": Box("causal", causal(masks.zero_after_softmax)),
    "mask-inverted": Box("causal", causal(masks.means_the_opposite(attention))),
    "mask-off-by-one": Box("causal", one_ahead),
    "mask-of-ten-thousand": Box("softmax", masked(masks.hides_with_a_number)),
    "causal-mask-skipped": Box("causal", unmasked(attention)),
    "normalised-over-time": Box("causal", centred(causal(attention))),
    "bias-before-the-scale": Box("bias", scaled_bias),
    "softmax-over-queries": Box(
        "softmax",
        lambda q, k, v, scale=None: (
            weights.softmax_over_queries(attention_weights)(q, k, scale=usual(q, scale)) @ v
        ),
    ),
    "dropout-while-evaluating": Box("softmax", masked(weights.drops_out(attention))),
    "scale-forgotten": Box(
        "softmax",
        lambda q, k, v, mask=None, scale=None: (
            weights.scale_is_forgotten(attention_weights)(q, k, mask, scale=scale) @ v
        ),
    ),
    "eight-bits-by-default": Box("softmax", masked(weights.rounds_its_keys(attention))),
    "cache-loses-its-newest-key": Box("causal", unmasked(caches.loses_its_newest_key)),
    "rescaling-forgotten": Box("softmax", masked(caches.forgets_to_rescale)),
    "queries-not-mapped": Box(
        "multi-head",
        lambda q, k, v: split_heads.maps_all_but_the_queries(unmasked(attention))(q, k, v),
        "htd",
    ),
    "reshape-for-transpose": Box("multi-head", tokens_first, "thd"),
    "mask-for-the-wrong-heads": Box(
        "multi-head",
        lambda q, k, v, mask=None: split_heads.masks_all_heads_but_one(q, k, v, mask, scale=usual(q)),
        "htd",
    ),
    "one-side-normalised": Box("softmax", of_scores(sharing.only_keys_normalised)),
    "fused-projection-misread": Box("softmax", of_scores(sharing.columns_in_another_order)),
    "linformer-used-causally": Box("causal", mixtures),
    "normaliser-without-gradient": Box(
        "softmax", by_weights(weights.normaliser_without_gradient), right=by_weights(all_gradients)
    ),
    "keys-without-gradient": Box(
        "softmax",
        jax.jit(unmasked(weights.keys_are_detached(attention))),
        right=jax.jit(unmasked(attention)),
    ),
    "heads-summed": Box(
        "softmax", two_equal_heads(split_heads.heads_are_summed), right=two_equal_heads(averaged_heads)
    ),
    "one-is-not-shifted": Box("multi-head", sunk(sinks.one_is_not_shifted), "htd", right=sunk(attention)),
    "eight-bits-without-a-softmax": Box(
        "sigmoid", sigmoids(sinks.keys_of_eight_bits(unshifted)), right=sigmoids(unshifted)
    ),
    "lambda-is-never-used": Box(
        "differential", mapped(sinks.lambda_is_never_used), right=mapped(differential_weights)
    ),
    "scale-of-the-latent-width": Box(
        "latent",
        of_latents(sharing.scale_of_the_latent_width),
        "bhtd",
        right=of_latents(lambda q, *x: latent_attention(q, *x, scale=usual(q), absorbed=True)),
    ),
    **others.BOXES,
}
"""Those that are wrong, each as a target of the kind that it breaks."""


CONVENTIONS = {
    "mask-of-the-upper-left": Box(
        "causal",
        lambda q, k, v: attention(q, k, v, masks.upper_left(len(q), len(k)), scale=usual(q)),
    ),
    "groups-in-another-order": Box(
        "grouped-query",
        lambda q, k, v: split_heads.groups_in_the_other_order(q, k, v, scale=usual(q)),
        "htd",
    ),
    "hidden-nan-spreads": Box("softmax", masked(masks.zero_times_whatever_is_hidden(attention))),
    **others.CONVENTIONS,
}
"""Those that a stranger may do on purpose: nobody fails for them, and the profile or a row tells of them."""

TOLD = {
    "mask-of-the-upper-left": ("more keys than queries", "start: query 0 sees key 0 only"),
    "groups-in-another-order": ("head h reads the keys", "h % groups (interleaved)"),
    "hidden-nan-spreads": ("hidden NaN", "nan in a value"),
    **others.TOLD,
}
"""The line that tells, and what it says."""

OF_GRADIENTS = "the states are right; no kind asks for gradients of a recurrence, or for a gradient written by hand"

REASONS = {
    "padding-counts-as-a-head": (
        "the bug is in a mean over heads, which no kind promises; if all heads are alike, the mean is right"
    ),
    "one-key-for-queries-and-keys": (
        "attention is right; the bug is that queries and keys are drawn with one random key"
    ),
    "gradient-stops-at-each-state": OF_GRADIENTS,
    "slope-of-another-activation": OF_GRADIENTS,
    "decays-are-divided": (
        "recurrent compares two ways to one answer, and this form has one; --against a right form compares it"
    ),
}
"""Why the others are no target of a kind whose outputs are wrong."""
