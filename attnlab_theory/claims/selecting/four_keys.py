"""The four keys of UW's homework and the answers submitted for them (claims B.4).

The homework asks for a strength of 1e5. Scores of that size are rounded to 0.008 in float32, which is the
size of the differences that decide; so the operator computes in float64 here, whatever jax is set to.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from attnlab_theory.attention import attention_scores, attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.construct import query_for_subset
from attnlab_theory.stats import Interval, exact
from attnlab_theory.theory.selecting import copying
from attnlab_theory.theory.selecting import four_keys as theory

KEYS = np.array([[0.47, 0.65, 0.60], [0.64, 0.50, -0.59], [-0.03, -0.48, -0.88], [0.43, -0.83, 0.35]])
"""As the homework gives them: of length 1 but for their rounding to two digits."""

EPS = float(np.finfo(np.float64).eps)


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer for the query, its strength S, and the key whose weight is asked for."""

    answer: str
    strength: float
    key: int


@dataclasses.dataclass(frozen=True)
class Strength:
    """An answer for the query, and its strength S."""

    answer: str
    strength: float


@dataclasses.dataclass(frozen=True)
class Shortened:
    """The key whose own query is asked, cut to `length` times its length, and the strength S of the query."""

    strength: float
    key: int
    length: float


@dataclasses.dataclass(frozen=True)
class Norm:
    """The norm in which a query has length 1: 2, or 0 for the largest coordinate."""

    norm: int


def _direction(answer: str) -> np.ndarray:
    """The query at strength 1."""
    if answer == "mean of all keys":
        return np.mean(KEYS, axis=0)
    if answer == "mean of the first two":
        return np.mean(KEYS[:2], axis=0)
    if answer == "largest margin":
        return query_for_subset(KEYS, [0, 1]).query
    if answer == "largest margin, four digits":
        return np.round(query_for_subset(KEYS, [0, 1]).query, 4)
    if answer == "largest margin in the maximum norm":
        return np.array([1.0, 1.0, 1 / 59.5])
    assert answer == "zero", answer
    return np.zeros(3)


def _predicted_direction(answer: str) -> np.ndarray:
    """The same for the prediction, with the margins maximised by the theory's own methods."""
    if answer == "largest margin":
        return theory.pair_query(KEYS, 2.0)
    if answer == "largest margin, four digits":
        return np.array([0.6042, 0.7967, -0.0141])
    if answer == "largest margin in the maximum norm":
        return theory.pair_query(KEYS, math.inf)
    return _direction(answer)


def _weights(query: np.ndarray, strength: float, keys: np.ndarray = KEYS) -> np.ndarray:
    """What attention returns in float64."""
    with jax.enable_x64(True):
        return np.asarray(attention_weights(jnp.asarray(query[None, :]), jnp.asarray(keys), scale=strength)[0])


def _rounding(strength: float) -> float:
    """Absolute rounding of a weight: scores of size `strength` (1 + d roundings each), halved by the softmax.

    The query may itself be off by a few eps; linear programming stops within 1e-15 of a corner.
    """
    return 32 * EPS * (strength + 1)


def _weight(key: PRNGKeyArray, setting: Answer) -> Scalar:
    del key
    return float(_weights(_direction(setting.answer), setting.strength)[setting.key])


STRENGTHS = (0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e5)
DRAWN = ("mean of all keys", "mean of the first two", "largest margin", "largest margin, four digits")

WEIGHTS = Claim(
    name="weights-of-the-four-keys",
    statement=r"The weights of the four keys under each answer at strength $S$ are $\mathrm{softmax}(S K x)$.",
    source="claims B.4; uw 1.3.1, 1.3.2",
    hypotheses={},
    predict=lambda s: Interval.point(
        float(theory.weights(KEYS, s.strength * _predicted_direction(s.answer))[s.key])
    ),
    draw=_weight,
    bound=lambda s: exact(_rounding(s.strength)),
    resolution=lambda s: 4 * _rounding(s.strength),
    settings=tuple(Answer(a, strength, key) for a in DRAWN for strength in STRENGTHS for key in range(4)),
)


