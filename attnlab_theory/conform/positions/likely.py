"""Which kind of positions a target seems to be, by the names of its parameters alone."""

from typing import Any

from attnlab_theory.conform.kinds.alibi import ALIBI
from attnlab_theory.conform.operands import OPERANDS
from attnlab_theory.conform.positions import rotary_ways, sinusoidal_judging


def likely(about: dict[str, Any]) -> str:
    """A kind of positions, or nothing.

    Args:
        about: what `Caller.about` says.
    """
    found = [name.lower().strip("_") for name, kind, required in about["parameters"] or () if required]
    known = [name.lower().strip("_") for name, _, _ in about["parameters"] or ()]
    rotary, waves = rotary_ways.ROLES, sinusoidal_judging.ROLES
    spelled = {role: OPERANDS[role].spellings for role in ALIBI.operands}
    if not found or "v" in known or "value" in known:
        return ""
    told = {role for role in ("cos", "sin", "positions") for name in known if name in rotary[role]}
    turned = any(name in (*rotary["q"], *rotary["x"]) for name in found)
    if turned and (told >= {"cos", "sin"} or "positions" in told):
        return "rotary"
    if found[0] in spelled["heads"] and all(any(name in names for names in spelled.values()) for name in found[1:]):
        return "alibi" if len(found) > 1 else ""
    if len(found) == 2 and found[0] in waves["at"] and found[1] in waves["width"]:
        return "sinusoidal"
    return ""
