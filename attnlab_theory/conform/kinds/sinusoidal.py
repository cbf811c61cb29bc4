"""Sinusoidal positions: a row of sines and cosines for each position.

Axes: b batch, t positions, d width. Each entry may be off by the error of the table, which `angles` derives, and by
2 u for its store. That a step turns each pair by one angle follows where every number is right.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform import angles
from attnlab_theory.conform.angles import PAIRS, Frequencies, channels
from attnlab_theory.conform.case import Case, rounded, storage
from attnlab_theory.conform.finding import NOT_FINITE, NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.identities import RightAt, again, explained, types_in_turn, untouched
from attnlab_theory.conform.judge import Judge, Pair, answered
from attnlab_theory.conform.kind import Chosen, Kind, Right, Spec, Stage
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.conform.rounding import HALF_EPS

FAR = (1023, 4095, 20000, 131071)
"""The last rows of long tables; the last is asked where positions are handed over."""

LENGTHS, COMPILED = (2, 3, 15, 16, 63, 65, 127, 128, 129), (2, 17, 65)


class Waves(NamedTuple):
    """What makes the rows of a case."""

    frequencies: Frequencies
    shift: float
    """The position of row 0."""
    first: int | None = None
    """How many rows are compared; all, if none is said."""


def rows(case: Case) -> np.ndarray:
    """The positions of the rows, [t]."""
    return np.asarray(case.operands().get("rows", np.arange(*case.shape("t"))), float)


def columns(chosen: Chosen, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The columns of sines and of cosines."""
    first, second = channels(chosen["pairs"], width)
    return (first, second) if chosen["first"] == "sine" else (second, first)


def waves(numbers: np.ndarray, case: Case, chosen: Chosen) -> Waves | None:
    """Frequencies that are read off a table, and the position of its first row; None if it has none."""
    table = numbers[0]
    sines, cosines = (table[:, x] for x in columns(chosen, table.shape[1]))
    if not sines.size or not np.isfinite(table).all() or np.abs(np.hypot(sines, cosines) - 1).max() > 0.05:
        return None
    angle = np.arctan2(sines, cosines)
    narrow = [
        kind
        for kind in ("float16", "bfloat16")
        if np.array_equal(rounded(table.astype(storage(kind)), kind), table)
    ]
    found = angles.unwrapped(angle, rows(case), HALF_EPS[[*narrow, "float32"][0]])
    # The first rows say what columns are; what is wrong with later ones is judged.
    return Waves(found, float(round(angle[0, 0] / found.each[0])), 9) if found.each[0] > 0 else None


def read(numbers: np.ndarray, case: Case, chosen: Chosen) -> dict[str, Any]:
    """Where row 0 stands, if not at 0."""
    found = waves(numbers, case, chosen)
    return {"row 0": found.shift} if found is not None and found.shift else {}


def right(case: Case, chosen: Chosen, made: Waves | None) -> Right:
    """The sine and the cosine of position times frequency, [b t d]; NaN where that is not known."""
    output = np.full(case.shape("btd" if "b" in chosen["axes"] else "1td"), np.nan)
    most = output.copy()
    if made is None:
        return Right(output, lambda kind, _: most)
    p, (sines, cosines) = rows(case) + made.shift, columns(chosen, case["width"])
    output[..., sines], output[..., cosines] = (f(p[:, None] * made.frequencies.each) for f in (np.sin, np.cos))
    if made.first is not None:
        output[:, made.first :] = np.nan

    def within(kind: str, _: str) -> np.ndarray:
        most[..., sines] = most[..., cosines] = angles.off(p, made.frequencies, kind) + 2 * HALF_EPS[kind]
        return most

    return Right(output, within)


