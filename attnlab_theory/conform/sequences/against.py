"""Two models that promise the same, such as the eager and the fused path of one library: the same ids to both."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attnlab_theory.conform.finding import Trouble, Verdict
from attnlab_theory.conform.sequences.continuations import SHORT
from attnlab_theory.conform.sequences.language_model import LanguageModelSuite
from attnlab_theory.conform.sequences.padding import REAL, TOKENS, masked
from attnlab_theory.conform.sequences.suite import off
from attnlab_theory.conform.suite import NOTHING, Said, failed

Logits = tuple[np.ndarray | None, Trouble | None]
"""Logits [b t v], or None and what went wrong."""


class Pair(NamedTuple):
    """What both gave."""

    asked: str
    ids: np.ndarray
    here: Logits
    there: Logits


def against(suite: LanguageModelSuite) -> Said:
    """Logits of both are as near as those of one model may be; at padding they may be anything."""
    if suite.rival is None:
        return NOTHING
    worst, tried = 0.0, 0
    for asked, ids, (one, trouble), (other, more) in _pairs(suite, suite.rival):
        tried += 1
        if one is None or other is None:
            if one is not None or other is not None:
                where = "here" if one is None else "there"
                wrong = trouble or more
                assert wrong is not None
                return failed(wrong, f"{asked}: only {where}: ", tried)
            continue
        if one.shape != other.shape:
            return Said(Verdict.FAILS, f"{asked}: logits {[*one.shape]} here, and {[*other.shape]} there", tried)
        verdict = suite.near(one, other, (ids,))
        if verdict.fails:
            line = f"{asked}: row {verdict.place[0]}, token {verdict.place[1]}: {off(verdict)}"
            return Said(Verdict.FAILS, line, tried, ratio=verdict.ratio)
        worst = max(worst, verdict.ratio)
    return Said(Verdict.HOLDS, f"at most {worst:.2g} of the tolerance apart", tried, ratio=worst)


def _pairs(suite: LanguageModelSuite, rival: LanguageModelSuite) -> Iterator[Pair]:
    both = suite, rival
    for n in suite.lengths:
        (ids,) = suite.draw(2, n, n)
        yield Pair(f"{n} tokens", ids, suite.whole((ids,)), rival.whole((ids,)))
    if all(each.mask and not each.flat for each in both):
        (ids,) = suite.draw(2, TOKENS, 25)
        for side, real in (("right", slice(0, REAL)), ("left", slice(TOKENS - REAL, TOKENS))):
            mask = np.ones_like(ids)
            mask[0] = 0
            mask[0, real] = 1
            yield Pair(f"{TOKENS} tokens, padded at the {side}", ids, *(_real(each, ids, mask) for each in both))
    if all(each.keep for each in both):
        x = suite.draw(2, SHORT, 26)
        yield Pair(f"{SHORT} tokens, one after the other", x[0], *(_stepped(each, x) for each in both))


def _real(suite: LanguageModelSuite, ids: np.ndarray, mask: np.ndarray) -> Logits:
    """Logits of real tokens, and zeros at padding."""
    came, trouble = suite.read(suite.all(ids, named=masked(suite, mask)), ids)
    return (None, trouble) if came is None else (np.where(mask[..., None] == 1, came, 0.0), None)


def _stepped(suite: LanguageModelSuite, x: tuple[np.ndarray, ...]) -> Logits:
    fed = suite.run(x, range(1, SHORT))
    return (None, fed.trouble) if fed.trouble else (fed.output, None)
