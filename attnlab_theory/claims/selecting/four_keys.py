"""The four keys of a homework, and what the answers submitted for them do (docs/mathematics/selecting.md)."""

import enum
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from attnlab_theory.attention import attention_scores
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, Verdict, exact_claim
from attnlab_theory.claims.hypotheses import at_most, more_than
from attnlab_theory.claims.selecting.four_answers import (
    EPS,
    KEYS,
    Answer,
    direction,
    predicted_direction,
    rounding,
    weights,
)
from attnlab_theory.claims.setting import Setting
from attnlab_theory.stats import Interval, exact
from attnlab_theory.theory.selecting import copying
from attnlab_theory.theory.selecting import four_keys as theory


class AnsweredWeight(Setting):
    """An answer for the query, its strength S, and the key whose weight is asked for."""

    answer: Answer
    strength: float
    key: int


class AnsweredStrength(Setting):
    """An answer for the query, and its strength S."""

    answer: Answer
    strength: float


class ShortenedQuery(Setting):
    """A key that is cut to `length` times its length and asked for by itself, and the strength S of the query."""

    strength: float
    key: int
    length: float


class Norm(enum.StrEnum):
    """The norm in which a query has length 1."""

    EUCLIDEAN = "Euclidean"
    MAXIMUM = "maximum"


class MaximalNorm(Setting):
    """The query of length 1 in this norm with the largest margin."""

    norm: Norm


def _weight(key: PRNGKeyArray, setting: AnsweredWeight) -> Scalar:
    del key
    return float(weights(direction(setting.answer), setting.strength)[setting.key])


STRENGTHS = (0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e5)
STRONG = more_than(strength=0)
ONE_QUERY = STRONG | {"an answer of one query": lambda s: s.answer != Answer.ITSELF}
AMONG_FOUR = {"0 <= key < 4": lambda s: 0 <= s.key < len(KEYS)}
DRAWN = (Answer.MEAN_OF_ALL, Answer.MEAN_OF_TWO, Answer.MARGIN, Answer.FOUR_DIGITS)


@functools.cache
def _grown(answer: Answer) -> dict[float, np.ndarray]:
    return dict(zip(STRENGTHS, theory.grown_weights(KEYS, predicted_direction(answer), STRENGTHS), strict=True))


WEIGHTS = exact_claim(
    name="weights-of-the-four-keys",
    statement=r"As the strength $S$ grows from 0, each weight of the four keys grows at the rate by which its "
    r"score is above the mean score: $d\alpha_i/dS = \alpha_i\,(z_i - \sum_j \alpha_j z_j)$.",
    source="mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework; uw/1.3.1; uw/1.3.2",
    hypotheses=ONE_QUERY
    | AMONG_FOUR
    | {
        "an answer but zero": lambda s: s.answer != Answer.ZERO,
        "a strength of the figure": lambda s: s.strength in STRENGTHS,
    },
    predict=lambda s: Interval.around(float(_grown(s.answer)[s.strength][s.key]), theory.GROWN),
    draw=_weight,
    rounding=lambda s: rounding(s.strength),
    settings=tuple(
        AnsweredWeight(answer=a, strength=strength, key=key)
        for a in DRAWN
        for strength in STRENGTHS
        for key in range(4)
    ),
    rival=Rival(
        statement="Each of the four keys keeps a quarter.",
        source="uw/1.3.1, as submitted, of any query",
        predict=Interval.point(0.25),
    ),
)


def _share_of_second(key: PRNGKeyArray, setting: AnsweredStrength) -> Scalar:
    del key
    first, second = weights(direction(setting.answer), setting.strength)[:2]
    return float(second / (first + second))


