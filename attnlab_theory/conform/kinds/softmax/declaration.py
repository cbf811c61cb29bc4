"""Softmax attention as a declaration, and the kinds that promise something more of it.

A query sees what its place, a window and the masks leave. The scores of that are softmaxed, and weigh the values.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from attnlab_theory.conform.case import Case
from attnlab_theory.conform.identities import (
    Covering,
    RightAt,
    again,
    apart,
    empty_batch,
    is_polite,
    sized,
    untouched,
)
from attnlab_theory.conform.kind import Chosen, Kind, Law, Stage
from attnlab_theory.conform.kinds.softmax import comparison, conventions, laws, slopes, states
from attnlab_theory.conform.kinds.softmax.halves import share
from attnlab_theory.conform.kinds.softmax.problems import right
from attnlab_theory.conform.kinds.sparsity import block_masks

WIDE = 1000
"""A window that hides nothing in any case."""

CAP = 3.0
"""A cap that scores of normal queries and keys do feel."""


def by_place(case: Case, chosen: Chosen) -> bool:
    """Whether what a query sees depends on its place."""
    has_window = chosen["window"] and (case["window"] is not None or chosen["fixed_window"] is not None)
    return bool(case["causal"] or has_window)


def promised(case: Case, chosen: Chosen) -> bool:
    """Whether anything is promised at a case."""
    t, s, has_batch = case["queries"], case["keys"], "b" in chosen["layout"]
    # Queries before all keys see nothing: they are judged by themselves.
    apart = {"square": t != s, "end": t > s, "start": False}[chosen["alignment"]]
    shares = case["groups"] != case["heads"]
    masks = {"b1ts": chosen["by_element"] and has_batch, "bhts": chosen["by_head"]}
    return (
        not (by_place(case, chosen) and apart)
        and not (shares and (not chosen["shares"] or case["heads"] % case["groups"]))
        and not (case["pair mask"] and not masks.get(case["pair mask axes"], True))
        and not (case["bias axes"] and not (chosen["bias_by_element"] and has_batch))
        and not (case["mask"] and not has_batch)
        and not (case["ahead"] is not None and not chosen["uneven"])
        and not ({case["segments"], case["query ends"], case["slopes"]} & {"documents", "halves"} and t != s)
    )


def _sizes(batch: int, heads: int, groups: int, *numbers: int) -> dict[str, int]:
    (one,) = sized(numbers)  # pyright: ignore[reportArgumentType]
    return {"batch": batch, "heads": heads, "groups": groups, **one}


SIZES = tuple(
    _sizes(*each)
    for each in (
        (2, 4, 2, 6, 6, 4, 3),
        (6, 4, 2, 6, 6, 7, 8),  # as many batch elements as queries
        (4, 4, 2, 3, 7, 2, 5),  # as heads
        (7, 2, 1, 4, 7, 4, 4),  # as keys
        (1, 9, 3, 5, 5, 7, 2),
        (2, 16, 4, 3, 5, 4, 4),
        (1, 8, 2, 6, 6, 4, 3),
        (1, 32, 8, 5, 5, 2, 2),
        (2, 4, 2, 5, 5, 1, 6),
        (1, 4, 2, 6, 9, 80, 48),
        (1, 2, 1, 9, 9, 128, 160),
        (1, 2, 1, 5, 5, 256, 64),
        (2, 4, 2, 1, 130, 8, 8),
        (1, 2, 1, 129, 129, 8, 5),
        (1, 2, 1, 257, 257, 4, 4),
        (1, 6, 3, 17, 33, 16, 8),
    )
)
"""Sizes that coincide, and sizes that are large."""

COMPILED = tuple(SIZES[i] for i in (0, 1, 6, 9, 12, 13))
"""Those that a target is given that compiles a program for each."""

BY_HEAD, BY_ELEMENT = {"pair mask axes": "bhts"}, {"pair mask axes": "b1ts"}
EACH_BIAS = {"bias": "normal", "bias axes": "bhts"}

HIDING = ({"pair mask": "padded end"}, {"mask": "third"})
"""What hides the last third of the keys."""

TRIPLES = ("causal", "groups", "window", "mask", "padding", "segments", "softcap", "bias", "sinks")


def columns(causal: bool, grouped: bool, wants: str) -> dict[str, Sequence[Any]]:
    """The features of a kind, with their values."""
    window = [{"window": 3}, {"window": 1}, {"window": WIDE}, {"window": 3, "ahead": 0}]
    start = {"pair mask": "padded start"}
    mask = ({"pair mask": "random", **BY_HEAD}, {"pair mask": "random"})
    return {
        "sizes": SIZES,
        "mask": [{}, mask, ({**start, "pair mask": "element start", **BY_ELEMENT}, start), {"pair mask": "ends"}],
        "types": [{}, {"type": "float64"}, {"type": "float16"}, {"type": "bfloat16"}],
        "memory": [{}, {"memory": "rows"}, {"memory": "transposed"}, {"memory": "expanded"}],
        "causal": [{}, {"causal": not causal}],
        "groups": [{}] if grouped else [{}, {"shared": True}],
        "window": window if wants == "window" else [{}, {"window": 3}],
        "padding": [{}, {"mask": "start"}, {"mask": "end"}],
        "lengths": [{}, {"key lengths": "some"}],
        "softcap": [{"softcap": CAP}, {"softcap": 0.5}] if wants == "softcap" else [{}, {"softcap": 2.0}],
        "bias": [*([] if wants == "bias" else [{}]), {"bias": "normal"}, EACH_BIAS],
        "segments": [{}, conventions.PACKED],
        "sinks": [{}, {"sinks": "normal"}, {"sinks": "zeros"}],
        "slopes": [{}, {"slopes": "halves"}],
        "scale": [{}, {"scale": 0.3}],
        "values": [{}, {"values": "very large"}, {"values": "offset"}],
    }


def _each(sizes: Sequence[tuple[int, int]], *specs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Some cases at some queries and keys, each with a seed."""
    return [{"queries": t, "keys": s, "seed": seed, **spec} for spec in specs for seed, (t, s) in enumerate(sizes)]


