"""Few rows that hold every pair of features: bugs need two things at once far more often than three."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

Goal = tuple[tuple[str, int], ...]


def covering(columns: Mapping[str, Sequence[Any]], triples: Collection[str] = ()) -> list[dict[str, Any]]:
    """Rows in which each two values of two columns stand beside each other, and each three of some columns.

    Args:
        columns: the values of each feature. The column of sizes has whole shapes for values, and never a product.
        triples: the columns of which every three values are wanted together.
    """
    named = [name for name in columns if name in triples]
    together = [*itertools.combinations(columns, min(2, len(columns))), *itertools.combinations(named, 3)]
    wanted: dict[Goal, None] = {}
    for names in together:
        for places in itertools.product(*(range(len(columns[name])) for name in names)):
            wanted[tuple(zip(names, places, strict=True))] = None
    rows: list[dict[str, Any]] = []
    while wanted:
        row = dict(next(iter(wanted)))
        for name in columns:
            if name not in row:
                row[name] = max(range(len(columns[name])), key=lambda i: _gained(wanted, row | {name: i}, name))
        for goal in [goal for goal in wanted if goal_holds(goal, row)]:
            del wanted[goal]
        rows.append({name: columns[name][row[name]] for name in columns})
    return rows


def goal_holds(goal: Goal, row: Mapping[str, int]) -> bool:
    """Whether a row has the values of a goal."""
    return all(row.get(name) == place for name, place in goal)


def _gained(wanted: Mapping[Goal, None], row: Mapping[str, int], new: str) -> int:
    return sum(any(name == new for name, _ in goal) and goal_holds(goal, row) for goal in wanted)
