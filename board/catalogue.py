"""The entry points of the board: a file of `entries` for each adapter."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from board.entry import HERE, Entry, entry_of


def read(path: Path) -> Iterator[Entry]:
    """The entry points of a file.

    The table `entries` has them. Each has the other fields of the file, too, unless it has its own.
    Failures of the file come after its own. Lines of prose may be broken.

    Raises:
        ValueError: as `entry_of`.
    """
    shared = _joined(tomllib.loads(path.read_text("utf-8")))
    entries, failures = shared.pop("entries"), shared.pop("failures", [])
    adapter = HERE / "adapters" / f"{path.stem}.py"
    for each in entries:
        own = {"failures": [*each.get("failures", ()), *failures]}
        yield entry_of({"adapter": adapter, **shared, **each, **own})


def _joined(value: Any) -> Any:
    """Plain values, whose texts stand in one line."""
    if isinstance(value, dict):
        return {key: _joined(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_joined(each) for each in value]
    return " ".join(value.split()) if isinstance(value, str) else value


ENTRIES: tuple[Entry, ...] = tuple(each for path in sorted(HERE.glob("entries/*.toml")) for each in read(path))
"""All of them, in the order of the board."""


def entries_of(name: str | None) -> tuple[Entry, ...]:
    """The entry points of a library, or that of a name; all if none is named.

    Raises:
        ValueError: if there is none.
    """
    found = tuple(e for e in ENTRIES if name in (None, e.name, e.library))
    if not found:
        libraries = ", ".join(dict.fromkeys(e.library for e in ENTRIES))
        raise ValueError(f"the board has no {name!r:.60}; it has {libraries}")
    return found
