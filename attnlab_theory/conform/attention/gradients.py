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
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform.attention.asking import call_of
from attnlab_theory.conform.attention.blind import drawn, means
from attnlab_theory.conform.attention.cases import ROLES, Arrays, Case, arrays
from attnlab_theory.conform.attention.conventions import Conventions
from attnlab_theory.conform.attention.fitting import fitted
from attnlab_theory.conform.attention.judging import Judge, coarse
from attnlab_theory.conform.attention.layouts import has_batch, laid_out, taken_in, weights_layout
from attnlab_theory.conform.attention.paths import outcome
from attnlab_theory.conform.attention.reference import Attended, Problem, attend
from attnlab_theory.conform.attention.tolerances import HALF_EPS, TINY, tolerance
from attnlab_theory.conform.finding import NOT_FINITE, Trouble, Verdict, trouble_of
from attnlab_theory.conform.kinds import Kind
from attnlab_theory.conform.recording import saw
from attnlab_theory.conform.suite import CALL, NOTHING, Said, refused


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


class Pulled(NamedTuple):
    """What came back."""

    trouble: Trouble | None
    gradients: Mapping[str, np.ndarray]
    """By name: q, k, v in [b h t d]; bias in [h t s], or [b h t s] where each batch element has its own."""


def pulled(judge: Judge, case: Case, given: Arrays, cotangent: np.ndarray, only: Collection[str] = ()) -> Pulled:
    """Ask a target for the gradients of sum(cotangent * output).

    Args:
        judge: of the target.
        case: the call.
        given: its arrays.
        cotangent: [b h t e].
        only: the arrays whose gradients are wanted, by their roles; all if none is named.
    """
    way = judge.way
    plain, named = way.plan(case)
    handed = way.handed(given, case)
    plan = {"framework": way.framework, "kind": case.kind, "strided": case.memory, "names": named, "plain": plain}
    roles = [*way.operands, *(x for x in ROLES if getattr(given, x) is not None or way.adds(case, x))]
    plan |= {"tracked": [i for i, role in enumerate(roles) if role in only] or True, "cotangent": True}
    plan |= {"by_name": [*way.by_name]}
    judge.calls += 1
    report, came = judge.caller.call(
        plan, [*handed, np.ascontiguousarray(laid_out(cotangent, way.layout)).astype(given.q.dtype)]
    )
    if (trouble := trouble_of(report)) is not None:
        return Pulled(trouble, {})
    found, flat = {}, came[0]
    for role, x in zip(roles, handed, strict=True):
        if x.dtype.kind == "f" and (not only or role in only):
            part, flat = flat[: x.size].reshape(x.shape), flat[x.size :]
            if role not in ("q", "k", "v", "bias"):
                found[role] = part
            elif role != "bias":
                found[role] = taken_in(part, way.layout)
            elif case.bias_by_element or way.whole_bias:
                found[role] = taken_in(part, weights_layout(way.layout))
            else:
                found[role] = part.reshape(-1, *part.shape[-2:])
    return Pulled(None, found)


def slopes(given: Problem, exact: Attended, c: np.ndarray) -> Slopes:
    """The exact gradients.

    Args:
        given: what was asked.
        exact: its answer.
        c: the cotangent, [b h t e]; zero in rows that see nothing.
    """
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


