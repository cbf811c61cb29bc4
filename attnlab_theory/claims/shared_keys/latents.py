"""What latent attention keeps for each token, and which score maps it has (docs/mathematics/shared_keys.md)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_scores, rotary
from attnlab_theory.attention.caching import Kept
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval
from attnlab_theory.theory.shared_keys import latents as theory

EPS = float(np.finfo(np.float32).eps)


class Absorbed(Setting):
    """A rotary head of width d over latent rows of another width, at distances 0, 1, ..."""

    d: int
    latent: int
    distances: int
    base: float


RANK_TOLERANCE = 1e-4
"""Singular values below this share of the largest are rounding: float32 gives 1e-6 or less. Others exceed 1e-3."""


MOST_DISTANCES = 256


@functools.partial(jax.jit, static_argnums=(1, 2))
def _products(key: PRNGKeyArray, d: int, latent: int, base: Scalar) -> Float[Array, "pairs distances"]:
    """A column for each distance: all products of the head's query matrix with its turned key matrix."""
    w_q, w_k = jax.random.normal(key, (2, latent, d))
    at = jnp.tile(jnp.arange(MOST_DISTANCES, dtype=w_k.dtype), latent)
    turned = rotary(jnp.repeat(w_k, MOST_DISTANCES, axis=0), at, base=base)
    return attention_scores(w_q, turned, scale=1.0).reshape(latent**2, MOST_DISTANCES)


def _rank_of_absorbed(key: PRNGKeyArray, setting: Absorbed) -> float:
    # One program for all numbers of distances.
    products = _products(key, setting.d, setting.latent, setting.base)[:, : setting.distances]
    sizes = np.linalg.svd(np.asarray(products, np.float64), compute_uv=False)
    return float(np.sum(sizes > RANK_TOLERANCE * sizes[0]))


ABSORBED = exact_claim(
    name="rotary-needs-d-absorbed-matrices",
    statement=r"With rotary positions the matrices $W_Q^TR_\delta W_K$ of $n$ distances span $\min(n, d)$ "
    "dimensions: so many absorbed matrices are needed, and enough.",
    source="mathematics/shared_keys.md#absorption-under-rotary-positions; DeepSeek-AI 2024",
    hypotheses=at_least(d=2, latent=1, distances=1, base=50)
    | at_most(d=16, base=200, distances=MOST_DISTANCES)
    | {"d is even": lambda s: s.d % 2 == 0, "latent^2 >= 2 d": lambda s: s.latent**2 >= 2 * s.d}
    # With few distances in a wide head the smallest singular value comes near to rounding.
    | {"distances <= 4 or >= d^2": lambda s: s.distances <= 4 or s.distances >= s.d**2},
    predict=lambda s: Interval.point(float(theory.absorbed_matrices(s.d, s.distances))),
    draw=_rank_of_absorbed,
    rounding=0.1,
    settings=(
        Absorbed(d=8, latent=6, distances=64, base=100.0),
        Absorbed(d=8, latent=6, distances=4, base=100.0),
        Absorbed(d=16, latent=12, distances=256, base=100.0),
    ),
    rival=Rival(
        statement="One absorbed matrix is enough.",
        source="the case without positions",
        predict=Interval.point(1.0),
    ),
)

IMPOSSIBLE = foil(
    ABSORBED,
    name="rotary-makes-absorption-impossible",
    statement="Each distance needs an absorbed matrix of its own.",
    source="mathematics/shared_keys.md#absorption-under-rotary-positions; DeepSeek-AI 2024, RoPE is incompatible "
    "with absorption, read as if no finite number would do",
    predict=lambda s: Interval.point(float(s.distances)),
    settings=(ABSORBED.settings[0], ABSORBED.settings[2]),
)


class Caches(Setting):
    """Latent attention beside grouped heads: layers, what each keeps for a token, and bits for each number."""

    layers: int
    latent: int
    turned: int
    bits: int
    by_layers: int
    by_groups: int
    by_width: int
    by_bits: int


def _saved(key: PRNGKeyArray, setting: Caches) -> float:
    del key
    shape = (setting.by_groups, 1, setting.by_width)
    heads = Kept(k=jnp.zeros(shape), v=jnp.zeros(shape))
    # What latent attention reads of one token: the latent row, and the part of a key that positions turn.
    latent = (jnp.zeros((1, setting.latent)), jnp.zeros((1, setting.turned)))
    ours = setting.layers * setting.bits * sum(x.size for x in latent)
    return 1 - ours / (setting.by_layers * setting.by_bits * sum(x.size for x in heads))


