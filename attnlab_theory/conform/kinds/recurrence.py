"""Recurrences: whole, in parts that hand on a state, in chunks, and another form are one answer.

Nothing is known of the formula, so a target is compared with itself, as `sensitivity` says. Keys have length one:
with longer ones a delta rule grows without end, and nothing could be compared.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.calling import Answer, raw
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.identities import (
    again,
    all_ways,
    apart,
    beside_another,
    cuts,
    empty_batch,
    future,
    in_chunks,
    in_parts,
    non_contiguous,
    prefixes,
    untouched,
    wholes,
)
from attnlab_theory.conform.judge import Judge, Pair, answered
from attnlab_theory.conform.kind import Chosen, Kind, Stage, law
from attnlab_theory.conform.operands import OPERANDS

DECAYS = ("log decay", "decay")
EXTRA = (*DECAYS, "beta")
"""Those that are numbers for each token."""

LENGTHS, COMPILED = (2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 130), (5, 17, 65)
CHUNKS, FEW_CHUNKS = (1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 200), (5, 8)

PARTS = ((1, 16, 31, 17), (64, 1, 65), (16, 16, 16, 16), (5, 7, 3, 2), (63, 2, 64))
"""Lengths of parts that follow each other."""

CHUNKED = ((16, 16), (48, 16), (32, 64, 32))
"""Lengths of parts, each of which is cut into chunks."""

REPLACED: Mapping[str, str] = {
    # Keys keep their length, and gates their range.
    "k": "-{x}",
    "beta": "1 - {x}",
    **dict.fromkeys(DECAYS, "0.5 * {x}"),
}
"""What becomes of later tokens, of which earlier ones know nothing; beside it queries and values grow."""


def likely(about: Mapping[str, Any]) -> str:
    """recurrent, where a decay or the like stands beside queries, keys and values, or chunks must be given."""
    parameters = about["parameters"] or ()
    names = [name.lower() for name, _, _ in parameters]
    if [name[:1] for name in names[:3]] != ["q", "k", "v"]:
        return ""
    found = {role for role in RECURRENCE.operands[3:] for name in names[3:] if name in OPERANDS[role].spellings}
    must = {name.lower() for name, _, required in parameters if required}

    def is_required(role: str) -> bool:
        return bool(must & {*OPERANDS[role].spellings})

    # A gate that may be left away is one of attention, too.
    begun = bool({"state", "chunk"} & found)
    decays = any(role in found and (begun or is_required(role)) for role in EXTRA)
    return "recurrent" if decays or ("chunk" in found and is_required("chunk")) else ""


def follows(ask: Callable[[Case], Answer], case: Case, answer: Answer, _: Chosen) -> float:
    """0 if the first token moves later ones, and the first batch element or head no other; half where one head is
    given alone; else 1."""

    def holds(case: Case, numbers: np.ndarray) -> bool:
        for axis, mixes in ((2, True), (0, False), (1, False)):
            if numbers.shape[axis] > 1:
                other = ask(case.replaced(edits=(f"v[{':, ' * axis}0] += 10",)))
                moved = np.ones(1)
                if not other.trouble:
                    moved = np.delete(np.abs(other.numbers - numbers) > 1e-3, 0, axis)
                if bool(moved.any()) != mixes:
                    return False
        return True

    if holds(case, answer.numbers):
        return 0.0
    alone = ask(case.replaced(heads=1))
    return 0.5 if not alone.trouble and holds(case.replaced(heads=1), alone.numbers) else 1.0


def types(judge: Judge) -> dict[str, Any]:
    """The type that is handed over, and the narrower one in which a whole is computed, if that is one."""
    narrow = {"type": "float32", "inside": ""}
    if judge.compiles:
        return narrow
    case = judge.cases([{"length": 5, "seed": 2, "type": "float64"}])[0]
    fine = {name: x * (1 + 1e-12) for name, x in judge.operands(case).items()}
    one = judge.ask(case, fine)
    if one.trouble:
        return narrow
    other = judge.ask(case, {name: x.astype(np.float32).astype(x.dtype) for name, x in fine.items()})
    return {"type": "float64", "inside": "float32" * np.array_equal(one.numbers, other.numbers)}


def last_state(judge: Judge) -> Finding:
    """The state after parts is that after the whole, where it is an array."""
    pairs = [
        Pair(parts, whole, of_state=True)
        for n, each in wholes(judge, (5, 17), (5, 17))
        for whole in judge.cases([each.replaced(parts=(n,))])
        for parts in judge.cases([each.replaced(parts=(n // 2, n - n // 2))])
    ]
    for pair in pairs:
        one, two = judge.remembered(pair.case), judge.remembered(pair.right)
        if not one.trouble and not two.trouble:
            if one.second is None or two.second is None:
                return NOT_TRIED
            if one.second.shape != two.second.shape:
                about = {"one": [*two.second.shape], "other": [*one.second.shape]}
                return Finding(verdict=Verdict.CONVENTION, fact="state shape", about=about)
    return judge.same(pairs)


@law
def of_type(judge: Judge, kind: str) -> Finding:
    """The law that all ways to one answer agree in a type, where the target is judged in float64."""
    if judge.convention.chosen["type"] == "float32":
        return NOT_TRIED
    if kind == "float64" and judge.convention.chosen["inside"]:
        return Finding(verdict=Verdict.CONVENTION, fact="inside")
    return all_ways(judge, (2, 17, 65), (2, 17, 65), type=kind)


def decays(judge: Judge) -> Finding:
    """All ways agree where all is forgotten at once, more than e^5 a step, and where nothing is."""
    if not {*DECAYS} & {*judge.convention.names}:
        return NOT_TRIED
    for word in ("strong", "none"):
        found = all_ways(judge, (17, 65, 130), (65,), **dict.fromkeys(DECAYS, word))
        if found.verdict is Verdict.FAILS:
            return found
    return found


def state_again(judge: Judge) -> Finding:
    """Whether one state can be continued twice: who writes into it is told."""
    if "state" not in judge.convention.names:
        return NOT_TRIED
    case = judge.cases([{"length": 9, "seed": 9, "parts": (4, 5)}])[0]
    caller, found = judge.caller, judge.convention
    first = answered(raw(caller, found, case, 0, 4), case)
    one, two = (raw(caller, found, case, 4, 5, first.kept) for _ in range(2))
    is_used = one.trouble or two.trouble or not np.array_equal(one.numbers, two.numbers)
    fact = "state is used up" if is_used else "state again"
    return Finding(verdict=Verdict.CONVENTION if is_used else Verdict.HOLDS, fact=fact, tried=2)


RECURRENCE = Kind(
    operands=("q", "k", "v", "state", "returns", "chunk", *EXTRA),
    placed=("q", "k", "v"),
    gives="bhte",
    ways=("state", "chunk"),
    usual={"batch": 2, "heads": 2, "length": 6, "width": 4, "value_width": 3, "values": "unit keys"},
    stages=(
        Stage(
            forms={"layout": ("bhtd", "bthd", "btd", "td")},
            trials=({"heads": 3, "length": 5},),
        ),
    ),
    score=follows,
    reads=(types,),
    laws={
        "two parts": in_parts(LENGTHS, COMPILED, lambda n: [(cut, n - cut) for cut in cuts(n, 16, 64)]),
        "one by one": in_parts((2, 5, 17, 66), (5,), lambda n: [(1,) * n]),
        "several parts": in_parts([*map(sum, PARTS)], (), lambda n: [x for x in PARTS if sum(x) == n]),
        "last state": last_state,
        "chunks": in_chunks(LENGTHS, COMPILED, CHUNKS, FEW_CHUNKS),
        "chunks in parts": in_parts(
            [*map(sum, CHUNKED)], (), lambda n: [x for x in CHUNKED if sum(x) == n], (4, 16)
        ),
        "against": beside_another(LENGTHS, COMPILED),
        "decays": decays,
        "float32": of_type("float32"),
        "future": future(
            LENGTHS,
            COMPILED,
            [REPLACED | dict.fromkeys("qv", "4 * {x}"), REPLACED | dict.fromkeys("qv", "{x} + 1e3")],
        ),
        "prefixes": prefixes(LENGTHS, COMPILED),
        "non-contiguous": non_contiguous({"length": 17, "seed": 17}),
        "elements apart": apart({"length": 17, "seed": 17, "batch": 3, "heads": 3}, "v"),
        "float64": of_type("float64"),
        "same result": again(
            {"length": 9, "seed": 9},
            [{"length": 17, "parts": (9,)}, {"length": 17, "parts": (17,)}, {"length": 17, "parts": (8, 9)}],
        ),
        "state again": state_again,
        "empty batch": empty_batch,
        "inputs unchanged": untouched([]),
    },
)
