"""Texts that a recurrent network writes, and the share of garbled words in them."""

from collections.abc import Collection

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int, PRNGKeyArray

from attnlab_theory.labs.recurrent.letters import SPACE
from attnlab_theory.language.models.recurrent import Recurrent
from attnlab_theory.language.text.words import EOS_ID, Words


def texts(key: PRNGKeyArray, model: Recurrent, text: Words, *, count: int, steps: int) -> list[list[str]]:
    """Sentences that are drawn token by token, up to EOS, as lists of words.

    Args:
        key: of the draws.
        model: an RNN. The W-RNN would need a second state.
        text: its vocabulary, in which every character is a token.
        count: how many.
        steps: the most tokens of a sentence.

    Raises:
        ValueError: if the model is a W-RNN.
    """
    if model.crossed is not None:
        raise ValueError("only the RNN writes texts here")
    drawn = np.asarray(_drawn(key, model, jnp.full(count, text.bos, jnp.int32), steps))
    found = []
    for row in drawn.tolist():
        kept = row[: row.index(EOS_ID)] if EOS_ID in row else row
        found.append("".join(text.decode(kept)).split(SPACE))
    return found


def garbled(sentences: list[list[str]], words: Collection[str]) -> float:
    """The share of words that do not exist in the language.

    Raises:
        ValueError: if there is no word at all.
    """
    every = [word for sentence in sentences for word in sentence if word]
    if not every:
        raise ValueError("there are no words to look at: every text is empty")
    return sum(word not in words for word in every) / len(every)


@eqx.filter_jit
def _drawn(key: PRNGKeyArray, model: Recurrent, begin: Int[Array, " n"], steps: int) -> Int[Array, "n steps"]:
    f = model.config.first.function

    def step(state: tuple[Array, Array], key: PRNGKeyArray) -> tuple[tuple[Array, Array], Array]:
        a, token = state
        a = f(model.u[token] + a @ model.w + model.s1[None])
        token = jax.random.categorical(key, a @ model.q + model.s3[None], axis=1).astype(jnp.int32)
        return (a, token), token

    still = jnp.zeros((begin.shape[0], model.config.hidden))
    _, tokens = lax.scan(step, (still, begin), jax.random.split(key, steps))
    return tokens.T
