"""Tables without rules, for a terminal."""

from collections.abc import Sequence

from rich.table import Table


def table(words: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table whose rows are still to come: columns of words, which fold, and right of them columns of numbers.

    Args:
        words: headings of columns of words.
        numbers: headings of columns of numbers.
    """
    found = Table(box=None, pad_edge=False, header_style="bold")
    for column in words:
        found.add_column(column, overflow="fold")
    for column in numbers:
        found.add_column(column, justify="right", no_wrap=True)
    return found
