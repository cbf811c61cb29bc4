"""A bug: a few wrong lines, where they happened, and the checks they are planted under."""

import dataclasses
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from attnlab_theory.claims import Claim
from attnlab_theory.identities import Identity
from attnlab_theory.museum.exhibit import Exhibit

FOLKLORE = "folklore"
"""The source of a bug that everybody knows, but of which no public thread was found."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Bug:
    """Wrong code that runs, has the right shape, and looks right."""

    name: str
    story: str
    """What was written, and what comes of it."""
    where: str
    """The thread or paper where it happened; `FOLKLORE` if none was found."""
    code: tuple[Callable[..., Any], ...]
    """The wrong lines."""
    checks: tuple[Identity[Any] | Claim[Any], ...]
    """Identities and claims about the right code, with the bug planted in it. They keep the right code's name."""
    exhibit: Callable[[], Exhibit]
    """What its picture shows."""

    @property
    def source(self) -> str:
        """The wrong lines as text."""
        return "\n".join(textwrap.dedent(inspect.getsource(part)) for part in self.code)
