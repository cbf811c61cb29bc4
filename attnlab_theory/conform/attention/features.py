"""What may stand beside each other in a call: a table of features, of which every pair is asked, and some triples.

A feature is a column. Its values are changes of a case, and the first of them asks for nothing. A target is asked
the columns that it has. Whole shapes are values of one column, and never a product.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.fitting import CAP, WIDE, fitted
from attnlab_theory.conform.attention.layouts import has_batch, has_heads
from attnlab_theory.conform.covering import covering
from attnlab_theory.conform.kinds import Kind

Value = Mapping[str, Any]
Column = Callable[[Kind, Conventions], Sequence[Value]]
"""The values of a feature that a target can be asked; one or none are no feature."""


class Sizes(NamedTuple):
    """A whole shape."""

    batch: int
    heads: int
    groups: int
    """Heads of keys, where they are shared."""
    queries: int
    keys: int
    width: int
    value_width: int


SMALL = Sizes(2, 4, 2, 6, 6, 4, 3)

SIZES = (
    SMALL,
    Sizes(6, 4, 2, 6, 6, 7, 8),  # as many batch elements as queries
    Sizes(4, 4, 2, 3, 7, 2, 5),  # as heads
    Sizes(7, 2, 1, 4, 7, 4, 4),  # as keys
    Sizes(1, 9, 3, 5, 5, 7, 2),
    Sizes(2, 16, 4, 3, 5, 4, 4),
    Sizes(1, 8, 2, 6, 6, 4, 3),
    Sizes(1, 32, 8, 5, 5, 2, 2),
    Sizes(2, 4, 2, 5, 5, 1, 6),
    Sizes(1, 4, 2, 6, 9, 80, 48),
    Sizes(1, 2, 1, 9, 9, 128, 160),
    Sizes(1, 2, 1, 5, 5, 256, 64),
    Sizes(2, 4, 2, 1, 130, 8, 8),
    Sizes(1, 2, 1, 129, 129, 8, 5),
    Sizes(1, 2, 1, 257, 257, 4, 4),
    Sizes(1, 6, 3, 17, 33, 16, 8),
)
"""Sizes that coincide, and sizes that are large."""

COMPILED = (SMALL, SIZES[1], SIZES[6], SIZES[9], SIZES[12], SIZES[13])
"""Those that a jax target is given. It compiles a program for each."""


def _masks(kind: Kind, way: Conventions) -> list[Value]:
    """Nothing, a random mask, padding at the start, and all keys but a few at both ends."""
    if not way.mask:
        return []
    start = "element start" if way.by_element else "padded start"
    return [{}, {"mask": "random", "by_head": way.by_head}, {"mask": start}, {"mask": "ends"}]


def _windows(kind: Kind, way: Conventions) -> list[Value]:
    if "window" not in way.names or not way.window:
        return []
    if kind.wants != "window":
        return [{}, {"window": 3}]
    return [{"window": 3}, {"window": 1}, {"window": WIDE}, *[{"window": 3, "ahead": 0}] * way.uneven]


def _caps(kind: Kind, way: Conventions) -> list[Value]:
    if "softcap" not in way.names:
        return []
    return [{"softcap": CAP}, {"softcap": 0.5}] if kind.wants == "softcap" else [{}, {"softcap": 2.0}]


def _biases(kind: Kind, way: Conventions) -> list[Value]:
    none = [] if kind.wants == "bias" else [{}]
    shared = [{"bias": True}] if kind.wants == "bias" or "bias" in way.names else []
    return [*none, *shared, *[{"bias": True, "bias_by_element": True}] * way.bias_by_element]


def _types(kind: Kind, way: Conventions) -> list[Value]:
    # numpy has no bfloat16, and jax as it comes has no float64.
    beside = {"numpy": ("float64", "float16"), "jax": ("float16", "bfloat16")}
    return [{}, *({"kind": each} for each in beside.get(way.framework, ("float64", "float16", "bfloat16")))]


def _taken(role: str, *values: Any) -> Column:
    """What has no more to it than its argument."""
    return lambda kind, way: [{}, *({role: x} for x in values)] if role in way.names else []


def _each(role: str, *values: Any) -> Column:
    """The same, of what each batch element has of its own."""
    return lambda kind, way: _taken(role, *values)(kind, way) if has_batch(way.layout) else []


COLUMNS: Mapping[str, Column] = {
    "sizes": lambda kind, way: [
        x._asdict() | {"shared": kind.grouped} for x in (COMPILED if way.framework == "jax" else SIZES)
    ],
    "mask": _masks,
    "types": _types,
    "memory": lambda kind, way: [
        {"memory": each} for each in ("", "rows", "transposed", "expanded") if way.framework != "jax" or not each
    ],
    "causal": lambda kind, way: [{}, {"causal": not kind.causal}] if way.causal == "asked" else [],
    "groups": lambda kind, way: [{}, {"shared": True}] if way.shares and not kind.grouped else [],
    "window": _windows,
    "padding": _each("padding", "start", "end"),
    "lengths": _each("lengths", True),
    "softcap": _caps,
    "bias": _biases,
    "segments": _each("segments", True),
    "sinks": _taken("sinks", "normal", "zeros"),
    "slopes": _taken("slopes", True),
    "scale": _taken("scale", 0.3),
    "values": lambda kind, way: [{}, {"values": "large"}, {"values": "offset"}],
}
"""By the name of the feature."""

TRIPLES = ("causal", "groups", "window", "mask", "padding", "softcap", "bias", "sinks")
"""The features of which every three are asked, at one small shape."""

FEW = {"jax": 2}
"""So many values of each of them are asked of a framework that compiles each; of others three."""


def columns_of(kind: Kind, way: Conventions) -> dict[str, Sequence[Value]]:
    """The features that a target can be asked, with their values."""
    found = {name: column(kind, way) for name, column in COLUMNS.items()}
    return {name: values for name, values in found.items() if len(values) > 1}


def asked_of(case: Case, kind: Kind, way: Conventions) -> dict[str, Value]:
    """The features that a case asks for, but for its shape."""
    fields = dataclasses.asdict(case) | {"shared": case.groups < case.heads}
    columns = {name: values for name, values in columns_of(kind, way).items() if name != "sizes"}
    return {
        name: value
        for name, values in columns.items()
        for value in values[1:]
        if all(fields[field] == x for field, x in value.items())
    }


def rows_of(kind: Kind, way: Conventions, apart: Collection[frozenset[str]] = (), *, small: bool) -> Iterator[Case]:
    """Cases that hold every pair of features; or every triple of some of them, at a small shape.

    Args:
        kind: what is promised.
        way: how the target is called.
        apart: features that it refuses together.
        small: whether triples are wanted.
    """
    columns = columns_of(kind, way)
    if small:
        most = FEW.get(way.framework, 3)
        columns = {name: values[:most] for name, values in columns.items() if name in TRIPLES}
        if len(columns) < 3:
            return
    for seed, row in enumerate(covering(columns, tuple(columns) if small else (), apart)):
        yield case_of(kind, way, {"sizes": SMALL._asdict()} | row, seed)


def case_of(kind: Kind, way: Conventions, values: Mapping[str, Value], seed: int = 0) -> Case:
    """The case of some values, by their features."""
    fields: dict[str, Any] = {"shared": kind.grouped}
    for value in values.values():
        fields |= {name: x for name, x in value.items() if name != "shared" or x}
    shared, heads, groups = (fields.pop(name) for name in ("shared", "heads", "groups"))
    case = fitted(Case(**fields, seed=seed), kind, way)
    if has_heads(way.layout):
        case = dataclasses.replace(case, heads=heads, groups=groups if shared else heads)
    if way.alignment == "square" and way.by_place(case):
        case = dataclasses.replace(case, keys=case.queries)
    # To which keys the queries belong is known where they are as many.
    square = case.queries == case.keys
    return dataclasses.replace(case, segments=case.segments and square, slopes=case.slopes and square)
