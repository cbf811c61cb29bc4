"""A leak detector by intervention: replace what comes later, and see whether what came earlier moves.

A Jacobian is the picture of a leak, not the test for one: a detached maximum over all positions, added
to by an eps, has a Jacobian of exactly zero towards the future and moves earlier outputs all the same.
"""

import contextlib
import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float

Mixer = Callable[[Any], Any]
"""A function of [length width] to [length v], of numpy, jax or torch arrays."""

HostMixer = Callable[[np.ndarray], np.ndarray]

SEED = 0
"""Of the tokens and of the random replacements: the same function always gets the same verdict."""

DTYPES = {"numpy": ("numpy",), "jax": ("jax",), "torch": ("torch.float32", "torch.float64")}
"""In what a function of each library's arrays is tried."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Leaks:
    """Which outputs moved when which inputs were replaced."""

    largest: Float[np.ndarray, "t s"]
    """Largest movement of output t over all replacements of input s; infinite if it became NaN or infinite."""
    together: Float[np.ndarray, " t"]
    """Largest movement of output t when all inputs after it were replaced at once."""
    within: float
    """The largest entry, in size, of all inputs that were tried: nothing is said of larger ones."""

    @property
    def moved(self) -> Bool[np.ndarray, "t s"]:
        """Whether output t moved at all, compared bit for bit (zeros of either sign are one number)."""
        return self.largest > 0

    @property
    def leaks(self) -> Bool[np.ndarray, "t s"]:
        """Whether output t moved with the later input s."""
        return np.triu(self.moved, 1)

    @property
    def causal(self) -> bool:
        """Whether no output moved with any later input, alone or together."""
        return not self.leaks.any() and not self.together.any()

    @property
    def worst(self) -> tuple[int, float]:
        """The output that moved furthest with its future, and how far."""
        future = np.maximum(np.triu(self.largest, 1).max(axis=1), self.together)
        return int(np.argmax(future)), float(np.max(future))


def leaks(mixer: Mixer, x: Float[np.ndarray, "t d"]) -> Leaks:
    """Find out which outputs of a mixer move with which inputs, by replacing inputs.

    Every input is replaced by itself, and for every position all later inputs together: by zeros, by
    their negatives, by a huge constant, by copies of the first input, by noise, and by noise of large
    norm. Outputs are compared bit for bit, so rounding that travels back in time is a leak too (as in a
    convolution by Fourier transform): how far they moved says which it is.

    Args:
        mixer: a function of [length width] to [length v], of numpy, jax or torch arrays. Which, is found
            out from the modules its own module imports, and by trying.
        x: the tokens to start from, at least two.

    Raises:
        ValueError: if the function fails, gives anything else than one finite row per position, or gives
            different outputs for the same tokens.

    Source: docs/mathematics/identities.md.
    """
    length = x.shape[0]
    if not length >= 2:
        raise ValueError(f"a leak needs an earlier and a later position, but there is {length} position")
    call, before = _adapted(mixer, x)
    _refuse_another(call(x), before)
    largest, together = np.zeros((length, length)), np.zeros(length)
    within = float(np.max(np.abs(x)))
    for s in range(length):
        for replaced in replacements(x, s, s + 1):
            within = max(within, float(np.max(np.abs(replaced))))
            largest[:, s] = np.maximum(largest[:, s], _movement(call(replaced), before))
    for first in range(1, length):
        for replaced in replacements(x, first, length):
            within = max(within, float(np.max(np.abs(replaced))))
            moved = _movement(call(replaced), before)[:first]
            together[:first] = np.maximum(together[:first], moved)
    # Again: who counts calls, or changes with time, does not always do so from the first call on.
    _refuse_another(call(x), before)
    return Leaks(largest=largest, together=together, within=within)


def replacements(x: Float[np.ndarray, "t d"], start: int, stop: int) -> list[Float[np.ndarray, "t d"]]:
    """The tokens with rows start to stop replaced, in every adversarial way."""
    rng = np.random.default_rng([SEED, start, stop])
    rows = x[start:stop]
    noise = rng.standard_normal(rows.shape)
    candidates = (0 * rows, -rows, np.full_like(rows, 1e3), 0 * rows + x[0], noise, 1e4 * noise)
    replaced = [x.copy() for _ in candidates]
    for tokens, candidate in zip(replaced, candidates, strict=True):
        tokens[start:stop] = candidate
    return replaced


def random_tokens(length: int, width: int) -> Float[np.ndarray, "{length} {width}"]:
    """Standard normal tokens in float32, always the same.

    Raises:
        ValueError: if there are fewer than two positions, or the width is not positive.
    """
    if not length >= 2:
        raise ValueError(f"the length must be at least 2, not {length}: a leak needs a past and a future")
    if not width > 0:
        raise ValueError(f"the width must be positive, not {width}")
    return np.random.default_rng(SEED).standard_normal((length, width)).astype(np.float32)


def picture(found: Leaks) -> str:
    """The matrix for people: a row per output, a column per input, and a line that says what it means."""
    length = found.moved.shape[0]
    marks = np.where(found.leaks, "█", np.where(found.moved, "▒", "·"))
    # What only several later inputs together can do has no column of its own.
    only_together = (found.together > 0) & ~found.leaks.any(axis=1)
    lines = ["output ↓  input →  " + " ".join(f"{s % 10}" for s in range(length))]
    for t in range(length):
        mark = "  ← moves when all later inputs change together" if only_together[t] else ""
        lines.append(f"{t:>17}  " + " ".join(marks[t]) + mark)
    lines.append("▒ moves with the present or the past   █ moves with the future   · does not move")
    output, movement = found.worst
    if found.causal:
        lines.append(
            f"No leak at length {length}, values within ±{found.within:.3g}: no output moved with a later input, "
            "bit for bit. Other lengths and larger values were not tried."
        )
    else:
        count = int((found.leaks.any(axis=1) | (found.together > 0)).sum())
        lines.append(
            f"Leak: {count} of {length} outputs move with the future; output {output} by up to {movement:.3g}."
        )
    return "\n".join(lines)


def as_json(found: Leaks) -> dict[str, Any]:
    """What was found as plain values; a movement to infinity or NaN is null."""
    output, movement = found.worst

    def plain(x: float) -> float | None:
        return float(x) if np.isfinite(x) else None

    return {
        "causal": found.causal,
        "length": found.moved.shape[0],
        "within": found.within,
        "leaks": [[int(t), int(s)] for t, s in np.argwhere(found.leaks)],
        "moved": found.moved.tolist(),
        "largest": [[plain(x) for x in row] for row in found.largest],
        "together": [plain(x) for x in found.together],
        "worst": {"output": output, "movement": plain(movement)},
    }


def exit_code(found: Leaks) -> int:
    """0 if the mixer is causal, 1 if it leaks."""
    return 0 if found.causal else 1


def jacobian_reach(mixer: Mixer, x: Float[np.ndarray, "t d"]) -> Float[np.ndarray, "t s"]:
    """Largest entry in size of the derivative of output t by input s, of a jax mixer: the picture of a leak."""
    jacobian = jax.jacobian(mixer)(jax.numpy.asarray(x))
    return np.abs(np.asarray(jacobian)).max(axis=(1, 3))


def _refuse_another(output: np.ndarray, before: np.ndarray) -> None:
    if not np.array_equal(output, before):
        raise ValueError("the function is not deterministic: two calls with the same tokens differ")


def _movement(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """By row, how far the outputs moved; infinity where one is no longer a finite number."""
    with np.errstate(invalid="ignore", over="ignore"):
        moved = np.abs(after.astype(np.float64) - before.astype(np.float64)).max(axis=1)
    return np.where(np.isfinite(moved), moved, np.inf)


def _adapted(mixer: Mixer, x: np.ndarray) -> tuple[HostMixer, np.ndarray]:
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
    said = str(first).strip().splitlines()[0] if str(first).strip() else "no message"
    raise ValueError(f"the function fails on tokens of shape {x.shape}: {type(first).__name__}: {said}") from first


def _called(mixer: Mixer, library: str, tokens: np.ndarray) -> np.ndarray:
    # A copy: a function that writes into its argument must not write into ours. Quiet: replacements of large
    # norm make a plain exp overflow, which is no news.
    with np.errstate(all="ignore"):
        return _to_numpy(mixer(_from_numpy(tokens.copy(), library)))


def _checked(call: HostMixer, shape: tuple[int, ...], tokens: np.ndarray) -> np.ndarray:
    try:
        output = call(tokens)
    except Exception as error:
        raise ValueError(f"the function fails on replaced tokens: {type(error).__name__}: {error}") from error
    if output.shape != shape:
        raise ValueError(f"the function gave shape {shape}, and for other tokens {output.shape}")
    _refuse_unheld(output)
    return output


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
    """Whole numbers of 2^53 and more, say: what float64 rounds away would be no movement."""
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = output.astype(np.float64).astype(output.dtype)
    if np.any((rounded != output) & (output == output)):
        raise ValueError(
            f"the function gives numbers of {output.dtype} that float64 does not hold: let it give float64"
        )


def _attempts(mixer: Mixer) -> list[str]:
    """numpy, jax and torch, in the order in which they are worth trying.

    First what the function's own module has imported: whoever imports torch or jax beside numpy writes
    functions of tensors. A torch model may also have weights in double precision, which takes no floats.
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


def _to_numpy(output: Any) -> np.ndarray:
    if hasattr(output, "detach"):
        output = output.detach().cpu()
        # numpy has no bfloat16; every bfloat16 is a float32.
        if output.dtype.is_floating_point:
            output = output.double()
    output = np.asarray(output)
    # bfloat16 again: an extension of numpy that calls itself neither float nor number.
    return output.astype(np.float32) if output.dtype.name == "bfloat16" else output
