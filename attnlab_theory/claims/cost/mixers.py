"""What every whole mixer costs, tokens in and tokens out (docs/mathematics/cost.md)."""

import dataclasses
import enum
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from attnlab_theory.attention import mixers, positive_features
from attnlab_theory.attention.linear import CHUNK
from attnlab_theory.attention.mixers import Mixer, Projections, TwoLayers
from attnlab_theory.attention.sparse import SLIDING_BLOCK
from attnlab_theory.claims.cost.counts import counted_claim, counted_rival, shape
from attnlab_theory.claims.hypotheses import at_least
from attnlab_theory.claims.setting import Setting
from attnlab_theory.counting import Cost, count
from attnlab_theory.theory.cost import layers, linear
from attnlab_theory.theory.cost import mixers as theory
from attnlab_theory.theory.cost.mixers import Synthesizer

WIDTH, SIZE, BLOCK, WINDOW, RANDOM = 16, 8, 16, 9, 2
SCALE = WIDTH**-0.5
LAYOUT = {"block": BLOCK, "window": 3, "global_blocks": 1}
"""The layout of BigBird, with RANDOM links for each block. SIZE is the number of features, of hidden units, and
of rows of a sketch."""

Weights = tuple[Array, ...]


class MixerName(enum.StrEnum):
    """The mixers of `attnlab_theory.attention.mixers`."""

    SOFTMAX = "softmax"
    ROTARY = "rotary"
    ALIBI = "ALiBi"
    ZERO_AFTER_SOFTMAX = "zero-after-softmax"
    CACHED = "cached"
    BLOCKED = "blocked"
    SLIDING_WINDOW = "sliding window"
    BIGBIRD = "BigBird"
    LINFORMER = "Linformer"
    POSITIVE_FEATURES = "positive features"
    LINEAR_ATTENTION = "linear attention"
    ADDITIVE = "additive"
    RANDOM_SYNTHESIZER = "random synthesizer"
    FACTORISED_SYNTHESIZER = "factorised synthesizer"
    DENSE_SYNTHESIZER = "dense synthesizer"


