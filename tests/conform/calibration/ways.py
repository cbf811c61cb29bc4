"""Ways to call our operators of queries, keys and values, by the file that a mutant changes. The others are in
`other_ways`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnlab_theory.attention import (
    attention,
    attention_weights,
    blocked,
    blocked_attention,
    causal_mask,
    grouped_query_attention,
    length_mask,
    merge_heads,
    multi_head_attention,
    sliding_window_attention,
    split_heads,
    window_mask,
)
from tests.conform.calibration.museum import usual

TILE = 8
"""Keys that blocked attention meets at once here: its own tiles are longer than the suite's sequences."""


def with_all_arguments(way: "Ours") -> list[np.ndarray]:
    """Outputs of a function of queries, keys and values, with all arguments that it has at once."""
    found = []
    for q, k, v, mask in _probes("alignment" in way.declared):
        for options in _options(way, q, k, mask):
            x = tuple(_laid_out(y, way.layout) for y in (q, k, v))
            if way.kind == "grouped-query":
                x = x[0], x[1][:2], x[2][:2]
            code = way.target.__code__
            names = code.co_varnames[: code.co_argcount]
            found += outputs(way.target, *x, **{key: each for key, each in options.items() if key in names})
    return found


class Ours(NamedTuple):
    """A way to call our operators, and what it is judged by."""

    kind: str
    layout: str
    target: Any
    identities: tuple[str, ...] = ()
    """All, if none is named."""
    declared: Mapping[str, Any] = {}
    look: Callable[["Ours"], list[np.ndarray]] = with_all_arguments
    """A first look at whether a change moves anything."""

    @property
    def known(self) -> dict[str, Any]:
        """All that is declared."""
        layout = {"layout": self.layout} if self.layout else {}
        return {"framework": "jax", **layout, **self.declared}


def outputs(target: Callable[..., Any], *given: Any, **named: Any) -> list[np.ndarray]:
    """The numbers that a call gives, as one vector in float64; an error is an empty vector."""
    try:
        numbers = [np.asarray(y, np.float64).ravel() for y in jax.tree.leaves(target(*given, **named))]
        return [np.concatenate(numbers)]
    except Exception:
        return [np.zeros(0)]


def gradients(way: Ours) -> list[np.ndarray]:
    """The gradients of a function of queries, keys and values."""
    found = []
    for q, k, v, _ in _probes(square=True):
        x = tuple(y.astype("float32") for y in (q, k, v))
        weights = jnp.cos(x[2])
        found += outputs(jax.grad(lambda *y, c=weights: (way.target(*y) * c).sum(), (0, 1, 2)), *x)
    return found


def calls(*each: tuple[Any, ...]) -> Callable[[Ours], list[np.ndarray]]:
    """A first look by these arguments."""
    return lambda way: [x for given in each for x in outputs(way.target, *given)]


def normal(*shape: int, seed: int = 0) -> jax.Array:
    """Standard normal numbers."""
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), "float32")


LONG = tuple(normal(150, 4, seed=n) for n in range(3))
"""Queries, keys and values of more than one block."""

SIZES = ((9, 9), (20, 27))
"""Queries and keys of a first look."""


def _probes(square: bool) -> list[tuple[Any, ...]]:
    """Inputs of that look: in half precision too, and with a row that sees nothing and a hidden NaN."""
    random = np.random.default_rng(44)
    found = []
    for kind in ("float32", "float16"):
        for t, s in SIZES if not square else ((20, 20),):
            q, k, v = (random.standard_normal((n, 4)) * 2 for n in (t, s, s))
            mask = (random.random((t, s)) < 0.7) & (np.arange(t)[:, None] != 2) & (np.arange(s) != 1)
            v[1] = np.nan if s != t else 1.0
            found.append((*(jnp.asarray(x, kind) for x in (q, k, v)), jnp.asarray(mask)))
    return found


def _laid_out(x: Any, layout: str) -> Any:
    """[t d] with four heads, or as a batch of one."""
    if "h" in layout:
        return jnp.stack([x, -x, 2 * x, x], layout.index("h"))
    return x[None] if "b" in layout else x


def _options(way: Ours, q: Any, k: Any, mask: Any) -> list[dict[str, Any]]:
    """All arguments at once; where there are heads, also with a mask and a bias for each of them."""
    bias = q[:, :1] * jnp.ones_like(k[None, :, 0]) + k[None, :, 1]
    own = {"window": 4, "mask": mask, "bias": bias, "softcap": 1.5, "causal": "alignment" in way.declared}
    own |= {"lengths": jnp.asarray([len(k) - 2])}
    if "h" not in way.layout:
        return [own]
    each = {"mask": jnp.stack([mask, mask, ~mask, mask]), "bias": jnp.stack([bias, -bias, bias, 2 * bias])}
    return [own, own | each]


def everything(q, k, v, mask=None, scale=None, softcap=None, bias=None):
    options = {"scale": usual(q, scale), "softcap": softcap, "bias": bias, "blind": "zeros"}
    return grouped_query_attention(q, k, v, mask, **options)


def one_head(q, k, v, mask=None, scale=None):
    rows = attention_weights(q, k, mask, scale=usual(q, scale), blind="zeros")
    return attention(q, k, v, mask, scale=usual(q, scale), blind="zeros"), rows


def future_hidden(q, k, v, mask=None):
    past = causal_mask(len(q), len(k))
    return attention(q, k, v, past if mask is None else past & mask, scale=usual(q), blind="nan")


def blind_means(q, k, v, mask=None):
    return attention(q, k, v, mask, scale=usual(q), blind="mean")


def in_turn(q, k, v):
    return grouped_query_attention(q, k, v, scale=usual(q), order="strided")


