"""More queries than keys, where the last query sees the last key: the first queries stand before every key.

Such a query must read no key, for all come after it. Zeros, NaN or an error are choices. The mean of all values is
not: it reads the future.
"""

import dataclasses

import numpy as np

from attnlab_theory.conform.attention.asking import call_of
from attnlab_theory.conform.attention.blind import READS
from attnlab_theory.conform.attention.cases import Case, arrays
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import Judge
from attnlab_theory.conform.attention.reference import attend
from attnlab_theory.conform.finding import FUTURE, Verdict
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import CALL, NOTHING, Said, Wrong, failed, refused

SIZES = ((5, 3), (19, 17))
"""Queries and keys. The first two queries see nothing."""


def early_queries(judge: Judge, kind: Kind) -> Said:
    """A query before the first key sees nothing: zeros, NaN or an error, but no key, for all come after it."""
    way, told = judge.way, ""
    if not way.by_place(fitted(Case(), kind, way)) or way.alignment != "end":
        return NOTHING
    for queries, keys in SIZES[:1] if way.framework == "jax" else SIZES:
        window = 3 if kind.wants == "window" and "window" in way.names else None
        case = fitted(Case(batch=1, queries=queries, keys=keys, window=window, seed=4), kind, way)
        blind = ~np.asarray(way.visible(case, None)[0, 0]).any(axis=1)
        outcome = judge.judge(case)
        if outcome.answer.trouble:
            return refused(outcome.answer.trouble, f"{queries} queries, {keys} keys: refused: ")
        output, given = outcome.answer.output, arrays(case)
        # Queries may be counted from the first key on where there are more of them.
        start = attend(dataclasses.replace(way, alignment="start").problem(given, case)).output
        if np.allclose(output, start, atol=1e-3):
            return Said(Verdict.CONVENTION, "query 0 sees key 0: other than where there are more keys", len(SIZES))
        call = call_of(way, case)
        if outcome.fails:
            return failed(outcome.wrong(call), counterexample=case, ratio=outcome.ratio)
        if not blind.any():
            continue
        rows = output[:, :, blind]
        if np.isnan(rows).all():
            found = "NaN"
        elif np.allclose(rows, 0.0, atol=1e-3):
            found = "zeros"
        else:
            saw(judge.caller, rows, np.zeros_like(rows), 1 + np.abs(rows))
            trouble = None
            everything = attend(dataclasses.replace(way, causal="never", window="").problem(given, case)).output
            if np.allclose(rows, way.problem(given, case).v.mean(-2, keepdims=True), atol=1e-3):
                why, trouble = f"is the mean of all values: {READS}", FUTURE
            elif np.allclose(rows, everything[:, :, blind], atol=1e-3):
                why = "reads every key"
            else:
                why = f"is {np.round(rows[0, 0, 0], 4).tolist()}, no outcome known"
            wrong = Wrong(f"a query before the first key {why}; {CALL}{call}", trouble, call)
            return failed(wrong, counterexample=case)
        if told and told != found:
            return Said(Verdict.FAILS, f"a query before the first key is {told} in one call, {found} in another")
        told = found
    if not told:
        return Said(Verdict.HOLDS, "every query sees a key", len(SIZES))
    return Said(Verdict.CONVENTION, f"a query before the first key gives {told}", len(SIZES))