def _off(wanted: tuple[int, ...]):
    even = np.zeros(4)
    even[list(wanted)] = 1 / len(wanted)

    def furthest(key: PRNGKeyArray, setting: Strength) -> Scalar:
        del key
        return float(np.max(np.abs(_weights(_direction(setting.answer), setting.strength) - even)))

    return furthest


def _accuracy(name: str, statement: str, source: str, wanted: tuple[int, ...], predict, settings, expect) -> Claim:
    """A claim on the largest difference of a weight from an equal share of the wanted keys."""
    return Claim(
        name=name,
        statement=statement,
        source=source,
        hypotheses={},
        predict=predict,
        draw=_off(wanted),
        bound=lambda s: exact(_rounding(s.strength)),
        resolution=lambda s: 4 * _rounding(s.strength),
        settings=settings,
        expect=expect,
    )


ALL, PAIR = (0, 1, 2, 3), (0, 1)

MEAN_OF_ALL = _accuracy(
    "mean-of-the-keys-averages-all-four",
    "The mean of the four keys as the query gives each of them a weight within 0.01 of 1/4.",
    "uw 1.3.1 as submitted",
    ALL,
    lambda s: Interval.at_most(0.01),
    tuple(Strength("mean of all keys", strength) for strength in (1.0, 10.0)),
    Verdict.REFUTED,
)

SCALED_DOWN = _accuracy(
    "scaled-down-mean-averages-all-four",
    r"Any query scaled down averages all keys: weights are within $(e^r - 1)/4$ of 1/4 when scores span $r$.",
    'uw 1.3.1, the second half of the answer: "we can also scale it down"',
    ALL,
    lambda s: Interval.at_most(theory.even_bound(KEYS, s.strength * _direction(s.answer))),
    tuple(Strength("mean of all keys", strength) for strength in (1e-1, 1e-2, 1e-3)),
    Verdict.SUPPORTED,
)

ZERO = _accuracy(
    "zero-query-averages-all-four",
    "The query 0 averages all four keys exactly.",
    "claims B.4; uw 1.3.1",
    ALL,
    lambda s: Interval.point(0.0),
    (Strength("zero", 1.0),),
    Verdict.SUPPORTED,
)

MEAN_OF_TWO = _accuracy(
    "mean-of-two-keys-averages-those-two",
    r"$q = S (k_1 + k_2)/2$ gives $k_1$ and $k_2$ weights within 0.001 of 1/2.",
    "uw 1.3.2 as submitted",
    PAIR,
    lambda s: Interval.at_most(1e-3),
    tuple(Strength("mean of the first two", strength) for strength in (1.0, 3.0, 10.0, 30.0, 1e3, 1e5)),
    Verdict.REFUTED,
)

EQUAL_SCORES = _accuracy(
    "equal-scores-average-the-first-two",
    r"A query with $k_1 \cdot x = k_2 \cdot x$ above the rest averages the two; the error is at most "
    r"$e^{-S m}/(1 + e^{-S m})$ for a margin $m$.",
    "claims B.4; uw 1.3.2",
    PAIR,
    # Two rivals for two places: the bound B.1 with ratio 1. Rounding comes on top of it where it vanishes.
    lambda s: Interval.at_most(_equal_bound(s) + 2 * _rounding(s.strength)),
    tuple(
        Strength(answer, strength)
        for answer in ("largest margin", "largest margin in the maximum norm")
        for strength in (3.0, 10.0, 1e3, 1e5)
    ),
    Verdict.SUPPORTED,
)

FOUR_DIGITS = _accuracy(
    "four-digits-of-x-are-enough",
    r"With $x$ rounded to four digits, $q = S x$ still averages the first two within 0.01 at $S = 10^5$.",
    "a foil: how such an answer is written down",
    PAIR,
    lambda s: Interval.at_most(0.01),
    (Strength("largest margin, four digits", 1e5),),
    Verdict.REFUTED,
)


