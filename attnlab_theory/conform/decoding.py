"""Identities of targets with a cache, layers and models: decoding gives what the whole gives.

Whether an old cache can be used again is a convention. So is it where a single cache lives in the target.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.calling import Answer, Thread
from attnlab_theory.conform.case import Case, word
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.judge import Judge, Outcome, Pair, Unanswered, answered
from attnlab_theory.conform.kind import Law, law
from attnlab_theory.conform.operands import OPERANDS

SHORT = 12
"""Tokens of most calls."""

EDGES = (1, 6, 7, 15, 16, 17, 33, 63, 64, 65, 127, 128)
"""Where chunks end in a long sequence."""

REORDERS = ("reorder_cache", "_reorder_cache")
"""Methods of a target that put the rows of a cache in another order."""

ROWS = {4: (3, 0, 3, 1), 3: (2, 0, 0)}
"""Rows of two batches in another order, some of them twice, as beam search has them."""

WHOLE = Finding(verdict=Verdict.NOT_JUDGED, tried=0, fact="no whole")
"""What is said of a target that takes one token at a time only."""


def settle(judge: Judge, **more: Any) -> None:
    """Take some conventions for the target's own, from here on."""
    judge.convention = dataclasses.replace(judge.convention, chosen={**judge.convention.chosen, **more})
    judge.forget()


def looks_back(judge: Judge) -> bool:
    """Whether a token that comes later looks back at an earlier call, though no cache is handed over."""
    one = case_of(judge, 5, 3)
    other = one.replaced(edits=others(one, ":, :4"))
    lasts = []
    for begun in (one, other, one):
        thread = judge.thread(begun)
        first = thread.feed(4)
        last = thread.on(one).feed(1)
        if first.trouble or last.trouble:
            return False
        lasts.append(last.numbers)
    return np.array_equal(lasts[0], lasts[2]) and not np.array_equal(lasts[0], lasts[1])


def is_stepwise(judge: Judge) -> bool:
    """Whether one token is taken at a time, and nothing else."""
    steps, chosen = judge.convention.steps, judge.convention.chosen
    has_whole = steps is not None and steps.whole is not None and not chosen.get("steps only")
    return bool(chosen.get("flat")) and not has_whole


def parts_of(n: int, cuts: Sequence[int]) -> tuple[int, ...]:
    """The lengths of the parts of a sequence that is cut."""
    ends = [*(cut for cut in cuts if cut < n), n]
    return tuple(b - a for a, b in zip([0, *ends], ends, strict=False))


def case_of(judge: Judge, length: int, seed: int, batch: int = 2, **more: Any) -> Case:
    """A case of some tokens."""
    return judge.cases([{"length": length, "seed": seed, "batch": batch, **more}])[0]


def others(case: Case, where: str, code: str = "{new}") -> tuple[str, ...]:
    """Lines that put other tokens in the place of some.

    Args:
        case: what is drawn.
        where: an index of the batch and of the tokens, `rows, tokens`.
        code: what becomes of them, of {x} and of {new}, which is drawn anew.
    """
    rows, _, tokens = where.partition(", ")
    found = []
    for role, axes in case.arrays:
        at = axes.replace("s", "t").index("t")
        part = f"{word(role)}[{rows}, {':, ' * (at - 1)}{tokens}]"
        new = OPERANDS[role].drawn[""].format(n=f"{part}.shape", **case.lengths)
        found.append(f"{part} = {code.format(x=part, new=new)}")
    return tuple(found)


def fed(
    thread: Thread, sizes: Sequence[int], named: Callable[[int, int], Mapping[str, Any]] | None = None
) -> Answer:
    """Some tokens after each other, as one answer. What is named stands beside the tokens from one to another."""
    answers = list[Answer]()
    for size in sizes:
        more = named(thread.begin, thread.begin + size) if named else None
        answers.append(thread.feed(size, more))
        if answers[-1].trouble:
            return answers[-1]
    return joined(answers)


def joined(answers: Sequence[Answer]) -> Answer:
    """Answers to tokens that follow each other, as one."""
    numbers = [each.numbers for each in answers]
    # The axis of tokens is the one before the last.
    return answers[-1]._replace(numbers=np.concatenate(numbers, -2))


