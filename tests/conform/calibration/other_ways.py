"""Ways to call our positions, caches, linear attention and random features, by the file that a mutant changes."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnlab_theory.attention import (
    alibi_weights,
    attention,
    causal_mask,
    dense_exponential_features,
    feature_attention,
    generalized_exponential_features,
    half_layout_order,
    hyperbolic_features,
    interpolated_frequencies,
    linear_attention,
    llama3_frequencies,
    ntk_frequencies,
    positive_features,
    rotary,
    rotary_by_complex,
    rotary_frequencies,
    rotation_matrix,
    sinusoidal,
    trigonometric_features,
    yarn_frequencies,
    yarn_scale,
)
from attnlab_theory.attention.caching import Kept, cached_attention, decode_step, empty_cache
from tests.conform.calibration.museum import usual
from tests.conform.calibration.suites import biases
from tests.conform.calibration.ways import LONG, Ours, calls, normal, outputs

SOME = normal(6, 8), jnp.arange(6) * 37
"""Vectors, and where they stand."""
TURNED = calls(SOME, (normal(4, 16), jnp.arange(4.0) * 301.5))


def turning(frequencies: Callable[[int], np.ndarray]) -> Callable[..., Any]:
    """Rotary positions with these frequencies, by the width."""
    return lambda x, positions: rotary(x, positions, frequencies=frequencies(x.shape[1]))


def half_turning(x, positions):
    """The first half of the channels turns."""
    return rotary(x, positions, frequencies=rotary_frequencies(x.shape[1] // 2))


def in_halves(x, positions):
    return rotary(x, positions, layout="half")


def by_matrices(x, positions):
    width, kind = x.shape[1], x.dtype
    return jnp.stack([rotation_matrix(p, width, dtype=kind) @ y for y, p in zip(x, positions, strict=True)])


def in_another_order(x, positions):
    """The layout of halves, between two changes of the order."""
    order = half_layout_order(x.shape[1])
    return rotary(x[:, order], positions, layout="half")[:, np.argsort(order)]


def of_yarn(x, positions):
    return yarn_scale(4.0) * turning(functools.partial(yarn_frequencies, factor=4.0, original=64))(x, positions)


def table(positions, width):
    return sinusoidal(jnp.asarray(positions), width)


def by_distance(x):
    """Tokens mixed by linear biases, as a layer does."""
    past = causal_mask(len(x), len(x))
    return alibi_weights(x, x, past, scale=usual(x), slope=0.5) @ x


CAPACITY = 136
"""Places of a cache: as many as the suite fills."""


def in_places(q, k, v, cache=None):
    """A cache of a fixed size, a token after the other."""
    made = empty_cache(CAPACITY, k.shape[1], v.shape[1], dtype=k.dtype) if cache is None else cache
    found = []
    for token in zip(q, k, v, strict=True):
        out, made = decode_step(made, *token, scale=usual(q))
        found.append(out)
    return jnp.stack(found), made


def growing(q, k, v, cache=None):
    """A cache that is made longer for each call."""
    used = 0 if cache is None else cache.k.shape[-2]
    kept = Kept(k, v) if cache is None else cache.in_slots(used + len(k)).written(k, v, used)
    return attention(q, kept.k, kept.v, causal_mask(len(q), used + len(q)), scale=usual(q)), kept


def after_each_other(q, k, v):
    return cached_attention(q, k, v, scale=usual(q))


def decoded(way: Ours) -> list[np.ndarray]:
    """Three tokens, then two more."""
    x = normal(5, 4), normal(5, 4, seed=1), normal(5, 4, seed=2)
    try:
        out, cache = way.target(*(y[:3] for y in x))
    except Exception:
        return [np.zeros(0)] * 2
    return [np.asarray(out, np.float64).ravel(), *outputs(way.target, *(y[3:] for y in x), cache)]


def linear(q, k, v, causal=False):
    """By elu + 1."""
    return linear_attention(jax.nn.elu(q) + 1, jax.nn.elu(k) + 1, v, causal=causal)


def estimated(q, k, v, key, causal=False):
    """Softmax attention by random features."""
    return feature_attention(q, k, v, jax.random.normal(key, (256, q.shape[1])), scale=usual(q), causal=causal)


def estimated_past(x):
    """The same as a layer that hides the future."""
    return feature_attention(x, x, x, normal(32, x.shape[1]), scale=usual(x), causal=True)


GROWING = LONG[0], LONG[1] * (0.6 ** (np.arange(150)[::-1, None] // 64)).astype("float32"), LONG[2]
"""The same with keys that are longer from chunk to chunk."""
LINEAR = calls(LONG, (*LONG, True), (LONG[0][:5], *LONG[1:]))


def features(phi: Callable[..., Any], **given: Any) -> Ours:
    """A map of points to features, drawn from a key."""

    def target(x, key):
        return phi(x, jax.random.normal(key, (64, x.shape[1])), **{name: each(x) for name, each in given.items()})

    look = calls((normal(5, 4), jax.random.key(1)), (normal(3, 8), jax.random.key(2)))
    return Ours("random-features", "", target, (), {"kernel": "softmax", "scale": "one"}, look)


def crooked(x):
    """Directions of unequal parameters."""
    return jnp.asarray(np.linalg.qr(np.random.default_rng(5).standard_normal((x.shape[1],) * 2))[0], x.dtype)


def unequal(x):
    return jnp.linspace(-0.2, 0.05, x.shape[1]).astype(x.dtype)


PAIRS = {"base": 10000.0}
STRETCHED = (
    (interpolated_frequencies, {"factor": 4.0}),
    (ntk_frequencies, {"factor": 4.0}),
    (yarn_frequencies, {"factor": 4.0, "original": 64, "ramp": "rotations"}),
    (yarn_frequencies, {"factor": 4.0, "original": 10000}),
    (llama3_frequencies, {"original": 64}),
)
"""Frequencies of longer texts: which are meant nobody says, so that others are a convention."""
WAYS = {
    "alibi": (
        Ours("alibi", "", biases, look=calls((2, 5, 5), (6, 3, 7), (8, 1, 4), (1, 2, 2))),
        Ours("mixer", "", by_distance, (), {"hides_future": True}, calls((normal(6, 4),))),
    ),
    "frequencies": (
        Ours("rotary", "", turning(rotary_frequencies), (), PAIRS, TURNED),
        *(
            Ours("rotary", "", turning(functools.partial(frequencies, **given)), (), {}, TURNED)
            for frequencies, given in STRETCHED
        ),
        Ours("rotary", "", of_yarn, (), {}, TURNED),
    ),
    "positions": (
        Ours("rotary", "", lambda x, positions: rotary(x, positions), (), PAIRS, TURNED),
        Ours("rotary", "", in_halves, (), PAIRS, TURNED),
        Ours("rotary", "", half_turning, (), PAIRS, TURNED),
        Ours("rotary", "", lambda x, positions: rotary_by_complex(x, positions), (), PAIRS, TURNED),
        Ours("rotary", "", by_matrices, ("turning", "rotation"), PAIRS, TURNED),
        Ours("rotary", "", in_another_order, (), {**PAIRS, "pairs": "interleaved"}, TURNED),
        Ours("sinusoidal", "", table, (), PAIRS, calls((np.arange(5), 4), (np.arange(40) * 7, 10))),
    ),
    "caching": (
        Ours("decode", "", growing, ("token by token", "chunks"), {}, decoded),
        Ours("decode", "", in_places, ("token by token", "chunks", "full cache", "two caches"), {}, decoded),
        Ours("causal", "td", after_each_other, ("visibility", "plain"), {"alignment": "square"}, calls(LONG)),
    ),
    "linear": (
        Ours("linear", "td", linear, (), {"features": "elu"}, LINEAR),
        Ours(
            "random-features",
            "",
            estimated,
            (),
            {},
            calls((*LONG, jax.random.key(3)), (*GROWING, jax.random.key(4), True)),
        ),
        Ours("mixer", "", estimated_past, (), {"hides_future": True}, calls((LONG[0],))),
    ),
    "features": (
        features(trigonometric_features),
        features(positive_features),
        features(hyperbolic_features),
        features(generalized_exponential_features, a=lambda x: -0.1),
        features(dense_exponential_features, a=unequal, basis=crooked),
    ),
}
"""What is asked about the changes of a file."""