LONGER_WINS = exact_claim(
    name="the-longer-of-two-keys-wins",
    statement=r"Under $q = S (k_1 + k_2)/2$ the two keys split their weight by their lengths alone: $k_2$ gets the "
    r"share $1/(1 + e^{-S (\|k_2\|^2 - \|k_1\|^2)/2})$ of it.",
    source="mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework; uw/1.3.2",
    hypotheses=STRONG | {"the mean of the two": lambda s: s.answer == Answer.MEAN_OF_TWO},
    predict=lambda s: Interval.point(theory.share_of_the_longer(KEYS, s.strength)),
    draw=_share_of_second,
    rounding=lambda s: rounding(s.strength),
    settings=tuple(AnsweredStrength(answer=Answer.MEAN_OF_TWO, strength=strength) for strength in STRENGTHS),
    rival=Rival(
        statement="They get the same, for both have length one.",
        source="uw/1.3.2, as submitted: the keys as they were meant, not as they are printed",
        predict=Interval.point(0.5),
    ),
)


def _off(wanted: tuple[int, ...]):
    even = np.zeros(4)
    even[list(wanted)] = 1 / len(wanted)

    def furthest(key: PRNGKeyArray, setting: AnsweredStrength) -> Scalar:
        del key
        return float(np.max(np.abs(weights(direction(setting.answer), setting.strength) - even)))

    return furthest


def _answer_rounding(setting: AnsweredStrength) -> float:
    return rounding(setting.strength)


ALL, PAIR = (0, 1, 2, 3), (0, 1)

MEAN_OF_ALL = exact_claim(
    name="mean-of-the-keys-averages-all-four",
    statement="The mean of the four keys as the query gives each of them a weight within 0.01 of 1/4.",
    source="mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework; uw/1.3.1; uw/1.3.2, as submitted",
    hypotheses=ONE_QUERY,
    predict=Interval.at_most(0.01),
    draw=_off(ALL),
    rounding=_answer_rounding,
    settings=tuple(AnsweredStrength(answer=Answer.MEAN_OF_ALL, strength=strength) for strength in (1.0, 10.0)),
    expect=Verdict.REFUTED,
)

SCALED_DOWN = exact_claim(
    name="scaled-down-mean-averages-all-four",
    statement=r"Any query scaled down averages all keys: weights are within $(e^r - 1)/4$ of 1/4 when scores span "
    r"$r$.",
    source="mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework; uw/1.3.1; uw/1.3.2",
    hypotheses=ONE_QUERY | at_most(strength=100),
    predict=lambda s: Interval.at_most(theory.even_bound(KEYS, s.strength * direction(s.answer))),
    draw=_off(ALL),
    rounding=_answer_rounding,
    settings=tuple(
        AnsweredStrength(answer=Answer.MEAN_OF_ALL, strength=strength) for strength in (1e-1, 1e-2, 1e-3)
    ),
    rival=Rival(
        statement=r"They are within $(e^{r/2} - 1)/4$.",
        source="no score further than $r/2$ from the mean score: true of the middle of the scores only",
        predict=lambda s: Interval.at_most(theory.even_bound(KEYS, s.strength * direction(s.answer) / 2)),
    ),
)

ZERO = exact_claim(
    name="zero-query-averages-all-four",
    statement="The query 0 averages all four keys exactly.",
    source="mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework; uw/1.3.1; uw/1.3.2",
    hypotheses=STRONG | {"the query is zero": lambda s: s.answer == Answer.ZERO},
    predict=Interval.point(0.0),
    draw=_off(ALL),
    rounding=_answer_rounding,
    settings=tuple(AnsweredStrength(answer=Answer.ZERO, strength=strength) for strength in (1.0, 1e5)),
    rival=Rival(
        statement="It comes no nearer than the mean of the keys does at a thousandth of its length.",
        source="uw/1.3.1, as submitted: a query scaled down is all there is",
        predict=Interval.at_least(theory.furthest_from_even(KEYS, 1e-3 * direction(Answer.MEAN_OF_ALL), ALL)),
    ),
)

