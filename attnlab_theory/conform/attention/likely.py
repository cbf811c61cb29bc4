"""Which kind of attention a target is by its own account: by the parameters that it must be given."""

from collections.abc import Mapping
from typing import Any

from attnlab_theory.conform.attention.parameters import ROLES

KINDS = {"window": "sliding-window", "softcap": "softcap", "bias": "bias"}
"""The kinds that judge what such a parameter does."""


def likely(about: Mapping[str, Any]) -> str:
    """sliding-window, softcap or bias, where one of these must be given beside queries, keys and values.

    Args:
        about: what `Caller.about` says.
    """
    must = [name.lower() for name, _, required in about["parameters"] or () if required]
    if [name[:1] for name in must[:3]] != ["q", "k", "v"]:
        return ""
    return next((kind for role, kind in KINDS.items() if set(must[3:]) & set(ROLES[role])), "")