def near(judge: Judge, case: Case, given: Answer, right: Answer, first: int = 0) -> Outcome:
    """An answer to the tokens of a case from one on, beside the whole."""
    right = right._replace(numbers=right.numbers[..., first:, :])
    return judge.beside(Pair(case, case), given, right)._replace(beside=None, is_shown=False)


def is_right(judge: Judge, case: Case) -> bool:
    """Whether a sequence is decoded rightly by itself, so that what is wrong elsewhere has another cause."""
    return not judge.alike(Pair(case.replaced(parts=(1,) * case["queries"]), case)).fails


@law
def in_steps(judge: Judge, seed: int, splits: Sequence[Sequence[int]], *, chunked: bool = True) -> Finding:
    """The law that a short sequence in several parts is the whole.

    Args:
        seed: of its tokens.
        splits: where it is cut, in each way.
        chunked: whether several tokens are fed to a cache at once.
    """
    if chunked and not judge.convention.chosen["chunked"]:
        return NOT_TRIED
    if is_stepwise(judge):
        return WHOLE
    whole = case_of(judge, SHORT, seed)
    return judge.same(Pair(whole.replaced(parts=parts_of(SHORT, cuts)), whole) for cuts in splits)


def chunks(judge: Judge) -> Finding:
    """In chunks; that a cache takes one token at a time is told."""
    if not judge.convention.chosen["chunked"]:
        return Finding(verdict=Verdict.CONVENTION, fact="one at a time")
    return in_steps(1, ((5,), (1,), (SHORT - 1,), (3, 4, 9)))(judge)


