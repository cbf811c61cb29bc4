"""What a target keeps between calls: its rows in another order, as beam search wants them, and whether two are one.

`harness` loads this file by its path, so it imports nothing of this package.
"""

import copy
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

PLAIN = (type(None), bool, int, float, complex, str, bytes)


class Rowless(ValueError):
    """A cache of which nobody knows where its rows are."""


def reordered(cache: Any, rows: Any, batch: int) -> Any:
    """A cache whose rows are some of those that it had, in this order.

    A cache with a method for that is asked. Of others each array is indexed whose first axis is that of the batch.

    Args:
        cache: arrays, containers of them, and objects that have them as attributes.
        rows: their numbers, as an array of the framework.
        batch: how many rows there are.

    Raises:
        Rowless: if it holds what has another first axis.
    """
    if method := getattr(cache, "reorder_cache", None):
        came = method(rows)
        return cache if came is None else came

    def inside(x: Any) -> Any:
        return reordered(x, rows, batch)

    if isinstance(cache, PLAIN):
        return cache
    if hasattr(cache, "shape") and hasattr(cache, "dtype"):
        if cache.ndim == 0 or cache.size == 0:
            return cache
        if cache.shape[0] != batch:
            raise Rowless(f"an array {[*cache.shape]} of the cache does not have the {batch} rows in front")
        return cache[rows]
    return _rebuilt(cache, inside)


def _rebuilt(cache: Any, inside: Callable[[Any], Any]) -> Any:
    """A container, with all that it holds made anew."""
    if isinstance(cache, tuple) and hasattr(cache, "_fields"):
        return type(cache)(*map(inside, cache))
    if isinstance(cache, tuple | list):
        return type(cache)(map(inside, cache))
    if isinstance(cache, dict):
        return type(cache)((name, inside(x)) for name, x in cache.items())
    if hasattr(cache, "__dict__") and not callable(cache):
        again = copy.copy(cache)
        for name, x in vars(cache).items():
            setattr(again, name, inside(x))
        return again
    raise Rowless(
        f"nobody knows where a {type(cache).__name__} has its rows: give the cache a method reorder_cache"
    )


def place(kept: Any) -> Hashable | None:
    """Where the numbers of a cache are: caches of one place are one. None if it has no numbers, or no place."""
    if isinstance(kept, PLAIN):
        return None
    if isinstance(kept, tuple | list):
        inside = [place(x) for x in kept if not isinstance(x, PLAIN)]
        return (len(kept), *inside) if inside and None not in inside else None
    if start := getattr(kept, "data_ptr", None):
        # Tensors without numbers all begin at 0.
        return ("torch", found) if (found := start()) else None
    if isinstance(kept, np.ndarray):
        while isinstance(kept.base, np.ndarray):
            kept = kept.base
        return ("numpy", kept.__array_interface__["data"][0]) if kept.size else None
    return ("object", id(kept))
