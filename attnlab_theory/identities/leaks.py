"""A leak detector by intervention: replace later inputs, and see whether earlier outputs move.

A Jacobian is the picture of a leak, not the test for one. Take a maximum over all positions through which no
gradient passes, with an eps added to the quotient. Its Jacobian towards the future is exactly zero, and earlier
outputs move.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab_theory.identities.adapters import Function, HostMixer, adapted, in_double
from attnlab_theory.plurals import several, some_of

Inputs = Float[np.ndarray, "t d"] | Int[np.ndarray, " t"]
"""Tokens, or their numbers."""

Replacing = Callable[[Any, int, int], list[np.ndarray]]
"""A function of inputs, a first row and a row to stop before. It gives inputs with these rows replaced."""

EDGES = (1, 15, 16, 63, 64, 127, 128)
"""Positions from which on tokens are replaced: the last of a block of 16, 64 or 128, and the first of the next."""

SEED = 0
"""The seed of the tokens and of the random replacements. So a function always gets the same verdict."""


class Random(ValueError):
    """The function gives other outputs for the same tokens."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Leaks:
    """Which outputs moved when which inputs were replaced."""

    largest: Float[np.ndarray, "t s"]
    """The largest movement of output t over all replacements of input s. Infinite if it became NaN or infinite."""
    together: Float[np.ndarray, " t"]
    """Largest movement of output t when all inputs after it were replaced at once."""
    within: float
    """The largest entry, in size, of all inputs that were tried. Larger inputs were not tried."""
    relative: float
    """The largest movement of an output with its future, divided by the largest number in the same call."""
    rounding: float
    """The most that rounding alone makes of that number; 0 if float64 shows that it is no rounding."""

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
    def to_rounding(self) -> bool:
        """Whether outputs moved with later inputs, but no further than rounding moves them."""
        return not self.causal and self.relative <= self.rounding

    @property
    def clean(self) -> bool:
        """Whether there is no leak, but perhaps movement by rounding."""
        return self.causal or self.to_rounding

    @property
    def worst(self) -> tuple[int, float]:
        """The output that moved furthest with its future, and how far."""
        future = np.maximum(np.triu(self.largest, 1).max(axis=1), self.together)
        return int(np.argmax(future)), float(np.max(future))


def leaks(
    mixer: Function, x: Inputs, replacing: Replacing | None = None, *, cuts: Sequence[int] | None = None
) -> Leaks:
    """Find out which outputs of a mixer move with which inputs, by replacing inputs.

    Each input is replaced alone, and after each position all later inputs together. They are replaced by zeros, by
    their negatives, by a huge constant, by copies of the first input, by noise, and by noise of large norm.

    Outputs are compared bit for bit. So rounding that travels back in time is seen too, as in a convolution by
    Fourier transform. The movement divided by the largest number of the same call tells a leak from rounding. In
    doubt the same is done in float64, where rounding is smaller and a leak is not.

    Args:
        mixer: a function of [length width] to [length v], of numpy, jax or torch arrays. Its own module's imports
            and a few calls show which of them it takes.
        x: the tokens to start from, at least two; or their numbers, [length], with `replacing`.
        replacing: a function of inputs, start and stop to inputs with those rows replaced; by default
            `replacements`.
        cuts: positions. All inputs from each of them on are replaced together. By default these are all positions,
            and each input is also replaced by itself.

    Raises:
        ValueError: if the function fails, or gives anything but one finite row for each position.
        Random: if it gives different outputs for the same tokens.

    Source: docs/mathematics/identities.md.
    """
    length = x.shape[0]
    if not length >= 2:
        raise ValueError(f"a leak needs an earlier and a later position, but there is {length} position")
    call, before = adapted(mixer, x)
    found = _swept(call, before, x, replacements if replacing is None else replacing, cuts)
    if found.to_rounding and x.dtype == np.float32 and not _clean_in_double(mixer, x.astype(np.float64), cuts):
        return dataclasses.replace(found, rounding=0.0)
    return found


def _swept(
    call: HostMixer, before: np.ndarray, x: Inputs, replacing: Replacing, cuts: Sequence[int] | None
) -> Leaks:
    """Try all replacements, and measure what each moved."""
    _refuse_another(call(x), before)
    length = x.shape[0]
    largest, together = np.zeros((length, length)), np.zeros(length)
    within, relative = float(np.max(np.abs(x))), 0.0

    def moved_by(replaced: np.ndarray, first: int) -> np.ndarray:
        nonlocal within, relative
        after = call(replaced)
        moved, size = _movement(after, before), float(np.max(np.abs(replaced)))
        within = max(within, size)
        future = float(np.max(moved[:first], initial=0.0))
        if future:
            most = max(size, *(float(np.max(np.abs(each), initial=0.0)) for each in (before, after)))
            relative = max(relative, future / most if np.isfinite(most) else np.inf)
        return moved

    for s in range(length if cuts is None else 0):
        for replaced in replacing(x, s, s + 1):
            largest[:, s] = np.maximum(largest[:, s], moved_by(replaced, s))
    for first in range(1, length) if cuts is None else cuts:
        for replaced in replacing(x, first, length):
            together[:first] = np.maximum(together[:first], moved_by(replaced, first)[:first])
    # Again: who counts calls, or changes with time, does not always do so from the first call on.
    _refuse_another(call(x), before)
    rounding = rounding_of((x.dtype, before.dtype), 2 * length)
    return Leaks(largest=largest, together=together, within=within, relative=relative, rounding=rounding)


