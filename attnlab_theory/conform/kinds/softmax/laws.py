"""What is true of softmax attention beside right numbers: what a mask hides, and rows that see nothing."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import FUTURE, NOT_FINITE, NOT_TRIED, Finding, Number, Verdict
from attnlab_theory.conform.identities import RightAt
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import law
from attnlab_theory.conform.kinds.softmax.reference import attend
from attnlab_theory.conform.recording import saw

Spec = Mapping[str, Any]

HALVES = ("float16", "bfloat16")

LENGTHS, COMPILED = (1, 2, 15, 16, 17, 33, 63, 64, 65, 128, 130), (1, 17, 130)

UNIT = ("v[:] = np.eye(*v.shape[-2:])",)
"""With these values the output is the weights."""


def cases_of(judge: Judge, spec: Spec) -> list[Case]:
    """A case, of a kind with a window in one that hides something in few tokens, where one can be handed over."""
    return (judge.cases([{**spec, "window": 3}]) if judge.wants("window") else []) or judge.cases([spec])


def unit(judge: Judge, n: int) -> dict[str, int]:
    """Sizes by which the output has a channel for each of n keys."""
    return {"value_width": n, "width": n if judge.convention.chosen["same width"] else 4}


@law
def visibility(judge: Judge, *, plain: bool) -> Finding:
    """With q = k = 0 every query shares its weight among what it may see, at lengths across the edges of blocks."""
    lengths = COMPILED if judge.compiles else LENGTHS
    for n in lengths:
        sizes = {"batch": 1, "length": n, **unit(judge, n)}
        sizes |= {"bias": "zeros"} if judge.wants("bias") else {}
        for case in cases_of(judge, {**sizes, "values": "zeros", "edits": UNIT}):
            # A flag that is promised and does nothing was taken for none.
            outcome = judge.judge(case.replaced(causal=True) if judge.kind.usual["causal"] else case)
            if outcome.fails:
                t, s = outcome.number.place[-2:] if outcome.number else (0, 0)
                about = {"tokens": n, "query": t, "key": s}
                return judge.failed(outcome, shrinks=False, fact="weight" * (not outcome.trouble), about=about)
    if plain and judge.convention.chosen["causal"] == "always":
        return Finding(verdict=Verdict.FAILS, fact="hides all", tried=len(lengths), failures=1)
    return Finding(verdict=Verdict.HOLDS, fact="lengths", about={"lengths": lengths}, tried=len(lengths))


MOVES = 0.02
"""An output that moves by more, where 8 replaces numbers, has seen it: rounding moves it by less."""


def causality(judge: Judge) -> Finding:
    """No output moves when keys and values that come after it are replaced."""
    tried = 0
    for n in (5,) if judge.compiles else (5, 17, 65, 130):
        # So few numbers that a snippet writes them out.
        spec = {"batch": 1, "length": n, "width": 2, "value_width": 2, "values": "whole", "seed": 1}
        case, *_ = [*cases_of(judge, spec), None]
        if case is None:
            continue
        right = np.broadcast_to(judge.expected(case).about["problem"].visible, (1, case["heads"], n, n))[0, 0]
        # A flag that is promised and does nothing was taken for none.
        right = right & np.tri(n, dtype=bool) if judge.kind.usual["causal"] else right
        if right.all():
            continue
        first = judge.ask(case)
        for cut in (n - 1, n // 2):
            blind = ~right[:, cut:].any(-1)
            if not blind.any() or first.trouble or not np.isfinite(first.numbers).all():
                continue
            edit = f"k[..., {cut}:, :], v[..., {cut}:, :] = 4, 8"
            answer, tried = judge.ask(case.replaced(edits=(edit,))), tried + 1
            if answer.trouble:
                continue
            moved, stays = (each.numbers[:, :, blind] for each in (answer, first))
            apart = np.nan_to_num(np.abs(moved - stays), nan=np.inf)
            if (most := float(apart.max())) > MOVES:
                saw(judge.caller, moved, stays, apart / MOVES)
                t = int(np.flatnonzero(blind)[np.unravel_index(int(np.argmax(apart)), apart.shape)[2]])
                about = {"query": t, "tokens": n, "most": most, "cut": cut}
                return Finding(verdict=Verdict.FAILS, tried=tried, failures=1, fact="leak", about=about)
    return Finding(verdict=Verdict.HOLDS, tried=tried, fact="futures", about={"n": tried}) if tried else NOT_TRIED


class Scaled:
    """A law of right numbers, with the smallest error of the scale that would hold, and flash-attention's rule."""

    def __init__(self, law: RightAt) -> None:
        self.law = law

    def __call__(self, judge: Judge) -> Finding:
        """Try it."""
        judge.rule = 0.0
        found = self.law(judge)
        about = {"rule": judge.rule} if judge.rule else {}
        if found.verdict is Verdict.HOLDS:
            about |= {"unseen": unseen_error(judge, judge.cases(self.law.of(judge))[: judge.most_cases])}
        return dataclasses.replace(found, about={**found.about, **about})


