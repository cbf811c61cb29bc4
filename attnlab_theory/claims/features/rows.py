"""A row of attention from random features: its bias, its error and the law of its weights.

See docs/mathematics/features.md.
"""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights, linear_attention
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.features.maps import MAPS, of_first
from attnlab_theory.claims.hypotheses import at_least
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import gaussian_projection
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Bound, Interval, bounded, proportion
from attnlab_theory.theory.features import pair, phase, rows
from attnlab_theory.theory.features.estimator import Estimator


class RatioOfMeans(Setting):
    """The output for one query over n keys of width d, made of the first m of `projections` projections."""

    estimator: Estimator
    n: int
    d: int
    projections: int
    m: Traced[int]


@functools.cache
def _ratio_problem(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A query and keys of length 0.7, and values that go down evenly from 1 to -1 along the scores."""
    with jax.ensure_compile_time_eval():
        points = np.asarray(jax.random.normal(key_for(0, "feature-ratio"), (n + 1, d), jnp.float32))
    points = points * (0.7 / np.linalg.norm(points, axis=1, keepdims=True))
    q, k = points[0], points[1:]
    values = np.empty(n)
    values[np.argsort(-(k @ q))] = np.linspace(1, -1, n)
    return q, k, values.astype(np.float32)


def _error(key: PRNGKeyArray, setting: RatioOfMeans) -> Float[Array, ""]:
    """The error of the output for one query."""
    q, k, v = (jnp.asarray(array, float) for array in _ratio_problem(setting.n, setting.d))
    projection = gaussian_projection(key, setting.projections, setting.d)
    features = MAPS[setting.estimator]
    phi_q = of_first(features(q[None], projection), setting.projections, setting.m)
    exact_output = jnp.sum(attention_weights(q[None], k, scale=1.0)[0] * v)
    return linear_attention(phi_q, features(k, projection), v[:, None])[0, 0] - exact_output


def _squared_error(key: PRNGKeyArray, setting: RatioOfMeans) -> Float[Array, ""]:
    return _error(key, setting) ** 2


def _host_problem(setting: RatioOfMeans) -> tuple[np.ndarray, ...]:
    return tuple(array.astype(np.float64) for array in _ratio_problem(setting.n, setting.d))


@functools.cache
def _moments(setting: RatioOfMeans) -> tuple[float, float]:
    """The exact bias and mean square error."""
    return rows.error_moments(setting.estimator, *_host_problem(setting), m=setting.m)


def _farthest(setting: RatioOfMeans) -> float:
    """How far an output can be off: positive features make it a mean of the values, which reach from -1 to 1."""
    q, k, v = _host_problem(setting)
    weights = np.exp(k @ q) / np.sum(np.exp(k @ q))
    return 1.0001 * (1 + abs(float(weights @ v)))


def _error_bound(setting: RatioOfMeans) -> Bound:
    return bounded(-_farthest(setting), _farthest(setting))


def _squared_error_bound(setting: RatioOfMeans) -> Bound:
    return bounded(0.0, _farthest(setting) ** 2)


def _row(estimator: Estimator, m: int) -> RatioOfMeans:
    return RatioOfMeans(estimator=estimator, n=8, d=2, projections=64, m=m)


SOURCE = "mathematics/features.md#a-row-of-attention-is-a-ratio"
DRAWN = at_least(n=2) | {
    "d = 2: errors are integrals over the plane": lambda s: s.d == 2,
    "1 <= m <= projections": lambda s: 1 <= s.m <= s.projections,
}
POSITIVE_MAPS = {"the features are positive": lambda s: s.estimator in (Estimator.POSITIVE, Estimator.HYPERBOLIC)}

BIAS = Claim(
    name="bias-of-the-ratio",
    statement=r"Numerator $N$ and normaliser $D$ of a row are unbiased, their ratio is not. With $D$ of mean 1, "
    r"the exact output $c$ and $\varepsilon = N - cD$ its bias is "
    r"$\int_0^\infty \mathbb{E}[\varepsilon e^{-tD}]\,dt$, close to "
    r"$-\mathrm{Cov}(\varepsilon, D)$ where $m$ is large.",
    source=f"{SOURCE}; practical4/3h.1",
    hypotheses=DRAWN | POSITIVE_MAPS,
    predict=lambda s: Interval.point(_moments(s)[0]),
    draw=_error,
    bound=_error_bound,
    resolution=lambda s: 0.45 * abs(_moments(s)[0]),
    settings=tuple(_row(Estimator.POSITIVE, m) for m in (4, 16, 64)),
    stream="feature-ratios",
    chunk=256,
)

UNBIASED = foil(
    BIAS,
    name="the-ratio-is-unbiased",
    statement="The kernel estimates are unbiased, therefore attention made of them is.",
    source=f"{SOURCE}; practical4/3h.1",
    predict=Interval.point(0.0),
)


def _falling_faster(setting: RatioOfMeans) -> float:
    """The mean square error at m = 2, divided by (m / 2)^2."""
    return _moments(dataclasses.replace(setting, m=2))[1] * (2 / setting.m) ** 2


ERROR = dataclasses.replace(
    BIAS,
    name="error-of-the-ratio",
    statement=r"The mean square error of an output is $\int_0^\infty t\,\mathbb{E}[e^2 e^{-tD}]\,dt$, so its root "
    r"falls as $m^{-1/2}$ where $m$ is large.",
    source=f"{SOURCE}; practical4/3h.1",
    predict=lambda s: Interval.point(_moments(s)[1]),
    draw=_squared_error,
    bound=_squared_error_bound,
    resolution=lambda s: 0.45 * (_moments(s)[1] - _falling_faster(s)),
    settings=(
        *(_row(Estimator.POSITIVE, m) for m in (4, 8, 16, 32)),
        *(_row(Estimator.HYPERBOLIC, m) for m in (4, 8, 16)),
    ),
)

FALLS_FASTER = foil(
    ERROR,
    name="error-of-the-ratio-falls-as-one-over-m",
    statement=r"The root mean square error of an output falls as $1/m$ from what it is at $m = 2$.",
    source=SOURCE,
    predict=lambda s: Interval.point(_falling_faster(s)),
)

DELTA_METHOD = foil(
    ERROR,
    name="delta-method-at-few-projections",
    statement=r"The mean square error of an output is $\mathrm{Var}(e)/m$, as the delta method says, at any $m$.",
    source=f"{SOURCE}, the first term of its series alone",
    predict=lambda s: Interval.point(rows.delta_method(s.estimator, *_host_problem(s), m=s.m)[1]),
    settings=tuple(_row(Estimator.POSITIVE, m) for m in (4, 8, 16)),
)


class WeightOfOneKey(Setting):
    """The weight of the key `offset` places away, for one of n queries and keys, made of f features."""

    estimator: Estimator
    n: int
    f: int
    offset: Traced[int]


RADIUS = 1.2**0.5
"""Length of the queries and keys: |q + k|^2 and |q - k|^2 run from 0 to 4.8."""


def _circle(n: int) -> np.ndarray:
    """n points around a circle: queries and keys of a matrix that attends to what is near."""
    angle = 2 * np.pi * np.arange(n) / n
    return RADIUS * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def projections_of(estimator: Estimator, f: int) -> int:
    """How many projections make f features."""
    return f // phase.FEATURES_PER_PROJECTION[estimator]


@functools.cache
def _weights_and_deviations(estimator: Estimator, n: int, f: int) -> tuple[np.ndarray, np.ndarray]:
    """The exact weights of the first query, and the delta method's standard deviations of the estimated ones."""
    points = _circle(n)
    weights = np.exp(points @ points[0]) / np.sum(np.exp(points @ points[0]))
    variances = rows.row_errors(pair.covariances(estimator, points[0], points), weights)
    return weights, np.sqrt(variances / projections_of(estimator, f))


def _is_within(key: PRNGKeyArray, setting: WeightOfOneKey) -> Float[Array, ""]:
    points = jnp.asarray(_circle(setting.n), float)
    projection = gaussian_projection(key, projections_of(setting.estimator, setting.f), 2)
    phi = MAPS[setting.estimator](points, projection)
    found = linear_attention(phi[:1], phi, jnp.eye(setting.n))[0]
    weights, deviations = _weights_and_deviations(setting.estimator, setting.n, setting.f)
    within = jnp.abs(found - jnp.asarray(weights, float)) <= jnp.asarray(deviations, float)
    return jnp.where(within[jnp.asarray(setting.offset).astype(int)], 1.0, 0.0)


def _chance_within(setting: WeightOfOneKey) -> Interval:
    points = _circle(setting.n)
    _, deviations = _weights_and_deviations(setting.estimator, setting.n, setting.f)
    chance = rows.chance_within(
        setting.estimator,
        points[0],
        points,
        setting.offset,
        m=projections_of(setting.estimator, setting.f),
        distance=deviations[setting.offset],
    )
    return Interval.around(chance, rows.CHANCE_ERROR)


WITHIN = Claim(
    name="weights-within-one-deviation",
    statement="A weight made of positive features lies within one of the delta method's deviations far more often "
    "than a normal one would: rare projections make up the deviation, and most draws hold none of them.",
    source=f"{SOURCE}; Gil-Pelaez 1951",
    # The characteristic function of fewer projections does not die away.
    hypotheses=at_least(n=2, f=16) | POSITIVE_MAPS | {"0 <= offset < n": lambda s: 0 <= s.offset < s.n},
    predict=_chance_within,
    draw=_is_within,
    bound=proportion(),
    resolution=0.05,
    settings=tuple(
        WeightOfOneKey(estimator=estimator, n=8, f=f, offset=offset)
        for estimator in (Estimator.POSITIVE, Estimator.HYPERBOLIC)
        for f in (64, 256)
        for offset in range(5)
    ),
    rival=Rival(
        statement="Estimated weights are nearly normal, and 68 % of them lie within one deviation.",
        source="the normal law of the delta method",
        predict=Interval.point(math.erf(0.5**0.5)),
    ),
    chunk=256,
)

CLAIMS = (BIAS, UNBIASED, ERROR, FALLS_FASTER, DELTA_METHOD, WITHIN)
