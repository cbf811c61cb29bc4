"""What the board knows of one entry point beside its results."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

AGAINST = "against"
"""The identity of two paths that get the same calls. It stands in the column of paths."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry point.

    Keys of `documented`, `threads`, `remarks` and `snippets` are KIND/IDENTITY, */IDENTITY for every kind, or
    KIND/*.
    """

    name: str
    """LIBRARY.WORD, and the name of its files."""
    called: str
    """What a user of the library writes."""
    library: str
    """The distribution, as the package index calls it."""
    environment: str
    """A file of `environments`."""
    kinds: Mapping[str, str]
    """What it is judged as, and by which function of the adapter."""
    declared: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What need not be guessed."""
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What the environment of the process has beside that of this one."""
    documented: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Failures that are conventions, for the library says so; with the place where it does."""
    threads: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Where a failure is discussed in public."""
    remarks: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What a reader should know of a failure, in fairness: when it shows, whose it is, what avoids it."""
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By kind: what a reader should know of a cell that is not red, such as why it is empty."""
    snippets: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Files of `snippets` that show a failure, where the counterexample of the suite is not enough."""

    file: str = ""
    """The adapter; by default the file of `adapters` that is called as the library."""
    same_as: str = ""
    """Another entry point that is another path through the same object: the two must agree."""
    against: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By kind: the function of the adapter that is another path to the same answers, and gets the same calls."""

    @property
    def adapter(self) -> Path:
        """The file whose functions are called."""
        return HERE / "adapters" / (self.file or f"{self.library.replace('-', '_')}.py")


def said(table: Mapping[str, str], kind: str, identity: str) -> str:
    """What a table with keys KIND/IDENTITY says of a row; empty if nothing."""
    keys = (f"{kind}/{identity}", f"*/{identity}", f"{kind}/*")
    return next((table[key] for key in keys if key in table), "")


TORCH: Mapping[str, Any] = {"framework": "torch", "layout": "bhtd"}
JAX: Mapping[str, Any] = {"framework": "jax", "layout": "bthd"}
NUMPY: Mapping[str, Any] = {"framework": "numpy", "layout": "bhtd"}
