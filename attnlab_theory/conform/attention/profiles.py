"""What is found out about a target before it is judged."""

from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.probe import Seen
from attnlab_theory.conform.callers import Caller
from attnlab_theory.conform.finding import Trouble
from attnlab_theory.conform.recording import contradicted


class Profile(NamedTuple):
    """How to call a target, what it means, and what is wrong with that."""

    way: Conventions
    lines: list[tuple[str, str]]
    """Conventions in words: a name, and what was found."""
    failures: list[tuple[str, Trouble | str]]
    """What contradicts the kind or itself, by the name of an identity."""
    diagnosis: str = ""
    """Why nothing else can be judged, where that is so."""


def contradicts(
    caller: Caller, profile: Profile, identity: str, line: str, seen: Seen, *rights: np.ndarray
) -> None:
    """Note that what is seen is none of what would be right, [t s] each."""
    profile.failures.append((identity, line))
    if not seen.trouble:
        contradicted(caller, identity, seen.weights[0, 0], *rights)