SEEN = 0.25
"""A scale that is wrong by so much must fail, or the row says that it would not."""

STEP, MOST = 1.25, 64.0
"""From one error that is tried to the next, and the largest."""


def unseen_error(judge: Judge, cases: Sequence[Case]) -> float:
    """The smallest error of the scale, relative, that would have failed in some case; 0 if a quarter would."""

    def fails(error: float) -> bool:
        for case in cases:
            right, kind = judge.expected(case), judge.type_of(case, judge.kinds.get(case.type, ""))
            given, most = right.about["problem"], judge.within(case, kind)
            wrong = attend(given._replace(scale=given.scale * (1 + error))).output
            with np.errstate(invalid="ignore"):
                if (np.abs(wrong - right.output) > most).any():
                    return True
        return False

    if fails(SEEN):
        return 0.0
    error = SEEN
    while (error := error * STEP) < MOST:
        if fails(error):
            low = error / STEP
            for _ in range(4):
                middle = (low + error) / 2
                low, error = (low, middle) if fails(middle) else (middle, error)
            return error
    return np.inf


def large_biases(judge: Judge) -> Finding:
    """Biases of 100, of -1e4 and of minus infinity are added as small ones are; NaN for the last is told."""
    (*finite, infinite) = judge.cases({"bias": word, "seed": 3} for word in ("100", "-1e4", "minus infinity"))
    found = judge.values(finite)
    outcome = judge.judge(infinite)
    if found.verdict is not Verdict.FAILS and outcome.fails:
        if outcome.trouble or (outcome.number and np.isnan(outcome.number.given)):
            return Finding(verdict=Verdict.CONVENTION, fact="infinite bias", tried=3, trouble=outcome.trouble)
        return judge.failed(outcome, tried=3)
    return dataclasses.replace(found, tried=3)


FILLS: Mapping[str, tuple[float, ...]] = {
    "float32": (1e4, 1e10),
    "float16": (1.1e4, 2e4, 6e4),
    "bfloat16": (1.1e4, 1e10),
}
"""Scores by which what is hidden is raised over what is visible. In half precision 1e4 is no exact product."""

LARGEST = 6e4
"""The largest product q·k that is sure to be a number in float16, with some room. Right code may round it before it
multiplies with the scale, so beyond that only a hidden key that takes nearly all the weight is told."""

LEAST: Mapping[str, float] = {"float32": 0.01, "float16": 0.05, "bfloat16": 0.05}
"""The weight that a hidden key must have to be seen."""

TAKEN = 0.9
"""The weight that shows a hidden key where scores may have overflowed: a mean over all keys has less."""


def fills(judge: Judge) -> Finding:
    """What is hidden has no weight, however much its score is above that of what is visible, in each type."""
    found = {name: _fill_in_type(judge, name) for name in ("float32", *HALVES)}
    some = {name: each for name, each in found.items() if each is not NOT_TRIED}
    if not some:
        return NOT_TRIED
    order = (Verdict.FAILS, Verdict.CONVENTION, Verdict.HOLDS)
    worst = min(some.values(), key=lambda each: order.index(each.verdict))
    tried = sum(each.tried for each in some.values())
    if worst.verdict is Verdict.FAILS:
        return dataclasses.replace(worst, tried=tried)
    parts = [
        ("of type", {"type": name, "line": (each.fact, each.about), "trouble": each.trouble})
        for name, each in some.items()
    ]
    return Finding(verdict=worst.verdict, tried=tried, fact="parts", about={"parts": tuple(parts)})


