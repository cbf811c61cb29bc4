"""Dropout: attention some of whose weights are dropped at random, and the others raised so that their mean stays.

Axes: b batch, h heads, t queries, s keys, d width, e width of values. What is dropped is seen with equal scores and
v = [I I]: outputs are then the weights, twice.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.calling import Answer
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.chance import ALPHA, agrees, drawn, seeded
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Number, Verdict
from attnlab_theory.conform.identities import untouched
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import Chosen, Kind, Right, Stage, law
from attnlab_theory.conform.kinds.softmax.reference import Problem, attend
from attnlab_theory.conform.kinds.softmax.tolerances import tolerance
from attnlab_theory.stats import bounded, proportion

RATES = (0.1, 0.3, 0.5, 0.9)

DRAWS, MEANS = 12, 400
"""Calls whose drops are counted, for each rate; and those whose mean is compared with softmax attention."""

COPIES = 8
"""Batch elements, all alike: they are draws of one law."""

KEYS = 32


def right(case: Case, chosen: Chosen, made: Mapping[str, np.ndarray]) -> Right:
    """Softmax attention, [b h t e]; NaN where weights are dropped."""
    seen = np.ones((1, 1, 1, 1), bool)
    problem = Problem(made["q"], made["k"], made["v"], factor(chosen, case["width"]), seen)
    exact = attend(problem)

    def within(kind: str, accumulate: str) -> np.ndarray:
        bound = tolerance(problem, exact, kind, accumulate)
        return np.where(bound.loose, np.nan, bound.output)

    drops = case["rate"] and case["in training"] is not False and not case["evaluating"]
    output = np.full(exact.output.shape, np.nan) if drops else exact.output
    return Right(output, within, {"output": exact.output, "weights": exact.weights})


def factor(chosen: Chosen, width: int) -> float:
    """The scale of the scores."""
    return scales.factor(chosen["scale"], width)


def plain(ask: Callable[[Case], Answer], case: Case, answer: Answer, chosen: Chosen) -> float:
    """How far a target that answers with a rate is from softmax attention without."""
    without = case.replaced(rate=0.0)
    other = ask(without)
    exact = right(without, chosen, without.operands()).output
    return np.inf if other.trouble else float(np.nan_to_num(np.abs(other.numbers - exact), nan=1e30).max())


class Drops(NamedTuple):
    """What calls drop."""

    case: Case
    weights: np.ndarray
    """[draws b h t s], by the first half of the channels."""
    alike: bool
    """Whether the second half shows the same weights."""

    @property
    def kept(self) -> np.ndarray:
        """Which weights are kept."""
        return self.weights > 0.25 / self.weights.shape[-1]


def drops(judge: Judge, rate: float, seeds: range, n: int = KEYS) -> Drops:
    """What some calls drop of n equal weights."""
    chosen = judge.convention.chosen
    width = 2 * n if chosen.get("same width") else 4
    level = (1 / (factor(chosen, width) * width)) ** 0.5
    edits = f"q, k = np.full_like(q, {level:.9g}), np.full_like(k, {level:.9g})"
    edits = (edits, f"v = (0 * v + np.concatenate([np.eye({n})] * 2, -1)).astype(v.dtype)")
    spec = {"heads": 2, "length": n, "width": width, "value_width": 2 * n, "rate": rate, "edits": edits}
    case = judge.cases([spec])[0]
    found = drawn(judge, case, seeds)
    one, other = found[..., :n], found[..., n:]
    return Drops(case.replaced(draw=seeds[0]), one, bool(np.allclose(one, other, rtol=1e-4, atol=1e-7)))


def wrong(found: Drops, fact: str, given: float, expected: float, statistic: str, **about: Any) -> Finding:
    """A failure, and the number of many draws that shows it, by the numpy that makes it of `draws`."""
    number = Number(given, expected, ())
    about |= {"rate": found.case["rate"], "given": given, "right": expected, "draws": 200, "statistic": statistic}
    return Finding(verdict=Verdict.FAILS, case=found.case, number=number, fact=fact, about=about, failures=1)


@law
def without(judge: Judge, **switches: Any) -> Finding:
    """The law that nothing is dropped, by a rate of 0 or out of training."""
    given = {name: x for name, x in switches.items() if name in judge.convention.names}
    sizes = [(5, None), (5, "large"), (5, "offset"), (17, None), (65, None), (1, None)]
    specs = [
        {"length": n, "values": values, "seed": n, "draw": draw, "rate": 0.5, **given}
        for n, values in sizes[: 4 if judge.compiles else None]
        for draw in (0, 1)
    ]
    return judge.values(judge.cases(specs)) if given else NOT_TRIED


def weights(judge: Judge) -> Finding:
    """A dropped weight is 0 for every channel of the values, and the others of a row are alike."""
    for rate in RATES:
        found = drops(judge, rate, range(3, 4))
        kept, top = found.kept, found.weights.max(-1, keepdims=True)
        rest = float(np.abs(np.where(kept, 0.0, found.weights)).max())
        off = np.abs(np.where(kept, found.weights - top, 0.0)) > 1e-4 * top
        some = "np.abs(draws)[np.abs(draws) < 1 / 128].max(initial=0)"
        if not found.alike:
            return wrong(
                found, "channels apart", 1, 0, f"(np.diff(draws.reshape(-1, 2, {KEYS}), axis=1) != 0).max()"
            )
        if rest > 1e-6:
            return wrong(found, "dropped is not 0", rest, 0, some)
        if off.any():
            return wrong(found, "kept are unlike", float(off.mean()), 0, "draws[draws > 1 / 128].std()")
        if kept.all():
            return wrong(found, "nothing dropped", 0, rate, "(draws < 1 / 128).mean()")
    return Finding(verdict=Verdict.HOLDS, fact="zeros", tried=len(RATES))


def place(judge: Judge) -> tuple[set[str], Finding | None]:
    """Whether weights are dropped `after` the softmax or `before`, and what is wrong with those that are kept."""
    found = set[str]()
    for rate in RATES:
        seen = drops(judge, rate, range(5, 6))
        sums = seen.weights.sum(-1)[seen.kept.any(-1)]
        is_one = bool(np.allclose(sums, 1, rtol=1e-4))
        if rate <= 0.5 and is_one:
            found.add("before")
        elif not ("before" in found and is_one):
            times = float(np.median(seen.weights[seen.kept])) * KEYS if seen.kept.any() else 0.0
            if abs(times * (1 - rate) - 1) > 1e-4:
                statistic = f"{KEYS} * np.median(draws[draws > 1 / 128])"
                return found, wrong(seen, "factor", times, 1 / (1 - rate), statistic)
            found.add("after")
    return found, None


def kept_factor(judge: Judge) -> Finding:
    """What is kept is divided by 1 - rate; where rows sum to one instead, it is dropped before the softmax."""
    found, failure = place(judge)
    if failure is not None or len(found) > 1:
        return failure or Finding(verdict=Verdict.FAILS, fact="both factors", tried=len(RATES), failures=1)
    if found == {"before"}:
        return Finding(verdict=Verdict.CONVENTION, fact="before", tried=len(RATES))
    return Finding(verdict=Verdict.HOLDS, fact="after the softmax", tried=len(RATES))


def shares(judge: Judge) -> bool:
    """Whether the target says by its arguments that one mask may serve all."""
    return "shared" in judge.convention.names


def share(judge: Judge) -> Finding:
    """The share of dropped weights is the rate, of all and of each key."""
    rates, n = (0.1, 0.5, 0.9), 66
    alpha, radius = ALPHA / len(rates) / (n + 1), 0.0
    for rate in rates:
        found = drops(judge, rate, range(100, 100 + DRAWS), n)
        kept = found.kept
        # One mask for all heads is one draw.
        dropped = ~(kept[:, :1, :1] if shares(judge) else kept).reshape(-1, n)
        for key in (None, *range(n)):
            some = dropped if key is None else dropped[:, key]
            interval = proportion().interval(some.ravel().astype(float), alpha)
            radius = max(radius, interval.width) if key is None else radius
            if not agrees(interval, rate):
                fact, at = ("share", "") if key is None else ("share of key", f".reshape(-1, {2 * n})[:, {key}]")
                statistic = f"(draws{at} < 1 / 128).mean()"
                return wrong(found, fact, float(some.mean()), rate, statistic, key=key, alpha=alpha)
    about = {"rates": tuple(map(str, rates)), "radius": radius, "alpha": ALPHA}
    return Finding(verdict=Verdict.HOLDS, fact="shares", tried=len(rates) * DRAWS, about=about)


def independent(judge: Judge) -> Finding:
    """Heads, batch elements, queries, keys and seeds are dropped independently of each other."""
    rate, half = 0.3, KEYS // 2
    found = drops(judge, rate, range(300, 300 + DRAWS))
    m = found.kept
    pairs = {
        "two seeds that follow each other": (m[::2], m[1::2]),
        "two batch elements": (m[:, :1], m[:, 1:2]),
        "two heads": (m[:, :, :1], m[:, :, 1:2]),
        "two queries": (m[..., ::2, :], m[..., 1::2, :]),
        "two queries half of them apart": (m[..., :half, :], m[..., half:, :]),
        "two keys": (m[..., ::2], m[..., 1::2]),
        "two keys half of them apart": (m[..., :half], m[..., half:]),
    }
    chance, one_mask, width = rate**2 + (1 - rate) ** 2, [], 0.0
    for name, (one, other) in pairs.items():
        if not other.size:
            continue
        if shares(judge) and name in ("two batch elements", "two heads"):
            one_mask += [name] * np.array_equal(one, other)
            continue
        if shares(judge) and name != "two seeds that follow each other":
            one, other = one[:, :1, :1], other[:, :1, :1]
        interval = proportion().interval((one == other).ravel().astype(float), ALPHA / len(pairs))
        width = max(width, interval.width)
        if not agrees(interval, chance):
            axes = ("seeds", "batch", "heads", "queries", "keys")
            axis = next((i for i, word in enumerate(axes) if word[:4] in name), 0)
            kept = [0, *(1 + judge.convention.layout.find(x) for x in "bhtd")][axis]
            statistic = f"1 - np.diff(draws < 1 / 128, axis={kept}).mean()"
            return wrong(found, "dependent", float(np.mean(one == other)), chance, statistic, pair=name)
    about = {"radius": width, "alpha": ALPHA, "pairs": " and ".join(one_mask)}
    if one_mask:
        about["parameter"] = judge.convention.names["shared"]
        return Finding(verdict=Verdict.CONVENTION, fact="one mask", tried=DRAWS, about=about)
    return Finding(verdict=Verdict.HOLDS, fact="independent", tried=DRAWS, about=about)


def mean(judge: Judge) -> Finding:
    """The mean over many draws is softmax attention, where weights are large, too."""
    if place(judge)[0] == {"before"}:
        return NOT_TRIED
    rate, copied = 0.3, tuple(f"{x} = {x}[:1] + 0 * {x}" for x in "qkv")
    spec = {"queries": 4, "keys": 6, "batch": COPIES, "heads": 2, "seed": 21, "rate": rate, "edits": copied}
    case = judge.cases([spec])[0]
    about, made = judge.expected(case).about, judge.operands(case)
    exact, slack = about["output"][0], 2 * np.nan_to_num(judge.within(case, case.type)[0], nan=1.0) / (1 - rate)
    most = np.einsum("hts,hse->hte", about["weights"][0], np.abs(made["v"][0].astype(float))) / (1 - rate) + slack
    found = drawn(judge, case, range(1000, 1000 + MEANS))
    outputs = found[:, 0] if shares(judge) else found.reshape(-1, *exact.shape)
    seen, width = Drops(case, outputs, alike=True), 0.0
    for at in np.ndindex(exact.shape):
        row = outputs[(slice(None), *at)]
        own = "".join(f"[{dict(zip('bhtd', (0, *at), strict=True))[x]}]" for x in judge.convention.layout)
        if np.abs(row).max() > most[at]:
            return wrong(seen, "no sum", float(np.abs(row).max()), float(most[at]), f"np.abs(draws).max(0){own}")
        interval = bounded(-most[at], most[at]).interval(row, ALPHA / exact.size)
        width = max(width, interval.width)
        if not agrees(interval, exact[at], slack[at]):
            return wrong(seen, "mean", float(row.mean()), float(exact[at]), f"draws.mean(0){own}")
    about = {"count": len(outputs), "radius": width, "alpha": ALPHA}
    return Finding(verdict=Verdict.HOLDS, fact="means", tried=MEANS, about=about)


def everything(judge: Judge) -> Finding:
    """What becomes of a rate of 1 is told."""
    answer = judge.ask(judge.cases([{"rate": 1.0}])[0])
    if answer.trouble:
        is_choice = answer.trouble.refuses
        return Finding(verdict=Verdict.CONVENTION if is_choice else Verdict.FAILS, trouble=answer.trouble)
    finite = np.isfinite(answer.numbers).all()
    first = "NaN or infinity" if not finite else "numbers other than 0" if answer.numbers.any() else "zeros"
    return Finding(verdict=Verdict.CONVENTION, fact="rate 1", about={"first": first})


DROPOUT = Kind(
    operands=("q", "k", "v", "rate", "in training", "evaluating", "shared", "source"),
    placed=("q", "k", "v"),
    gives="bhte",
    must=("rate",),
    unseen={"rate": "dropout_p"},
    usual={"batch": 2, "heads": 2, "length": 6, "width": 4, "value_width": 3, "draw": 0}
    | {"rate": 0.5, "in training": True, "evaluating": False},
    near=1e-3,
    stages=(
        Stage(
            forms={
                "same width": (False, True),
                "layout": ("bhtd", "bthd", "btd", "td"),
                "source": ("int", "numpy", "torch", "jax"),
            },
            choices={"scale": ("rsqrt", "one")},
            trials=({"heads": 3, "length": 5},),
        ),
    ),
    score=plain,
    right=right,
    laws={
        "rate 0": without(rate=0.0),
        "evaluation": without(**{"in training": False, "evaluating": True}),
        "weights": weights,
        "factor": kept_factor,
        "seeds": seeded({"length": 9, "seed": 4}, {"length": 17}),
        "independent": independent,
        "share": share,
        "mean": mean,
        "rate 1": everything,
        "inputs unchanged": untouched([]),
    },
)