def _feature(wants: str) -> list[dict[str, Any]]:
    """What a kind adds, at several strengths."""
    sizes = ((7, 7), (4, 9), (9, 9))
    if wants == "window":
        spans = [{"window": w} for w in (1, 2, 3, 6)] + [
            {"window": w, "ahead": x} for w, x in ((3, 0), (0, 2), (1, 4))
        ]
        # First, for a target that is compiled sees few: a window may be made of blocks.
        wide = [
            {"batch": 1, "window": w, "length": n} for w, n in ((17, 49), (16, 40), (33, 70), (65, 100), (64, 130))
        ]
        return [*wide[:1], *_each(sizes, *spans), *wide[1:]]
    if wants == "softcap":
        return _each(sizes, *({"softcap": cap} for cap in (0.5, CAP, 50.0)))
    return _each(sizes, {}, {"seed": 5})


EDGES = [{"length": n} for n in (17, 65, 130, 15, 16, 63, 64, 127, 129)]
"""Lengths beside the edges of blocks. Large scores show a maximum that is forgotten from block to block."""

PADDED = ((8, 8), (3, 9), (1, 17), (33, 33))
"""Also with more keys than queries, as in a cache."""

LONGER = [{"length": n} for n in (8, 17, 33)]

GROUPINGS = ((6, 2), (8, 2), (4, 1), (4, 2), (6, 3), (3, 3), (32, 8))
"""Heads of queries, and of keys: with four on two wrong formulas agree with the right one."""


VIEWS = [
    {"memory": memory, "values": values, "queries": 4, "keys": 6}
    for memory, values in (("rows", None), ("rows", "very large"), ("transposed", None), ("expanded", None))
]


