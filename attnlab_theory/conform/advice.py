"""What a target seems to be, by its parameters and a few calls, and what to type next."""

import contextlib
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.declarations import DeclaredSuite
from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kinds.recurrence import RECURRENCE
from attnlab_theory.conform.kinds.softmax.laws import UNIT
from attnlab_theory.conform.likely import BY_NEED, likely
from attnlab_theory.conform.operands import Bound
from attnlab_theory.conform.suite import Suite, suite_class
from attnlab_theory.plurals import several

LENGTHS = (24, 150)
"""Tokens at which a window is looked for: a narrow one first, then a wide one."""

MIXER = (
    "no token is mixed into another, and f(x) alone does not say why: if it is rotary positions, --as rotary; if "
    "sinusoidal ones are added, --as sinusoidal"
)

CHOOSE = "choose KIND yourself (attnlab conform -h). If it should be a softmax, --as softmax says where it is none"


class Advice(NamedTuple):
    """What a target seems to be."""

    kind: str
    """Empty if no kind explains its answers."""
    profile: list[tuple[str, str]]
    options: str = ""
    """What the next line needs beside the kind."""
    more: tuple[str, ...] = ()
    """Further kinds."""
    notes: tuple[str, ...] = ()
    leak: str = ""
    """How the future is seen, where it seems to be hidden."""
    contradictions: tuple[str, ...] = ()
    """What trial calls show that the kind does not allow."""


def advised(caller: Caller, declared: Mapping[str, Any]) -> Advice:
    """What a target seems to be.

    Raises:
        ValueError: if it can be called in no way.
    """
    if kind := likely(caller.about()):
        suite = _suite(caller, kind, declared)
        notes = _notes(suite.judge) if isinstance(suite, DeclaredSuite) and kind == "mixer" else ()
        return Advice(kind, suite.profile, notes=notes, contradictions=_contradictions(suite))
    suite = _attention(caller, "softmax", declared)
    convention = suite.judge.convention
    seen, reach = _reach(suite.judge)
    if leak := _leak(caller, declared, seen):
        profile = [(name, text) for name, text in suite.profile if name != "scale"]
        why = _contradictions(suite) if convention.diagnosed else ()
        return Advice("causal", profile, leak=leak, contradictions=why[:1])
    if reach is None:
        line = "with q = k = 0 its rows are no means of the values"
        if seen is not None and _sums_to_one(seen):
            line = (
                "equal keys get unequal weights, so something is added to the scores (a bias by itself: --as alibi)"
            )
        line = suite.failures[0][1] if convention.diagnosed else line
        return _others(suite.judge, declared) or _unknown(suite, line)
    left, right, length = reach
    if left == 0 and right == length - 1 > 0:
        profile = [(name, text) for name, text in suite.profile if name != "scale"]
        return Advice("causal", profile, leak="a leak: every query sees what comes after it, and nothing before")
    # A triangle that is some diagonals off is one, and no window.
    is_off = left == length - 1 and 0 < right < length - 1
    kind, options, known = "causal" if right == 0 or is_off else "softmax", "", dict(declared)
    if (left < length - 1 or 0 < right < length - 1) and not is_off:
        kind = "sliding-window"
        if not _takes_window(caller, declared):
            if right not in (0, left):
                return _unknown(suite, f"a query sees {left} keys back and {right} ahead, which no --window W says")
            known["fixed_window"] = left + 1 if right == 0 else left
            options = f" --window {known['fixed_window']}"
    judged = suite if kind == "softmax" else _attention(caller, kind, known)
    if is_off:
        line = f"every query sees {several(right, 'key')} after itself, and none later"
        return Advice(kind, judged.profile, leak=f"a leak: {line}")
    found = weighed(judged.judge)
    if found is None and kind == "softmax" and _later_keys_count_alike(judged.judge):
        line = "a leak: later values are seen, with weights that no later key moves: scores were set to 0"
        return Advice("causal", [each for each in judged.profile if each[0] != "scale"], leak=line)
    if found is None:
        line = "its rows are means of what they see, but not with the weights of a softmax"
        return _others(suite.judge, declared) or _unknown(suite, line)
    options += f" --scale {found.scale}" if found.scale else ""
    if found.cap is not None:
        kind = "softcap" if kind == "softmax" else kind
        options += f" --softcap {found.cap:g}" if kind != "softcap" or "softcap" not in convention.names else ""
        known["fixed_softcap"] = found.cap
    elif kind == "softmax" and convention.chosen["shares"]:
        kind = "grouped-query"
    if kind != judged.name:
        judged = _attention(caller, kind, known)
    more = [BY_NEED[role] for role in convention.names if role in BY_NEED]
    notes = (found.note,) if found.note else ()
    further = tuple(each for each in more if each != kind)
    return Advice(kind, judged.profile, options, further, notes, contradictions=_contradictions(judged))


