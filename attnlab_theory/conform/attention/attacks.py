"""What a kind implies, tried on cases: one name, one statement and the cases of it."""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.conventions import Conventions, hiding
from attnlab_theory.conform.attention.features import rows_of
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.layouts import has_batch, has_heads
from attnlab_theory.conform.kinds import Kind

FEW = 3
"""Shapes of each attack where every shape is compiled."""

COVERED = ("pairs", "triples")
"""Attacks whose cases come from the table of features."""

WIDE_WINDOWS = ((17, 49), (16, 40), (33, 70), (65, 100), (64, 130))
"""Windows beside the edges of blocks, and tokens."""


class Attack(NamedTuple):
    """Cases in which the answer must be the right one."""

    statement: str
    cases: Callable[[Kind, Conventions], Iterable[Case]]


def _each(name: str, values: Sequence[Any], **others: Any) -> Callable[[Kind, Conventions], list[Case]]:
    """A case for each value of one field."""
    return lambda kind, way: [Case(**{name: value, **others}) for value in values]


def _sizes(*sizes: tuple[int, int, int, int], **others: Any) -> Callable[[Kind, Conventions], list[Case]]:
    """A case for each (queries, keys, width, value width)."""
    names = ("queries", "keys", "width", "value_width")
    return lambda kind, way: [Case(**dict(zip(names, size, strict=True)), **others) for size in sizes]


def _edges(kind: Kind, way: Conventions) -> list[Case]:
    """Lengths beside the edges of blocks. Large scores show a maximum that is forgotten from block to block."""
    lengths = (17, 65, 130, 15, 16, 63, 64, 127, 129)  # of a jax target the first three
    return [
        Case(queries=n, keys=n, batch=1, values=values)
        for values, sizes in (("plain", lengths), ("large", (17, 65, 129)))
        for n in sizes
    ]


def _values(*names: str) -> Callable[[Kind, Conventions], list[Case]]:
    return lambda kind, way: [
        Case(values=name, queries=t, keys=s, seed=seed)
        for name in names
        for seed, (t, s) in enumerate(((5, 5), (3, 7)))
    ]


def _masks(*names: str, by_head: bool) -> Callable[[Kind, Conventions], list[Case]]:
    return lambda kind, way: [
        Case(mask=name, by_head=by_head, queries=t, keys=s, seed=seed)
        for name in names
        for seed, (t, s) in enumerate(((6, 6), (4, 7)))
        if way.mask and (way.by_head or not by_head)
    ]


def _padded(kind: Kind, way: Conventions) -> list[Case]:
    """By each means that the target has, also with more keys than queries, as in a cache."""
    means: list[dict[str, Any]] = [{"mask": f"element {end}"} for end in ("end", "start") if way.by_element]
    means += [{"padding": "end"}, {"padding": "start"}] if "padding" in way.names else []
    means += [{"lengths": True}] if "lengths" in way.names else []
    return [
        Case(batch=3, queries=t, keys=s, **each) for each in means for t, s in ((8, 8), (3, 9), (1, 17), (33, 33))
    ]


def _biased(kind: Kind, way: Conventions) -> list[Case]:
    return [
        Case(batch=3, queries=t, keys=s, bias=True, bias_by_element=True)
        for t, s in ((5, 5), (3, 9), (1, 17), (33, 33))
        if way.bias_by_element
    ]


def _beside(role: str, *values: Any) -> Callable[[Kind, Conventions], list[Case]]:
    """By itself, at a few lengths."""
    return lambda kind, way: [
        Case(**{"queries": n, "keys": n, role: value})
        for n in (8, 17, 33)
        for value in values
        if role in way.names and (has_batch(way.layout) if role == "segments" else has_heads(way.layout))
    ]


def _hidden(garbage: str) -> Callable[[Kind, Conventions], list[Case]]:
    return lambda kind, way: [
        Case(garbage=garbage, within=within, queries=6, keys=6, **hides) for hides in hiding(way) for within in "kv"
    ]


def _types(kind_of_numbers: str) -> Callable[[Kind, Conventions], list[Case]]:
    def cases(kind: Kind, way: Conventions) -> list[Case]:
        found = [Case(kind=kind_of_numbers, queries=t, keys=s, seed=t) for t, s in ((5, 5), (4, 9), (17, 17))]
        return [*found, Case(kind=kind_of_numbers, values="large"), Case(kind=kind_of_numbers, values="offset")]

    return cases


def _views(kind: Kind, way: Conventions) -> list[Case]:
    found = [("rows", "plain"), ("rows", "large"), ("transposed", "plain"), ("expanded", "plain")]
    return [Case(memory=memory, values=values, queries=4, keys=6) for memory, values in found]


def _wanted(kind: Kind, way: Conventions) -> list[Case]:
    """The feature of the kind, at several strengths."""
    sizes = ((7, 7), (4, 9), (9, 9))
    match kind.wants:
        case "window" if "window" in way.names and way.window:
            spans: list[tuple[int, int | None]] = [(w, None) for w in (1, 2, 3, 6)]
            spans += [(3, 0), (0, 2), (1, 4)] if way.uneven else []
            near = [Case(window=w, ahead=ahead, queries=t, keys=s) for w, ahead in spans for t, s in sizes]
            # First, for a target that is compiled sees few: a window may be made of blocks.
            wide = [Case(batch=1, window=w, queries=n, keys=n) for w, n in WIDE_WINDOWS]
            return [*wide[:1], *near, *wide[1:]]
        case "softcap" if "softcap" in way.names:
            return [Case(softcap=c, queries=t, keys=s) for c in (0.5, 3.0, 50.0) for t, s in sizes]
    return [Case(queries=t, keys=s, seed=seed) for t, s in sizes for seed in (1, 2)]