def _in_type(kind: str) -> RightAt:
    sizes = [{"queries": t, "keys": s, "seed": t} for t, s in ((5, 5), (4, 9), (17, 17))]
    specs = [{"type": kind, **x} for x in (*sizes, {"values": "very large"}, {"values": "offset"})]
    return RightAt(specs, may_refuse_all=True)


def _laws(grouped: bool, wants: str, *, plain: bool) -> dict[str, Law]:
    groupings = [{"heads": h, "groups": g, "keys": 6, "seed": h + g, "shared": g < h} for h, g in GROUPINGS]
    garbage = [{"values": f"huge {x}", "length": 6, **hides} for hides in HIDING for x in ("keys", "values")]
    padded = [{"pair mask": f"element {end}", **BY_ELEMENT} for end in ("end", "start")]
    padded += [{"mask": "end"}, {"mask": "start"}, {"key lengths": "some"}]
    found: dict[str, Law] = {
        "visibility": laws.visibility(plain=plain),
        "causality": laws.causality,
        "hidden keys": laws.fills,
        "plain": laws.Scaled(RightAt({"seed": seed} for seed in range(6))),
        "feature": laws.Scaled(RightAt(_feature(wants))),
        "ties": RightAt(_each(((5, 5), (3, 7)), {"values": "ties"}, {"values": "zeros"})),
        "subnormal": RightAt(_each(((5, 5), (3, 7)), {"values": "subnormal"})),
        "large scores": RightAt(_each(((5, 5), (3, 7)), {"values": "very large"}, {"values": "negative"})),
        "dominant key": RightAt(_each(((5, 5), (3, 7)), {"values": "attracting"})),
        "offset values": RightAt(_each(((5, 5), (3, 7)), {"values": "offset"})),
        "one token": RightAt(sized((1, 1, 4, 3), (1, 6, 4, 3), (4, 4, 1, 1))),
        "odd widths": RightAt(sized((5, 5, 7, 5), (5, 5, 3, 3), (6, 6, 17, 9), (5, 5, 64, 40))),
        "more queries": RightAt(sized((7, 4, 4, 3), (5, 1, 4, 3))),
        "more keys": RightAt(sized((4, 7, 4, 3), (2, 19, 4, 3))),
        "block edges": RightAt(
            [{"batch": 1, **x} for x in EDGES] + [{"batch": 1, "values": "very large", **x} for x in EDGES]
        ),
        "scale": laws.Scaled(RightAt({"scale": x, "width": w} for x in (1.0, 0.05, 4.0) for w in (4, 7))),
        "masks": RightAt(_each(((6, 6), (4, 7)), *({"pair mask": x} for x in ("all", "random", "one")))),
        "padding": RightAt(_each(((6, 6), (4, 7)), {"pair mask": "padded end"}, {"pair mask": "padded start"})),
        "padding by element": RightAt(_each(PADDED, *({"batch": 3, **x} for x in padded))),
        "bias by element": RightAt(_each(((5, 5), (3, 9), (1, 17), (33, 33)), {"batch": 3, **EACH_BIAS})),
        "block masks": block_masks,
        "packed documents": RightAt({**each, **x} for each in conventions.PACKED for x in LONGER),
        "sinks": RightAt({"sinks": word, **x} for x in LONGER for word in ("normal", "zeros")),
        "slopes": RightAt({"slopes": "halves", **x} for x in LONGER),
        "masks by head": RightAt(
            _each(((6, 6), (4, 7)), *({"pair mask": x, **BY_HEAD} for x in ("random", "one")))
        ),
        "hidden numbers": RightAt(garbage),
        "non-contiguous": RightAt(VIEWS, may_refuse=is_polite),
        **{x: laws.Scaled(_in_type(x)) for x in ("float64", "float16", "bfloat16")},
        "pairs": Covering(),
        "triples": Covering((3, 2)),
        **({"groupings": RightAt(groupings, may_refuse=bool)} if grouped else {}),
        **({"large biases": laws.large_biases} if wants == "bias" else {}),
        "early queries": laws.early,
        "flag": states.flag,
        "second output": comparison.second_output,
        "outputs stay": states.outputs_stay,
        "repetitions": states.repetitions,
        "gradients": slopes.gradients,
        "gradient mode": comparison.gradient_mode,
        "no tokens": states.nothing_to_see,
        "after a refusal": states.after_refusal,
        "two objects": states.two_objects,
        "blind rows": laws.blind_rows,
        "hidden NaN": laws.hidden_nan,
        "same result": again({"seed": 11}, [{"length": 9, "seed": 5}, {"seed": 11, "type": "float64"}]),
        "elements apart": apart({"batch": 3, "heads": 4, "seed": 7}, "qkv"),
        "empty batch": empty_batch,
        "inputs unchanged": untouched(
            [{**x, **y} for x in ({}, {"pair mask": "random"}) for y in ({}, {"memory": "rows"})]
        ),
        "against": comparison.against,
        "differences": comparison.differences,
    }
    return found


