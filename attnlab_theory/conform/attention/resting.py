"""A cap or a window that is on by default: switched off where the kind does not judge it, and said."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.fitting import WIDE, fitted
from attnlab_theory.conform.attention.probe import probed
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.kinds import Kind

LONGEST = 132
"""Tokens of the longest call: a wider window hides nothing."""

SHOWN = 0.9
"""The weight of the largest of scores of 1e4, at least, where no cap bounds them."""


def rested(
    caller: Caller, kind: Kind, way: Conventions, defaults: Mapping[str, Any]
) -> tuple[Conventions, list[tuple[str, str]]]:
    """A way whose cap and window are off, as far as the kind does not judge them, and what is to be said of that.

    What cannot be switched off stays as it is, and is a part of every call.

    Args:
        caller: of the target.
        kind: what it promises.
        way: to call it, but for this.
        defaults: of its parameters.
    """
    lines: list[tuple[str, str]] = []
    if not way.rests:
        return way, lines
    for role in ("softcap", "window"):
        name = way.names.get(role, "")
        usual = defaults.get(name)
        # From a child it comes as a list.
        usual = [*usual] if isinstance(usual, tuple) else usual
        fixed = f"fixed_{role}"
        # What is declared is meant.
        if not name or kind.wants == role or getattr(way, fixed) is not None or not _is_on(role, usual):
            continue
        is_off = _uncapped if role == "softcap" else _sees_far
        if is_off(caller, kind, way, usual):
            continue
        for value in _candidates(role, usual):
            trial = dataclasses.replace(way, always={**way.always, name: value})
            if is_off(caller, kind, trial, usual):
                way = trial
                lines.append((name, f"{usual} by default, and {value} where it is not asked"))
                break
        else:
            lines.append((name, f"{usual} by default, and no value that was tried switches it off"))
            if isinstance(usual, int | float):
                way = dataclasses.replace(way, **{fixed: usual})
    return way, lines


def _is_on(role: str, usual: Any) -> bool:
    """Whether a default does something: a number above zero, or a pair of which one is not negative."""
    if isinstance(usual, bool) or usual is None:
        return False
    if role == "window" and isinstance(usual, list):
        return any(0 <= each < LONGEST for each in usual)
    return isinstance(usual, int | float) and usual > 0 and (role == "softcap" or usual < LONGEST)


def _candidates(role: str, usual: Any) -> Sequence[Any]:
    """What may switch it off."""
    if isinstance(usual, list):
        return (None, [-1, -1], [WIDE, WIDE])
    return (None, 0.0) if role == "softcap" else (None, 0, -1, WIDE)


def _uncapped(caller: Caller, kind: Kind, way: Conventions, usual: Any) -> bool:
    """Whether the largest of scores of 1e4 takes the whole weight, whatever the scale."""
    del usual
    case = fitted(Case(batch=1, queries=6, keys=6), kind, way)
    scores = np.linspace(-1e4, 1e4, 6)
    seen = probed(caller, way, case, scores=scores)
    return not seen.trouble and bool((seen.weights.max(-1) > SHOWN).all())


def _sees_far(caller: Caller, kind: Kind, way: Conventions, usual: Any) -> bool:
    """Whether the last query sees the first key, from further than the window reaches."""
    n = max(usual if isinstance(usual, list) else [usual]) + 3
    case = fitted(Case(batch=1, queries=n, keys=n), kind, way)
    seen = probed(caller, way, case)
    return not seen.trouble and bool((seen.weights[:, :, -1, 0] > 0.5 / n).all())
