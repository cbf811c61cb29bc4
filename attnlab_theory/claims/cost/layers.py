"""What layers cost, counted in the real operators (docs/mathematics/cost.md)."""

import bisect
import functools
from typing import Any, assert_never

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from attnlab_theory.attention import attention, causal_mask
from attnlab_theory.attention.caching import decode_step, empty_cache
from attnlab_theory.claims.cost.counts import counted_claim, counted_foil, counted_rival, shape
from attnlab_theory.claims.hypotheses import at_least
from attnlab_theory.claims.setting import Setting
from attnlab_theory.counting import Cost, count
from attnlab_theory.theory.cost import layers as theory
from attnlab_theory.theory.cost.layers import Part, Rival


def _weights(d: int) -> dict[str, Any]:
    square = {name: shape(d, d) for name in ("q", "k", "v", "o")}
    return {**square, "up": shape(d, 4 * d), "down": shape(4 * d, d)}


def _project(x: Float[Array, "t d"], w: dict[str, Array]) -> tuple[Array, Array, Array]:
    return x @ w["q"], x @ w["k"], x @ w["v"]


def _mlp(x: Float[Array, "t d"], w: dict[str, Array]) -> Float[Array, "t d"]:
    return jax.nn.gelu(x @ w["up"]) @ w["down"]


def _mix(q: Float[Array, "t d"], k: Float[Array, "t d"], v: Float[Array, "t d"]) -> Float[Array, "t d"]:
    """Causal attention computes all T^2 scores: the mask hides half of them and saves nothing."""
    return attention(q, k, v, causal_mask(q.shape[0]), scale=q.shape[1] ** -0.5)


def _layer(x: Float[Array, "t d"], w: dict[str, Array]) -> Float[Array, "t d"]:
    """A plain decoder layer, without norms: they have no matrix product."""
    x = x + _mix(*_project(x, w)) @ w["o"]
    return x + _mlp(x, w)


@functools.cache
def part_cost(part: Part, t: int, d: int) -> Cost:
    """The counted cost of one part of a layer."""
    x, w = shape(t, d), _weights(d)
    match part:
        case Part.PROJECTIONS:
            return count(lambda x, w: (_project(x, w), x @ w["o"]), x, w)
        case Part.MIXING:
            return count(_mix, x, x, x)
        case Part.MLP:
            return count(_mlp, x, w)
        case Part.LAYER:
            return count(_layer, x, w)
        case _:
            assert_never(part)


class LayerPart(Setting):
    """One part of a layer of width d over t tokens."""

    part: Part
    t: int
    d: int


LENGTHS = tuple(2**i for i in range(4, 12))

LAYER = counted_claim(
    name="layer-products",
    statement=r"One pass of $T$ tokens of width $d$ through a layer costs $8Td^2 + 4T^2d + 16Td^2$ operations in "
    r"matrix products: projections, mixing, MLP.",
    source="mathematics/cost.md#one-pass-through-a-layer; ann-hw3/5.1; ann-hw3/5.2.3",
    hypotheses=at_least(t=1, d=1),
    predict=lambda s: theory.products(s.part, s.t, s.d),
    measure=lambda s: part_cost(s.part, s.t, s.d).matrix_products,
    settings=tuple(LayerPart(part=part, t=t, d=64) for part in Part for t in LENGTHS),
    rival=counted_rival(
        statement=r"A product of an $a\times b$ and a $b\times c$ matrix costs $abc$ operations.",
        source="a multiplication and an addition counted as one",
        predict=lambda s: theory.products(s.part, s.t, s.d) // 2,
    ),
)


class MixingAndRival(Setting):
    """Mixing against a rival in a layer of width d, in one pass or generating with a cache."""

    d: int
    rival: Rival
    cached: bool


def _cache(capacity: int, d: int, *batch: int) -> Any:
    """The shapes of an empty cache, or of one for every sequence of a batch."""
    one = jax.eval_shape(lambda: empty_cache(capacity, d, d, dtype=jnp.float32))
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct((*batch, *x.shape), x.dtype), one)


@functools.cache
def _decoded(t: int, d: int) -> int:
    """Products of one step of cached decoding whose cache ends up full with t tokens."""
    step = functools.partial(decode_step, scale=1.0)
    return count(step, _cache(t, d), *[shape(d)] * 3).matrix_products


