"""What is handed over to a target, and what comes back: arrays of its own framework, and those of numpy.

`harness` loads this file by its path, so it imports nothing of this package.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np


def handed(x: np.ndarray, framework: str, kind: str) -> Any:
    """An array of the target's framework."""
    if framework == "torch":
        import torch  # pyright: ignore[reportMissingImports]

        tensor = torch.from_numpy(x)
        return tensor.to(torch.bfloat16) if kind == "bfloat16" and x.dtype == np.float32 else tensor
    if framework == "jax":
        import jax.numpy as jnp

        return jnp.asarray(x, jnp.bfloat16 if kind == "bfloat16" and x.dtype == np.float32 else None)
    return x


def back(x: Any) -> np.ndarray:
    """An array of any framework as one of numpy, in float64 where it has numbers that numpy does not know."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        return x.float().numpy() if "bfloat16" in str(x.dtype) else x.numpy()
    return np.asarray(x)


def part(came: Any, place: int | str) -> Any:
    """A part of what was returned: by its place in a tuple, or by the name of an attribute or a key; "" is all."""
    if place == "":
        return came
    if isinstance(place, str):
        found = came.get(place) if isinstance(came, dict) else getattr(came, place, None)
        if found is None:
            raise TypeError(f"gave a {type(came).__name__} without {place}")
        return found
    if not isinstance(came, tuple | list) or len(came) <= place:
        remedy = "return them all, a cache changed in place too"
        raise TypeError(f"gave a {type(came).__name__} where {place + 1} things were expected; {remedy}")
    return came[place]


def named_part(came: Any, names: Sequence[str]) -> Any:
    """The first part of these names that an object has; the object itself if it has none, or is an array."""
    if hasattr(came, "shape"):
        return came
    for name in names:
        found = came.get(name) if isinstance(came, dict) else getattr(came, name, None)
        if hasattr(found, "shape"):
            return found
    return came


def read(came: Any) -> tuple[list[np.ndarray], str, bool]:
    """The output and, of several, the weights; the type of the first; whether there were several."""
    several = isinstance(came, tuple | list) and len(came) > 0 and hasattr(came[0], "shape")
    parts = [*came][:2] if several else [came]
    if several and not hasattr(parts[-1], "shape"):
        parts = parts[:1]
    if not hasattr(parts[0], "shape") and not np.isscalar(parts[0]) and not isinstance(parts[0], list):
        raise TypeError(f"gave a {type(came).__name__}, and no array")
    first: Any = parts[0]
    kind = str(first.dtype if hasattr(first, "dtype") else np.asarray(first).dtype).removeprefix("torch.")
    numbers = [back(x) for x in parts]
    if numbers[0].dtype.kind not in "fiub" and "float" not in kind:
        raise TypeError(f"gave numbers of type {kind}")
    return [np.ascontiguousarray(x, np.float64) for x in numbers], kind, several


def lain(x: Any, memory: str) -> Any:
    """The same numbers of numpy or torch as a view of another array.

    Args:
        x: in one piece. Arrays of jax lie as jax wants.
        memory: a word. By rows they are every second row of a larger array. By transposed the last two axes
            have changed places. By expanded an axis along which all is equal has one place. Empty is as it is.
    """
    torch = hasattr(x, "detach")
    if not memory or x.ndim < 2 or not (torch or type(x).__module__ == "numpy"):
        return x
    if memory == "transposed":
        turned = x.swapaxes(-1, -2)
        return (turned.contiguous() if torch else np.ascontiguousarray(turned)).swapaxes(-1, -2)
    if memory == "expanded":
        for axis, n in enumerate(x.shape):
            one = x[(slice(None),) * axis + (slice(1),)]
            if n > 1 and bool((x == one).all()):
                # Who reads on finds zeros.
                x = x.clone() if torch else x.copy()
                x[(slice(None),) * axis + (slice(1, None),)] = 0
                steps = [step * (i != axis) for i, step in enumerate(x.stride() if torch else x.strides)]
                return x.as_strided(x.shape, steps) if torch else np.lib.stride_tricks.as_strided(x, x.shape, steps)
        return x
    size = (*x.shape[:-2], 2 * x.shape[-2] + 1, x.shape[-1])
    larger = x.new_zeros(size) if torch else np.zeros(size, x.dtype)
    larger[..., 1::2, :] = x
    return larger[..., 1::2, :]


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether nothing was written: shapes and numbers, NaN included."""
    if one.shape != other.shape:
        return False
    return bool(np.array_equal(one.astype(np.float64), other.astype(np.float64), equal_nan=True))
