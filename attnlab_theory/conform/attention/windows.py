"""What a window lets a query see, and how it is handed over: as a number, or as a pair of keys to either side."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.conventions import WINDOWS, Conventions, within
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.probe import probed
from attnlab_theory.conform.attention.profiles import Profile, contradicts
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.kinds import Kind

PAIRS = ("", "(w, w)", "(w, 0)")
"""How a window of w is handed over: as a number, or as flash-attention has it, (left, right)."""


def pairs(kind: Kind, way: Conventions) -> Sequence[str]:
    """The ways of `PAIRS` that are worth a trial call."""
    return PAIRS if kind.wants == "window" and "window" in way.names else PAIRS[:1]


def windowed(caller: Caller, kind: Kind, profile: Profile) -> Profile:
    """What a window lets a query see.

    Args:
        caller: of the target.
        kind: what it promises.
        profile: so far.

    Raises:
        ValueError: if there is no window.
    """
    way, lines = profile.way, list(profile.lines)
    if kind.wants != "window":
        return profile
    if "window" not in way.names and way.fixed_window is None:
        raise ValueError(
            f"{caller.name} has no argument for a window: say --window W if its own is fixed, or write "
            "an adapter: attnlab conform --template numpy"
        )
    width = 3 if way.fixed_window is None else way.fixed_window
    size = 2 * width + 3
    case = Case(queries=size, keys=size, window=width if "window" in way.names else None)
    case = fitted(case, kind, way)
    seen = probed(caller, way, case)
    for meaning in WINDOWS:
        if seen.equals(within(meaning, width, size, size, 0)):
            way = dataclasses.replace(way, window=meaning)
            break
    if not way.window:
        row = size // 2
        sees = seen.trouble or (
            f"query {row} of {size} sees {np.flatnonzero(seen.weights[0, 0, row] > 0.01).tolist()}"
        )
        line = f"a window of {width} has no meaning that we know: {sees}"
        contradicts(
            caller, profile, "visibility", line, seen, *(within(each, width, size, size, 0) for each in WINDOWS)
        )
        return Profile(way, lines, profile.failures)
    handed = f", handed over as {way.paired}" if way.paired else ""
    lines.append((f"a window of w = {width}", way.window + handed))
    if way.paired == "(w, w)" and way.window == "w keys to either side":
        one = probed(caller, way, dataclasses.replace(case, ahead=0))
        way = dataclasses.replace(way, uneven=not one.trouble)
        lines.append(("a window of (w, 0)", "taken" if way.uneven else f"refused: {one.trouble}"))
    case = dataclasses.replace(case, queries=size - 2)
    seen = probed(caller, way, case)
    rights = {name: within(way.window, width, size - 2, size, shift) for name, shift in (("end", 2), ("start", 0))}
    for name, right in rights.items():
        if seen.equals(right):
            way = dataclasses.replace(way, alignment=name)
            break
    else:
        way = dataclasses.replace(way, alignment="square")
        if not seen.trouble:
            line = f"{size - 2} queries and {size} keys: another window"
            contradicts(caller, profile, "visibility", line, seen, *rights.values())
    lines.append(("more keys than queries", way.alignment))
    return Profile(way, lines, profile.failures)
