"""A number and its noun, which is plural but for one."""

from typing import Any

SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def several(n: int, one: str, many: str = "") -> str:
    """A number and its noun, such as "1 row" and "1,200 rows".

    Args:
        n: how many.
        one: the noun of one thing.
        many: that of several; by default with an s.
    """
    return f"{n:,} {agree(n, one, many or f'{one}s')}"


def agree(n: Any, one: str, many: str) -> str:
    """The word that agrees with a number: agree(1, "is", "are")."""
    return one if n == 1 else many


def spelt(n: int, one: str) -> str:
    """A number and its noun, in words as far as twelve: "five seeds"."""
    return f"{SMALL[n] if n < len(SMALL) else format(n, ',')} {agree(n, one, f'{one}s')}"


def all_of(n: int, one: str, many: str) -> str:
    """All of some things, and their verb: "All 3 bugs are"; "The one bug is"."""
    return f"The one {one}" if n == 1 else f"All {n:,} {many}"


def some_of(n: int, of: int, noun: str, one: str, many: str) -> str:
    """Some of several things, and a verb that agrees with the first number: "1 of 3 lines is"."""
    return f"{n:,} of {several(of, noun)} {agree(n, one, many)}"