def _mixed(t: int, d: int, cached: bool) -> int:
    if cached:
        return sum(_decoded(i, d) for i in range(1, t + 1))
    return part_cost(Part.MIXING, t, d).matrix_products


def _of_tokens(part: Part, t: int, d: int, cached: bool) -> int:
    """Products of a part that works on every token by itself: in one pass, or in a step for each token."""
    return t * part_cost(part, 1, d).matrix_products if cached else part_cost(part, t, d).matrix_products


def _first_overtaken(setting: MixingAndRival) -> int:
    """The first length at which the counted mixing is no cheaper than its counted rival."""

    def overtaken(t: int) -> bool:
        mixed = _mixed(t, setting.d, setting.cached)
        projected, mlp = (_of_tokens(part, t, setting.d, setting.cached) for part in (Part.PROJECTIONS, Part.MLP))
        match setting.rival:
            case Rival.PROJECTIONS:
                return mixed >= projected
            case Rival.MLP:
                return mixed >= mlp
            case Rival.ALL_ELSE:
                return mixed >= projected + mlp
            case Rival.MODULE:
                return mixed + projected >= mlp
            case _:
                assert_never(setting.rival)

    return 1 + bisect.bisect_left(range(1, 16 * setting.d), True, key=overtaken)


CROSSING = counted_claim(
    name="mixing-overtakes",
    statement=r"Mixing first costs as much as the projections at $T = 2d$, the MLP at $4d$, all other products at "
    r"$6d$; with its projections it overtakes the MLP at $2d$. Generating with a cache doubles these lengths: "
    r"$T + 1 = 4d, 8d, 12d, 4d$.",
    source="mathematics/cost.md#where-mixing-overtakes-the-rest; ann-hw3/5.2.3",
    hypotheses=at_least(d=1),
    predict=lambda s: theory.crossing(s.d, s.rival, cached=s.cached),
    measure=_first_overtaken,
    settings=(
        *(MixingAndRival(d=d, rival=rival, cached=False) for d in (16, 64, 256) for rival in Rival),
        *(MixingAndRival(d=4, rival=rival, cached=True) for rival in Rival),
    ),
    rival=counted_rival(
        statement=r"Mixing costs $2T^2d$, so it costs as much as the others at twice these lengths.",
        source="the scores counted and the weighted mean of the values left out",
        # Half of the mixing costs as much as a rival where all of it would at twice the width.
        predict=lambda s: theory.crossing(2 * s.d, s.rival, cached=s.cached),
    ),
)

DOMINATES_AT_WIDTH = counted_foil(
    CROSSING,
    name="mixing-dominates-from-the-width-on",
    statement=r"Attention dominates as soon as $T > d$.",
    source="mathematics/cost.md#where-mixing-overtakes-the-rest; ann-hw3/5.2.3, as submitted",
    predict=lambda s: s.d + 1,
    settings=(
        *(MixingAndRival(d=d, rival=Rival.MLP, cached=False) for d in (16, 64, 256)),
        MixingAndRival(d=64, rival=Rival.MODULE, cached=False),
        MixingAndRival(d=4, rival=Rival.MLP, cached=True),
    ),
)


class Generation(Setting):
    """Generating t tokens in each of `batch` sequences, by one layer of width d and a readout of `vocabulary`."""

    t: int
    d: int
    batch: int
    vocabulary: int


def _token(row: Float[Array, " d"], cache: Any, w: dict[str, Array]) -> tuple[Array, Any]:
    """One token through a layer and the readout."""
    x = row[None, :]
    q, k, v = _project(x, w)
    mixed, cache = decode_step(cache, q[0], k[0], v[0], scale=row.shape[0] ** -0.5)
    x = x + mixed[None, :] @ w["o"]
    return ((x + _mlp(x, w)) @ w["out"])[0], cache


@functools.cache
def _generated(setting: Generation) -> int:
    """Products of all steps, each with a cache as long as what it holds, in a batch of sequences."""
    w = {**_weights(setting.d), "out": shape(setting.d, setting.vocabulary)}
    step = jax.vmap(_token, in_axes=(0, 0, None))
    rows = shape(setting.batch, setting.d)
    caches = (_cache(i, setting.d, setting.batch) for i in range(1, setting.t + 1))
    return sum(count(step, rows, cache, w).matrix_products for cache in caches)