def _stage(heads: bool, grouped: bool, wants: str) -> Stage:
    """The order of axes, and what a query sees by its place; what else there is is read afterwards."""
    return Stage(
        forms={
            "multiple": (1, conventions.MULTIPLES[-1]),
            "window pair": conventions.PAIRS if wants == "window" else ("",),
            "same width": (False, True),
            "pair mask": ("",),
            "pair mask shape": ("--ts",),
            "mask": ("",),
            "bias shape": ("-hts",),
            "layout": conventions.OF_HEADS if heads else conventions.OF_ANY,
        },
        choices={
            "interleaved": (False, True) if grouped else (False,),
            "causal": ("never",),
            "alignment": ("end",),
            "window": ("",),
            "shares": (grouped,),
            "scale": ("rsqrt",),
            **dict.fromkeys(("fixed_window", "fixed_softcap"), (None,)),
            "causal_window": ("",),
            **dict.fromkeys(("by_head", "by_element", "bias_by_element", "uneven"), (False,)),
        },
        trials=functools.partial(conventions.trials, wants, grouped),
    )


def _kind(*, causal: bool = False, heads: bool = False, grouped: bool = False, wants: str = "") -> Kind:
    usual = {"batch": 2, "heads": 4 if grouped else 2, "groups": 2, "length": 5, "width": 4, "value_width": 3}
    usual |= {"causal": causal} | ({"shared": True} if grouped else {})
    usual |= {"window": {"window": WIDE}, "softcap": {"softcap": CAP}, "bias": {"bias": "normal"}}.get(wants, {})
    return Kind(
        operands=(
            *("q", "k", "v", "groups", "pair mask", "causal", "scale", "softcap", "window", "bias", "shares"),
            *("mask", "ends", "query ends", "key ends", "longest", "longest keys"),
            *("key lengths", "segments", "sinks", "slopes", "dropout", "training", "inference"),
        ),
        placed=("q", "k", "v"),
        gives="bhte",
        usual=usual,
        few=3,
        near=0.01,
        promised=promised,
        is_quiet=True,
        stands={"bias": "pair mask"},
        aliases={"mask": "pair mask"},
        declares=("mask", "rests", "layout"),
        stages=(_stage(heads, grouped, wants),),
        right=right,
        reads=conventions.READS,
        rule=lambda case, right, output: share(right.about["problem"], right.about["exact"], output, case.type),
        columns=columns(causal, grouped, wants),
        compiled={"sizes": COMPILED},
        triples=TRIPLES,
        laws=_laws(grouped, wants, plain=not (causal or heads or wants)),
    )


SOFTMAX, CAUSAL, MULTI_HEAD = _kind(), _kind(causal=True), _kind(heads=True)
GROUPED_QUERY = _kind(heads=True, grouped=True)
SLIDING_WINDOW, SOFTCAP, BIAS = (_kind(wants=each) for each in ("window", "softcap", "bias"))
