"""Sentences: what was found of a declared kind, in English."""

from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab_theory.conform.finding import ANOTHER_ANSWER, Finding, Verdict

if TYPE_CHECKING:
    from attnlab_theory.conform.calling import Uncallable
    from attnlab_theory.conform.judge import Judge


ADAPTER = "write an adapter: attnlab conform --template numpy"

TITLES = {"alignment": "more keys than queries", "future": "keys after the query", "heads": "heads"}
"""What a convention is called in a profile."""

CHOICES = {
    ("alignment", "end"): "end: last query stands at the last key",
    ("alignment", "start"): "start: query 0 stands at key 0",
    ("future", "-inf"): "hidden (-inf)",
    ("future", "finite"): "hidden by a finite number",
    ("future", "ramp"): "higher still: a causal mask has to hide them",
    ("future", "symmetric"): "lower with the distance, as past ones",
    ("future", "zero"): "no bias",
    ("future", ""): "no rule that is known",
}
"""What a value of a convention means."""

FACTS = {
    "explained": "a convention explains the trial call",
    "unexplained": "no convention that is known explains the trial call",
    "again": "the same bits, also after other calls",
    "narrow": "computed in float32, given in float64",
    "slopes rise": "one of {heads} heads has the slope {least}: far keys get no less",
    "slopes are equal": "two of {heads} heads have the same slope: {some}",
    "slopes of its own": "{heads} heads: slopes of its own, {some}",
    "slopes in another order": "{heads} heads: the published slopes in another order, {some}",
    "chosen": "{first}",
    "changes": "{title}: {first} once, then {then}",
}
"""What was found beside numbers, by its key."""


def choice(name: str, value: Any) -> str:
    """A value of a convention."""
    return CHOICES.get((name, value), str(value))


def uncallable(name: str, error: "Uncallable") -> str:
    """Why a target cannot be judged, and the remedy."""
    if error.trouble is not None:
        return f"{name} answered no trial call, such as {error.trouble}. {ADAPTER}"
    if error.parameter:
        return f"{name}: nobody knows what to give for {error.parameter}; {ADAPTER}"
    return f"{name} {'takes' if error.shows else 'shows'} no arguments; {ADAPTER}"


def profile(judge: "Judge") -> list[tuple[str, str]]:
    """How a target is called, a name and what was found each."""
    found = judge.convention
    lines = [("framework", found.framework), ("gives", f"[{' '.join(found.chosen['axes'])}], {judge.gives}")]
    lines.append(("arguments by name", ", ".join(f"{name} ({role})" for role, name in found.names.items())))
    if not judge.explained:
        return lines
    for name, value in found.chosen.items():
        if name in TITLES and name not in found.idle:
            lines.append((TITLES[name], choice(name, value)))
    return lines


def line(found: Finding, judge: "Judge") -> str:
    """What became of an identity."""
    said = _fact(found) if found.fact else ""
    if found.verdict is Verdict.FAILS:
        many = f"{found.failures} of {found.tried}: " if found.tried > 1 and not said else ""
        wrong = [said] * bool(said) + ([_wrong(found, judge.kind.axes)] if found.number or found.trouble else [])
        call = f"; the call: {found.case.call(judge.convention.names)}" if found.case else ""
        return f"{many}{': '.join(wrong)}{call}"
    if found.trouble is not None and found.case is not None:
        return f"{found.case.call(judge.convention.names)} is refused: {found.trouble}"
    return said or f"largest error {found.ratio:.2g} of its tolerance"


def _wrong(found: Finding, axes: str) -> str:
    if found.trouble is ANOTHER_ANSWER:
        return "the same call gives another answer after other calls"
    if found.number is None:
        assert found.trouble is not None
        return str(found.trouble)
    number = found.number
    off = "" if np.isinf(found.ratio) or not found.ratio else f", {found.ratio:,.3g} tolerances off"
    less = f", counted from {[*number.origin]}" if number.origin else ""
    where = f"at [{' '.join(axes)}] = {[*number.place]}{less}"
    return f"{number.given:.7g} where {number.right:.7g} is right{off}, {where}"


def _fact(found: Finding) -> str:
    about = dict(found.about)
    if name := about.get("convention"):
        about |= {"title": TITLES[name]} | {
            key: choice(name, about[key]) for key in ("first", "then") if key in about
        }
    if "slopes" in found.about:
        numbers = found.about["slopes"]
        about["least"] = f"{min(numbers):.4g}"
        about["some"] = ", ".join(f"{x:.4g}" for x in numbers[:4]) + ", ..." * (len(numbers) > 4)
    return FACTS[found.fact].format(**about)


def notes(judge: "Judge") -> list[str]:
    """What was seen on the way, and what was left alone."""
    left = judge.convention.never_passed
    found = [f"never passed: {', '.join(left)}"] if left else []
    return found + ([f"prints while it is called: {judge.printed!r}"] if judge.printed else [])
