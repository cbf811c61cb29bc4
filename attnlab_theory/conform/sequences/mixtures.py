"""What a mixer must keep: the identities of the kind `mixer`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attnlab_theory.conform.finding import NOT_FINITE, WROTE, Verdict
from attnlab_theory.conform.sequences.layer import GUESSED, LayerSuite
from attnlab_theory.conform.sequences.normal import LOUD, numbers
from attnlab_theory.conform.sequences.rounding import apart, bound, peak
from attnlab_theory.conform.sequences.suite import COMPILED, LENGTHS, off, same, told_lengths
from attnlab_theory.conform.suite import NOTHING, Said, failed, refused

LEAKS = (12, 17, 65, 130)
"""Tokens of the calls in which leaks are looked for."""


def causality(suite: LayerSuite) -> Said:
    """No token moves when what comes after it is replaced."""
    if not suite.causal:
        return NOTHING
    lengths, tried = suite.lengths(LEAKS) or suite.lengths(GUESSED), 0
    for kind in ["float32", *(["float64"] if suite.takes("float64") else [])]:
        for n in lengths:
            if (said := suite.leak(n, kind)) is not None:
                return said
            tried += 12
    said = f"lengths {', '.join(map(str, lengths))}, the future x 4, x -4 and + 1e3"
    if suite.moved:
        said += f"; to rounding, for outputs move by up to {suite.moved:.1g} of the input"
    return Said(Verdict.HOLDS, said, tried)


def prefixes(suite: LayerSuite) -> Said:
    """The outputs of a prefix alone are those within the whole."""
    if not suite.causal:
        return NOTHING
    tried, lengths = 0, suite.lengths(LENGTHS)
    for whole in lengths[-1:] + [n for n in lengths if n in (17, 33)]:
        x = numbers(suite.batch(2), whole, suite.width, "float32", 1)
        base, trouble = suite.f(x)
        for n in [n for n in lengths if n < whole]:
            came, more = suite.f(x[:, :n])
            tried += 1
            if base is None or came is None:
                return failed(trouble or more, f"{n} tokens, and {whole}: ", tried)
            verdict = suite.judged(came, base[:, :n], x, "float32", base)
            if verdict.fails:
                line = f"{n} tokens alone, and within {whole}: token {verdict.place[1]} is {off(verdict)}"
                return Said(Verdict.FAILS, line, tried, ratio=verdict.ratio)
    return Said(Verdict.HOLDS, f"prefixes of {', '.join(map(str, lengths))} tokens", tried)


def all_lengths(suite: LayerSuite) -> Said:
    """Lengths beside the edges of blocks are taken, and give numbers."""
    wanted = COMPILED if suite.framework == "jax" else LENGTHS
    suite.lengths(wanted)
    said = told_lengths(wanted, {n: trouble for n in wanted if (trouble := suite.troubles[n])})
    if said is not None and said.verdict is Verdict.FAILS:
        return said
    for n in suite.lengths(wanted):
        came, _ = suite.f(numbers(suite.batch(2), n, suite.width, "float32", n))
        if came is not None and not np.isfinite(came).all():
            line = f"{n} tokens: the output is no number"
            return Said(Verdict.FAILS, line, len(wanted), trouble=NOT_FINITE)
    return said or Said(Verdict.HOLDS, ", ".join(map(str, wanted)), len(wanted))


def elements(suite: LayerSuite) -> Said:
    """A batch element alone is what it is within the batch, whatever the others are."""
    if suite.layout == "td":
        return NOTHING
    lengths = suite.lengths((1, 5, 12, 17, 65))
    for n in lengths:
        x = numbers(3, n, suite.width, "float32", n)
        base, more = suite.f(x)
        for name, loud in {"left out": None, **LOUD}.items():
            y = x[:1] if loud is None else np.concatenate([x[:1], loud(x[1:])])
            came, trouble = suite.f(y)
            if came is None or base is None:
                return failed(trouble or more, f"{len(y)} batch elements of {n} tokens: ", len(lengths))
            verdict = suite.judged(came[:1], base[:1], max(x, y, key=peak), "float32", came, base)
            if verdict.fails:
                line = f"{n} tokens: element 0 moves when the others are {name}: {off(verdict)}"
                return Said(Verdict.FAILS, line, 4 * len(lengths), ratio=verdict.ratio)
    return Said(Verdict.HOLDS, f"lengths {', '.join(map(str, lengths))}", 4 * len(lengths))


def strided(suite: LayerSuite) -> Said:
    """Arrays that are rows of larger ones give the same."""
    for n in suite.lengths((5, 17)):
        x = numbers(suite.batch(2), n, suite.width, "float32", 4)
        (one, trouble), (other, more) = suite.f(x), suite.f(x, strided=True)
        if one is None or other is None:
            return failed(trouble or more, f"{n} tokens, every second row of a larger array: ")
        verdict = suite.judged(other, one, x, "float32")
        if verdict.fails:
            return Said(Verdict.FAILS, f"{n} tokens, every second row of a larger array: {off(verdict)}", 2)
    return Said(Verdict.HOLDS, "every second row of a larger array", 2)


def typed(suite: LayerSuite, kind: str) -> Said:
    """The same numbers in another type give the same, within the rounding of the coarser one."""
    if (kind, suite.framework) in (("bfloat16", "numpy"), ("float64", "jax")):
        return NOTHING
    coarse, worst, loose = "float32" if kind == "float64" else kind, 0.0, 0
    for seed in range(3):
        x = numbers(suite.batch(2), 12, suite.width, coarse, seed)
        finer = x.astype("float32")
        came, trouble = suite.f(x.astype("float64") if kind == "float64" else x, kind)
        base, more = suite.f(finer)
        if came is None:
            return refused(trouble, tried=3)
        if base is None:
            return failed(more, "float32: ", 3)
        error = float(apart(came, base).max(initial=0.0))
        limit = bound(lambda given: suite.f(given[0])[0], [finer], coarse, 12 + suite.width, error, came, base)
        loose += limit >= np.ptp(base)
        verdict = suite.compared(came, base, limit)
        worst = max(worst, verdict.ratio)
        if verdict.fails:
            return Said(Verdict.FAILS, f"{kind} and float32 are {off(verdict)}", 3, ratio=verdict.ratio)
    if kind == "float64" and suite.causal and suite.takes(kind):
        suite.leak(LEAKS[0], kind)  # a leak fails as one; whether it is float32 that rounds is told here
    if kind == "float64" and (line := suite.precision.line()):
        return Said(Verdict.CONVENTION, line, 3)
    gives = suite.kinds[kind]
    if loose == 3:
        return Said(Verdict.NOT_JUDGED, "tolerances exceed the range of the values", 3)
    return Said(Verdict.HOLDS, f"{worst:.2g} of its tolerance" + f"; gives {gives}" * (gives != kind), 3)


def repeated(suite: LayerSuite) -> Said:
    """The same call gives the same, also after calls of other lengths and types, and after one that is refused."""
    x, first = suite.sample(), suite.early
    between: list[tuple[str, Callable[[], Any]]] = [
        ("all other calls", lambda: None),
        ("the same", lambda: None),
        ("9 tokens", lambda: suite.f(numbers(suite.batch(1), 9, suite.width, "float32", 7))),
        ("one token", lambda: suite.f(numbers(suite.batch(3), 1, suite.width, "float32", 7))),
        ("float64", lambda: suite.f(numbers(suite.batch(2), 5, suite.width, "float64", 8), "float64")),
        ("another width, refused", lambda: suite.ask(np.ones((3, 7), "float32"), plain=suite.plain)),
        ("NaN", lambda: suite.f(np.full((suite.batch(2), 5, suite.width), np.nan, "float32"))),
    ]
    for name, other in between:
        other()
        again = suite.ask(x, plain=suite.plain)
        if trouble := first.trouble or again.trouble:
            return failed(trouble, f"after {name}: ", len(between))
        if not same(first, again):
            if first.arrays[0].shape == again.arrays[0].shape:
                tiny = 1e-6 * peak(first.arrays[0])
                if float(apart(first.arrays[0], again.arrays[0]).max()) <= tiny:
                    return Said(
                        Verdict.CONVENTION, f"equal calls differ in the last bits, after {name}", len(between)
                    )
            return Said(
                Verdict.FAILS,
                f"two equal calls differ, after {name}; a dropout must be in evaluation mode",
                len(between),
            )
    return Said(Verdict.HOLDS, "also after other lengths and types, and a refused call", len(between))


def objects(suite: LayerSuite) -> Said:
    """Two objects of a class do not know of each other."""
    if not suite.about["class"]:
        return NOTHING
    x = suite.handed(numbers(suite.batch(2), 5, suite.width, "float32", 9))
    calls = [suite.ask(x, plain=suite.plain, number=i) for i in (0, 1, 0, 1)]
    if troubles := [each.trouble for each in calls if each.trouble]:
        return failed(troubles[0], tried=4)
    if not same(calls[0], calls[2]) or not same(calls[1], calls[3]):
        return Said(Verdict.FAILS, "an object answers otherwise once another of its class is called", 4)
    return Said(Verdict.HOLDS, "called in turn" + ", with different parameters" * (not same(*calls[:2])), 4)


def empty(suite: LayerSuite) -> Said:
    """An empty batch gives an empty batch; who refuses it says so."""
    if suite.layout == "td":
        return NOTHING
    _, trouble = suite.f(numbers(0, 4, suite.width, "float32"))
    return Said(
        Verdict.CONVENTION, f"refused: {trouble}" if trouble else "an empty batch is given back", trouble=trouble
    )


def unwritten(suite: LayerSuite) -> Said:
    """No call has written into what it was given."""
    suite.f(numbers(suite.batch(2), 6, suite.width, "float32"), strided=True)
    if suite.written is not None:
        return Said(Verdict.FAILS, f"the call writes into {suite.x}", suite.calls, trouble=WROTE)
    return Said(Verdict.HOLDS, f"in {suite.calls} calls", suite.calls)
