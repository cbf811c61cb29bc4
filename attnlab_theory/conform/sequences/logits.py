"""What a model must keep with or without a cache: identities of the kind `model`."""

import numpy as np

from attnlab_theory.conform.finding import NOT_FINITE, WROTE, Trouble, Verdict
from attnlab_theory.conform.sequences import continuations
from attnlab_theory.conform.sequences.language_model import LanguageModelSuite
from attnlab_theory.conform.sequences.rounding import apart, peak
from attnlab_theory.conform.sequences.suite import COMPILED, off, same, told_lengths
from attnlab_theory.conform.suite import NOTHING, Said, failed

LEAKS = (12, 17, 33, 65)
"""Tokens of the calls in which leaks are looked for."""


def all_lengths(suite: LanguageModelSuite) -> Said:
    """Lengths beside the edges of blocks are taken, and give numbers."""
    refused: dict[int, Trouble] = {}
    for n in suite.lengths:
        came, trouble = suite.whole(suite.draw(2, n, n))
        if came is None:
            assert trouble is not None
            refused[n] = trouble
        elif not np.isfinite(came).all():
            line = f"{n} tokens: logits are no numbers"
            return Said(Verdict.FAILS, line, len(suite.lengths), trouble=NOT_FINITE)
    told = ", ".join(map(str, suite.lengths))
    return told_lengths(suite.lengths, refused) or Said(Verdict.HOLDS, told, len(suite.lengths))


def causality(suite: LanguageModelSuite) -> Said:
    """No logit moves when later tokens are others."""
    tried = 0
    for n in suite.taken(COMPILED[1:3] if suite.framework == "jax" else LEAKS):
        (ids,) = suite.draw(2, n, n)
        base, more = suite.whole((ids,))
        for cut in sorted({1, n // 2, n - 2, n - 1}):
            for seed in (1, 2):
                other = ids.copy()
                other[:, cut:] = suite.draw(2, n, n + seed)[0][:, cut:]
                came, trouble = suite.whole((other,))
                tried += 1
                if came is None or base is None:
                    return failed(trouble or more, f"{n} tokens: ", tried)
                verdict = suite.near(came[:, :cut], base[:, :cut], (ids,))
                if verdict.fails:
                    line = f"{n} tokens: logits of token {verdict.place[1]} move with the tokens from {cut} on"
                    return Said(Verdict.FAILS, f"{line}: {off(verdict)}", tried, ratio=verdict.ratio)
    return Said(Verdict.HOLDS, "later tokens replaced", tried)


def prefixes(suite: LanguageModelSuite) -> Said:
    """The logits of a prefix alone are those within the whole."""
    lengths = suite.taken(suite.lengths)
    whole = lengths[-1]
    (ids,) = suite.draw(2, whole, 1)
    base, trouble = suite.whole((ids,))
    if base is None:
        return failed(trouble, f"{whole} tokens: ")
    for n in lengths[:-1]:
        came, trouble = suite.whole((ids[:, :n],))
        if came is None:
            return failed(trouble, f"{n} tokens: ", len(lengths))
        verdict = suite.near(came, base[:, :n], (ids,))
        if verdict.fails:
            line = f"{n} tokens alone, and within {whole}: token {verdict.place[1]} is {off(verdict)}"
            return Said(Verdict.FAILS, line, len(lengths), ratio=verdict.ratio)
    return Said(Verdict.HOLDS, f"prefixes of {', '.join(map(str, lengths))} tokens", len(lengths))


def elements(suite: LanguageModelSuite) -> Said:
    """A row alone is what it is in a batch, whatever the other rows are."""
    if suite.flat:
        return NOTHING
    for n in suite.taken((1, 5, 17)):
        (ids,) = suite.draw(3, n, n)
        base, trouble = suite.whole((ids,))
        if base is None:
            return failed(trouble, f"3 rows of {n} tokens: ")
        others = np.concatenate([ids[:1], suite.draw(2, n, n + 1)[0]])
        for name, given in (("left out", ids[:1]), ("others", others)):
            came, trouble = suite.whole((given,))
            if came is None:
                return failed(trouble, f"{len(given)} rows of {n} tokens: ")
            verdict = suite.near(came[:1], base[:1], (ids,))
            if verdict.fails:
                line = f"{n} tokens: row 0 moves when the other rows are {name}: {off(verdict)}"
                return Said(Verdict.FAILS, line, 6, ratio=verdict.ratio)
    return Said(Verdict.HOLDS, "alone, and beside other rows", 6)


def repeated(suite: LanguageModelSuite) -> Said:
    """The same call gives the same, also after calls of other lengths, with a cache, and one that is refused."""
    (ids,) = suite.draw(2, 6, 2)
    first = suite.all(ids)
    for name in ("the same", "another length", "decoding", "an id that is refused"):
        match name:
            case "another length":
                suite.whole(suite.draw(1, 9, 3))
            case "decoding":
                suite.run((ids,), range(1, 6)) if suite.caches else None
            case "an id that is refused":
                suite.all(np.full((1, 3), suite.vocabulary + 10**6))
        again = suite.all(ids)
        if trouble := first.trouble or again.trouble:
            return failed(trouble, f"after {name}: ", 4)
        if not same(first, again):
            if float(apart(first.arrays[0], again.arrays[0]).max()) > 1e-5 * (1 + peak(first.arrays[0])):
                line = f"two equal calls differ, after {name}; a module must be in evaluation mode: model.eval()"
                return Said(Verdict.FAILS, line, 4)
            return Said(Verdict.CONVENTION, f"equal calls differ in the last bits, after {name}", 4)
    return Said(Verdict.HOLDS, "also after other lengths, decoding and an id that is refused", 4)


def refusal(suite: LanguageModelSuite) -> Said:
    """A step with an id that is none is refused, and leaves the cache as it was."""
    return continuations.interrupted(suite, (np.full_like(suite.draw(2, 1, 0)[0], suite.vocabulary + 10**6),))


def unwritten(suite: LanguageModelSuite) -> Said:
    """No call has written into the ids."""
    if suite.written is not None:
        line = f"the call writes into {suite.ids}, or another array"
        return Said(Verdict.FAILS, line, suite.calls, trouble=WROTE)
    return Said(Verdict.HOLDS, f"in {suite.calls} calls", suite.calls)
