"""What rotary and sinusoidal scores know of distance (docs/mathematics/positions.md)."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import rotary, sinusoidal
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, Verdict, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Bound, Interval, bounded, exact
from attnlab_theory.theory.positions import rotary as theory

EPS = float(np.finfo(np.float32).eps)
EPS64 = float(np.finfo(np.float64).eps)

BASE = 10000.0


class TwoPositions(Setting):
    """Two positions, `distance` tokens apart, the first at `start`; vectors of width d."""

    d: int
    start: Traced[float]
    distance: Traced[float]


class Octave(Setting):
    """Distances from 2**octave to twice that, seen by vectors of width d."""

    d: int
    octave: int


class Doubling(Setting):
    """Distances from `nearest` to twice that, and the base of the frequencies."""

    d: int
    nearest: Traced[float]
    base: Traced[float]


def _unit(key: PRNGKeyArray, d: int) -> Float[Array, "1 d"]:
    x = jax.random.normal(key, (1, d))
    return x / jnp.linalg.norm(x)


def _score(x: Float[Array, "1 d"], start: Scalar, distance: Scalar, base: Scalar = BASE) -> Float[Array, ""]:
    """Rotary score of x at `start` with itself `distance` further on."""
    here = rotary(x, jnp.reshape(jnp.asarray(start, x.dtype), 1), base=base)
    there = rotary(x, jnp.reshape(jnp.asarray(start + distance, x.dtype), 1), base=base)
    return jnp.sum(here * there)


def _between(size: float) -> Bound:
    # Scores of unit vectors are at most one; float32 may round them to slightly more.
    return bounded(-size - 1e-5, size + 1e-5)


EVEN = at_least(d=2) | {"the width is even": lambda s: s.d % 2 == 0}
PLACES = EVEN | at_least(start=0, distance=0) | at_most(start=4096, distance=4096)
"""Positions at which float32 still tells angles apart."""

DISTANCES = (1, 2, 3, 4, 6, 8, 11, 16, 22, 32, 45, 64, 98, 128, 174, 256, 512, 1024)

ROTARY_MEAN = Claim(
    name="rotary-mean-score",
    statement=r"The rotary score of a random unit $q = k$ at distance $\delta$ has mean "
    r"$(2/d) \sum_j \cos(\delta \theta_j)$, wherever the pair stands.",
    source="mathematics/positions.md#the-mean-rotary-score; Su et al. 2021, section 3.4.3; blog/rotary",
    hypotheses=PLACES,
    predict=lambda s: Interval.point(theory.mean_score(s.d, s.distance, BASE)),
    draw=lambda key, s: _score(_unit(key, s.d), s.start, s.distance),
    bound=_between(1.0),
    resolution=0.012,
    settings=tuple(
        TwoPositions(d=64, start=start, distance=float(distance))
        for start in (0.0, 500.0)
        for distance in DISTANCES
    ),
    rival=Rival(
        statement=r"It is that mean with the frequencies $b^{-j/d}$.",
        source="the exponent $j/d$ of a coordinate in the place of $2j/d$, that of a pair",
        # The frequencies of the root of the base: b^(-j/d) is (b^(1/2))^(-2j/d).
        predict=lambda s: Interval.point(theory.mean_score(s.d, s.distance, BASE**0.5)),
    ),
    stream="unit-vectors",
)


ROTARY_MONOTONE = Claim(
    name="rotary-score-never-rises",
    statement="The mean rotary score of a random unit q = k never rises from one distance to the next.",
    source="mathematics/positions.md#the-mean-rotary-score, said of RoPE's long-term decay",
    hypotheses=PLACES,
    predict=Interval.at_most(0.0),
    draw=lambda key, s: (
        _score(_unit(key, s.d), s.start, s.distance + 1) - _score(_unit(key, s.d), s.start, s.distance)
    ),
    bound=_between(2.0),
    resolution=0.03,
    settings=tuple(TwoPositions(d=64, start=0.0, distance=distance) for distance in (98.0, 130.0, 174.0, 231.0)),
    expect=Verdict.REFUTED,
    stream=ROTARY_MEAN,
)


def _loss_by_doubling(key: PRNGKeyArray, setting: Doubling) -> Float[Array, ""]:
    for_vector, for_distance = jax.random.split(key)
    x = _unit(for_vector, setting.d)
    distance = setting.nearest * (1 + jax.random.uniform(for_distance))
    return _score(x, 0.0, distance, setting.base) - _score(x, 0.0, 2 * distance, setting.base)


DOUBLING = Claim(
    name="rotary-doubling-cost",
    statement=r"Doubling the distance costs the mean rotary score $\ln 2 / \ln b$ (within 0.01, for "
    r"$4 \le \delta \le b/32$, $b \ge 500$, $d \ge 128$).",
    source="mathematics/positions.md#the-price-of-doubling-the-distance, in the limit of many frequencies",
    hypotheses={
        "d >= 128": lambda s: s.d >= 128,
        "the width is even": lambda s: s.d % 2 == 0,
        "base >= 500": lambda s: s.base >= 500,
        "4 <= nearest <= base / 32": lambda s: 4 <= s.nearest <= s.base / 32,
    },
    predict=lambda s: Interval.around(theory.doubling_law(s.base), 0.01),
    draw=_loss_by_doubling,
    bound=_between(2.0),
    resolution=0.006,
    settings=(
        *(Doubling(d=128, nearest=nearest, base=10000.0) for nearest in (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)),
        *(Doubling(d=128, nearest=nearest, base=500.0) for nearest in (4.0, 8.0, 15.0)),
        *(Doubling(d=128, nearest=nearest, base=500_000.0) for nearest in (4.0, 64.0, 1024.0)),
    ),
    rival=Rival(
        statement=r"It costs $1/\ln b$.",
        source=r"the price of a distance that grows $e$-fold, in the place of twofold: $\ln 2$ left out",
        predict=lambda s: Interval.point(1 / math.log(s.base)),
    ),
)


def _octave_rounding(setting: Octave) -> float:
    """Angles at positions below 2**(octave + 1) err by a relative eps (ln(base)/2 + 5); d products follow."""
    return 2 * EPS * ((np.log(BASE) / 2 + 5) * 2 ** (setting.octave + 1) + setting.d)


OCTAVES = 11


@functools.partial(jax.jit, static_argnums=0)
def _even_scores(d: int) -> Float[Array, " t"]:
    """Scores at every distance below 2**OCTAVES for the unit vector whose pairs all have the same length."""
    x = jnp.tile(jnp.array([1.0, 0.0]), d // 2) * (2 / d) ** 0.5
    distances = jnp.arange(2**OCTAVES)
    return rotary(jnp.broadcast_to(x, (distances.size, d)), distances, base=BASE) @ x


def _envelope(setting: Octave, later: int = 0) -> Float[Array, ""]:
    octave = setting.octave + later
    return jnp.max(_even_scores(setting.d)[2**octave : 2 ** (octave + 1)])


WIDTHS = (2, 128)

OCTAVE = at_least(octave=0) | at_most(octave=OCTAVES - 1)

ENVELOPE = Claim(
    name="rotary-envelope",
    statement=r"A unit vector with pairs of equal length has the mean score. Its largest score at a distance in "
    r"$[2^j, 2^{j+1})$ is that of $(2/d) \sum_j \cos(\delta \theta_j)$.",
    source="mathematics/positions.md#the-envelope-of-the-mean-score",
    hypotheses=EVEN | at_most(d=WIDTHS[-1]) | OCTAVE,
    predict=lambda s: Interval.point(theory.envelope(s.d, s.octave, BASE)),
    draw=lambda key, s: _envelope(s),
    bound=lambda s: exact(_octave_rounding(s)),
    resolution=lambda s: 2.5 * _octave_rounding(s),
    settings=tuple(Octave(d=d, octave=octave) for d in WIDTHS for octave in range(OCTAVES)),
    rival=Rival(
        statement="The width does not matter: at width 2 it is as at 128, and at 128 as at 2.",
        source="the decay at one width, read as that of all",
        predict=lambda s: Interval.point(theory.envelope(sum(WIDTHS) - s.d, s.octave, BASE)),
    ),
)

ENVELOPE_FALLS = Claim(
    name="rotary-envelope-falls",
    statement=r"From $d = 128$ on the largest mean score at a distance in $[2^j, 2^{j+1})$ falls with $j$.",
    source="mathematics/positions.md#the-envelope-of-the-mean-score; Su et al. 2021, section 3.4.3",
    hypotheses=EVEN
    | OCTAVE
    | {
        "d >= 128": lambda s: s.d >= 128,
        "distances below base / 4": lambda s: 2 ** (s.octave + 2) <= BASE / 4,
    },
    predict=Interval.at_least(0.0),
    draw=lambda key, s: _envelope(s) - _envelope(s, later=1),
    bound=lambda s: exact(3 * _octave_rounding(s)),
    resolution=lambda s: 8 * _octave_rounding(s),
    settings=tuple(Octave(d=d, octave=octave) for d in (128, 256) for octave in range(OCTAVES - 1)),
    rival=Rival(
        statement="It stays, or rises again.",
        source="a sum of cosines comes near to one again and again, as at width 2",
        predict=Interval.at_most(0.0),
    ),
)

ENVELOPE_FALLS_ANYWHERE = foil(
    ENVELOPE_FALLS,
    name="rotary-envelope-falls-at-width-2",
    statement=r"At $d = 2$ too the largest mean score at a distance in $[2^j, 2^{j+1})$ falls with $j$.",
    source="mathematics/positions.md#the-envelope-of-the-mean-score, a single frequency comes round again",
    hypotheses=EVEN | at_least(octave=0) | at_most(octave=OCTAVES - 2),
    settings=tuple(Octave(d=2, octave=octave) for octave in (1, 3, 4)),
)


def _wave_rounding(setting: TwoPositions) -> float:
    """Sines and cosines err as much as their angles. The result is a mean of products of two of them."""
    return 2 * EPS64 * ((np.log(BASE) / 2 + 5) * (setting.start + setting.distance) + setting.d)


def _wave_product(key: PRNGKeyArray, setting: TwoPositions) -> float:
    del key  # nothing here is random
    with jax.enable_x64(True):
        positions = jnp.array([setting.start, setting.start + setting.distance], jnp.float64)
        here, there = sinusoidal(positions, setting.d, base=BASE)
        return float(2 * jnp.sum(here * there) / setting.d)


def _down_to_the_base(setting: TwoPositions) -> float:
    """The mean cosine over d/2 frequencies from 1 to 1/b, both included."""
    return float(np.mean(np.cos(setting.distance * np.geomspace(1, 1 / BASE, setting.d // 2))))


SINUSOIDS = exact_claim(
    name="sinusoidal-product",
    statement=r"$PE(t) \cdot PE(t + \delta) = \sum_j \cos(\delta \theta_j)$: it depends on the distance only.",
    source="mathematics/positions.md#products-of-sinusoids; Vaswani et al. 2017, section 3.5; blog/sinusoidal",
    hypotheses=PLACES,
    predict=lambda s: Interval.point(theory.mean_score(s.d, s.distance, BASE)),
    draw=_wave_product,
    rounding=_wave_rounding,
    settings=tuple(
        TwoPositions(d=64, start=start, distance=float(distance))
        for start in (0.0, 40.0, 400.0)
        for distance in range(2, 41, 2)
    ),
    rival=Rival(
        statement=r"The frequencies $\theta_j$ reach $1/b$: they are $b^{-2j/(d-2)}$.",
        source="tensor2tensor, the code of Vaswani et al. 2017, which divides by the number of pairs less one",
        predict=lambda s: Interval.point(_down_to_the_base(s)),
    ),
)

CLAIMS = (
    ROTARY_MEAN,
    ROTARY_MONOTONE,
    DOUBLING,
    ENVELOPE,
    ENVELOPE_FALLS,
    ENVELOPE_FALLS_ANYWHERE,
    SINUSOIDS,
)
