r"""Linear biases: what is added to a score falls with the distance, by a slope for each head.

Tolerance. Let u be half of the eps of the type of the output, and w that of float32 or of float64. Entry j of a
row, less that of the query's own key, is minus slope times distance. The slope is a power of rounded exponents:
4 |ln slope| w and 6 w. It is multiplied, stored and subtracted: 4 u of the entry. A program may count from the
first key instead of from the query, as Bloom's does. Its entries are then as large as slope times keys. Each of
the two that are subtracted is rounded by its product and its store, so 4 w slope keys are granted. At 16,384 keys
this is .004 of a score. In half precision it would be larger than most scores, and near keys, which matter most,
would be wrong most. So there it is not granted.
"""

from typing import Any

import numpy as np

from attnlab_theory.conform.case import Case
from attnlab_theory.conform.finding import NOT_TRIED, Finding, Verdict
from attnlab_theory.conform.identities import RightAt, again, explained, steady
from attnlab_theory.conform.judge import Judge
from attnlab_theory.conform.kind import Chosen, Kind, Right, Stage, law
from attnlab_theory.conform.rounding import HALF_EPS, TINY

POWERS, OTHERS = (1, 2, 4, 8, 16, 32), (3, 5, 6, 12, 20, 71)
"""Numbers of heads that are powers of two, and others; Falcon has 71."""

NEAR = 0.05
"""Slopes this near to the published ones, in relative terms, are meant to be those; what is wrong is judged."""


def published(heads: int) -> np.ndarray:
    """The slopes 2**(-8 i / h) of the paper (Press et al. 2022, section 3, and its code), [heads].

    A number of heads that is no power of two gets those of the next lower power first, then every other one of the
    next higher power.
    """
    lower = 2 ** (heads.bit_length() - 1)
    one, more = (2.0 ** (-8 * np.arange(1, n + 1) / n) for n in (lower, 2 * lower))
    return np.concatenate((one, more[::2][: heads - lower]))


def stands(case: Case, chosen: Chosen) -> np.ndarray:
    """The key at which each query stands, [t]. Where all rows are one, it is the last."""
    t = case["queries"] if "t" in chosen["axes"] else 1
    is_end = chosen["alignment"] == "end" or "t" not in chosen["axes"]
    return np.arange(t) + (case["keys"] - t) * is_end


def distance(case: Case, chosen: Chosen) -> np.ndarray:
    """How far each key lies before each query, [t s]."""
    return stands(case, chosen)[:, None] - np.arange(case["keys"])


