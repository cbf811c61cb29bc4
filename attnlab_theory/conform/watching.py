"""Whether numbers narrower than float64 take part in a call. `harness` loads this file by its path.

Torch tells every operation to a mode. Arrays of numpy tell those that they take part in, and their results do so
too. Compiled code tells nothing.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

WIDE = ("float64", "complex128")


class Watched(np.ndarray):
    """An array that notes what it meets, and what comes of that."""

    met: ClassVar[set[str]] = set()
    """The types narrower than float64 that were seen."""

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: tuple[Any, ...] = (), **named: Any
    ) -> Any:
        """What the function gives, watched."""
        note(Watched.met, inputs)
        named = {name: _plain(x) for name, x in named.items()}
        if out:
            named["out"] = tuple(_plain(x) for x in out)
        came = getattr(ufunc, method)(*map(_plain, inputs), **named)
        note(Watched.met, came)
        if out:
            return out[0] if len(out) == 1 else out
        return _seen(came)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """What the function gives, watched."""
        note(Watched.met, args)
        came = super().__array_function__(func, types, args, kwargs)
        note(Watched.met, came)
        return _seen(came)


def watched(x: Any) -> Any:
    """An array that is watched; anything else as it is."""
    return x.view(Watched) if isinstance(x, np.ndarray) else x


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, Watched) else x


def _seen(x: Any) -> Any:
    return type(x)(map(watched, x)) if type(x) in (tuple, list) else watched(x)


def note(met: set[str], x: Any) -> None:
    """Add the types of arrays and tensors narrower than float64, those inside of tuples too."""
    if isinstance(x, tuple | list):
        for each in x:
            note(met, each)
    elif hasattr(x, "dtype"):
        kind = str(x.dtype).removeprefix("torch.")
        if kind.startswith(("float", "bfloat", "complex")) and kind not in WIDE:
            met.add(kind)


@contextlib.contextmanager
def watching(framework: str) -> Iterator[set[str]]:
    """The types narrower than float64 that take part meanwhile. Arrays of numpy have to be `watched`."""
    met: set[str] = set()
    Watched.met = met
    if framework != "torch":
        yield met
        return
    from torch.utils._python_dispatch import TorchDispatchMode  # pyright: ignore[reportMissingImports]

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            came = func(*args, **(kwargs or {}))
            note(met, (*args, *(kwargs or {}).values(), came))
            return came

    with Mode():
        yield met