def _equal_bound(setting: Strength) -> float:
    lead = setting.strength * theory.margin(KEYS, _predicted_direction(setting.answer), PAIR)
    return math.exp(-lead) / (1 + math.exp(-lead))


def _shortened(setting: Shortened) -> np.ndarray:
    keys = KEYS.copy()
    keys[setting.key] *= setting.length
    return keys


def _leak(keys: np.ndarray, setting: Answer | Shortened) -> Scalar:
    """The weight off a key under its own query."""
    weights = _weights(keys[setting.key], setting.strength, keys)
    return float(np.sum(np.delete(weights, setting.key)))


def _lead(setting: Answer) -> float:
    """By how much a key scores higher with itself than any other does, at strength 1."""
    return theory.margin(KEYS, KEYS[setting.key], (setting.key,))


SCALED_KEYS = Claim(
    name="scaled-keys-copy-every-value",
    statement=r"$Q = S K$ copies every value: the diagonal of $K K^T$ leads row $i$ by $\Delta_i > 0$, so the row "
    r"leaks at most $3 e^{-S \Delta_i}/(1 + 3 e^{-S \Delta_i})$.",
    source="claims B.1, B.4; uw 1.2.1, 1.2.2",
    hypotheses={"the diagonal dominates the row": lambda s: _lead(s) > 0},
    # Rounding comes on top of the bound where it vanishes.
    predict=lambda s: Interval.at_most(
        copying.leak_bound(len(KEYS), s.strength * _lead(s)) + 2 * _rounding(s.strength)
    ),
    draw=lambda key, s: _leak(KEYS, s),
    bound=lambda s: exact(_rounding(s.strength)),
    resolution=lambda s: 4 * _rounding(s.strength),
    settings=tuple(
        Answer("the key itself", strength, key) for strength in (1.0, 10.0, 30.0, 1e5) for key in range(4)
    ),
)

SHORT_KEY = Claim(
    name="a-short-key-is-copied-by-itself",
    statement=r"$Q = S K$ copies every value whatever the lengths of the keys: a key a twentieth as long as given "
    r"still loses less than half of the weight.",
    source="a foil: uw 1.2.2 without the condition that the diagonal dominates",
    hypotheses={"the key is shortened": lambda s: 0 < s.length < 1},
    predict=lambda s: Interval.at_most(0.5),
    draw=lambda key, s: _leak(_shortened(s), s),
    bound=lambda s: exact(_rounding(s.strength)),
    resolution=lambda s: 4 * _rounding(s.strength),
    settings=tuple(Shortened(strength, key, 0.05) for strength in (10.0, 1e5) for key in range(4)),
    expect=Verdict.REFUTED,
)


def _margin(key: PRNGKeyArray, setting: Norm) -> Scalar:
    del key
    query = _direction("largest margin" if setting.norm == 2 else "largest margin in the maximum norm")
    with jax.enable_x64(True):
        scores = np.asarray(attention_scores(jnp.asarray(query[None, :]), jnp.asarray(KEYS), scale=1.0)[0])
    return float(np.min(scores[:2]) - np.max(scores[2:]))


def _largest_margin(setting: Norm) -> float:
    norm = 2.0 if setting.norm == 2 else math.inf
    return theory.margin(KEYS, theory.pair_query(KEYS, norm), PAIR)


MARGINS = Claim(
    name="the-right-queries-lead-by-most",
    statement=r"(.6042, .7967, −.0141) among $\|x\|_2 \leq 1$ and (1, 1, 1/59.5) among $\|x\|_\infty \leq 1$ score "
    r"$k_1$ and $k_2$ alike with the largest margin there is.",
    source="claims B.4; uw 1.3.2",
    hypotheses={},
    predict=lambda s: Interval.point(_largest_margin(s)),
    draw=_margin,
    bound=lambda s: exact(64 * EPS),
    resolution=lambda s: 256 * EPS,
    settings=(Norm(2), Norm(0)),
)

CLAIMS = (
    WEIGHTS,
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
