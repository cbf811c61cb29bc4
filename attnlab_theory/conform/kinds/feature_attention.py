"""Attention by random features: its mean over many draws is softmax attention, but for the bias of a quotient.

Axes: b batch, h heads, t queries, s keys, d width, e width of values. The output is N / D, and N - o D has mean 0
for the right o. So |E out - o| is at most the root mean square of (N - o D) / D times the relative standard
deviation of D, and twice that, for D is inside the first, too. Both are had from the draws (`noise`). This needs
features of finite variance. The intervals are those of means that are close to normal, so the error rate is
approximate: the fewer draws make most of the variance, the worse it holds.

Outputs are compared one by one, and all together: how far they move from the mean of the values that a query sees,
towards softmax attention. A wrong scale or another kernel shows there first. The row says how wrong a scale could
be and pass. Where few draws make most of what outputs scatter, the variance may be infinite, and no mean is
judged.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.calling import Answer
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.chance import ALPHA, agrees, drawn, seeded
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Number, Verdict
from attnlab_theory.conform.identities import apart, future, untouched
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import Chosen, Kind, Right, Stage
from attnlab_theory.conform.kinds.softmax.reference import Attended, Problem, attend
from attnlab_theory.stats import student

COUNTS = (16, 64, 256)
"""Numbers of features that are asked for."""

SEEDS = range(5000, 5200)
"""Draws for each number of features."""

TOKENS = (6, 134)
"""Few, and so many that sums which are carried on through chunks of 64 are seen."""

TAILS = 3.6
"""The fourth moment of errors over the square of the second, above which their means are not taken for normal.