MEAN_OF_TWO = exact_claim(
    name="mean-of-two-keys-averages-those-two",
    statement=r"$q = S (k_1 + k_2)/2$ gives $k_1$ and $k_2$ weights within 0.001 of 1/2.",
    source="mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework; uw/1.3.1; uw/1.3.2, as submitted",
    hypotheses=ONE_QUERY,
    predict=Interval.at_most(1e-3),
    draw=_off(PAIR),
    rounding=_answer_rounding,
    settings=tuple(
        AnsweredStrength(answer=Answer.MEAN_OF_TWO, strength=strength)
        for strength in (1.0, 3.0, 10.0, 30.0, 1e3, 1e5)
    ),
    expect=Verdict.REFUTED,
)

EQUAL_SCORES = exact_claim(
    name="equal-scores-average-the-first-two",
    statement=r"A query with $k_1 \cdot x = k_2 \cdot x$ above the rest averages the two; no weight is off by more "
    r"than $e^{-S m}/(2 + e^{-S m})$ for a margin $m$.",
    source="mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework; uw/1.3.1; uw/1.3.2",
    hypotheses=STRONG | {"both keys score alike": lambda s: s.answer in (Answer.MARGIN, Answer.MAXIMUM_NORM)},
    # Rounding comes on top where the bound vanishes.
    predict=lambda s: Interval.at_most(_equal_bound(s) + 2 * rounding(s.strength)),
    draw=_off(PAIR),
    rounding=_answer_rounding,
    settings=tuple(
        AnsweredStrength(answer=answer, strength=strength)
        for answer in (Answer.MARGIN, Answer.MAXIMUM_NORM)
        for strength in (3.0, 10.0, 1e3, 1e5)
    ),
    rival=Rival(
        statement="It errs as it does when written with four digits.",
        source="uw/1.3.2, the right answer as it is written down",
        predict=lambda s: Interval.point(
            theory.furthest_from_even(KEYS, s.strength * np.round(predicted_direction(s.answer), 4), PAIR)
        ),
    ),
)

FOUR_DIGITS = exact_claim(
    name="four-digits-of-x-are-enough",
    statement=r"With $x$ rounded to four digits, $q = S x$ averages the first two within 0.01 from $S = 10^4$ on.",
    source="mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework; uw/1.3.1; uw/1.3.2, the right "
    "answer as it is written down",
    hypotheses=ONE_QUERY,
    predict=Interval.at_most(0.01),
    draw=_off(PAIR),
    rounding=_answer_rounding,
    settings=tuple(AnsweredStrength(answer=Answer.FOUR_DIGITS, strength=strength) for strength in (1e4, 1e5, 1e6)),
    expect=Verdict.REFUTED,
)


def _equal_bound(setting: AnsweredStrength) -> float:
    return theory.pair_bound(setting.strength * theory.margin(KEYS, predicted_direction(setting.answer), PAIR))


def _shortened(setting: ShortenedQuery) -> np.ndarray:
    keys = KEYS.copy()
    keys[setting.key] *= setting.length
    return keys


def _leak(keys: np.ndarray, setting: AnsweredWeight | ShortenedQuery) -> Scalar:
    """The weight off a key under its own query."""
    return float(np.sum(np.delete(weights(keys[setting.key], setting.strength, keys), setting.key)))


def _lead(setting: AnsweredWeight) -> float:
    """By how much a key scores higher with itself than any other does, at strength 1."""
    return theory.margin(KEYS, KEYS[setting.key], (setting.key,))


SCALED_KEYS = exact_claim(
    name="scaled-keys-copy-every-value",
    statement=r"$Q = S K$ copies every value: the diagonal of $K K^T$ leads row $i$ by $\Delta_i > 0$, so the row "
    r"leaks at most $3 e^{-S \Delta_i}/(1 + 3 e^{-S \Delta_i})$.",
    source="mathematics/selecting.md#copying-with-the-four-keys-of-a-homework; uw/1.2.1; uw/1.2.2",
    hypotheses=STRONG | AMONG_FOUR | {"the diagonal dominates the row": lambda s: _lead(s) > 0},
    predict=lambda s: Interval.at_most(copying.leak_bound(len(KEYS), s.strength * _lead(s))),
    draw=lambda key, s: _leak(KEYS, s),
    rounding=lambda s: rounding(s.strength),
    settings=tuple(
        AnsweredWeight(answer=Answer.ITSELF, strength=strength, key=key)
        # Where the bound is far above the rounding of a weight.
        for strength in (1.0, 3.0, 10.0, 20.0)
        for key in range(4)
    ),
    rival=Rival(
        statement=r"Row $i$ leaks at most $e^{-S \Delta_i}/(1 + e^{-S \Delta_i})$.",
        source="the runner-up alone, as if there were two keys",
        predict=lambda s: Interval.at_most(copying.leak_bound(2, s.strength * _lead(s))),
    ),
)

