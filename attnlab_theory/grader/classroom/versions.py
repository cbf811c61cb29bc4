"""Which of several files of a submission is the last, and what they define."""

import re
from pathlib import Path

NUMBER = re.compile(r"(?:\s*\((\d+)\)|[-_ ]v?(\d+))$", re.IGNORECASE)
"""The number of a version, as browsers and people write it: `hw (1)`, `hw-2`, `hw_v3`."""

LAST, FIRST = ("final", "corrected", "fixed", "new"), ("old", "backup", "bak", "draft", "orig", "original", "copy")
"""Words by which people name the last of several versions, and an earlier one."""

DEFINITION = re.compile(rb"(?:\b|\\n)def\s+(\w+)\s*\(")
"""In a notebook a line may begin after the two letters that JSON writes for the end of the one before."""


def order(stem: str) -> tuple[int, int]:
    """A key by which the last version comes first.

    Args:
        stem: the name of a file without its suffix.
    """
    words = re.split(r"[-_ .()]+", stem.lower())
    rank = -sum(word in LAST for word in words) + sum(word in FIRST for word in words)
    found = NUMBER.search(stem)
    return rank, -int(next(filter(None, found.groups()))[:9]) if found else 0


def functions(path: Path) -> list[str]:
    """The names after `def` in a file or a notebook, as they stand. Nothing of it is run or parsed."""
    found = DEFINITION.findall(path.read_bytes()) if path.is_file() else []
    return list(dict.fromkeys(name.decode(errors="replace") for name in found))
