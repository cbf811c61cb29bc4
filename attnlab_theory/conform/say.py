"""Sentences: what was found of a declared kind, in English."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlab_theory.conform.finding import ANOTHER_ANSWER, Fault, Finding, Trouble, Verdict
from attnlab_theory.conform.kind import Kind
from attnlab_theory.conform.operands import OPERANDS

if TYPE_CHECKING:
    from attnlab_theory.conform.calling import Convention, Uncallable
    from attnlab_theory.conform.judge import Judge


ADAPTER = "write an adapter: attnlab conform --template numpy"

TITLES = {
    "layout": "layout",
    "features": "features",
    "normaliser": "normaliser",
    "scale": "scale of queries",
    "floor": "added to features",
    "added": "added to the normaliser",
    "at least": "the normaliser is at least",
    "causal": "hides the future",
    "mask": "mask",
    "alignment": "more keys than queries",
    "more keys": "more keys than queries",
    "future": "keys after the query",
    "heads": "heads",
    "type": "judged in",
    "inside": "computed in",
}
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
    ("features", "elu"): "elu: elu(x) + 1, Katharopoulos et al. 2020, eq. (7)",
    ("features", "relu"): "relu: max(x, 0), Choromanski et al. 2021, generalised attention",
    ("features", "exp"): "exp: exp(x), Choromanski et al. 2021, generalised attention",
    ("features", "identity"): "identity: x, Schlag et al. 2021; ONNX's operator",
    ("features", "softmax"): "softmax: softmax over the channels, after Shen et al. 2018",
    ("features", "efficient"): (
        "efficient: softmax over the channels of q, over the tokens of k, Shen et al. 2018"
    ),
    ("normaliser", True): "yes",
    ("normaliser", False): "no",
    ("scale", "one"): "1",
    ("scale", "rsqrt"): "1/sqrt(width)",
    ("scale", "inverse"): "1/width",
    ("added", 0.0): "nothing that is seen",
    ("more keys", None): "taken",
    ("causal", "never"): "no",
    ("mask", "bool-keep"): "True keeps a key",
    ("mask", "bool-drop"): "True drops a key",
    ("mask", "ones-keep"): "1 keeps a key",
    ("mask", "ones-drop"): "1 drops a key",
}
"""What a value of a convention means."""

FACTS = {
    "explained": "a convention explains the trial call",
    "unexplained": "no convention that is known explains the trial call",
    "again": "the same bits, also after other calls",
    "narrow": "computed in float32: {excess:,.2g} tolerances of float64, within those of float32",
    "inside": "computed in float32: the same as for inputs in float32",
    "untouched": "no call writes into what it is given",
    "empty batch": "an empty batch is given back",
    "refused": "refused",
    "loose": "tolerances exceed the range of the values",
    "unexplained parameter": "outputs do not follow {parameter}, whether it means {values}",
    "blind row": "{value:.3g} where all features of a query are 0",
    "state again": "a state can be continued twice",
    "state shape": "its shape depends on the parts: {one}, {other}",
    "state is used up": "a state is used up by the call that continues it",
    "normaliser": (
        "values of one give {given:.4g} where the normaliser is {size:.3g}, which nothing added to it explains"
    ),
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
    if isinstance(value, Trouble):
        return f"refused: {value}"
    if name == "layout":
        return " ".join(value)
    return CHOICES.get((name, value), f"{value:g}" if isinstance(value, float) else str(value))


def uncallable(name: str, kind: Kind, error: "Uncallable") -> str:
    """Why a target cannot be judged, and the remedy."""
    if error.troubles:
        such = "; ".join(map(str, error.troubles[:2]))
        more = "Say --layout or --framework, or " if kind.placed else ""
        return f"{name} answered no trial call, such as {such}. {more}{ADAPTER}"
    if error.parameter:
        return f"{name}: nobody knows what to give for {error.parameter}; {ADAPTER}"
    if error.takes:
        return f"{name}: it takes {', '.join(error.takes)}, but is called as f({', '.join(kind.placed)}); {ADAPTER}"
    if error.ways:
        ways = " or for ".join(f"a {each}" for each in error.ways)
        return (
            f"{name} has no argument for {ways}: say --against FILE.py::FUNCTION, another form of it, or {ADAPTER}"
        )
    if error.convention:
        stages = [each for stage in kind.stages for each in (stage.forms, stage.choices)]
        values = next((x[error.convention] for x in stages if error.convention in x), ())
        if error.residual:
            return (
                f"{name}: its {error.convention} are none of {', '.join(values)}; the nearest, {error.value}, is "
                f"off by {error.residual:.2g} of the output. Say --{error.convention} to judge it by one of them"
            )
        meanings = ", ".join(OPERANDS[error.convention].meanings)
        return f"{name}: --{error.convention} {error.value} is not known here; it is {meanings} or none"
    return f"{name} {'takes' if error.shows else 'shows'} no arguments; {ADAPTER}"


def profile(found: "Convention", kind: Kind, declared: Mapping[str, Any], gives: str = "") -> list[tuple[str, str]]:
    """How a target is called, a name and what was found each.

    Args:
        found: how.
        kind: what it promises.
        declared: what was known before.
        gives: the type of its answers, where it is handed none.
    """
    lines = [("framework", found.framework)]
    if not found.layout:
        lines.append(("gives", f"[{' '.join(found.gives(kind.axes))}], {gives}"))
    named = {role: name for role, name in found.names.items() if role not in kind.placed}
    if plain := [f"{name} ({role})" for role, name in named.items() if not OPERANDS[role].axes]:
        lines.append(("arguments by name", ", ".join(plain)))
    if found.residual > kind.near and not kind.declare and kind.right:
        return lines
    for name, value in found.chosen.items():
        role = name.removesuffix(" axes")
        title = named.get(role) if OPERANDS.get(role) and OPERANDS[role].meanings else TITLES.get(name)
        if role != name:
            lines.append((role, f"{named[role]} [{' '.join(value)}]"))
        elif title and name not in found.idle and (value or (name, value) in CHOICES):
            said = f"by {named[name]}" if value == "asked" else choice(name, value)
            lines.append((title, f"{said} (declared)" if name in declared else said))
    return lines


def line(found: Finding, judge: "Judge") -> str:
    """What became of an identity."""
    said = _fact(found) if found.fact else ""
    if found.verdict is Verdict.NOT_JUDGED:
        return FACTS["loose"]
    if found.verdict is Verdict.FAILS:
        many = f"{found.failures} of {found.tried}: " if found.tried > 1 and not said and not found.beside else ""
        wrong = [said] * bool(said) + ([_wrong(found, judge.kind.axes)] if found.number or found.trouble else [])
        call = f"; the call: {judge.convention.call(found.case)}" if found.case else ""
        return f"{many}{': '.join(wrong)}{call}"
    if found.trouble is not None:
        return (f"{judge.convention.call(found.case)} is " if found.case else "") + f"refused: {found.trouble}"
    few = f"; {found.loose} not judged" if found.loose else ""
    return said or f"largest error {found.ratio:.2g} of its tolerance{few}"


def _wrong(found: Finding, axes: str) -> str:
    if found.trouble is ANOTHER_ANSWER:
        return "the same call gives another answer after other calls"
    if found.trouble is not None and found.trouble.fault is Fault.WROTE:
        return "a call writes into its input"
    if found.number is None:
        assert found.trouble is not None
        return str(found.trouble)
    number = found.number
    ratio = abs(number.given - number.right) / number.most if number.most else np.inf
    off = f", {ratio:,.3g} tolerances off" if np.isfinite(ratio) else ""
    less = f", counted from {[*number.origin]}" if number.origin else ""
    where = f"at [{' '.join(axes[: len(number.place)])}] = {[*number.place]}{less}"
    if found.beside and found.case and found.case.edits != found.beside.edits:
        return f"{number.right:.7g} moves to {number.given:.7g}{off}, {where}"
    right = "is what the whole gives" if found.beside else "is right"
    return f"{number.given:.7g} where {number.right:.7g} {right}{off}, {where}"


def _fact(found: Finding) -> str:
    about = dict(found.about)
    if "values" in about:
        about["values"] = " or ".join(about["values"])
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
    """What was seen on the way."""
    found = [f"gives {got} for {given}" for given, got in judge.kinds.items() if got != given] * bool(
        judge.kind.gives
    )
    return found + ([f"prints while it is called: {judge.printed!r}"] if judge.printed else [])
