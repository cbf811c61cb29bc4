"""Which kind of this folder a target may be, by the names of its parameters alone."""

from collections.abc import Mapping
from typing import Any

from attnlab_theory.conform.sequences.forms import CACHES, PAIRS
from attnlab_theory.conform.sequences.language_model import IDS
from attnlab_theory.conform.sequences.suite import first_places, named


def likely(about: Mapping[str, Any]) -> str:
    """mixer, decode or model; empty if it looks like a function of queries, keys and values.

    Args:
        about: what `harness.Host.about` says of the target.
    """
    parameters = about["parameters"]
    names = {each[0].lower() for each in parameters or ()}
    if names & set(IDS[:5]):
        return "model"
    if "step" in about.get("methods", {}) or named(parameters, CACHES) or any(set(pair) <= names for pair in PAIRS):
        return "decode"
    places, must = first_places(parameters), [each for each in parameters or () if each[2]]
    spreads = any(each[1] == "VAR_POSITIONAL" for each in parameters or ())
    return "mixer" if places and len(must) == 1 and len(places) < 3 and not spreads else ""
