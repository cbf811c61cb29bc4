"""What becomes of a row that sees nothing: a choice, unless it reads what is hidden from it.

Nothing is right there, so an outcome is known by what it is equal to. In half precision a fill may be infinite that
is finite in float32. So each type is asked, and one that answers otherwise is told.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform.attention.cases import Arrays, Case, arrays
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import HALVES, Judge
from attnlab_theory.conform.attention.layouts import has_batch
from attnlab_theory.conform.attention.reference import attend
from attnlab_theory.conform.finding import FUTURE, Verdict
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import NOTHING, Said, Wrong, failed, refused

NEAR: Mapping[str, float] = {"float32": 1e-3, "float16": 1e-2, "bfloat16": 5e-2}
"""How far a number may be from an outcome that it is. Values are of the size of 1."""

HIDDEN = ("the mean of all values", "the softmax of everything")
"""Outcomes that read what a kind hides by itself."""

READS = "it reads what comes after it"
"""Why that is a failure."""


def narrow(way: Conventions, kind: Kind) -> int | None:
    """A window that hides something in few tokens, where one can be handed over."""
    return 3 if kind.wants == "window" and "window" in way.names else None


def blind_rows(judge: Judge, kind: Kind) -> Said:
    """A row that sees nothing: zeros, the mean, NaN, an error, the softmax of what is hidden. Others are right."""
    first: Said | None = None
    for hides, padded in means(judge, kind):
        found = _in_type(judge, kind, "float32", hides)
        if found.verdict is Verdict.FAILS:
            return found
        if not found.trouble and (under := _under_padding(judge, kind, padded)).verdict is Verdict.FAILS:
            return under
        first = first or found
    if first is None or first.trouble:
        return first or NOTHING
    told = [first.line]
    for name in HALVES:
        if (name, judge.way.framework) == ("bfloat16", "numpy"):
            continue
        half = _in_type(judge, kind, name, means(judge, kind)[0][0])
        if half.verdict is Verdict.CONVENTION and half.trouble:
            continue
        if half.verdict is Verdict.FAILS and (half.counterexample or half.trouble is FUTURE):
            return half._replace(line=f"in {name} {half.line}")
        if half.line != first.line:
            told.append(f"in {name} {half.line if half.verdict is Verdict.CONVENTION else 'no outcome known'}")
    return first._replace(line="; ".join(told))


Fields = Mapping[str, Any]
"""Some fields of a case."""


def means(judge: Judge, kind: Kind) -> list[tuple[Fields, Fields]]:
    """What hides all that a row sees, and what hides the first keys, as padding: by a mask, and by one of keys."""
    way = judge.way
    masks: list[tuple[Fields, Fields]] = [({"mask": "blind"}, {"mask": "padded start"})] if way.mask else []
    if "padding" in way.names and has_batch(way.layout):
        # Every row of one element is blind, or the rows before its first key.
        past = way.is_causal(fitted(Case(), kind, way))
        masks.append(({"batch": 3, "padding": "start" if past else "all"}, {"batch": 3, "padding": "start"}))
    return masks


def drawn(judge: Judge, kind: Kind, fields: Fields) -> tuple[Case, Arrays, np.ndarray]:
    """A case, its arrays, and which rows see nothing, [b t]."""
    way = judge.way
    some = {"batch": 1, "queries": 6, "keys": 6, "window": narrow(way, kind), "seed": 3}
    case = fitted(Case(**some | {**fields}), kind, way)
    given = arrays(case)
    seen = np.broadcast_to(way.problem(given, case).visible, (case.batch, case.heads, 6, 6))
    return case, given, np.asarray(~seen[:, 0].any(-1))


def _under_padding(judge: Judge, kind: Kind, fields: Fields) -> Said:
    """Whether a row reads what its kind hides, where a mask hides only what is left: the first keys, as padding.

    A whole row that is masked may be found by its mask alone. This row is found only by both together.
    """
    case, given, blind = drawn(judge, kind, fields)
    by_kind = ~judge.way.visible(dataclasses.replace(case, mask="none"), None)[0, 0]
    hidden = by_kind[blind.any(0)].all(axis=0)
    if not blind.any() or not hidden.any():
        return NOTHING
    louder = given._replace(v=given.v + 8 * hidden[None, None, :, None].astype(given.v.dtype))
    answers = [judge.ask(case, each) for each in (given, louder)]
    if any(each.trouble for each in answers):
        return NOTHING
    before, after = (each.output.transpose(0, 2, 1, 3)[blind] for each in answers)
    near = np.isclose(after, before, atol=NEAR["float32"], equal_nan=True)
    if near.all():
        return Said(Verdict.HOLDS, "")
    saw(judge.caller, after, before, np.where(near, 0, 1 + np.abs(after)))
    row = int(np.argmax(blind.any(0)))
    line = f"row {row}, whose own keys are all padding, moves with the values of other keys: {READS}"
    return Said(Verdict.FAILS, line, trouble=FUTURE)


def _in_type(judge: Judge, kind: Kind, name: str, fields: Fields) -> Said:
    way = judge.way
    names = set()
    for values in ("zeros", "plain"):
        case, given, blind = drawn(judge, kind, {"kind": name, "values": values, **fields})
        answer = judge.ask(case, given)
        if answer.trouble:
            return refused(answer.trouble)
        if (others := judge.judge(case)).fails:
            wrong = Wrong(others.why, others.answer.trouble)
            return failed(wrong, "beside a row that sees nothing: ", counterexample=case)
        b, t = (int(i) for i in np.argwhere(blind)[-1])
        row, hidden = answer.output[b, :, t], dataclasses.replace(case, mask="none", padding="")
        bare = given._replace(mask=None, padding=None)
        unhidden = dataclasses.replace(way, causal="never", window="")
        everything = attend(unhidden.problem(bare, hidden)).output[b, :, t]
        allowed = attend(way.problem(bare, hidden)).output[b, :, t]
        v = way.problem(given, case).v[b]
        past = way.visible(hidden, None)[0, 0, t]
        outcomes = {
            "zeros": np.zeros_like(row),
            "the mean of what the mask alone hides": v[:, past].mean(1),
            "the mean of all values": v.mean(1),
            "the softmax of what the mask alone hides": allowed,
            "the softmax of everything": everything,
            "its own value": v[:, t],
        }
        if np.isnan(row).all():
            names.add("NaN")
            continue
        fits = {each for each, right in outcomes.items() if np.allclose(row, right, atol=NEAR[name])}
        if not fits:
            return Said(
                Verdict.FAILS,
                f"a row that sees nothing is {np.round(row[0], 4).tolist()}, which is no outcome known",
            )
        # With equal scores a mean and a softmax are one; the other case parts them.
        names = fits if not names else names & fits
    if not names:
        return Said(Verdict.FAILS, "a row that sees nothing is another thing for other scores")
    found = next(each for each in ("NaN", *outcomes) if each in names)
    hides = not way.visible(dataclasses.replace(case, mask="none"), None).all()
    if hides and found in HIDDEN:
        return Said(Verdict.FAILS, f"a row whose own keys are all masked is {found}: {READS}", trouble=FUTURE)
    return Said(
        Verdict.CONVENTION,
        found.replace(" of what the mask alone hides", " of what is hidden") if not hides else found,
    )
