"""Which kind a target seems to be, by the names of its parameters alone."""

from collections.abc import Sequence
from typing import Any

from attnlab_theory.conform.kinds import recurrence
from attnlab_theory.conform.kinds.absorption import LATENT
from attnlab_theory.conform.kinds.alibi import ALIBI
from attnlab_theory.conform.kinds.best_keys import TOP_K
from attnlab_theory.conform.kinds.difference import BY_NAME, DIFFERENTIAL
from attnlab_theory.conform.kinds.page_table import PAGED
from attnlab_theory.conform.operands import OPERANDS

BY_NEED = {"window": "sliding-window", "softcap": "softcap", "bias": "bias"}
"""The kinds that judge what a parameter does which must be given."""


TOLD = (
    ("paged", PAGED),
    ("latent", LATENT),
    ("differential", BY_NAME),
    ("differential", DIFFERENTIAL),
    ("top-k", TOP_K),
)
"""The kinds that have parameters which no other kind has."""


def likely(about: dict[str, Any]) -> str:
    """A kind; empty if it looks like a function of queries, keys and values."""
    for name, kind in TOLD:
        if kind.is_told_by(about["parameters"]):
            return name
    # A recurrence has a state as attention has a cache, so its decay is looked for first.
    for each in (positions, chances, recurrence.likely, of_tokens):
        if kind := each(about):
            return kind
    must = [name.lower() for name, _, required in about["parameters"] or () if required]
    if [name[:1] for name in must[:3]] != ["q", "k", "v"]:
        return ""
    return next((kind for role, kind in BY_NEED.items() if {*must[3:]} & {*OPERANDS[role].spellings}), "")


def positions(about: dict[str, Any]) -> str:
    """A kind of positions, or nothing."""
    found = [(name.lower().strip("_"), required) for name, _, required in about["parameters"] or ()]
    must = [name for name, required in found if required]

    def has(role: str, names: Sequence[str]) -> bool:
        return any(name in OPERANDS[role].spellings for name in names)

    known = [name for name, _ in found]
    if not must or "v" in known or "value" in known:
        return ""
    if has("x", must) and ((has("cos", known) and has("sin", known)) or has("positions", known)):
        return "rotary"
    if has("heads", must[:1]) and all(any(has(role, [name]) for role in ALIBI.operands) for name in must[1:]):
        return "alibi" if len(must) > 1 else ""
    return "sinusoidal" if len(must) == 2 and has("rows", must[:1]) and has("width", must[1:]) else ""


def chances(about: dict[str, Any]) -> str:
    """dropout or random-features, where a rate or a source of randomness must be given; else nothing."""
    must = [name.lower() for name, _, required in about["parameters"] or () if required]
    attends = len(must) > 2 and [name[:1] for name in must[:3]] == ["q", "k", "v"]
    rest = must[3:] if attends else must[1:]
    if attends and any(name in OPERANDS["rate"].spellings for name in rest):
        return "dropout"
    return "random-features" if len(rest) == 1 and rest[0] in OPERANDS["source"].spellings else ""


def of_tokens(about: dict[str, Any]) -> str:
    """mixer, decode or model."""
    parameters = about["parameters"] or ()
    names = {name.lower() for name, *_ in parameters}
    if names & {*OPERANDS["ids"].spellings, "idx"}:
        return "model"
    caches = [{*OPERANDS[role].spellings} & names for role in ("cache", "past keys", "past values")]
    if "step" in about.get("methods", {}) or caches[0] or (caches[1] and caches[2]):
        return "decode"
    places = [name for name, kind, _ in parameters if kind in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
    spreads, must = any(kind == "VAR_POSITIONAL" for _, kind, _ in parameters), [x for *_, x in parameters if x]
    return "mixer" if places and len(must) == 1 and len(places) < 3 and not spreads else ""
