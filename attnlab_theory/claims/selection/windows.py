"""How far back a stack of sliding windows listens (docs/mathematics/selection.md)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from attnlab_theory.attention import sliding_window_attention
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.selection import windows as theory

EPS = float(np.finfo(np.float32).eps)

MOST_LAYERS = 100


class Stack(Setting):
    """Layers skip x + (1 - skip) times the even mean of the last `window` tokens, the token itself among them."""

    window: int
    layers: int
    skip: float
    distance: int
    """From how far back influence counts."""


@functools.partial(jax.jit, static_argnums=0)
def _heard(
    window: int, layers: Scalar, skip: Scalar, ones: Float[Array, "t 1"], distance: Scalar
) -> Float[Array, ""]:
    """What arrives at `distance` and further of one token that all earlier windows leave whole."""
    at = jnp.arange(ones.shape[0], dtype=ones.dtype)[:, None] - (window - 1)

    def layer(_: Int[Array, ""], x: Float[Array, "t 1"]) -> Float[Array, "t 1"]:
        return skip * x + (1 - skip) * sliding_window_attention(
            ones, ones, x, scale=1.0, window=window, causal=True
        )

    heard = lax.fori_loop(0, jnp.int32(layers), layer, (at == 0).astype(ones.dtype))
    return jnp.sum(jnp.where(at >= distance, heard, 0))


def _heard_from(key: PRNGKeyArray, setting: Stack) -> Scalar:
    del key
    # Long enough for most layers, so that all numbers of layers share one program.
    length = setting.window - 1 + MOST_LAYERS * (setting.window - 1) + 1
    return _heard(
        setting.window, float(setting.layers), setting.skip, jnp.ones((length, 1)), float(setting.distance)
    )


STACKED = exact_claim(
    name="how-far-stacked-windows-hear",
    statement=r"After $L$ layers $ax + (1 - a)\cdot$(even mean of the last $W$ tokens) the influence over a "
    r"distance is the law of a sum of $L$ numbers, each uniform on $0, \dots, W - 1$ with chance $1 - a$, else 0: "
    r"it grows with $L$.",
    source="mathematics/selection.md#how-far-stacked-windows-hear",
    hypotheses=at_least(window=1, layers=0, skip=0, distance=0) | at_most(window=16, layers=MOST_LAYERS, skip=1),
    predict=lambda s: Interval.point(theory.heard_from(s.window, s.layers, s.skip, s.distance)),
    draw=_heard_from,
    rounding=lambda s: EPS * ((s.layers + 1) * (s.window + 8) + 800),
    settings=tuple(Stack(window=8, layers=layers, skip=0.95, distance=12) for layers in (16, 32, 64, 100)),
    rival=Rival(
        statement=r"The influence over a distance $\delta$ is $(1 - a)^{\delta/W}$.",
        source="Xiao 2025b, one branch for each window, whatever the number of ways through the layers",
        predict=lambda s: Interval.point(theory.heard_by_decay(s.window, s.skip, s.distance)),
    ),
)

HORIZON = foil(
    STACKED,
    name="a-horizon-that-does-not-depend-on-depth",
    statement="With skips of 0.95 at most a tenth of the influence comes from beyond one and a half windows, "
    "however many layers there are.",
    source="mathematics/selection.md#how-far-stacked-windows-hear; Xiao 2025b, O(W) regardless of depth",
    predict=Interval.at_most(0.1),
    settings=STACKED.settings[2:],
)

ROOT = foil(
    STACKED,
    name="windows-spread-like-the-square-root",
    statement=r"Without skips at most a tenth of the influence of sixteen layers comes from $W\sqrt L$ tokens back "
    "or further.",
    source=r"mathematics/selection.md#how-far-stacked-windows-hear; Xiao 2025b, in summaries: $O(W\sqrt L)$",
    predict=Interval.at_most(0.1),
    settings=(Stack(window=8, layers=16, skip=0.0, distance=32),),
)


class Reach(Setting):
    """The same layers, and how far the furthest token is that they hear."""

    window: int
    layers: int
    skip: float


def _furthest(key: PRNGKeyArray, setting: Reach) -> float:
    """Halved until one distance is left that is heard, and the next is not."""
    heard, silent = 0, MOST_LAYERS * (setting.window - 1) + 1
    while silent - heard > 1:
        middle = (heard + silent) // 2
        found = _heard_from(key, Stack(**setting.fields(), distance=middle))
        heard, silent = (middle, silent) if found > 0 else (heard, middle)
    return float(heard)


REACH = exact_claim(
    name="how-far-stacked-windows-reach",
    statement=r"$L$ windows of $W$ tokens, the token itself among them, reach $L(W - 1)$ tokens back.",
    source="mathematics/selection.md#how-far-stacked-windows-hear; Jiang et al. 2023",
    hypotheses=at_least(window=1, layers=0, skip=0)
    | at_most(window=16, skip=0.95)
    # What is heard from the furthest token is no number of float32 for more layers.
    | {"(1 - skip) / window to the layers >= 1e-30": lambda s: ((1 - s.skip) / s.window) ** s.layers >= 1e-30},
    predict=lambda s: Interval.point(float(theory.reach(s.window, s.layers))),
    draw=_furthest,
    rounding=0.1,
    settings=tuple(Reach(window=8, layers=layers, skip=0.0) for layers in (2, 16, 32)),
    rival=Rival(
        statement=r"They reach as far as one of them, $W - 1$ tokens.",
        source="Xiao 2025b, a horizon that depth does not move, taken for the last token that is heard",
        predict=lambda s: Interval.point(float(s.window - 1)),
    ),
)

TIMES = foil(
    REACH,
    name="reach-is-L-times-W",
    statement=r"$L$ windows of $W$ tokens, the token itself among them, reach $LW$ tokens back.",
    source="mathematics/selection.md#how-far-stacked-windows-hear; Jiang et al. 2023, 131 thousand tokens by 32 "
    "layers with windows of 4,096",
    predict=lambda s: Interval.point(float(s.layers * s.window)),
)

CLAIMS = (STACKED, HORIZON, ROOT, REACH, TIMES)
