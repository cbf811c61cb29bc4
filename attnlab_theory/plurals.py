"""A number and its noun, which is plural but for one."""

from typing import Any

SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def several(n: int, one: str, many: str = "") -> str:
    """A number and its noun.

    Args:
        n: how many.
        one: the noun of one thing.
        many: that of several; by default with an s.

    >>> several(1, "row"), several(1200, "row"), several(0, "index", "indices")
    ('1 row', '1,200 rows', '0 indices')
    """
    return f"{n:,} {agree(n, one, many or f'{one}s')}"


def agree(n: Any, one: str, many: str) -> str:
    """The word that agrees with a number: agree(1, "is", "are")."""
    return one if n == 1 else many


def spelt(n: int, one: str) -> str:
    """A number and its noun, in words as far as twelve: "five seeds"."""
    return f"{SMALL[n] if n < len(SMALL) else format(n, ',')} {agree(n, one, f'{one}s')}"