def side_by_side(q, k, v):
    """[t h d] by way of tokens [t h*d]."""
    heads = q.shape[1]
    x = (split_heads(each.reshape(len(each), -1), heads) for each in (q, k, v))
    return merge_heads(multi_head_attention(*x, scale=usual(q))).reshape(*q.shape[:2], -1)


def near(q, k, v, window):
    shown = window_mask(len(q), len(k), before=window - 1, offset=len(k) - len(q))
    return attention(q, k, v, shown, scale=usual(q), blind="zeros")


def window_of_blocks(q, k, v, window):
    return sliding_window_attention(q, k, v, scale=usual(q), window=window, causal=True)


def filled(q, k, v, lengths=None):
    """[b t d]; of each batch element that many keys are seen."""
    t, s = q.shape[1], k.shape[1]
    shown = [None] * len(q) if lengths is None else [length_mask(t, s, length=int(n)) for n in lengths]
    each = zip(q, k, v, shown, strict=True)
    return jnp.stack([attention(*x, scale=usual(q), blind="zeros") for x in each])


def tiled(q, k, v, scale=None, causal=False, tile=TILE):
    if causal and len(q) != len(k):
        raise ValueError("as many keys as queries")
    kept = {name: getattr(blocked, name) for name in ("WHOLE_ROWS", "CAUSAL_WHOLE_ROWS", "PIECE")}
    try:
        blocked.WHOLE_ROWS = blocked.CAUSAL_WHOLE_ROWS = tile
        blocked.PIECE = tile // 2
        return blocked_attention(q, k, v, scale=usual(q, scale), block=tile, causal=causal)
    finally:
        vars(blocked).update(kept)


def small_tiles(q, k, v):
    return tiled(q, k, v, tile=4)


def small_tiles_causal(q, k, v):
    return tiled(q, k, v, causal=True, tile=4)


def three_blocks(q, k, v):
    return blocked_attention(q, k, v, scale=usual(q), block=2)


def three_blocks_causal(q, k, v):
    return blocked_attention(q, k, v, scale=usual(q), block=2, causal=True)


def whole_rows(q, k, v):
    return blocked_attention(q, k, v, scale=usual(q), block=5)


def whole_rows_causal(q, k, v):
    return blocked_attention(q, k, v, scale=usual(q), block=5, causal=True)


PLAIN = ("visibility", "plain", "large scores", "offset values")
FEW = ("visibility", "plain")
SQUARE = {"alignment": "square"}
WAYS = {
    "softmax": (
        Ours("softmax", "td", one_head),
        Ours("causal", "td", future_hidden, (*PLAIN, "masks", "padding", "blind rows")),
        Ours("softcap", "htd", everything, ("plain", "feature")),
        Ours("bias", "htd", everything, ("plain", "masks", "masks by head", "pairs")),
    ),
    "heads": (
        Ours("grouped-query", "htd", everything, ("plain", "masks by head", "masks", "elements apart")),
        Ours("grouped-query", "htd", in_turn, ("visibility", "plain"), {"interleaved": True}),
        Ours("multi-head", "htd", everything, ("plain", "masks by head", "hidden numbers", "blind rows")),
        Ours("bias", "htd", everything, ("plain", "masks by head")),
        Ours("multi-head", "thd", side_by_side, FEW),
    ),
    "masks": (
        Ours("causal", "td", future_hidden, (*PLAIN, "more keys", "padding", "blind rows")),
        Ours("sliding-window", "td", near, (*PLAIN, "feature", "more keys")),
        Ours("softmax", "btd", filled, ("plain", "padding", "pairs")),
    ),
    "hidden": (
        Ours("softmax", "td", one_head, ("plain", "masks", "padding", "blind rows", "hidden NaN")),
        Ours("causal", "td", future_hidden, ("plain", "padding", "blind rows", "hidden NaN")),
        Ours("bias", "htd", everything, ("plain", "masks by head")),
        Ours("softmax", "td", blind_means, ("masks", "padding", "blind rows", "hidden NaN")),
    ),
    "blocked": (
        Ours("causal", "td", whole_rows_causal, FEW, SQUARE),
        Ours("causal", "td", tiled, (*FEW, "block edges"), SQUARE),
        Ours("softmax", "td", tiled, (*FEW, "scale", "more keys", "block edges", "float16")),
        Ours("softmax", "td", whole_rows, (*FEW, "block edges")),
        Ours("softmax", "td", small_tiles, ("gradients",), look=gradients),
        Ours("causal", "td", small_tiles_causal, ("gradients",), SQUARE, gradients),
        Ours("softmax", "td", three_blocks, ("gradients",), {}, gradients),
        Ours("causal", "td", three_blocks_causal, ("gradients",), SQUARE, gradients),
    ),
    "sparse": (
        Ours(
            "sliding-window",
            "td",
            window_of_blocks,
            (*PLAIN, "feature", "more keys", "block edges"),
            look=calls((*LONG, 4), (LONG[0][:9], *LONG[1:], 3), (*(x[:5] for x in LONG), 1)),
        ),
    ),
}
"""What is asked about the changes of a file."""


def by_our_masks(q, k, v, mask=None, is_causal=False, window=None, scale=None, bias=None):
    shown = jnp.ones((len(q), len(k)), bool) if mask is None else mask
    if is_causal:
        shown = shown & causal_mask(len(q), len(k))
    if window is not None:
        shown = shown & window_mask(len(q), len(k), before=window - 1, offset=len(k) - len(q))
    return attention(q, k, v, shown, scale=usual(q, scale), bias=bias, blind="zeros")


ASKED = {name: (everything, "htd") for name in WAYS if name != "sparse"} | {
    "blocked": (tiled, "td"),
    "masks": (by_our_masks, "td"),
}
"""Who is asked ONNX's vectors about the changes of a file, and its layout. No vector has a window and no mask."""
