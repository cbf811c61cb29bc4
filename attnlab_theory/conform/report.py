"""What was found, for people, for programs and for those who do not have attnlab."""

import contextlib
import dataclasses
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory import __version__
from attnlab_theory.conform import say
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.calling import Uncallable, search
from attnlab_theory.conform.finding import Fault, Finding, Verdict
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import Kind
from attnlab_theory.conform.suite import Refused, Row, Suite
from attnlab_theory.exits import visible
from attnlab_theory.plurals import several

MARK = {Verdict.HOLDS: "holds", Verdict.FAILS: "FAILS", Verdict.CONVENTION: "convention", Verdict.NOT_JUDGED: "-"}

WORDS = {
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.FAILS: ("fails", "fail"),
    Verdict.CONVENTION: ("is a convention", "are conventions"),
    Verdict.NOT_JUDGED: ("is not judged", "are not judged"),
}
"""What is said of one identity, and of several."""


SCHEMA = 1
"""The version of what `as_json` and `heading` give. It grows when a field goes, or means something else."""


def heading(target: str, kind: str, caller: Caller) -> dict[str, Any]:
    """What the JSON of every target begins with.

    Args:
        target, kind: as they were typed, or as the kind was guessed.
        caller: of the target.

    Returns:
        `versions` has ours as attnlab, and those that the target's package and the frameworks beside it say of
        themselves. A package that says none is null.
    """
    module = "" if "::" in target else target.rpartition(":")[0]
    package = {module.partition(".")[0]: None} if module else {}
    versions = {"attnlab": __version__} | package | caller.about()["versions"]
    return {"schema": SCHEMA, "versions": versions, "target": target, "kind": kind}


def profile_lines(profile: Sequence[tuple[str, str]]) -> list[str]:
    """The conventions of a target, a line each."""
    width = max(len(name) for name, _ in profile)
    return [f"  {name:{width}}  {text}" for name, text in profile]


def row_of(found: Finding, judge: Judge) -> Row:
    """A finding in words."""
    return Row(
        name=found.identity,
        verdict=found.verdict,
        line=say.line(found, judge),
        brief=say.brief(found),
        tried=found.tried,
        ratio=found.ratio,
        counterexample=found if found.case is not None else None,
        trouble=found.trouble,
        case=judge.convention.call(found.case) if found.case else "",
        rule=found.about.get("rule"),
    )


def rows_of(judge: Judge) -> list[Row]:
    """The rows of all identities of a kind."""
    found = [judge.find(name) for name in judge.kind.laws]
    return [row_of(each, judge) for each in found if each.verdict is not Verdict.NOT_TRIED]


def as_one(name: str, rows: Sequence[Row]) -> Row:
    """Several rows as one: the first that fails, else the one with the largest error."""
    wrong = [row for row in rows if row.verdict is Verdict.FAILS]
    held = [row for row in rows if row.verdict is Verdict.HOLDS]
    row = wrong[0] if wrong else max(held or rows, key=lambda each: each.ratio)
    line = f"{row.name}: {row.line}" if wrong else row.line
    return dataclasses.replace(row, name=name, line=line, tried=sum(each.tried for each in rows))


@contextlib.contextmanager
def refused_in_words(caller: Caller, kind: Kind, name: str = "") -> Iterator[None]:
    """Inside, a target that can be called in no way is refused in one line, which may name the kind."""
    try:
        yield
    except Uncallable as error:
        words = say.uncallable(caller.name, kind, error, name, caller.about().get("uses", ()))
        raise Refused(words, error.troubles) from None


def searched(
    kind: Kind, caller: Caller, declared: Mapping[str, Any], name: str, by: Callable[..., Any] = search
) -> tuple[Any, list[tuple[str, str]]]:
    """How a target is called, by a search or by a judge, and that in words; name is that of the kind.

    Raises:
        ValueError: if it can be called in no way.
    """
    with refused_in_words(caller, kind, name):
        found = by(kind, caller, declared)
    return found, say.profile(getattr(found, "convention", found), kind, declared, getattr(found, "gives", ""))


def seen(judge: Judge) -> list[str]:
    """What was seen on the way of a judge, and is neither right nor wrong."""
    return say.notes(judge)


def leaks_first(suite: Suite) -> Iterator[Row]:
    """All rows of a suite; those that tell of a leak come first."""
    for is_leak in (True, False):
        if names := [name for name in suite.IDENTITIES if (name in suite.LEAKS) is is_leak]:
            yield from suite.rows(names)


