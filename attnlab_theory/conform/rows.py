"""Rows of one cache that have filled different numbers of positions, by a mask or by lengths.

A mask says so, and the shorter row is padded
before its tokens. Or lengths say so: it is padded after its first tokens, and the next token takes the place of the
padding. Each row must give what it gives alone. What a mask or a length means exactly is a convention, so several
are tried.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.calling import Answer
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.decoding import case_of, fed, near, others, parts_of
from attnlab_theory.conform.finding import Finding, Verdict
from attnlab_theory.conform.judge import Judge, answered
from attnlab_theory.conform.operands import ADDED, MEANINGS, OPERANDS

KEYS = ("key_padding_mask", "padding_mask", "pad_mask", "key_mask", "kv_mask")
"""What a mask of keys is called."""

FILLED = ("cache_lengths", "cache_lens", "cache_seqlens", "cache_seq_lens")
"""What the numbers of filled positions are called, where they say that they are those of the cache."""

TOKENS, BEGUN, PADDED = 9, 6, 3
"""Tokens of each row; those of the first call; those of them that are padding in the first row."""


class Way(NamedTuple):
    """How a target may be told which positions are filled."""

    words: str
    named: Callable[[int, int, int], Mapping[str, np.ndarray]]
    """What is handed over with the tokens from one to another, where some are padding in the first row."""
    real: Sequence[int]
    """The tokens of the first row that are no padding."""
    is_sure: bool = True
    """Whether the name says enough to fail a target that does something else."""


def ways(judge: Judge) -> Iterator[Way]:
    """What a target may mean by the parameters that it has."""
    about, found = judge.caller.about(), judge.convention
    parameters = about["methods"][found.chosen["method"]] if found.chosen["method"] else about["parameters"]
    meanings = [judge.declared["mask"]] if "mask" in judge.declared else ["bool-keep", "bool-drop", "additive"]
    heads = {"b 1 t s": True, "b 1 1 s": False} if "h" in found.layout else {}
    within = [*range(BEGUN - PADDED), *range(BEGUN, TOKENS)]
    for name in [name for name, *_ in parameters or ()]:
        if name.lower() in (*OPERANDS["step mask"].spellings, *KEYS) and meanings != ["none"]:
            for shape, is_causal in (heads | {"b t s": True, "b s": False, "b t": False}).items():
                for meaning in meanings if is_causal or not found.chosen.get("step mask") else ():
                    words = f"{name} [{shape}], {meaning}"
                    yield Way(words, mask(name, shape, meaning), range(PADDED, TOKENS))
        if name.lower() in (*FILLED, *OPERANDS["key lengths"].spellings):
            for counts in ("with the new tokens", "before the new tokens", "of the new tokens"):
                yield Way(f"{name} {counts}", lengths(name, counts), within, name.lower() in FILLED)


def mask(name: str, shape: str, meaning: str) -> Callable[[int, int, int], Mapping[str, np.ndarray]]:
    """A mask of the keys that are no padding."""

    def named(first: int, last: int, padded: int) -> Mapping[str, np.ndarray]:
        keep = np.ones((2, last), bool)
        keep[0, :padded] = False
        grid = keep[:, None] & np.tri(last - first, last, first, dtype=bool)
        made = {"b t s": grid, "b s": keep, "b t": keep[:, first:], "b 1 t s": grid[:, None]}
        code = {**MEANINGS, **ADDED}[meaning].format(x="x", kind="float32")
        return {name: eval(code, {"np": np, "x": made.get(shape, keep[:, None, None])})}

    return named


def lengths(name: str, counts: str) -> Callable[[int, int, int], Mapping[str, np.ndarray]]:
    """How many positions each row has filled."""

    def named(first: int, last: int, padded: int) -> Mapping[str, np.ndarray]:
        # Of the first call the padding comes last; of the steps after it nothing is padding.
        old = first - padded if first >= BEGUN else min(first, BEGUN - padded)
        filled = last - padded if last > BEGUN else min(last, BEGUN - padded)
        both = {"with": (filled, last), "before": (old, first), "of": (filled - old, last - first)}
        return {name: np.array(both[counts.split()[0]])}

    return named


def unequal(judge: Judge, seed: int = 15, kind: str = "float32") -> Finding:
    """A row that is shorter than another one in the same cache gives what it gives alone."""
    found = [*ways(judge)]
    if not found or judge.convention.chosen["flat"] or "b" not in judge.convention.layout:
        return Finding(verdict=Verdict.NOT_JUDGED, fact="no lengths", tried=0)
    if any(judge.convention.chosen.get(role) for role in ("first place", "places")):
        return Finding(verdict=Verdict.NOT_JUDGED, fact="stand elsewhere", tried=0)
    case = case_of(judge, TOKENS, seed, type=kind)
    chunked = judge.convention.chosen["chunked"]
    parts = parts_of(TOKENS, range(BEGUN if chunked else 1, TOKENS))
    plain = answered(fed(judge.thread(case), parts))
    trouble, wrong = None, None
    for way in found:
        same = fed(judge.thread(case), parts, lambda first, last, way=way: way.named(first, last, 0))
        if same.trouble or near(judge, case, same, plain).fails:
            trouble = trouble or same.trouble
            continue
        row = one_row(judge, case, way, parts)
        if row.verdict is Verdict.HOLDS and chunked:
            # Who refuses several tokens beside a cache with padding says so elsewhere, or is not asked for them.
            several = one_row(judge, case, way, (BEGUN, 2, TOKENS - BEGUN - 2))
            row = several if several.verdict is Verdict.FAILS else row
        if row.verdict is Verdict.HOLDS:
            return row
        if row.verdict is Verdict.FAILS and not way.is_sure:
            row = dataclasses.replace(row, verdict=Verdict.CONVENTION, fact="keeps its place", number=None)
        if wrong is None or wrong.verdict is Verdict.FAILS:
            wrong = row
    fact = "not tried" if trouble else "no lengths"
    return wrong or Finding(verdict=Verdict.NOT_JUDGED, trouble=trouble, fact=fact, tried=0)


def one_row(judge: Judge, case: Case, way: Way, parts: Sequence[int]) -> Finding:
    """Both rows beside what each gives alone, with two kinds of padding."""
    padding = [t for t in range(TOKENS) if t not in way.real]
    about, outputs = {"way": way.words, "padded": PADDED}, list[Answer]()
    for times in (1, 4):
        noisy = case.replaced(edits=others(case, f"0, {padding}", f"{times} * {{new}}"))
        answer = fed(judge.thread(noisy), parts, lambda first, last: way.named(first, last, PADDED))
        if answer.trouble:
            return Finding(verdict=Verdict.CONVENTION, trouble=answer.trouble, fact="unequal refused", about=about)
        outputs.append(answer)

    def at(answer: Answer, row: int, real: Sequence[int]) -> Answer:
        return answer._replace(numbers=answer.numbers[row : row + 1][..., real, :])

    moved = near(judge, case, at(outputs[1], 0, way.real), at(outputs[0], 0, way.real))
    if moved.fails:
        return judge.failed(moved, fact="padding moves", about=about)
    for row, real in ((1, [*range(TOKENS)]), (0, [*way.real])):
        begun = len(real) - TOKENS + BEGUN if judge.convention.chosen["chunked"] else 1
        cuts = parts_of(len(real), range(begun, len(real)))
        code = [x.split(" = ")[0].partition("[") for x in others(case, f"{row} : {row} + 1, {real}")]
        alone = case.replaced(
            rows=1, parts=cuts, edits=tuple(f"{name} = {name}[{index}" for name, _, index in code)
        )
        right = judge.ask(alone)
        if right.trouble:
            return Finding(verdict=Verdict.FAILS, trouble=right.trouble)
        outcome = near(judge, alone, at(outputs[0], row, real), right)
        if outcome.fails and row == 0 and real[0]:
            return Finding(verdict=Verdict.CONVENTION, fact="positions count", about=about)
        if outcome.fails:
            return judge.failed(outcome, fact="row alone", about=about)
    return Finding(verdict=Verdict.HOLDS, fact="way", about=about)
