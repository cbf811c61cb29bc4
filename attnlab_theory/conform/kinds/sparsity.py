"""Softmax attention under a block mask.

The mask is an array that says which blocks of keys a block of queries sees. Or it is a function of batch, head,
query and key that says it of each pair.

A function is made of the same array where the target is, as FlexAttention's mask_mod. Blocks of one token make it
any function. What is right, and how far off it may be, is as for other masks.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.calling import Uncallable
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.identities import Covering, RightAt, explained, more_keys
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import Chosen, Kind, Right, Stage
from attnlab_theory.conform.kinds.softmax.problems import problem
from attnlab_theory.conform.kinds.softmax.reference import attend
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from attnlab_theory.conform.operands import OPERANDS

BESIDE = ("window", "softcap", "sinks")
"""What a target may take besides, where softmax attention has found what it means."""


def right(case: Case, chosen: Chosen, made: Mapping[str, Any]) -> Right:
    """Softmax attention to what the blocks, a mask, a window and the place leave, [b h t e]."""
    if "blocks" in made:
        blocks = made["blocks"].repeat(case["block_size"], 2).repeat(case["block_size"], 3)
        made = {**made, "pair_mask": blocks & made.get("pair_mask", True)}
    given = problem(case, chosen, made)
    exact, sees = attend(given), given.visible[..., : case["keys"]].any(-1, keepdims=True)

    def within(kind: str, accumulate: str) -> np.ndarray:
        bound = tolerance(given, exact, kind, accumulate, cast=True)
        return np.where(bound.loose, np.nan, bound.output)

    # A sink alone is seen where no key is: what comes of that is a choice.
    return Right(np.where(sees, exact.output, np.nan), within)


def promised(case: Case, chosen: Chosen) -> bool:
    """Blocks are whole, more keys than queries are taken, and no query stands before the first key."""
    t, s, size = case["queries"], case["keys"], case["block_size"]
    if case["blocks"] and (t, s) != (case["query_blocks"] * size, case["key_blocks"] * size):
        return False
    if any(case[role] is not None and role not in chosen["beside"] for role in BESIDE):
        return False
    return t == s or not (chosen.get("more keys") or case["window"] or (case["causal"] and t > s))


def tiled(*sizes: tuple[int, int, int], **more: Any) -> list[dict[str, Any]]:
    """Cases by blocks of queries, blocks of keys and their size."""
    return [
        {"query_blocks": i, "key_blocks": j, "block_size": n, "queries": i * n, "keys": j * n, "blocks": "random"}
        | {"seed": seed, **more}
        for seed, (i, j, n) in enumerate(sizes)
    ]


SIZES = ((3, 3, 2), (7, 7, 1), (2, 4, 3), (4, 3, 2), (9, 9, 2), (5, 5, 16), (2, 2, 64), (1, 9, 16), (130, 130, 1))

COLUMNS = {
    "sizes": [*tiled((3, 3, 2)), *tiled(*SIZES[1:]), *tiled((2, 2, 3), width=80), *tiled((3, 3, 2), heads=9)],
    "batch": [{}, {"batch": 6}, {"batch": 1}],
    "types": [{}, {"type": "float64"}, {"type": "float16"}, {"type": "bfloat16"}],
    "masks": [{}, {"pair mask": "any"}],
    "scale": [{}, {"scale": 0.3}],
    "values": [{}, {"values": "large"}, {"values": "offset"}],
    "window": [{}, {"window": 3}],
    "sinks": [{}, {"sinks": "normal"}],
    "softcap": [{}, {"softcap": 2.0}],
}
"""What is set beside each other. A flag that hides the future is tried both ways with each of them."""

BLOCK_MASKS = Kind(
    operands=("q", "k", "v", "blocks", "causal", "pair mask", "scale", "block_size", *BESIDE),
    placed=("q", "k", "v"),
    gives="bhte",
    usual={"batch": 2, "heads": 4, "width": 4, "value_width": 3} | tiled((3, 3, 2))[0] | {"blocks": None},
    few=6,
    promised=promised,
    stages=(
        Stage(
            forms={"same width": (False, True), "layout": ("bhtd", "bthd", "btd", "td")},
            choices={"scale": ("rsqrt", "one", "inverse"), "causal": ("never", "always")}
            | {"alignment": ("end",), "interleaved": (False,), "beside": ((),), "window": ("",)}
            | dict.fromkeys(("fixed_window", "fixed_softcap"), (None,)),
            trials=({"heads": 3, "length": 5, "seed": 4},),
            identity="weights",
        ),
        Stage(needs="blocks", trials=(tiled((3, 3, 2), heads=3)[0],), identity="block masks"),
        Stage(
            needs="pair mask",
            forms={"pair mask axes": ("bhts", "b1ts", "11ts")},
            trials=({"pair mask": "any", "heads": 3, "seed": 3},),
            identity="masks",
        ),
    ),
    right=right,
    reads=(more_keys,),
    columns=COLUMNS,
    compiled={"sizes": COLUMNS["sizes"][:2]},
    laws={
        "weights": explained,
        "block masks": RightAt(tiled(*SIZES)),
        "pairs": Covering(),
    },
)


def block_masks(judge: Judge) -> Finding:
    """The law of softmax attention that what a block mask hides is hidden, where a target takes one."""
    parameters = judge.caller.about()["parameters"] or ()
    if not {each[0].lower().strip("_") for each in parameters} & {*OPERANDS["blocks"].spellings}:
        return NOT_TRIED
    try:
        own = Judge(BLOCK_MASKS, judge.caller, {"framework": judge.convention.framework})
    except Uncallable as error:
        return Finding(verdict=Verdict.NOT_JUDGED, fact="not beside", trouble=next(iter(error.troubles), None))
    if not own.explained:
        return Finding(verdict=Verdict.NOT_JUDGED, fact="not beside")
    known = judge.convention
    taken = ("window", "window pair", "causal_window")
    own.rebind(
        names={role: x for role, x in own.convention.names.items() if role not in BESIDE or role in known.names},
        chosen={name: known.chosen[name] for name in taken if name in known.chosen}
        | {"beside": tuple(role for role in BESIDE if role in known.names)},
    )
    found = [own.find(identity) for identity in BLOCK_MASKS.laws]
    judge.calls += own.calls
    wrong = [each for each in found if each.verdict is Verdict.FAILS]
    least = wrong[0] if wrong else max(found, key=lambda each: each.ratio)
    # Its case is one of another declaration.
    return dataclasses.replace(least, case=None, tried=sum(each.tried for each in found))
