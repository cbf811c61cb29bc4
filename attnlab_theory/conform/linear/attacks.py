"""What is tried on linear attention, as cases in which the answer must be the right one."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attnlab_theory.conform.linear.cases import Case
from attnlab_theory.conform.linear.conventions import Conventions

LENGTHS = (130, 17, 65, 15, 16, 63, 64, 127, 128, 129)
"""Beside the edges of blocks; those first that are tried where every shape is compiled."""

FEW = 4
"""Cases of each attack where every shape is compiled."""


def _each(name: str, values: Sequence[Any], **others: Any) -> list[Case]:
    return [Case(**{name: value, "seed": seed, **others}) for seed, value in enumerate(values)]


def _sizes(*sizes: tuple[int, int, int, int], **others: Any) -> list[Case]:
    names = ("queries", "keys", "width", "value_width")
    return [Case(**dict(zip(names, size, strict=True)), **others) for size in sizes]


def _types(kind: str) -> list[Case]:
    found = [Case(kind=kind, queries=n, keys=n, seed=n) for n in (5, 17)]
    return [*found, Case(kind=kind, values="large"), Case(kind=kind, values="offset"), Case(kind=kind, seed=9)]


def _pairs() -> list[Case]:
    found = []
    features: list[dict[str, Any]] = [
        {"padded": True}, {"values": "large"}, {"values": "offset"}, {"strided": True},
        {"queries": 17, "keys": 17}, {"kind": "float64"}, {"width": 7},
    ]  # fmt: skip
    for i, one in enumerate(features):
        for other in features[i + 1 :]:
            if not set(one) & set(other):
                found.append(Case(**{"seed": len(found), **one, **other}))
    return found


ATTACKS: Mapping[str, Callable[[], list[Case]]] = {
    "plain": lambda: [Case(seed=seed) for seed in range(6)],
    "one token": lambda: _sizes((1, 1, 4, 3), (1, 1, 1, 1), (6, 6, 1, 1)),
    "odd widths": lambda: _sizes((5, 5, 7, 5), (5, 5, 3, 9), (6, 6, 17, 9), (5, 5, 64, 40)),
    "block edges": lambda: _sizes(*((n, n, 4, 3) for n in LENGTHS), batch=1),
    "more keys": lambda: _sizes((4, 7, 4, 3), (1, 19, 4, 3)),
    "more queries": lambda: _sizes((7, 4, 4, 3), (5, 1, 4, 3)),
    "ties": lambda: _each("values", ("zeros", "zeros")),
    "large": lambda: _each("values", ("large",) * 3),
    "dominant key": lambda: _each("values", ("dominant",) * 2),
    "small features": lambda: _each("values", ("low",) * 3),
    "offset values": lambda: _each("values", ("offset",) * 3),
    "padding": lambda: [Case(padded=True, queries=n, keys=n, seed=n) for n in (6, 9, 17)],
    "non-contiguous": lambda: _each("values", ("plain", "large"), strided=True),
    "float64": lambda: _types("float64"),
    "float16": lambda: _types("float16"),
    "bfloat16": lambda: _types("bfloat16"),
    "pairs": _pairs,
}
"""In the order in which they are tried."""


def cases_of(name: str, way: Conventions) -> list[Case]:
    """The cases of an attack that a target can be asked; with its causal flag, both ways."""
    found: list[Case] = []
    for case in ATTACKS[name]():
        if case.padded and not way.mask:
            continue
        if (case.kind, way.framework) in (("bfloat16", "numpy"), ("float64", "jax")):
            continue
        square = case.queries == case.keys
        if not square and (way.square or way.causal == "always"):
            continue
        for causal in (False, True) if way.causal == "asked" and square else (way.causal == "always",):
            if causal and way.features == "efficient":
                continue
            found.append(way.fitted(dataclasses.replace(case, causal=causal)))
    found = list(dict.fromkeys(found))
    return found[:FEW] if way.framework == "jax" else found
