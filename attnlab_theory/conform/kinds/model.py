"""Models: token ids [b t] to logits [b t vocabulary], with or without a cache.

Ids cannot be changed a little, so how near two logits must be is a calibration, and says so. They are apart by at
most 1e-4 (s + |logit|) in float32, where s is the standard deviation of the logits, and 1 at most. With s = 1 it
gave no false alarm on 41 decoders of transformers 5.23 (token by token, in chunks, padded at either end, eager
against fused), whose weights were random. In a narrower type it grows with u. In float64 it stays, for models
compute softmax and angles in float32 whatever their weights are.

Small random weights make a model that hardly looks back, in which nothing can be seen. So it is measured by how
many tolerances the last logits move when the token before is another. Below ten nothing that holds is said to hold.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.calling import Answer, Convention, Steps, Uncallable
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.decoding import case_of, laws, looks_back, others, parts_of, settle
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.harness import RESETS
from attnlab_theory.conform.identities import again, all_lengths, alone, future, prefixes, untouched
from attnlab_theory.conform.judge import Judge, Pair
from attnlab_theory.conform.kind import Kind, Law, Stage, law
from attnlab_theory.conform.kinds.mixer import SAME, is_itself
from attnlab_theory.conform.operands import OPERANDS, Bound
from attnlab_theory.conform.padding import REAL, TOKENS, masked, padded_at, padded_cache, takes_padding
from attnlab_theory.conform.rounding import HALF_EPS
from attnlab_theory.conform.sensitivity import gaps

LENGTHS, COMPILED = (1, 2, 12, 15, 16, 17, 33, 63, 64, 65), (1, 5, 17, 33)
"""Tokens of a call."""

LOGITS = ("logits", "last_hidden_state", "output", "outputs")
"""Where the logits are, in an object that is returned."""

CALIBRATED = 1e-4
"""Two float32 logits are apart by at most so much of their spread and size."""

LEAST = 10
"""By so many tolerances the last logits must move when the token before is another."""

BLIND = ("lengths", "same result", "inputs unchanged")
"""Identities that need no model that looks back."""


def bound(about: Mapping[str, Any]) -> Convention:
    """How a model is called, by the names of its parameters."""
    parameters = about["parameters"] or ()
    known = Bound(parameters, ("cache", "returns", "first place", "step mask", "places"))
    names = {role: name for role, name in known.names.items() if role != "step mask" or name == "attention_mask"}
    places = [name for name, kind, _ in parameters if "POSITIONAL_" in kind and "VAR" not in kind]
    named = [name for name, *_ in parameters if name.lower() in OPERANDS["ids"].spellings]
    ids = next(iter(named or places), "ids")
    if must := [name for name in known.unknown if name != ids]:
        raise Uncallable("unknown", parameter=must[0])
    resets = () if {"cache", "first place"} & {*names} else RESETS
    begins = next((each for each in resets if each in about.get("methods", {})), "")
    return Convention(
        framework="",
        names={"ids": ids, **{role: name for role, name in names.items() if name != ids}},
        placed=("ids",) if ids == next(iter(places), ids) else (),
        chosen={"begins": begins, "first place": "one", "has cache": False, "chunked": True},
        steps=Steps(begins=begins),
        outputs=LOGITS,
    )


def vocabulary(judge: Judge) -> dict[str, Any]:
    """The largest id that is taken: the width of the logits, unless that is padded."""
    if "vocabulary" in judge.declared:
        return {"vocabulary": judge.declared["vocabulary"]}
    case = judge.cases([{"batch": 1, "length": 3}])[0]
    low, high = 1, judge.remembered(case).numbers.shape[-1] - 1

    def is_taken(id: int) -> bool:
        return judge.ask(case.replaced(edits=(f"ids[:] = {id}",))).trouble is None

    while low < high and not is_taken(high):
        low, high = (middle, high - 1) if is_taken(middle := (low + high) // 2) else (low, middle - 1)
    settle(judge, vocabulary=max(high, low) + 1)
    if judge.other is not None and judge.other.convention.chosen["vocabulary"] != max(high, low) + 1:
        one, other = (each.convention.chosen["vocabulary"] for each in (judge, judge.other))
        raise Uncallable("vocabularies", one=one, other=other)
    return {}


def cache(judge: Judge) -> dict[str, Any]:
    """Where a cache comes back, as an attribute or in a tuple, or whether it lives in the model."""
    case, names = case_of(judge, 4, 0), judge.convention.names
    if "cache" not in names:
        # If a later token does not look back, where it stands is told for the sake of its position alone.
        if not (judge.convention.chosen["begins"] or "first place" in names) or not looks_back(judge):
            return {}
        thread = judge.thread(case)
        return {"has cache": True, "chunked": not (thread.feed(2).trouble or thread.feed(2).trouble)}
    came: tuple[int | str, ...] = ()
    for keep in ((names["cache"],), ("past_key_values",), (1,), ("cache",), ("state",)):
        settle(judge, **{"comes back": keep})
        thread = judge.thread(case)
        if thread.feed(2).trouble:
            continue
        came = came or keep
        if not thread.feed(1).trouble:
            thread = judge.thread(case)
            is_chunked = not (thread.feed(2).trouble or thread.feed(2).trouble)
            return {"has cache": True, "chunked": is_chunked}
    # A cache that came back, and with which no step can be taken, fails where steps are judged.
    return {"comes back": came, "has cache": bool(came)}


def power(judge: Judge) -> dict[str, Any]:
    """How wide logits are spread, and by how many tolerances the last ones move with the token before."""
    case = case_of(judge, 4, 5)
    one, two = judge.remembered(case), judge.ask(case.replaced(edits=others(case, ":, -2:-1")))
    if one.trouble or two.trouble:
        raise Uncallable("", [each.trouble for each in (one, two) if each.trouble])
    settle(judge, spread=float(np.nan_to_num(one.numbers).std()))
    most = of_logits(judge, Pair(case, case), one, one, 0.0)(judge.gives)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = gaps(one.numbers, two.numbers)[:, -1] / most[:, -1]
    is_loose = bool((most >= np.ptp(one.numbers)).all())
    return {"looks back": float(np.nan_to_num(moved).max()), "loose": is_loose}


def of_logits(judge: Judge, pair: Pair, answer: Answer, right: Answer, error: float) -> Callable[[str], np.ndarray]:
    """How far two logits may be apart, entry by entry."""
    del answer, error
    spread = min(judge.convention.chosen.get("spread", 1.0), 1.0)
    numbers = right.numbers[tuple(pair.where.get(axis, slice(None)) for axis in judge.kind.axes)]

    def within(kind: str) -> np.ndarray:
        wider = max(HALF_EPS.get(kind, HALF_EPS["float32"]), HALF_EPS["float32"])
        return CALIBRATED * (wider / HALF_EPS["float32"]) * (spread + np.abs(np.nan_to_num(numbers)))

    return within


@law
def seen(judge: Judge, name: str, inner: Law) -> Finding:
    """A law of models that look back, whose tolerances are less than the range of their logits."""
    if judge.convention.chosen["loose"] and name not in BLIND[1:]:
        return Finding(verdict=Verdict.NOT_JUDGED, tried=0)
    found = inner(judge)
    if found.verdict is Verdict.HOLDS and judge.convention.chosen["looks back"] < LEAST and name not in BLIND:
        about = {"power": judge.convention.chosen["looks back"]}
        return dataclasses.replace(found, verdict=Verdict.NOT_JUDGED, fact="hardly", about=about)
    return found


def changes(judge: Judge) -> list[dict[str, str]]:
    """What becomes of ids: others, which are drawn twice."""
    new = OPERANDS["ids"].drawn[""].format(n="{x}.shape", v=judge.convention.chosen["vocabulary"])
    return [{"ids": new}, {"ids": f"({new}, {new})[1]"}]


def against(judge: Judge) -> Finding:
    """Logits of another model are as near as those of one model may be; at padding they may be anything."""
    if judge.other is None:
        return NOT_TRIED
    tried, worst = 0, 0.0
    for asked, case, one, other in both_answers(judge, judge.other):
        tried += 1
        if one.trouble and other.trouble:
            continue
        if one.trouble or other.trouble:
            fail = {"verdict": Verdict.FAILS, "trouble": one.trouble or other.trouble, "tried": tried}
            about = {"asked": asked, "where": "here" if one.trouble else "there"}
            return Finding(**fail, fact="one alone", about=about)
        outcome = judge.beside(Pair(case, case, of_other=True), other, one)
        if outcome.fails:
            return judge.failed(outcome, tried=tried, fact="against", about={"asked": asked})
        worst = max(worst, outcome.ratio)
    return Finding(verdict=Verdict.HOLDS, tried=tried, ratio=worst)


def both_answers(judge: Judge, other: Judge) -> Iterator[tuple[str, Case, Answer, Answer]]:
    """The answers of two models: of whole sequences, padded ones, and token by token."""
    for n in COMPILED if judge.compiles else LENGTHS:
        case = case_of(judge, n, n)
        yield f"{n} tokens", case, judge.remembered(case), other.ask(case)
    if takes_padding(judge) and takes_padding(other):
        case = case_of(judge, TOKENS, 25)
        for side, real in {"right": slice(0, REAL), "left": slice(TOKENS - REAL, TOKENS)}.items():
            mask = np.ones((2, TOKENS), np.int64)
            mask[0] = 0
            mask[0, real] = 1
            answers = [each.thread(case).feed(None, masked(each, mask)) for each in (judge, other)]
            one, two = (
                x if x.trouble else x._replace(numbers=np.where(mask[..., None] == 1, x.numbers, 0.0))
                for x in answers
            )
            yield f"{TOKENS} tokens, padded at the {side}", case, one, two
    if judge.convention.keeps and other.convention.keeps:
        case = case_of(judge, 12, 26).replaced(parts=parts_of(12, range(1, 12)))
        yield "12 tokens, one after the other", case, judge.ask(case), other.ask(case)


LAWS: Mapping[str, Law] = {
    "lengths": all_lengths(LENGTHS, COMPILED),
    "causality": lambda judge: future((12, 17, 33, 65), COMPILED[1:3], changes(judge))(judge),
    "prefixes": prefixes(LENGTHS[1:], COMPILED),
    "elements apart": lambda judge: alone((1, 5, 17), COMPILED, changes(judge)[:1])(judge),
    **laws((66, 18, 300), lambda case: ("ids = ids + 10**6",), "decoded apart"),
    "padding right": padded_at("right"),
    "padding left": padded_at("left"),
    "padding in a cache": padded_cache,
    "same result": lambda judge: again(
        SAME,
        [
            {"length": 9, "batch": 1},
            *[{"length": 6, "parts": (1,) * 6}] * judge.convention.chosen["has cache"],
            {"edits": ("ids = ids + 10**6",)},
        ],
        tiny=1e-5,
    )(judge),
    "against": against,
    "inputs unchanged": untouched([]),
}

MODEL = Kind(
    operands=("ids", "vocabulary", "cache", "returns", "first place", "step mask", "places"),
    gives="bto",
    binds=bound,
    usual={"batch": 2, "length": 5, "vocabulary": 2},
    stages=(Stage(forms={"layout": ("btd", "td")}, trials=({"length": 5},)),),
    reads=(vocabulary, cache, power, is_itself),
    declares=("vocabulary",),
    tolerance=of_logits,
    refuses_lengths=True,
    laws={name: seen(name, each) for name, each in LAWS.items()},
)
