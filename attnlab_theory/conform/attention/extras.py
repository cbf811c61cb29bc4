"""What a target takes beside what its kind promises: a flag that hides the future, fewer heads of keys, a window.

It is promised by nobody. But who takes it must get it right beside everything else. What is refused, or has no
meaning that we know, is told and left alone.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.attention.cases import Case
from attnlab_theory.conform.attention.conventions import WINDOWS, Conventions, within
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.layouts import has_batch, has_heads
from attnlab_theory.conform.attention.padding import UNLIKE, follows
from attnlab_theory.conform.attention.probe import Seen, order_of_heads, probed
from attnlab_theory.conform.attention.profiles import Profile, contradicts
from attnlab_theory.conform.attention.windows import PAIRS
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Fault, Trouble
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.recording import remembered

WIDTH, TOKENS = 3, 9
"""A window that hides something, and of how many tokens."""

SIDED = ("w keys to either side", "w/2 to either side")
"""Windows of which a flag that hides the future may make another."""


def flagged(caller: Caller, kind: Kind, profile: Profile) -> Profile:
    """What a flag does that hides the future, where the kind does not promise that."""
    way, lines = profile.way, list(profile.lines)
    if "causal" not in way.names or way.causal != "never":
        return profile
    name, trial = way.names["causal"], dataclasses.replace(way, causal="asked")
    seen = probed(caller, trial, fitted(Case(queries=6, keys=6, causal=True), kind, trial))
    if not seen.equals(np.tri(6, dtype=bool)):
        why = f"refused: {seen.trouble}" if seen.trouble else "hides something else than the future"
        return Profile(way, [*lines, (f"{name}=True", why)], profile.failures)
    seen = probed(caller, trial, fitted(Case(queries=3, keys=5, causal=True), kind, trial))
    ends = {"end": np.tri(3, 5, 2, dtype=bool), "start": np.tri(3, 5, dtype=bool)}
    found = next((end for end, right in ends.items() if seen.equals(right)), "square")
    if kind.wants == "window" and way.alignment != found:
        # Its window is aligned in another way.
        return Profile(
            way, [*lines, (f"{name}=True", f"{found}, and the window {way.alignment}")], profile.failures
        )
    words = {"end": "last query sees the last key", "start": "query 0 sees key 0 only", "square": "as many keys"}
    way = dataclasses.replace(trial, alignment=found)
    return Profile(way, [*lines, (f"{name}=True", f"hides the future: {words[found]}")], profile.failures)


def sharing(caller: Caller, kind: Kind, profile: Profile) -> Profile:
    """Whether fewer heads of keys than of queries are taken, and in which order."""
    way = profile.way
    if kind.grouped or not has_heads(way.layout):
        return profile
    case = dataclasses.replace(fitted(Case(queries=5, keys=5), kind, way), heads=4, groups=2)
    seen = probed(caller, way, case)
    if seen.trouble or (order := order_of_heads(seen, case)) is None:
        return profile
    way = dataclasses.replace(way, shares=True, interleaved=order)
    told = "h % groups (interleaved)" if order else "h // (heads / groups) (neighbours share)"
    return Profile(way, [*profile.lines, ("head h reads the keys", told)], profile.failures)


def spanned(caller: Caller, kind: Kind, profile: Profile) -> Profile:
    """What a window means where the kind does not promise one, and what it means beside a flag."""
    way = profile.way
    if "window" not in way.names:
        return profile
    name, lines = way.names["window"], list(profile.lines)
    flag = way.causal == "asked"
    if kind.wants != "window":
        for paired in PAIRS:
            trial = dataclasses.replace(way, paired=paired)
            meaning, seen = _meaning(caller, kind, trial, causal=False if flag else None)
            ends = _ends(caller, kind, dataclasses.replace(trial, window=meaning)) if meaning else []
            # Beside a hidden future it must stand to the keys as that does.
            if meaning and (way.alignment in ends or way.causal == "never"):
                end = way.alignment if way.alignment in ends else (*ends, "square")[0]
                way = dataclasses.replace(trial, window=meaning, alignment=end)
                told = meaning + (f", handed over as {paired}" if paired else "")
                lines.append((f"{name} = w", told))
                break
        else:
            return Profile(way, lines, profile.failures)
    if not flag or not way.window:
        return Profile(way, lines, profile.failures)
    beside, seen = _meaning(caller, kind, way, causal=True)
    if beside and beside != way.window and way.window in SIDED:
        lines.append((f"{name} = w beside {way.names['causal']}", beside))
        way = dataclasses.replace(way, causal_window=beside)
    elif beside != way.window and not seen.trouble:
        right = within(way.window, WIDTH, TOKENS, TOKENS, 0) & np.tri(TOKENS, dtype=bool)
        row = int(np.argmax(np.abs(seen.weights[0, 0] - right / right.sum(-1, keepdims=True)).max(-1)))
        sees = np.flatnonzero(seen.weights[0, 0, row] > 0.01).tolist()
        line = f"{name}={WIDTH} beside {way.names['causal']}=True: query {row} of {TOKENS} sees {sees}"
        contradicts(caller, profile, "pairs", line, seen, right)
    return Profile(way, lines, profile.failures)


ADDED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "segments": ("packed documents", {"segments": True}),
    "sinks": ("sinks", {"sinks": "normal"}),
    "slopes": ("slopes", {"slopes": True}),
}
"""What else may be handed over, by its role: the identity that judges it, and fields of a case."""

MEANS = {
    "segments": "equal numbers see each other",
    "sinks": "the score of one more key of each head, whose value is 0",
    "slopes": "scores fall by it with the distance",
}


def added(caller: Caller, kind: Kind, profile: Profile) -> Profile:
    """Numbers of documents, sinks and slopes: taken as we know them, refused, or wrong."""
    way, lines = profile.way, list(profile.lines)
    for role, (identity, fields) in ADDED.items():
        if role not in way.names or role in way.musts:
            continue
        found: Trouble | np.ndarray | None = Trouble(fault=Fault.NOT_CALLED)
        if has_batch(way.layout) if role == "segments" else has_heads(way.layout):
            found = follows(caller, kind, way, fields)
        if found is None:
            lines.append((way.names[role], MEANS[role]))
            continue
        if isinstance(found, Trouble):
            lines.append((way.names[role], f"not judged: {found}"))
        else:
            profile.failures.append((identity, f"{way.names[role]}: {UNLIKE}, where {MEANS[role]}"))
            remembered(caller, identity)
        way = dataclasses.replace(way, names={x: name for x, name in way.names.items() if x != role})
    return Profile(way, lines, profile.failures)


def _ends(caller: Caller, kind: Kind, way: Conventions) -> list[str]:
    """How a window may stand to more keys than queries, as `Conventions.alignment` has it."""
    causal = False if way.causal == "asked" else None
    case = fitted(Case(queries=TOKENS - 2, keys=TOKENS, window=WIDTH, causal=causal), kind, way)
    seen = probed(caller, way, case)
    if seen.trouble:
        return ["square"]
    both = {end: dataclasses.replace(way, alignment=end) for end in ("end", "start")}
    return [end for end, trial in both.items() if seen.equals(trial.visible(case, None))]


def _meaning(caller: Caller, kind: Kind, way: Conventions, *, causal: bool | None) -> tuple[str, Seen]:
    """The first meaning that explains a window, that which is known already before others; empty if none does."""
    case = fitted(Case(queries=TOKENS, keys=TOKENS, window=WIDTH, causal=causal), kind, way)
    seen = probed(caller, way, case)
    past = np.tri(TOKENS, dtype=bool) if way.is_causal(case) else np.ones((TOKENS, TOKENS), bool)
    for meaning in dict.fromkeys((way.window or WINDOWS[0], *WINDOWS)):
        if seen.equals(within(meaning, WIDTH, TOKENS, TOKENS, 0) & past):
            return meaning, seen
    return "", seen
