"""ONNX's own test vectors as calls of our operators: layouts, caches and masks of theirs said in ours.

`conform.vectors` asks them of anybody's attention; here stands what it does not ask: the further outputs of
Attention, and rotary embeddings.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from attnlab_theory.attention import (
    attention_scores,
    attention_weights,
    grouped_query_attention,
    length_mask,
    rotary,
    window_mask,
)
from attnlab_theory.conform.vectors.reading import Vector, by_head
from attnlab_theory.identities.rounding import (
    attention_rounding,
    epsilon,
    peak,
    score_bound,
    score_rounding,
    weight_rounding,
)

Answer = tuple[np.ndarray, float]
"""An output of ours, and how far it may be from theirs."""


def _places(said: dict[str, Any], given: dict[str, np.ndarray], batch: int, t: int, s: int) -> np.ndarray:
    """Who may look, by the flags and the lengths of one member of the batch."""
    before, after = (said.get(f"{side}_window_size", -1) for side in ("left", "right"))
    offset = given["past_key"].shape[2] if "past_key" in given else 0
    seen = np.ones((t, s), bool)
    if "nonpad_kv_seqlen" in given:
        length = int(given["nonpad_kv_seqlen"][batch])
        offset, seen = length - t, np.asarray(length_mask(t, s, length=length))
    after = 0 if said.get("is_causal") and after < 0 else after
    limits = {side: None if limit < 0 else limit for side, limit in (("before", before), ("after", after))}
    near = np.asarray(window_mask(t, s, offset=offset, **limits))
    # A window that ends later than the causal mask does not lift it.
    past = np.asarray(window_mask(t, s, offset=offset)) if said.get("is_causal") else True
    return seen & near & past


def attention(vector: Vector) -> dict[str, Answer]:
    """Attention-23 to 25: batches in a loop, heads in groups, past keys in front."""
    said, given = vector.attributes, vector.inputs
    counts = said.get("q_num_heads"), said.get("kv_num_heads"), said.get("kv_num_heads")
    q, k, v = (by_head(given[name], h) for name, h in zip("QKV", counts, strict=True))
    if "past_key" in given:
        k, v = (np.concatenate([given[f"past_{n}"], x], axis=2) for n, x in (("key", k), ("value", v)))
    (batches, h, t, d), s = q.shape, k.shape[2]
    scale, softcap = said.get("scale", d**-0.5), said.get("softcap") or None
    mask = given.get("attn_mask")
    if mask is not None:
        rest = s - mask.shape[-1]
        fill = False if mask.dtype == bool else -np.inf
        mask = np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, rest)], constant_values=fill)
        mask = np.broadcast_to(mask, (batches, h, t, s))
    outputs, extras, atol, extra_atol = [], [], 0.0, 0.0
    for batch in range(batches):
        seen = np.broadcast_to(_places(said, given, batch, t, s), (h, t, s))
        bias = None
        if mask is not None and mask.dtype == bool:
            seen = seen & mask[batch]
        elif mask is not None:
            bias = jnp.asarray(mask[batch])
        own = [jnp.asarray(x[batch]) for x in (q, k, v)]
        options = {"scale": float(scale), "softcap": softcap, "blind": "zeros"}
        outputs.append(np.asarray(grouped_query_attention(*own, jnp.asarray(seen), bias=bias, **options)))
        hidden = ~np.any(seen if bias is None else seen & (np.asarray(bias) != -np.inf), axis=(0, 1))
        # What nobody sees may be anything, and is part of no bound.
        read = [np.where(hidden[:, None], np.zeros((), x.dtype), x[batch]) for x in (k, v)]
        keys, values = (jnp.asarray(np.repeat(x, h // k.shape[1], axis=0)) for x in read)
        for i in range(h):
            one = None if bias is None else bias[i]
            atol = max(atol, _atol(own[0][i], keys[i], values[i], scale, softcap, one))
            if "qk_matmul_output" in vector.outputs:
                extra, allowed = _extra(said, own[0][i], keys[i], seen[i], one, options)
                extras.append(extra)
                extra_atol = max(extra_atol, allowed)
    joined = np.stack(outputs)
    y = joined if given["Q"].ndim == 4 else joined.swapaxes(1, 2).reshape(batches, t, -1)
    present = {f"present_{n}": (x, 0.0) for n, x in (("key", k), ("value", v))}
    answers = {"Y": (y, atol), **present}
    return answers | (
        {"qk_matmul_output": (np.stack(extras).reshape(batches, h, t, s), extra_atol)} if extras else {}
    )


def _extra(
    said: dict[str, Any], q: Any, k: Any, seen: np.ndarray, bias: Any, options: dict[str, Any]
) -> tuple[np.ndarray, float]:
    """What the fourth output says of one head, by its mode: scores, or weights."""
    mode, scale = said.get("qk_matmul_output_mode", 0), options["scale"]
    error = score_rounding(q, k, scale) + 4 * epsilon(q) * _more(options["softcap"], bias)
    if mode == 3:
        weights = attention_weights(q, k, jnp.asarray(seen), bias=bias, **options)
        return np.asarray(weights), 3 * weight_rounding(error, len(k), epsilon(q))
    if mode == 2:
        return np.asarray(attention_scores(q, k, jnp.asarray(seen), bias=bias, **options)), 3 * error
    cap = options["softcap"] if mode == 1 else None
    return np.asarray(attention_scores(q, k, scale=scale, softcap=cap)), 3 * error


def _more(softcap: float | None, bias: Any) -> float:
    """The size of what a score is made of besides its products."""
    finite = 0.0 if bias is None else float(np.max(np.where(np.isfinite(bias), np.abs(bias), 0), initial=0))
    return (softcap or 0.0) + finite


def _atol(q: Any, k: Any, v: Any, scale: float, softcap: float | None, bias: Any) -> float:
    """Ours errs by its rounding, theirs by as much, and by that of the root of the scale in either factor.

    In half precision the derived bound lets everything pass. There it is a calibration: eps (1 + score) |v|, three
    times the largest error of 23 right implementations.
    """
    plain, eps = attention_rounding(q, k, v, scale), epsilon(q)
    if q.dtype.itemsize < 4:
        return eps * (1 + score_bound(q, k, scale)) * peak(v)
    more = 4 * eps * (_more(softcap, bias) + score_bound(q, k, scale))
    return 3 * (plain + peak(v) * float(np.expm1(2 * more)))


def rotary_embedding(vector: Vector) -> dict[str, Answer]:
    """Their tables are random numbers, no rotation: each pair turns by an angle and is stretched by a radius."""
    said, given = vector.attributes, vector.inputs
    x = by_head(given["input"], said.get("num_heads"))
    cos, sin = given["cos_cache"], given["sin_cache"]
    if "position_ids" in given:
        cos, sin = (table[given["position_ids"]] for table in (cos, sin))
    angles, radii = np.arctan2(sin, cos), np.hypot(cos, sin)
    layout = "interleaved" if said.get("interleaved") else "half"
    turned = np.empty_like(x)
    for batch, head, t in np.ndindex(*x.shape[:3]):
        radius = radii[batch, t]
        wide = np.repeat(radius, 2) if layout == "interleaved" else np.tile(radius, 2)
        row = x[batch, head, t].copy()
        row[: wide.size] *= wide
        at = jnp.ones(1, row.dtype)
        turned[batch, head, t] = rotary(jnp.asarray(row[None]), at, layout=layout, frequencies=angles[batch, t])[0]
    y = turned if given["input"].ndim == 4 else turned.swapaxes(1, 2).reshape(given["input"].shape)
    # Of a radius of at most sqrt(2), an angle of at most pi and a sum of two products, either way.
    return {"output": (y, 16 * float(np.finfo(x.dtype).eps) * float(np.max(np.abs(x))))}


FLEX: dict[str, Callable[[Sequence[int], dict[str, float]], dict[str, Any]]] = {
    "score_mod": lambda shape, said: {"bias": np.full(shape, said["bias"], np.float32)},
    "soft_cap": lambda shape, said: {"softcap": said["cap"]},
    "causal_mask": lambda shape, said: {"mask": np.tri(*shape, dtype=bool)},
    "relative_positional": lambda shape, said: {
        "bias": np.subtract.outer(*(np.arange(n) for n in shape)).astype(np.float32)
    },
}
"""What the graph of a case does to the scores, in our words."""


def flex_attention(vector: Vector) -> dict[str, Answer]:
    """FlexAttention of the preview: the functions of scores that we have a word for."""
    numpy_helper = importlib.import_module("onnx.numpy_helper")
    q, k, v = (vector.inputs[name] for name in "QKV")
    h, scale = q.shape[1], vector.attributes.get("scale", q.shape[3] ** -0.5)
    options: dict[str, Any] = {}
    if "score_mod" in vector.attributes:
        constants = {x.name: numpy_helper.to_array(x) for x in vector.attributes["score_mod"].initializer}
        numbers = {name: float(x) for name, x in constants.items() if x.size == 1}
        build = FLEX[vector.name.removeprefix("flexattention_")]
        options = {
            name: x if np.isscalar(x) else jnp.asarray(x)
            for name, x in build((q.shape[2], k.shape[2]), numbers).items()
        }
    outputs = [
        np.asarray(grouped_query_attention(*map(jnp.asarray, rows), scale=float(scale), **options))
        for rows in zip(q, k, v, strict=True)
    ]
    keys, values = (jnp.asarray(np.repeat(x, h // k.shape[1], axis=1)) for x in (k, v))
    atol = max(
        _atol(jnp.asarray(q[b, i]), keys[b, i], values[b, i], scale, options.get("softcap"), options.get("bias"))
        for b, i in np.ndindex(*q.shape[:2])
    )
    return {"Y": (np.stack(outputs), atol)}


ADAPTERS: dict[str, Callable[[Vector], dict[str, Answer]]] = {
    "Attention": attention,
    "RotaryEmbedding": rotary_embedding,
    "FlexAttention": flex_attention,
}