def _deepseek(bits: int, by_layers: int, by_groups: int) -> Caches:
    theirs = {"by_layers": by_layers, "by_groups": by_groups, "by_width": 128, "by_bits": 16}
    return Caches(layers=60, latent=512, turned=64, bits=bits, **theirs)


SAVED = exact_claim(
    name="what-latent-attention-saves",
    statement="The cache of DeepSeek-V2 is 82.2 per cent smaller than that of DeepSeek 67B at equal precision, "
    "93.3 with 6 bits against 16, and 98.2 at equal precision against full heads of its own shape.",
    source="mathematics/shared_keys.md#what-a-cache-keeps; DeepSeek-AI 2024",
    hypotheses=at_least(layers=1, latent=1, turned=1, bits=1, by_layers=1, by_groups=1, by_width=1, by_bits=1),
    predict=lambda s: Interval.point(theory.cache_saved(**s.fields())),
    draw=_saved,
    rounding=lambda s: (
        8 * EPS * s.layers * (s.latent + s.turned) * s.bits / (s.by_layers * s.by_groups * s.by_width)
    ),
    settings=(_deepseek(16, 95, 8), _deepseek(6, 95, 8), _deepseek(16, 60, 128)),
    rival=Rival(
        statement="A token keeps its latent row alone.",
        source="the part of the key that positions turn left out",
        predict=lambda s: Interval.point(theory.cache_saved(**{**s.fields(), "turned": 0})),
    ),
)

ALONE = foil(
    SAVED,
    name="latent-attention-alone-saves-93-per-cent",
    statement="Latent attention alone makes the cache of DeepSeek-V2 93.3 per cent smaller than that of DeepSeek "
    "67B.",
    source="mathematics/shared_keys.md#what-a-cache-keeps; DeepSeek-AI 2024, the number of its abstract read "
    "without the 6 bits",
    predict=Interval(0.9325, 0.9335),
    settings=SAVED.settings[:1],
)


class Disjoint(Setting):
    """Latent heads of a width, each of which reads its own part of a latent row; all projections orthonormal."""

    heads: int
    width: int
    model_width: int


def _maps(key: PRNGKeyArray, setting: Disjoint) -> Float[Array, "h d d"]:
    # The queries' rows are parts of one frame, too: one program makes both frames.
    shape = (setting.heads, setting.width, setting.model_width)
    queries, parts = (
        orthonormal(each, setting.heads * setting.width, setting.model_width).reshape(shape)
        for each in jax.random.split(key)
    )
    return jax.vmap(lambda q, k: attention_scores(q.T, k.T, scale=1.0))(queries, parts)


def _lost_by_groups(key: PRNGKeyArray, setting: Disjoint) -> float:
    """The share of the squared norm that the best keys for pairs of heads miss: Eckart and Young's."""
    maps = np.asarray(_maps(key, setting), np.float64)
    stacked = maps.reshape(setting.heads // 2, 2 * setting.model_width, setting.model_width)
    squares = np.linalg.svd(stacked, compute_uv=False) ** 2
    return float(squares[:, setting.width :].sum() / squares.sum())


UNEQUAL = exact_claim(
    name="equal-cache-unequal-maps",
    statement="Heads that read disjoint parts of a latent row have score maps of which grouped heads with a cache "
    "of the same size miss half, however they are chosen.",
    source="mathematics/shared_keys.md#equal-caches-unequal-maps; Meng et al. 2025; Eckart and Young 1936",
    hypotheses=at_least(heads=2, width=1)
    | at_most(model_width=128)
    | {
        "heads are even": lambda s: s.heads % 2 == 0,
        "the parts fit": lambda s: s.heads * s.width <= s.model_width,
    },
    predict=lambda s: Interval.point(theory.lost_at_equal_cache()),
    draw=_lost_by_groups,
    rounding=lambda s: 64 * EPS * s.model_width,
    settings=(Disjoint(heads=8, width=4, model_width=64), Disjoint(heads=2, width=3, model_width=16)),
    rival=Rival(
        statement="Nothing is missed.",
        source="variants compared by the bytes of their caches alone",
        predict=Interval.point(0.0),
    ),
)

EQUAL_POWER = foil(
    UNEQUAL,
    name="equal-cache-equal-power",
    statement="Grouped heads with a cache of the same size come within a tenth of any latent heads.",
    source="mathematics/shared_keys.md#equal-caches-unequal-maps; Meng et al. 2025, who prove that they do not",
    predict=Interval.at_most(0.1),
)

CLAIMS = (ABSORBED, IMPOSSIBLE, SAVED, ALONE, UNEQUAL, EQUAL_POWER)
