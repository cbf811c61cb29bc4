r"""Random features: products of the features of two rows are a kernel on average.

Axes: n rows, d width, f features. A row x of queries and one of keys give an estimate phi(q) . phi(k). Its
variance by F independent features is known:

positive, exp(w.x - |x|^2 / 2): K^2 (exp(|q + k|^2) - 1) / F, with K = exp(q.k). Source: Choromanski et al. 2021,
lemma 2. Orthogonal w lower it, and so do pairs exp(w.x), exp(-w.x).

pairs of cos and sin, for F / 2 frequencies: E (1 - exp(-|q - k|^2))^2 / F times exp(|q|^2 + |k|^2), or 1 for the
Gaussian kernel. Source: the same lemma; Sutherland and Schneider 2015.

cos(w.x + b), phases b: (1 + exp(-2 |q - k|^2) / 2 - exp(-|q - k|^2)) / F. Source: the latter.

The law of a projection w is that of -w. So phi(x) . phi(x) and phi(-x) . phi(-x) have one mean, by any map. A
projection whose coordinate i has a fixed sign in row i breaks that, as the Q of a QR decomposition does, and most
along the axes. Let t = 2 |x| for a row that has been scaled. For exp(w.x - |x|^2 / 2) the difference over K has
the variance (2 (exp(t^2) - 1) + 2 (1 - exp(-t^2))) / F for each axis. Axes are independent, and their mean has a
part.

exp(w.x) exp(-w.x) is one, whatever w. So phi(x) . phi(-x) is the kernel itself in every draw, and may be small: a
floor below each feature shows.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnlab_theory.conform import scales
from attnlab_theory.conform.case import Case
from attnlab_theory.conform.chance import ALPHA, agrees, drawn, seeded, share_of_largest
from attnlab_theory.conform.finding import NOT_TRIED, Fault, Finding, Number, Trouble, Verdict
from attnlab_theory.conform.identities import untouched
from attnlab_theory.conform.judge import Judge, Unanswered
from attnlab_theory.conform.kind import Chosen, Kind, Stage
from attnlab_theory.conform.kinds.feature_attention import FEATURE_ATTENTION
from attnlab_theory.stats import known_variance, normal

KERNELS: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "softmax": lambda q, k: np.exp((q * k).sum(-1)),
    "gaussian": lambda q, k: np.exp(-((q - k) ** 2).sum(-1) / 2),
}
"""exp(q.k), and exp(-|q - k|^2 / 2), of rows that have been scaled."""

PLACED = np.array(
    [
        [[0.7, 0.2, -0.1, 0.3], [0.6, -0.2, 0.1, 0.3]],
        [[0.5, -0.6, 0.2, 0.1], [-0.4, 0.5, 0.1, 0.2]],
        [[0.9, 0.0, 0.3, -0.2], [-0.7, 0.1, -0.2, 0.4]],
        [[0.1, 0.1, 0.0, 0.2], [0.3, 0.9, -0.1, 0.0]],
    ]
)
"""Pairs of a query and a key whose products have either sign, [pairs 2 d]. Kernels and scales tell them apart."""

ROWS, WIDTH = 4, 4
COUNT = 64
"""Features that are asked for where their number is an argument."""

TRIALS, DRAWS, FIRST, AXES, FEW = range(100), 1000, 10_000, range(20_000, 22_000), range(20_000, 20_040)
"""Draws by which the kernel is read, those of each law, the first of them, and those of a row and its negative."""

SLACK = 1e-4
"""Rounding of a sum of at most a few hundred features in float32, relative to the kernel."""

LARGEST_SHARE = 1.1
"""How large a share of the variance of independent features may be seen; more is a failure."""

T, LONG = 1.0, 3.0
"""2 |x| of a row on an axis, and |x| of one whose negative is far: the kernel of the two is 1.2e-4, or 1.5e-8."""

ROUNDING, FLOOR = 1e-3, 1e-3
"""Relative, of an exponent below 30 and a sum in float32; and what a floor may add to an estimate by choice."""


def rows(x: np.ndarray) -> tuple[str, ...]:
    """The line that hands over some rows [n d]."""
    return (f"x = np.array({np.round(x, 9).tolist()}, 'float32')[None, None]",)


BOTH = np.concatenate([PLACED[:, 0], PLACED[:, 1]])
"""The rows of all queries, then of all keys."""


def scaled(x: np.ndarray, chosen: Chosen) -> np.ndarray:
    """Rows whose products have the scale."""
    return x * scales.factor(chosen["scale"], x.shape[-1]) ** 0.5


def unscaled(x: np.ndarray, chosen: Chosen) -> np.ndarray:
    """Rows that become x when the target scales them."""
    return x / scaled(np.ones(WIDTH), chosen)[0]


def variance(kernel: str, family: str, q: np.ndarray, k: np.ndarray, count: int) -> np.ndarray:
    """The variance of an estimate by independent positive, pairs or phases, of each pair of scaled rows."""
    apart = ((q - k) ** 2).sum(-1)
    size = np.exp((q**2).sum(-1) + (k**2).sum(-1)) if kernel == "softmax" else 1.0
    if family == "positive":
        # Times exp(-|x|^2 / 2) once more they estimate the Gaussian kernel.
        return KERNELS[kernel](q, k) ** 2 * np.expm1(((q + k) ** 2).sum(-1)) / count
    pairs, phases = (1 - np.exp(-apart)) ** 2, 1 + np.exp(-2 * apart) / 2 - np.exp(-apart)
    return size * {"pairs": pairs, "phases": phases}[family] / count


def cases(judge: Judge, x: np.ndarray, count: int = COUNT) -> tuple[Case, Case]:
    """The calls by rows [n d]: as queries, and as keys, where the target is told which they are."""
    spec = {"queries": len(x), "count": count, "edits": rows(x)}
    told = {"as query": False} if "as query" in judge.convention.names else {}
    return judge.cases([spec])[0], judge.cases([{**spec, **told}])[0]


def products(judge: Judge, x: np.ndarray, seeds: range, count: int = COUNT) -> tuple[np.ndarray, np.ndarray]:
    """Features of rows as queries times features of the rows half of them later as keys, [draws pairs f].

    Returns:
        those; and the queries' features by the last draw, [pairs f].
    """
    one, other = cases(judge, x, count)
    q, k = (drawn(judge, case, seeds)[:, 0, 0] for case in (one, other))
    if q.shape != k.shape:
        raise Unanswered(Trouble(fault=Fault.UNEQUAL), other)
    n = len(x) // 2
    return q[:, :n] * k[:, n:], q[-1, :n]


def estimates(judge: Judge, count: int = COUNT) -> tuple[np.ndarray, np.ndarray]:
    """What the laws draw of each pair of `PLACED`."""
    return products(judge, BOTH, range(FIRST, FIRST + DRAWS), count)


def read(judge: Judge) -> dict[str, Any]:
    """The kernel and the scale that the mean of a few estimates is nearest to."""
    try:
        mean = products(judge, BOTH, TRIALS)[0].sum(-1).mean(0)
    except Unanswered:
        mean = np.full(ROWS, np.nan)
    known, best = judge.declared, (np.inf, {})
    for kernel in (known["kernel"],) if "kernel" in known else KERNELS:
        for scale in (known["scale"],) if "scale" in known else ("one", "rsqrt"):
            chosen = {"kernel": kernel, "scale": scale}
            off = np.abs(mean - KERNELS[kernel](*(scaled(PLACED[:, i], chosen) for i in range(2)))).max()
            best = min(best, (float(np.nan_to_num(off, nan=1e30)), chosen), key=lambda each: each[0])
    return best[1]


def variances(judge: Judge, found: np.ndarray, features: np.ndarray) -> np.ndarray:
    """What independent features would have as variance: [pairs] by a formula, or [draws pairs] as measured.

    Positive features that differ for a row of zeros are no exp(w.x): generalized exponential ones are not. They are
    taken one by one. The variance of a sum of independent numbers is the sum of their variances, and each draw has
    its part of that.
    """
    chosen = judge.convention.chosen
    q, k = (scaled(PLACED[:, i], chosen) for i in range(2))
    family = "positive"
    if (features < 0).any():
        size = np.exp((q**2).sum(-1)) if chosen["kernel"] == "softmax" else np.ones(len(q))
        family = "pairs" if np.allclose((features**2).sum(-1), size, rtol=1e-3) else "phases"
    elif not same_at_zero(judge):
        return ((found - found.mean(0)) ** 2).sum(-1)
    return variance(chosen["kernel"], family, q, k, features.shape[-1])


def same_at_zero(judge: Judge) -> bool:
    """Whether all features of a row of zeros are alike, as exp(w.x) is 1 there whatever w."""
    answer = judge.remembered(cases(judge, np.zeros((1, WIDTH)))[0])
    return not answer.trouble and bool(np.ptp(answer.numbers) <= 1e-3 * np.abs(answer.numbers).max())


def kernel(judge: Judge) -> Finding:
    """The mean of phi(q) . phi(k) is the kernel."""
    found, features = estimates(judge)
    sums, own, chosen = found.sum(-1), variances(judge, found, features), judge.convention.chosen
    right = KERNELS[chosen["kernel"]](*(scaled(PLACED[:, i], chosen) for i in range(2)))
    if own.ndim == 2 and (largest := share_of_largest(sums - sums.mean(0))):
        return Finding(verdict=Verdict.NOT_JUDGED, fact="uneven", about={"share": largest, "count": DRAWS})
    about: dict[str, Any] = {"width": 0.0, "pass": np.inf, "about": "about " * (own.ndim == 2), "alpha": ALPHA}
    one, other = cases(judge, BOTH)
    for pair, row in enumerate(sums.T):
        # The variance that is assumed is judged by a law of its own; twice of it leaves room for both.
        interval = known_variance(2 * float(np.mean(own[..., pair]))).interval(row, ALPHA / ROWS)
        width = interval.width / right[pair]
        # A scale that is off by a part of it makes of K a power of K.
        unseen = math.log1p(width + SLACK) / max(abs(math.log(right[pair])), 1e-9)
        about |= {"width": max(about["width"], width), "pass": min(about["pass"], unseen)}
        if not agrees(interval, right[pair], SLACK * right[pair]):
            at = ["draws", "draws"] if one == other else ["draws[:, 0]", "draws[:, 1]"]
            at = [f"{each}.reshape(1000, 8, -1)[:, {i}]" for each, i in zip(at, (pair, ROWS + pair), strict=True)]
            about |= {"given": row.mean(), "right": right[pair], "draws": 1000, "q": str(PLACED[pair, 0])}
            about |= {"statistic": f"({at[0]} * {at[1]}).sum(-1).mean()", "k": str(PLACED[pair, 1])}
            number, beside = Number(float(row.mean()), float(right[pair]), ()), None if one == other else other
            return Finding(
                verdict=Verdict.FAILS, case=one, beside=beside, number=number, fact="no kernel", about=about
            )
    return Finding(verdict=Verdict.HOLDS, tried=DRAWS, fact="kernel", about=about)


def spread(judge: Judge) -> Finding:
    """The variance is at most that of as many independent features; also where their number is an argument."""
    shares = []
    counts = (COUNT, COUNT // 4) if {"count", "projection"} & {*judge.convention.names} else (COUNT,)
    bound = normal("the mean of a thousand squares; their law is skewed to the right, which makes it too low")
    for count in counts:
        found, features = estimates(judge, count)
        own, errors = variances(judge, found, features), found.sum(-1) - found.sum(-1).mean(0)
        if own.ndim == 2 and (largest := share_of_largest(errors)):
            return Finding(verdict=Verdict.NOT_JUDGED, fact="uneven", about={"share": largest, "count": DRAWS})
        # Squares less what they should be on average, in units of that, which may be measured.
        more = (errors**2 - own) / np.atleast_2d(own).mean(0)
        for row in more.T:
            if bound.interval(row, ALPHA / ROWS / len(counts)).low > LARGEST_SHARE - 1:
                number = features.shape[-1]
                about = {"number": number, "like": number / (1 + row.mean()), "alpha": ALPHA}
                return Finding(verdict=Verdict.FAILS, tried=DRAWS, fact="variance too large", about=about)
        shares.append(f"{1 + more.mean():.2f}")
    about = {"shares": (*shares,), "alpha": ALPHA}
    return Finding(verdict=Verdict.HOLDS, tried=DRAWS * len(counts), fact="variance", about=about)


def is_positive(judge: Judge, x: np.ndarray) -> bool:
    """Whether no feature is negative: sines and cosines give a row and its negative one length, whatever w."""
    return bool((drawn(judge, cases(judge, x)[0], FEW[:1]) >= 0).all())


def signs(judge: Judge) -> Finding:
    """A row on an axis and its negative have features of one length, on average."""
    chosen = judge.convention.chosen
    x = unscaled(T / 2 * np.concatenate([np.eye(WIDTH), -np.eye(WIDTH)]), chosen)
    if not is_positive(judge, x):
        return NOT_TRIED
    queries, keys = (drawn(judge, case, AXES)[:, 0, 0] for case in cases(judge, x))
    right = KERNELS[chosen["kernel"]](scaled(x, chosen), scaled(x, chosen))[0]
    sizes = (queries * keys).sum(-1) / right
    gaps, count = (sizes[:, :WIDTH] - sizes[:, WIDTH:]).mean(-1), queries.shape[-1]
    about: dict[str, Any] = {"gap": gaps.mean(), "count": len(AXES), "alpha": ALPHA, "about": "about "}
    bound = normal("means of four differences, whose law is symmetric; no formula of their variance is known")
    if same_at_zero(judge):
        # As by the kernel, twice the variance leaves room for what another law judges.
        bound, about["about"] = known_variance(4 * (np.expm1(T**2) - np.expm1(-(T**2))) / count / WIDTH), ""
    elif largest := share_of_largest(gaps):
        return Finding(verdict=Verdict.NOT_JUDGED, fact="uneven", about=about | {"share": largest})
    interval = bound.interval(gaps, ALPHA)
    verdict = Verdict.HOLDS if agrees(interval, 0.0, ROUNDING) else Verdict.FAILS
    fact = "signs" if verdict is Verdict.HOLDS else "no signs"
    return Finding(verdict=verdict, tried=len(AXES), fact=fact, about=about | {"width": interval.width})


def small(judge: Judge) -> Finding:
    """The estimate of a kernel that is nearly zero is not above it in every draw."""
    chosen = judge.convention.chosen
    x = unscaled(LONG * np.array([[0.5, -0.5, 0.5, 0.5], [-0.5, 0.5, -0.5, -0.5]]), chosen)
    if not is_positive(judge, x):
        return NOT_TRIED
    found = products(judge, x, FEW)[0].sum(-1)[:, 0]
    right = float(KERNELS[chosen["kernel"]](scaled(x[0], chosen), scaled(x[1], chosen)))
    about = {"count": len(FEW), "given": found.mean(), "right": right}
    if (found <= right * (1 + ROUNDING)).any():
        return Finding(verdict=Verdict.HOLDS, tried=len(FEW), fact="small", about=about)
    verdict = Verdict.FAILS if found.mean() - right > FLOOR else Verdict.CONVENTION
    return Finding(verdict=verdict, tried=len(FEW), fact="floor", about=about)


def counted(judge: Judge) -> Finding:
    """The number of features that is asked for is the number that comes, or twice it."""
    if "count" not in judge.convention.names:
        return NOT_TRIED
    come = [estimates(judge, count)[1].shape[-1] for count in (COUNT, COUNT // 4)]
    is_right = come[0] == 4 * come[1] > 0
    verdict = Verdict.CONVENTION if is_right else Verdict.FAILS
    return Finding(verdict=verdict, fact="count", about={"asked": (COUNT, COUNT // 4), "come": (*come,)})


def independent(judge: Judge) -> Finding:
    """Seeds that follow each other give estimates that are not correlated."""
    sums = estimates(judge)[0].sum(-1)[:, 0]  # Of one pair, for all pairs share their projections.
    errors = sums - sums.mean()
    found = errors[::2] * errors[1::2] / max(float((errors**2).mean()), 1e-300)
    if found.min() == found.max():
        return Finding(verdict=Verdict.FAILS, tried=DRAWS, fact="all seeds alike")
    interval = normal("five hundred products of two estimates").interval(found, ALPHA)
    about = {"width": interval.width, "alpha": ALPHA, "given": found.mean()}
    verdict = Verdict.HOLDS if agrees(interval, 0.0) else Verdict.FAILS
    fact = "uncorrelated" if verdict is Verdict.HOLDS else "correlated"
    return Finding(verdict=verdict, tried=DRAWS, fact=fact, about=about)


def rows_apart(judge: Judge) -> Finding:
    """The features of a row do not depend on the rows beside it."""
    x = np.concatenate([PLACED[:1, 0], 3 * PLACED[1:, 1]])
    alone, beside = (cases(judge, each)[0].replaced(draw=3) for each in (x[:1], x))
    first, whole = (drawn(judge, case, range(3, 4))[0, :, :, :1] for case in (alone, beside))
    if first.shape == whole.shape:
        bound = 1e-4 * np.abs(first) + 1e-5 * np.abs(first).max(initial=0.0)
        outcome = judge.compared(beside, judge.remembered(beside), whole, first, lambda _: bound)
        if not outcome.fails:
            return Finding(verdict=Verdict.HOLDS, tried=2, fact="rows apart")
    ratio = whole / first if first.shape == whole.shape else np.zeros(2)
    is_factor = first.shape == whole.shape and np.ptp(ratio) < 1e-3
    return Finding(verdict=Verdict.FAILS, tried=2, fact="one factor" if is_factor else "rows together")


def long_rows(judge: Judge) -> Finding:
    """What becomes of long rows is told. Features that float32 cannot hold may be refused."""
    answer = judge.ask(cases(judge, 20 * PLACED[:, 0])[0].replaced(draw=3))
    if answer.trouble:
        verdict = Verdict.CONVENTION if answer.trouble.refuses else Verdict.FAILS
        return Finding(verdict=verdict, trouble=answer.trouble, fact="")
    first = "numbers" if np.isfinite(answer.numbers).all() else "NaN or infinity"
    return Finding(verdict=Verdict.CONVENTION, fact="long rows", about={"first": first})


RANDOM_FEATURES = Kind(
    operands=("x", "projection", "count", "as query", "source"),
    placed=("x",),
    gives="bhtf",
    instead=lambda names: FEATURE_ATTENTION if [name[:1] for name in names[1:3]] == ["k", "v"] else None,
    declares=("kernel", "scale"),
    usual={"batch": 1, "heads": 1, "queries": 8, "width": WIDTH, "count": COUNT, "draw": 0, "as query": True}
    | {"edits": rows(BOTH)},
    stages=(
        Stage(
            forms={"layout": ("td", "btd", "bhtd", "bthd"), "source": ("int", "numpy", "torch", "jax")},
            trials=({},),
        ),
    ),
    score=lambda ask, case, answer, chosen: 0.0,
    reads=(read,),
    laws={
        "seeds": seeded({}, {"edits": rows(3 * BOTH)}),
        "rows apart": rows_apart,
        "kernel": kernel,
        "variance": spread,
        "signs": signs,
        "small kernels": small,
        "count": counted,
        "independent": independent,
        "long rows": long_rows,
        "inputs unchanged": untouched([]),
    },
)
