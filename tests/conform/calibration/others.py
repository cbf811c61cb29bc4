"""Bugs of the museum in positions, caches, layers and features, each with right code beside it."""

import dataclasses

import jax
import jax.numpy as jnp

from attnlab_theory.attention import (
    attention,
    attention_scores,
    bigbird_attention,
    causal_mask,
    positive_features,
    rotary,
    sinusoidal,
    top_k_mask,
)
from attnlab_theory.claims.features.bias import orthogonal_without_signs
from attnlab_theory.identities.causality import detached_maximum
from attnlab_theory.identities.operators import decoded, full_pass, queries_keys_values
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bugs import approximations, caches, masks, rotations, samples
from attnlab_theory.sampling import orthogonal_projection
from tests.conform.calibration.judging import Box


def turned(rotate_query, rotate_key):
    """Both arrays of a call, and their positions."""
    return jax.jit(lambda q, k, positions: (rotate_query(q, positions), rotate_key(k, positions)))


def moving(rotate):
    return jax.jit(lambda x, positions: rotate(x, positions))


def table(waves):
    return lambda positions, width: waves(jnp.asarray(positions), width)


CASE = exhibit.tokens()


def given(x):
    """Tokens, and the projections of the museum's pictures in their type."""
    return dataclasses.replace(
        CASE, x=x, order=jnp.arange(len(x)), **{w: getattr(CASE, w).astype(x.dtype) for w in ("w_q", "w_k", "w_v")}
    )


def layer(mix):
    """A mixer of tokens."""
    return jax.jit(lambda x: mix(given(x)))


def chosen_after_the_mask(case):
    """The two best keys of those that a token sees, and itself."""
    q, k, v = queries_keys_values(case, "none", range(case.x.shape[0]))
    past, scores = causal_mask(len(case.x)), attention_scores(q, k, scale=case.scale)
    best = top_k_mask(jnp.where(past, scores, -jnp.inf), 2) & past
    return attention(q, k, v, best | jnp.eye(len(case.x), dtype=bool), scale=case.scale)


def decoding(step_by_step):
    """The whole at once if there is no cache. Tokens that follow a cache are decoded by `step_by_step`."""

    @jax.jit
    def whole(x):
        return full_pass(given(x), "rotary", causal=True)

    @jax.jit
    def stepped(x):
        return step_by_step(given(x), "rotary")

    def target(x, cache=None):
        if cache is None:
            return whole(x), x
        seen = jnp.concatenate((cache, x))
        return stepped(seen)[len(cache) :], seen

    return target


@jax.jit
def full(x):
    return attention(x, x, x, scale=x.shape[1] ** -0.5)


@jax.jit
def sparse(x):
    """BigBird in blocks of one, without links."""
    links = jnp.full((len(x), 1), -1)
    return bigbird_attention(
        x, x, x, links, scale=x.shape[1] ** -0.5, block=1, window=min(3, len(x) - 1 + len(x) % 2), global_blocks=1
    )


class Sticky:
    """A model that begins anew with each object."""

    def __init__(self):
        self.model = approximations.NeverSwitchesBack(full, sparse)

    def __call__(self, x):
        return self.model(x)


class Switching:
    """The same, which looks at the present input only."""

    def __call__(self, x):
        return full(x) if len(x) < 3 else sparse(x)


def normal(key, d):
    return jax.random.normal(key, (64, d))


def features(projection, phi=positive_features, power=0.0):
    """phi(x d^power, w), with w drawn from a key."""
    return jax.jit(lambda x, key: phi(x * x.shape[1] ** power, projection(key, x.shape[1])))


WIDTH = {"width": exhibit.WIDTH}

BOXES = {
    "maximum-over-future-positions": Box(
        "mixer",
        layer(detached_maximum),
        right=layer(masks.maximum_of_its_own),
        declared={**WIDTH, "hides_future": True},
    ),
    "top-k-before-the-mask": Box(
        "mixer",
        layer(masks.chosen_before_the_mask),
        right=layer(chosen_after_the_mask),
        declared={**WIDTH, "hides_future": True},
    ),
    "cache-off-by-one": Box("decode", decoding(caches.counts_one_too_far), right=decoding(decoded), declared=WIDTH),
    "rotary-layouts-mixed": Box(
        "rotary",
        turned(rotations.query_interleaved, rotations.key_half),
        right=turned(rotations.query_interleaved, rotations.query_interleaved),
    ),
    "rotation-without-its-minus": Box("rotary", moving(rotations.sine_without_its_sign), right=moving(rotary)),
    "positions-in-bfloat16": Box("rotary", moving(rotations.positions_in_bfloat16(rotary)), right=moving(rotary)),
    "sine-and-cosine-out-of-step": Box(
        "sinusoidal", table(rotations.a_frequency_for_every_column), right=table(sinusoidal)
    ),
    "frequencies-by-precedence": Box(
        "sinusoidal",
        table(rotations.waves_divided_too_early),
        right=table(sinusoidal),
        declared={"base": 10000.0},
    ),
    "bigbird-never-switches-back": Box("mixer", Sticky, right=Switching),
    "features-without-d-to-the-quarter": Box(
        "random-features",
        features(normal),
        right=features(normal, power=-0.25),
        declared={"scale": "rsqrt", "kernel": "softmax"},
    ),
    "orthogonal-without-sign-fix": Box(
        "random-features",
        features(orthogonal_without_signs),
        right=features(lambda key, d: orthogonal_projection(key, d, d)),
    ),
}
"""Those that no call of queries, keys and values alone shows."""

CONVENTIONS = {
    "eps-inside-the-feature-map": Box(
        "random-features", features(normal, samples.features_with_eps), right=features(normal)
    ),
}
"""What libraries do on purpose, and document."""

TOLD = {"eps-inside-the-feature-map": ("small kernels", "features have a floor")}
