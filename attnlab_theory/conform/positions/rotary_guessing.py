"""How a rotation wants to be called: found from what it does to unit vectors, and said."""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.positions import rotary_ways as ways
from attnlab_theory.conform.positions.calling import ADAPTER, Given, drawn
from attnlab_theory.conform.positions.frequencies import SHORT, TRIAL, unwrapped, wrapped
from attnlab_theory.conform.positions.rotary_judging import Answer, Rotation
from attnlab_theory.conform.positions.rotary_ways import NONE, PAIRS, TABLES, Case, Reading, Table, Way

WIDTHS = (8, 64, 128, 32, 16)
"""Widths of trial calls: a target may have one of its own."""

TOKENS = 5

MOVED = 1e-10
"""An entry that is further from that of the unit matrix belongs to a pair that turns: the others are copied."""


STILL = NONE._replace(why="no channel turns: the answer is the same at all positions")


class Trial(NamedTuple):
    """A way that was tried."""

    way: Way
    reading: Reading
    rows: tuple[int, ...]
    """Positions of the call."""


def tried(suite: Rotation) -> Trial:
    """The first way whose unit vectors turn in pairs, alike in all batch elements and heads.

    Raises:
        ValueError: if no call is answered.
    """
    second: Trial | None = None
    few: Trial | None = None
    said: list[str] = []
    for framework in suite.frameworks():
        suite.framework = framework
        for width in WIDTHS:
            for way, trial in itertools.product([*_candidates(suite, width)], (TRIAL, SHORT)):
                if way.told == "rows" and trial == SHORT:
                    continue
                suite.trial = trial
                case = ways.fitted(Case(positions=suite.trial, width=width), way)
                answer = suite.ask(case, way)
                if answer.trouble:
                    said.append(f"{answer.call.shown(suite.names)}: {answer.trouble}")
                    suite.refuse_hung(said[-1])
                    continue
                if is_copy(answer, way):
                    few = few or Trial(way, STILL, trial)
                    continue
                reading = read(suite, case, way)
                if not reading.why:
                    found = dataclasses.replace(
                        way, pairs=reading.pairs, sign=reading.sign, shift=reading.shift, scale=reading.scale
                    )
                    if reading.turning > ways.PAIR:
                        return Trial(found, reading, trial)
                    few = few if few is not None and not few.reading.why else Trial(found, reading, trial)
                    break
                second = second or Trial(way, reading, trial)
            # A share of few channels may be one pair or none. One pair says nothing of pairs: a wider vector does.
            if second is not None:
                return second if few is None or few.reading.why else few
        if few is not None:
            return few
    raise ValueError(f"{suite.caller.name} answered no trial call, such as {said[0]}. {ADAPTER}")


def _candidates(suite: Rotation, width: int) -> Iterator[Way]:
    layouts = (suite.declared["layout"],) if "layout" in suite.declared else ways.LAYOUTS
    names = suite.names
    for layout in layouts:
        if "cos" in names:
            pairs = [suite.declared["pairs"]] if "pairs" in suite.declared else ["halves", "interleaved"]
            for axes, (full, each) in itertools.product(TABLES, [*((True, p) for p in pairs), (False, "halves")]):
                if "b" not in axes or "b" in layout:
                    yield Way(layout=layout, told="table", table=Table(axes, full, each), width=width)
        elif "positions" in names:
            for by_row in (False, True) if "b" in layout else (False,):
                yield Way(layout=layout, told="positions", by_row=by_row, width=width)
        else:
            yield Way(layout=layout, told="rows", width=width)


def is_copy(answer: Answer, way: Way) -> bool:
    """Whether what came back is what was handed over."""
    given = [x for role in ("q", "k", "x") if (x := answer.call.values.get(role))]
    return all(
        np.array_equal(ways.inward(x.array, way.layout), out)
        for x, out in zip(given, answer.outputs, strict=True)
        if isinstance(x, Given)
    )


def read(suite: Rotation, case: Case, way: Way) -> Reading:
    """What becomes of unit vectors: which channels turn together, how fast, and which way."""
    matrix = np.zeros((case.batch, case.heads, TOKENS, case.width, case.width))
    for j in range(case.width):
        given = [
            drawn(f"np.eye({case.width})[{j}] + np.zeros({tuple(ways.shape_of(case, way.layout, h))})", case.kind)
            for h in (case.heads, case.key_heads)
        ]
        answer = suite.ask(case, way, given)
        if answer.trouble:
            wrong = suite.trouble(answer)
            return NONE._replace(why=wrong._replace(line=f"{answer.call.words(suite.names)}: {answer.trouble}"))
        matrix[..., j] = answer.outputs[0]
    if not np.isfinite(matrix).all():
        return NONE._replace(why="unit vectors become numbers that are not finite")
    one = matrix[0, 0]
    if np.abs(matrix - one).max() > 1e-3 and not case.own_rows:
        where = "batch elements" if np.abs(matrix - matrix[:1]).max() > 1e-3 else "heads"
        return NONE._replace(why=f"{where} turn unlike each other at the same positions")
    far = np.abs(one - np.eye(case.width)).max(0)
    moving = np.flatnonzero((far.max(0) > MOVED) | (far.max(1) > MOVED))
    if np.abs(one - one[0]).max() < 1e-3 or not len(moving):
        return STILL
    turning = len(moving)
    if turning % 2 or (moving != np.arange(turning)).any():
        return NONE._replace(why=f"channels {moving.tolist()} change, which are no pairs from the first on")
    return _angles(one, way, case, turning)


def _angles(one: np.ndarray, way: Way, case: Case, turning: int) -> Reading:
    """Read a matrix for each token, [t d d]."""
    off = np.abs(one[:, :turning, :turning]) * (1 - np.eye(turning))
    weight = off.max(0)
    for pairs in PAIRS:
        first, second = ways.firsts(pairs, turning)
        mine = np.zeros_like(weight)
        mine[first, second] = mine[second, first] = 1
        if (weight * (1 - mine)).max() <= MOVED:
            break
    else:
        i = int(np.argmax(weight[0]))
        return NONE._replace(why=f"channel 0 turns with channel {i} of {turning}: neither interleaved nor halves")
    a, b = one[:, first, first], one[:, second, first]
    if way.told == "table":
        apart = max(np.abs(a - one[:, second, second]).max(), np.abs(b + one[:, first, second]).max())
        if apart > 1e-3:
            return NONE._replace(why="the two channels of a pair turn by different angles")
    size = np.hypot(a, b)
    angles = np.arctan2(b, a)
    sign = 1 if wrapped(angles[1] - angles[0])[0] >= 0 else -1
    angles = angles * sign
    p = np.asarray(case.positions if way.told != "rows" else range(TOKENS), float)
    if way.told == "rows":
        p = p + case.offset
    frequencies, error = unwrapped(angles, p)
    shift = float(np.round(angles[0, 0] / frequencies[0], 3)) if frequencies[0] else 0.0
    scale = float(size[0].mean())
    return Reading(pairs, turning, sign, frequencies, error, shift, scale if abs(scale - 1) > 1e-2 else 1.0)
