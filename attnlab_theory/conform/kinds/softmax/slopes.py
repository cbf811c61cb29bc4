r"""Gradients of attention in float64, how far right ones may be from them, and the law that compares.

For a cotangent c of the output, weights w, scores s = scale q k^T (capped: s' = f(s)) and output o:

    dv_j = sum_t w_tj c_t           dw_tj = c_t . v_j           m_t = c_t . o_t = sum_j w_tj dw_tj
    ds'_tj = w_tj (dw_tj - m_t)     dbias = ds'                 ds = ds' (1 - tanh^2(s / cap))
    dq_t = scale sum_j ds_tj k_j    dk_j = scale sum_t ds_tj q_t

Tolerances follow the same steps, with the bounds of `tolerances` for w and o. Each sum of n products errs by
(n u' + 2 u) of the sum of their sizes. m may be had in either way, so the larger error of the two counts. Products
add 3 u, what is below the smallest normal number is lost. A program that differentiates the maximum, too, adds to
its key what should cancel: the sum of the errors of all ds of the row. The derivative of the cap errs by twice the
error of s / cap, and by 8 u.

Where q, k and v were rounded to a coarser type first, each product with one of them errs by u more.
"""

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.calling import pulled
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import NOT_FINITE, NOT_TRIED, Finding, Number, Trouble, Verdict
from attnlab_theory.conform.judge import Judge, largest
from attnlab_theory.conform.kinds.softmax.laws import Spec, cases_of, drawn, means
from attnlab_theory.conform.kinds.softmax.reference import Attended, Problem
from attnlab_theory.conform.kinds.softmax.states import row_of_nothing
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.rounding import HALF_EPS, TINY


class Slopes(NamedTuple):
    """Gradients, or how far they may be off."""

    q: np.ndarray
    """[b h t d]."""
    k: np.ndarray
    """[b h s d], for every head of queries."""
    v: np.ndarray
    """[b h s e], for every head of queries."""
    bias: np.ndarray
    """[b h t s], for every batch element."""


def slopes(given: Problem, exact: Attended, c: np.ndarray) -> Slopes:
    """The exact gradients, by a cotangent [b h t e] that is zero in rows that see nothing."""
    q, k, v, w, o = _plain(given, exact)
    of_weights = np.einsum("bhte,bhse->bhts", c, v)
    of_scores = w * (of_weights - (c * o).sum(-1, keepdims=True))
    before = of_scores * _cap(given, q, k)[0]
    return Slopes(
        given.scale * np.einsum("bhts,bhsd->bhtd", before, k),
        given.scale * np.einsum("bhts,bhtd->bhsd", before, q),
        np.einsum("bhts,bhte->bhse", w, c),
        of_scores,
    )


def room(
    given: Problem, exact: Attended, c: np.ndarray, kind: str, accumulate: str | None = None, *, cast: bool = False
) -> Slopes:
    """How far right gradients may be off: the bound of this module's docstring, and that of the reference."""
    both = ((kind, accumulate, cast), ("float64", None, False))
    one, reference = (_room(given, exact, c, *each) for each in both)
    return Slopes(*(x + y for x, y in zip(one, reference, strict=True)))


def _room(given: Problem, exact: Attended, c: np.ndarray, kind: str, accumulate: str | None, cast: bool) -> Slopes:
    u, sums, tiny = HALF_EPS[kind], HALF_EPS[accumulate or kind], TINY[kind]
    q, k, v, w, o = _plain(given, exact)
    bound = tolerance(given, exact, kind, accumulate, cast=cast)
    off, (t, s), e = bound.weights, w.shape[-2:], v.shape[-1]
    size, high = np.abs(c), w + off

    def summed(n: int, total: np.ndarray) -> np.ndarray:
        return (n * sums + (2 + cast) * u) * total

    of_weights = np.einsum("bhte,bhse->bhts", c, v)
    weights_off = summed(e, np.einsum("bhte,bhse->bhts", size, np.abs(v))) + e * tiny
    mean = (c * o).sum(-1, keepdims=True)
    by_output = (size * bound.output + summed(e, size * (np.abs(o) + bound.output))).sum(-1, keepdims=True)
    by_weights = (
        off * np.abs(of_weights) + high * weights_off + summed(s, high * (np.abs(of_weights) + weights_off))
    )
    mean_off = np.maximum(by_output, by_weights.sum(-1, keepdims=True)) + s * tiny
    apart = np.abs(of_weights - mean)
    apart_off = weights_off + mean_off + u * (np.abs(of_weights) + np.abs(mean))
    scores = w * apart
    scores_off = off * apart + high * (apart_off + 3 * u * (apart + apart_off)) + tiny
    cancels = (scores_off + summed(s, scores + scores_off)).sum(-1, keepdims=True)
    scores_off = scores_off + np.where(w + 2 * off >= w.max(-1, keepdims=True), cancels, 0.0)
    slope, slope_off = _cap(given, q, k, u, sums)
    before, before_off = scores * slope, scores_off * slope + (scores + scores_off) * (slope_off + 2 * u)
    high_before = before + before_off
    per_head = 64  # Heads that share a key, at most: their gradients are summed.

    def product(pattern: str, n: int, x: np.ndarray) -> np.ndarray:
        total = np.einsum(pattern, high_before, np.abs(x))
        return (
            abs(given.scale) * (np.einsum(pattern, before_off, np.abs(x)) + (n * sums + (6 + cast) * u) * total)
            + n * tiny
        )

    values = np.einsum("bhts,bhte->bhse", off, size)
    values += (t * sums + 4 * u) * np.einsum("bhts,bhte->bhse", high, size) + t * tiny
    return Slopes(
        product("bhts,bhsd->bhtd", s, k),
        product("bhts,bhtd->bhsd", t + per_head, q),
        values,
        scores_off + (len(w) * sums + u) * (scores + scores_off),
    )


