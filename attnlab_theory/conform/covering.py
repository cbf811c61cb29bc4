"""Few rows that hold every pair of features: bugs need two things at once far more often than three."""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

Goal = frozenset[tuple[str, int]]
"""Values that are wanted beside each other, by their columns and places."""


def covering(
    columns: Mapping[str, Sequence[Any]],
    triples: Collection[str] = (),
    apart: Collection[frozenset[str]] = (),
) -> list[dict[str, Any]]:
    """Rows in which each two values of two columns stand beside each other, and each three of some columns.

    Args:
        columns: the values of each feature. The column of sizes has whole shapes for values, and never a product.
        triples: the columns of which every three values are wanted together.
        apart: columns that must not stand beside each other, but for the first value of one of them.
    """
    named = [name for name in columns if name in triples]
    together = [*itertools.combinations(columns, min(2, len(columns))), *itertools.combinations(named, 3)]
    wanted: dict[Goal, None] = {}
    for names in together:
        for places in itertools.product(*(range(len(columns[name])) for name in names)):
            if _fits(goal := dict(zip(names, places, strict=True)), apart):
                wanted[frozenset(goal.items())] = None
    rows: list[dict[str, Any]] = []
    while wanted:
        row = dict(next(iter(wanted)))
        for name in columns:
            if name not in row:
                fit = [i for i in range(len(columns[name])) if _fits(row | {name: i}, apart)]
                row[name] = max(fit, key=lambda i: sum(goal in wanted for goal in _goals(row, (name, i), named)))
        for name in columns:
            for goal in _goals(row, (name, row[name]), named):
                wanted.pop(goal, None)
        rows.append({name: columns[name][row[name]] for name in columns})
    return rows


def _fits(row: Mapping[str, int], apart: Collection[frozenset[str]]) -> bool:
    """Whether nothing in a row must stand apart."""
    return not any(all(row.get(name, 0) for name in names) for names in apart)


def _goals(row: Mapping[str, int], new: tuple[str, int], named: Collection[str]) -> Iterator[Goal]:
    """What a row holds with a value: that alone, it and another, and it and two others of the named columns."""
    others = [each for each in row.items() if each[0] != new[0]]
    yield frozenset([new])
    for other in others:
        yield frozenset((new, other))
    if new[0] in named:
        for pair in itertools.combinations([each for each in others if each[0] in named], 2):
            yield frozenset((new, *pair))