def _contradictions(suite: Suite) -> tuple[str, ...]:
    """What the trial calls of a suite show that its kind does not allow, in words."""
    found = suite.failures if isinstance(suite, DeclaredSuite) else []
    return tuple(f"{name}: {line}" for name, line in found)


def _leak(caller: Caller, declared: Mapping[str, Any], seen: np.ndarray | None) -> str:
    """How the future moves what gives it no weight where all scores are alike; empty if it does not."""
    if seen is None:
        return ""
    weights = np.abs(seen[0, 0]) > 0.1 / max(seen.shape[-1], 1)
    # Of the first head, whose values no offset moves.
    if not np.tril(weights, -1).any() or np.triu(weights, 1).any():
        return ""
    with contextlib.suppress(ValueError):
        row = _attention(caller, "causal", declared).row("causality")
        return row.line if row and row.verdict is Verdict.FAILS else ""
    return ""


def _later_keys_count_alike(judge: Judge) -> bool:
    """Whether later values move an output, and later keys do not: a mask has set their scores to one number."""
    case = judge.cases([{"length": 8, "seed": 1}])[0]
    edits = ("", "k[:, :, 4:] = -k[:, :, 4:]", "k[:, :, :4] = -k[:, :, :4]", "v[:, :, 4:] = -v[:, :, 4:]")
    answers = [judge.ask(case.replaced(edits=(edit,)) if edit else case) for edit in edits]
    if any(each.trouble for each in answers):
        return False
    one, later, earlier, values = (each.numbers[:, :, :4] for each in answers)
    near = 1e-5 * np.abs(one).max(initial=1.0)
    return bool(np.abs(later - one).max() <= near < min(np.abs(each - one).max() for each in (earlier, values)))


def _notes(judge: Judge) -> tuple[str, ...]:
    """What is odd about a mixer: it mixes no tokens, or an output sees the next token and none later."""
    case = judge.cases([{"length": 9, "seed": 1}])[0]
    edits = (f"sequence[:, {i}] = -sequence[:, {i}]" for i in (0, -1))
    answers = [judge.ask(each) for each in (case, *(case.replaced(edits=(edit,)) for edit in edits))]
    if any(each.trouble or each.numbers.shape[-1] != case["width"] for each in answers):
        return ()
    one, early, late = (each.numbers for each in answers)
    if np.allclose(one[:, 1:], early[:, 1:], rtol=1e-5, atol=1e-6):
        return (MIXER,)
    moved = np.abs(late - one).max((0, 2))[:-1] > 1e-5 * np.abs(one).max(initial=1.0)
    ahead = int(moved.sum())
    if judge.declared.get("causal") or not 0 < ahead < len(moved) or not moved[-ahead:].all():
        return ()
    return (
        f"an output sees {several(ahead, 'token')} after its own and none later: if it should see none, --causal",
    )


def _suite(caller: Caller, kind: str, declared: Mapping[str, Any]) -> Suite:
    judge = suite_class(kind)
    return judge(caller, kind, {name: x for name, x in declared.items() if name in judge.CONVENTIONS})


