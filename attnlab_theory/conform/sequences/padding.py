"""What padding may not do to a model. Its attention mask is 1 where a token is real, and 0 where it is padding."""

from collections.abc import Sequence

import numpy as np

from attnlab_theory.conform.finding import Verdict
from attnlab_theory.conform.sequences.language_model import LanguageModelSuite
from attnlab_theory.conform.sequences.suite import off
from attnlab_theory.conform.suite import NOTHING, Said, failed, refused

TOKENS = 10
REAL = 7
"""Tokens of the padded row that are real."""


def masked(suite: LanguageModelSuite, mask: np.ndarray, first: int = 0) -> dict[str, np.ndarray]:
    """The mask by its name, and the positions of tokens from `first` on, where the model takes them.

    Positions count the real tokens; those of padding are 0.
    """
    named = {suite.mask: mask}
    if suite.positions:
        named[suite.positions] = np.maximum(mask.cumsum(1) - 1, 0)[:, first:]
    return named


def padded(suite: LanguageModelSuite, side: str) -> Said:
    """A padded row beside a full one gives at its real tokens what it gives alone, whatever the padding is."""
    if not suite.mask or suite.flat:
        return NOTHING
    (ids,) = suite.draw(2, TOKENS, 21)
    mask = np.ones((2, TOKENS), np.int64)
    real = slice(0, REAL) if side == "right" else slice(TOKENS - REAL, TOKENS)
    mask[0] = 0
    mask[0, real] = 1
    alone, trouble = suite.whole((ids[:1, real],))
    plain, more = suite.whole((ids[1:],))
    if alone is None or plain is None:
        return failed(trouble or more)
    outputs = []
    for seed in (21, 22, 23):
        given = ids.copy()
        given[mask == 0] = suite.draw(2, TOKENS, seed)[0][mask == 0]
        came, trouble = suite.read(suite.all(given, named=masked(suite, mask)), given)
        if came is None:
            return refused(trouble, tried=3)
        outputs.append(came)
    for came in outputs[1:]:
        verdict = suite.near(came[:1, real], outputs[0][:1, real], (ids,))
        if verdict.fails:
            unmasked = masked(suite, mask) | {suite.mask: np.ones_like(mask)}
            bare, _ = suite.read(suite.all(ids, named=unmasked), ids)
            idle = bare is not None and not suite.near(outputs[0], bare, (ids,)).error
            why = f"; {suite.mask} changes nothing" if idle else ""
            line = f"logits of real tokens move with the ids of padding at the {side}: {off(verdict)}{why}"
            return Said(Verdict.FAILS, line, 3)
    full = suite.near(outputs[0][1:], plain, (ids,))
    if full.fails:
        return Said(Verdict.FAILS, f"a row without padding moves beside one that is padded: {off(full)}", 3)
    verdict = suite.near(outputs[0][:1, real], alone, (ids,))
    if not verdict.fails:
        return Said(Verdict.HOLDS, f"{TOKENS - REAL} of {TOKENS} tokens, in one of two rows", 3)
    if side == "left" and not suite.positions:
        return Said(Verdict.CONVENTION, f"positions count the padding: logits move by {verdict.error:.2g}", 3)
    return Said(Verdict.FAILS, f"real tokens, padded at the {side} and alone: {off(verdict)}", 3)


def right(suite: LanguageModelSuite) -> Said:
    """Padding after the real tokens."""
    return padded(suite, "right")


def left(suite: LanguageModelSuite) -> Said:
    """Padding before the real tokens."""
    return padded(suite, "left")


def cached(suite: LanguageModelSuite) -> Said:
    """A row that is padded at the left, decoded from a cache, gives what all of it gives at once."""
    if not suite.mask or suite.flat or not suite.keep:
        return NOTHING
    (ids,) = suite.draw(2, TOKENS, 24)
    mask = np.ones((2, TOKENS), np.int64)
    mask[0, : TOKENS - REAL] = 0
    whole, _ = suite.read(suite.all(ids, named=masked(suite, mask)), ids)
    if whole is None:
        return NOTHING
    singles = range(TOKENS - 4, TOKENS)
    first = _stepped(suite, ids, mask, whole, singles, steps_are_masked=True)
    if first.verdict is Verdict.HOLDS:
        # Two tokens at once are of a later turn. Who refuses them is not asked for them.
        several = _stepped(suite, ids, mask, whole, (singles[0], *singles[2:]), steps_are_masked=True)
        return several if suite.chunked and several.verdict is Verdict.FAILS else first
    other = _stepped(suite, ids, mask, whole, singles, steps_are_masked=False)
    return other._replace(verdict=Verdict.CONVENTION) if other.verdict is Verdict.HOLDS else first


def _stepped(
    suite: LanguageModelSuite,
    ids: np.ndarray,
    mask: np.ndarray,
    whole: np.ndarray,
    starts: Sequence[int],
    steps_are_masked: bool,
) -> Said:
    """Several padded tokens at once, then few from each start on, with a mask over the past in them, or none."""
    begin, several = starts[0], len(starts) < TOKENS - starts[0]
    then = "two at once" if several else "one by one"
    fed = suite.feed((ids[:, :begin],), 0, (), named=masked(suite, mask[:, :begin]))
    for t, end in zip(starts, (*starts[1:], TOKENS), strict=True):
        if fed.trouble:
            return refused(fed.trouble, tried=5)
        named = masked(suite, mask[:, :end], t)
        if not steps_are_masked:
            del named[suite.mask]
        fed = suite.feed((ids[:, t:end],), t, fed.state, named=named)
        if not fed.trouble:
            verdict = suite.near(fed.output, whole[:, t:end], (ids,))
            if verdict.fails:
                at = t + verdict.place[1]
                line = f"padded at the left, {begin} tokens and then {then}: token {at} is {off(verdict)}"
                return Said(Verdict.FAILS, line, 5, ratio=verdict.ratio)
    if fed.trouble:
        return refused(fed.trouble, tried=5)
    more = "" if steps_are_masked else "; a step takes no mask"
    return Said(Verdict.HOLDS, f"{begin} tokens, then {then}{more}", 5)
