"""Changes of JSON that leave it JSON: another type, no number, a missing key, what is of another lab."""

import copy
import math
import random
from collections.abc import Iterator
from typing import Any

OTHER: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**30, 0.5, math.nan, math.inf, -math.inf),
    *("", "x", "\x1b[2J\x07", "\ud800", "$\\frac{$", "<script>", "../..", [], {}, [[[]]], {"x": []}),
)
"""What a value is replaced by."""


def changed(value: Any, rng: random.Random) -> Any:
    """A value with one thing in it changed."""
    value = copy.deepcopy(value)
    places = list(_places(value))
    if not places:
        return rng.choice(OTHER)
    # Deep and shallow alike: most places of a table are deep.
    depth = rng.choice(sorted({depth for _, _, depth in places}))
    holder, key, _ = rng.choice([place for place in places if place[2] == depth])
    match rng.choice(("other", "other", "missing", "twice", "text")):
        case "other":
            holder[key] = rng.choice(OTHER)
        case "missing":
            del holder[key]
        case "twice":
            if isinstance(holder, list):
                holder.insert(0, holder[key])
            else:
                holder[key] = [holder[key], holder[key]]
        case _:
            holder[key] = str(holder[key])
    return value


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any, int]]:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key, depth
        yield from _places(value[key], depth + 1)
