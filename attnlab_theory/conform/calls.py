"""A call of any target: arrays, plain arguments, and objects that an earlier call gave."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Trouble, trouble_of


class Kept(NamedTuple):
    """An object that a call gave, such as a cache. It stays where the target is."""

    number: int


NOTHING = np.zeros(0)
"""The numbers of no answer."""


class Answer(NamedTuple):
    """What came back."""

    trouble: Trouble | None = None
    """What went wrong; then there is nothing else."""
    numbers: np.ndarray = NOTHING
    """In float64, as they came. Once read, with all axes of the kind; those that the target has not are of length
    one."""
    kind: str = ""
    """The type of the numbers."""
    printed: str = ""
    second: np.ndarray | None = None
    """The array beside the numbers, as it came."""
    kept: Sequence[Kept] = ()
    """The objects that were to be kept: the state that may be continued."""
    one: Sequence[int] = ()
    """The number of an earlier object that lies in the same place, for each of these; or -1."""
    changed: Sequence[Any] = ()
    """The arrays that the call wrote into: their numbers by place first, then by name; or their names."""
    narrow: Sequence[str] = ()
    """The types narrower than float64 that took part, of a call that is watched."""
    differs: int = 0
    """The first of several calls in a row that gave other bits; 0 if none did."""
    overwritten: bool = False
    """Whether another call changed the answer to this one."""


def call(
    caller: Caller,
    given: Sequence[np.ndarray | Kept] = (),
    named: Mapping[str, np.ndarray | Kept] = {},
    *,
    framework: str,
    kind: str = "float32",
    strided: str = "",
    plain: Mapping[str, Any] = {},
    **more: Any,
) -> Answer:
    """Make one call.

    Args:
        caller: of the target.
        given: the arguments by their place. Whole numbers stay whole.
        named: arrays and kept objects by name.
        framework: whose arrays the target takes.
        kind: the type of the numbers; bfloat16 is handed over as float32 that hold its numbers.
        strided: how the arrays lie in memory: a word of `exchange.lain`.
        plain: numbers and flags by name.
        more: of the plan, as `harness.Host.call` has it. A cotangent is the last array, and not one of these.
    """
    arrays = [x for x in (*given, *named.values()) if not isinstance(x, Kept)]
    plan = {
        "framework": framework,
        "kind": kind,
        "strided": strided,
        "names": [name for name, x in named.items() if not isinstance(x, Kept)],
        "plain": plain,
        "places": {str(i): x.number for i, x in enumerate(given) if isinstance(x, Kept)},
        "kept": {name: x.number for name, x in named.items() if isinstance(x, Kept)},
        "gradients": False,
        **more,
    }
    if isinstance(cotangent := plan.get("cotangent"), np.ndarray):
        arrays.append(cotangent)
        plan["cotangent"] = True
    report, came = caller.call(plan, [np.ascontiguousarray(x) for x in arrays])
    return Answer(
        trouble=trouble_of(report),
        numbers=came[0] if came else NOTHING,
        kind=report.get("kind", ""),
        printed=report.get("printed", ""),
        second=came[1] if len(came) > 1 else None,
        kept=[Kept(number) for number in report.get("kept", ())],
        one=report.get("one", ()),
        changed=report.get("changed", ()),
        narrow=report.get("narrow", ()),
        differs=report.get("differs", 0),
        overwritten=report.get("overwritten", False),
    )