def _fill_case(judge: Judge, name: str) -> Case | None:
    """Six tokens, of which a mask hides the last two, or a place some."""
    sizes = {"batch": 1, "length": 6, "type": name, "values": "zeros", **unit(judge, 6)}
    for hides in ({"pair mask": "few"}, {"mask": "few"}, {}):
        if cases := cases_of(judge, {**sizes, **hides}):
            return cases[0]
    return None


def _fill_in_type(judge: Judge, name: str) -> Finding:
    plain, down, calls = _fill_case(judge, name), 0.0, 0
    if plain is None:
        return NOT_TRIED
    given = judge.expected(plain).about["problem"]
    visible = np.broadcast_to(given.visible, (1, plain["heads"], 6, 6))[0, 0]
    if visible.all():
        return NOT_TRIED
    for fill in FILLS[name]:
        beyond = name == "float16" and fill / given.scale > LARGEST
        for second in (False, True):
            scores = (
                f"np.where(np.arange(6) < 4, {-fill!r}, {fill!r})"
                if second
                else f"np.linspace({-fill!r}, {fill!r}, 6)"
            )
            root = float(np.sqrt(fill / abs(given.scale)))
            # Two factors, for their product may be large.
            edits = (*UNIT, f"q[..., 0] = {root!r}; k[..., 0] = {scores} / {root * given.scale!r}")
            case, calls = plain.replaced(edits=edits), calls + 1
            answer = judge.ask(case)
            about = {"fill": fill, "type": name, "down": down}
            fail = {"verdict": Verdict.FAILS, "tried": calls, "case": case, "about": about, "failures": 1}
            if answer.trouble and name != "float32" and not down:
                return Finding(verdict=Verdict.HOLDS, fact="refused", tried=calls, trouble=answer.trouble)
            is_finite = not answer.trouble and bool(np.isfinite(answer.numbers).all())
            if beyond and not is_finite:
                return _no_fill(down, calls)
            if answer.trouble:
                return Finding(**fail, trouble=answer.trouble)
            if not is_finite:
                return Finding(**fail, trouble=NOT_FINITE)
            weights = answer.numbers[0, 0, :, :6]
            if name != "float32" or fill > FILLS[name][0]:
                # exp(score - log of the sum) is off by a factor here, in all weights of a row alike.
                weights = weights / np.maximum(np.abs(weights).sum(-1, keepdims=True), 1e-30)
            hidden = np.where(visible, 0.0, np.abs(weights))
            leaked = float(hidden.sum(-1).max() if beyond else hidden.max())
            if leaked > (TAKEN if beyond else LEAST[name]):
                raw = answer.numbers[0, 0, :, :6]
                saw(judge.caller, raw, np.zeros_like(raw), ~visible * np.abs(raw) / 0.01)
                if fill == FILLS[name][0] and not beyond:
                    t, s = (int(x) for x in np.unravel_index(int(hidden.argmax()), hidden.shape))
                    fail |= {
                        "number": Number(float(raw[t, s]), 0.0, (0, 0, t, s)),
                        "about": {**about, "weight": leaked},
                    }
                    return Finding(**fail, fact="hidden key")
                return Finding(verdict=Verdict.CONVENTION, fact="finite fill", tried=calls, about=about)
        down = fill
    return _no_fill(down, calls)


def _no_fill(down: float, calls: int) -> Finding:
    about = {"down": -down}
    return Finding(verdict=Verdict.HOLDS, fact="no fill" if down else "no numbers", about=about, tried=calls)


SIZES = ((5, 3), (19, 17))
"""Queries and keys. The first two queries stand before every key."""