class WholeMixer(Setting):
    """A mixer of t tokens of width WIDTH."""

    name: MixerName
    t: int
    causal: bool


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a mixer is made of its projections and other weights, the shapes of these, and what its mixing costs."""

    make: Callable[[Projections, Weights, bool], Mixer]
    mixing: Callable[[int, bool], int]
    further: Callable[[int], tuple[Any, ...]] = lambda t: ()
    projections: int = 3
    """How many of the projections to queries, keys and values it uses in full, d by d."""


def _exact(t: int, causal: bool) -> int:
    del causal
    return layers.mixing(t, WIDTH)


def _features(t: int, causal: bool) -> int:
    return linear.feature_mixing(t, WIDTH, SIZE, chunk=min(CHUNK, t) if causal else 0)


def _bigbird(t: int, causal: bool) -> int:
    near, first = LAYOUT["window"] + RANDOM, LAYOUT["global_blocks"]
    if causal:
        return layers.mixing(t, WIDTH, sources=(near + first) * BLOCK)
    return linear.bigbird_mixing(t, WIDTH, block=BLOCK, near=near, global_blocks=first)


def _features_of(projection: Array) -> Callable[[Array], Array]:
    return lambda x: positive_features(x, projection)


RECIPES: dict[MixerName, Recipe] = {
    MixerName.SOFTMAX: Recipe(lambda p, w, causal: mixers.softmax_mixer(p, scale=SCALE, causal=causal), _exact),
    MixerName.ROTARY: Recipe(lambda p, w, causal: mixers.rotary_mixer(p, scale=SCALE, causal=causal), _exact),
    MixerName.ALIBI: Recipe(
        lambda p, w, causal: mixers.alibi_mixer(p, scale=SCALE, slope=0.5, causal=causal), _exact
    ),
    MixerName.ZERO_AFTER_SOFTMAX: Recipe(
        lambda p, w, causal: mixers.zero_after_softmax_mixer(p, scale=SCALE, causal=causal), _exact
    ),
    MixerName.CACHED: Recipe(lambda p, w, causal: mixers.cached_mixer(p, scale=SCALE), _exact),
    MixerName.BLOCKED: Recipe(
        lambda p, w, causal: mixers.blocked_mixer(p, scale=SCALE, block=BLOCK, causal=causal),
        lambda t, causal: theory.blocked_causal_mixing(t, WIDTH, BLOCK) if causal else layers.mixing(t, WIDTH),
    ),
    MixerName.SLIDING_WINDOW: Recipe(
        lambda p, w, causal: mixers.sliding_window_mixer(p, scale=SCALE, window=WINDOW, causal=causal),
        lambda t, causal: theory.sliding_mixing(t, WIDTH, window=WINDOW, least_block=SLIDING_BLOCK),
    ),
    MixerName.BIGBIRD: Recipe(
        lambda p, w, causal: mixers.bigbird_mixer(p, w[0], scale=SCALE, causal=causal, **LAYOUT),
        _bigbird,
        lambda t: (jax.ShapeDtypeStruct((t // BLOCK, RANDOM), jnp.int32),),
    ),
    MixerName.LINFORMER: Recipe(
        lambda p, w, causal: mixers.linformer_mixer(p, *w, scale=SCALE, causal=causal),
        lambda t, causal: linear.linformer_mixing(t, WIDTH, SIZE),
        lambda t: (shape(SIZE, t), shape(SIZE, t)),
    ),
    MixerName.POSITIVE_FEATURES: Recipe(
        lambda p, w, causal: mixers.feature_mixer(p, w[0], scale=SCALE, causal=causal),
        _features,
        lambda t: (shape(SIZE, WIDTH),),
    ),
    MixerName.LINEAR_ATTENTION: Recipe(
        lambda p, w, causal: mixers.linear_mixer(p, _features_of(w[0]), scale=SCALE, causal=causal),
        _features,
        lambda t: (shape(SIZE, WIDTH),),
    ),
    MixerName.ADDITIVE: Recipe(
        lambda p, w, causal: mixers.additive_mixer(Projections(w[0], w[1], p.w_v), w[2], causal=causal),
        lambda t, causal: theory.additive_mixing(t, WIDTH, SIZE),
        lambda t: (shape(WIDTH, SIZE), shape(WIDTH, SIZE), shape(SIZE)),
        projections=1,
    ),
    MixerName.RANDOM_SYNTHESIZER: Recipe(
        lambda p, w, causal: mixers.random_synthesizer_mixer(p.w_v, w[0], causal=causal),
        lambda t, causal: theory.synthesizer_mixing(t, WIDTH, SIZE, Synthesizer.RANDOM),
        lambda t: (shape(t, t),),
        projections=1,
    ),
    MixerName.FACTORISED_SYNTHESIZER: Recipe(
        lambda p, w, causal: mixers.factorised_synthesizer_mixer(p.w_v, *w, causal=causal),
        lambda t, causal: theory.synthesizer_mixing(t, WIDTH, SIZE, Synthesizer.FACTORISED),
        lambda t: (shape(t, SIZE), shape(t, SIZE)),
        projections=1,
    ),
    MixerName.DENSE_SYNTHESIZER: Recipe(
        lambda p, w, causal: mixers.dense_synthesizer_mixer(p.w_v, TwoLayers(*w), causal=causal),
        lambda t, causal: theory.synthesizer_mixing(t, WIDTH, SIZE, Synthesizer.DENSE),
        lambda t: (shape(WIDTH, SIZE), shape(SIZE), shape(SIZE, t), shape(t)),
        projections=1,
    ),
}


@functools.cache
def whole_cost(whole: WholeMixer) -> Cost:
    """The counted cost of a whole mixer."""
    recipe = RECIPES[whole.name]

    def mixed(x: Array, projections: Projections, further: Weights) -> Array:
        return recipe.make(projections, further, whole.causal)(x)

    square = shape(WIDTH, WIDTH)
    return count(mixed, shape(whole.t, WIDTH), Projections(square, square, square), recipe.further(whole.t))


def _projection(whole: WholeMixer) -> int:
    return layers.projections(whole.t, WIDTH) // 4


def _predicted(whole: WholeMixer) -> int:
    recipe = RECIPES[whole.name]
    return recipe.projections * _projection(whole) + recipe.mixing(whole.t, whole.causal)


PRODUCTS = counted_claim(
    name="whole-mixer-products",
    statement=r"Every mixer costs $2Td^2$ operations for each of its projections, and its mixing: $4T^2d$ where "
    r"all pairs meet, about half of it in causal blocks, a multiple of $T$ by windows, links, sketches and "
    r"features.",
    source="mathematics/cost.md#whole-mixers; practical4/3g.1; practical4/3g.2; practical4/3h.1",
    hypotheses=at_least(t=64)
    | {
        "64 divides t": lambda s: s.t % 64 == 0,
        "a cache is causal": lambda s: s.causal or s.name != MixerName.CACHED,
    },
    predict=_predicted,
    measure=lambda s: whole_cost(s).matrix_products,
    settings=tuple(
        WholeMixer(name=name, t=t, causal=causal)
        for name in MixerName
        for causal in (False, True)
        for t in (64, 256)
        if causal or name != MixerName.CACHED
    ),
    rival=counted_rival(
        statement="A whole mixer projects its output as well.",
        source="one projection too many, that of a layer around the mixer",
        predict=lambda s: _predicted(s) + _projection(s),
    ),
)

CLAIMS = (PRODUCTS,)