def _plain(given: Problem, exact: Attended) -> tuple[np.ndarray, ...]:
    """Queries, keys, values, weights and output without what is hidden or no number."""
    found = (given.q, given.k, given.v, exact.weights, exact.output)
    return tuple(np.nan_to_num(np.asarray(x, np.float64), nan=0.0, posinf=0.0, neginf=0.0) for x in found)


def _cap(given: Problem, q: np.ndarray, k: np.ndarray, u: float = 0.0, sums: float = 0.0) -> tuple[np.ndarray, ...]:
    """The derivative of the cap, and how far it may be off; 1 and 0 without one."""
    if given.softcap is None:
        return np.ones(1), np.zeros(1)
    raw = given.scale * np.einsum("bhtd,bhsd->bhts", q, k) / given.softcap
    size = abs(given.scale) * np.einsum("bhtd,bhsd->bhts", np.abs(q), np.abs(k)) / given.softcap
    return 1 - np.tanh(raw) ** 2, 2 * (q.shape[-1] * sums + 8 * u) * size + 8 * u


def of_role(x: Slopes, role: str, case: Case, interleaved: bool) -> np.ndarray:
    """The gradients of an array of a case: of keys that heads share the sum over these heads."""
    if role == "sinks":
        return x.bias[..., -1].sum((0, 2))
    if role == "bias":
        return x.bias[..., : case["keys"]]
    found, groups = getattr(x, role), case["groups"]
    if role == "q":
        return found
    b, h, _, width = found.shape
    found = found[:, :, : case["keys"]]
    if interleaved:
        return found.reshape(b, h // groups, groups, -1, width).sum(1)
    return found.reshape(b, groups, h // groups, -1, width).sum(2)


def specs(judge: Judge) -> Iterator[Spec]:
    """The calls whose gradients are compared."""
    hidden = {"pair mask": "padded end"}
    some: list[Spec] = [
        {},
        {"seed": 1, "memory": "rows"},
        {"pair mask": "random"},
        *({**hidden, "values": f"huge {each}"} for each in ("keys", "values")),
        *({"values": each} for each in ("ties", "attracting", "very large")),
        {"window": 3},
    ]
    if judge.convention.framework == "torch":
        causal = not judge.kind.usual["causal"]
        some += [{"queries": t, "keys": s} for t, s in ((1, 1), (4, 7), (17, 17), (65, 65))]
        some += [{"type": each} for each in ("float64", "float16", "bfloat16")]
        some += [{"softcap": 2.0}, {"bias": "normal"}, {"mask": "end"}, {"causal": causal}, {"sinks": "normal"}]
        some += [{"bias": "normal", "bias axes": "bhts"}, {"shared": True, "heads": 4}]
    yield from ({"length": 6, **each} for each in some)


def subsets(judge: Judge, case: Case) -> list[tuple[str, ...]]:
    """The inputs that may need gradients, but for all of them: a backward pass may leave out what nobody wants."""
    if judge.convention.framework != "torch":
        return []
    named = [role for role, _ in case.arrays if role in ("q", "k", "v", "bias")]
    return [some for n in range(1, len(named)) for some in itertools.combinations(named, n)]


def gradients(judge: Judge) -> Finding:
    """The vector-Jacobian product with a random cotangent is that of the reference."""
    if judge.convention.framework == "numpy":
        return NOT_TRIED
    tried, worst, wanted = 0, 0.0, judge.cases(specs(judge))
    for case in wanted:
        found = compared(judge, case)
        if found.verdict is Verdict.CONVENTION:
            if tried == 0:
                return found
            if case.type != "float32":
                continue
            return Finding(
                verdict=Verdict.FAILS, fact="gradients sometimes", trouble=found.trouble, tried=tried + 1
            )
        tried += 1
        if found.verdict is Verdict.FAILS:
            return dataclasses.replace(found, tried=tried)
        worst = max(worst, found.ratio)
    for only in subsets(judge, wanted[0]):
        tried += 1
        found = compared(judge, wanted[0], only=only)
        if found.verdict is not Verdict.HOLDS:
            return dataclasses.replace(
                found, verdict=Verdict.FAILS, tried=tried, about={**found.about, "only": only}
            )
    about: dict[str, Any] = {"ratio": worst, "reach": tuple(_reach(judge))}
    for hides, _ in means(judge):
        found = _blind_gradients(judge, hides)
        if found is not None and found.verdict is Verdict.FAILS:
            return dataclasses.replace(found, tried=tried + 1)
        if found is not None:
            about["more"] = ((found.fact, {}),)
            return dataclasses.replace(found, tried=tried + 1, ratio=worst, fact="gradients", about=about)
    return Finding(verdict=Verdict.HOLDS, fact="gradients", about=about, tried=tried, ratio=worst)


def _blind_gradients(judge: Judge, hides: Spec) -> Finding | None:
    """What a row that sees nothing makes NaN, though nothing is differentiated that depends on it."""
    case, blind = drawn(judge, hides)
    c = np.ones(case.shape("bhte"), "float32") * ~blind[:, None, :, None]
    trouble, found = pull(judge, case, c)
    if trouble or all(np.isfinite(x).all() for x in found.values()):
        return None
    answer = judge.ask(case)
    if answer.trouble or np.isnan(answer.numbers).any():
        return Finding(verdict=Verdict.CONVENTION, fact="NaN gradients", trouble=NOT_FINITE)
    about = {"what": row_of_nothing(answer.numbers.transpose(0, 2, 1, 3)[blind])}
    fail = {"fact": "blind gradients", "about": about, "trouble": NOT_FINITE, "failures": 1}
    return Finding(verdict=Verdict.FAILS, case=case, **fail)


def _reach(judge: Judge) -> list[str]:
    """Where gradients are NaN for something that nobody sees: told, for it is so nearly everywhere."""
    found = []
    for values in ("nan keys", "nan values"):
        for case in cases_of(judge, {"length": 6, "pair mask": "padded end", "values": values}):
            sees = np.asarray(judge.expected(case).about["problem"].visible).any(-1, keepdims=True)
            trouble, back = pull(judge, case, np.ones(case.shape("bhte"), "float32") * sees)
            if not trouble and not all(np.isfinite(x).all() for x in back.values()):
                found.append(values)
    return found


def pull(
    judge: Judge, case: Case, cotangent: np.ndarray, only: Collection[str] = ()
) -> tuple[Trouble | None, Mapping[str, np.ndarray]]:
    """The gradients of sum(cotangent * output) by a target."""
    judge.calls += 1
    return pulled(judge.caller, judge.convention, case, judge.kind.axes, cotangent, only, judge.operands(case))


def compared(judge: Judge, case: Case, kind: str | None = None, only: Collection[str] = ()) -> Finding:
    """The gradients of one call, of all arrays or of some, in the type in which the target may compute."""
    about = judge.expected(case).about
    given, exact = about["problem"], about["exact"]
    c = np.random.default_rng(case.seed + 100).standard_normal(case.shape("bhte")).astype("float32")
    # Where the program may round, the cotangent must be exact: halves of small whole numbers are, in any type.
    c = np.round(2 * c) / 2 * given.visible.any(-1, keepdims=True)
    trouble, back = pull(judge, case, c, only)
    if trouble:
        verdict = Verdict.CONVENTION if trouble.refuses else Verdict.FAILS
        return Finding(verdict=verdict, fact="no gradients", trouble=trouble, failures=1)
    if kind is None and case.type not in judge.kinds:
        judge.ask(case)
    kind = kind or judge.type_of(case, judge.kinds.get(case.type, ""))
    cast, interleaved = HALF_EPS[kind] > HALF_EPS[case.type], judge.convention.chosen["interleaved"]
    right, off, worst = slopes(given, exact, c), room(given, exact, c, kind, judge.accumulate, cast=cast), 0.0
    for role, got in back.items():
        # Sinks of minus infinity are handed over where none is asked, and are no column of the reference.
        has_none = role == "sinks" and right.bias.shape[-1] == case["keys"]
        if role not in ("q", "k", "v", "bias", "sinks") or has_none:
            continue
        expected, most = (of_role(x, role, case, interleaved) for x in (right, off))
        # What all batch elements or heads share.
        some = tuple(i for i, n in enumerate(got.shape) if n < expected.shape[i])
        expected, most = (x.sum(some, keepdims=True) for x in (expected, most))
        ratio, place = largest(got, expected, most)
        worst = max(worst, ratio)
        saw(judge.caller, got, expected, np.abs(got - expected) / most)
        if ratio > 1:
            if case.type == "float64" and kind == "float64":
                # That float64 is float32 inside is told once, by the identity of that name.
                return compared(judge, case, "float32", only)
            number = Number(float(got[place]) + 0.0, float(expected[place]), place, most=float(most[place]))
            fail = {"number": number, "case": case, "ratio": ratio, "about": {"of": role}, "failures": 1}
            return Finding(verdict=Verdict.FAILS, **fail)
    return Finding(verdict=Verdict.HOLDS, ratio=worst)