def _attention(caller: Caller, kind: str, declared: Mapping[str, Any]) -> DeclaredSuite:
    # What is on by default is what it seems to be.
    suite = _suite(caller, kind, {**declared, "rests": False})
    assert isinstance(suite, DeclaredSuite)
    return suite


def _unknown(suite: DeclaredSuite, line: str) -> Advice:
    profile = [(name, text) for name, text in suite.profile if name != "scale"]
    return Advice("", profile, notes=(f"{line}: {CHOOSE}",))


def _reach(judge: Judge) -> tuple[np.ndarray | None, tuple[int, int, int] | None]:
    """What equal keys get, if numbers come; how many keys before and after itself every query sees, of how
    many tokens, or None if no band does."""
    found, weights = None, None
    for n in LENGTHS[:1] if judge.compiles else LENGTHS:
        same = {"width": n} if judge.convention.chosen["same width"] else {}
        spec = {"batch": 1, "length": n, "value_width": n, "values": "zeros", "edits": UNIT, **same}
        answer = judge.ask(judge.cases([spec])[0])
        if answer.trouble and found is not None:
            break
        if answer.trouble or not np.isfinite(answer.numbers).all():
            return None, None
        weights = answer.numbers[..., :n]
        if not _sums_to_one(weights):
            return weights, None
        back = np.arange(n)[:, None] - np.arange(n)
        shown = (weights > 0.1 / n).any((0, 1))
        if not shown.any():
            return weights, None
        left, right = int(back[shown].max()), int(-back[shown].min())
        band = (back <= left) & (back >= -right)
        if np.abs(weights - band / np.maximum(band.sum(-1, keepdims=True), 1)).max() > 0.1 / n:
            return weights, None
        found = max(left, 0), max(right, 0), n
        if found[0] < n - 1 or 0 < found[1] < n - 1:
            break
    return weights, found


def _sums_to_one(weights: np.ndarray) -> bool:
    return bool(np.abs(weights.sum(-1) - 1).max() <= 0.01)


def _takes_window(caller: Caller, declared: Mapping[str, Any]) -> bool:
    """Whether it has an argument for a window, whose meaning is known."""
    if "window" not in Bound(caller.about()["parameters"], ("q", "k", "v", "window")).names:
        return False
    with contextlib.suppress(ValueError):
        return _attention(caller, "sliding-window", declared).judge.explained
    return False


def _others(judge: Judge, declared: Mapping[str, Any]) -> Advice | None:
    """Linear attention with a feature map that is known, sigmoids, stick-breaking, or a recurrence with a decay."""
    caller, convention = judge.caller, judge.convention
    for kind in ("linear", "sigmoid", "stick-breaking"):
        with contextlib.suppress(ValueError):
            suite = _suite(caller, kind, declared)
            if isinstance(suite, DeclaredSuite) and suite.judge.explained:
                return Advice(kind, suite.profile)
    rates = _decays(judge)
    if rates is None:
        return None
    profile = [
        ("framework", convention.framework),
        ("layout", " ".join(convention.layout)),
        ("decay of each head", rates),
    ]
    bound = Bound(caller.about()["parameters"], RECURRENCE.operands, placed=RECURRENCE.placed)
    if {*RECURRENCE.ways} & {*bound.names}:
        with contextlib.suppress(ValueError):
            return Advice("recurrent", [*_suite(caller, "recurrent", declared).profile, profile[-1]])
    note = "it has no argument for a state or for chunks: FUNCTION is another form of it"
    return Advice("recurrent", profile, " --against FILE.py::FUNCTION", notes=(note,))