CACHED = counted_claim(
    name="generation-products",
    statement=r"Generating $T$ tokens with a cache costs $B(2T(T+1)d + 24Td^2)$ per layer and $2BTdV$ to read "
    r"them out.",
    source="mathematics/cost.md#generating-with-a-cache; ann-hw3/5.2.2",
    hypotheses=at_least(t=1, d=1, batch=1, vocabulary=1),
    predict=lambda s: theory.generation(s.t, s.d, batch=s.batch, vocabulary=s.vocabulary),
    measure=_generated,
    settings=tuple(
        Generation(t=t, d=16, batch=batch, vocabulary=50) for t, batch in ((1, 1), (6, 1), (6, 4), (12, 4))
    ),
    rival=counted_rival(
        statement="Each token is mixed with the tokens before it: $2T(T - 1)d$.",
        source="the token itself left out of what it looks at",
        predict=lambda s: (
            theory.generation(s.t, s.d, batch=s.batch, vocabulary=s.vocabulary) - 4 * s.batch * s.t * s.d
        ),
    ),
)

READOUT_WITHOUT_BATCH = counted_foil(
    CACHED,
    name="readout-costs-the-same-for-any-batch",
    statement=r"Generating costs $B(2T(T+1)d + 24Td^2) + 2TdV$: the readout's term has no $B$.",
    source="mathematics/cost.md#generating-with-a-cache; ann-hw3/5.2.2, as submitted, with its constants",
    predict=lambda s: theory.generation(s.t, s.d, batch=s.batch) + theory.readout(s.t, s.d, s.vocabulary),
    settings=CACHED.settings[2:],
)


class PaddedGeneration(Setting):
    """Generating t tokens by one layer of width d with a cache of fixed capacity. Capacity 0 is no cache at all."""

    t: int
    d: int
    capacity: int


def _too_few(setting: PaddedGeneration) -> int:
    if setting.capacity:
        return theory.generation(setting.t, setting.d)
    t, d = setting.t, setting.d
    return 12 * t**2 * d**2 + 4 * t**3 * d // 3


def _generated_otherwise(setting: PaddedGeneration) -> int:
    w = _weights(setting.d)
    if not setting.capacity:
        return sum(part_cost(Part.LAYER, i, setting.d).matrix_products for i in range(1, setting.t + 1))

    def generate(rows: Float[Array, "t d"], cache: Any, w: dict[str, Array]) -> Array:
        w = {**w, "out": jnp.zeros((setting.d, 0), jnp.float32)}

        def step(cache: Any, row: Float[Array, " d"]) -> tuple[Any, Array]:
            logits, cache = _token(row, cache, w)
            return cache, logits

        return lax.scan(step, cache, rows)[1]

    return count(generate, shape(setting.t, setting.d), _cache(setting.capacity, setting.d), w).matrix_products


OTHERWISE = counted_claim(
    name="generation-with-padding-or-without-a-cache",
    statement=r"With a cache of fixed length $T_{\max}$, mixing takes $4T_{\max}d$ operations a step, however few "
    r"tokens it holds. Without a cache, $T$ tokens take $12T(T+1)d^2 + \frac{2}{3}T(T+1)(2T+1)d$ operations: one "
    "power of $T$ more than with a cache that grows.",
    source="mathematics/cost.md#generating-with-a-cache; ann-hw3/5.2.1; ann-hw3/5.2.2",
    hypotheses=at_least(t=1, d=1, capacity=0),
    predict=lambda s: (
        theory.generation_padded(s.t, s.d, s.capacity) if s.capacity else theory.generation_uncached(s.t, s.d)
    ),
    measure=_generated_otherwise,
    settings=tuple(PaddedGeneration(t=t, d=16, capacity=capacity) for t in (4, 16) for capacity in (0, 16, 128)),
    rival=counted_rival(
        statement="With a cache of fixed length only the tokens that it holds are mixed. Without a cache, $T$ "
        r"tokens take $12T^2d^2 + \frac{4}{3}T^3d$ operations.",
        source="the places that are still empty left out; sums over $i$ replaced by integrals",
        predict=_too_few,
    ),
)

CLAIMS = (LAYER, CROSSING, DOMINATES_AT_WIDTH, CACHED, READOUT_WITHOUT_BATCH, OTHERWISE)