def _clean_in_double(mixer: Function, x: Float[np.ndarray, "t d"], cuts: Sequence[int] | None) -> bool:
    """Whether the mixer has no leak on float64 tokens. True too if it gives no float64 for them."""
    finer = in_double(mixer, x)
    return finer is None or _swept(*finer, x, replacements, cuts).clean


def rounding_of(kinds: Sequence[np.dtype], terms: int) -> float:
    """The most that rounding makes of a sum, divided by its largest term; 0 for whole numbers.

    Each sum and each product errs by eps/2, and a sum of n terms has n of each.

    Args:
        kinds: the dtypes of inputs and outputs. The coarsest of them counts.
        terms: how many terms the sum has.
    """
    floating = [kind for kind in kinds if jax.numpy.issubdtype(kind, jax.numpy.floating)]
    if kinds[-1] not in floating:
        return 0.0
    return terms * max(float(jax.numpy.finfo(kind).eps) for kind in floating)


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


def other_numbers(vocabulary: int) -> Replacing:
    """Replace numbers of tokens by the first and the last number, by neighbours, and at random."""

    def replacing(ids: Int[np.ndarray, " t"], start: int, stop: int) -> list[np.ndarray]:
        rng, some = np.random.default_rng([SEED, start, stop]), ids[start:stop]
        drawn = rng.integers(0, vocabulary, (3, len(some)))
        candidates = (0 * some, 0 * some + vocabulary - 1, (some + 1) % vocabulary, 0 * some + ids[0], *drawn)
        return [np.concatenate([ids[:start], each, ids[stop:]]) for each in candidates]

    return replacing


def random_numbers(length: int, vocabulary: int) -> Int[np.ndarray, " {length}"]:
    """Numbers of tokens, always the same.

    Raises:
        ValueError: if there are fewer than two positions or two tokens.
    """
    for name, number in {"length": length, "number of tokens": vocabulary}.items():
        if not number >= 2:
            raise ValueError(f"the {name} must be at least 2, not {number}: a leak needs a past and a future")
    return np.random.default_rng(SEED).integers(0, vocabulary, length)


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
    """The matrix as text: a row for each output, a column for each input, and a line that says what it means."""
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
    count = int((found.leaks.any(axis=1) | (found.together > 0)).sum())
    if found.causal:
        lines.append(
            f"No leak at length {length}, values within ±{found.within:.3g}: no output moved with a later input, "
            "bit for bit. Larger values were not tried."
        )
    elif found.to_rounding:
        lines.append(
            f"No leak at length {length} but for rounding: {several(count, 'output')} moved with the future, by at "
            f"most {found.relative:.2g} of the largest number of the call. Rounding may make {found.rounding:.2g} "
            "of it."
        )
    else:
        lines.append(
            f"Leak: {some_of(count, length, 'output', 'moves', 'move')} with the future; output {output} by up to "
            f"{movement:.3g}."
        )
    return "\n".join(lines)


def as_json(found: Leaks) -> dict[str, Any]:
    """The leaks as plain values. A movement to infinity or NaN is null."""
    output, movement = found.worst

    def plain(x: float) -> float | None:
        return float(x) if np.isfinite(x) else None

    return {
        "causal": found.clean,
        "bit_for_bit": found.causal,
        "relative": plain(found.relative),
        "rounding": found.rounding,
        "length": found.moved.shape[0],
        "within": found.within,
        "leaks": [[int(t), int(s)] for t, s in np.argwhere(found.leaks)],
        "moved": found.moved.tolist(),
        "largest": [[plain(x) for x in row] for row in found.largest],
        "together": [plain(x) for x in found.together],
        "worst": {"output": output, "movement": plain(movement)},
    }


def exit_code(found: Leaks) -> int:
    """0 if the mixer is causal up to rounding; 1 if it leaks."""
    return 0 if found.clean else 1


def jacobian_reach(mixer: Function, x: Float[np.ndarray, "t d"]) -> Float[np.ndarray, "t s"]:
    """The picture of a leak: for a jax mixer, the largest derivative, in size, of output t by input s."""
    jacobian = jax.jacobian(mixer)(jax.numpy.asarray(x))
    return np.abs(np.asarray(jacobian)).max(axis=(1, 3))


def _refuse_another(output: np.ndarray, before: np.ndarray) -> None:
    if not np.array_equal(output, before):
        raise Random(
            "the function draws random numbers: two equal calls differ; "
            "switch dropout off, and keep no state between calls"
        )


def _movement(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """By row, how far the outputs moved; infinity where one is no longer a finite number."""
    with np.errstate(invalid="ignore", over="ignore"):
        moved = np.abs(after.astype(np.float64) - before.astype(np.float64)).max(axis=1)
    return np.where(np.isfinite(moved), moved, np.inf)