def slopes(bias: np.ndarray, case: Case, chosen: Chosen) -> np.ndarray:
    """What a head takes off for each token, [h]: over the longest distance, unless most distances say otherwise."""
    own = stands(case, chosen)[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        each = (bias[:, -1, own, None] - bias[:, -1, : max(own, 1)]) / (own - np.arange(max(own, 1)))
        middle = np.median(each, -1)
        return np.where(np.abs(each[:, 0] / middle - 1) < NEAR, each[:, 0], middle)


def biases(case: Case, chosen: Chosen, slope: np.ndarray) -> Right:
    """Minus slope times distance of past keys, [h t s]. What comes after a query is a choice."""
    far = distance(case, chosen)

    def within(kind: str, _: str) -> np.ndarray:
        """The largest error of the difference of two entries of a row: as derived above."""
        u, w = HALF_EPS[kind], HALF_EPS["float64" if kind == "float64" else "float32"]
        size = np.abs(slope)[:, None, None]
        roundings = (4 * np.abs(np.log(np.maximum(size, 1e-300))) + 6) * w + 4 * u
        return size * np.abs(far) * roundings + 4 * size * case["keys"] * w + 4 * TINY[kind]

    return Right(np.where(far >= 0, -slope[:, None, None] * far, np.nan), within)


def future(bias: np.ndarray, case: Case, chosen: Chosen) -> dict[str, Any]:
    """What becomes of keys that come after the query. A row that all queries share goes on as it began."""
    if "t" not in chosen["axes"]:
        return {"future": "ramp"}
    far, slope = distance(case, chosen), slopes(bias, case, chosen)[:, None, None]
    after = np.broadcast_to(far < 0, bias.shape)
    step = np.abs(slope) * 0.02 + 1e-6
    with np.errstate(invalid="ignore"):
        from_own = bias - bias[:, np.arange(len(far)), stands(case, chosen)][..., None]
        fits = {
            "-inf": np.isneginf(bias),
            "finite": from_own < -5e3,
            "ramp": np.abs(from_own + slope * far) < step,
            "symmetric": np.abs(from_own - slope * far) < step,
            "zero": (np.abs(from_own) < 1e-6) | (bias == 0),
        }
    return {"future": next((name for name, fit in fits.items() if fit[after].all()), "")} if after.any() else {}


def own_slopes(judge: Judge, case: Case) -> np.ndarray:
    """The published slopes; those of the target where they are others."""
    right, wide = published(case["heads"]), judge.cases([(case["heads"], 33, 33)])[0]
    answer = judge.remembered(wide)
    found = right if answer.trouble else slopes(answer.numbers, wide, judge.convention.chosen)
    return found if np.isfinite(found).all() and np.abs(found / right - 1).max() >= NEAR else right


@law
def steep(judge: Judge, numbers: tuple[int, ...]) -> Finding:
    """The law of some numbers of heads: the published slopes, or others that fall, each of them for one head."""
    cases, choice = judge.cases((n, 33, 33) for n in numbers), None
    if cases[0]["heads"] not in numbers:
        return NOT_TRIED
    for case in cases:
        right, slope = published(case["heads"]), own_slopes(judge, case)
        about = {"heads": case["heads"], "slopes": tuple(slope.tolist())}
        if (rises := (slope <= 0).any()) or len(np.unique(np.round(slope, 9))) < len(slope):
            fact = "slopes rise" if rises else "slopes are equal"
            return judge.failed(judge.judge(case, right), fact=fact, about=about)
        if not (slope == right).all():
            is_order = np.allclose(np.sort(slope), np.sort(right), rtol=1e-3)
            fact = "slopes in another order" if is_order else "slopes of its own"
            choice = choice or Finding(verdict=Verdict.CONVENTION, tried=len(cases), fact=fact, about=about)
    found = judge.values(cases, may_refuse=lambda outcome: outcome.case != cases[0])
    return choice if choice and found.verdict is Verdict.HOLDS else found


ALIBI = Kind(
    operands=("heads", "queries", "keys", "length"),
    unnamed=("heads", "length"),
    promised=lambda case, chosen: case["queries"] <= case["keys"],
    stages=(
        Stage(
            choices={"axes": ("hts", "1hts", "h1s", "1h1s", "hs", "1hs"), "alignment": ("end", "start")},
            trials=((4, 5, 7), (4, 6, 6)),
            identity="falling",
        ),
    ),
    numbers=slopes,
    right=biases,
    origin=stands,
    known=future,
    own=own_slopes,
    laws={
        "falling": explained,
        "slopes": steep(POWERS),
        "other heads": steep(OTHERS),
        "lengths": RightAt((4, n, n) for n in (2, 3, 15, 16, 17, 63, 64, 65, 129)),
        "one token": RightAt([(4, 1, 1)]),
        "more keys": RightAt([(4, 1, 6), (4, 2, 9), (4, 7, 9), (4, 16, 33), (4, 1, 130)]),
        "pairs": RightAt(
            (heads, *lengths) for heads in (3, 8, 12) for lengths in ((1, 1), (2, 9), (17, 17), (65, 65), (1, 130))
        ),
        "future": steady("future", [(4, 9, 9), (4, 33, 33), (4, 4, 6), (4, 5, 9)]),
        "long texts": RightAt([(12, 1, 2048), (12, 1, 16384), (3, 300, 300), (1, 1100, 1100)]),
        "same result": again((4, 6, 6), [(4, 40, 40), (8, 6, 6)]),
    },
)
