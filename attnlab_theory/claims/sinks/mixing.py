"""A sink slows the mixing of tokens over layers, and does not stop it (docs/mathematics/sinks.md)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from attnlab_theory.attention import attention
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval
from attnlab_theory.theory.sinks import mixing as theory

EPS = float(np.finfo(np.float32).eps)


class Layers(Setting):
    """So many layers of equal scores among n tokens, each beside a sink of share w."""

    n: int
    w: float
    layers: int


@jax.jit
def _stacked(
    tokens: Float[Array, "n d"], alike: Float[Array, "n 1"], sink: Scalar, layers: Int[Array, ""] | int
) -> Array:
    """The tokens after the layers x + attention. `alike` are queries and keys of zeros, an argument: as constants
    XLA would fold them."""
    return jax.lax.fori_loop(0, layers, lambda _, x: x + attention(alike, alike, x, scale=1.0, sink=sink), tokens)


def _mixed(setting: Layers) -> Float[Array, "n n"]:
    sink = theory.sink_of_share(setting.n, setting.w)
    return _stacked(jnp.eye(setting.n), jnp.zeros((setting.n, 1)), sink, setting.layers)


def _another(key: PRNGKeyArray, setting: Layers) -> Float[Array, ""]:
    del key
    return _mixed(setting)[0, 1]


def _own(key: PRNGKeyArray, setting: Layers) -> Float[Array, ""]:
    del key
    row = _mixed(setting)[0]
    return row[0] / jnp.sum(row)


def _rounding(setting: Layers) -> float:
    """No term is negative, so relative errors add up: a layer has 2n + 8 roundings of at most eps.

    The score of the sink is rounded, too. It moves 1 - w by w |s| eps of itself.
    """
    sink = abs(theory.sink_of_share(setting.n, setting.w))
    relative = EPS * setting.layers * (2 * setting.n + 8 + 2 * sink)
    return relative * theory.part_of_another(setting.n, setting.w, setting.layers)


SLOWS = exact_claim(
    name="a-sink-slows-mixing",
    statement=r"In $L$ residual layers of equal scores among $n$ tokens, with a sink of share $w$, each other "
    r"token's part of a token is $((2 - w)^L - 1)/n$.",
    source="mathematics/sinks.md#a-sink-slows-mixing; Barbero et al. 2025b",
    hypotheses=at_least(n=2, layers=1) | at_most(layers=100, w=0.999, n=256) | more_than(w=0),
    predict=lambda s: Interval.point(theory.part_of_another(s.n, s.w, s.layers)),
    draw=_another,
    rounding=_rounding,
    settings=(
        *(Layers(n=8, w=0.9, layers=layers) for layers in (2, 8, 32, 80)),
        *(Layers(n=8, w=w, layers=32) for w in (0.5, 0.99)),
    ),
    rival=Rival(
        statement=r"The part is $(1 - w)(2^L - 1)/n$.",
        source="the sink taken for a factor of what all layers mix: right at first order in 1 - w of one layer",
        predict=lambda s: Interval.point(theory.first_order(s.n, s.w, s.layers)),
    ),
)

APART = foil(
    SLOWS,
    name="a-sink-of-nine-tenths-keeps-tokens-apart",
    statement="With a sink of nine tenths at least half of each of 8 tokens is its own after 32 layers.",
    source="mathematics/sinks.md#a-sink-slows-mixing; Barbero et al. 2025b, read without the depth",
    predict=Interval.at_least(0.5),
    draw=_own,
    settings=tuple(Layers(n=8, w=0.9, layers=layers) for layers in (32, 80)),
)

CLAIMS = (SLOWS, APART)
