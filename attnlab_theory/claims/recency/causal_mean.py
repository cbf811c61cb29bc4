"""Who is heard through layers of causal attention with equal scores (docs/mathematics/recency.md)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from attnlab_theory.attention import attention, causal_mask
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.recency import causal_mean as theory

EPS = float(np.finfo(np.float32).eps)


class Stack(Setting):
    """Layers skip x + (1 - skip) * (causal attention with equal scores); who of n tokens reaches the last one."""

    n: int
    layers: int
    skip: float
    start: int
    """The number of the first token whose influence counts. The first token of all has the number 1."""
    stop: int
    """The number of the last one."""


@jax.jit
def _reached(
    ones: Float[Array, "t 1"], layers: Scalar, skip: Scalar, start: Scalar, stop: Scalar
) -> Float[Array, ""]:
    at = jnp.arange(1, ones.shape[0] + 1, dtype=ones.dtype)[:, None]
    past = causal_mask(ones.shape[0])

    def layer(_: Int[Array, ""], x: Float[Array, "t 1"]) -> Float[Array, "t 1"]:
        return skip * x + (1 - skip) * attention(ones, ones, x, past, scale=1.0)

    counted = ((at >= start) & (at <= stop)).astype(ones.dtype)
    return lax.fori_loop(0, jnp.int32(layers), layer, counted)[-1, 0]


def _share(key: PRNGKeyArray, setting: Stack) -> Scalar:
    del key
    return _reached(
        jnp.ones((setting.n, 1)), float(setting.layers), setting.skip, float(setting.start), float(setting.stop)
    )


def _predicted(setting: Stack) -> float:
    return theory.share_between(setting.n, setting.layers, setting.skip, setting.start, setting.stop)


def _rounding(setting: Stack) -> float:
    # Nothing is subtracted: a layer sums n numbers, whose errors are relative. Below 1e-30 float32 ends.
    return 2 * EPS * (setting.layers + 1) * (setting.n + 8) * _predicted(setting) + 1e-30


STACK = (
    at_least(n=1, layers=0, skip=0, start=1)
    | at_most(n=1024, layers=64, skip=1)
    | {"start <= stop <= n": lambda s: s.start <= s.stop <= s.n}
)

PRIMACY = exact_claim(
    name="a-causal-mask-favours-the-first",
    statement=r"$L$ layers of causal attention with equal scores give token $j$ of $n$ the influence $\binom{n - "
    r"1}{j - 1}\int_0^1 t^{j - 1}(1 - t)^{n - j}(\ln 1/t)^{L - 1}/(L - 1)!\,dt$ on the last: the first tenth has "
    r"0.997 at $L = 8$.",
    source="mathematics/recency.md#a-causal-mask-favours-the-first; Chowdhury 2026; Wu et al. 2025",
    hypotheses=STACK,
    predict=lambda s: Interval.point(_predicted(s)),
    draw=_share,
    rounding=_rounding,
    settings=(
        *(Stack(n=256, layers=layers, skip=0.0, start=1, stop=26) for layers in (2, 4, 8)),
        Stack(n=256, layers=8, skip=0.5, start=1, stop=26),
    ),
    rival=Rival(
        statement="All tokens have the same influence.",
        source="one layer, where it is so",
        predict=lambda s: Interval.point((s.stop - s.start + 1) / s.n),
    ),
)

ALIKE = foil(
    PRIMACY,
    name="without-positions-a-decoder-hears-all-tokens-alike",
    statement="Without positions eight layers hear a tenth of the text with a tenth of the influence, give or take "
    "a half.",
    source="mathematics/recency.md#a-causal-mask-favours-the-first; Wu et al. 2025, who say the opposite",
    predict=Interval(0.05, 0.15),
    settings=(Stack(n=256, layers=8, skip=0.0, start=1, stop=26),),
)

ANCHOR = exact_claim(
    name="the-recency-anchor-fades-with-depth",
    statement=r"Through $L$ layers with skips of $a$ the last token keeps exactly $(a + (1 - a)/n)^L$ of itself. "
    r"At $a = 0.5$ and $n = 256$ it is heard less than the middle token from 15 layers on.",
    source="mathematics/recency.md#the-recency-anchor-fades-with-depth; Chowdhury 2026",
    hypotheses=STACK | {"the last token": lambda s: s.start == s.stop == s.n},
    predict=lambda s: Interval.point(theory.influence_on_itself(s.n, s.layers, s.skip)),
    draw=_share,
    rounding=_rounding,
    settings=tuple(Stack(n=256, layers=layers, skip=0.5, start=256, stop=256) for layers in (2, 4, 8, 16, 24)),
    rival=Rival(
        statement="The last token keeps the share of one skip, however many layers there are.",
        source="Chowdhury 2026, an anchor of order one at the end, read without the depth",
        predict=lambda s: Interval.point(s.skip),
    ),
)

U_SHAPE = foil(
    ANCHOR,
    name="depth-leaves-a-u-shape",
    statement="After 16 layers with skips of one half the last token is heard better than the middle one.",
    source="mathematics/recency.md#the-recency-anchor-fades-with-depth; Chowdhury 2026, a U shape at birth",
    predict=lambda s: Interval.at_least(float(theory.influence(s.n, s.layers, s.skip)[s.n // 2 - 1])),
    settings=ANCHOR.settings[3:],
)

MIDDLE = exact_claim(
    name="skips-keep-the-middle-alive",
    statement=r"With skips of one half the middle one of 256 tokens has the influence $4.8\cdot10^{-7}$ after 24 "
    "layers. Layers that are skipped do not thin it out.",
    source="mathematics/recency.md#the-recency-anchor-fades-with-depth; Chowdhury 2026",
    hypotheses=STACK | {"the middle token": lambda s: s.start == s.stop == s.n // 2},
    predict=lambda s: Interval.point(_predicted(s)),
    draw=_share,
    rounding=_rounding,
    settings=tuple(Stack(n=256, layers=layers, skip=0.5, start=128, stop=128) for layers in (2, 4, 8, 16, 24)),
    rival=Rival(
        statement=r"Its influence is $(\ln 2)^{L - 1}/((L - 1)!\,n)$.",
        source="Chowdhury 2026, a factorial dead zone: every layer attends",
        predict=lambda s: Interval.point(theory.dead_zone(s.n, s.layers)),
    ),
)

DEAD_ZONE = foil(
    MIDDLE,
    name="skips-leave-the-middle-a-factorial-dead-zone",
    statement=r"With skips the middle token has at most ten times the influence $(\ln 2)^{L - 1}/((L - 1)!\,n)$.",
    source="mathematics/recency.md#the-recency-anchor-fades-with-depth; Chowdhury 2026, its abstract",
    predict=lambda s: Interval.at_most(10 * theory.dead_zone(s.n, s.layers)),
    settings=MIDDLE.settings[2:],
)

CLAIMS = (PRIMACY, ALIKE, ANCHOR, U_SHAPE, MIDDLE, DEAD_ZONE)
