"""What a target seems to be, by its parameters and a few calls, and what to type next."""

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.attention.asking import ask
from attnlab_theory.conform.attention.cases import Arrays, Case
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.layouts import has_heads
from attnlab_theory.conform.attention.likely import KINDS as BY_PARAMETER
from attnlab_theory.conform.attention.probe import Seen, probed
from attnlab_theory.conform.attention.suite import AttentionSuite
from attnlab_theory.conform.attention.weighing import weighed
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Fault, Trouble
from attnlab_theory.conform.kinds import KINDS
from attnlab_theory.conform.kinds.recurrence import RECURRENCE
from attnlab_theory.conform.likely import likely
from attnlab_theory.conform.operands import Bound
from attnlab_theory.conform.sequences.mixer import MixerSuite
from attnlab_theory.conform.sequences.normal import numbers
from attnlab_theory.conform.suite import Suite, suite_class

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


def advised(caller: Caller, declared: Mapping[str, Any]) -> Advice:
    """What a target seems to be.

    Args:
        caller: of the target.
        declared: conventions that are known.

    Raises:
        ValueError: if it can be called in no way.
    """
    if kind := likely(caller.about()):
        suite = _suite(caller, kind, declared)
        alone = isinstance(suite, MixerSuite) and _apart(suite)
        return Advice(kind, suite.profile, notes=(MIXER,) if alone else ())
    suite = _attention(caller, "softmax", declared)
    way = suite.judge.way
    seen, reach = _reach(caller, way)
    if reach is None:
        unequal = (
            "equal keys get unequal weights, so something is added to the scores (a bias by itself: --as alibi)"
        )
        line = unequal if seen.is_attention else "with q = k = 0 its rows are no means of the values"
        line = suite.diagnosis or line
        return _others(caller, declared, way) or _unknown(suite, line)
    left, right, length = reach
    kind, options, known = "causal" if right == 0 else "softmax", "", dict(declared)
    if left < length - 1 or 0 < right < length - 1:
        kind = "sliding-window"
        if not _takes_window(caller, declared, way):
            if right not in (0, left):
                return _unknown(suite, f"a query sees {left} keys back and {right} ahead, which no --window W says")
            known["fixed_window"] = left + 1 if right == 0 else left
            options = f" --window {known['fixed_window']}"
    judged = suite if kind == "softmax" else _attention(caller, kind, known)
    found = weighed(caller, judged.kind, judged.judge.way)
    if found is None:
        line = "its rows are means of what they see, but not with the weights of a softmax"
        return _others(caller, declared, way) or _unknown(suite, line)
    options += f" --scale {found.scale}" if found.scale else ""
    if found.cap is not None:
        kind = "softcap" if kind == "softmax" else kind
        options += f" --softcap {found.cap:g}" if kind != "softcap" or "softcap" not in way.names else ""
        known["fixed_softcap"] = found.cap
    elif kind == "softmax" and _grouped(caller, way):
        kind = "grouped-query"
    if kind != judged.name:
        judged = _attention(caller, kind, known)
    more = [BY_PARAMETER[role] for role in way.names if role in BY_PARAMETER]
    notes = (found.note,) if found.note else ()
    return Advice(kind, judged.profile, options, tuple(each for each in more if each != kind), notes)


def _apart(suite: MixerSuite) -> bool:
    """Whether no token is mixed into another, as where positions turn tokens."""
    x, other = (numbers(2, 5, suite.width, "float32", seed) for seed in (1, 2))
    other[:, 1:] = x[:, 1:]
    (one, _), (moved, _) = suite.f(x), suite.f(other)
    if one is None or moved is None:
        return False
    return one.shape == x.shape and bool(np.allclose(one[:, 1:], moved[:, 1:], rtol=1e-5, atol=1e-6))


def _suite(caller: Caller, kind: str, declared: Mapping[str, Any]) -> Suite:
    judge = suite_class(kind)
    return judge(caller, kind, {name: x for name, x in declared.items() if name in judge.CONVENTIONS})


def _attention(caller: Caller, kind: str, declared: Mapping[str, Any]) -> AttentionSuite:
    known = {x: y for x, y in declared.items() if x in AttentionSuite.CONVENTIONS}
    # What is on by default is what it seems to be.
    return AttentionSuite(caller, kind, known | {"rests": False})


