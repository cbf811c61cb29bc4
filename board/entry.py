"""What the board knows of one entry point beside its results."""

import dataclasses
import enum
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

AGAINST = "against"
"""The identity of two paths that get the same calls. It stands in the column of paths."""

WITHOUT_KEYS = ("blind rows", "early queries")
"""Identities about queries that see no key: all are masked, or the first key comes after the query."""


class Category(enum.StrEnum):
    """What a failure is, by what the library says and by what its authors say."""

    BUG = "bug"
    """A maintainer would call it one."""
    BIASED = "biased"
    """Right answers of single draws, whose mean is another."""
    UNDEFINED = "undefined"
    """A query that sees no key reads hidden ones, and the library says nothing of such queries."""
    DOCUMENTED = "documented"
    """The library says or shows that it is meant so."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Failure:
    """What is known of rows that fail.

    Raises:
        ValueError: if the category does not go with the rest.
    """

    at: tuple[str, ...]
    """KIND/IDENTITY, */IDENTITY for every kind, or KIND/* for every identity. The kind may be `paths`."""
    category: Category
    place: str = ""
    """Where the library documents it."""
    issues: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Where it is discussed in public, OWNER/REPOSITORY#NUMBER, and what became of that."""
    remark: str = ""
    """What a reader should know, in fairness: when it shows, whose it is, what avoids it."""
    snippet: str = ""
    """The file of `snippets` that shows it, where the counterexample of the suite is not enough."""

    def __post_init__(self) -> None:
        kinds = {key.partition("/")[0] for key in self.at}
        identities = {key.partition("/")[2] for key in self.at}
        if self.category == Category.UNDEFINED and (identities - {*WITHOUT_KEYS} or "paths" in kinds):
            raise ValueError(f"{', '.join(self.at)}: only {' and '.join(WITHOUT_KEYS)} can be undefined")
        if (self.category == Category.DOCUMENTED) != bool(self.place):
            raise ValueError(f"{', '.join(self.at)}: what is documented has a place, and nothing else has one")
        for thread in self.issues:
            if not re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", thread):
                raise ValueError(f"{thread!r:.60} is no issue: write OWNER/REPOSITORY#NUMBER")


DEVICES = {"": "", "cuda": "nvidia-smi"}
"""Where an entry point computes, and the program of a machine that has such a device; the processor needs none."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry point.

    Raises:
        ValueError: if the device is unknown.
    """

    name: str
    """LIBRARY.WORD, and the name of its files."""
    called: str
    """What a user of the library writes."""
    library: str
    """The distribution, as the package index calls it."""
    environment: str
    """A file of `environments`."""
    adapter: Path
    """The file whose functions are called."""
    kinds: Mapping[str, str]
    """What it is judged as, and by which function of the adapter."""
    declared: Mapping[str, Any]
    """What need not be guessed."""
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What the environment of the process has beside that of this one."""
    failures: tuple[Failure, ...] = ()
    """What is known of rows that fail."""
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By kind: what a reader should know of a cell that does not fail, such as why it is empty."""
    same_as: str = ""
    """Another entry point that is another path through the same object: the two must agree."""
    against: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By kind: the function of the adapter that is another path to the same answers, and gets the same calls."""
    device: str = ""
    """`cuda`, where it is judged on an accelerator alone; empty if the processor is enough."""

    @property
    def snippets(self) -> dict[str, str]:
        """The files that show failures, by the keys of `Failure.at`."""
        return {key: each.snippet for each in self.failures if each.snippet for key in each.at}

    def __post_init__(self) -> None:
        if self.device not in DEVICES:
            raise ValueError(f"{self.device!r:.60} is no device: {', '.join(filter(None, DEVICES))}")

    @property
    def can_be_judged(self) -> bool:
        """Whether this machine has its device."""
        return not self.device or shutil.which(DEVICES[self.device]) is not None

    def failure(self, kind: str, identity: str) -> Failure | None:
        """What is known of a row that fails; None if nothing is."""
        keys = (f"{kind}/{identity}", f"*/{identity}", f"{kind}/*")
        return next((each for key in keys for each in self.failures if key in each.at), None)


def entry_of(table: Mapping[str, Any]) -> Entry:
    """An entry point from plain values, as they stand in TOML and JSON.

    Raises:
        ValueError: if a field is missing or unknown, or a failure's category is.
    """
    try:
        failures = tuple(
            Failure(**{**each, "at": (*each["at"],), "category": Category(each["category"])})
            for each in table.get("failures", ())
        )
        return Entry(**{**table, "adapter": Path(table["adapter"]), "failures": failures})
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{table.get('name', 'an entry')}: {error}") from None