@law
def lasting(judge: Judge, most: int, few: int, far: int) -> Finding:
    """The law of a long sequence: what breaks after some tokens, at the edge of a block, or when a cache is full.

    Args:
        most: its tokens.
        few: those where each shape is compiled.
        far: tokens that are fed in few calls: more than most windows hold.
    """
    if is_stepwise(judge):
        return WHOLE
    tokens, chunked = few if judge.compiles else most, judge.convention.chosen["chunked"]
    trouble = judge.remembered(case_of(judge, tokens, 3, 1)).trouble
    is_limited = trouble is not None
    while trouble and tokens > SHORT:
        tokens = max(tokens // 2, SHORT)
        trouble = judge.remembered(case_of(judge, tokens, 3, 1)).trouble
    if trouble:
        raise Unanswered(trouble)
    whole, worst, tried = case_of(judge, tokens, 3, 1), 0.0, 0
    for cuts in (range(1, tokens), *[EDGES] * chunked):
        case = whole.replaced(parts=parts_of(tokens, cuts))
        answer, tried = judge.ask(case), tried + 1
        done = answer.numbers.shape[-2] if answer.numbers.size else 0
        if done:
            right = judge.remembered(whole)
            outcome = judge.beside(Pair(case, whole, {"t": slice(done)}), answer._replace(trouble=None), right)
            if outcome.fails:
                return judge.failed(outcome, tried=tried)
            worst = max(worst, outcome.ratio)
        if answer.trouble and done:
            about = {"tokens": done}
            return Finding(verdict=Verdict.CONVENTION, trouble=answer.trouble, fact="full", about=about)
        answered(answer, tried=tried)
    more = far if chunked and not judge.compiles and not is_limited else 0
    whole = case_of(judge, far, 17) if more else whole
    parts = parts_of(far, (far - 61, far - 60, far - 59, far - 9))
    # It may take fewer tokens, as a table of positions does.
    if (
        more
        and not judge.remembered(whole).trouble
        and not (last := judge.ask(whole.replaced(parts=parts))).trouble
    ):
        outcome = judge.beside(Pair(whole.replaced(parts=parts), whole), last, judge.remembered(whole))
        tried, worst = tried + 1, max(worst, outcome.ratio)
        if outcome.fails:
            return judge.failed(outcome, tried=tried)
    return Finding(verdict=Verdict.HOLDS, tried=tried, ratio=worst)


def full(judge: Judge) -> Finding:
    """A cache that was made for few tokens refuses more, or answers rightly."""
    steps = judge.convention.steps
    if steps is None or "capacity" not in steps.lengths:
        return NOT_TRIED
    size, tokens, refused = 6, 9, None
    whole = case_of(judge, tokens, 4, 1)
    right = answered(judge.remembered(whole))
    for cuts in (range(1, tokens), *[(4,)] * judge.convention.chosen["chunked"]):
        parts = parts_of(tokens, cuts)
        case = whole.replaced(parts=parts, capacity=size)
        answer = judge.ask(case)
        done = answer.numbers.shape[-2] if answer.numbers.size else 0
        if done:
            outcome = judge.beside(Pair(case, whole, {"t": slice(done)}), answer._replace(trouble=None), right)
            if outcome.fails:
                return judge.failed(outcome, fact="overfull", about={"size": size, "tokens": tokens}, tried=2)
        if done + (len(parts) == 2) * 4 < size:
            answered(answer, tried=2)
        refused = refused or answer.trouble
    return Finding(verdict=Verdict.HOLDS, trouble=refused, fact="refused" if refused else "grows", tried=2)


def is_one(judge: Judge) -> bool:
    """Whether two caches that are handed over are the same place, so that one cache lives in the target."""
    threads = [judge.thread(case_of(judge, SHORT, seed)) for seed in (5, 6)]
    places = [thread.places for thread in threads if not thread.feed(1).trouble]
    return len(places) == 2 and len(places[0]) > 0 and places[0] == places[1]


def separate(judge: Judge) -> Finding:
    """Two sequences with a cache each, fed in turn, do not mix."""
    if not judge.convention.keeps and not judge.convention.kept:
        return NOT_TRIED
    cases = [case_of(judge, 6, seed) for seed in (5, 6)]
    return in_turn(judge, cases, "mixed")


def objects(judge: Judge) -> Finding:
    """Two objects of a class, fed in turn, have caches of their own."""
    if not judge.caller.about()["class"]:
        return NOT_TRIED
    case = case_of(judge, 6, 10)
    return in_turn(judge, [case.replaced(object=number) for number in (0, 1)], "objects")


def in_turn(judge: Judge, cases: Sequence[Case], fact: str) -> Finding:
    """Whether sequences that are fed in turn are as the whole is."""
    threads = [judge.thread(case) for case in cases]
    answers = [[] for _ in cases]
    for _ in range(6):
        for thread, each in zip(threads, answers, strict=True):
            each.append(answered(thread.feed(1), tried=12))
    worst = 0.0
    for case, each in zip(cases, answers, strict=True):
        outcome = near(judge, case, joined(each), answered(judge.remembered(case), tried=12))
        worst = max(worst, outcome.ratio)
        if outcome.fails and fact == "mixed":
            if not is_right(judge, case):
                return NOT_TRIED
            if is_one(judge):
                return Finding(verdict=Verdict.CONVENTION, fact="one place", tried=12)
        if outcome.fails:
            return judge.failed(outcome, fact=fact, tried=12)
    return Finding(verdict=Verdict.HOLDS, ratio=worst, tried=12)


def branching(judge: Judge) -> Finding:
    """Whether an old cache can be used once more, for another continuation."""
    if not judge.convention.kept:
        return NOT_TRIED
    case = case_of(judge, 8, 7)
    other = case.replaced(edits=others(case, ":, 5:"))
    thread = judge.thread(case)
    if fed(thread, (1,) * 5).trouble:
        return NOT_TRIED
    old = thread.on(other)
    fed(thread, (1, 1))
    again, right = old.feed(1), judge.remembered(other)
    if right.trouble:
        return NOT_TRIED
    if again.trouble:
        return Finding(verdict=Verdict.CONVENTION, trouble=again.trouble, fact="refused")
    first = right._replace(numbers=right.numbers[..., :6, :])
    if near(judge, other, again, first, 5).fails:
        # Where a new cache is wrong, too, another identity tells.
        return Finding(verdict=Verdict.CONVENTION, fact="in place") if is_right(judge, other) else NOT_TRIED
    return Finding(verdict=Verdict.CONVENTION, fact="used again")


def reordered(judge: Judge) -> Finding:
    """Rows of a cache in another order go on as sequences of that order do."""
    methods = [each for each in REORDERS if each in judge.caller.about().get("methods", {})]
    if not judge.convention.kept and not methods:
        return NOT_TRIED
    # Arrays of a cache may have as many of something else in front as there are rows: hardly so twice.
    found = NOT_TRIED
    for batch, rows in ROWS.items():
        case = case_of(judge, 7, 15, batch)
        if case["batch"] == batch:
            found = _reordered(judge, case, rows, methods)
        if found.verdict is not Verdict.FAILS:
            break
    return found


def _reordered(judge: Judge, case: Case, rows: Sequence[int], methods: Sequence[str]) -> Finding:
    order = [f"{word(role)} = {word(role)}[{[*rows]}]" for role, _ in case.arrays]
    mixed = case.replaced(edits=(*order, *others(case, ":, 5:")))
    about = {"rows": [*rows], "batch": case["batch"]}
    thread = judge.thread(case)
    if (trouble := fed(thread, (1,) * 5).trouble) is not None:
        return Finding(verdict=Verdict.CONVENTION, trouble=trouble, fact="refused")
    thread.reorder(rows, methods)
    if thread.trouble:
        return Finding(verdict=Verdict.NOT_JUDGED, trouble=thread.trouble, fact="not tried", tried=0)
    last, right = (answered(x, tried=7) for x in (fed(thread.on(mixed), (1, 1)), judge.remembered(mixed)))
    outcome = near(judge, mixed, last, right, 5)
    if outcome.fails:
        if not is_right(judge, mixed):
            return NOT_TRIED
        if is_one(judge):
            return Finding(verdict=Verdict.CONVENTION, fact="one order", tried=7)
        return judge.failed(outcome, fact="reordered", about=about, tried=7)
    return Finding(verdict=Verdict.HOLDS, fact="rows", about=about, tried=7, ratio=outcome.ratio)


def elements(judge: Judge) -> Finding:
    """A batch element decodes alone as it does beside others."""
    several = case_of(judge, 6, 9, 3).replaced(parts=(1,) * 6)
    if several["batch"] != 3:
        return NOT_TRIED
    return judge.same([Pair(several, several.replaced(rows=1), {"b": slice(1)})])


def repeated(judge: Judge) -> Finding:
    """Decoding gives the same once more, and after other lengths."""
    case = case_of(judge, 6, 11).replaced(parts=(1,) * 6)
    tried = 0
    for other in (None, case_of(judge, 9, 12, 1), case_of(judge, 1, 13, 3)):
        if other is not None:
            judge.remembered(case)
            judge.ask(other.replaced(parts=(1,) * other["queries"]))
        outcome, tried = judge.alike(Pair(case, case)), tried + 6
        if outcome.fails:
            return judge.failed(outcome._replace(beside=None, is_shown=False), tried=tried, fact="goes otherwise")
    return Finding(verdict=Verdict.HOLDS, tried=tried)


@law
def interrupted(judge: Judge, bad: Callable[[Case], Sequence[str]]) -> Finding:
    """The law that a step that is refused, with tokens that some lines make bad, leaves the cache as it was."""
    case = case_of(judge, 6, 14)
    thread = judge.thread(case)
    answers = []
    for t in range(6):
        if t == 3 and not thread.on(case.replaced(edits=bad(case))).feed(1).trouble:
            return NOT_TRIED
        answers.append(thread.feed(1))
        if trouble := answers[-1].trouble:
            # It was changed in place, and says so.
            return Finding(verdict=Verdict.CONVENTION, trouble=trouble, fact="of no use", tried=6)
    right = judge.remembered(case)
    if right.trouble:
        return NOT_TRIED
    outcome = near(judge, case, joined(answers), right)
    if outcome.fails:
        return judge.failed(outcome, fact="changed", tried=6) if is_right(judge, case) else NOT_TRIED
    return Finding(verdict=Verdict.HOLDS, tried=6, ratio=outcome.ratio)


def of_caches(law: Law) -> Law:
    """A law of those that have a cache at all."""
    return lambda judge: law(judge) if judge.convention.chosen["has cache"] else NOT_TRIED


def laws(tokens: tuple[int, int, int], bad: Callable[[Case], Sequence[str]], apart: str) -> dict[str, Law]:
    """The laws of those that decode.

    Args:
        tokens: of long sequences, as in `lasting`.
        bad: lines that make tokens of a case such as are refused.
        apart: what the law is called that a batch element decodes alone as it does beside others.
    """
    found: dict[str, Law] = {
        "token by token": in_steps(0, (range(1, 12),), chunked=False),
        "chunks": chunks,
        "prefill, then steps": in_steps(2, (range(7, 12), range(2, 12))),
        "many tokens": lasting(*tokens),
        "two caches": separate,
        "old cache": branching,
        "reordered cache": reordered,
        apart: elements,
        "two objects": objects,
        "refused step": interrupted(bad),
    }
    return {name: of_caches(law) for name, law in found.items()}
