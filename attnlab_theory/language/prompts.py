"""What all ways to continue prompts share: the end of a row, checked inputs, the slots of a growing cache."""

import dataclasses
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from attnlab_theory import refuse
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.mixing import Slot

SEGMENT = 32
"""The cache grows by this many tokens. A step reads all of its slots, so they should not come too early."""


@dataclasses.dataclass(frozen=True)
class Stop:
    """What ends a row: a token, once it has been generated `times` times. Those in the prompt do not count."""

    token: int
    times: int = 1


def checked(
    model: GPT, prompts: Array | np.ndarray, lengths: Array | np.ndarray, steps: int, stop: Stop | None
) -> tuple[Array, Array]:
    """Prompts without superfluous columns, with zeros after their ends, and their lengths."""
    refuse.wrong_rank(2, prompts=prompts)
    refuse.wrong_rank(1, lengths=lengths)
    refuse.different_axes("rows", prompts=len(prompts), lengths=len(lengths))
    refuse.not_a_size(steps=steps)
    rows, sizes, vocabulary = np.asarray(prompts), np.asarray(lengths), model.config.vocabulary
    if not rows.size:
        raise ValueError(f"prompts must hold a token, but have shape {rows.shape}")
    for name, array in (("prompts", rows), ("lengths", sizes)):
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"{name} must hold whole numbers, not {array.dtype}")
    wrong = np.flatnonzero((sizes < 1) | (sizes > rows.shape[1]))
    if wrong.size:
        raise ValueError(
            f"the length of prompt {wrong[0]} must be from 1 to {rows.shape[1]}, not {sizes[wrong[0]]}"
        )
    if stop is not None:
        refuse.not_whole(stop=stop.token)
        refuse.not_a_size(times=stop.times)
        if not 0 <= stop.token < vocabulary:
            raise ValueError(f"stop token {stop.token} is outside the vocabulary: 0 to {vocabulary - 1}")
    rows = np.where(np.arange(rows.shape[1])[None] < sizes[:, None], rows, 0)[:, : sizes.max()]
    wrong = np.argwhere((rows < 0) | (rows >= vocabulary))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(
            f"token {rows[row, column]} of prompt {row} is outside the vocabulary: 0 to {vocabulary - 1}"
        )
    return jnp.asarray(rows, jnp.int32), jnp.asarray(sizes, jnp.int32)


def segments(total: int) -> Sequence[int]:
    """The numbers of tokens at which one loop ends, and the next one begins with a longer cache."""
    return [*range(SEGMENT, total, SEGMENT), total] if total else []


def slot_of(lengths: Array, t: int, generated: Array, capacity: int) -> Slot:
    """The slot of the token that was generated as number `generated`, from 0."""
    slots = jnp.arange(capacity, dtype=jnp.int32)[None]
    own = lengths[:, None]
    keys = jnp.where(slots < t, slots, own + slots - t)
    seen = (slots < own) | ((slots >= t) & (slots <= t + generated))
    return Slot(t + generated, own + generated, keys, seen[:, None])
