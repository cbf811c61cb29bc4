"""One call that is made of a target, as a short description. The same description always gives the same arrays.

A recipe is a line of numpy. The lines of a case are run to draw its arrays, and a counterexample prints them: what
is shown is what ran.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.case import rounded, storage

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
    "ends": "mask = np.zeros({m}, bool) | (abs(2 * np.arange({s}) + 1 - {s}) >= {s} - 2 * max({s} // 8, 1))",
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
    causal: bool | None = None
    """Whether the flag hides the future; None is as the kind promises."""
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
    padding: str = ""
    """What a mask of keys, [b s], hides: some keys at the start or the end of each batch element; a third, the last
    of each; all of one element."""
    lengths: bool = False
    """Whether the number of keys that count is given for each batch element."""
    segments: bool = False
    """Whether each batch element is several documents, which do not see each other; their numbers are [b s]."""
    sinks: str = ""
    """The scores of a key without a value that each head has beside its own, [h]: normal, zeros."""
    slopes: bool = False
    """Whether each head has a slope by which scores fall with the distance, [h]."""
    memory: str = ""
    """How the arrays lie in memory: a word of `exchange.lain`; empty is in one piece."""
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
    segments: np.ndarray | None = None
    """[b s]."""
    sinks: np.ndarray | None = None
    """[h]."""
    slopes: np.ndarray | None = None
    """[h]."""


ROLES = Arrays._fields[3:]
"""What is handed over beside queries, keys and values, by the fields of a case, in this order."""


def asks(case: Case, role: str) -> bool:
    """Whether a case hands over an array of a role."""
    return case.mask != "none" if role == "mask" else bool(getattr(case, role))


def lines(case: Case) -> list[str]:
    """The lines of numpy that draw the arrays `q`, `k`, `v`, `mask` and `bias` of a case."""
    half = case.kind in ("float16", "bfloat16")
    t, s = case.queries, case.keys
    # Of many keys more than a block of 64.
    hidden = f"(np.arange({case.batch}) + 1) % 3 * {s // 3 if s > 64 else s // 4}"
    words = {
        "t": t,
        "s": s,
        "e": (case.batch, 1, t, s),
        "hides": f"({hidden})[:, None, None, None]",
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
    if case.memory == "expanded":
        axis = 0 if case.batch > 1 else 1
        found.append(f"q, k, v = (np.repeat(x[{':, ' * axis}:1], x.shape[{axis}], {axis}) for x in (q, k, v))")
    if case.garbage:
        found.append(f"{case.within}[:, :, {s - s // 3}:] = {GARBAGE[case.garbage].format(**words)}")
    if case.mask != "none":
        found.append(MASKS[case.mask].format(**words))
    shown = {
        "end": f"np.arange({s}) < ({s} - {hidden})[:, None]",
        "start": f"np.arange({s}) >= ({hidden})[:, None]",
        "third": f"np.arange({s}) + 0 * np.arange({case.batch})[:, None] < {s} - {s} // 3",
        "all": f"np.arange({s}) >= ({s} * (np.arange({case.batch}) == {case.batch} // 2))[:, None]",
    }
    found += [f"padding = {shown[case.padding]}"] if case.padding else []
    found += [f"lengths = {s} - {hidden}"] if case.lengths else []
    if case.bias:
        of = (case.batch,) if case.bias_by_element else ()
        found.append(f"bias = r.standard_normal({(*of, case.heads, t, s)})")
        found += [BIASES[case.biases].format(**words)] if case.biases else []
    found += [f"segments = (np.arange({s}) + np.arange({case.batch})[:, None]) // 5"] if case.segments else []
    drawn_sinks = {"normal": f"r.standard_normal({case.heads})", "zeros": f"np.zeros({case.heads})"}
    found += [f"sinks = {drawn_sinks[case.sinks]}"] if case.sinks else []
    found += [f"slopes = 0.5 ** (1 + np.arange({case.heads}))"] if case.slopes else []
    named = ", ".join(["q, k, v", *(role for role in ("bias", "sinks", "slopes") if asks(case, role))])
    return [*found, f"{named} = (x.astype('{storage(case.kind)}') for x in ({named}))"]


def arrays(case: Case) -> Arrays:
    """The arrays of a case."""
    names: dict[str, np.ndarray] = {}
    with np.errstate(over="ignore"):
        exec("\n".join(lines(case)), {"np": np}, names)
    found: dict[str, Any] = {name: names.get(name) for name in Arrays._fields}
    floats = {x: rounded(y, case.kind) for x, y in found.items() if y is not None and y.dtype.kind == "f"}
    return Arrays(**found | floats)
