"""What an answer must be beside right: what several calls say together, and what rows show that see nothing.

Each law gives a verdict and a line. `convention` is a choice that nobody fails for.
"""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from attnlab_theory.conform.attention.blind import blind_rows, narrow
from attnlab_theory.conform.attention.cases import Case, arrays
from attnlab_theory.conform.attention.conventions import hiding
from attnlab_theory.conform.attention.fills import finite_fill
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import Judge
from attnlab_theory.conform.attention.layouts import has_batch, has_heads
from attnlab_theory.conform.attention.probe import probed
from attnlab_theory.conform.finding import ANOTHER_ANSWER, WROTE, Verdict
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import NOTHING, Said, failed

LENGTHS = (1, 2, 15, 16, 17, 33, 63, 64, 65, 128, 130)
"""The lengths that a numpy or torch target is given."""

COMPILED = (1, 17, 130)
"""The lengths that a jax target is given. It compiles a program for each."""


def visibility(judge: Judge, kind: Kind) -> Said:
    """With q = k = 0 every query shares its weight among what it may see, at lengths across the edges of blocks."""
    lengths = COMPILED if judge.way.framework == "jax" else LENGTHS
    for n in lengths:
        case = fitted(Case(batch=1, queries=n, keys=n, window=narrow(judge.way, kind)), kind, judge.way)
        seen = probed(judge.caller, judge.way, case)
        judge.calls += 1
        right = judge.way.visible(case, None)
        if seen.trouble:
            return failed(seen.trouble, f"{n} tokens: ", counterexample=case)
        if not seen.equals(right):
            shares = np.broadcast_to(right / np.maximum(right.sum(-1, keepdims=True), 1), seen.weights.shape)
            wrong = np.abs(seen.weights - shares)
            # Of the first head, whose values no offset moves.
            saw(judge.caller, *(x[0, 0] for x in (seen.weights, shares, np.where(wrong > 1e-3, 1 + wrong, 0.0))))
            _, _, t, s = np.unravel_index(int(np.argmax(np.nan_to_num(wrong, nan=np.inf))), wrong.shape)
            got, share = seen.weights[:, :, t, s].max(), right[0, 0, t, s] / max(right[0, 0, t].sum(), 1)
            said = f"{n} tokens: query {t} gives key {s} the weight {got:.3g}, and its share is {share:.3g}"
            return Said(Verdict.FAILS, said, counterexample=case)
    return Said(Verdict.HOLDS, f"lengths {', '.join(map(str, lengths))}", len(lengths))


def hidden_nan(judge: Judge, kind: Kind) -> Said:
    """NaN and infinity in hidden places: whether they reach the output is told, for nearly everywhere they do."""
    hides = hiding(judge.way)[:1]
    if not hides:
        return NOTHING
    reach = []
    for garbage in ("nan", "infinity"):
        for within in "kv":
            case = Case(garbage=garbage, within=within, queries=6, keys=6, **hides[0])
            answer = judge.ask(fitted(case, kind, judge.way))
            if answer.trouble or not np.isfinite(answer.output).all():
                reach.append(f"{garbage} in a {'key' if within == 'k' else 'value'}")
    return Said(Verdict.CONVENTION, f"reaches the output: {', '.join(reach)}" if reach else "harmless", 4)


def same_result(judge: Judge, kind: Kind) -> Said:
    """The same call gives the same bits, also after calls of another length, type and size."""
    case = fitted(Case(queries=5, keys=5, seed=11), kind, judge.way)
    first = judge.ask(case)
    between = (
        case,
        fitted(Case(queries=9, keys=9, seed=5), kind, judge.way),
        dataclasses.replace(case, kind="float64"),
    )
    for other in between:
        judge.ask(other)
        again = judge.ask(case)
        if first.trouble != again.trouble or not np.array_equal(first.output, again.output, equal_nan=True):
            line = "the same call gives another answer after other calls"
            return Said(Verdict.FAILS, line, counterexample=case, trouble=ANOTHER_ANSWER)
    return Said(Verdict.HOLDS, "also after another length and another type", len(between))


def apart(judge: Judge, kind: Kind) -> Said:
    """Batch elements and heads do not see each other: one is replaced by numbers of 1e3, and the others stay."""
    way = judge.way
    if not has_batch(way.layout) and not has_heads(way.layout):
        return NOTHING
    case = fitted(Case(batch=3, heads=4, queries=5, keys=5, seed=7), kind, way)
    given = arrays(case)
    first = judge.ask(case, given)
    if first.trouble:
        return failed(first.trouble, counterexample=case)
    tried = 0
    for axis, name in ((0, "batch element"), (1, "head")):
        if given.q.shape[axis] < 2 or given.k.shape[axis] < 2:
            continue
        tried += 1
        spoiled = [x.copy() for x in given[:3]]
        for x in spoiled:
            x[(slice(None),) * axis + (-1,)] = 1e3
        answer = judge.ask(case, given._replace(q=spoiled[0], k=spoiled[1], v=spoiled[2]))
        groups = (
            np.arange(case.heads) % case.groups
            if way.interleaved
            else np.arange(case.heads) * case.groups // case.heads
        )
        kept = np.arange(case.batch - 1) if axis == 0 else np.flatnonzero(groups != case.groups - 1)
        kept = kept[kept != case.heads - 1] if axis else kept
        if answer.trouble:
            return failed(answer.trouble, counterexample=case)
        moved, stays = (np.take(each.output, kept, axis) for each in (answer, first))
        saw(judge.caller, moved, stays, np.abs(moved - stays) / (1e-6 + 1e-5 * np.abs(stays)))
        if not np.allclose(moved, stays, rtol=1e-5, atol=1e-6):
            return Said(
                Verdict.FAILS, f"another {name} moves when the last one is replaced by 1e3", counterexample=case
            )
    return Said(Verdict.HOLDS, "batch elements and heads" if tried > 1 else "as far as there are several", tried)


def empty(judge: Judge, kind: Kind) -> Said:
    """An empty batch gives an empty batch; who refuses it says so."""
    if not has_batch(judge.way.layout):
        return NOTHING
    answer = judge.ask(fitted(Case(batch=0, queries=4, keys=4), kind, judge.way))
    return Said(
        Verdict.CONVENTION,
        f"refused: {answer.trouble}" if answer.trouble else "an empty batch is given back",
        trouble=answer.trouble,
    )


def inputs_unchanged(judge: Judge, kind: Kind) -> Said:
    """No call has written into what it was given; the last law, for it looks back at all calls before it, too."""
    for mask in ("none", "random") if judge.way.mask else ("none",):
        for memory in ("", "rows"):
            judge.ask(fitted(Case(mask=mask, memory=memory), kind, judge.way))
    if judge.changed is None:
        return Said(Verdict.HOLDS, f"in {judge.calls} calls", judge.calls)
    case, names = judge.changed
    return Said(Verdict.FAILS, f"the call writes into {', '.join(names)}", judge.calls, case, trouble=WROTE)


Law = Callable[[Judge, Kind], Said]

BEFORE: Mapping[str, Law] = {"visibility": visibility, "hidden keys": finite_fill}
"""What is tried before the attacks."""

AFTER: Mapping[str, Law] = {
    "blind rows": blind_rows,
    "hidden NaN": hidden_nan,
    "same result": same_result,
    "elements apart": apart,
    "empty batch": empty,
    "inputs unchanged": inputs_unchanged,
}
"""What is tried after them."""
