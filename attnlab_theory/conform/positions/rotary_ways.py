"""A call of a rotation: how it is made, and what it must give, in float64."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from attnlab_theory.conform.layouts import has_batch, has_heads, laid_out, taken_in
from attnlab_theory.conform.positions.calling import Call, Given, drawn, normal, whole
from attnlab_theory.conform.positions.frequencies import formula
from attnlab_theory.conform.suite import Wrong

ROLES: Mapping[str, tuple[str, ...]] = {
    "q": ("q", "query", "queries", "xq", "q_embed"),
    "k": ("k", "key", "keys", "xk", "k_embed"),
    "x": ("x", "t", "tensor", "input", "inputs", "hidden", "hidden_states", "vectors"),
    "positions": ("positions", "position_ids", "position", "pos", "input_pos", "token_positions", "seq_positions"),
    "cos": ("cos", "cosines", "cos_cached", "cos_cache", "cos_table", "cosine"),
    "sin": ("sin", "sines", "sin_cached", "sin_cache", "sin_table", "sine"),
    "base": ("base", "theta", "rope_theta", "rope_base", "max_wavelength"),
    "offset": ("offset", "start", "start_pos", "seqlen_offset", "past_length", "shift"),
    "length": ("seq_len", "seqlen", "length", "sequence_length"),
    "width": ("dim", "width", "head_dim"),
}
"""What parameters are for, by their names."""

LAYOUTS = ("bhtd", "bthd", "htd", "thd", "btd", "td")

PAIR = 2
"""Channels that turn together."""

PAIRS = ("interleaved", "halves")
"""Which channels turn together: (2i, 2i + 1), or (i, i + turning / 2)."""

TABLES = ("td", "btd", "1td", "11td", "b1td", "t1d", "bt1d")
"""The axes of a table of cosines."""


class Table(NamedTuple):
    """How cosines and sines are handed over."""

    axes: str
    full: bool
    """Whether there is a column for each channel, rather than for each pair."""
    pairs: str
    """One of `PAIRS`: how columns are repeated in a full table."""


HALVES = Table("td", True, "halves")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Way:
    """One way to call a rotation, and to read it."""

    layout: str = "bhtd"
    told: Literal["positions", "rows", "table"] = "rows"
    """By what it learns of positions. `rows`: row t stands at t."""
    by_row: bool = False
    """Whether each batch element has positions of its own."""
    table: Table = HALVES
    pairs: str = "interleaved"
    sign: int = 1
    """1 where (a, b) becomes (a cos - b sin, a sin + b cos); -1 the other way round."""
    shift: float = 0.0
    """The position of row 0."""
    scale: float = 1.0
    """What all vectors are multiplied by."""
    width: int = 8
    """Width of the vectors that are handed over where nothing else is said."""


class Case(NamedTuple):
    """One call."""

    positions: tuple[int, ...] = tuple(range(7))
    """Where the rows stand."""
    batch: int = 2
    heads: int = 3
    key_heads: int = 3
    width: int = 0
    """0 is that of the way."""
    seed: int = 0
    factor: float = 1.0
    kind: str = "float32"
    strided: bool = False
    own_rows: bool = False
    """Whether each batch element stands elsewhere."""
    base: float = 0.0
    """Handed over; 0 leaves it to the target."""
    offset: int = 0
    """Handed over, where the target has an argument for it."""


class Reading(NamedTuple):
    """What the unit vectors became."""

    pairs: str
    turning: int
    """Channels that turn."""
    sign: int
    frequencies: np.ndarray
    """Radians per token, [pairs]."""
    error: np.ndarray
    """How far they may be off, [pairs]."""
    shift: float
    scale: float
    why: Wrong | str = ""
    """Why it is no rotation that is known; then nothing else counts."""


NONE = Reading("interleaved", 0, 1, np.zeros(0), np.zeros(0), 0.0, 1.0)


def fitted(case: Case, way: Way) -> Case:
    """A case with the axes and positions that a target can be given."""
    positions = case.positions
    if way.told == "rows":
        positions = tuple(range(len(positions)))
    return case._replace(
        positions=positions,
        batch=case.batch if has_batch(way.layout) else 1,
        heads=case.heads if has_heads(way.layout) else 1,
        key_heads=case.key_heads if has_heads(way.layout) else 1,
        width=case.width or way.width,
    )


def rows_of(case: Case) -> np.ndarray:
    """The positions of all batch elements, [b t]."""
    later = np.arange(case.batch)[:, None] * 3 if case.own_rows else np.zeros((case.batch, 1), int)
    return np.asarray(case.positions, int)[None] + later + case.offset


def shape_of(case: Case, layout: str, heads: int) -> list[int]:
    """The sizes of an array in its layout."""
    sizes = {"b": case.batch, "h": heads, "t": len(case.positions), "d": case.width}
    return [sizes[axis] for axis in layout]


def asked(
    case: Case,
    way: Way,
    names: Mapping[str, str],
    frequencies: np.ndarray,
    given: Sequence[Given] | None = None,
    required: Sequence[str] = (),
) -> Call:
    """The call of a case.

    Args:
        case: one that fits the way.
        way: of the target.
        names: its parameters by role.
        frequencies: of the table, if one is handed over.
        given: other vectors than those of the case.
        required: roles that have no default.
    """
    values: dict[str, Given | int | float] = {}
    vectors = ("q", "k") if "k" in names else ("q",) if "q" in names else ("x",)
    for i, role in enumerate(vectors):
        shape = shape_of(case, way.layout, case.key_heads if role == "k" else case.heads)
        values[role] = given[i] if given else normal(shape, case.seed + 100 * i, case.kind, case.factor)
    if way.told == "positions":
        rows = rows_of(case)
        values["positions"] = whole(rows if way.by_row or case.own_rows else rows[0])
    elif way.told == "table":
        for name in ("cos", "sin"):
            values[name] = _table(name, case, way.table, frequencies)
    if case.offset and way.told == "rows":
        values["offset"] = case.offset
    if case.base:
        values["base"] = case.base
    plain = {"length": len(case.positions), "width": case.width, "offset": case.offset, "base": 1e4}
    values |= {role: plain[role] for role in required if role in plain and role not in values}
    return Call(values, case.kind, case.strided)


def _table(name: str, case: Case, table: Table, frequencies: np.ndarray) -> Given:
    """A table of cosines or sines; its lines show the frequencies."""
    rows = rows_of(case) if "b" in table.axes else rows_of(case)[0]
    repeated = np.repeat(frequencies, 2) if table.pairs == "interleaved" else np.tile(frequencies, 2)
    columns = repeated if table.full else frequencies
    powers = f"np.array({[float(f'{x:.9g}') for x in columns]})"
    code = f"np.{name}(np.array({rows.tolist()})[..., None] * {powers})"
    if len(case.positions) > 8 and (np.diff(rows[0] if rows.ndim > 1 else rows) == 1).all() and rows.ndim == 1:
        code = f"np.{name}(np.arange({rows[0]}, {rows[-1] + 1})[..., None] * {powers})"
    index = {
        "1td": "[None]",
        "11td": "[None, None]",
        "b1td": "[:, None]",
        "t1d": "[:, None]",
        "bt1d": "[:, :, None]",
    }
    return drawn(f"({code}){index.get(table.axes, '')}", case.kind)


def columns_of(table: Table, given: np.ndarray, turning: int) -> np.ndarray:
    """The numbers of a table that was handed over, one for each pair, [b t n] or [1 t n]."""
    x = np.asarray(given, np.float64)
    pairs = turning // 2
    x = x.reshape(-1, *[n for axis, n in zip(table.axes, x.shape, strict=True) if axis in "td"])
    if not table.full:
        return x
    return x[..., :turning:2] if table.pairs == "interleaved" else x[..., :pairs]


def firsts(pairs: str, turning: int) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second channels of the pairs."""
    i = np.arange(turning // 2)
    return (2 * i, 2 * i + 1) if pairs == "interleaved" else (i, i + turning // 2)


def turned(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, way: Way, turning: int) -> np.ndarray:
    """What a rotation must give, in float64.

    Args:
        x: [b h t d].
        cos: of the angle of each pair, [b t n] or [1 t n].
        sin: likewise.
        way: of the target.
        turning: how many channels turn; the others stay.
    """
    first, second = firsts(way.pairs, turning)
    out = np.array(x, np.float64)
    a, b = out[..., first], out[..., second]
    cos, sin = cos[:, None] * way.scale, sin[:, None] * way.scale * way.sign
    out[..., first], out[..., second] = a * cos - b * sin, a * sin + b * cos
    return out


def sizes(x: np.ndarray, pairs: str, turning: int) -> np.ndarray:
    """|x_1| + |x_2| of each pair, [b h t n]."""
    first, second = firsts(pairs, turning)
    return np.abs(x[..., first]) + np.abs(x[..., second])


def spread(of_pairs: np.ndarray, pairs: str, turning: int, width: int) -> np.ndarray:
    """Numbers of pairs as numbers of channels; 0 where a channel does not turn."""
    first, second = firsts(pairs, turning)
    out = np.zeros((*of_pairs.shape[:-1], width))
    out[..., first] = out[..., second] = of_pairs
    return out


def outward(x: np.ndarray, layout: str) -> np.ndarray:
    """An array [b h t d] as a target has it."""
    return laid_out(x, layout)


def inward(x: np.ndarray, layout: str) -> np.ndarray:
    """An array of a target as [b h t d]."""
    return taken_in(np.asarray(x, np.float64), layout)


def table_frequencies(width: int) -> np.ndarray:
    """The frequencies of a table that is handed over, [width / 2]."""
    return formula(1e4, width // 2, width // 2)
