"""How a target with a cache is called, by the names of its parameters."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.harness import RESETS
from attnlab_theory.conform.sequences.suite import CAUSAL, REMEDY, first_places, named, unsaid

CACHES = (
    "cache",
    "kv_cache",
    "past",
    "past_key_value",
    "past_key_values",
    "layer_past",
    "past_kv",
    "state",
    "carry",
    "hidden",
    "memory",
    "mems",
)
"""What a cache is called."""

PAIRS = (
    ("past_key", "past_value"),
    ("past_k", "past_v"),
    ("past_keys", "past_values"),
    ("key_cache", "value_cache"),
    ("k_cache", "v_cache"),
)
"""What the two arrays of a cache are called."""

BATCHES = ("batch", "batch_size", "b", "bsz", "n")
"""What a new cache is told of its batch."""

SIZES = ("capacity", "max_len", "max_length", "max_seq_len", "max_seq_length", "length", "size", "max_tokens")
"""What a new cache is told of its size."""

ASKS = ("use_cache", "return_cache", "return_kv", "return_present", "return_past", "output_cache")
"""Flags without which no cache comes back."""

OFFSETS = ("start_pos", "offset", "position_offset", "seq_offset", "past_len", "past_length", "start_index")
"""What the place of the first token is called, a whole number."""

POSITIONS = ("position_ids", "positions", "cache_position", "input_pos", "pos_ids")
"""What the places of all tokens are called, [t] or [b t]."""

MASKS = ("mask", "attn_mask", "attention_mask")
"""What a mask is called."""

LAYOUTS: Mapping[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "bhtd": (lambda x: x, 2),
    "bthd": (lambda x: x.swapaxes(-2, -3), 1),
    "btd": (lambda x: x, 1),
    "tbd": (lambda x: x.swapaxes(0, 1), 0),
    "td": (lambda x: x[0], 0),
}
"""From [b h t d] or [b t d] to what the target takes, and its axis of tokens."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Form:
    """How a target with a cache is called."""

    inputs: tuple[str, ...]
    """The names of q, k and v, or of x."""
    method: str = ""
    """That takes a step; empty for the target itself."""
    start: str = ""
    """The method that makes a new cache, or resets the target."""
    names: tuple[str, ...] = ()
    """The names of the cache, or of its two arrays; empty if the target keeps it."""
    none: bool = False
    """Whether a new cache has to be handed over as None."""
    returns: bool = True
    """Whether the cache comes back; else it is changed in place."""
    flat: bool = False
    """Whether a step takes [b d], without an axis of tokens."""
    flag: str = ""
    """The flag that hides the future."""
    mask: str = ""
    """The mask that hides it, where there is no flag."""
    asks: str = ""
    """The flag without which no cache comes back."""
    position: str = ""
    """The parameter that says where tokens stand."""
    must: bool = False
    """Whether that must be given. A cache that lives in the target begins anew at the first place."""


def form_of(about: Mapping[str, Any], name: str) -> Form:
    """How a target wants to be called, by the names of its parameters.

    Raises:
        ValueError: if it has no cache that is known.
    """
    methods = about.get("methods", {})
    method = "step" if "step" in methods else ""
    parameters = methods["step"] if method else about["parameters"]
    start = next((each for each in ("init_cache", *RESETS) if each in methods), "")
    lower = {each[0].lower(): each[0] for each in parameters or ()}
    found = next((pair for pair in PAIRS if set(pair) <= set(lower)), ())
    names = tuple(lower[each] for each in found) or tuple([n] if (n := named(parameters, CACHES)) else [])
    asks, position = named(parameters, ASKS), named(parameters, (*OFFSETS, *POSITIONS))
    if not names and not start and not position:
        raise ValueError(f"{name} has no parameter for a cache ({', '.join(CACHES[:4])}, ...): {REMEDY}")
    flag, mask = named(parameters, CAUSAL), named(parameters, MASKS)
    known = (*names, flag, mask, asks, position)
    inputs = [each for each in first_places(parameters) if each not in known]
    must = unsaid(parameters, *known)
    inputs = must if len(must) in (1, 3) else inputs[:1] if not must else []
    if not inputs:
        raise ValueError(
            f"{name}: it must be given {', '.join(must) or 'nothing'}, but is called as f(q, k, v, cache) or "
            f"f(x, cache): {REMEDY}"
        )
    none = any(must for each, _, must in parameters or () if each in names)
    return Form(
        inputs=tuple(inputs),
        method=method,
        start=start,
        names=names,
        none=none and not start,
        flag=flag,
        mask=mask,
        asks=asks,
        position=position,
        # Without a cache that is handed over, and without a beginning, only their place tells what is new.
        must=any(must for each, _, must in parameters or () if each == position) or not (names or start),
    )
