"""What a vector of ONNX asks, in words that do not know ONNX: who may look where, what is added, what comes out."""

import importlib
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.kinds.softmax.reference import Problem, shared
from attnlab_theory.conform.vectors.reading import Vector, by_head


class Question(NamedTuple):
    """One call of attention, and its answer."""

    name: str
    kind: str
    """The type of the arrays."""
    q: np.ndarray
    """[b h t d]; bfloat16 is float32 that holds its numbers."""
    k: np.ndarray
    """[b g s d], the past in front."""
    v: np.ndarray
    """[b g s e]."""
    own: np.ndarray
    """What masks and valid lengths let a query see, [b h t s]."""
    visible: np.ndarray
    """What it sees in all, [b h t s]: causal flag and window too."""
    causal: bool
    """Whether a flag hides the future."""
    before: int | None
    """How many earlier positions a window shows; None: all."""
    bias: np.ndarray | None
    """Finite numbers that are added to the scores, [b h t s]."""
    scale: float | None
    """None is one over the root of the width."""
    softcap: float | None
    output: np.ndarray
    """[b h t e], in float64."""
    rtol: float
    """ONNX's own tolerance."""
    atol: float

    def problem(self) -> Problem:
        """What is asked, for the reference."""
        k, v = (shared(x, self.q.shape[1]) for x in (self.k, self.v))
        scale = self.q.shape[-1] ** -0.5 if self.scale is None else self.scale
        return Problem(self.q, k, v, scale, self.visible, self.bias, self.softcap)


def question(vector: Vector) -> Question | None:
    """What a vector of Attention or FlexAttention asks; None where weights are changed after the softmax.

    Source: https://onnx.ai/onnx/operators/onnx__Attention.html, versions 23 to 25.
    """
    said, given = vector.attributes, vector.inputs
    counts = said.get("q_num_heads"), said.get("kv_num_heads"), said.get("kv_num_heads")
    q, k, v = (by_head(given[name], heads) for name, heads in zip("QKV", counts, strict=True))
    kind = str(q.dtype)
    q, k, v = (_plain(x) for x in (q, k, v))
    if "past_key" in given:
        k, v = (np.concatenate([_plain(given[f"past_{n}"]), x], axis=2) for n, x in (("key", k), ("value", v)))
    (b, h, t, _), s = q.shape, k.shape[2]
    if "prob_mod" in said:
        return None
    mask, bias, softcap = _mask(given.get("attn_mask"), (b, h, t, s)), None, said.get("softcap") or None
    own = np.ones((b, h, t, s), bool)
    if "score_mod" in said:
        mask, softcap = _score_mod(vector, (b, h, t, s))
    if mask is not None and mask.dtype == bool:
        own = own & mask
    elif mask is not None:
        own, bias = own & ~np.isneginf(mask), np.where(np.isneginf(mask), 0, mask).astype(q.dtype)
        bias = bias if bias.any() else None
    places = [_places(said, given, member, t, s) for member in range(b)]
    own = own & np.stack([length for length, _ in places])[:, None]
    visible = own & np.stack([near for _, near in places])[:, None]
    left = said.get("left_window_size", -1)
    output = np.asarray(vector.outputs["Y"]).astype(np.float64)
    return Question(
        name=vector.name,
        kind=kind,
        q=q,
        k=k,
        v=v,
        own=own,
        visible=visible,
        causal=bool(said.get("is_causal")),
        before=None if left < 0 else int(left),
        bias=bias,
        scale=float(said["scale"]) if "scale" in said else None,
        softcap=softcap,
        output=by_head(output, said.get("q_num_heads")),
        rtol=vector.rtol,
        atol=vector.atol,
    )


def _plain(x: np.ndarray) -> np.ndarray:
    """The array; bfloat16, which numpy does not know, as float32."""
    return x if x.dtype.kind in "fb" else x.astype(np.float32)


def _mask(given: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray | None:
    """A mask that is too short hides the keys that it does not reach."""
    if given is None:
        return None
    given = _plain(given)
    rest = [(0, 0)] * (given.ndim - 1) + [(0, shape[-1] - given.shape[-1] if given.shape[-1] > 1 else 0)]
    return np.broadcast_to(np.pad(given, rest, constant_values=False if given.dtype == bool else -np.inf), shape)


def _places(
    said: dict[str, Any], given: dict[str, np.ndarray], member: int, t: int, s: int
) -> tuple[np.ndarray, np.ndarray]:
    """What the length of one member shows, [1 s], and what its flags show, [t s]."""
    offset = given["past_key"].shape[2] if "past_key" in given else 0
    filled = np.ones((1, s), bool)
    if "nonpad_kv_seqlen" in given:
        length = int(given["nonpad_kv_seqlen"][member])
        offset, filled = length - t, np.arange(s)[None] < length
    after = np.arange(s) - (np.arange(t)[:, None] + offset)
    near = np.ones((t, s), bool)
    if said.get("is_causal"):
        near &= after <= 0
    if (left := said.get("left_window_size", -1)) >= 0:
        near &= after >= -left
    if (right := said.get("right_window_size", -1)) >= 0:
        near &= after <= right
    return filled, near


def _score_mod(vector: Vector, shape: tuple[int, ...]) -> tuple[np.ndarray | None, float | None]:
    """What the graph of a FlexAttention case does to the scores: a mask or bias, and a cap."""
    to_array = importlib.import_module("onnx.numpy_helper").to_array
    constants = {x.name: to_array(x) for x in vector.attributes["score_mod"].initializer}
    numbers = {name: float(x) for name, x in constants.items() if x.size == 1}
    t, s = shape[-2:]
    match vector.name.removeprefix("flexattention_"):
        case "score_mod":
            return np.full(shape, numbers["bias"], np.float32), None
        case "soft_cap":
            return None, numbers["cap"]
        case "causal_mask":
            return np.broadcast_to(np.tri(t, s, dtype=bool), shape), None
        case "relative_positional":
            return np.broadcast_to(np.subtract.outer(np.arange(t), np.arange(s)).astype(np.float32), shape), None
    raise ValueError(f"onnx has a new case {vector.name}, whose graph is not known here")