def _folded(x: np.ndarray, way: Conventions, groups: int) -> np.ndarray:
    """The sum over heads that share keys, [b g s d] of [b h s d]."""
    b, h, *rest = x.shape
    if way.interleaved:
        return x.reshape(b, h // groups, groups, *rest).sum(1)
    return x.reshape(b, groups, h // groups, *rest).sum(2)


def cases(judge: Judge, kind: Kind) -> list[Case]:
    """The calls whose gradients are compared."""
    way = judge.way
    some = [
        Case(queries=6, keys=6),
        Case(queries=6, keys=6, seed=1, memory="rows"),
        *([Case(queries=6, keys=6, mask="random")] if way.mask else []),
        *(
            [Case(queries=6, keys=6, mask="padded end", garbage="huge", within=each) for each in "kv"]
            if way.mask
            else []
        ),
        Case(queries=6, keys=6, values="ties"),
        Case(queries=6, keys=6, values="dominant"),
        Case(queries=6, keys=6, values="large"),
        *([Case(queries=6, keys=6, window=3)] if "window" in way.names and way.window else []),
    ]
    if way.framework == "torch":
        some += [Case(queries=t, keys=s) for t, s in ((1, 1), (4, 7), (17, 17), (65, 65))]
        some += [Case(queries=6, keys=6, kind=each) for each in ("float64", "float16", "bfloat16")]
        some += [Case(queries=6, keys=6, softcap=2.0)] if "softcap" in way.names else []
        some += [Case(queries=6, keys=6, bias=True)] if "bias" in way.names else []
        some += [Case(queries=6, keys=6, padding="end")] if way.padding and has_batch(way.layout) else []
        some += [Case(queries=6, keys=6, causal=not kind.causal)] if way.causal == "asked" else []
        some += [Case(queries=6, keys=6, sinks="normal")] if "sinks" in way.names else []
        some += [Case(queries=6, keys=6, bias=True, bias_by_element=True)] if way.bias_by_element else []
    found = [fitted(case, kind, way) for case in some]
    if way.alignment == "square":
        found = [x for x in found if x.queries == x.keys or not way.by_place(x)]
    if way.shares and way.framework == "torch":
        found.append(dataclasses.replace(found[0], heads=4, groups=2))
    return list(dict.fromkeys(found))


def subsets(judge: Judge, case: Case) -> list[tuple[str, ...]]:
    """The inputs that may need gradients, but for all of them: a backward pass may leave out what nobody wants."""
    if judge.way.framework != "torch":
        return []
    named = ["q", "k", "v", *["bias"] * case.bias]
    return [some for n in range(1, len(named)) for some in itertools.combinations(named, n)]


def gradients(judge: Judge, kind: Kind) -> Said:
    """The vector-Jacobian product with a random cotangent is that of the reference."""
    way = judge.way
    if way.framework == "numpy":
        return NOTHING
    tried, worst = 0, 0.0
    wanted = cases(judge, kind)
    for case in wanted:
        found = judged(judge, case)
        if found.verdict is Verdict.FAILS and case.kind == "float64":
            # That float64 is float32 inside is told once, by the identity of that name.
            found = judged(judge, case, "float32")
        if found.verdict is Verdict.CONVENTION:
            if tried == 0:
                return found
            if case.kind != "float32":
                continue
            return found._replace(
                verdict=Verdict.FAILS, tried=tried + 1, line=f"{found.line}, and not in other calls"
            )
        tried += 1
        if found.verdict is Verdict.FAILS:
            return found._replace(tried=tried)
        worst = max(worst, found.ratio)
    for only in subsets(judge, wanted[0]):
        tried += 1
        found = judged(judge, wanted[0], only=only)
        if found.verdict is not Verdict.HOLDS:
            where = f"where only {', '.join(only)} need{'s' * (len(only) == 1)} gradients: "
            return found._replace(verdict=Verdict.FAILS, tried=tried, line=where + found.line)
    line = f"largest error {worst:.2g} of its tolerance" + _reach(judge, kind)
    for hides, _ in means(judge, kind):
        verdict, said = _blind(judge, kind, hides)
        if verdict is not Verdict.HOLDS:
            line = said if verdict is Verdict.FAILS else f"{line}; {said}"
            return Said(verdict, line, tried + 1, ratio=worst, trouble=NOT_FINITE)
    return Said(Verdict.HOLDS, line, tried, ratio=worst)


def _blind(judge: Judge, kind: Kind, hides: Mapping[str, Any]) -> tuple[Verdict, str]:
    """Whether a row that sees nothing makes gradients NaN, though nothing is differentiated that depends on it."""
    case, given, blind = drawn(judge, kind, hides)
    c = np.ones((case.batch, case.heads, case.queries, case.value_width), "float32") * ~blind[:, None, :, None]
    back = pulled(judge, case, given, c)
    if back.trouble or all(np.isfinite(x).all() for x in back.gradients.values()):
        return Verdict.HOLDS, ""
    answer = judge.ask(case, given)
    if answer.trouble or np.isnan(answer.output).any():
        return Verdict.CONVENTION, "a row that sees nothing is NaN, and so are gradients of other rows"
    call = call_of(judge.way, case)
    said = f"a row that sees nothing is {outcome(answer.output.transpose(0, 2, 1, 3)[blind])}"
    return Verdict.FAILS, f"{said}, and makes gradients NaN that do not depend on it; {CALL}{call}"


def judged(judge: Judge, case: Case, kind: str | None = None, only: Collection[str] = ()) -> Said:
    """The gradients of one call.

    Args:
        judge: of the target.
        case: the call.
        kind: the type in which the target may compute; by default that of its answers.
        only: the arrays whose gradients are wanted; all if none is named.
    """
    way, given = judge.way, arrays(case)
    problem = way.problem(given, case)
    exact = attend(problem)
    size = (case.batch, case.heads, case.queries, case.value_width)
    c = np.random.default_rng(case.seed + 100).standard_normal(size).astype("float32")
    # Where the program may round, the cotangent must be exact: halves of small whole numbers are, in any type.
    c = np.round(2 * c) / 2 * problem.visible.any(-1, keepdims=True)
    back = pulled(judge, case, given, c, only)
    if back.trouble:
        return refused(back.trouble, "no gradients: ")
    kind = kind or judge.answered_in(case)
    cast = coarse(kind, case.kind)
    right, off = slopes(problem, exact, c), room(problem, exact, c, kind, judge.accumulate, cast=cast)
    worst = 0.0
    for name, got in back.gradients.items():
        if name in ("mask", "slopes"):
            continue
        expected, most = (
            x.bias[..., -1].sum((0, 2)) if name == "sinks" else getattr(x, name) for x in (right, off)
        )
        if name in ("k", "v"):
            expected, most = (_folded(x[:, :, : case.keys], way, case.groups) for x in (expected, most))
        if name == "bias":
            expected, most = (x[..., : case.keys] for x in (expected, most))
        if name == "bias" and got.ndim == 3:
            # All batch elements share it.
            expected, most = expected.sum(0), most.sum(0)
        ratio = np.abs(got - expected) / most
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
        place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        worst = max(worst, float(ratio[place]))
        saw(judge.caller, got, expected, ratio)
        if ratio[place] > 1:
            at = {"bias": "[h t s]" if got.ndim == 3 else "[b h t s]", "sinks": "[h]"}.get(name, "[b h t d]")
            many = "" if np.isinf(ratio[place]) else f", {ratio[place]:,.3g} tolerances off"
            said = f"the gradient of {name} is {got[place]:.7g} where {expected[place]:.7g} is right{many}, "
            call = call_of(way, case)
            said += f"at {at} = {[int(i) for i in place]}; {CALL}{call}"
            return Said(Verdict.FAILS, said, ratio=worst, counterexample=case, case=call)
    return Said(Verdict.HOLDS, "", ratio=worst)


def _reach(judge: Judge, kind: Kind) -> str:
    """Where gradients are NaN for something that nobody sees: told, for it is so nearly everywhere."""
    if not judge.way.mask:
        return ""
    found = []
    padded = {"mask": "padded end", "garbage": "nan"}
    for more, said in (
        ({**padded, "within": "k"}, "NaN in a hidden key"),
        ({**padded, "within": "v"}, "NaN in a hidden value"),
    ):
        case = fitted(dataclasses.replace(Case(queries=6, keys=6), **more), kind, judge.way)
        given = arrays(case)
        visible = judge.way.visible(case, given.mask).any(-1, keepdims=True)
        c = np.ones((case.batch, case.heads, case.queries, case.value_width), "float32") * visible
        back = pulled(judge, case, given, c)
        if not back.trouble and not all(np.isfinite(x).all() for x in back.gradients.values()):
            found.append(said)
    return f"; NaN by {', '.join(found)}" if found else ""
