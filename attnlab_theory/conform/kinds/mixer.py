"""Layers: a sequence [b t d] to a sequence [b t e], one output for each token.

Nothing is known of the formula, so a layer is compared with itself, as `sensitivity.of_layers` says. Whether the
future is hidden is found out by short calls, and longer ones must keep it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from attnlab_theory.conform.calling import Answer, Uncallable
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.identities import (
    again,
    all_lengths,
    alone,
    empty_batch,
    future,
    non_contiguous,
    objects,
    prefixes,
    untouched,
)
from attnlab_theory.conform.judge import Judge, Pair
from attnlab_theory.conform.kind import Chosen, Kind, Law, Stage, law
from attnlab_theory.conform.sensitivity import most_apart, of_layers, peak

WIDTHS = (8, 16, 32, 64, 4, 128, 256, 512, 768, 12, 24, 48, 2, 1)
"""Widths that are tried, for a target may have a width of its own."""

LENGTHS, COMPILED = (1, 2, 12, 15, 16, 17, 33, 63, 64, 65, 127, 128, 130), (1, 5, 17, 33)
"""Tokens, on both sides of the edges of blocks."""

LEAKS, GUESSED = (12, 17, 65, 130), (3, 5)
"""Tokens of the calls in which leaks are looked for, and of those that tell whether the future is hidden."""

LOUD: list[dict[str, str]] = [
    dict.fromkeys(("sequence", *"qkv"), code) for code in ("4 * {x}", "-4 * {x}", "{x} + 1e3")
]
"""What the future is replaced by."""

SAME = {"length": 5, "seed": 6}
"""The call that is made again and again."""

ROUNDED = {
    "float64": "sequence = sequence.astype('float32').astype(sequence.dtype)",
    "float16": "sequence = sequence.astype('float16').astype(sequence.dtype)",
    "bfloat16": "sequence = (sequence.view('uint32') & 0xFFFF0000).view('float32')",
}
"""What makes numbers that a coarser type has, too."""


def mixes_tokens(ask: Callable[[Case], Answer], case: Case, answer: Answer, chosen: Chosen) -> float:
    """0, but 1 where something is mixed along the batch and nothing along what is taken for tokens."""
    del chosen
    whole = ask(case.replaced(parts=None))
    case, answer = (case, answer) if whole.trouble else (case.replaced(parts=None), whole)
    letters = ("bto", "bhto")[answer.numbers.ndim - 3]
    mixes = []
    for axis in ("h" if (case["heads"] or 1) > 1 else "b", "t"):
        moved, at = 0.0, letters.index(axis)
        for i in (0, -1):
            parts = [
                f"{role}[{':, ' * axes.replace('s', 't').replace('g', 'h').index(axis)}{i}]"
                for role, axes in case.arrays
            ]
            other = ask(case.replaced(edits=(f"{x} = 3 * r.standard_normal({x}.shape)" for x in parts)))
            if not answer.trouble and not other.trouble and answer.numbers.shape[at] > 1:
                gap = np.delete(np.abs(other.numbers - answer.numbers), i, at).max(initial=0.0)
                moved = max(moved, gap / max(peak(other.numbers, answer.numbers), 1e-300))
        mixes.append(moved > 1e-5)
    return float(mixes == [True, False])


def is_itself(judge: Judge) -> dict[str, Any]:
    """Nothing; the first answer is remembered, before any short input. A module that draws numbers is refused."""
    case = judge.cases([SAME])[0]
    first, second = judge.remembered(case), judge.ask(case)
    if judge.caller.about()["training"] and most_apart(first.numbers, second.numbers) > 0:
        raise Uncallable("training")
    return {}


def hides(judge: Judge) -> dict[str, Any]:
    """Whether the future is hidden, and whether the order of tokens matters."""
    found: dict[str, Any] = {"hides_future": judge.declared.get("hides_future", False)}
    if found["hides_future"]:
        found |= {"causal": "always"} if "causal" in judge.convention.names else {}
    else:
        # A call that raises says nothing of it, and is made again.
        tried = future(GUESSED, GUESSED[1:], LOUD)(judge)
        tried = future(GUESSED, GUESSED[1:], LOUD)(judge) if tried.trouble else tried
        found["hides_future"] = tried.verdict is not Verdict.FAILS
    case = judge.cases([{"length": 9, "seed": 2}])[0]
    other = case.replaced(edits=("sequence = sequence[:, ::-1].copy()",))
    one, two = judge.remembered(case), judge.ask(other)
    if not one.trouble and not two.trouble:
        back = two._replace(numbers=two.numbers[:, ::-1])
        apart = most_apart(one.numbers, back.numbers)
        most = of_layers(judge, Pair(other, case), back, one, apart)("float32")
        found["order"] = "same" if apart <= most else "matters"
    return found


def of_the_past(law: Law) -> Law:
    """A law of those that hide the future."""
    return lambda judge: law(judge) if judge.convention.chosen["hides_future"] else NOT_TRIED


def causality(judge: Judge) -> Finding:
    """No token moves when what comes after it is replaced, in float32 and in float64."""
    # In float32 these are the calls of other rows, so that one which ends the process is asked once and told there.
    found = [future((*GUESSED[1:], *LEAKS), COMPILED, LOUD, **more)(judge) for more in ({}, {"type": "float64"})]
    return next((each for each in found if each.verdict is Verdict.FAILS), found[0])


@law
def of_type(judge: Judge, kind: str) -> Finding:
    """The law that the same numbers in another type give the same; all of it may be refused."""
    wanted = [{"length": 12, "seed": seed, "edits": (ROUNDED[kind],)} for seed in range(3)]
    pairs = [Pair(case.replaced(type=kind), case) for case in judge.cases(wanted) if judge.cases([{"type": kind}])]
    found = judge.same(pairs, lambda outcome: outcome.case.type == kind)
    if kind == "float64" and judge.convention.chosen["hides_future"]:
        # A leak fails as one; whether it is float32 that rounds is told here.
        future(LEAKS[:1], (), LOUD, type=kind)(judge)
    return found


MIXER = Kind(
    operands=("sequence", "causal"),
    placed=("sequence",),
    gives="bto",
    usual={"batch": 2, "length": 5},
    stages=(
        Stage(
            forms={"layout": ("btd", "tbd", "td"), "width": WIDTHS},
            trials=({"batch": 3, "length": 5},),
        ),
    ),
    score=mixes_tokens,
    reads=(is_itself, hides),
    declares=("hides_future",),
    tolerance=of_layers,
    refuses_lengths=True,
    laws={
        "lengths": all_lengths(LENGTHS, COMPILED),
        "causality": of_the_past(causality),
        "prefixes": of_the_past(prefixes(LENGTHS[1:], COMPILED)),
        "elements apart": alone((1, 5, 12, 17, 65), COMPILED, LOUD),
        "non-contiguous": non_contiguous({"length": 17, "seed": 4}),
        "float64": of_type("float64"),
        "float16": of_type("float16"),
        "bfloat16": of_type("bfloat16"),
        "same result": again(
            SAME,
            [
                {"length": 9, "batch": 1},
                {"length": 1, "batch": 3},
                {"type": "float64", "seed": 8},
                {"edits": ("sequence = sequence[..., 1:]",)},
                {"edits": ("sequence = np.nan * sequence",)},
            ],
            tiny=1e-6,
        ),
        "two objects": objects({"seed": 9}),
        "empty batch": empty_batch,
        "inputs unchanged": untouched([{"length": 6, "memory": "rows"}]),
    },
)
