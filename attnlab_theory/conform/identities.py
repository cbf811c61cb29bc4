"""Identities that kinds share: right at some cases, the same again, in parts and in chunks, apart, untouched."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.case import Case
from attnlab_theory.conform.covering import covering
from attnlab_theory.conform.finding import ANOTHER_ANSWER, NOT_FINITE, NOT_TRIED, WROTE, Finding, Verdict
from attnlab_theory.conform.judge import Judge, Pair
from attnlab_theory.conform.kind import Law, Spec

EDGES = 16, 64
"""Lengths at which blocks often end."""


def explained(judge: Judge) -> Finding:
    """The law that some convention explains a trial call."""
    case = judge.cases(judge.kind.stages[0].trials)[0]
    if judge.explained:
        return Finding(verdict=Verdict.HOLDS, fact="explained", ratio=0.0)
    numbers = judge.kind.numbers
    own = None if numbers is None else numbers(judge.ask(case).numbers, case, judge.convention.chosen)
    outcome = judge.judge(case, own)
    return Finding(verdict=Verdict.FAILS, number=outcome.number, case=case, fact="unexplained", failures=1)


def right_at(specs: Iterable[Spec], *, may_refuse_all: bool = False) -> Law:
    """The law that every number is right at some cases, all of which may be refused where that is said."""
    specs = [*specs]
    return lambda judge: judge.values(judge.cases(specs), may_refuse_all=may_refuse_all)


def right_at_pairs(columns: Mapping[str, Sequence[Any]]) -> Law:
    """The law that every number is right wherever two features of the sizes stand beside each other.

    Args:
        columns: the features, in the order of the roles. Several roles of one feature are a tuple.
    """
    rows = [[x if isinstance(x, tuple) else (x,) for x in row.values()] for row in covering(columns)]
    return right_at(tuple(itertools.chain(*row)) for row in rows)


def right_in(kind: str) -> Law:
    """The law that every number is right in a type, which may be refused."""
    more = (
        {"length": 5, "seed": 5},
        {"length": 17, "seed": 17},
        {"values": "large"},
        {"values": "offset"},
        {"seed": 9},
    )
    return right_at(({"type": kind, **each} for each in more), may_refuse_all=True)


def right_beside(features: Sequence[Mapping[str, Any]]) -> Law:
    """The law that every number is right where two features stand beside each other and all else is usual."""
    return right_at(
        {**one, **other, "seed": seed}
        for seed, (one, other) in enumerate(itertools.combinations(features, 2))
        if not {*one} & {*other}
    )


def sized(*sizes: tuple[int, int, int, int]) -> list[dict[str, Any]]:
    """Cases by queries, keys, width and width of values."""
    return [dict(zip(("queries", "keys", "width", "value_width"), each, strict=True)) for each in sizes]


def again(spec: Spec, between: Iterable[Spec]) -> Law:
    """The law that the same call gives the same bits, also after other calls.

    Args:
        spec: of the call.
        between: those of the other calls.
    """

    def law(judge: Judge) -> Finding:
        same = judge.cases([spec])[0]
        others = judge.cases(between)
        first = judge.ask(same)
        for other in (same, *others):
            judge.ask(other)
            second = judge.ask(same)
            if first.trouble != second.trouble or not np.array_equal(first.numbers, second.numbers, equal_nan=True):
                return Finding(verdict=Verdict.FAILS, trouble=ANOTHER_ANSWER, case=same, tried=1 + len(others))
        return Finding(verdict=Verdict.HOLDS, fact="again", tried=1 + len(others))

    return law


def steady(name: str, specs: Iterable[Spec]) -> Law:
    """The law that a convention which is read off answers is the same at every size; it is told.

    Args:
        name: of the convention.
        specs: of the calls.
    """

    def law(judge: Judge) -> Finding:
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

    return law


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
            yield n, case


def cuts(n: int, *more: int) -> list[int]:
    """Where a sequence is cut: after the first token, in the middle, before the last, and after some others."""
    return sorted({1, n // 2, n - 1, *(min(each, n - 1) for each in more)} - {0})


def prefixes(lengths: Sequence[int], few: Sequence[int], **more: Any) -> Law:
    """The law that the outputs of a prefix alone are those within the whole; lengths and more as in `wholes`."""

    def law(judge: Judge) -> Finding:
        return judge.same(
            Pair(whole.replaced(parts=(cut,)), whole, {"t": slice(cut)})
            for n, whole in wholes(judge, lengths, few, **more)
            for cut in cuts(n)
        )

    return law


def future(lengths: Sequence[int], few: Sequence[int], changes: Sequence[Mapping[str, str]], **more: Any) -> Law:
    """The law that outputs stay where what comes after them is replaced.

    Args:
        lengths: of the tokens.
        few: those where each shape is compiled.
        more: what is unusual of the cases.
        changes: what becomes of some arrays, as numpy of x. Those that a target does not take are left out.
    """

    def law(judge: Judge) -> Finding:
        def pairs() -> Iterator[Pair]:
            for n, whole in wholes(judge, lengths, few, **more):
                for cut, change in itertools.product(cuts(n), changes):
                    edits = []
                    for role, axes in whole.arrays:
                        if role in change and "t" in axes.replace("s", "t"):
                            name = role.replace(" ", "_")
                            part = f"{name}[:, :, {cut}:]"
                            edits.append(f"{part} = {change[role].format(x=part)}")
                    yield Pair(whole.replaced(edits=edits), whole, {"t": slice(cut)})

        return judge.same(pairs())

    return law


def apart(spec: Mapping[str, Any], roles: Sequence[str]) -> Law:
    """The law that batch elements and heads do not see each other: the others stay where one is filled with 1e3.

    Args:
        spec: of the call.
        roles: the arrays that are filled.
    """

    def law(judge: Judge) -> Finding:
        def pairs() -> Iterator[Pair]:
            for whole in judge.cases([spec]):
                for (place, axis), last in itertools.product(enumerate("bh"), (0, -1)):
                    if whole.shape(axis) > (1,):
                        edits = [f"{role}[{':, ' * place}{last}] = 1e3" for role in roles]
                        kept = slice(None, -1) if last else slice(1, None)
                        yield Pair(whole.replaced(edits=edits), whole, {axis: kept})

        return judge.same(pairs())

    return law


def in_parts(
    lengths: Iterable[int],
    few: Sequence[int],
    splits: Callable[[int], Iterable[tuple[int, ...]]],
    chunks: Sequence[int | None] = (None,),
) -> Law:
    """The law that parts, each of which continues the state of the one before, are the whole.

    Args:
        lengths: of the tokens.
        few: those where each shape is compiled.
        splits: the lengths of the parts, from that of the whole.
        chunks: the sizes of chunks within the parts.
    """
    lengths = [*dict.fromkeys(lengths)]

    def law(judge: Judge) -> Finding:
        def pairs() -> Iterator[Pair]:
            for n, whole in wholes(judge, lengths, few):
                ways = [whole.replaced(parts=parts, chunk=size) for size in chunks for parts in splits(n)]
                yield from (Pair(each, whole) for each in judge.cases(ways))

        return judge.same(pairs())

    return law


def in_chunks(lengths: Sequence[int], few: Sequence[int], sizes: Sequence[int], few_sizes: Sequence[int]) -> Law:
    """The law that chunks of every size are the whole. Those that do not divide the length may be refused."""

    def law(judge: Judge) -> Finding:
        def pairs() -> Iterator[Pair]:
            for _, whole in wholes(judge, lengths, few):
                for size in few_sizes if judge.compiles else sizes:
                    yield from (Pair(each, whole) for each in judge.cases([whole.replaced(chunk=size)]))

        return judge.same(pairs(), lambda outcome: outcome.case["queries"] % (outcome.case["chunk"] or 1) > 0)

    return law


def beside_another(lengths: Sequence[int], few: Sequence[int]) -> Law:
    """The law that another target gives the same."""

    def law(judge: Judge) -> Finding:
        if judge.other is None:
            return NOT_TRIED
        return judge.same(Pair(whole, whole, of_other=True) for _, whole in wholes(judge, lengths, few))

    return law


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


def non_contiguous(spec: Mapping[str, Any]) -> Law:
    """The law that arrays which are rows of larger ones give the same."""
    return lambda judge: judge.same(Pair(whole.replaced(memory="rows"), whole) for whole in judge.cases([spec]))


def empty_batch(judge: Judge) -> Finding:
    """Whether an empty batch gives an empty batch, which is told."""
    if "b" not in judge.convention.layout:
        return NOT_TRIED
    trouble = judge.ask(judge.cases([{"batch": 0}])[0]).trouble
    return Finding(verdict=Verdict.CONVENTION, trouble=trouble, fact="refused" if trouble else "empty batch")


def untouched(specs: Iterable[Spec]) -> Law:
    """The law that no call has written into what it was given: of all calls before it, and of some."""
    specs = [*specs]

    def law(judge: Judge) -> Finding:
        for case in judge.cases(specs):
            judge.ask(case)
        if judge.changed is not None:
            return Finding(verdict=Verdict.FAILS, trouble=WROTE, case=judge.changed, tried=judge.calls)
        return Finding(verdict=Verdict.HOLDS, fact="untouched", tried=judge.calls)

    return law