def follows(row: Row, rows: Sequence[Row], suite: Suite) -> bool:
    """Whether a leak among rows explains that another one fails: by a wrong number, and by nothing more."""
    leaks = [each for each in rows if each.name in suite.LEAKS and each.verdict is Verdict.FAILS]
    # A row that fails by a call which hangs, raises or ends the process tells of no leak.
    told = any(each.trouble is None or each.trouble.fault is Fault.FUTURE for each in leaks)
    return told and row.verdict is Verdict.FAILS and row.trouble is None and row.name not in suite.LEAKS


def line_of(row: Row, width: int = 17) -> str:
    """One identity in one line, whose name has so many columns."""
    return f"{visible(row.name):{width}} {MARK[row.verdict]:10} {row.tried:>4}  {visible(row.line, lines=False)}"


def unjudged(rows: Sequence[Row]) -> str:
    """What is said of a kind of which half or more is not judged; else nothing."""
    count = sum(row.verdict is Verdict.NOT_JUDGED for row in rows)
    is_much = count > 0 and 2 * count >= len(rows)
    return f"Not judged as a whole: {count} of {len(rows)} rows say nothing." if is_much else ""


def summary(suite: Suite, rows: Sequence[Row], seconds: float) -> str:
    """How many rows hold, and how many do not."""
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in MARK}
    said = [f"{count} {WORDS[verdict][count > 1]}" for verdict, count in counts.items() if count]
    return (
        f"{', '.join(said)}. {several(suite.calls, 'call')} in {seconds:.1f} s. "
        f"The largest error of a right answer is {suite.largest:.2g} of its tolerance."
    )


def notes_of(suite: Suite) -> list[str]:
    """What was seen on the way, and what was left alone."""
    left = ", ".join(suite.never_passed or ())
    return [*suite.notes(), *[f"never passed: {left}"] * bool(left)]


def exit_code(rows: Sequence[Row], *, refused: bool = False) -> int:
    """What the command ends with: 1 if a row fails, 2 if one lacks calls, because the target's process was gone.

    Args:
        rows: what was found.
        refused: whether something else is a failure, too.
    """
    if refused or any(row.verdict is Verdict.FAILS for row in rows):
        return 1
    gone = (Fault.KILLED, Fault.NOT_CALLED)
    unasked = [row for row in rows if row.verdict is Verdict.NOT_JUDGED and row.trouble is not None]
    return 2 if any(row.trouble is not None and row.trouble.fault in gone for row in unasked) else 0


def as_json(
    suite: Suite,
    rows: Sequence[Row],
    target: str,
    kind: str,
    code: int,
    seconds: float,
    snippet: Callable[[Row], Sequence[str]] = lambda _: (),
) -> dict[str, Any]:
    """All of it as plain values. `worst` is in units of the tolerance, that of the most wrong number."""

    def plain(x: float) -> float | None:
        return float(x) if np.isfinite(x) else None

    return heading(target, kind, suite.caller) | {
        "exit_code": code,
        "conventions": dict(suite.profile),
        "notes": notes_of(suite),
        "never_passed": None if suite.never_passed is None else [*suite.never_passed],
        "rows": [
            {
                "identity": r.name,
                "holds": None if r.verdict is Verdict.NOT_JUDGED else r.verdict is not Verdict.FAILS,
                "verdict": r.verdict,
                "line": r.line,
                "tried": r.tried,
                "worst": plain(r.ratio),
                "tolerance": _tolerance(r),
                "case": r.case or None,
                "snippet": list(snippet(r)) if r.verdict is Verdict.FAILS else [],
            }
            | ({} if r.rule is None else {"flash_attention_rule": plain(r.rule)})
            for r in rows
        ],
        "largest_error_of_a_right_answer": suite.largest,
        "calls": suite.calls,
        "seconds": round(seconds, 2),
    }


def _tolerance(row: Row) -> float | None:
    """The tolerance of the most wrong number of a counterexample, where one number is wrong."""
    number = getattr(row.counterexample, "number", None)
    return number.most or None if number else None


def as_junit(rows: Sequence[Row], target: str, kind: str) -> str:
    """The rows as JUnit's XML, which most continuous integrations read."""
    fails = sum(row.verdict is Verdict.FAILS for row in rows)
    suite = xml.Element("testsuite", name=visible(f"{target} as {kind}"), tests=str(len(rows)), failures=str(fails))
    for row in rows:
        test = xml.SubElement(suite, "testcase", classname=f"conform.{kind}", name=visible(row.name))
        if row.verdict is Verdict.FAILS:
            xml.SubElement(test, "failure", message=visible(row.line))
        elif row.verdict is Verdict.NOT_JUDGED:
            xml.SubElement(test, "skipped", message=visible(row.line))
        else:
            xml.SubElement(test, "system-out").text = visible(row.line)
    xml.indent(suite)
    return xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
