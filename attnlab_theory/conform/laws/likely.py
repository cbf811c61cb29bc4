"""Whether a target draws random numbers by its own account: by the names of its parameters alone."""

from collections.abc import Mapping
from typing import Any

from attnlab_theory.conform.asking import SEEDS
from attnlab_theory.conform.laws.drawing import ROLES


def likely(about: Mapping[str, Any]) -> str:
    """dropout or random-features, where a rate or a source of randomness must be given; else nothing.

    Args:
        about: what `Caller.about` says.
    """
    must = [name.lower() for name, _, required in about["parameters"] or () if required]
    attends = len(must) > 2 and [name[:1] for name in must[:3]] == ["q", "k", "v"]
    rest = must[3:] if attends else must[1:]
    if attends and any(name in ROLES["rate"] for name in rest):
        return "dropout"
    return "random-features" if any(name in SEEDS for name in rest) and len(rest) == 1 else ""