Where the errors of 200 draws are normal it is 3, and rarely 3.5. Features whose variance is infinite have more.
Their means are nearly never near what they estimate, for draws that are seldom seen make it.
"""

BOUND = student("a mean of quotients of sums over features")
NEAR = 5e-4
"""Half of how far outputs may move by rounding."""

SHORT = "q, k = ({size:.9g} * r.uniform(0.3, 1, (*x.shape[:-1], 1)) * x / np.linalg.norm(x, axis=-1, keepdims=True)"
SHORT += " for x in (q, k))"
DRAWN = ("r = np.random.default_rng(5)", "q, k = (r.standard_normal(x.shape) for x in (q, k))")
CAST = "q, k, v = (x.astype('float32') for x in (q, k, v))"
GROWING = "k = k * 0.6 ** (np.arange(k.shape[2])[::-1, None] // 64)"
"""Queries and keys are short, so that a few features do. Keys may be longer from chunk to chunk, so that what is
subtracted for stability changes."""


def short(chosen: Chosen, *more: str) -> tuple[str, ...]:
    """The lines that make queries and keys short."""
    size = 0.8 if chosen.get("scale", "rsqrt") == "rsqrt" else 0.8 * 4**-0.25
    return (*DRAWN, SHORT.format(size=size), "v = r.standard_normal(v.shape)", *more, CAST)


def attended(case: Case, chosen: Chosen, *, blind: bool = False) -> Attended:
    """Softmax attention; or the mean of the values that each query sees, where queries are blind."""
    made = case.operands()
    n, scale = made["q"].shape[2], scales.factor(chosen["scale"], case["width"])
    hides = case["causal"] or chosen.get("causal") == "always"
    seen = np.tri(n, dtype=bool) if hides else np.ones((n, n), bool)
    return attend(Problem(made["q"] * (not blind), made["k"], made["v"], scale, seen[None, None]))


def right(case: Case, chosen: Chosen, _: Any) -> Right:
    """Softmax attention, and what two answers by one seed may be apart."""
    output = attended(case, chosen).output
    return Right(output, lambda kind, accumulate: np.full(output.shape, NEAR))


def near(ask: Callable[[Case], Answer], case: Case, answer: Answer, chosen: Chosen) -> float:
    """How far the mean of a few draws is from softmax attention: of layouts that are as near, the first counts."""
    answers = [ask(case.replaced(draw=seed)) for seed in range(10)]
    if any(each.trouble for each in answers):
        return np.inf
    off = np.mean([each.numbers for each in answers], 0) - attended(case, chosen).output
    size = float(np.nan_to_num((off**2).mean() ** 0.5, nan=1e30))
    return float(3.0 ** np.round(np.log(max(size, 1e-2)) / np.log(3)))


def noise(case: Case, chosen: Chosen) -> np.ndarray:
    """The relative standard deviation of a normaliser, divided by the standard deviation of an output, [b h t e].

    By m independent features, estimates of the kernels K_i of one query and its keys have covariances, namely
    K_i K_j C_ij / m. C_ij is exp((q + k_i).(q + k_j)) - 1 by positive ones. It is cosh((q - k_i).(q - k_j)) - 1
    by pairs of sines and cosines. With weights w and values v the normaliser has the relative variance w C w.
    The output has w (v - o) C w (v - o), to first order. The larger quotient of the two families counts. It is the
    same for any m.
    """
    made = case.operands()
    q, k, v = (np.asarray(made[x], np.float64) for x in "qkv")
    root = scales.factor(chosen["scale"], case["width"]) ** 0.5
    answer = attended(case, chosen)
    found = np.zeros(answer.output.shape)
    for at in np.ndindex(answer.output.shape[:2]):
        w, away = answer.weights[at], v[at] - answer.output[at][:, None]
        for sign, covariance in ((1, np.expm1), (-1, lambda x: np.cosh(x) - 1)):
            points = root * (q[at][:, None] + sign * k[at])
            each = w[:, :, None] * w[:, None] * covariance(points @ points.swapaxes(1, 2))
            by_normaliser, by_output = each.sum((1, 2))[:, None], (away * (each @ away)).sum(1)
            found[at] = np.maximum(found[at], (by_normaliser / np.maximum(by_output, 1e-30)) ** 0.5)
    return found


def tails(errors: np.ndarray) -> float:
    """The fourth moment of errors [draws b h t e] over the square of the second, in the mean over all outputs."""
    squares = (errors - errors.mean(0)) ** 2
    second = squares.mean(0)
    # A query that sees one key gives its value in every draw: what scatters there is rounding.
    some = second > 1e-6 * second.max()
    return float(((squares**2).mean(0)[some] / second[some] ** 2).mean()) if some.any() else 0.0


def alarms(heaviest: float) -> dict[str, Any]:
    """How often a right program fails, as far as that is known."""
    return {"alarms": ("alarms unknown" if heaviest > TAILS else "alarms", {"alpha": ALPHA})}


def by_seeds(judge: Judge, spec: dict[str, Any]) -> tuple[Case, np.ndarray]:
    """A call, and its errors by many seeds, [draws b h t e]."""
    case = judge.cases([{"seed": 5, "edits": short(judge.convention.chosen), **spec}])[0]
    return case, drawn(judge, case, SEEDS) - judge.expected(case).output


def approximates(judge: Judge) -> Finding:
    """The mean of draws is softmax attention, but for the bias of a quotient."""
    chosen, unsure = judge.convention.chosen, dict[str, Any]()
    flags = (False, True) if chosen["causal"] == "asked" else (None,)
    about: dict[str, Any] = {"width": 0.0, "pass": 0.0, "count": len(SEEDS), "heaviest": 0.0}
    alpha, calm = ALPHA / 2 / len(TOKENS) / len(flags), True
    for tokens, causal in itertools.product(TOKENS, flags):
        spec = {"length": tokens, "causal": causal, "edits": short(chosen, GROWING)}
        case, errors = by_seeds(judge, spec)
        scatter, heavy = errors.std(0), tails(errors)
        largest = float(np.abs(judge.operands(case)["v"]).max())
        about |= {"heaviest": max(about["heaviest"], heavy), "scatter": scatter.max(), "largest": largest}
        if tokens == TOKENS[0]:
            calm = calm and scatter.max() < largest / 10
        elif calm and scatter.max() > largest:
            # More keys make the noise of a normaliser smaller, so that it comes no nearer to zero.
            return Finding(verdict=Verdict.FAILS, case=case, fact="scatters", about=about)
        slack = 2 * scatter * np.minimum(scatter * noise(case, chosen), 0.5) + 1e-5
        way = judge.expected(case).output - attended(case, chosen, blind=True).output
        moved = (errors * way).sum((1, 2, 3, 4)) / (way**2).sum()
        room = float((slack * np.abs(way)).sum() / (way**2).sum())
        interval = BOUND.interval(moved, alpha)
        chance = interval.width / 2 + room
        # A mean that is off by this much is measured up to half a width nearer to the right one.
        about["pass"] = max(about["pass"], interval.width / 2 + chance)
        measured = {"way": round(1 + moved.mean(), 2) + 0.0, "chance": chance}
        wrong = {} if agrees(interval, 0.0, room) else measured
        width, entry = one_by_one(errors, slack, alpha)
        about["width"] = max(about["width"], width)
        if (wrong or entry) and heavy <= TAILS:
            return failed(judge, case, wrong, entry, errors)
        unsure = unsure or wrong or (measured if entry else {})
    tried = len(SEEDS) * len(TOKENS)
    if unsure:
        return Finding(verdict=Verdict.NOT_JUDGED, tried=tried, fact="infinite variance", about=about | unsure)
    if about["pass"] > 1:
        return Finding(verdict=Verdict.NOT_JUDGED, tried=tried, fact="scatters too much", about=about)
    about |= alarms(about["heaviest"])
    return Finding(verdict=Verdict.HOLDS, tried=tried, fact="approximates", about=about)


def failed(
    judge: Judge, case: Case, wrong: dict[str, Any], entry: tuple[int, ...] | None, errors: np.ndarray
) -> Finding:
    """A mean that is wrong, by all outputs together or by one."""
    exact, mean = judge.expected(case).output, errors.mean(0)
    at = entry or tuple(int(i) for i in np.unravel_index(int(np.abs(mean).argmax()), mean.shape))
    number = Number(float(exact[at] + mean[at]), float(exact[at]), at)
    own = "".join(f"[{dict(zip('bhtd', at, strict=True))[x]}]" for x in judge.convention.layout)
    about = wrong | {"given": number.given, "right": number.right, "count": len(errors)}
    about |= {"draws": len(errors), "statistic": f"draws.mean(0){own}"}
    fact = "elsewhere" if wrong else "mean of outputs"
    return Finding(verdict=Verdict.FAILS, case=case, number=number, fact=fact, about=about, failures=1)


def one_by_one(errors: np.ndarray, slack: np.ndarray, alpha: float) -> tuple[float, tuple[int, ...] | None]:
    """How large an error of one output would be seen; and the output whose mean is not 0, if there is one."""
    mean, width = errors.mean(0), 0.0
    # The widest interval is that of the largest noise. Only where the mean is beyond the slack may one fail.
    widest = np.unravel_index(int(np.argmax(errors.std(0))), mean.shape)
    for place in (widest, *zip(*np.nonzero(np.abs(mean) > slack), strict=True)):
        row = errors[(slice(None), *place)]
        interval, most = BOUND.interval(row, alpha / mean.size), float(slack[place])
        if not np.isfinite(interval.width):
            interval, most = type(interval).point(float(row[0])), 1e-5
        width = max(width, interval.width + most)
        if not agrees(interval, 0.0, most):
            return width, tuple(int(i) for i in place)
    return width, None


def shrinks(judge: Judge) -> Finding:
    """The mean square error falls with the number of features, as 1 / m."""
    if "count" not in judge.convention.names:
        return NOT_TRIED
    each = [by_seeds(judge, {"count": count})[1] for count in COUNTS]
    squares, heaviest = [(errors**2).mean((1, 2, 3, 4)) for errors in each], max(map(tails, each))
    bound = student("means of squares over all entries")
    first, *_, last = (bound.interval(row, ALPHA / 2) for row in squares)
    sizes = tuple(f"{row.mean() ** 0.5:.2g}" for row in squares)
    about = {"counts": COUNTS, "errors": sizes, **alarms(heaviest)}
    tried = len(SEEDS) * len(COUNTS)
    # From 16 to 256 features it falls by 16, or to the rounding.
    if last.low > max(first.high / 4, 1e-9) and heaviest <= TAILS:
        return Finding(verdict=Verdict.FAILS, tried=tried, fact="does not shrink", about=about)
    if last.high > max(first.low, 1e-9):
        return Finding(verdict=Verdict.NOT_JUDGED, tried=tried, fact="too few draws", about=about)
    return Finding(verdict=Verdict.HOLDS, tried=tried, fact="shrinks", about=about)


def constant(judge: Judge) -> Finding:
    """Values of one give one by every seed, for numerator and normaliser share their features."""
    edits = short(judge.convention.chosen, "v = np.ones_like(v)")
    case = judge.cases([{"seed": 5, "edits": edits}])[0]
    found = drawn(judge, case, range(20))
    worst, place = np.abs(found - 1).max(), np.unravel_index(int(np.abs(found - 1).argmax()), found.shape)
    if worst > 0.01:
        number = Number(float(found[place]), 1.0, tuple(int(i) for i in place[1:]))
        each = case.replaced(draw=int(place[0]))
        return Finding(verdict=Verdict.FAILS, case=each, number=number, tried=20, fact="values of one", failures=1)
    return Finding(verdict=Verdict.HOLDS, tried=20, fact="ones", about={"worst": worst})


def order(judge: Judge) -> Finding:
    """Keys in another order, with their values, give the last query the same by the same seed.

    That is exact, whatever the variance. Only where a normaliser is near zero do roundings count, so most outputs
    have to differ.
    """
    seeds, chosen = range(10), judge.convention.chosen
    flags = (False, True) if chosen["causal"] == "asked" else (None,)
    # Keys that grow, beyond two blocks of 64: running maxima of stabilisers change from block to block.
    asked = ((17, short(chosen)), (130, short(chosen, GROWING)))
    for (length, edits), causal in itertools.product(asked, flags):
        case = judge.cases([{"seed": 5, "length": length, "causal": causal, "edits": edits}])[0]
        other = case.replaced(edits=[*case.edits, "k, v = (x[:, :, ::-1] for x in (k, v))"])
        right, given = (drawn(judge, each, seeds) for each in (case, other))
        far = np.abs(given - right)[..., -1, :]
        if (far > 2 * NEAR).mean() > 0.5:
            seed, *at = (int(i) for i in np.unravel_index(int(far.argmax()), far.shape))
            place = (*at[:2], given.shape[-2] - 1, at[2])
            number = Number(float(given[seed, *place]), float(right[seed, *place]), place)
            each = other.replaced(draw=seed)
            return Finding(verdict=Verdict.FAILS, case=each, number=number, fact="another order", failures=1)
    return Finding(verdict=Verdict.HOLDS, tried=len(seeds), fact="any order")


EDITS = short({})

FEATURE_ATTENTION = Kind(
    operands=("q", "k", "v", "count", "causal", "source"),
    placed=("q", "k", "v"),
    gives="bhte",
    usual={"batch": 2, "heads": 3, "length": 6, "width": 4, "value_width": 3, "count": COUNTS[-1], "draw": 0}
    | {"edits": EDITS},
    stages=(
        Stage(
            forms={"layout": ("bhtd", "bthd", "btd", "td"), "source": ("int", "numpy", "torch", "jax")},
            choices={"scale": ("rsqrt", "one"), "causal": ("never", "always")},
            trials=({"seed": 5},),
        ),
    ),
    near=0.05,
    score=near,
    right=right,
    laws={
        "seeds": seeded({"seed": 5}, {"length": 17, "seed": 9}),
        "constant values": constant,
        "order of keys": order,
        "future": future(
            (5, 17, 65),
            (5, 17, 65),
            [{"k": "4 * {x}", "v": "4 * {x}"}, {"k": "{x} + 1", "v": "{x} + 1e3"}],
            causal=True,
            draw=1,
        ),
        "elements apart": apart({"seed": 5, "draw": 1}, {"q": "3 * {x}", "k": "3 * {x}", "v": "1e3 * {x}"}),
        "approximates": approximates,
        "shrinks": shrinks,
        "inputs unchanged": untouched([]),
    },
)
