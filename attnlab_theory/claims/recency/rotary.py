"""What rotary positions say of distance, and what a larger base does to angles (docs/mathematics/recency.md)."""

import enum
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from attnlab_theory.attention import (
    attention_scores,
    interpolated_frequencies,
    ntk_frequencies,
    rotary,
    rotary_frequencies,
    yarn_frequencies,
    yarn_scale,
)
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, proportion
from attnlab_theory.theory.recency import rotary as theory

BASE = 1e4

EPS = float(np.finfo(np.float32).eps)

EVEN = {"d is even": lambda s: s.d % 2 == 0}


def equal_pairs(d: int) -> Float[Array, "1 d"]:
    """A unit vector all of whose pairs have the same length."""
    return jnp.tile(jnp.array([[1.0, 0.0]]), (1, d // 2)) * (2 / d) ** 0.5


def at_distance(x: Float[Array, "1 d"], distance: Scalar, base: Scalar = BASE) -> Float[Array, "1 d"]:
    """A key that stands so many positions before a query at position 0."""
    return rotary(x, -jnp.reshape(jnp.asarray(distance, x.dtype), 1), base=base)


class TwoKeys(Setting):
    """A query with equal pairs, and two keys of the law mean * query + N(0, I), at two distances."""

    d: int
    mean: Traced[float]
    near: Traced[int]
    far: Traced[int]


def _nearer_wins(key: PRNGKeyArray, setting: TwoKeys) -> Bool[Array, ""]:
    u = equal_pairs(setting.d)
    keys = setting.mean * u + jax.random.normal(key, (2, setting.d))
    turned = jnp.concatenate([at_distance(keys[:1], setting.near), at_distance(keys[1:], setting.far)])
    near, far = attention_scores(u, turned, scale=1.0)[0]
    return near > far


NEAR = Claim(
    name="rotary-favours-near-keys-as-far-as-they-share-a-mean",
    statement=r"Of two keys $cu + N(0, I)$ at distances $\delta_1 < \delta_2$ from a query $u$ with equal pairs "
    r"the nearer scores higher with chance $\Phi(c(m_d(\delta_1) - m_d(\delta_2))/\sqrt2)$: without a common mean "
    r"one half.",
    source="mathematics/recency.md#rotary-favours-near-keys-as-far-as-they-share-a-mean; Barbero et al. 2025",
    hypotheses=EVEN
    | at_least(d=2, mean=0, near=0)
    | at_most(mean=10, far=4096)
    | {"near < far": lambda s: s.near < s.far},
    predict=lambda s: Interval.point(theory.near_key_wins(s.d, s.mean, s.near, s.far, BASE)),
    draw=_nearer_wins,
    bound=proportion(),
    resolution=0.034,
    settings=(
        TwoKeys(d=64, mean=0.0, near=1, far=1024),
        TwoKeys(d=64, mean=1.0, near=1, far=1024),
        TwoKeys(d=64, mean=3.0, near=98, far=99),
    ),
    rival=Rival(
        statement="Distance counts without a mean, and counts for nothing with one: 0.6 at c = 0, else one half.",
        source="the two beliefs turned round: rotary prefers near keys by itself, or not at all",
        predict=lambda s: Interval.point(0.5 if s.mean else 0.6),
    ),
)

DECAYS = foil(
    NEAR,
    name="rotary-decays-with-distance",
    statement="Rotary positions prefer the nearer of two random keys: it wins with chance 0.6 at least.",
    source="mathematics/recency.md#rotary-favours-near-keys-as-far-as-they-share-a-mean; Su et al. 2021, long-term "
    "decay read as true of any keys; Wang et al. 2025, whose assumptions give keys a mean",
    predict=Interval.at_least(0.6),
    settings=NEAR.settings[:1],
)


class Turned(Setting):
    """A key like the query, turned as if it stood `turn` positions later; scores at 2,048 distances."""

    d: int
    turn: int


DISTANCES = 2048


@functools.partial(jax.jit, static_argnames="distances")
def _scores_of(
    u: Float[Array, "1 d"], key: Float[Array, "1 d"], base: Scalar, distances: int
) -> Float[Array, " distances"]:
    """The scores of one key at the distances 0, 1, ... from a query."""
    keys = rotary(jnp.repeat(key, distances, axis=0), -jnp.arange(distances, dtype=u.dtype), base=base)
    return attention_scores(u, keys, scale=1.0)[0]


def _scores(setting: Turned) -> Float[np.ndarray, " distances"]:
    u = equal_pairs(setting.d)
    return np.asarray(_scores_of(u, at_distance(u, -float(setting.turn)), BASE, DISTANCES), float)


def _best_distance(key: PRNGKeyArray, setting: Turned) -> float:
    del key
    return float(np.argmax(_scores(setting)))


def _lead(key: PRNGKeyArray, setting: Turned) -> float:
    """By how much the score where the key is turned to exceeds all others."""
    del key
    scores = _scores(setting)
    return float(scores[setting.turn] - np.max(np.delete(scores, setting.turn)))


PEAK = exact_claim(
    name="a-rotary-head-peaks-where-it-likes",
    statement=r"A head whose keys are turned by $r$ positions scores highest at the distance $r$, near or far.",
    source="mathematics/recency.md#rotary-favours-near-keys-as-far-as-they-share-a-mean; Barbero et al. 2025",
    # In a narrow head another distance comes within rounding: at d = 2 the score returns after 710 tokens.
    hypotheses=EVEN | at_least(d=16, turn=0) | at_most(d=256, turn=DISTANCES - 1),
    predict=lambda s: Interval.point(float(s.turn)),
    draw=_best_distance,
    rounding=0.1,
    settings=tuple(Turned(d=64, turn=turn) for turn in (1, 100, 1000)),
    rival=Rival(
        statement="The nearest token scores highest.",
        source="Su et al. 2021, long-term decay",
        predict=Interval.point(0.0),
    ),
)

LEAD = exact_claim(
    name="a-rotary-head-leads-where-it-likes",
    statement=r"At that distance its score leads those at all others by $1 - m_d(1)$, or by what the best of them "
    "lacks: 0.034 in a head of width 64, near or far.",
    source="mathematics/recency.md#rotary-favours-near-keys-as-far-as-they-share-a-mean; Barbero et al. 2025",
    hypotheses=EVEN | at_least(d=2, turn=0) | at_most(d=256, turn=DISTANCES - 1),
    predict=lambda s: Interval.point(theory.lead(s.d, s.turn, DISTANCES, BASE)),
    draw=_lead,
    # The angles of far positions are rounded relative to their size.
    rounding=4 * DISTANCES * EPS,
    settings=PEAK.settings,
    rival=Rival(
        statement=r"It leads by $1 - \cos 1$.",
        source="the fastest pair taken for all of them",
        predict=Interval.point(theory.lead_of_the_first_pair()),
    ),
)

ANY_WIDTH = foil(
    LEAD,
    name="one-pair-is-enough-to-point",
    statement="A head of width 2 leads at its distance as a head of width 64 does.",
    source="mathematics/recency.md#rotary-favours-near-keys-as-far-as-they-share-a-mean; Barbero et al. 2025, who "
    "use high frequencies to point: few of them, and near",
    predict=lambda s: Interval.point(theory.lead(64, s.turn, DISTANCES, BASE)),
    settings=tuple(Turned(d=2, turn=turn) for turn in (1, 1000)),
)


class Copied(Setting):
    """A copy of the query at a distance, against a random key N(0, I/d); the query has equal pairs."""

    d: int
    distance: Traced[int]
    base: Traced[float]


def _copy_wins(key: PRNGKeyArray, setting: Copied) -> Bool[Array, ""]:
    u = equal_pairs(setting.d)
    random = jax.random.normal(key, (1, setting.d)) * setting.d**-0.5
    keys = jnp.concatenate([at_distance(u, setting.distance, setting.base), random])
    copy, other = attention_scores(u, keys, scale=1.0)[0]
    return copy > other


COPY = Claim(
    name="likeness-counts-against-from-a-distance-on",
    statement=r"A copy of the query at distance $\delta$ beats a random key with chance $\Phi(\sqrt "
    r"d\,m_d(\delta))$. At $d = 128$ and base $10^4$ this is 0.99 at 1,024, and 0.07 at 4,060.",
    source="mathematics/recency.md#likeness-counts-against-from-a-distance-on; Men et al. 2024",
    hypotheses=EVEN | at_least(d=2, distance=0, base=100) | at_most(distance=16384, base=1e6),
    predict=lambda s: Interval.point(theory.copy_wins(s.d, s.distance, s.base)),
    draw=_copy_wins,
    bound=proportion(),
    resolution=0.05,
    settings=tuple(Copied(d=128, distance=distance, base=BASE) for distance in (256, 1024, 2048, 4060, 12808)),
    rival=Rival(
        statement="At a distance a copy is like any other key.",
        source="scores that decay to nothing",
        predict=Interval.point(0.5),
    ),
)

ENOUGH = foil(
    COPY,
    name="base-10000-is-enough-for-4096",
    statement="With base 10,000 a copy beats a random key at least half of the time at every distance up to 4,096.",
    source="mathematics/recency.md#likeness-counts-against-from-a-distance-on; Men et al. 2024, whom it "
    "contradicts",
    predict=Interval.at_least(0.5),
    settings=(Copied(d=128, distance=4060, base=BASE),),
)


class Slowest(Setting):
    """Vectors of width d with equal pairs, and the base of the frequencies."""

    d: int
    base: float


MOST = 4096


def _first_against(key: PRNGKeyArray, setting: Slowest) -> float:
    del key
    u = equal_pairs(setting.d)
    return float(np.argmax(np.asarray(_scores_of(u, u, setting.base, MOST)) < 0))


FIRST = exact_claim(
    name="likeness-turns-long-before-the-slowest-pair",
    statement=r"With base $10^4$ a copy first scores below zero at distance 725 for $d = 64$, and 1,707 for $d = "
    r"128$.",
    source="mathematics/recency.md#likeness-counts-against-from-a-distance-on; Men et al. 2024",
    # Elsewhere a score may be nearer to zero than float32 computes it.
    hypotheses=at_least(base=1e4) | at_most(base=1e4) | {"d is 64 or 128": lambda s: s.d in (64, 128)},
    predict=lambda s: Interval.point(float(theory.first_distance_against(s.d, s.base))),
    draw=_first_against,
    rounding=0.1,
    settings=(Slowest(d=64, base=BASE), Slowest(d=128, base=BASE)),
    rival=Rival(
        statement="It is where the slowest pair has turned by a right angle.",
        source="the other pairs left out",
        predict=lambda s: Interval.point(theory.quarter_turn(s.d, s.base)),
    ),
)


class Stretched(Setting):
    """A model of width d trained on `length` positions, and NTK scaling of its base by `factor`."""

    d: int
    base: float
    length: int
    factor: float


def _pairs_that_leave(key: PRNGKeyArray, setting: Stretched) -> float:
    del key
    trained = setting.length * rotary_frequencies(setting.d, base=setting.base)
    now = setting.factor * setting.length * ntk_frequencies(setting.d, factor=setting.factor, base=setting.base)
    return float(np.sum((trained < 2 * math.pi) & (now > trained * (1 + 1e-9))))


NTK = exact_claim(
    name="a-larger-base-stretches-angles",
    statement="NTK scaling leaves the last pair at its trained angles. Of the pairs that never finished a turn in "
    r"training all others leave theirs: 17 of 18 at $d = 128$, base $10^4$ and 4,096 positions.",
    source="mathematics/recency.md#a-larger-base-stretches-angles; Peng et al. 2024",
    hypotheses=EVEN
    | at_least(d=4, base=1e3, length=64, factor=1.5)
    | at_most(d=256, base=1e7, length=65536, factor=64)
    | {"some pair never turned": lambda s: theory.pairs_that_leave(s.d, s.base, s.length) >= 0},
    predict=lambda s: Interval.point(float(theory.pairs_that_leave(s.d, s.base, s.length))),
    draw=_pairs_that_leave,
    rounding=0.1,
    settings=(
        Stretched(d=128, base=1e4, length=4096, factor=8.0),
        Stretched(d=128, base=1e4, length=2048, factor=8.0),
        Stretched(d=128, base=5e5, length=8192, factor=4.0),
    ),
    rival=Rival(
        statement=r"They are $d/2 - \lceil(d/2)\log_bL\rceil - 1$.",
        source="a turn taken for one radian",
        predict=lambda s: Interval.point(float(theory.pairs_by_radians(s.d, s.base, s.length))),
    ),
)

IN_RANGE = foil(
    NTK,
    name="ntk-keeps-every-angle-in-the-trained-range",
    statement="NTK scaling keeps every pair within the angles that training showed.",
    source="mathematics/recency.md#a-larger-base-stretches-angles; Peng et al. 2024, who say that some are out of "
    "bounds",
    predict=Interval.point(0.0),
)


class Slowed(Setting):
    """NTK scaling of a base by `factor`, for heads of width d."""

    d: int
    base: float
    factor: float


def _slowest_before_over_after(key: PRNGKeyArray, setting: Slowed) -> float:
    del key
    after = ntk_frequencies(setting.d, factor=setting.factor, base=setting.base)
    return float(rotary_frequencies(setting.d, base=setting.base)[-1] / after[-1])


LAST = exact_claim(
    name="ntk-slows-the-last-pair-by-the-whole-factor",
    statement=r"The base $b\,s^{d/(d-2)}$ makes the last pair turn exactly $s$ times more slowly.",
    source="mathematics/recency.md#a-larger-base-stretches-angles; Peng et al. 2024",
    hypotheses=EVEN | at_least(d=4, base=1e3, factor=1.5) | at_most(d=256, base=1e7, factor=64),
    predict=lambda s: Interval.point(s.factor),
    draw=_slowest_before_over_after,
    # Powers in float64.
    rounding=lambda s: 1e-12 * s.factor,
    settings=(Slowed(d=128, base=1e4, factor=8.0), Slowed(d=64, base=5e5, factor=4.0)),
    rival=Rival(
        statement=r"It turns $s^{(d-2)/d}$ times more slowly.",
        source=r"the base $b\,s$, which is easily taken for it",
        predict=lambda s: Interval.point(s.factor ** ((s.d - 2) / s.d)),
    ),
)


class Scaling(enum.StrEnum):
    """How a text that is so many times longer is fitted in."""

    INTERPOLATED = "interpolated"
    NTK = "NTK"


class Neighbours(Setting):
    """Vectors of width d with equal pairs, and positions for texts that are longer by a factor."""

    d: int
    base: float
    factor: float
    scaling: Scaling


def _apart(key: PRNGKeyArray, setting: Neighbours) -> Float[Array, ""]:
    """What a copy of the query scores less at distance 1 than at 0."""
    del key
    scaled = ntk_frequencies if setting.scaling is Scaling.NTK else interpolated_frequencies
    u = jnp.repeat(equal_pairs(setting.d), 2, axis=0)
    at = jnp.arange(2, dtype=u.dtype)
    keys = rotary(u, -at, frequencies=scaled(setting.d, factor=setting.factor, base=setting.base))
    here, next_to_it = attention_scores(u[:1], keys, scale=1.0)[0]
    return here - next_to_it


def _neighbours_apart(setting: Neighbours) -> float:
    match setting.scaling:
        case Scaling.NTK:
            return theory.neighbours_apart_by_ntk(setting.d, setting.base, setting.factor)
        case Scaling.INTERPOLATED:
            return theory.neighbours_apart_if_interpolated(setting.d, setting.base, setting.factor)


CONTRAST = exact_claim(
    name="a-larger-base-keeps-neighbours-apart",
    statement=r"Squeezed into an eighth, positions tell a token from its neighbour by a score of 0.0005 at $d = "
    r"128$; NTK scaling by 0.025, nearly the 0.030 of training.",
    source="mathematics/recency.md#a-larger-base-stretches-angles; Peng et al. 2024; Chen et al. 2023",
    hypotheses=EVEN | at_least(d=4, base=1e3, factor=1.5) | at_most(d=256, base=1e7, factor=64),
    predict=lambda s: Interval.point(_neighbours_apart(s)),
    draw=_apart,
    rounding=lambda s: EPS * (s.d + 8),
    settings=tuple(Neighbours(d=128, base=1e4, factor=8.0, scaling=scaling) for scaling in Scaling),
    rival=Rival(
        statement="Neighbours stay as far apart as before.",
        source="a scaling taken for one of long distances alone",
        predict=lambda s: Interval.point(theory.neighbours_apart(s.d, s.base)),
    ),
)


class Lengthened(Setting):
    """YaRN for texts that are longer by a factor, of a model of width d trained on `original` positions."""

    d: int
    original: int
    factor: float


def _growth_of_scores(key: PRNGKeyArray, setting: Lengthened) -> Float[Array, ""]:
    """The score of a copy one token away, with YaRN's factor over that without it."""
    del key
    u = equal_pairs(setting.d)
    frequencies = yarn_frequencies(setting.d, factor=setting.factor, original=setting.original)
    query, key_before = (rotary(u, jnp.full(1, at), frequencies=frequencies) for at in (0.0, -1.0))
    times = yarn_scale(setting.factor)
    plain = attention_scores(query, key_before, scale=1.0)
    return (attention_scores(times * query, times * key_before, scale=1.0) / plain)[0, 0]


YARN = exact_claim(
    name="yarn-multiplies-scores-by-the-square-of-its-factor",
    statement=r"YaRN's factor $f = 0.1\ln s + 1$ multiplies queries and keys, so scores grow by $f^2$: by 1.81 for "
    "texts 32 times longer.",
    source="mathematics/recency.md#a-larger-base-stretches-angles; Peng et al. 2024",
    hypotheses=EVEN | at_least(d=4, original=64, factor=1) | at_most(d=256, original=65536, factor=64),
    predict=lambda s: Interval.point(theory.yarn_factor(s.factor) ** 2),
    draw=_growth_of_scores,
    # Two scores of d products, each near one, and three roundings of vectors.
    rounding=lambda s: 4 * EPS * (s.d + 8),
    settings=tuple(Lengthened(d=64, original=4096, factor=factor) for factor in (4.0, 32.0)),
    rival=Rival(
        statement="Scores do not grow.",
        source="a rotation keeps lengths, and the factor left out",
        predict=Interval.point(1.0),
    ),
)

ONCE = foil(
    YARN,
    name="yarn-multiplies-scores-by-its-factor",
    statement=r"YaRN multiplies scores by $0.1\ln s + 1$.",
    source="mathematics/recency.md#a-larger-base-stretches-angles; Peng et al. 2024, in a vendor's words: it "
    "scales the size of scores by this number",
    predict=lambda s: Interval.point(theory.yarn_factor(s.factor)),
)

CLAIMS = (
    NEAR,
    DECAYS,
    PEAK,
    LEAD,
    ANY_WIDTH,
    COPY,
    ENOUGH,
    FIRST,
    NTK,
    IN_RANGE,
    LAST,
    CONTRAST,
    YARN,
    ONCE,
)
