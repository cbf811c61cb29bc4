"""Two ways to one answer, and what comes beside it: a log-sum-exp, an answer without gradients, another target."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.calling import Answer
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import ANOTHER_ANSWER, NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.identities import Covering, RightAt, features, is_polite
from attnlab_theory.conform.judge import Judge, largest
from attnlab_theory.conform.kinds.softmax.laws import HALVES
from attnlab_theory.conform.kinds.softmax.states import row_of_nothing
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.conform.recording import saw

NEAR = 1e-3
"""How far a sum may be off to be known for what it is: what rounds in half precision is off by more."""

APART = ("sizes", "types", "memory", "values")
"""Features that change no sum, or make it too large to be known."""

HIDES = ("mask", "padding", "lengths", "window", "segments")
"""Features that are asked beside sinks, and beside the flag that hides the future, too."""

Reading = tuple[str, float, bool]
"""The axes of a sum, the logarithm of its base, and whether a sink is a part of it."""


def second_output(judge: Judge) -> Finding:
    """The log-sum-exp of what is seen, in base e or 2, under each feature; what else it is is not judged."""
    known, tried = set[tuple[str, float]](), 0
    for case in _under_features(judge):
        answer = judge.ask(case)
        grid = case.shape("".join(axis for axis in "bhts" if axis not in "bh" or axis in judge.convention.layout))
        if answer.trouble or answer.second is None or answer.second.shape == grid:
            if not tried:
                return NOT_TRIED
            continue
        tried += 1
        readings = _read(judge, case, answer.second)
        found = {name[:2] for name, pair in readings.items() if _near(*pair)}
        is_sum = found or any(_near(*pair) for pair in _read(judge, case, answer.second, hidden=True).values())
        if tried == 1 and not is_sum:
            about = {"shape": [*answer.second.shape]}
            return Finding(verdict=Verdict.NOT_JUDGED, fact="unknown second", about=about)
        known = found if tried == 1 else known & found or known
        if known & found:
            continue
        given, right = next(iter(readings.values()))
        gap = np.where(np.isfinite(right), np.abs(given - right), 0)
        saw(judge.caller, given, right, np.nan_to_num(gap, nan=np.inf) / NEAR)
        whole, sees = next(iter(_read(judge, case, answer.second, hidden=True).values()))[1], np.isfinite(right)
        hides = bool(((given > right - NEAR) & (given < whole + NEAR))[sees].all())
        found = {"fact": "sum of hidden" if hides else "wrong sum", "about": {"off": gap.max()}, "tried": tried}
        return Finding(verdict=Verdict.FAILS, case=case, ratio=float(gap.max() / NEAR), failures=1, **found)
    if not known:
        return NOT_TRIED
    is_natural = any(base == 1.0 for _, base in known)
    verdict = Verdict.HOLDS if is_natural else Verdict.CONVENTION
    return Finding(verdict=verdict, fact="sum" if is_natural else "sum in base 2", tried=tried)


def _under_features(judge: Judge) -> Iterator[Case]:
    """A plain call, each feature alone, and those that hide beside sinks, and the flag that hides the future."""
    columns = {name: values for name, values in features(judge).items() if name not in APART}
    asked = [{name: value} for name, values in columns.items() for value in values[1:]]
    asked += [
        {name: columns[name][1], other: columns[other][1]}
        for name, other in itertools.product(HIDES, ("causal", "sinks"))
        if name in columns and other in columns
    ]
    yield judge.cases([{"seed": 21}])[0]
    for seed, row in enumerate(asked):
        yield from Covering.of_row(judge, row, seed)


def _read(
    judge: Judge, case: Case, second: np.ndarray, *, hidden: bool = False
) -> dict[Reading, tuple[np.ndarray, np.ndarray]]:
    """What came beside the output and what it should be, for every reading that has its shape."""
    about, layout = judge.expected(case).about, judge.convention.layout
    seen = np.broadcast_to(about["problem"].visible, about["exact"].scores.shape)
    scores = np.where(seen | hidden, about["exact"].scores, -np.inf)
    has_sink = scores.shape[-1] > case["keys"]
    found: dict[Reading, tuple[np.ndarray, np.ndarray]] = {}
    for sink in (True, False) if has_sink else (False,):
        natural = np.logaddexp.reduce(scores if sink else scores[..., : case["keys"]], -1)
        for axes in dict.fromkeys(("".join(x for x in "bht" if x in layout), layout.replace("d", ""))):
            kept = [x for x in "bht" if x in axes]
            right = natural[tuple(slice(None) if x in axes else 0 for x in "bht")]
            right = right.transpose([kept.index(x) for x in axes])
            if second.shape in (right.shape, (*right.shape, 1)):
                for base in (1.0, float(np.log(2))):
                    found[axes, base, sink] = second.reshape(right.shape), right / base
    return found


def _near(given: np.ndarray, right: np.ndarray) -> bool:
    """Whether sums agree, where something is seen."""
    sees = np.isfinite(right)
    return bool(np.allclose(given[sees], right[sees], atol=NEAR))


class Difference(NamedTuple):
    """How two answers to one case differ."""

    ratio: float
    """The largest difference over the sum of both tolerances, in rows that see something."""
    place: tuple[int, ...]
    blind: tuple[str, str] | None
    """What each gives in rows that see nothing, where these differ."""


def difference(
    judge: Judge, case: Case, one: Answer, other: Answer, made: Any = None, kind: str = ""
) -> Difference:
    """Compare two answers to one case, by the type in which both may compute; by default that of the answers."""
    assert judge.kind.right is not None
    right = judge.kind.right(case, judge.convention.chosen, judge.operands(case) if made is None else made)
    kinds = [kind or judge.type_of(case, each.kind) for each in (one, other)]
    most = sum(right.within(each, judge.accumulate or each) for each in kinds)
    sees = ~np.isnan(right.output)
    same = (one.numbers == other.numbers) | (np.isnan(one.numbers) & np.isnan(other.numbers))
    wanted = np.where(sees, np.where(np.isnan(other.numbers), np.inf, other.numbers), np.nan)
    ratio, place = largest(np.where(same, wanted, one.numbers), wanted, np.asarray(most))
    saw(judge.caller, one.numbers, other.numbers, np.where(sees, np.abs(one.numbers - other.numbers) / most, 0.0))
    blind = None
    if not sees.all():
        rows = one.numbers[~sees], other.numbers[~sees]
        saw(judge.caller, *rows, np.where(np.isclose(*rows, atol=1e-3, equal_nan=True), 0.0, np.inf))
        if not np.allclose(*rows, atol=1e-3, equal_nan=True):
            blind = row_of_nothing(rows[0]), row_of_nothing(rows[1])
    return Difference(ratio, place, blind)


def gradient_mode(judge: Judge) -> Finding:
    """The answer does not depend on whether gradients are wanted: libraries have a path for either."""
    if judge.convention.framework != "torch":
        return NOT_TRIED
    worst, tried = 0.0, 0
    alike = (False, True) if not judge.kind.usual.get("shared") else (False,)
    # A fast path may want q, k and v to be one tensor.
    for mask, shared in itertools.product((None, "random", "blind"), alike):
        for case in judge.cases([{"length": 6, "width": 4, "value_width": 4, "pair mask": mask, "seed": 2}]):
            made = {**judge.operands(case)}
            made |= {"k": made["q"], "v": made["q"]} if shared else {}
            without, within = (
                judge.ask(case, made, more={"gradients": wanted, "tracked": wanted, "shared": shared})
                for wanted in (False, True)
            )
            tried += 1
            if without.trouble != within.trouble:
                trouble = within.trouble or without.trouble
                return Finding(verdict=Verdict.CONVENTION, fact="refused with", trouble=trouble, tried=tried)
            if without.trouble:
                continue
            found = difference(judge, case, without, within, made)
            worst = max(worst, found.ratio)
            fail = {"verdict": Verdict.FAILS, "tried": tried, "failures": 1, "ratio": found.ratio}
            if found.ratio > 1:
                return Finding(**fail, fact="modes", about={"ratio": found.ratio}, trouble=ANOTHER_ANSWER)
            if found.blind:
                about = {"one": found.blind[0], "other": found.blind[1], "shared": shared}
                return Finding(**fail, fact="blind modes", about=about)
    return Finding(verdict=Verdict.HOLDS, fact="one mode", about={"ratio": worst}, tried=tried, ratio=worst)


def _cases(judge: Judge) -> Iterator[tuple[str, Case]]:
    """All cases whose numbers are known, by their identities."""
    for name, law in judge.kind.laws.items():
        inner = getattr(law, "law", law)
        if isinstance(inner, RightAt):
            yield from ((name, case) for case in judge.cases(inner.of(judge)))
        elif isinstance(inner, Covering):
            yield from ((name, case) for case, _ in inner.cases(judge))


def _bare(case: Case, judge: Judge) -> Mapping[str, Any]:
    """The sizes and switches of a case, but for what says nothing."""
    idle = {role: OPERANDS[role].idle for role in judge.convention.required}
    return dict(case.sizes) | {x: y for x, y in case.switches if idle.get(x) != y}


def against(judge: Judge) -> Finding:
    """Every call that both can be asked: their answers are as near as both may err."""
    there = judge.other
    if there is None:
        return NOT_TRIED
    shown = there.find("visibility")
    wrongs = {**there.convention.contradictions, **({"visibility": shown} if shown.fact == "hides all" else {})}
    for identity, wrong in wrongs.items():
        about = {"identity": identity, "finding": wrong}
        return Finding(verdict=Verdict.FAILS, fact="contradicted there", about=about, failures=1)
    worst, tried, others, asked = 0.0, 0, 0, set[Case]()
    for name, case in _cases(judge):
        (theirs,) = there.cases([case]) or (None,)
        if case in asked or theirs is None or _bare(case, judge) != _bare(theirs, there):
            continue
        asked.add(case)
        if not np.array_equal(judge.expected(case).output, there.expected(theirs).output, equal_nan=True):
            others += 1
            continue
        tried += 1
        one, other = judge.ask(case), there.ask(theirs)
        if one.trouble or other.trouble:
            trouble, where = one.trouble or other.trouble, "here" if one.trouble else "there"
            if bool(one.trouble) == bool(other.trouble):
                continue
            if case.type in ("float64", *HALVES) or (
                isinstance(judge.kind.laws[name], Covering) and is_polite(trouble)
            ):
                told = case.type if case.type != "float32" else name
                judge.told.setdefault(told, (where, trouble))
                continue
            fail = {"fact": "only one", "about": {"where": where}, "trouble": trouble, "failures": 1}
            return Finding(verdict=Verdict.FAILS, tried=tried, ratio=np.inf, case=case, **fail)
        found = difference(judge, case, one, other)
        if (
            found.ratio > 1
            and case.type == "float64"
            and difference(judge, case, one, other, kind="float32").ratio <= 1
        ):
            judge.told["float64"] = ("computed in float32", None)
            continue
        worst = max(worst, found.ratio)
        if found.ratio > 1:
            numbers = (one.numbers, other.numbers, judge.expected(case).output)
            about = {x: float(y[found.place]) for x, y in zip(("here", "there", "right"), numbers, strict=True)}
            about |= {"ratio": found.ratio, "place": [*found.place]}
            fail = {"fact": "apart", "about": about, "failures": 1}
            return Finding(verdict=Verdict.FAILS, tried=tried, ratio=found.ratio, case=case, **fail)
    if not tried:
        return Finding(verdict=Verdict.NOT_JUDGED, fact="nothing alike", about={"others": others}, tried=others)
    about = {"ratio": worst, "others": others}
    return Finding(verdict=Verdict.HOLDS, fact="together", about=about, tried=tried, ratio=worst)


CHOICES = ("blind rows", "hidden NaN", "empty batch")
"""Laws that only tell."""


def differences(judge: Judge) -> Finding:
    """The conventions that differ."""
    if judge.other is None:
        return NOT_TRIED
    parts: list[tuple[str, Any]] = []
    here, there = (
        {
            "layout": ("layout", {"axes": " ".join(each.convention.layout)}),
            **{roles.get(title, title): (fact, about) for title, fact, about in each.convention.told},
        }
        for each in (judge, judge.other)
        for roles in [{name: role for role, name in each.convention.names.items()}]
    )
    for name in dict.fromkeys((*here, *there)):
        one, other = here.get(name, ("not taken", {})), there.get(name, ("not taken", {}))
        if one != other and name not in ("arguments by name", "dropout"):
            parts.append(("differs", {"name": name, "one": one, "other": other}))
    for name in CHOICES:
        one, other = (judge.kind.laws[name](each) for each in (judge, judge.other))
        if NOT_TRIED not in (one, other) and (one.fact, one.about) != (other.fact, other.about):
            parts.append(("differs", {"name": name, "one": one, "other": other}))
    for name, (where, trouble) in judge.told.items():
        parts.append(("refused there", {"name": name, "where": where, "trouble": trouble}))
    if not parts:
        return NOT_TRIED
    return Finding(verdict=Verdict.CONVENTION, fact="parts", about={"parts": tuple(parts)}, tried=len(CHOICES))
