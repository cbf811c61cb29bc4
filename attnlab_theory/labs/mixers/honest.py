"""Honest losses, which no later token can change, and the places where a model uses later tokens."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab_theory.labs.perplexity import ROWS, token_losses
from attnlab_theory.labs.sentences import Encoded
from attnlab_theory.language.corpora.batches import Batch, Numbers
from attnlab_theory.language.text.characters import PAD_ID

LONGEST = 10
"""The most tokens of a sentence that are scored one prefix at a time."""

STEP = 8
"""Rows have the widths of the test loss, which are multiples of this."""


class Beginnings(NamedTuple):
    """The mean loss per token of the beginning of each sentence, in three ways.

    In a causal model all three are equal. A leaking model may read the tokens that it should predict, and also how
    much PAD follows them. The second way takes away only the tokens, the third takes away PAD too.
    """

    forced: Float[np.ndarray, " n"]
    """All tokens in one pass (teacher forcing), each row filled up with PAD to a multiple of `STEP` places."""
    filled: Float[np.ndarray, " n"]
    """Each token with PAD in all places after its prefix, in a row of the same width."""
    bare: Float[np.ndarray, " n"] | None
    """Each token with nothing after its prefix. None if that was not measured."""


def beginnings(model: Any, sentences: Encoded, *, bare: bool = True) -> Beginnings:
    """Losses with and without later tokens.

    Args:
        model: a `GPT`.
        sentences: the first `LONGEST` targets of each count.
        bare: whether PAD is taken away, too. That compiles a shape for each length of a prefix.
    """
    rows, sizes = sentences.rows, np.minimum(sentences.lengths, LONGEST)
    width = np.minimum(-(-sentences.lengths // STEP) * STEP, rows.x.shape[1])
    forced, filled = np.zeros((2, len(sizes)))
    for wide in np.unique(width):
        chosen = np.flatnonzero(width == wide)
        x, y, places = rows.x[chosen, :wide], rows.y[chosen, :wide], np.arange(wide)
        counted = places < sizes[chosen, None]
        forced[chosen] = np.where(counted, _losses(model, x, y), 0.0).sum(axis=1)
        for length in range(1, int(sizes[chosen].max()) + 1):
            prefix = np.where(places < length, x, PAD_ID).astype(np.int32)
            filled[chosen] += np.where(counted, _losses(model, prefix, y), 0.0)[:, length - 1]
    return Beginnings(forced / sizes, filled / sizes, _bare(model, sentences, sizes) if bare else None)


def _bare(model: Any, sentences: Encoded, sizes: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    found, rows = np.zeros(len(sizes)), sentences.rows
    for length in range(1, int(sizes.max()) + 1):
        chosen = np.flatnonzero(sizes >= length)
        found[chosen] += _losses(model, rows.x[chosen, :length], rows.y[chosen, :length])[:, -1]
    return found / sizes


def leak_map(model: Any, sentences: Encoded, *, length: int, seed: int = 0) -> Float[np.ndarray, "t t"]:
    """The change of the loss at each place when one token is replaced, on average over sentences.

    Args:
        model: a `GPT`.
        sentences: those with at least `length` targets are used, 32 at most.
        length: the number of places that are shown.
        seed: of the replacements.

    Returns:
        A row for each place whose loss changes, and a column for each token that is replaced. Above the diagonal
        the token lies in the future.

    Raises:
        ValueError: if no sentence is long enough.
    """
    chosen = np.flatnonzero(sentences.lengths >= length)[:32]
    if not len(chosen):
        raise ValueError(f"no sentence has {length} tokens: show fewer places")
    x, y = sentences.rows.x[chosen, :length], sentences.rows.y[chosen, :length]
    rng = np.random.default_rng(seed)
    before = _losses(model, x, y)
    found = np.zeros((length, length))
    for place in range(length):
        other = x.copy()
        # A token of another sentence at this place, so that what is read stays likely.
        other[:, place] = rng.permutation(x[:, place])
        found[:, place] = np.abs(_losses(model, other, y) - before).mean(axis=0)
    return found


def _losses(model: Any, x: Numbers, y: Numbers) -> Float[np.ndarray, "n t"]:
    """The loss of every token, for as many rows at once as for the test loss, so that few shapes are compiled."""
    parts = (Batch(x[start : start + ROWS], y[start : start + ROWS]) for start in range(0, len(x), ROWS))
    found = [np.asarray(token_losses(model, *part.filled(ROWS)[:2]), np.float64)[: len(part.x)] for part in parts]
    return np.concatenate(found)
