"""Adapters for somebody's function: which library's arrays it takes, and whether its output can be judged."""

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

Function = Callable[[Any], Any]
"""A function of [length width] to [length v], of numpy, jax or torch arrays."""

HostMixer = Callable[[np.ndarray], np.ndarray]

DTYPES = {"numpy": ("numpy",), "jax": ("jax",), "torch": ("torch.float32", "torch.float64")}
"""The dtypes in which a function of each library's arrays is tried."""


def adapted(mixer: Function, x: np.ndarray) -> tuple[HostMixer, np.ndarray]:
    """The mixer as a function of numpy arrays, and its output for x, in the first library that it works with."""
    failures: list[Exception] = []
    for library in _attempts(mixer):
        call = functools.partial(_called, mixer, library)
        try:
            before = call(x)
        except Exception as error:
            failures.append(error)
            continue
        _check_output(before, x.shape[0])
        return functools.partial(_checked, call, before.shape), before
    # The first attempt is the likeliest, so its failure is the one to read.
    first = failures[0]
    raise ValueError(f"the function fails on tokens of shape {x.shape}: {_words(first)}") from first


def in_double(mixer: Function, x: Float[np.ndarray, "t d"]) -> tuple[HostMixer, np.ndarray] | None:
    """The mixer as a function of float64 arrays, and its output; None if it fails on them or gives another type."""
    for library in ("torch.float64", "numpy") if "torch" in _attempts(mixer)[0] else ("numpy",):
        call = functools.partial(_called, mixer, library)
        try:
            before = call(x)
            _check_output(before, x.shape[0])
        except Exception:
            continue
        if before.dtype == np.float64:
            return functools.partial(_checked, call, before.shape), before
    return None


def _called(mixer: Function, library: str, tokens: np.ndarray) -> np.ndarray:
    # A copy: a function that writes into its argument must not write into ours. Quiet: replacements of large
    # norm make a plain exp overflow, which is no news.
    with np.errstate(all="ignore"):
        return _to_numpy(mixer(_from_numpy(tokens.copy(), library)))


def _checked(call: HostMixer, shape: tuple[int, ...], tokens: np.ndarray) -> np.ndarray:
    try:
        output = call(tokens)
    except Exception as error:
        raise ValueError(f"the function fails on replaced tokens: {_words(error)}") from error
    if output.shape != shape:
        raise ValueError(
            f"the function gave shape {shape} for some tokens, and {output.shape} for others of the same shape"
        )
    _refuse_unheld(output)
    return output


def _words(error: Exception) -> str:
    """The class of a stranger's error, and the first line of it. Our own say themselves what went wrong."""
    line = str(error).strip().partition("\n")[0] or "no message"
    is_ours = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    return line if is_ours else f"{type(error).__name__}: {line}"


def _check_output(output: np.ndarray, length: int) -> None:
    if not np.issubdtype(output.dtype, np.number) or np.issubdtype(output.dtype, np.complexfloating):
        raise ValueError(f"the function must give an array of real numbers, not of {output.dtype}")
    if output.ndim != 2 or output.shape[0] != length or output.shape[1] == 0:
        raise ValueError(f"the function must give shape ({length}, v), one row per position, not {output.shape}")
    _refuse_unheld(output)
    if not np.all(np.isfinite(output)):
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(output))[0])
        raise ValueError(f"the function's output must be finite, but holds {output[index]} at index {index}")


def _refuse_unheld(output: np.ndarray) -> None:
    """Refuse outputs that float64 cannot hold, such as 2^53 + 1: a movement would be rounded away."""
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = output.astype(np.float64).astype(output.dtype)
    if np.any((rounded != output) & (output == output)):
        raise ValueError(
            f"the function gives numbers of {output.dtype} that float64 does not hold: let it give float64"
        )


def _attempts(mixer: Function) -> list[str]:
    """numpy, jax and torch, in the order in which they are worth trying.

    The libraries that the function's own module imports come first: a module that imports torch or jax beside numpy
    works on tensors. A torch model may also have weights in double precision, and then takes no float32.
    """
    names = [type(mixer)]
    with contextlib.suppress(ValueError):
        names += getattr(inspect.unwrap(mixer), "__globals__", {}).values()
    modules = [str(getattr(n, "__module__", None) or getattr(n, "__name__", "")) for n in names]
    roots = {"jax" if m.startswith("attnlab_theory.attention") else m.partition(".")[0] for m in modules}
    likely = [library for library in ("torch", "jax", "numpy") if library in roots]
    libraries = [*likely, *(library for library in ("numpy", "jax", "torch") if library not in likely)]
    return [attempt for library in libraries for attempt in DTYPES[library]]


def _from_numpy(tokens: np.ndarray, library: str) -> Any:
    if library == "jax":
        return jax.numpy.asarray(tokens)
    if library.startswith("torch"):
        # By name: torch is nobody's dependency here, and is there if the function works on its arrays.
        torch = importlib.import_module("torch")
        return torch.from_numpy(tokens).to(getattr(torch, library.removeprefix("torch.")))
    return tokens


def _to_numpy(given: Any) -> np.ndarray:
    # Outputs first, as of a layer that also returns its weights.
    output: Any = given[0] if isinstance(given, tuple) and given else given
    if hasattr(output, "detach"):
        output = output.detach().cpu()
        # numpy has no bfloat16; every bfloat16 is a float32.
        if output.dtype.is_floating_point and "bfloat16" in str(output.dtype):
            output = output.float()
    output = np.asarray(output)
    # bfloat16 again: an extension of numpy that calls itself neither float nor number.
    return output.astype(np.float32) if output.dtype.name == "bfloat16" else output
