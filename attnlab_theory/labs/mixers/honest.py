"""Losses without a look ahead, and where a model looks ahead."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from attnlab_theory.labs.perplexity import token_losses
from attnlab_theory.labs.sentences import Encoded
from attnlab_theory.language.corpora.batches import Numbers
from attnlab_theory.language.text.characters import PAD_ID

LONGEST = 10
"""Tokens of a sentence that are scored one prefix at a time."""

STEP = 8
"""Rows are as wide as where the test loss is taken: a multiple of this."""


class Beginnings(NamedTuple):
    """The mean loss per token of the beginning of each sentence, in three ways.

    In a causal model all three are equal. A model that looks ahead may read the tokens that it is to predict, and
    also how much PAD stands behind them: the second way takes only the tokens away, the third PAD too.
    """

    forced: Float[np.ndarray, " n"]
    """All tokens in one pass (teacher forcing), each row filled up with PAD to a multiple of `STEP` places."""
    filled: Float[np.ndarray, " n"]
    """Each token with PAD in all places behind its prefix, in a row of the same width."""
    bare: Float[np.ndarray, " n"]
    """Each token with nothing behind its prefix."""


def beginnings(model: Any, sentences: Encoded) -> Beginnings:
    """Losses with and without a look ahead.

    Args:
        model: a `GPT`.
        sentences: of which the first `LONGEST` targets count.
    """
    rows, sizes = sentences.rows, np.minimum(sentences.lengths, LONGEST)
    width = np.minimum(-(-sentences.lengths // STEP) * STEP, rows.x.shape[1])
    forced, filled, bare = np.zeros((3, len(sizes)))
    # All sentences go along each time, whether they count or not: few shapes to compile.
    for wide in np.unique(width):
        x, y, places = rows.x[:, :wide], rows.y[:, :wide], np.arange(wide)[None, :]
        counted = (places < sizes[:, None]) & (width == wide)[:, None]
        forced += np.where(counted, _losses(model, x, y), 0.0).sum(axis=1)
        for length in range(1, int(sizes.max(where=width == wide, initial=0)) + 1):
            prefix = np.where(places < length, x, PAD_ID).astype(np.int32)
            filled += np.where(counted, _losses(model, prefix, y), 0.0)[:, length - 1]
    for length in range(1, int(sizes.max()) + 1):
        bare += np.where(sizes >= length, _losses(model, rows.x[:, :length], rows.y[:, :length])[:, -1], 0.0)
    return Beginnings(forced / sizes, filled / sizes, bare / sizes)


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
    before = _losses(model, x, y)
    found = np.zeros((length, length))
    for place in range(length):
        other = x.copy()
        # A token of another sentence at this place, so that what is read stays likely.
        other[:, place] = rng.permutation(x[:, place])
        found[:, place] = np.abs(_losses(model, other, y) - before).mean(axis=0)
    return found


def _losses(model: Any, x: Numbers, y: Numbers) -> Float[np.ndarray, "n t"]:
    return np.asarray(token_losses(model, x, y), np.float64)
