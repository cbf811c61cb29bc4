"""A recurrent layer beside attention: operations and memory, and how loops are counted.

See docs/mathematics/cost.md.
"""

import functools
from collections.abc import Callable
from typing import Any, assert_never

import jax
from jax import lax
from jaxtyping import Array, Float

from attnlab_theory.attention import attention, blocked_attention
from attnlab_theory.attention.recurrence import recurrent_layer
from attnlab_theory.claims.claim import foil
from attnlab_theory.claims.cost.counts import counted, counted_claim, counted_foil, counted_rival, shape
from attnlab_theory.claims.hypotheses import at_least
from attnlab_theory.claims.setting import Setting
from attnlab_theory.counting import Cost, count, longest_chain
from attnlab_theory.theory.cost import recurrence as theory
from attnlab_theory.theory.cost.recurrence import LayerKind

BLOCK = 64


class TokenLayer(Setting):
    """A layer of t tokens and width d, which the heads divide."""

    kind: LayerKind
    t: int
    d: int
    heads: int


def _work(layer: TokenLayer) -> tuple[Callable[..., Array], tuple[Any, ...]]:
    """The layer, and the shapes of what it is given."""
    t, d = layer.t, layer.d
    heads = (shape(layer.heads, t, d // layer.heads),) * 3
    match layer.kind:
        case LayerKind.PLAIN:
            return jax.vmap(functools.partial(attention, scale=1.0)), heads
        case LayerKind.BLOCKED:
            return jax.vmap(functools.partial(blocked_attention, scale=1.0, block=BLOCK)), heads
        case LayerKind.RECURRENT:
            return recurrent_layer, (shape(t, d), shape(d, d), shape(d, d))
        case _:
            assert_never(layer.kind)


@functools.cache
def layer_cost(layer: TokenLayer) -> Cost:
    """The counted cost of one layer."""
    work, shapes = _work(layer)
    return count(work, *shapes)


LAYERS = tuple(
    TokenLayer(kind=kind, t=t, d=64, heads=heads)
    for kind, heads in ((LayerKind.PLAIN, 4), (LayerKind.BLOCKED, 4), (LayerKind.RECURRENT, 1))
    for t in (256, 512, 1024, 2048)
)

DIVIDED = at_least(t=1, d=1) | {
    "blocks fit": lambda s: s.kind != LayerKind.BLOCKED or s.t % BLOCK == 0,
    "the heads divide the width": lambda s: s.heads > 0 and s.d % s.heads == 0,
}

OPERATIONS = counted_claim(
    name="operations-of-recurrence-and-attention",
    statement=r"A recurrent layer costs $4Td^2$ operations in matrix products, one step after the other; "
    r"attention $4T^2d$, plain or in blocks, whatever the heads.",
    source="mathematics/cost.md#recurrence-against-attention; Vaswani et al. 2017, table 1; ann-hw3/5.1",
    hypotheses=DIVIDED,
    predict=lambda s: theory.products(s.kind, s.t, s.d),
    measure=lambda s: layer_cost(s).matrix_products,
    settings=LAYERS,
    rival=counted_rival(
        statement=r"A recurrent layer costs $2Td^2$ operations, attention $2T^2d$.",
        source="one of two products left out: that with the inputs, or the mean of the values",
        predict=lambda s: theory.products(s.kind, s.t, s.d) // 2,
    ),
)


def _too_small(layer: TokenLayer) -> int:
    match layer.kind:
        case LayerKind.PLAIN:
            return theory.largest_array(layer.kind, layer.t, layer.d)
        case LayerKind.BLOCKED:
            return theory.largest_array(layer.kind, layer.t, layer.d // layer.heads)
        case LayerKind.RECURRENT:
            return theory.largest_array(layer.kind, 1, layer.d)
        case _:
            assert_never(layer.kind)


LARGEST = counted_claim(
    name="largest-array",
    statement=r"The largest array of plain attention has $hT^2$ numbers, of four bytes each; in blocks, or in a "
    r"recurrent layer, no array grows faster than $T$.",
    source="mathematics/cost.md#recurrence-against-attention; ann-hw3/5.1",
    hypotheses=DIVIDED | {"d <= t": lambda s: s.d <= s.t},
    predict=lambda s: theory.largest_array(s.kind, s.t, s.d, heads=s.heads, block=BLOCK),
    measure=lambda s: layer_cost(s).largest,
    settings=LAYERS,
    rival=counted_rival(
        statement="Heads share one matrix of weights, blocks hold the output of one head, and a recurrent layer "
        "one state.",
        source="ann-hw3/5.1, as submitted, for heads; what is held at one moment only, for the others",
        predict=_too_small,
    ),
)

WAITING = counted_claim(
    name="products-that-wait-for-one-another",
    statement=r"In a recurrent layer $T$ matrix products wait for one another; in attention two, at any length.",
    source="mathematics/cost.md#recurrence-against-attention; Vaswani et al. 2017, table 1; ann-hw3/5.1",
    hypotheses=DIVIDED,
    predict=lambda s: theory.chain(s.kind, s.t),
    measure=lambda s: longest_chain(_work(s)[0], *_work(s)[1]),
    settings=tuple(layer for layer in LAYERS if layer.t <= 512),
    rival=counted_rival(
        statement=r"In any layer $\log_2 T$ products wait for one another.",
        source="the depth of a parallel scan, which a linear recurrence allows",
        predict=lambda s: s.t.bit_length() - 1,
    ),
)

HEADS_SHARE = counted_foil(
    LARGEST,
    name="heads-share-one-matrix-of-weights",
    statement=r"Attention with $h$ heads stores $QK^\top$ in $T^2$ numbers.",
    source="mathematics/cost.md#recurrence-against-attention; ann-hw3/5.1, as submitted: O(T^2 + Td), in an "
    "answer about h heads",
    predict=lambda s: theory.largest_array(s.kind, s.t, s.d),
    settings=LAYERS[:2],
)


class ProductLoop(Setting):
    """A product of a d by d matrix with a vector, `steps` times in a loop."""

    steps: int
    d: int


def _loop(setting: ProductLoop) -> tuple[Callable[..., Array], tuple[Any, ...]]:
    def looped(w: Float[Array, "d d"], x: Float[Array, " d"]) -> Float[Array, " d"]:
        return lax.scan(lambda h, _: (w @ h, None), x, None, length=setting.steps)[0]

    return looped, (shape(setting.d, setting.d), shape(setting.d))


def _counted_by_xla(setting: ProductLoop) -> int:
    looped, shapes = _loop(setting)
    analysis = jax.jit(looped).lower(*shapes).compile().cost_analysis()
    return round((analysis or {})["flops"])


WALKED = counted_claim(
    name="a-walk-counts-every-turn-of-a-loop",
    statement=r"Walking the jaxpr counts $2d^2$ operations for every turn of a loop.",
    source="mathematics/cost.md#counting-loops",
    hypotheses=at_least(steps=1, d=1),
    predict=lambda s: 2 * s.steps * s.d**2,
    measure=lambda s: count(_loop(s)[0], *_loop(s)[1]).matrix_products,
    settings=tuple(ProductLoop(steps=steps, d=64) for steps in (2, 512)),
    rival=counted_rival(
        statement=r"The body of a loop counts once, $2d^2$.",
        source="XLA's own cost analysis",
        predict=lambda s: 2 * s.d**2,
    ),
)

XLA_COUNTS = foil(
    WALKED,
    name="xla-counts-every-turn-of-a-loop",
    statement=r"XLA's own cost analysis counts $2d^2$ operations for every turn of a loop.",
    source="mathematics/cost.md#counting-loops",
    draw=counted(_counted_by_xla),
)

CLAIMS = (OPERATIONS, LARGEST, WAITING, HEADS_SHARE, WALKED, XLA_COUNTS)
