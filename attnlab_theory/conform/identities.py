"""Identities that kinds share: right at some cases, the same again, in parts and in chunks, apart, untouched."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Concatenate

import numpy as np

from attnlab_theory.conform.calling import residual
from attnlab_theory.conform.case import Case, word
from attnlab_theory.conform.covering import covering
from attnlab_theory.conform.finding import (
    ANOTHER_ANSWER,
    NOT_FINITE,
    NOT_TRIED,
    WROTE,
    Fault,
    Finding,
    Trouble,
    Verdict,
)
from attnlab_theory.conform.judge import Judge, Outcome, Pair
from attnlab_theory.conform.kind import Law, P, Spec, law
from attnlab_theory.conform.sensitivity import most_apart, peak

LENGTH_REFUSALS = ("ValueError", "NotImplementedError", "AssertionError")
"""Errors by which a length in the middle may be refused."""


def explained(judge: Judge) -> Finding:
    """The law that some convention explains a trial call."""
    case = judge.trial
    if judge.explained:
        return Finding(verdict=Verdict.HOLDS, fact="explained", ratio=0.0)
    numbers = judge.kind.numbers
    own = None if numbers is None else numbers(judge.ask(case).numbers, case, judge.convention.chosen)
    number = None if numbers is not None and own is None else judge.judge(case, own).number
    return Finding(verdict=Verdict.FAILS, number=number, case=case, fact="unexplained", failures=1)


class RightAt:
    """The law that every number is right at some cases.

    Args:
        specs: the cases in short, or what tells them of a judge.
        may_refuse: whether some of them may be refused, which is told; or which troubles may be.
        may_refuse_all: whether all of them may be, but not some.
    """

    def __init__(
        self,
        specs: Iterable[Spec] | Callable[[Judge], Iterable[Spec]],
        *,
        may_refuse: bool | Callable[[Trouble | None], bool] = False,
        may_refuse_all: bool = False,
    ) -> None:
        self.specs = specs if callable(specs) else [*specs]
        self.may_refuse = may_refuse if callable(may_refuse) else lambda _: may_refuse
        self.may_refuse_all = may_refuse_all

    def of(self, judge: Judge) -> Iterable[Spec]:
        """The cases in short."""
        return self.specs(judge) if callable(self.specs) else self.specs

    def __call__(self, judge: Judge) -> Finding:
        """Try it."""
        cases = judge.cases(self.of(judge))
        return judge.values(
            cases, may_refuse_all=self.may_refuse_all, may_refuse=lambda each: self.may_refuse(each.trouble)
        )


def _is_taken(judge: Judge, spec: Spec) -> bool:
    """Whether a case can be asked, and is not refused."""
    trouble = [judge.remembered(case).trouble for case in judge.cases([spec])[:1]]
    return bool(trouble) and not (trouble[0] and trouble[0].refuses)


def features(judge: Judge) -> dict[str, list[Mapping[str, Any]]]:
    """The features that a target can be asked, with their values; sizes are one of them.

    A type that is refused by itself is none: its own law tells that.
    """

    def first(value: Any) -> Mapping[str, Any] | None:
        some = value if isinstance(value, tuple) else (value,)
        return next((x for x in some if not x or (_is_taken(judge, x) if "type" in x else judge.cases([x]))), None)

    found = {
        name: [x for x in map(first, values) if x is not None]
        for name, values in {**judge.kind.columns, **(judge.kind.compiled if judge.compiles else {})}.items()
        if not (judge.compiles and name == "memory")
    }
    return {name: values for name, values in found.items() if len(values) > 1}


USUAL_WIDTH, USUAL_HEADS = 64, 8
"""A shape within both must be taken, but for heads that share keys."""

BACKENDS = ("JaxRuntimeError", "XlaRuntimeError", "NotImplementedError")
"""Errors of compilers that have no code for a type at some shape, where they have it for float32."""

POLITE = ("ValueError", "NotImplementedError", "AssertionError", "RuntimeError")
"""Errors by which a call may be refused. torch raises RuntimeError for that."""


def is_polite(trouble: Trouble | None) -> bool:
    """Whether a call was refused with an error that says so."""
    return trouble is not None and trouble.refuses and trouble.error in POLITE


class Covering:
    """The law that every number is right wherever two features stand beside each other, or three.

    What is refused together, or at an unusual shape, is told.

    Args:
        triples: whether three are wanted, at a small shape; so many values of each count, and fewer where each
            shape is compiled. None wants pairs.
    """

    def __init__(self, triples: tuple[int, int] | None = None) -> None:
        self.triples = triples

    def rows(self, judge: Judge) -> Iterator[dict[str, Mapping[str, Any]]]:
        """The values that stand together, by features."""
        columns = features(judge)
        if self.triples is not None:
            most = self.triples[judge.compiles]
            columns = {name: x[:most] for name, x in columns.items() if name in judge.kind.triples}
            if len(columns) < 2:
                return
        yield from covering(columns, (*columns,) if self.triples else (), judge.apart)

    @staticmethod
    def of_row(judge: Judge, row: Mapping[str, Mapping[str, Any]], seed: int = 0) -> list[Case]:
        """The cases of a row, by each flag that the row says nothing of.

        If it cannot be asked, there are as many keys as queries, or one feature less.
        """
        whole = {"sizes": judge.kind.columns["sizes"][0], **row}
        fewer = [{x: y for x, y in whole.items() if x != name} for name in row if name != "sizes"]
        specs = [{x: y for value in each.values() for x, y in value.items()} for each in (whole, *fewer)]
        if "queries" in specs[0]:
            specs.insert(1, specs[0] | {"keys": specs[0]["queries"]})
        return next(filter(None, (judge.cases([{**spec, "seed": seed}]) for spec in specs)), [])

    def cases(self, judge: Judge) -> Iterator[tuple[Case, Mapping[str, Mapping[str, Any]]]]:
        """The cases, with their rows. Where some features are refused together, those of the other pairs follow."""
        asked, apart = set[Case](), None
        while apart != judge.apart:
            apart = judge.apart
            for seed, row in enumerate(self.rows(judge)):
                for case in self.of_row(judge, row, seed):
                    if case not in asked:
                        asked.add(case)
                        yield case, row
                if apart != judge.apart:
                    break

    def __call__(self, judge: Judge) -> Finding:
        """Try it."""
        told = dict[str, Trouble]()

        def outcomes() -> Iterator[Outcome]:
            for case, row in self.cases(judge):
                outcome = judge.judge(case)
                left_out = outcome.trouble is not None and outcome.trouble.fault is Fault.NOT_CALLED
                if not left_out and not self._explains(judge, case, row, outcome.trouble, told):
                    yield outcome

        found = judge.settled(itertools.islice(outcomes(), judge.most_cases))
        if told and found.verdict is Verdict.HOLDS:
            about = {"refused": tuple(told.items()), **found.about}
            return dataclasses.replace(found, verdict=Verdict.CONVENTION, about=about)
        return found

    def _explains(
        self,
        judge: Judge,
        case: Case,
        row: Mapping[str, Mapping[str, Any]],
        trouble: Trouble | None,
        told: dict[str, Trouble],
    ) -> bool:
        """Whether a call was refused for features that a small call is refused for, too, or for its shape."""
        if trouble is None:
            return False
        if trouble.error in BACKENDS and case.type in ("float16", "bfloat16"):
            plain = judge.cases([case.replaced(type="float32")])
            if plain and judge.ask(plain[0]).trouble is None:
                told.setdefault(f"{case.type} in some shapes", trouble)
                return True
        if not is_polite(trouble):
            return False

        def refuses(some: Mapping[str, Mapping[str, Any]], words: str) -> bool:
            other = next((judge.ask(small).trouble for small in self.of_row(judge, some)), None)
            if is_polite(other):
                told.setdefault(words, other)  # pyright: ignore[reportArgumentType]
            return is_polite(other)

        is_shared = case["groups"] is not None and case["groups"] < case["heads"]
        if is_shared or case["width"] > USUAL_WIDTH or case["heads"] > USUAL_HEADS:
            sizes = {"sizes": row["sizes"]} if "sizes" in row else {}
            groups = f" on {case['groups']}" * is_shared
            words = f"{case['heads']} heads{groups} of width {case['width']}"
            if sizes and refuses({**sizes, **({"groups": row["groups"]} if row.get("groups") else {})}, words):
                return True
        first = judge.kind.columns
        values = {name: x for name, x in row.items() if name != "sizes" and x not in ({}, first[name][0])}
        for names in (*[("memory",)] * ("memory" in values), *itertools.combinations(values, 2)):
            if refuses({name: values[name] for name in names}, " beside ".join(names)):
                judge.apart |= {frozenset(names)}
                return True
        return False


OF_TYPES = (
    {"length": 5, "seed": 5},
    {"length": 17, "seed": 17},
    {"values": "large"},
    {"values": "offset"},
    {"seed": 9},
)
"""What is asked in a type."""


def right_in(kind: str, specs: Iterable[Mapping[str, Any]] = OF_TYPES) -> Law:
    """The law that every number is right at some cases in a type, which may be refused."""
    return RightAt(({"type": kind, **each} for each in specs), may_refuse_all=True)


def more_keys(judge: Judge) -> dict[str, Any]:
    """Whether more keys than queries are refused; where they are not, at which key a hidden future begins."""
    known = judge.convention.chosen["causal"]
    hides = None if known == "never" else True
    for case in judge.cases([{"queries": 4, "keys": 7, "causal": hides}]):
        answer = judge.ask(case)
        if answer.trouble or not hides:
            return {"more keys": answer.trouble}
        ends = {end: {**judge.convention.chosen, "alignment": end} for end in ("end", "start")}
        off = {end: residual(judge.kind, case, x, answer, case.operands()) for end, x in ends.items()}
        return {"alignment": min(off, key=off.__getitem__)}
    return {}


SHARED = {"heads": 4, "groups": 2, "shared": True}
"""Heads that share keys, as few as tell two orders apart."""


def sharing(judge: Judge, spec: Mapping[str, Any] = SHARED, near: float | None = None) -> dict[str, Any]:
    """Whether fewer heads of keys than of queries are taken, and in which order.

    Args:
        judge: of the target.
        spec: the trial call. Which of two heads is read must show in its answer.
        near: how far off an answer may be to be explained. The default is that of the kind.
    """
    near = judge.kind.near if near is None else near
    for interleaved in (False, True) if "h" in judge.convention.layout else ():
        trouble, off = judge.tried(spec, shares=True, interleaved=interleaved)
        if not trouble and off <= near:
            judge.tell("head h reads the keys", "interleaved" if interleaved else "neighbours")
            return {"shares": True, "interleaved": interleaved}
    return {}


def visible(case: Case, chosen: Mapping[str, Any], made: Mapping[str, Any]) -> np.ndarray:
    """What each query sees, by a hidden future and by masks, [b h t s] or what spreads to it."""
    t, s = case["queries"], case["keys"]
    seen = np.ones((1, 1, t, s), bool)
    if case["causal"]:
        seen = seen & np.tri(t, s, 0 if chosen.get("alignment") == "start" else s - t, dtype=bool)
    for role, axes in case.arrays:
        if role in ("pair mask", "mask"):
            mask = np.asarray(made[word(role)])
            seen = seen & (
                mask if len(axes) == 4 else mask[tuple(slice(None) if x in axes else None for x in "bhts")]
            )
    return seen


def sized(*sizes: tuple[int, int, int, int]) -> list[dict[str, Any]]:
    """Cases by queries, keys, width and width of values."""
    return [dict(zip(("queries", "keys", "width", "value_width"), each, strict=True)) for each in sizes]


def of_pairs(found: Callable[Concatenate[Judge, P], Iterator[Pair]]) -> Callable[P, Law]:
    """What makes laws: that pairs of calls, which a function of a judge and more gives, have one answer each."""

    @functools.wraps(found)
    def of(*arguments: P.args, **named: P.kwargs) -> Law:
        return lambda judge: judge.same(found(judge, *arguments, **named))

    return of


@law
def again(judge: Judge, spec: Spec, between: Iterable[Spec], tiny: float = 0.0) -> Finding:
    """The law that the same call gives the same bits, also after other calls.

    Args:
        spec: of the call.
        between: those of the other calls.
        tiny: what may move, over the largest number. It is told.
    """
    same = judge.cases([spec])[0]
    others = judge.cases(between)
    first = judge.remembered(same)
    for other in (None, None, *others):
        if other is not None:
            judge.ask(other)
        second = judge.ask(same)
        if (trouble := first.trouble or second.trouble) and first.trouble != second.trouble:
            # A call that died once is no other answer.
            return Finding(verdict=Verdict.FAILS, trouble=trouble, case=same, tried=1 + len(others))
        if not trouble and 0 < most_apart(first.numbers, second.numbers) <= tiny * peak(first.numbers):
            return Finding(verdict=Verdict.CONVENTION, fact="last bits", tried=1 + len(others))
        if not np.array_equal(first.numbers, second.numbers, equal_nan=True):
            return Finding(verdict=Verdict.FAILS, trouble=ANOTHER_ANSWER, case=same, tried=1 + len(others))
    return Finding(verdict=Verdict.HOLDS, fact="again", tried=1 + len(others))


@of_pairs
def alone(
    judge: Judge, lengths: Sequence[int], few: Sequence[int], changes: Sequence[Mapping[str, str]]
) -> Iterator[Pair]:
    """The law that a batch element alone is what it is beside others, which are changed as in `future`."""
    for _, whole in wholes(judge, lengths, few, batch=3):
        if whole["batch"] == 3:
            yield Pair(whole.replaced(rows=1), whole, {"b": slice(1)})
            for change in changes:
                parts = [(f"{word(role)}[1:]", change[role]) for role, _ in whole.arrays if role in change]
                edits = [f"{part} = {code.format(x=part)}" for part, code in parts]
                yield Pair(whole.replaced(edits=edits), whole, {"b": slice(1)})


@law
def all_lengths(judge: Judge, lengths: Sequence[int], few: Sequence[int]) -> Finding:
    """The law that lengths are taken, and give numbers. That short or long ones are refused is told."""
    wanted = few if judge.compiles else lengths
    cases = {n: case for n in wanted for case in judge.cases([{"length": n, "seed": n}])}
    answers = {n: judge.remembered(case) for n, case in cases.items()}
    refused = {n: answer.trouble for n, answer in answers.items() if answer.trouble}
    taken, tried = [n for n in answers if n not in refused], len(answers)
    longest = max(taken, default=np.inf)
    wrong = [n for n, trouble in refused.items() if n < longest and trouble.error not in LENGTH_REFUSALS]
    wrong += [n for n in taken if not np.isfinite(answers[n].numbers).all()]
    if wrong:
        trouble = refused.get(wrong[0], NOT_FINITE)
        return Finding(verdict=Verdict.FAILS, trouble=trouble, case=cases[wrong[0]], tried=tried)
    if refused:
        about = {"lengths": ", ".join(map(str, refused))}
        trouble = refused[min(refused)]
        return Finding(
            verdict=Verdict.CONVENTION, trouble=trouble, fact="refused lengths", about=about, tried=tried
        )
    return Finding(verdict=Verdict.HOLDS, tried=tried)


@law
def objects(judge: Judge, spec: Spec) -> Finding:
    """The law that two objects of a class do not know of each other."""
    if not judge.caller.about()["class"]:
        return NOT_TRIED
    case = judge.cases([spec])[0]
    answers = [judge.ask(case.replaced(object=number)) for number in (0, 1, 0, 1)]
    trouble = next((each.trouble for each in answers if each.trouble), None)
    if not trouble and not all(np.array_equal(answers[i].numbers, answers[i + 2].numbers) for i in (0, 1)):
        trouble = ANOTHER_ANSWER
    return Finding(verdict=Verdict.FAILS if trouble else Verdict.HOLDS, trouble=trouble, case=case, tried=4)


@law
def steady(judge: Judge, name: str, specs: Iterable[Spec]) -> Finding:
    """The law that a convention which is read off answers is the same at every size; it is told."""
    known, first = judge.kind.known, judge.convention.chosen[name]
    assert known is not None
    for case in judge.cases(specs):
        answer = judge.ask(case)
        if answer.trouble or np.isnan(answer.numbers).any():
            return Finding(verdict=Verdict.FAILS, case=case, trouble=answer.trouble or NOT_FINITE)
        then = known(answer.numbers, case, judge.convention.chosen).get(name, first)
        if not then or then != first:
            about = {"convention": name, "first": first, "then": then}
            return Finding(verdict=Verdict.FAILS, case=case, fact="changes", about=about)
    return Finding(verdict=Verdict.CONVENTION, fact="chosen", about={"convention": name, "first": first})


def wholes(judge: Judge, lengths: Sequence[int], few: Sequence[int], **more: Any) -> Iterator[tuple[int, Case]]:
    """Cases of some lengths, each with a seed of its own.

    Args:
        judge: of the target.
        lengths: of the tokens.
        few: those where each shape is compiled.
        more: what is unusual.
    """
    for n in few if judge.compiles else lengths:
        for case in judge.cases([{"length": n, "seed": n, **more}]):
            trouble = judge.remembered(case).trouble if judge.kind.refuses_lengths else None
            # Lengths may be refused, and `all_lengths` tells what goes wrong with its own calls. Nothing else tells
            # of an unusual call that hangs or ends the process.
            if trouble is None or (more and not trouble.refuses):
                yield n, case


def cuts(n: int, *more: int) -> list[int]:
    """Where a sequence is cut: after the first token, in the middle, before the last two, and after some others."""
    return sorted({1, n // 2, max(n - 2, 0), n - 1, *(min(each, n - 1) for each in more)} - {0})


@law
def prefixes(judge: Judge, lengths: Sequence[int], few: Sequence[int], **more: Any) -> Finding:
    """The law that the outputs of a prefix alone are those within the whole; lengths and more as in `wholes`."""
    pairs = (
        Pair(whole.replaced(parts=(cut,)), whole, {"t": slice(cut)})
        for n, whole in wholes(judge, lengths, few, **more)
        for cut in cuts(n, *(lengths if n in (*lengths[-1:], *few[-1:]) else ()))
    )
    return judge.same(pairs, lambda _: judge.kind.refuses_lengths, tells=False)


@of_pairs
def future(
    judge: Judge, lengths: Sequence[int], few: Sequence[int], changes: Sequence[Mapping[str, str]], **more: Any
) -> Iterator[Pair]:
    """The law that outputs stay where what comes after them is replaced.

    Args:
        lengths, few: of the tokens, and of those where each shape is compiled.
        more: what is unusual of the cases.
        changes: what becomes of some arrays, as numpy of x. Those that a target does not take are left out.
    """
    for n, whole in wholes(judge, lengths, few, **more):
        for cut, change in itertools.product(cuts(n), changes):
            edits = [*whole.edits]
            for role, axes in whole.arrays:
                if role in change and "t" in axes.replace("s", "t"):
                    place = axes.replace("s", "t").index("t")
                    part = f"{word(role)}[{':, ' * place}{cut}:]"
                    edits.append(f"{part} = {change[role].format(x=part)}")
            yield Pair(whole.replaced(edits=edits), whole, {"t": slice(cut)})


@of_pairs
def apart(judge: Judge, spec: Mapping[str, Any], roles: Sequence[str] | Mapping[str, str]) -> Iterator[Pair]:
    """The law that batch elements and heads do not see each other: the others stay where one is replaced.

    Args:
        spec: of the call.
        roles: the arrays of which one is replaced by 1e3, or by numpy of {x}.
    """
    codes = roles if isinstance(roles, Mapping) else dict.fromkeys(roles, "1e3")
    for whole in judge.cases([spec]):
        for (place, axis), last in itertools.product(enumerate("bh"), (0, -1)):
            if whole.shape({"b": "b", "h": "g"}[axis]) > (1,):
                filled = [role for role in codes if role in dict(whole.arrays)]
                if judge.kind.returns:
                    # Their heads are in a row: the first of the first is filled, or the last of the last.
                    filled = filled[-1:] if last else filled[:1]
                parts = {role: f"{role}[{':, ' * place}{last}]" for role in filled}
                edits = [f"{part} = {codes[role].format(x=part)}" for role, part in parts.items()]
                edits = [*whole.edits, *edits]
                groups = whole["groups"] or whole["heads"]
                n = whole["heads"] // groups if axis == "h" else 1
                kept = slice(None, -n) if last else slice(n, None)
                if n > 1 and judge.convention.chosen.get("interleaved"):
                    # Those that read the first heads of keys, or the last ones.
                    kept = slice(0 if last else groups - 1, None, groups)
                yield Pair(whole.replaced(edits=edits), whole, {axis: kept})


@of_pairs
def in_parts(
    judge: Judge,
    lengths: Sequence[int],
    few: Sequence[int],
    splits: Callable[[int], Iterable[tuple[int, ...]]],
    chunks: Sequence[int | None] = (None,),
) -> Iterator[Pair]:
    """The law that parts, each of which continues the state of the one before, are the whole.

    Args:
        lengths, few: of the tokens, and of those where each shape is compiled.
        splits: the lengths of the parts, from that of the whole.
        chunks: the sizes of chunks within the parts.
    """
    for n, whole in wholes(judge, [*dict.fromkeys(lengths)], few):
        ways = [whole.replaced(parts=parts, chunk=size) for size in chunks for parts in splits(n)]
        yield from (Pair(each, whole) for each in judge.cases(ways))


@law
def in_chunks(
    judge: Judge, lengths: Sequence[int], few: Sequence[int], sizes: Sequence[int], few_sizes: Sequence[int]
) -> Finding:
    """The law that chunks of every size are the whole. Those that do not divide the length may be refused."""

    def pairs() -> Iterator[Pair]:
        for _, whole in wholes(judge, lengths, few):
            for size in few_sizes if judge.compiles else sizes:
                yield from (Pair(each, whole) for each in judge.cases([whole.replaced(chunk=size)]))

    return judge.same(pairs(), lambda outcome: outcome.case["queries"] % (outcome.case["chunk"] or 1) > 0)


@law
def beside_another(judge: Judge, lengths: Sequence[int], few: Sequence[int]) -> Finding:
    """The law that another target gives the same."""
    if judge.other is None:
        return NOT_TRIED
    return judge.same(Pair(whole, whole, of_other=True) for _, whole in wholes(judge, lengths, few))


def all_ways(judge: Judge, lengths: Sequence[int], few: Sequence[int], **more: Any) -> Finding:
    """Whether all ways to one answer agree: two parts, chunks, and another target."""

    def pairs() -> Iterator[Pair]:
        for n, whole in wholes(judge, lengths, few, **more):
            ways = [{"parts": (n // 2, n - n // 2)}, *({"chunk": size} for size in (n, 1, 16))]
            cases = judge.cases(whole.replaced(**way) for way in ways)
            yield from (Pair(each, whole) for each in cases)
            if judge.other is not None:
                yield Pair(whole, whole, of_other=True)

    return judge.same(pairs(), lambda outcome: outcome.case["chunk"] is not None, tells=False)


@of_pairs
def non_contiguous(judge: Judge, spec: Mapping[str, Any]) -> Iterator[Pair]:
    """The law that arrays which are rows of larger ones give the same."""
    yield from (Pair(whole.replaced(memory="rows"), whole) for whole in judge.cases([spec]))


def empty_batch(judge: Judge) -> Finding:
    """Whether an empty batch gives an empty batch, which is told."""
    if "b" not in judge.convention.layout:
        return NOT_TRIED
    trouble = judge.ask(judge.cases([{"batch": 0}])[0]).trouble
    return Finding(verdict=Verdict.CONVENTION, trouble=trouble, fact="refused" if trouble else "empty batch")


def types_in_turn(judge: Judge, near: Spec, far: Spec) -> Finding:
    """Whether a narrow type that is asked first leaves no narrow table, and none that grows with a longer text."""
    narrow = "float16" if judge.convention.framework == "numpy" else "bfloat16"
    cases = judge.cases([near, far])
    if not cases or judge.values(cases).verdict is Verdict.FAILS:
        return NOT_TRIED  # It is wrong in any order, and other rows say so.
    found = NOT_TRIED
    with judge.anew():
        for case in cases:
            trouble = judge.ask(case.replaced(type=narrow)).trouble
            if trouble and trouble.refuses:
                return NOT_TRIED
            found = judge.values([cases[0], case])
            if found.verdict is Verdict.FAILS:
                # A snippet makes the calls again: one of them alone shows nothing.
                return dataclasses.replace(found, case=None, beside=None, fact="after", about={"type": narrow})
    return found


@law
def untouched(judge: Judge, specs: Iterable[Spec]) -> Finding:
    """The law that no call has written into what it was given: of all calls before it, and of some."""
    for case in judge.cases(specs):
        judge.ask(case)
    if judge.changed is not None:
        return Finding(verdict=Verdict.FAILS, trouble=WROTE, case=judge.changed, tried=judge.calls)
    return Finding(verdict=Verdict.HOLDS, fact="untouched", tried=judge.calls)
