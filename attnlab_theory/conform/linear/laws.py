"""What answers of linear attention say together, beside being right one by one."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.attention.layouts import has_batch, has_heads
from attnlab_theory.conform.finding import ANOTHER_ANSWER, WROTE, Verdict
from attnlab_theory.conform.linear.cases import Case, arrays
from attnlab_theory.conform.linear.judging import Judge
from attnlab_theory.conform.linear.reference import attend
from attnlab_theory.conform.linear.tolerances import tolerance
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import NOTHING, Said, failed, refused

LENGTHS = (2, 5, 16, 17, 33, 64, 65, 130)
COMPILED = (5, 17, 130)

NEAR_ONE = 0.01
"""How far from one the mean of constant values of one may be with normal queries and keys.

An eps that moves it further is no guard against a division by 0."""


def _lengths(judge: Judge) -> tuple[int, ...]:
    return COMPILED if judge.way.framework == "jax" else LENGTHS


def _bound(judge: Judge, given: Any, case: Case) -> np.ndarray:
    q, k, v, mask = given
    problem = judge.way.problem(q, k, v, mask, case)
    found = tolerance(problem, attend(problem), case.kind, judge.accumulate)
    return np.where(found.loose, np.inf, found.output)


def future(judge: Judge) -> Said:
    """Outputs stay where what comes after them is replaced: keys and values times 4, then plus 1e3."""
    if judge.way.causal == "never":
        return NOTHING
    tried = 0
    for n in _lengths(judge):
        case = judge.way.fitted(Case(batch=1, queries=n, keys=n, causal=True, seed=n))
        given = arrays(case)
        first = judge.ask(case)
        if first.trouble:
            return failed(first.trouble, f"{n} tokens: ", tried)
        bound = _bound(judge, given, case)
        for cut in sorted({1, n // 2, n - 1} - {0}):
            for word, change in (("times 4", lambda x: 4 * x), ("plus 1e3", lambda x: x + x.dtype.type(1e3))):
                tried += 1
                q, k, v = (x.copy() for x in given[:3])
                for x in (q, k, v):
                    x[:, :, cut:] = change(x[:, :, cut:])
                other = judge.ask(case, (q, k, v, None))
                if other.trouble:
                    return failed(other.trouble, f"{n} tokens, from {cut} on {word}: ", tried)
                moved = np.abs(other.output - first.output)[:, :, :cut]
                ratio = np.nan_to_num(moved, nan=np.inf) / (2 * bound[:, :, :cut])
                saw(judge.asker.caller, other.output[:, :, :cut], first.output[:, :, :cut], ratio)
                if np.nanmax(ratio, initial=0.0) > 1:
                    t = int(np.unravel_index(int(np.nanargmax(ratio)), ratio.shape)[2])
                    said = f"{n} tokens: output {t} moves by {moved[:, :, t].max():.3g} when tokens from {cut} on"
                    return Said(
                        Verdict.FAILS, f"{said} are replaced ({word})", tried, ratio=float(np.nanmax(ratio))
                    )
    return Said(Verdict.HOLDS, f"lengths {', '.join(map(str, _lengths(judge)))}; times 4, plus 1e3", tried)


def prefixes(judge: Judge) -> Said:
    """The outputs of a prefix alone are those within the whole."""
    if judge.way.causal == "never":
        return NOTHING
    tried = 0
    for n in _lengths(judge):
        case = judge.way.fitted(Case(batch=1, queries=n, keys=n, causal=True, seed=n + 1))
        given = arrays(case)
        whole = judge.ask(case)
        for cut in sorted({1, n // 2, n - 1} - {0}):
            tried += 1
            part = dataclasses.replace(case, queries=cut, keys=cut)
            cuts = tuple(x[:, :, :cut] for x in given[:3])
            alone = judge.ask(part, (*cuts, None))
            if whole.trouble or alone.trouble:
                return failed(whole.trouble or alone.trouble, f"{n} tokens, or the first {cut}: ", tried)
            bound = 2 * _bound(judge, (*cuts, None), part)
            ratio = np.nan_to_num(np.abs(alone.output - whole.output[:, :, :cut]), nan=np.inf) / bound
            saw(judge.asker.caller, alone.output, whole.output[:, :, :cut], ratio)
            if np.nanmax(ratio, initial=0.0) > 1:
                off = f"{np.nanmax(ratio):,.3g} tolerances off"
                said = f"the first {cut} of {n} tokens alone give other outputs, {off}"
                return Said(Verdict.FAILS, said, tried, ratio=float(np.nanmax(ratio)))
    return Said(Verdict.HOLDS, f"lengths {', '.join(map(str, _lengths(judge)))}", tried)


def constant_values(judge: Judge) -> Said:
    """Values of one give one, for the output is a mean; an eps moves it by less than a hundredth."""
    if not judge.way.normaliser:
        return NOTHING
    worst, tried = 0.0, 0
    for n in (1, 6, 64):
        for causal in (False, True) if judge.way.causal == "asked" else (judge.way.causal == "always",):
            for seed in range(3):
                case = Case(queries=n, keys=n, values="constant", causal=causal, seed=seed)
                case = judge.way.fitted(dataclasses.replace(case, causal=causal))
                answer = judge.ask(case)
                tried += 1
                if answer.trouble:
                    return failed(answer.trouble, tried=tried)
                exact = attend(judge.way.problem(*arrays(case), case))
                sure = np.isfinite(_bound(judge, arrays(case), case)) & (np.abs(exact.normaliser) > 0.1)
                if not sure.any():
                    continue
                off = np.abs(answer.output - 1)[sure]
                saw(judge.asker.caller, answer.output[sure], np.ones(off.shape), off / NEAR_ONE)
                worst = max(worst, float(np.nan_to_num(off, nan=np.inf).max()))
                if worst > NEAR_ONE:
                    shown = answer.output[sure][int(np.nan_to_num(off, nan=np.inf).argmax())]
                    return Said(Verdict.FAILS, f"{n} tokens with values of one give {shown:.4g}", tried)
    return Said(Verdict.HOLDS, f"the mean of ones is one to {worst:.1g}", tried)


def blind(judge: Judge) -> Said:
    """A row whose normaliser is 0: zeros, NaN or an error is told."""
    if not judge.way.normaliser or judge.way.features not in ("relu", "identity"):
        return NOTHING
    case = judge.way.fitted(Case(causal=judge.way.causal == "always"))
    q, k, v, _ = arrays(case)
    answer = judge.ask(case, (0 * q, k, v, None))
    if answer.trouble:
        return refused(answer.trouble)
    first = answer.output.ravel()[0]
    if not np.isfinite(first):
        return Said(Verdict.CONVENTION, "NaN where all features of a query are 0")
    return Said(Verdict.CONVENTION, f"{first:.3g} where all features of a query are 0")


def apart(judge: Judge) -> Said:
    """Batch elements and heads do not see each other: one is replaced by numbers of 1e3, and the others stay."""
    way = judge.way
    if not has_batch(way.layout) and not has_heads(way.layout):
        return NOTHING
    case = way.fitted(Case(batch=3, heads=3, seed=7, causal=way.causal != "never"))
    given = arrays(case)
    first = judge.ask(case)
    tried, bound = 0, 2 * _bound(judge, given, case)
    for axis, name in ((0, "batch element"), (1, "head")):
        for last in (0, -1):
            if given[0].shape[axis] < 2:
                continue
            tried += 1
            spoiled = [x.copy() for x in given[:3]]
            for x in spoiled:
                x[(slice(None),) * axis + (last,)] = 1e3
            other = judge.ask(case, (*spoiled, None))
            if first.trouble or other.trouble:
                return failed(first.trouble or other.trouble, tried=tried)
            kept = np.delete(np.arange(given[0].shape[axis]), last)
            new, old = (np.take(each.output, kept, axis) for each in (other, first))
            moved = np.abs(new - old) / np.take(bound, kept, axis)
            saw(judge.asker.caller, new, old, moved)
            if np.nan_to_num(moved, nan=np.inf).max() > 1:
                return Said(Verdict.FAILS, f"another {name} moves when one is replaced by 1e3", tried)
    return Said(Verdict.HOLDS, "batch elements and heads" if tried > 2 else "as far as there are several", tried)


def same_result(judge: Judge) -> Said:
    """The same call gives the same bits, also after calls of another length and type."""
    case = judge.way.fitted(Case(seed=11, causal=judge.way.causal == "always"))
    first = judge.ask(case)
    longer = dataclasses.replace(case, queries=17, keys=17)
    for other in (case, longer, dataclasses.replace(case, kind="float64")):
        judge.ask(other)
        again = judge.ask(case)
        if first.trouble != again.trouble or not np.array_equal(first.output, again.output, equal_nan=True):
            line = "the same call gives another answer after other calls"
            return Said(Verdict.FAILS, line, 3, trouble=ANOTHER_ANSWER)
    return Said(Verdict.HOLDS, "also after another length and another type", 3)


def empty(judge: Judge) -> Said:
    """An empty batch gives an empty batch; who refuses it says so."""
    if not has_batch(judge.way.layout):
        return NOTHING
    answer = judge.ask(judge.way.fitted(Case(batch=0, causal=judge.way.causal == "always")))
    return Said(
        Verdict.CONVENTION,
        f"refused: {answer.trouble}" if answer.trouble else "an empty batch is given back",
        trouble=answer.trouble,
    )


def unchanged(judge: Judge) -> Said:
    """No call has written into what it was given; it looks back at all calls before it."""
    for strided in (False, True):
        judge.ask(judge.way.fitted(Case(strided=strided)))
    if judge.asker.changed:
        return Said(Verdict.FAILS, f"a call writes into {judge.asker.changed}", judge.asker.calls, trouble=WROTE)
    return Said(Verdict.HOLDS, f"in {judge.asker.calls} calls", judge.asker.calls)


LAWS: Mapping[str, Callable[[Judge], Said]] = {
    "future": future,
    "prefixes": prefixes,
    "constant values": constant_values,
    "blind rows": blind,
    "same result": same_result,
    "elements apart": apart,
    "empty batch": empty,
    "inputs unchanged": unchanged,
}
"""What is tried after the cases."""
