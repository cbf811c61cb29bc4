"""What the pass over all tokens must keep, and decoding in other types: identities of the kind `decode`."""

import numpy as np

from attnlab_theory.conform.finding import WROTE, Verdict
from attnlab_theory.conform.sequences import continuations
from attnlab_theory.conform.sequences.cached_layer import CachedLayerSuite
from attnlab_theory.conform.suite import NOTHING, Said, refused

LEAKS = (12, 17, 65)
"""Tokens of the calls in which leaks are looked for."""


def causality(suite: CachedLayerSuite) -> Said:
    """No token of the whole pass moves when what comes after it is replaced."""
    lengths = [n for n in LEAKS if n <= suite.long and suite.whole(suite.draw(1, n, n))[0] is not None]
    for n in lengths:
        if (said := suite.leak(n)) is not None:
            return said
    return Said(
        Verdict.HOLDS, f"lengths {', '.join(map(str, lengths))}, the future x 4, x -4 and + 1e3", 9 * len(lengths)
    )


def typed(suite: CachedLayerSuite, kind: str) -> Said:
    """Decoding in another type."""
    if (kind, suite.framework) in (("bfloat16", "numpy"), ("float64", "jax")):
        return NOTHING
    suite.kind_of_numbers = kind
    try:
        x = suite.draw(2, 8, 1)
        right, trouble = suite.whole(x)
        if right is None:
            return refused(trouble)
        fed = suite.run(x, range(1, 8))
        said = suite.judge(fed, right, x, range(1, 8), 1)
        if said is not None:
            return said
        if kind == "float64" and (line := suite.precision.line()):
            return Said(Verdict.CONVENTION, line, 8)
        gives = suite.kinds.get(kind, kind)
        verdict = suite.near(fed.output, right, x)
        return Said(
            Verdict.HOLDS, f"{verdict.ratio:.2g} of its tolerance" + f"; gives {gives}" * (gives != kind), 8
        )
    finally:
        suite.kind_of_numbers = "float32"


def refusal(suite: CachedLayerSuite) -> Said:
    """A step of another width is refused, and leaves the cache as it was."""
    bad = tuple(np.ones((*each.shape[:-1], each.shape[-1] + 1), "float32") for each in suite.draw(2, 1, 0))
    return continuations.interrupted(suite, bad)


def unwritten(suite: CachedLayerSuite) -> Said:
    """No call has written into q, k, v or x."""
    if suite.written is not None:
        line = f"the call writes into {suite.form.inputs[min(suite.written[0], 2)]}"
        return Said(Verdict.FAILS, line, suite.calls, trouble=WROTE)
    return Said(Verdict.HOLDS, f"in {suite.calls} calls", suite.calls)