def _decays(judge: Judge) -> str | None:
    """The decay of each head, if a token's products with those before it fall by a constant factor."""
    edits = ("q[:] = 1; k[:] = 1", *UNIT)
    case = judge.cases([{"batch": 1, "length": 8, "width": 8, "value_width": 8, "edits": edits}])[0]
    answer = judge.ask(case)
    if answer.trouble:
        return None
    back = np.arange(8)[:, None] - np.arange(8)
    rates = []
    for weights in answer.numbers[0]:
        first, rate = weights[0, 0], weights[1, 0] / (weights[1, 1] or np.nan)
        if not 0 < rate <= 1 or not np.allclose(
            weights, first * np.where(back >= 0, rate ** abs(back), 0), rtol=1e-2
        ):
            return None
        rates.append(f"{rate:.3g}")
    return ", ".join(dict.fromkeys(rates))


FITS = 5e-3
"""An answer this near is that of a softmax. Feature maps are further off."""

MOST_CAP = 1e3
"""A higher cap is none: scores of 12 show it no more."""

PRODUCTS = (0.25, 12.0)
"""Scores that show the scale, and the cap."""


class Weighing(NamedTuple):
    """What a softmax needs to explain an answer, beside the conventions that are known."""

    scale: str
    """As `--scale` has it; empty if that which is known is right."""
    cap: float | None
    note: str = ""
    """What is odd about the scale."""


def weighed(judge: Judge) -> Weighing | None:
    """Compare random numbers with an exact softmax, with the scale and the cap that single scores show.

    Returns:
        What explains the answers; None if nothing of it does.
    """
    sizes = {"length": 6, "width": 8, "value_width": 8, "seed": 2}
    case = judge.cases([sizes])[0]

    def near(**more: Any) -> bool:
        trouble, off = judge.tried({**sizes, **more.pop("spec", {})}, **more)
        return not trouble and off < FITS * (1 + np.abs(np.nan_to_num(judge.expected(case).output)).max())

    plain, own = near(), judge.expected(case).about["problem"].scale
    free = judge.cases([{**sizes, "queries": 1, "keys": 2}]) if not case["causal"] else []
    shown = _shown(judge, free[0] if free and not case["window"] else case, own)
    if shown is None:
        return Weighing("", None) if plain else None
    scale, cap = shown
    name = "" if math.isclose(scale, own, rel_tol=2e-3) else _named(scale, case["width"])
    fitting = {"fixed_softcap": cap, **({"scale": name} if name else {})}
    if near(**fitting):
        if name and name not in scales.NAMES and not near(**fitting, spec={"width": 4, "value_width": 4}):
            return Weighing("", cap, f"its scale is {name} at width {case['width']}, and none that is known")
        return Weighing(name, cap)
    return Weighing("", None) if plain else None


def _named(scale: float, width: int) -> str:
    near = [name for name in scales.NAMES if math.isclose(scale, scales.factor(name, width), rel_tol=2e-3)]
    return near[0] if near else f"{scale:.3g}"


def _shown(judge: Judge, case: Case, own: float) -> tuple[float, float | None] | None:
    """The scale and the cap: from the weights of the last key and of the key before, which is 0."""
    scores = []
    for product in PRODUCTS:
        root = math.sqrt(product / own)
        edits = f"q[:] = 0; k[:] = 0; v[:] = 0; q[..., 0] = {root!r}; k[..., -1, 0] = {root!r}"
        answer = judge.ask(case.replaced(edits=(edits, "v[..., -1, 0] = 1; v[..., -2, 1] = 1")))
        if answer.trouble:
            return None
        last, before = answer.numbers[0, 0, -1, 0], answer.numbers[0, 0, -1, 1]
        if not (last > 0 and before > 0):
            return None
        scores.append(math.log(last / before))
    scale = own * scores[0] / PRODUCTS[0]
    high = PRODUCTS[1] * scores[0] / PRODUCTS[0]
    if not 0 < scores[1] < high * 0.9999:
        return scale, None
    low, top = 1e-3, 1e6
    for _ in range(80):
        middle = math.sqrt(low * top)
        low, top = (middle, top) if middle * math.tanh(high / middle) < scores[1] else (low, middle)
    return (scale, None) if low > MOST_CAP else (scale, float(f"{low:.3g}"))
