"""Whether a target is a recurrence by its own account: by the names of its parameters alone."""

from collections.abc import Mapping
from typing import Any

from attnlab_theory.conform.asking import named
from attnlab_theory.conform.linear.forms import EXTRA, ROLES


def likely(about: Mapping[str, Any]) -> str:
    """recurrent, where a decay or the like stands beside queries, keys and values, or chunks must be given.

    Args:
        about: what `Caller.about` says.
    """
    parameters = about["parameters"] or ()
    names = [name.lower() for name, _, _ in parameters]
    if [name[:1] for name in names[:3]] != ["q", "k", "v"]:
        return ""
    found = named(names[3:], ROLES)
    must = {name.lower() for name, _, required in parameters if required}
    # A gate that may be left away is one of attention, too.
    begun = bool({"state", "chunk"} & found.keys())
    decays = any(role in found and (begun or found[role] in must) for role in EXTRA)
    return "recurrent" if decays or found.get("chunk") in must else ""
