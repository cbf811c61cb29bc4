"""A recurrent layer beside attention: operations and memory, and how loops are counted (claims I.3)."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from attnlab_theory.attention import attention, blocked_attention
from attnlab_theory.claims.claim import Verdict
from attnlab_theory.claims.cost.counted import counted_claim, shape
from attnlab_theory.counting import Cost, count, longest_chain
from attnlab_theory.theory.cost import layers

BLOCK = 64


@dataclasses.dataclass(frozen=True)
class Layer:
    """A "plain", "blocked" or "recurrent" layer of t tokens and width d, which the heads divide."""

    kind: str
    t: int
    d: int
    heads: int


def _recurrent(x: Float[Array, "t d"], w_in: Float[Array, "d d"], w: Float[Array, "d d"]) -> Float[Array, "t d"]:
    def step(h: Float[Array, " d"], row: Float[Array, " d"]) -> tuple[Array, Array]:
        h = jnp.tanh(w @ h + w_in @ row)
        return h, h

    return lax.scan(step, jnp.zeros_like(x[0]), x)[1]


def _work(layer: Layer) -> tuple[Callable[..., Array], tuple[Any, ...]]:
    """The layer, and the shapes of what it is given."""
    t, d = layer.t, layer.d
    if layer.kind == "recurrent":
        return _recurrent, (shape(t, d), shape(d, d), shape(d, d))
    operators: dict[str, Callable[..., Array]] = {
        "plain": functools.partial(attention, scale=1.0),
        "blocked": functools.partial(blocked_attention, scale=1.0, block=BLOCK),
    }
    return jax.vmap(operators[layer.kind]), (shape(layer.heads, t, d // layer.heads),) * 3


@functools.cache
def layer_cost(layer: Layer) -> Cost:
    """What the walker counts in one layer."""
    work, shapes = _work(layer)
    return count(work, *shapes)


LAYERS = tuple(
    Layer(kind, t, 64, heads)
    for kind, heads in (("plain", 4), ("blocked", 4), ("recurrent", 1))
    for t in (256, 512, 1024, 2048)
)
PRODUCTS = {"plain": layers.mixing, "blocked": layers.mixing, "recurrent": layers.recurrent}

OPERATIONS = counted_claim(
    "operations-of-recurrence-and-attention",
    r"A recurrent layer costs $4Td^2$ operations in matrix products, one step after the other; attention $4T^2d$, "
    r"plain or in blocks, whatever the heads.",
    "claims I.3; ann-hw3 5.1",
    predict=lambda s: PRODUCTS[s.kind](s.t, s.d),
    measure=lambda s: layer_cost(s).matrix_products,
    settings=LAYERS,
)

LARGEST = counted_claim(
    "largest-array",
    r"The largest array of plain attention has $hT^2$ numbers, of four bytes each; in blocks, or in a recurrent "
    r"layer, no array grows faster than $T$.",
    "claims I.3; ann-hw3 5.1",
    predict=lambda s: layers.largest_array(s.kind, s.t, s.d, heads=s.heads, block=BLOCK),
    measure=lambda s: layer_cost(s).largest,
    settings=LAYERS,
)

WAITING = counted_claim(
    "products-that-wait-for-one-another",
    r"In a recurrent layer $T$ matrix products wait for one another; in attention two, at any length.",
    "claims I.3, I.4; ann-hw3 5.1; Vaswani et al. 2017, table 1",
    predict=lambda s: layers.chain(s.kind, s.t),
    measure=lambda s: longest_chain(_work(s)[0], *_work(s)[1]),
    settings=tuple(layer for layer in LAYERS if layer.t <= 512),
)

HEADS_SHARE = counted_claim(
    "heads-share-one-matrix-of-weights",
    r"Attention with $h$ heads stores $QK^\top$ in $T^2$ numbers.",
    "ann-hw3 5.1, as submitted: O(T^2 + Td), in an answer about h heads",
    predict=lambda s: layers.largest_array("plain", s.t, s.d),
    measure=lambda s: layer_cost(s).largest,
    settings=LAYERS[:2],
    expect=Verdict.REFUTED,
)


@dataclasses.dataclass(frozen=True)
class Loop:
    """A product of a d by d matrix with a vector, `steps` times in a loop."""

    steps: int
    d: int


def _loop(setting: Loop) -> tuple[Callable[..., Array], tuple[Any, ...]]:
    def looped(w: Float[Array, "d d"], x: Float[Array, " d"]) -> Float[Array, " d"]:
        return lax.scan(lambda h, _: (w @ h, None), x, None, length=setting.steps)[0]

    return looped, (shape(setting.d, setting.d), shape(setting.d))


def _counted_by_xla(setting: Loop) -> int:
    looped, shapes = _loop(setting)
    analysis = jax.jit(looped).lower(*shapes).compile().cost_analysis()
    return round((analysis or {})["flops"])


LOOPS = (Loop(2, 64), Loop(512, 64))

WALKED = counted_claim(
    "a-walk-counts-every-turn-of-a-loop",
    r"Walking the jaxpr counts $2d^2$ operations for every turn of a loop.",
    "claims I",
    predict=lambda s: 2 * s.steps * s.d**2,
    measure=lambda s: count(_loop(s)[0], *_loop(s)[1]).matrix_products,
    settings=LOOPS,
)

XLA_COUNTS = counted_claim(
    "xla-counts-every-turn-of-a-loop",
    r"XLA's own cost analysis counts $2d^2$ operations for every turn of a loop.",
    "an exhibit: it counts the body once, and a few operations for the counter",
    predict=lambda s: 2 * s.steps * s.d**2,
    measure=_counted_by_xla,
    settings=LOOPS,
    expect=Verdict.REFUTED,
)

CLAIMS = (OPERATIONS, LARGEST, WAITING, HEADS_SHARE, WALKED, XLA_COUNTS)
