"""Beam search for many prompts side by side, in one compiled program over kept keys and values."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from attnlab_theory.language.decode import Beam
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.models.layers import at_least_single
from attnlab_theory.language.models.mixing import in_slots
from attnlab_theory.language.prompts import Stop, checked, segments, slot_of


class Beams(NamedTuple):
    """The continuations that a beam has kept behind every prompt, best first."""

    tokens: Int[np.ndarray, "n width steps"]
    log_probability: Float[np.ndarray, "n width steps"]
    """Of each token, given all before it; 0 behind the end."""
    score: Float[np.ndarray, "n width"]
    """The summed log-probabilities over the length to the power of the penalty."""


def beam(
    model: GPT,
    prompts: Int[Array | np.ndarray, "n t"],
    lengths: Int[Array | np.ndarray, " n"],
    *,
    search: Beam,
    steps: int,
    stop: Stop | None = None,
) -> Beams:
    """The best continuations that a beam search finds.

    Args:
        search: how many are kept, and how they are ordered. Of equally good ones, that of the better beginning
            comes first, then that of the lower token.
        stop: what ends a continuation: a token, the first time that it comes. None: all steps are taken.
        others: as `greedy`.

    Returns:
        All that are kept at the end. A prompt's do not depend on the other prompts.

    Raises:
        ValueError: as `greedy`; if the beam is wider than the vocabulary, the stop token must come several times,
            the model keeps no keys and values, or prompt and steps are longer than its block.
    """
    prompts, lengths = checked(model, prompts, lengths, steps, stop)
    vocabulary, block = model.config.vocabulary, model.config.block
    if search.width > vocabulary:
        raise ValueError(
            f"a beam of {search.width} is wider than the vocabulary of {vocabulary}: take a narrower one"
        )
    if stop is not None and stop.times > 1:
        raise ValueError(f"a beam ends with the first stop token, not after {stop.times}")
    if not model.config.mixer.scored:
        raise ValueError(f"beam search needs keys and values to keep, and {model.config.mixer.name} has none")
    if prompts.shape[1] + steps - 1 > block:
        raise ValueError(
            f"a prompt of {prompts.shape[1]} tokens and {steps} steps do not fit into a block of {block}: beam "
            "search keeps the whole row"
        )
    found = _over_beams(
        model,
        prompts,
        lengths,
        jnp.asarray(search.length_penalty, float),
        width=search.width,
        steps=steps,
        stop=stop,
    )
    tokens, log_probability, score = (np.asarray(each) for each in found)
    if np.any(np.isnan(score)):
        row = int(np.argwhere(np.isnan(score))[0][0])
        raise ValueError(f"the logits after prompt {row} are NaN: look for NaN in the weights")
    return Beams(tokens, log_probability, score)


class _Kept(NamedTuple):
    """The continuations of all prompts so far."""

    tokens: Int[Array, "n w steps"]
    log_probability: Float[Array, "n w steps"]
    total: Float[Array, "n w"]
    length: Int[Array, "n w"]
    ended: Bool[Array, "n w"]


@functools.partial(jax.jit, static_argnames=("width", "steps", "stop"))
def _over_beams(
    model: GPT,
    prompts: Array,
    lengths: Array,
    penalty: Float[Array, ""],
    *,
    width: int,
    steps: int,
    stop: Stop | None,
) -> tuple[Array, Array, Array]:
    """Every prompt takes `width` rows of one batch; after each token rows are taken over with their caches."""
    n, t = prompts.shape
    logits, cache = model.prefill_rows(prompts, lengths)
    end = -1 if stop is None else stop.token
    kept = _Kept(
        jnp.full((n, width, steps), max(end, 0), jnp.int32),
        jnp.zeros((n, width, steps)),
        # Of equal beginnings only the first is one.
        jnp.where(jnp.arange(width)[None, :] == 0, jnp.zeros((n, width)), -jnp.inf),
        jnp.zeros((n, width), jnp.int32),
        jnp.zeros((n, width), bool),
    )
    every = jnp.repeat(jnp.arange(n), width)
    wide = jnp.repeat(at_least_single(logits), width, axis=0)
    kept, _ = _extended(kept, jnp.int32(0), wide, end, penalty)
    carry = (jnp.int32(1), kept, jax.tree.map(lambda x: x[every], cache))
    own = jnp.repeat(lengths, width)
    for last in segments(steps - 1):
        number, kept, cache = carry
        capacity = t + last

        def step(carry, capacity=capacity):
            number, kept, cache = carry
            token = lax.dynamic_index_in_dim(kept.tokens, number - 1, axis=2, keepdims=False).reshape(-1)
            logits, cache = model.step_rows(token, slot_of(own, t, number - 1, capacity), cache)
            kept, parent = _extended(kept, number, at_least_single(logits), end, penalty)
            rows = (jnp.arange(n, dtype=parent.dtype)[:, None] * width + parent).reshape(-1)
            return number + 1, kept, jax.tree.map(lambda x: x[rows], cache)

        def goes_on(carry, last=last):
            return (carry[0] < last + 1) & ~jnp.all(carry[1].ended)

        grown = tuple(in_slots(layer, capacity) for layer in cache if layer is not None)
        carry = lax.while_loop(goes_on, step, (number, kept, grown))
    kept = carry[1]
    return kept.tokens, kept.log_probability, _scores(kept.total, kept.length, penalty)


def _scores(
    total: Float[Array, "..."], length: Int[Array, "..."], penalty: Float[Array, ""]
) -> Float[Array, "..."]:
    return total / jnp.maximum(length, 1).astype(total.dtype) ** penalty.astype(total.dtype)


def _extended(
    kept: _Kept, number: Array, wide: Float[Array, "r c"], end: int, penalty: Float[Array, ""]
) -> tuple[_Kept, Int[Array, "n w"]]:
    """The best continuations by one token more, and which one each of them continues."""
    n, width = kept.total.shape
    count = wide.shape[1]
    law = jax.nn.log_softmax(wide, axis=1).reshape(n, width, count).astype(kept.total.dtype)
    # What has ended goes on in one way only, which adds nothing.
    still = jnp.where(jnp.arange(count)[None, None, :] == max(end, 0), 0.0, -jnp.inf).astype(law.dtype)
    law = jnp.where(kept.ended[:, :, None], still, law)
    length = kept.length + (~kept.ended).astype(jnp.int32)
    totals = kept.total[:, :, None] + law
    scores = _scores(totals, jnp.broadcast_to(length[:, :, None], totals.shape), penalty)
    _, best = lax.top_k(scores.reshape(n, -1), width)
    parent, token = (best // count).astype(jnp.int32), (best % count).astype(jnp.int32)
    added = jnp.take_along_axis(law.reshape(n, -1), best, axis=1)

    def taken(x: Array) -> Array:
        return jnp.take_along_axis(x, parent.reshape(n, width, *[1] * (x.ndim - 2)), axis=1)

    tokens, log_probability, total, length, ended = *(taken(x) for x in kept[:3]), taken(length), taken(kept.ended)
    longer = _Kept(
        lax.dynamic_update_slice_in_dim(tokens, token[:, :, None], number, axis=2),
        lax.dynamic_update_slice_in_dim(log_probability, added[:, :, None], number, axis=2),
        total + added,
        length,
        ended | (token == end),
    )
    return longer, parent
