"""Captions of a model's own, as tokens and as text."""

from collections.abc import Iterable, Sequence

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from attnlab_theory import refuse
from attnlab_theory.labs.captions.scores import repeated
from attnlab_theory.language.decode import Choosing, Sampling
from attnlab_theory.language.generate import MODELS_OWN, greedy, sample
from attnlab_theory.language.models.gpt import GPT
from attnlab_theory.language.prompts import Stop
from attnlab_theory.language.text.vocabulary import OfSentences

BATCH = 256
"""How many captions are drawn at once."""

Tokens = tuple[int, ...]
"""A sentence without marks."""


def captions(
    key: PRNGKeyArray, model: GPT, text: OfSentences, count: int, *, choosing: Choosing = MODELS_OWN
) -> list[Tokens]:
    """Captions from BOS to EOS or to the end of the block.

    Captions that are drawn are independent. Greedy decoding always gives the same one.

    Args:
        key: a PRNG key. Caption i gets the same random numbers however many there are.
        model: the model that writes.
        text: its vocabulary.
        count: how many.
        choosing: how the next token is chosen. By default it is drawn from the model's own law.

    Raises:
        ValueError: if count is not a positive whole number.
    """
    refuse.not_a_size(count=count)
    steps, stop = model.config.block, Stop(text.eos)
    if not isinstance(choosing, Sampling):
        begin = np.full((1, 1), text.bos, np.int32), np.ones(1, np.int32)
        (row,) = greedy(model, *begin, steps=steps, stop=stop).tokens
        return [up_to_end(row.tolist(), text.eos)] * count
    rows = min(BATCH, count)
    prompts, lengths = np.full((rows, 1), text.bos, np.int32), np.ones(rows, np.int32)
    found: list[Tokens] = []
    for number in range(-(-count // rows)):
        own = jax.random.fold_in(key, number)
        drawn = sample(own, model, prompts, lengths, sampling=choosing, steps=steps, stop=stop)
        found += [up_to_end(row.tolist(), text.eos) for row in drawn.tokens]
    return found[:count]


def up_to_end(row: Sequence[int], eos: int) -> Tokens:
    """The tokens before the first EOS."""
    return tuple(row[: row.index(eos)] if eos in row else row)


def as_lines(captions: Iterable[Tokens], text: OfSentences) -> tuple[str, ...]:
    """Captions as texts."""
    return tuple(" ".join(text.decode_text(caption).split()) for caption in captions)


def side(name: str, captions: Sequence[Tokens], text: OfSentences) -> str:
    """Captions under a heading. Tokens of n-grams that come twice stand in brackets."""
    lines = [name]
    for caption in captions:
        twice = repeated(caption)
        words = [text.decode_text([token]).strip() for token in caption]
        marked = [f"[{word}]" if place in twice else word for place, word in enumerate(words)]
        lines.append("    " + (" ".join(marked) if twice else " ".join(text.decode_text(caption).split())))
    return "\n".join(lines) + "\n"