def _unknown(suite: AttentionSuite, line: str) -> Advice:
    profile = [(name, text) for name, text in suite.profile if name != "scale"]
    return Advice("", profile, notes=(f"{line}: {CHOOSE}",))


def _reach(caller: Caller, way: Conventions) -> tuple[Seen, tuple[int, int, int] | None]:
    """How many keys before and after itself every query sees, and of how many tokens; None if no band does."""
    found, seen = None, Seen(Trouble(fault=Fault.NOT_CALLED), np.zeros((0, 0, 0, 0)), np.zeros((0, 0)))
    for n in LENGTHS if way.framework != "jax" else LENGTHS[:1]:
        wide = probed(caller, way, fitted(Case(batch=1, queries=n, keys=n), KINDS["softmax"], way))
        if wide.trouble and found is not None:
            break
        seen = wide
        if not seen.is_attention:
            return seen, None
        back = np.arange(n)[:, None] - np.arange(n)
        shown = (seen.weights > 0.1 / n).any((0, 1))
        left, right = int(back[shown].max()), int(-back[shown].min())
        if not seen.equals((back <= left) & (back >= -right)):
            return seen, None
        found = max(left, 0), max(right, 0), n
        if found[0] < n - 1 or 0 < found[1] < n - 1:
            break
    return seen, found


def _takes_window(caller: Caller, declared: Mapping[str, Any], way: Conventions) -> bool:
    """Whether it has an argument for a window, whose meaning is known."""
    if "window" not in way.names:
        return False
    with contextlib.suppress(ValueError):
        return bool(_attention(caller, "sliding-window", declared).judge.way.window)
    return False


def _grouped(caller: Caller, way: Conventions) -> bool:
    """Whether fewer heads of keys than of queries are taken, and shared in a known order."""
    if not has_heads(way.layout):
        return False
    case = fitted(Case(heads=4, queries=5, keys=5), KINDS["grouped-query"], way)
    seen = probed(caller, way, case)
    first = np.arange(case.batch)[:, None] * case.groups
    orders = (np.arange(4) // 2, np.arange(4) % 2)
    return not seen.trouble and any(np.array_equal(seen.owners, first + order) for order in orders)


def _others(caller: Caller, declared: Mapping[str, Any], way: Conventions) -> Advice | None:
    """Linear attention with a feature map that is known, or a recurrence with a decay."""
    with contextlib.suppress(ValueError):
        suite = _suite(caller, "linear", declared)
        return Advice("linear", suite.profile)
    rates = _decays(caller, way)
    if rates is None:
        return None
    profile = [("framework", way.framework), ("layout", " ".join(way.layout)), ("decay of each head", rates)]
    bound = Bound(caller.about()["parameters"], RECURRENCE.operands, placed=RECURRENCE.placed)
    if {*RECURRENCE.ways} & {*bound.names}:
        with contextlib.suppress(ValueError):
            return Advice("recurrent", [*_suite(caller, "recurrent", declared).profile, profile[-1]])
    note = "it has no argument for a state or for chunks: FUNCTION is another form of it"
    return Advice("recurrent", profile, " --against FILE.py::FUNCTION", notes=(note,))


def _decays(caller: Caller, way: Conventions) -> str | None:
    """The decay of each head, if a token's products with those before it fall by a constant factor."""
    case = fitted(Case(batch=1, queries=8, keys=8, width=8, value_width=8), KINDS["softmax"], way)
    ones = np.ones((1, case.heads, 8, 8), "float32")
    v = np.broadcast_to(np.eye(8, dtype="float32"), ones.shape)
    plain = dataclasses.replace(way, same_width=False)
    answer = ask(caller, plain, case, Arrays(ones, ones[:, : case.groups], v[:, : case.groups], None, None))
    if answer.trouble:
        return None
    back = np.arange(8)[:, None] - np.arange(8)
    rates = []
    for weights in answer.output[0]:
        first, rate = weights[0, 0], weights[1, 0] / (weights[1, 1] or np.nan)
        if not 0 < rate <= 1 or not np.allclose(
            weights, first * np.where(back >= 0, rate ** abs(back), 0), rtol=1e-2
        ):
            return None
        rates.append(f"{rate:.3g}")
    return ", ".join(dict.fromkeys(rates))
