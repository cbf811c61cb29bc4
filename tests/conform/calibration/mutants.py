"""Mutants of our operators as black boxes: every change of five files that `tests.mutants` knows, one at a time.

Functions get other code where they lie, as in `tests.mutants.in_place`.
"""

import contextlib
import functools
import gc
import sys
import types
from collections.abc import Iterator
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
    window_mask,
)
from tests.conform.calibration.museum import usual
from tests.mutants.changes import PACKAGE, ROOT, Change, changes_of
from tests.mutants.in_place import as_imported, changed, changed_codes

FILES = ("softmax", "heads", "masks", "hidden", "blocked")

TILE = 8
"""Keys that blocked attention meets at once here: its own tiles are longer than the suite's sequences."""

NOT_RUN = {
    **dict.fromkeys(
        ("_backward", "_over_rows", "_added", "add", "lambda at 46"), "only gradients use the function"
    ),
    **dict.fromkeys(
        (
            "refuse_inputs",
            "_refuse_lost",
            "_refuse_seen",
            "refuse_mask",
            "refuse_bias",
            "shown",
            "largest_scale",
            "_smallest",
        ),
        "the function only says which inputs are refused; the answer stays",
    ),
    **dict.fromkeys(
        ("split_heads", "merge_heads"),
        "the function only cuts tokens into heads or joins heads, before or after attention",
    ),
    "length_mask": "the functions that are tried have no argument for a valid length",
}
"""Functions whose changes move no output of a function of queries, keys and values, with the reason."""


class Ours(NamedTuple):
    """A way to call our operators, and what it is judged by."""

    kind: str
    layout: str
    target: Any
    identities: tuple[str, ...]
    declared: dict[str, Any]


def everything(q, k, v, mask=None, scale=None, softcap=None, bias=None):
    options = {"scale": usual(q, scale), "softcap": softcap, "bias": bias, "blind": "zeros"}
    return grouped_query_attention(q, k, v, mask, **options)


def one_head(q, k, v, mask=None, scale=None):
    rows = attention_weights(q, k, mask, scale=usual(q, scale), blind="zeros")
    return attention(q, k, v, mask, scale=usual(q, scale), blind="zeros"), rows


def future_hidden(q, k, v, mask=None):
    past = causal_mask(len(q), len(k))
    return attention(q, k, v, past if mask is None else past & mask, scale=usual(q), blind="nan")


def in_turn(q, k, v):
    return grouped_query_attention(q, k, v, scale=usual(q), order="strided")


def near(q, k, v, window):
    shown = window_mask(len(q), len(k), before=window - 1, offset=len(k) - len(q))
    return attention(q, k, v, shown, scale=usual(q), blind="zeros")


def tiled(q, k, v, scale=None, causal=False):
    if causal and len(q) != len(k):
        raise ValueError("as many keys as queries")
    kept = {name: getattr(blocked, name) for name in ("WHOLE_ROWS", "CAUSAL_WHOLE_ROWS", "PIECE")}
    try:
        blocked.WHOLE_ROWS = blocked.CAUSAL_WHOLE_ROWS = TILE
        blocked.PIECE = TILE // 2
        return blocked_attention(q, k, v, scale=usual(q, scale), block=TILE, causal=causal)
    finally:
        vars(blocked).update(kept)


def whole_rows(q, k, v):
    return blocked_attention(q, k, v, scale=usual(q), block=5)


def whole_rows_causal(q, k, v):
    return blocked_attention(q, k, v, scale=usual(q), block=5, causal=True)