SHORT_KEY = exact_claim(
    name="a-short-key-is-copied-by-itself",
    statement=r"$Q = S K$ copies every value whatever the lengths of the keys: a key a twentieth as long as given "
    r"still loses less than half of the weight.",
    source="mathematics/selecting.md#copying-with-the-four-keys-of-a-homework; uw/1.2.1; uw/1.2.2, without the "
    "condition that the diagonal dominates",
    hypotheses=STRONG | AMONG_FOUR | {"the key is shortened": lambda s: 0 < s.length < 1},
    predict=Interval.at_most(0.5),
    draw=lambda key, s: _leak(_shortened(s), s),
    rounding=lambda s: rounding(s.strength),
    settings=tuple(
        ShortenedQuery(strength=strength, key=key, length=0.05) for strength in (10.0, 1e5) for key in range(4)
    ),
    expect=Verdict.REFUTED,
)


def _margin(key: PRNGKeyArray, setting: MaximalNorm) -> Scalar:
    del key
    query = direction({Norm.EUCLIDEAN: Answer.MARGIN, Norm.MAXIMUM: Answer.MAXIMUM_NORM}[setting.norm])
    with jax.enable_x64(True):
        scores = np.asarray(attention_scores(jnp.asarray(query[None, :]), jnp.asarray(KEYS), scale=1.0)[0])
    return float(np.min(scores[:2]) - np.max(scores[2:]))


def _order(norm: Norm) -> float:
    return {Norm.EUCLIDEAN: 2.0, Norm.MAXIMUM: math.inf}[norm]


def _largest_margin(setting: MaximalNorm) -> float:
    return theory.margin(KEYS, theory.pair_query(KEYS, _order(setting.norm)), PAIR)


def _margin_of_the_mean(setting: MaximalNorm) -> float:
    mean = direction(Answer.MEAN_OF_TWO)
    return theory.margin(KEYS, mean / np.linalg.norm(mean, ord=_order(setting.norm)), PAIR)


MARGINS = Claim(
    name="the-right-queries-lead-by-most",
    statement=r"(.6042, .7967, −.0141) among $\|x\|_2 \leq 1$ and (1, 1, 1/59.5) among $\|x\|_\infty \leq 1$ score "
    r"$k_1$ and $k_2$ alike with the largest margin there is.",
    source="mathematics/selecting.md#averaging-with-the-four-keys-of-a-homework; uw/1.3.1; uw/1.3.2",
    predict=lambda s: Interval.point(_largest_margin(s)),
    draw=_margin,
    bound=exact(64 * EPS),
    resolution=256 * EPS,
    settings=(MaximalNorm(norm=Norm.EUCLIDEAN), MaximalNorm(norm=Norm.MAXIMUM)),
    rival=Rival(
        statement="They lead by as much as the mean of the two keys does at the same length.",
        source="uw/1.3.2, as submitted",
        predict=lambda s: Interval.point(_margin_of_the_mean(s)),
    ),
)

CLAIMS = (
    WEIGHTS,
    LONGER_WINS,
    MEAN_OF_ALL,
    SCALED_DOWN,
    ZERO,
    MEAN_OF_TWO,
    EQUAL_SCORES,
    FOUR_DIGITS,
    SCALED_KEYS,
    SHORT_KEY,
    MARGINS,
)
