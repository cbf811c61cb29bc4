"""What holds of every recurrence: forms agree, and what comes later moves nothing that was before."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from attnlab_theory.conform.attention.layouts import has_batch
from attnlab_theory.conform.finding import ANOTHER_ANSWER, WROTE, Verdict
from attnlab_theory.conform.linear.agreement import decays, double, narrow
from attnlab_theory.conform.linear.forms import part
from attnlab_theory.conform.linear.passes import COMPILED, Passes, Split
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import NOTHING, Said, failed

CHUNKS = (1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 200)

PARTS: Sequence[Sequence[int]] = ((1, 16, 31, 17), (64, 1, 65), (16, 16, 16, 16), (5, 7, 3, 2), (63, 2, 64))
"""Lengths of parts that follow each other."""


def two_parts(passes: Passes) -> Said:
    """Split anywhere, continued from the state: the whole."""
    if "state" not in passes.form.names:
        return NOTHING
    tried = 0
    for n in passes.lengths:
        whole = passes.whole(n)
        for cut in sorted({1, n // 2, n - 1, min(16, n - 1), min(64, n - 1)} - {0}):
            tried += 1
            if wrong := passes.compared(whole, (cut, n - cut)):
                return failed(wrong, tried=tried)
    return Said(Verdict.HOLDS, f"lengths {', '.join(map(str, passes.lengths))}", tried)


def one_by_one(passes: Passes) -> Said:
    """One token at a time is the whole."""
    if "state" not in passes.form.names:
        return NOTHING
    lengths = (5,) if passes.lengths is COMPILED else (2, 5, 17, 66)
    for tried, n in enumerate(lengths, 1):
        if wrong := passes.compared(passes.whole(n), [1] * n, parts="one by one"):
            return failed(wrong, tried=tried)
    return Said(Verdict.HOLDS, f"lengths {', '.join(map(str, lengths))}", len(lengths))


def several_parts(passes: Passes) -> Said:
    """Several parts in a row are the whole."""
    if "state" not in passes.form.names or passes.lengths is COMPILED:
        return NOTHING
    for tried, sizes in enumerate(PARTS, 1):
        if wrong := passes.compared(passes.whole(sum(sizes)), sizes):
            return failed(wrong, tried=tried)
    return Said(Verdict.HOLDS, "up to four parts across the edges of blocks", len(PARTS))


def last_state(passes: Passes) -> Said:
    """The state after parts is that after the whole, where it is an array."""
    if "state" not in passes.form.names:
        return NOTHING
    for n in (5, 17):
        whole = passes.whole(n)
        trouble, _, last = passes.parts(whole, (n // 2, n - n // 2))
        if wrong := trouble or whole.answer.trouble:
            return failed(wrong)
        right = whole.answer.second
        if right is None or last is None:
            return NOTHING
        if right.shape != last.shape:
            return Said(Verdict.CONVENTION, f"its shape depends on the parts: {[*right.shape]}, {[*last.shape]}")
        # A state is a sum of as many products as an output, but for the query: the larger of the two sizes counts.
        times = 1 + float(np.abs(right).max(initial=0.0)) / max(float(np.abs(whole.answer.output).max()), 1e-9)
        off = float(np.nan_to_num(np.abs(right - last), nan=np.inf, posinf=np.inf).max(initial=0.0))
        most = passes.tolerance(whole, off, times)
        saw(passes.form.asker.caller, last, right, np.abs(right - last) / most)
        if off > most:
            return Said(
                Verdict.FAILS, f"{n} tokens in two parts end in another state, {off / most:,.3g} tolerances off"
            )
    return Said(Verdict.HOLDS, "after two parts", 2)


def chunks(passes: Passes) -> Said:
    """Chunks of every size give one answer, also those that do not divide the length."""
    if "chunk" not in passes.form.names:
        return NOTHING
    tried, refused = 0, None
    for n in passes.lengths:
        whole = passes.whole(n)
        if whole.answer.trouble and not (refused and whole.case.length % 2):
            return failed(whole.answer.trouble, f"{n} tokens: ", tried)
        for size in CHUNKS if passes.lengths is not COMPILED else (5, 8):
            answer = passes.form.ask(whole.given, whole.case, chunk=size)
            tried += 1
            if answer.trouble:
                if n % size == 0:
                    return failed(answer.trouble, f"{n} tokens in chunks of {size}: ", tried)
                refused = refused or answer.trouble.of(f"{n} tokens in chunks of {size}")
            elif wrong := passes.off(whole, answer.output):
                passes.split = Split(whole.case, chunk=size)
                return failed(wrong, f"in chunks of {size}, ", tried)
    if refused:
        line = f"sizes that do not divide the length are refused ({refused})"
        return Said(Verdict.CONVENTION, line, tried, trouble=refused)
    return Said(Verdict.HOLDS, f"chunks of {', '.join(map(str, CHUNKS))}", tried)


def chunks_and_parts(passes: Passes) -> Said:
    """Chunks within parts."""
    if not {"chunk", "state"} <= set(passes.form.names) or passes.lengths is COMPILED:
        return NOTHING
    tried = 0
    for size in (4, 16):
        for sizes in ((16, 16), (48, 16), (32, 64, 32)):
            tried += 1
            if wrong := passes.compared(passes.whole(sum(sizes)), sizes, size):
                return failed(wrong, f"chunks of {size}, ", tried)
    return Said(Verdict.HOLDS, "chunks of 4 and 16 within parts", tried)


def against(passes: Passes) -> Said:
    """Another form gives the same."""
    if passes.other is None:
        return NOTHING
    for tried, n in enumerate(passes.lengths, 1):
        whole = passes.whole(n)
        answer = passes.other.ask(whole.given, whole.case)
        if wrong := answer.trouble or passes.off(whole, answer.output):
            return failed(wrong, f"{passes.other.asker.caller.name}: ", tried)
    return Said(Verdict.HOLDS, f"lengths {', '.join(map(str, passes.lengths))}", len(passes.lengths))


def strided(passes: Passes) -> Said:
    """Arrays that are rows of larger ones."""
    whole = passes.whole(17)
    answer = passes.whole(17, strided=True).answer
    wrong = answer.trouble or whole.answer.trouble or passes.off(whole, answer.output)
    return failed(wrong) if wrong else Said(Verdict.HOLDS, "17 tokens")


def future(passes: Passes) -> Said:
    """Outputs stay where what comes after them is replaced."""
    tried = 0
    for n in passes.lengths:
        whole = passes.whole(n)
        for cut in sorted({1, n // 2, n - 1} - {0}):
            for factor, more in ((4.0, 0.0), (1.0, 1e3)):
                tried += 1
                other = {name: x.copy() for name, x in whole.given.items()}
                for name in "qv":
                    other[name][:, :, cut:] = factor * other[name][:, :, cut:] + more
                # Keys keep their length, and gates their range: else a delta rule grows without end.
                other["k"][:, :, cut:] *= -1
                other["beta"][:, :, cut:] = 1 - other["beta"][:, :, cut:]
                for name in ("log decay", "decay"):
                    other[name][:, :, cut:] *= 0.5
                answer = passes.form.ask(other, whole.case)
                wrong = answer.trouble or whole.answer.trouble or passes.off(whole, answer.output[:, :, :cut])
                if wrong:
                    return failed(wrong, f"tokens from {cut} on are replaced: ", tried)
    return Said(Verdict.HOLDS, f"lengths {', '.join(map(str, passes.lengths))}", tried)


def prefixes(passes: Passes) -> Said:
    """The outputs of a prefix alone are those within the whole."""
    tried = 0
    for n in passes.lengths:
        whole = passes.whole(n)
        for cut in sorted({1, n // 2, n - 1} - {0}):
            tried += 1
            answer = passes.form.ask(part(whole.given, 0, cut), whole.case)
            wrong = answer.trouble or whole.answer.trouble or passes.off(whole, answer.output)
            if wrong:
                return failed(wrong, f"the first {cut} tokens alone: ", tried)
    return Said(Verdict.HOLDS, f"lengths {', '.join(map(str, passes.lengths))}", tried)


def apart(passes: Passes) -> Said:
    """Batch elements and heads do not see each other."""
    whole = passes.whole(17, batch=3, heads=3)
    tried = 0
    for axis, name in ((0, "batch element"), (1, "head")):
        if whole.answer.output.shape[axis:][:1] in ((), (1,)):
            continue
        for last in (0, -1):
            tried += 1
            other = {name: x.copy() for name, x in whole.given.items()}
            other["v"][(slice(None),) * axis + (last,)] = 1e3
            answer = passes.form.ask(other, whole.case)
            if wrong := answer.trouble or whole.answer.trouble:
                return failed(wrong, tried=tried)
            kept = np.delete(np.arange(whole.answer.output.shape[axis]), last)
            new, old = (np.take(each.output, kept, axis) for each in (answer, whole.answer))
            moved = float(np.abs(new - old).max(initial=0.0))
            most = passes.tolerance(whole, moved)
            saw(passes.form.asker.caller, new, old, np.abs(new - old) / most)
            if not moved <= most:
                return Said(
                    Verdict.FAILS, f"another {name} moves by {moved:.3g} when the values of one are 1e3", tried
                )
    return Said(Verdict.HOLDS, "batch elements and heads", tried) if tried else NOTHING


def same_result(passes: Passes) -> Said:
    """The same call gives the same bits, also after calls of another length and after a continuation."""
    whole = passes.whole(9)
    for n in (9, 17):
        passes.form.ask(part(passes.whole(17).given, 0, n), whole.case)
        if "state" in passes.form.names:
            passes.parts(passes.whole(17), (8, 9))
        again = passes.form.ask(whole.given, whole.case, keep="state" in passes.form.names)
        if again.trouble != whole.answer.trouble or not np.array_equal(again.output, whole.answer.output):
            line = "the same call gives another answer after other calls"
            return Said(Verdict.FAILS, line, 2, trouble=ANOTHER_ANSWER)
    return Said(Verdict.HOLDS, "also after another length and a continuation", 2)


def state_again(passes: Passes) -> Said:
    """Whether one state can be continued twice: who writes into it is told."""
    if "state" not in passes.form.names:
        return NOTHING
    whole = passes.whole(9)
    first = passes.form.ask(part(whole.given, 0, 4), whole.case, keep=True)
    if first.trouble:
        return failed(first.trouble)
    two = [passes.form.ask(part(whole.given, 4, 9), whole.case, state=first.kept[0], keep=True) for _ in range(2)]
    if two[0].trouble or two[1].trouble or not np.array_equal(two[0].output, two[1].output):
        return Said(Verdict.CONVENTION, "a state is used up by the call that continues it", 2)
    return Said(Verdict.HOLDS, "a state can be continued twice", 2)


def empty(passes: Passes) -> Said:
    """An empty batch gives an empty batch; who refuses it says so."""
    if not has_batch(passes.form.asker.layout):
        return NOTHING
    trouble = passes.whole(5, batch=0).answer.trouble
    return Said(
        Verdict.CONVENTION, f"refused: {trouble}" if trouble else "an empty batch is given back", trouble=trouble
    )


def unchanged(passes: Passes) -> Said:
    """No call has written into what it was given."""
    asker = passes.form.asker
    if asker.changed:
        return Said(Verdict.FAILS, f"a call writes into {asker.changed}", asker.calls, trouble=WROTE)
    return Said(Verdict.HOLDS, f"in {asker.calls} calls", asker.calls)


LAWS: Mapping[str, Callable[[Passes], Said]] = {
    "two parts": two_parts,
    "one by one": one_by_one,
    "several parts": several_parts,
    "last state": last_state,
    "chunks": chunks,
    "chunks in parts": chunks_and_parts,
    "against": against,
    "decays": decays,
    "float32": narrow,
    "future": future,
    "prefixes": prefixes,
    "non-contiguous": strided,
    "elements apart": apart,
    "float64": double,
    "same result": same_result,
    "state again": state_again,
    "empty batch": empty,
    "inputs unchanged": unchanged,
}
"""In the order in which they are tried."""
