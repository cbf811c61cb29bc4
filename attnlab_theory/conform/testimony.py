"""What the process of a target reports, checked field by field. It is a stranger's word until then.

A target can replace whatever runs in its process, and with it every report. So each field has a type and a range,
a report has no other fields, and text is made harmless. What does not fit judges nothing.
"""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.finding import Fault
from attnlab_theory.conform.frameworks import FRAMEWORKS
from attnlab_theory.conform.harness import METHODS, SLOW
from attnlab_theory.sandbox.reasons import plain

Check = Callable[[Any], bool]

LONGEST = 400
"""The most letters of a text."""

MOST = 2**20
"""The most entries of a list, and the largest of the small numbers: lengths, lines, places."""

FAULTS = (Fault.RAISED, Fault.EXITED, Fault.UNFIT, SLOW)
"""The troubles that a process may report of itself."""

KINDS = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")
"""The kinds of parameters, as `inspect` names them."""


class Misfit(ValueError):
    """A report that no honest process makes. The message is the rest of a sentence about the process."""


def _text(x: Any) -> bool:
    return isinstance(x, str) and len(x) <= LONGEST


def _name(x: Any) -> bool:
    return _text(x) and x.isidentifier()


def _flag(x: Any) -> bool:
    return isinstance(x, bool)


def _count(x: Any) -> bool:
    return type(x) is int and 0 <= x <= MOST


def _place(x: Any) -> bool:
    return type(x) is int and -1 <= x <= MOST


def _seconds(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x) and 0 <= x <= MOST


def _default(x: Any) -> bool:
    if isinstance(x, list):
        return 0 < len(x) <= MOST and all(isinstance(each, int) for each in x)
    # A default may be an infinity, and any whole number that a float holds.
    return isinstance(x, bool | float) or (isinstance(x, int) and abs(x) <= sys.maxsize)


def _each(check: Check, most: int = MOST) -> Check:
    return lambda x: isinstance(x, list) and len(x) <= most and all(map(check, x))


def _of(key: Check, value: Check) -> Check:
    return lambda x: isinstance(x, dict) and len(x) <= MOST and all(key(k) and value(v) for k, v in x.items())


def _parameter(x: Any) -> bool:
    return isinstance(x, list) and len(x) == 3 and _name(x[0]) and x[1] in KINDS and _flag(x[2])


def _parameters(x: Any) -> bool:
    return x is None or _each(_parameter, 1000)(x)


ABOUT: Mapping[str, Check] = {
    "error": _text, "message": _text, "file": _text, "line": _count, "code": _text, "seconds": _seconds,
}  # fmt: skip
"""What is said of a trouble. Each of them may be missing."""

CALL: Mapping[str, Check] = {
    "trouble": lambda x: x == "" or x in FAULTS,
    "kind": _text,
    "printed": _text,
    "changed": _each(_count),
    "shape": lambda x: x is None or _each(_count, 64)(x),
    "kept": _each(_count),
    "one": _each(_place),
    "given": lambda x: type(x) is int and 0 <= x <= 2,
}
"""What every call reports."""

SOMETIMES: Mapping[str, Check] = {
    "several": _flag,
    "about": lambda x: isinstance(x, dict) and all(k in ABOUT and ABOUT[k](v) for k, v in x.items()),
    "differs": _count,
    "overwritten": _flag,
    "narrow": _each(_text, 100),
}
"""What some calls report."""

TARGET: Mapping[str, Check] = {
    "parameters": _parameters,
    "defaults": _of(_name, _default),
    "uses": _each(lambda x: x in FRAMEWORKS, 9),
    "versions": _of(_text, _text),
    "loaded": _each(lambda x: x in FRAMEWORKS, 9),
    "training": _flag,
    "mode": lambda x: x in ("", "training", "evaluation"),
    "learns": _each(_text, 3),
    "class": _flag,
    "methods": _of(lambda x: x in METHODS, _parameters),
}
"""What is reported of a target that was loaded."""


def of_target(written: np.ndarray) -> dict[str, Any]:
    """The report on a target that was loaded, or on why it was not: `harness.Host.about`.

    Raises:
        Misfit: naming what does not fit.
    """
    told = _read(written)
    if "trouble" not in told:
        return _checked(told, TARGET, {})
    found = _checked(told, {"trouble": lambda x: x in FAULTS, "about": SOMETIMES["about"]}, {})
    return found


def of_call(
    written: np.ndarray, arrays: Sequence[np.ndarray], *, handed: int, kept: int, reads: bool
) -> dict[str, Any]:
    """The report on a call: `harness.Host.call`.

    Args:
        written: its bytes.
        arrays: those that came with it.
        handed: how many arrays were handed over.
        kept: the number of the next object that is kept.
        reads: whether numbers were expected.

    Raises:
        Misfit: naming what does not fit.
    """
    told = _checked(_read(written), CALL, SOMETIMES)
    wrong = ""
    if any(place >= handed for place in told["changed"]):
        wrong = "changed"
    elif told["kept"] != [*range(kept, kept + len(told["kept"]))] or len(told["one"]) != len(told["kept"]):
        wrong = "kept"
    elif told["trouble"] and ("about" not in told or told["given"]):
        wrong = "trouble"
    elif reads and not told["trouble"] and ("several" not in told or not told["given"]):
        wrong = "given"
    elif not told["trouble"] and told["given"] and told["shape"] != [*arrays[0].shape]:
        wrong = "shape"
    if wrong:
        raise Misfit(f"reports a {wrong} that fits no call")
    return told


def _read(written: np.ndarray) -> dict[str, Any]:
    try:
        if written.ndim != 1 or not np.all((written >= 0) & (written < 256)):
            raise Misfit("reports no bytes")
        told = json.loads(written.astype(np.uint8).tobytes().decode("ascii"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise Misfit("reports bytes that are no JSON") from None
    if not isinstance(told, dict):
        raise Misfit("reports no object of JSON")
    return told


def _checked(told: dict[str, Any], always: Mapping[str, Check], sometimes: Mapping[str, Check]) -> dict[str, Any]:
    for name in always:
        if name not in told:
            raise Misfit(f"reports no {name}")
    checks = {**always, **sometimes}
    for name, value in told.items():
        if name not in checks:
            raise Misfit(f"reports a field {plain(name, 40)!r}, which no report has")
        if not checks[name](value):
            raise Misfit(f"reports as {name} {plain(repr(value), 60)}")
    return {name: _harmless(value) for name, value in told.items()}


def _harmless(value: Any) -> Any:
    match value:
        case str():
            return plain(value)
        case list():
            return [_harmless(each) for each in value]
        case dict():
            return {plain(str(name)): _harmless(each) for name, each in value.items()}
        case _:
            return value