PLAIN = ("visibility", "plain", "large scores", "offset values")
FEW = ("visibility", "plain")
WAYS = {
    "softmax": (
        Ours("softmax", "td", one_head, (), {}),
        Ours("causal", "td", future_hidden, (*PLAIN, "masks", "padding", "blind rows"), {}),
        Ours("softcap", "htd", everything, ("plain", "feature"), {}),
        Ours("bias", "htd", everything, ("plain", "masks", "masks by head", "pairs"), {}),
    ),
    "heads": (
        Ours("grouped-query", "htd", everything, ("plain", "masks by head", "masks", "elements apart"), {}),
        Ours("grouped-query", "htd", in_turn, ("visibility", "plain"), {"interleaved": True}),
        Ours("multi-head", "htd", everything, ("plain", "masks by head", "hidden numbers", "blind rows"), {}),
        Ours("bias", "htd", everything, ("plain", "masks by head"), {}),
    ),
    "masks": (
        Ours("causal", "td", future_hidden, (*PLAIN, "more keys", "padding", "blind rows"), {}),
        Ours("sliding-window", "td", near, (*PLAIN, "feature", "more keys"), {}),
    ),
    "hidden": (
        Ours("softmax", "td", one_head, ("plain", "masks", "padding", "blind rows", "hidden NaN"), {}),
        Ours("causal", "td", future_hidden, ("plain", "padding", "blind rows", "hidden NaN"), {}),
        Ours("bias", "htd", everything, ("plain", "masks by head"), {}),
    ),
    "blocked": (
        Ours("causal", "td", whole_rows_causal, FEW, {"alignment": "square"}),
        Ours("causal", "td", tiled, (*FEW, "block edges"), {"alignment": "square"}),
        Ours("softmax", "td", tiled, (*FEW, "scale", "more keys", "block edges", "float16"), {}),
        Ours("softmax", "td", whole_rows, (*FEW, "block edges"), {}),
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


ASKED = {"blocked": (tiled, "td"), "masks": (by_our_masks, "td")}
"""Who is asked ONNX's vectors about the changes of a file, and its layout. About the others `everything` is."""


def changes() -> list[Change]:
    """All of them, file after file."""
    return [change for name in FILES for change in changes_of(PACKAGE / "attention" / f"{name}.py")]


def stem(change: Change) -> str:
    """The name of the file without its ending."""
    return change.file.rpartition("/")[2].removesuffix(".py")


def function(change: Change) -> str:
    """The name of the function that is changed."""
    return change.function.rpartition(":")[2]


@functools.cache
def functions() -> list[types.FunctionType]:
    """The functions of the attention room that live."""
    here = str(PACKAGE / "attention")
    gc.unfreeze()  # the tests hide from the collector what they have imported
    return [
        f for f in gc.get_objects() if type(f) is types.FunctionType and f.__code__.co_filename.startswith(here)
    ]


def forget(change: Change) -> None:
    """Forget programs and numbers that functions of the changed file have kept."""
    for name, module in list(sys.modules.items()):
        if name.startswith("attnlab_theory.attention"):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
    if stem(change) == "blocked":
        jax.clear_caches()


@contextlib.contextmanager
def mutated(change: Change) -> Iterator[bool]:
    """Our operators with one change; whether the changed function was found."""
    path = ROOT / change.file
    before = path.read_bytes()
    pairs = changed_codes(before.decode(), change.source(before).decode(), str(path), as_imported(str(path)))
    forget(change)
    try:
        with changed([f for f in functions() if f.__code__.co_filename == str(path)], pairs) as found:
            yield bool(found)
    finally:
        forget(change)


SIZES = ((9, 9), (20, 27))
"""Queries and keys of a first look at whether a change moves anything."""


def probes(name: str) -> list[tuple[Any, ...]]:
    """Inputs of that look: in half precision too, and with a row that sees nothing and a hidden NaN."""
    random = np.random.default_rng(44)
    found = []
    for kind in ("float32", "float16"):
        for t, s in SIZES if name != "blocked" else ((20, 20),):
            q, k, v = (random.standard_normal((n, 4)) * 2 for n in (t, s, s))
            mask = (random.random((t, s)) < 0.7) & (np.arange(t)[:, None] != 2) & (np.arange(s) != 1)
            v[1] = np.nan if s != t else 1.0
            found.append((*(jnp.asarray(x, kind) for x in (q, k, v)), jnp.asarray(mask)))
    return found


def looks(name: str) -> list[np.ndarray]:
    """Outputs of the ways of a file for those inputs, with all arguments at once; an error is an empty array."""
    found = []
    for way in WAYS[name]:
        for q, k, v, mask in probes(name):
            for options in _options(way, q, k, mask):
                heads = way.layout == "htd"
                x = tuple(jnp.stack([y, -y, 2 * y, y]) if heads else y for y in (q, k, v))
                if way.kind == "grouped-query":
                    x = x[0], x[1][:2], x[2][:2]
                code = way.target.__code__
                names = code.co_varnames[: code.co_argcount]
                try:
                    came = way.target(*x, **{key: each for key, each in options.items() if key in names})
                    found += [np.asarray(y, np.float64) for y in (came if isinstance(came, tuple) else (came,))]
                except Exception:
                    found.append(np.zeros(0))
    return found


def _options(way: Ours, q: Any, k: Any, mask: Any) -> list[dict[str, Any]]:
    """All arguments at once; where there are heads, also with a mask and a bias for each of them."""
    bias = q[:, :1] * jnp.ones_like(k[None, :, 0]) + k[None, :, 1]
    own = {"window": 4, "mask": mask, "bias": bias, "softcap": 1.5, "causal": "alignment" in way.declared}
    if way.layout != "htd":
        return [own]
    each = {"mask": jnp.stack([mask, mask, ~mask, mask]), "bias": jnp.stack([bias, -bias, bias, 2 * bias])}
    return [own, own | each]