def early(judge: Judge) -> Finding:
    """A query before the first key sees nothing: zeros, NaN or an error, but no key, for all come after it."""
    told, chosen = "", judge.convention.chosen
    plain = cases_of(judge, {"batch": 1, "seed": 4})
    is_by_place = plain and judge.convention.fitted(judge.kind, plain[0].replaced(queries=5, keys=3)) is None
    if not is_by_place or chosen["alignment"] != "end":
        return NOT_TRIED
    for t, s in SIZES[:1] if judge.compiles else SIZES:
        case = plain[0].replaced(queries=t, keys=s)
        answer, given = judge.ask(case), judge.expected(case).about["problem"]
        fail = {"verdict": Verdict.FAILS, "case": case, "failures": 1}
        if answer.trouble:
            about = {"queries": t, "keys": s}
            return Finding(verdict=Verdict.CONVENTION, fact="early refused", about=about, trouble=answer.trouble)
        # Queries may be counted from the first key on where there are more of them.
        assert judge.kind.right is not None
        start = judge.kind.right(case, {**chosen, "alignment": "start"}, judge.operands(case)).output
        if np.allclose(answer.numbers, start, atol=1e-3):
            return Finding(verdict=Verdict.CONVENTION, fact="from the start", tried=len(SIZES))
        outcome = judge.judge(case)
        if outcome.fails:
            return judge.failed(outcome, shrinks=False)
        blind = ~np.broadcast_to(given.visible, (1, case["heads"], t, s))[0, 0].any(-1)
        if not blind.any():
            continue
        rows = answer.numbers[:, :, blind]
        found = "NaN" if np.isnan(rows).all() else "zeros" if np.allclose(rows, 0, atol=1e-3) else ""
        if not found:
            saw(judge.caller, rows, np.zeros_like(rows), 1 + np.abs(rows))
            everything = attend(given._replace(visible=np.ones((1, 1, t, s), bool))).output[:, :, blind]
            if np.allclose(rows, given.v.mean(-2, keepdims=True), atol=1e-3):
                return Finding(**fail, fact="early mean", trouble=FUTURE)
            fact = "early reads" if np.allclose(rows, everything, atol=1e-3) else "early unknown"
            return Finding(**fail, fact=fact, about={"row": tuple(np.round(rows[0, 0, 0], 4).tolist())})
        if told and told != found:
            return Finding(**fail, fact="early differs", about={"one": told, "other": found})
        told = found
    if not told:
        return Finding(verdict=Verdict.HOLDS, fact="none early", tried=len(SIZES))
    return Finding(verdict=Verdict.CONVENTION, fact="early", about={"what": told}, tried=len(SIZES))


def hidden_nan(judge: Judge) -> Finding:
    """NaN and infinity in hidden places: whether they reach the output is told, for nearly everywhere they do."""
    hides = [x for x in ({"pair mask": "padded end"}, {"mask": "third"}) if judge.cases([{"length": 6, **x}])][:1]
    if not hides:
        return NOT_TRIED
    reach = []
    for values in ("nan keys", "nan values", "infinite keys", "infinite values"):
        answer = judge.ask(judge.cases([{"length": 6, "values": values, **hides[0]}])[0])
        if answer.trouble or not np.isfinite(answer.numbers).all():
            reach.append(values)
    return Finding(
        verdict=Verdict.CONVENTION, fact="reach" if reach else "harmless", about={"reach": tuple(reach)}, tried=4
    )


FROM_FUTURE = ("mean of all", "softmax of all")
"""Outcomes that read what a kind hides by itself."""


def means(judge: Judge) -> list[tuple[Spec, Spec]]:
    """What hides all that a row sees, and what hides the first keys, as padding: by a mask, and by one of keys."""
    past = any(case["causal"] for case in judge.cases([{}]))
    # Every row of one element is blind, or the rows before its first key.
    keys = {"batch": 3, "mask": "start" if past else "element"}, {"batch": 3, "mask": "start"}
    masks = ({"pair mask": "blind"}, {"pair mask": "padded start"}), keys
    return [each for each in masks if cases_of(judge, {"length": 6, **each[0]})]


def drawn(judge: Judge, fields: Spec) -> tuple[Case, np.ndarray]:
    """A case, and which rows see nothing, [b t]."""
    case = cases_of(judge, {"batch": 1, "length": 6, "seed": 3, **fields})[0]
    seen = judge.expected(case).about["problem"].visible
    return case, np.asarray(~np.broadcast_to(seen, (case["batch"], case["heads"], 6, 6))[:, 0].any(-1))


