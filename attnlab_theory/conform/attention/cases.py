"""One call that is made of a target, as a short description. The same description always gives the same arrays.

A recipe is a line of numpy. The lines of a case are run to draw its arrays, and a counterexample prints them: what
is shown is what ran.
"""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

VALUES: Mapping[str, tuple[str, ...]] = {
    "plain": (),
    "whole": ("q, k, v = np.round(q), np.round(k), np.round(v)",),
    "zeros": ("q, k = 0 * q, 0 * k",),
    "ties": ("k = np.zeros_like(k) + k[:, :, :1]",),
    "subnormal": ("q = q * {tiny}",),
    "large": ("q, k = {loud} * q, {loud} * k",),
    "negative": ("q, k = {loud} * (1 + abs(q)), -{loud} * (1 + abs(k))",),
    "dominant": ("q = 1 + abs(q)", "k[:, :, -1] = 8"),
    "offset": ("v = v + {offset}",),
}
"""What is done to standard normal queries, keys and values."""

MASKS: Mapping[str, str] = {
    "none": "",
    "all": "mask = np.ones({m}, bool)",
    "random": (
        "mask = (r.random({m}) < 0.6) | (np.arange({s}) == np.arange({t})[:, None] % {s})"
        " | np.eye({t}, {s}, {s} - {t}, bool)"
    ),
    "one": "mask = np.zeros({m}, bool) | (np.arange({s}) == np.arange({t})[:, None] % {s})",
    "padded end": "mask = np.zeros({m}, bool) | (np.arange({s}) < {s} - {s} // 3)",
    "padded start": "mask = np.zeros({m}, bool) | (np.arange({s}) >= {s} // 3)",
    "element end": "mask = np.zeros({e}, bool) | (np.arange({s}) < {s} - {hides})",
    "element start": "mask = np.zeros({e}, bool) | (np.arange({s}) >= {hides})",
    "blind": "mask = np.zeros({m}, bool) | (np.arange({t})[:, None] != {t} // 2)",
}
"""How a mask is drawn; True keeps. A random one lets every token see itself, from either end."""

GARBAGE: Mapping[str, str] = {"nan": "np.nan", "infinity": "np.inf", "huge": "{huge}"}
"""What is put where no query may look."""


BIASES: Mapping[str, str] = {
    "100": "bias = 100 * bias",
    "-1e4": "bias = np.where((bias < 0.5) | np.eye({t}, {s}, dtype=bool), bias, -1e4)",
    "minus infinity": "bias = np.where((bias < 0.5) | np.eye({t}, {s}, dtype=bool), bias - 100, -np.inf)",
}
"""What is done to standard normal biases; a row keeps a key."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One call."""

    batch: int = 2
    heads: int = 2
    """Heads of queries."""
    groups: int = 2
    """Heads of keys and values."""
    queries: int = 5
    keys: int = 5
    width: int = 4
    value_width: int = 3
    kind: str = "float32"
    """The type of the arrays."""
    values: str = "plain"
    """One of `VALUES`."""
    mask: str = "none"
    """One of `MASKS`."""
    by_head: bool = False
    """Whether each head of each batch element has a mask of its own."""
    garbage: str = ""
    """One of `GARBAGE`, put into the last third of the keys; the mask hides them."""
    within: str = "k"
    """Where the garbage is: k, v."""
    causal: bool = False
    window: int | None = None
    ahead: int | None = None
    """How many keys after itself a query sees, where a window is a pair; by default as many as before it."""
    softcap: float | None = None
    scale: float | None = None
    """Handed over; None leaves it to the target."""
    bias: bool = False
    bias_by_element: bool = False
    """Whether each batch element has a bias of its own."""
    biases: str = ""
    """One of `BIASES`."""
    padding: bool = False
    """Whether a mask of keys, [b s], hides the end of each batch element."""
    lengths: bool = False
    """Whether the number of keys that count is given for each batch element."""
    strided: bool = False
    """Whether the arrays are every second row of larger ones."""
    seed: int = 0


class Arrays(NamedTuple):
    """What a case hands over, in the order [b h t d]."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: np.ndarray | None
    """True keeps; [t s], or [b h t s] where each head has its own."""
    bias: np.ndarray | None
    """[h t s], or [b h t s] where each batch element has its own."""
    padding: np.ndarray | None = None
    """[b s], True keeps."""
    lengths: np.ndarray | None = None
    """[b]."""


def storage(kind: str) -> str:
    """The type of numpy in which a type is handed over: numpy has no bfloat16."""
    return "float32" if kind == "bfloat16" else kind


def lines(case: Case) -> list[str]:
    """The lines of numpy that draw the arrays `q`, `k`, `v`, `mask` and `bias` of a case."""
    half = case.kind in ("float16", "bfloat16")
    t, s = case.queries, case.keys
    words = {
        "t": t,
        "s": s,
        "e": (case.batch, 1, t, s),
        "hides": f"(np.arange({case.batch})[:, None, None, None] + 1) % 3 * {s // 4}",
        "m": (case.batch, case.heads, t, s) if case.by_head else (t, s),
        "tiny": {"float64": "1e-309", "float16": "1e-7"}.get(case.kind, "1e-40"),
        "loud": 20 if half else 100,
        "offset": 256 if half else 1e4,
        "huge": 6e4 if half else 7e4,
    }
    drawn = [
        ("q", (case.batch, case.heads, t, case.width)),
        ("k", (case.batch, case.groups, s, case.width)),
        ("v", (case.batch, case.groups, s, case.value_width)),
    ]
    found = [f"r = np.random.default_rng({case.seed})"]
    found += [f"{name} = r.standard_normal({shape})" for name, shape in drawn]
    found += [line.format(**words) for line in VALUES[case.values]]
    if case.garbage:
        found.append(f"{case.within}[:, :, {s - s // 3}:] = {GARBAGE[case.garbage].format(**words)}")
    if case.mask != "none":
        found.append(MASKS[case.mask].format(**words))
    count = f"{s} - (np.arange({case.batch}) + 1) % 3 * {s // 4}"
    found += [f"padding = np.arange({s}) < ({count})[:, None]"] if case.padding else []
    found += [f"lengths = {count}"] if case.lengths else []
    if case.bias:
        of = (case.batch,) if case.bias_by_element else ()
        found.append(f"bias = r.standard_normal({(*of, case.heads, t, s)})")
        found += [BIASES[case.biases].format(**words)] if case.biases else []
    named = "q, k, v, bias" if case.bias else "q, k, v"
    return [*found, f"{named} = (x.astype('{storage(case.kind)}') for x in ({named}))"]


def arrays(case: Case) -> Arrays:
    """The arrays of a case."""
    names: dict[str, np.ndarray] = {}
    with np.errstate(over="ignore"):
        exec("\n".join(lines(case)), {"np": np}, names)
    mask, bias = names.get("mask"), names.get("bias")
    q, k, v = (rounded(names[name], case.kind) for name in "qkv")
    bias = None if bias is None else rounded(bias, case.kind)
    return Arrays(q, k, v, mask, bias, names.get("padding"), names.get("lengths"))


def rounded(x: np.ndarray, kind: str) -> np.ndarray:
    """The nearest bfloat16, in float32, where that is the type; else the array itself."""
    if kind != "bfloat16":
        return x
    bits = np.ascontiguousarray(x).view(np.uint32)
    even = ((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF)
    near = ((bits + even) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(x), near, x)