def _scales(kind: Kind, way: Conventions) -> list[Case]:
    if "scale" not in way.names:
        return []
    return [Case(scale=scale, width=width) for scale in (1.0, 0.05, 4.0) for width in (4, 7)]


ATTACKS: Mapping[str, Attack] = {
    "plain": Attack("normal queries, keys and values", _each("seed", range(6))),
    "feature": Attack("what the kind adds, at several strengths", _wanted),
    "ties": Attack("equal scores share the weight", _values("ties", "zeros")),
    "subnormal": Attack("queries below the smallest normal number", _values("subnormal")),
    "large scores": Attack("scores of 1e4 of either sign do not overflow", _values("large", "negative")),
    "dominant key": Attack("one key takes all the weight", _values("dominant")),
    "offset values": Attack("values + 1e4", _values("offset")),
    "one token": Attack("one query, one key, one channel", _sizes((1, 1, 4, 3), (1, 6, 4, 3), (4, 4, 1, 1))),
    "odd widths": Attack(
        "widths that are no multiple of 8", _sizes((5, 5, 7, 5), (5, 5, 3, 3), (6, 6, 17, 9), (5, 5, 64, 40))
    ),
    "more queries": Attack("more queries than keys", _sizes((7, 4, 4, 3), (5, 1, 4, 3))),
    "more keys": Attack("more keys than queries", _sizes((4, 7, 4, 3), (2, 19, 4, 3))),
    "block edges": Attack(
        "lengths beside the edges of blocks",
        _edges,
    ),
    "scale": Attack("a scale that is given is used", _scales),
    "masks": Attack("masks of all keys, random, one key left", _masks("all", "random", "one", by_head=False)),
    "padding": Attack("padding at either end", _masks("padded end", "padded start", by_head=False)),
    "padding by element": Attack("each batch element has a padding of its own", _padded),
    "bias by element": Attack("each batch element has a bias of its own", _biased),
    "packed documents": Attack("documents in one sequence do not see each other", _beside("segments", True)),
    "sinks": Attack(
        "one more key of each head takes weight, and has no value", _beside("sinks", "normal", "zeros")
    ),
    "slopes": Attack("scores fall with the distance by a slope of each head", _beside("slopes", True)),
    "masks by head": Attack("each head has a mask of its own", _masks("random", "one", by_head=True)),
    "hidden numbers": Attack("7e4 in hidden keys and values changes nothing", _hidden("huge")),
    "non-contiguous": Attack("rows of larger arrays, transposed and expanded views", _views),
    "float64": Attack("float64", _types("float64")),
    "float16": Attack("float16", _types("float16")),
    "bfloat16": Attack("bfloat16", _types("bfloat16")),
    "pairs": Attack("every pair of features, and of sizes", lambda kind, way: rows_of(kind, way, small=False)),
    "triples": Attack(
        "every three of the features that hide, share or add", lambda kind, way: rows_of(kind, way, small=True)
    ),
}
"""In the order in which they are tried: what most targets fail comes first."""


def cases_of(name: str, kind: Kind, way: Conventions, apart: Collection[frozenset[str]] = ()) -> list[Case]:
    """The cases of an attack that a target can be asked.

    Args:
        name: a key of `ATTACKS`.
        kind: what is promised.
        way: how the target is called.
        apart: features that it refuses together.
    """
    found: list[Case] = []
    covered = rows_of(kind, way, apart, small=name == "triples") if apart and name in COVERED else None
    for case in ATTACKS[name].cases(kind, way) if covered is None else covered:
        case = case if name in COVERED else fitted(case, kind, way)
        square = way.by_place(case)
        if square and way.alignment == "square" and case.queries != case.keys:
            continue
        # Where queries stand before all keys, rows see nothing: they are judged by themselves.
        if square and way.alignment == "end" and case.queries > case.keys:
            continue
        # numpy has no bfloat16, and jax as it comes has no float64.
        if (case.kind, way.framework) in (("bfloat16", "numpy"), ("float64", "jax")):
            continue
        each = case.padding or case.lengths or case.bias_by_element or case.mask.startswith("element")
        if each and not has_batch(way.layout):
            continue
        if case.bias and case.mask != "none" and "bias" not in way.names:
            continue
        found.append(case)
    return _of_few_shapes(found) if way.framework == "jax" and name not in COVERED else list(dict.fromkeys(found))


def _of_few_shapes(cases: Sequence[Case]) -> list[Case]:
    """The cases of the first shapes among them: jax compiles a program for every shape."""
    shapes: dict[Case, list[Case]] = {}
    for case in cases:
        sizes = dataclasses.replace(case, seed=0, values="plain", garbage="", memory="", scale=None)
        shapes.setdefault(sizes, []).append(case)
    return [case for each in list(shapes.values())[:FEW] for case in each]