def blind_rows(judge: Judge) -> Finding:
    """A row that sees nothing: zeros, the mean, NaN, an error, the softmax of what is hidden. Others are right.

    Nothing is right there, so an outcome is known by what it is equal to. In half precision a fill may be infinite
    that is finite in float32. So each type is asked, and one that answers otherwise is told.
    """
    first: Finding | None = None
    for hides, padded in means(judge):
        found = _blind_in_type(judge, "float32", hides)
        if found.verdict is Verdict.FAILS:
            return found
        if not found.trouble and (under := _under_padding(judge, padded)) is not None:
            return under
        first = first or found
    if first is None or first.trouble:
        return first or NOT_TRIED
    more = []
    for name in HALVES:
        if not judge.cases([{"type": name}]):
            continue
        half = _blind_in_type(judge, name, means(judge)[0][0])
        if half.verdict is Verdict.CONVENTION and half.trouble:
            continue
        if half.verdict is Verdict.FAILS and (half.case or half.trouble is FUTURE):
            return dataclasses.replace(half, about={**half.about, "in": name})
        what = half.about.get("what", "unknown")
        more += [("blind in", {"type": name, "what": what})] * (what != first.about["what"])
    return dataclasses.replace(first, about={**first.about, "more": tuple(more)})


def _under_padding(judge: Judge, fields: Spec) -> Finding | None:
    """A row that reads what its kind hides, where a mask hides only what is left: the first keys, as padding.

    A whole row that is masked may be found by its mask alone. This row is found only by both together.
    """
    case, blind = drawn(judge, fields)
    seen: np.ndarray = _by_place(judge, case)
    hidden = np.logical_not(seen[blind.any(0)].any(axis=0))
    if not blind.any() or not hidden.any():
        return None
    made = judge.operands(case)
    louder = {**made, "v": made["v"] + 8 * hidden[None, None, :, None].astype(made["v"].dtype)}
    answers = [judge.ask(case, each) for each in (made, louder)]
    if any(each.trouble for each in answers):
        return None
    before, after = (each.numbers.transpose(0, 2, 1, 3)[blind] for each in answers)
    near = np.isclose(after, before, atol=judge.near(case, answers[0]), equal_nan=True)
    if near.all():
        return None
    saw(judge.caller, after, before, np.where(near, 0, 1 + np.abs(after)))
    about = {"row": int(np.argmax(blind.any(0)))}
    return Finding(verdict=Verdict.FAILS, failures=1, fact="blind under padding", about=about, trouble=FUTURE)


def _by_place(judge: Judge, case: Case) -> np.ndarray:
    """What each query sees by its place alone, [t s]."""
    made = {x: y for x, y in judge.operands(case).items() if x not in ("pair_mask", "mask")}
    assert judge.kind.right is not None
    seen: Any = judge.kind.right(case, judge.convention.chosen, made).about["problem"].visible
    return seen[0, 0]


def _blind_in_type(judge: Judge, name: str, fields: Spec) -> Finding:
    names: set[str] = set()
    wrong: dict[str, Any] = {"verdict": Verdict.FAILS, "failures": 1}
    for values in ("zeros", None):
        case, blind = drawn(judge, {"type": name, "values": values, **fields})
        answer, given = judge.ask(case), judge.expected(case).about["problem"]
        if answer.trouble:
            return Finding(verdict=Verdict.CONVENTION, fact="refused", trouble=answer.trouble)
        if (others := judge.judge(case)).fails:
            return judge.failed(others, shrinks=False, fact="beside a blind row")
        b, t = (int(i) for i in np.argwhere(blind)[-1])
        row, past = answer.numbers[b, :, t], _by_place(judge, case)
        everything, allowed = (
            attend(given._replace(visible=x)).output[b, :, t] for x in (np.ones_like(past), past[None, None])
        )
        v = given.v[b]
        outcomes = {
            "zeros": np.zeros_like(row),
            "mean": v[:, past[t]].mean(1),
            "mean of all": v.mean(1),
            "softmax": allowed,
            "softmax of all": everything,
            "own": v[:, t],
        }
        if np.isnan(row).all():
            names.add("NaN")
            continue
        fits = {each for each, right in outcomes.items() if np.allclose(row, right, atol=judge.near(case, answer))}
        if not fits:
            return Finding(**wrong, fact="blind unknown", about={"row": tuple(np.round(row[0], 4).tolist())})
        # With equal scores a mean and a softmax are one; the other case parts them.
        names = fits if not names else names & fits
    if not names:
        return Finding(**wrong, fact="blind differs")
    found = next(each for each in ("NaN", *outcomes) if each in names)
    hides = not past.all()
    if hides and found in FROM_FUTURE:
        return Finding(**wrong, fact="blind reads", about={"what": found}, trouble=FUTURE)
    found += " of what the mask hides" * (hides and found in ("mean", "softmax"))
    return Finding(verdict=Verdict.CONVENTION, fact="blind", about={"what": found})