def own(judge: Judge, case: Case) -> Waves:
    """The frequencies of the base; where there is none, those that are read off a table of the width."""
    chosen, width = judge.convention.chosen, case["width"]
    by_base = angles.known(chosen, width // 2, width, case["base"])
    if by_base is None:
        table = judge.trial.replaced(width=width)
        found = waves(judge.remembered(table).numbers, table, chosen)
        return found or Waves(Frequencies(np.zeros(width // 2)), 0.0)
    return Waves(Frequencies(by_base), chosen.get("row 0", 0.0))


def base(judge: Judge) -> dict[str, Any]:
    """The base of the frequencies."""
    case, chosen = judge.trial, judge.convention.chosen
    found = waves(judge.remembered(case).numbers, case, chosen)
    if found is None:
        return {}
    return angles.fitted(found.frequencies, case["width"], judge.declared.get("base"), ("turning", "all but one"))


def longest(judge: Judge) -> int:
    """The longest table, of some lengths, that is not refused."""
    found = 7
    for n in (17, 64, 130, 1030):
        trouble = judge.remembered(judge.cases([{"queries": n}])[0]).trouble
        if trouble and trouble.refuses:
            break
        found = n
    return found


def up_to(judge: Judge, *lengths: int) -> Iterator[Spec]:
    """Tables of some lengths, as far as they are taken."""
    return ({"queries": n} for n in lengths if n <= longest(judge))


def at(judge: Judge, *positions: int) -> list[Spec]:
    """The case of positions that are handed over, as far as they are taken; none where they are not."""
    places = tuple(min(p, longest(judge) - 1) for p in positions)
    is_told = judge.convention.chosen.get("rows") == "positions"
    return [{"queries": len(places), "rows": places}] * is_told


def some_waves(judge: Judge) -> Finding:
    """Columns are sines and cosines of one angle, in pairs."""
    about = {"pairs": judge.trial["width"] // 2}
    return dataclasses.replace(explained(judge), **({"fact": "pairs", "about": about} if judge.explained else {}))


def position_0(judge: Judge) -> Finding:
    """Row 0 has sines of 0 and cosines of 1."""
    if first := judge.convention.chosen.get("row 0"):
        return Finding(verdict=Verdict.CONVENTION, fact="chosen", about={"convention": "row 0", "first": first})
    return judge.values(judge.cases([{"queries": 1}]))


def prefix(judge: Judge) -> Finding:
    """A shorter table is the beginning of a longer one."""
    pairs = [(m, n) for m, n in ((1, 5), (5, 6), (17, 130), (130, 1030)) if n <= longest(judge)]
    wholes = [(m, whole) for m, n in pairs for whole in judge.cases([{"queries": n}])]
    return judge.same(Pair(whole.replaced(parts=(m,)), whole, {"t": slice(m)}) for m, whole in wholes)


def far(judge: Judge) -> Iterator[Spec]:
    """Rows of long tables."""
    if judge.convention.chosen.get("rows") == "positions":
        return ({"queries": 4, "rows": (p, p // 3, p - 1, 0)} for p in FAR)
    return ({"queries": p + 1} for p in FAR[:-1])


def widths(judge: Judge) -> Finding:
    """Even widths, each with frequencies of its own."""
    chosen, trial = judge.convention.chosen, judge.trial
    cases = [] if "width" in chosen else judge.cases({"width": n} for n in (2, 4, 6, 10, 64, 130))
    # One pair cannot fall from 1 to 1 / base.
    cases = [case for case in cases if case["width"] > 2 or chosen.get("counted") != "all but one"]
    troubles = {case: judge.remembered(case).trouble for case in cases}
    cases = [case for case, trouble in troubles.items() if not (trouble and trouble.refuses)]
    if not cases:
        return Finding(verdict=Verdict.CONVENTION, fact="width", about={"width": trial["width"]})
    return judge.values(cases)


def odd_width(judge: Judge) -> Finding:
    """What is made of an odd width is told."""
    chosen = judge.convention.chosen
    cases = [] if "width" in chosen else judge.cases([{"width": n, "queries": 9} for n in (7, 6, 8)])
    if not cases:
        return NOT_TRIED
    odd, answer = cases[0], judge.ask(cases[0])
    if answer.trouble:
        return Finding(verdict=Verdict.CONVENTION, trouble=answer.trouble)
    if not np.isfinite(answer.numbers).all():
        return Finding(verdict=Verdict.FAILS, trouble=NOT_FINITE, case=odd)
    first = "neither a column of zeros nor one left out"
    if chosen["base"]:
        # A wider table is that of 7 channels cut short only if exponents are counted over 7.
        whole = angles.formula(chosen["base"], 4, "whole", 7, chosen.get("divided", 1.0))
        made = right(cases[2], chosen, Waves(Frequencies(whole), 0.0)).output[..., :7]
        even = judge.expected(cases[1]).output
        if np.allclose(answer.numbers[..., :6], even, atol=2e-3) and not answer.numbers[..., 6].any():
            first = "a column of zeros after those of an even width"
        elif chosen["pairs"] == "interleaved" and np.allclose(answer.numbers, made, atol=2e-3):
            first = "a table whose last column is left out"
    return Finding(verdict=Verdict.CONVENTION, fact="odd width", about={"first": first})


def added(judge: Judge) -> Finding:
    """Tokens are added, or not looked at."""
    if "embeddings" not in judge.convention.names:
        return NOT_TRIED
    cases = judge.cases([{"queries": 5}, {"queries": 5, "embeddings": "twos"}])
    zeros, twos = (answered(judge.ask(case)).numbers for case in cases)
    apart = twos - zeros
    if np.ptp(apart) > 1e-5:
        about = {"least": apart.min(), "most": apart.max()}
        return Finding(verdict=Verdict.FAILS, fact="moves", about=about, failures=1)
    times = float(apart.mean()) / 2
    fact = "table alone" if abs(times) < 1e-6 else "times"
    return Finding(verdict=Verdict.CONVENTION, fact=fact, about={"times": times})


SINUSOIDAL = Kind(
    operands=("rows", "embeddings", "width", "base"),
    unnamed=("rows", "width"),
    gives="btd",
    declares=("base",),
    usual={"batch": 2, "queries": 7, "width": 8},
    near=0.2,
    stages=(
        Stage(
            forms={"rows": (*OPERANDS["rows"].meanings,)},
            choices={"axes": ("td", "1td", "t1d", "btd", "11td"), "pairs": PAIRS, "first": ("sine", "cosine")},
            trials=({"queries": 257}, {"queries": 7}),
            identity="waves",
        ),
    ),
    numbers=waves,
    known=read,
    own=own,
    right=right,
    reads=(base,),
    laws={
        "waves": some_waves,
        "table": RightAt(lambda judge: up_to(judge, 1, 5, 17, 64)),
        "position 0": position_0,
        "prefix": prefix,
        "large positions": RightAt(far, may_refuse=True),
        "any order": RightAt(lambda judge: at(judge, 3, 0, 11, 5, 5, 40, 1) + at(judge, 6)),
        "lengths": RightAt(lambda judge: up_to(judge, *(COMPILED if judge.compiles else LENGTHS))),
        "widths": widths,
        "odd widths": odd_width,
        "base": RightAt(
            lambda judge: [{"queries": 9, "base": x} for x in (500.0, 2e6) if judge.convention.chosen["base"]]
        ),
        "added": added,
        "types in turn": lambda judge: (
            types_in_turn(judge, {}, {"queries": min(64, longest(judge))}) if judge.trial.is_typed else NOT_TRIED
        ),
        "same result": again({"queries": 6}, [{"queries": 40}, {"queries": 6, "width": 16}, {"queries": 3}]),
        "inputs unchanged": lambda judge: (
            NOT_TRIED if judge.convention.chosen.get("rows") == "a number of tokens" else untouched([])(judge)
        ),
    },
)
