"""What padding may not do to a model. Its attention mask is 1 where a token is real, and 0 where it is padding."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.calling import Answer
from attnlab_theory.conform.decoding import case_of, near
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.judge import Judge, Outcome, answered
from attnlab_theory.conform.kind import law
from attnlab_theory.conform.sensitivity import most_apart

TOKENS, REAL = 10, 7
"""Tokens of a padded row, and those of them that are real."""


def masked(judge: Judge, mask: np.ndarray, first: int = 0) -> dict[str, np.ndarray]:
    """The mask by its name, and the positions of tokens from `first` on: they count the real tokens."""
    names = judge.convention.names
    positions = np.maximum(mask.cumsum(1) - 1, 0)[:, first:]
    return {names["step mask"]: mask} | ({names["places"]: positions} if "places" in names else {})


def takes_padding(judge: Judge) -> bool:
    """Whether there is a mask for several rows."""
    return "step mask" in judge.convention.names and "b" in judge.convention.layout


@law
def padded_at(judge: Judge, side: str) -> Finding:
    """The law that a padded row beside a full one gives at its real tokens what it gives alone."""
    if not takes_padding(judge):
        return NOT_TRIED
    real = slice(0, REAL) if side == "right" else slice(TOKENS - REAL, TOKENS)
    mask = np.ones((2, TOKENS), np.int64)
    mask[0] = 0
    mask[0, real] = 1
    short, full = case_of(judge, REAL, 21, 1), case_of(judge, TOKENS, 22, 1)
    drawn = [f"np.random.RandomState({x.seed}).{x.lines()[1].partition('r.')[2]}[0]" for x in (short, full)]
    edits = (f"ids[0, {real.start}:{real.stop}] = {drawn[0]}", f"ids[1] = {drawn[1]}")
    outputs = list[Answer]()
    for seed in (23, 24, 25):
        case = case_of(judge, TOKENS, seed, edits=edits)
        outputs.append(judge.thread(case).feed(None, masked(judge, mask)))
        if outputs[-1].trouble:
            return Finding(verdict=Verdict.CONVENTION, trouble=outputs[-1].trouble, fact="refused", tried=3)
    about: dict[str, Any] = {"side": side, "why": ""}

    def compared(one: np.ndarray, other: np.ndarray) -> Outcome:
        return near(judge, case, outputs[0]._replace(numbers=one), outputs[0]._replace(numbers=other))

    first = outputs[0].numbers
    for other in outputs[1:]:
        outcome = compared(other.numbers[:1, real], first[:1, real])
        if outcome.fails:
            case = case_of(judge, TOKENS, 23, edits=edits)
            shown = {judge.convention.names["step mask"]: np.ones_like(mask)}
            bare = judge.thread(case).feed(None, masked(judge, mask) | shown)
            is_idle = not bare.trouble and most_apart(bare.numbers, first) == 0
            about["why"] = f"; {judge.convention.names['step mask']} changes nothing" * is_idle
            return judge.failed(outcome, fact="padding ids", about=about, tried=3)
    one, two = (answered(judge.remembered(case)) for case in (short, full))
    outcome = compared(first[1:], two.numbers)
    if outcome.fails:
        return judge.failed(outcome, fact="beside padding", tried=3)
    outcome = compared(first[:1, real], one.numbers)
    if outcome.fails and side == "left" and "places" not in judge.convention.names:
        return Finding(verdict=Verdict.CONVENTION, fact="positions count padding", tried=3)
    if outcome.fails:
        return judge.failed(outcome, fact="padded", about=about, tried=3)
    return Finding(verdict=Verdict.HOLDS, tried=3, ratio=outcome.ratio)


def padded_cache(judge: Judge) -> Finding:
    """A row that is padded at the left, decoded from a cache, gives what all of it gives at once."""
    if not takes_padding(judge) or not judge.convention.keeps:
        return NOT_TRIED
    case, mask = case_of(judge, TOKENS, 24), np.ones((2, TOKENS), np.int64)
    mask[0, : TOKENS - REAL] = 0
    whole = judge.thread(case).feed(None, masked(judge, mask))
    if whole.trouble:
        return NOT_TRIED

    def decoded(sizes: Sequence[int], *, is_masked: bool = True) -> Finding:
        """Several padded tokens at once, then few: with a mask over the past in later calls, or without one."""
        thread = judge.thread(case)
        for size in sizes:
            first, last = thread.begin, thread.begin + size
            named = masked(judge, mask[:, :last], first)
            if first and not is_masked:
                del named[judge.convention.names["step mask"]]
            answer = thread.feed(size, named)
            if answer.trouble:
                return Finding(verdict=Verdict.CONVENTION, trouble=answer.trouble, fact="refused", tried=5)
            outcome = near(judge, case, answer, whole._replace(numbers=whole.numbers[:, first:last]))
            if first and outcome.fails:
                return judge.failed(outcome, fact="padded steps", tried=5)
        return Finding(verdict=Verdict.HOLDS, tried=5)

    found = decoded((TOKENS - 4, 1, 1, 1, 1))
    if found.verdict is Verdict.HOLDS:
        # Two tokens at once are of a later turn. Who refuses them is not asked for them.
        several = decoded((TOKENS - 4, 2, 1, 1)) if judge.convention.chosen["chunked"] else found
        return several if several.verdict is Verdict.FAILS else found
    other = decoded((TOKENS - 4, 1, 1, 1, 1), is_masked=False)
    if other.verdict is Verdict.HOLDS:
        return dataclasses.replace(other, verdict=Verdict.CONVENTION, fact="no mask in steps")
    return found
