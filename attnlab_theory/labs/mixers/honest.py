"""Losses without a look ahead, and where a model looks ahead."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab_theory.labs.sentences import Encoded

LONGEST = 10
"""Tokens of a sentence that are scored one prefix at a time."""


def honest(model: Any, sentences: Encoded) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The mean loss per token of each sentence's beginning, in two ways.

    Args:
        model: a `GPT`.
        sentences: of which the first `LONGEST` targets count.

    Returns:
        Each target scored with nothing behind its prefix, and all of them scored in one pass (teacher forcing),
        over rows that are filled up with PAD as in training.
    """
    rows, sizes = sentences.rows, np.minimum(sentences.lengths, LONGEST)
    alone = np.zeros(len(sizes))
    for length in range(1, int(sizes.max()) + 1):
        chosen = np.flatnonzero(sizes >= length)
        x, y = (jnp.asarray(part[chosen, :length]) for part in (rows.x, rows.y))
        alone[chosen] += np.asarray(_losses(model, x, y), np.float64)[:, -1]
    whole = np.asarray(_losses(model, jnp.asarray(rows.x), jnp.asarray(rows.y)), np.float64)
    counted = np.arange(whole.shape[1])[None, :] < sizes[:, None]
    together = np.where(counted, whole, 0.0).sum(axis=1)
    return alone / sizes, together / sizes


def leak_map(model: Any, sentences: Encoded, *, length: int, seed: int = 0) -> Float[np.ndarray, "t t"]:
    """By how much the loss at each place changes when one token is replaced, on average over sentences.

    Args:
        model: a `GPT`.
        sentences: those of at least `length` targets are looked at, 32 at most.
        length: places that are shown.
        seed: of the replacements.

    Returns:
        Rows: the place whose loss changes. Columns: the place of the token that is replaced. Above the diagonal it
        lies in the future.

    Raises:
        ValueError: if no sentence is as long.
    """
    chosen = np.flatnonzero(sentences.lengths >= length)[:32]
    if not len(chosen):
        raise ValueError(f"no sentence has {length} tokens: show fewer places")
    x, y = sentences.rows.x[chosen, :length], sentences.rows.y[chosen, :length]
    rng = np.random.default_rng(seed)
    before = np.asarray(_losses(model, jnp.asarray(x), jnp.asarray(y)), np.float64)
    found = np.zeros((length, length))
    for place in range(length):
        other = x.copy()
        # A token of another sentence at this place, so that what is read stays likely.
        other[:, place] = rng.permutation(x[:, place])
        after = np.asarray(_losses(model, jnp.asarray(other), jnp.asarray(y)), np.float64)
        found[:, place] = np.abs(after - before).mean(axis=0)
    return found


@eqx.filter_jit
def _losses(model: Any, x: Int[Array, "n t"], y: Int[Array, "n t"]) -> Float[Array, "n t"]:
    logits = model.rows(x)
    chosen = y[:, :, None] == jnp.arange(logits.shape[2], dtype=y.dtype)[None, None, :]
    return jax.nn.logsumexp(logits, axis=2) - jnp.sum(jnp.where(chosen, logits, 0), axis=2)
