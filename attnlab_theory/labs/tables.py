"""Tables without rules, for a terminal."""

from collections.abc import Sequence

from rich.table import Table


def table(words: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table without rows. Columns of words come first, and fold. Columns of numbers follow.

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
