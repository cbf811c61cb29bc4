"""A row of attention from random features: its bias and its variance (docs/mathematics/features.md)."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights, linear_attention
from attnlab_theory.claims.claim import Claim, foil
from attnlab_theory.claims.features.maps import MAPS, of_first
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import gaussian_projection
from attnlab_theory.seeds import key_for
from attnlab_theory.stats import Interval, exact, normal
from attnlab_theory.theory.features import pair, phase, rows
from attnlab_theory.theory.features.estimator import Estimator

EPS = float(np.finfo(np.float32).eps)


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


def _ratio_and_first_order(key: PRNGKeyArray, setting: RatioOfMeans) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The error of the output, and (numerator - c normaliser) / exact normaliser, whose mean is zero."""
    q, k, v = (jnp.asarray(array, float) for array in _ratio_problem(setting.n, setting.d))
    projection = gaussian_projection(key, setting.projections, setting.d)
    features = MAPS[setting.estimator]
    phi_q = of_first(features(q[None], projection), setting.projections, setting.m)
    phi_k = features(k, projection)
    exact_output = jnp.sum(attention_weights(q[None], k, scale=1.0)[0] * v)
    estimates = (phi_q @ phi_k.T)[0]
    first = jnp.sum(estimates * (v - exact_output)) / jnp.sum(jnp.exp(k @ q))
    return linear_attention(phi_q, phi_k, v[:, None])[0, 0] - exact_output, first


def _bias(key: PRNGKeyArray, setting: RatioOfMeans) -> Float[Array, ""]:
    error, first = _ratio_and_first_order(key, setting)
    return error - first


def _squared_error(key: PRNGKeyArray, setting: RatioOfMeans) -> Float[Array, ""]:
    error, _ = _ratio_and_first_order(key, setting)
    return error**2


def _host_problem(setting: RatioOfMeans) -> tuple[np.ndarray, ...]:
    return tuple(array.astype(np.float64) for array in _ratio_problem(setting.n, setting.d))


def _band(terms: tuple[float, float], m: int) -> Interval:
    """Of a series' first term; what is left out is about its second, and the band is half as wide again."""
    return Interval.around(terms[0] / m, 1.5 * abs(terms[1]) / m)


def _bias_terms(setting: RatioOfMeans) -> tuple[float, float]:
    return rows.bias(setting.estimator, *_host_problem(setting), m=setting.m)


def _error_terms(setting: RatioOfMeans) -> tuple[float, float]:
    return rows.squared_error(setting.estimator, *_host_problem(setting), m=setting.m)


LARGE_SAMPLE = "thousands of draws, each a smooth function of means over projections"

BIAS = Claim(
    name="bias-of-the-ratio",
    statement=r"Numerator and normaliser are unbiased, their ratio is not: its bias is $-\mathrm{Cov}(e, n)/m$ up "
    r"to a term in $1/m^2$ ($e$, $n$: their errors for one projection).",
    source="mathematics/features.md#a-row-of-attention-is-a-ratio; practical4/3h.1",
    predict=lambda s: _band(_bias_terms(s), s.m),
    # The first-order error has mean zero: without it the draws vary as 1/m, like the bias itself.
    draw=_bias,
    bound=normal(LARGE_SAMPLE),
    resolution=lambda s: 0.15 * abs(_bias_terms(s)[0]) / s.m,
    settings=tuple(
        RatioOfMeans(estimator=Estimator.POSITIVE, n=8, d=4, projections=256, m=m) for m in (16, 64, 256)
    ),
    stream="feature-ratios",
    chunk=256,
)

UNBIASED = foil(
    BIAS,
    name="the-ratio-is-unbiased",
    statement="The kernel estimates are unbiased, therefore attention made of them is.",
    source="mathematics/features.md#a-row-of-attention-is-a-ratio; practical4/3h.1",
    predict=Interval.point(0.0),
)

ERROR = dataclasses.replace(
    BIAS,
    name="error-of-the-ratio-by-the-delta-method",
    statement=r"The mean square error of an output is $\mathrm{Var}(e)/m$ up to a term in $1/m^2$: its root falls "
    r"as $m^{-1/2}$.",
    source="mathematics/features.md#a-row-of-attention-is-a-ratio; practical4/3h.1",
    predict=lambda s: _band(_error_terms(s), s.m),
    draw=_squared_error,
    resolution=lambda s: 0.15 * _error_terms(s)[0] / s.m,
    settings=(
        *(RatioOfMeans(estimator=Estimator.POSITIVE, n=8, d=4, projections=256, m=m) for m in (16, 64, 256)),
        *(RatioOfMeans(estimator=Estimator.HYPERBOLIC, n=8, d=4, projections=256, m=m) for m in (16, 64, 256)),
    ),
)

FALLS_FASTER = foil(
    ERROR,
    name="error-of-the-ratio-falls-as-one-over-m",
    statement=r"The root mean square error of an output falls as $1/m$ from what it is at $m = 16$.",
    source="mathematics/features.md#a-row-of-attention-is-a-ratio",
    predict=lambda s: Interval.point(_error_terms(dataclasses.replace(s, m=16))[0] * 16 / s.m**2),
    settings=tuple(
        RatioOfMeans(estimator=Estimator.POSITIVE, n=8, d=4, projections=256, m=m) for m in (64, 128, 256)
    ),
)


class MatrixEntry(Setting):
    """The weight of one key for one query, of n each, made of f features."""

    estimator: Estimator
    n: int
    f: int
    query: int
    key: int


RADIUS = 1.2**0.5
"""Length of the queries and keys of the matrix: |q + k|^2 and |q - k|^2 run from 0 to 4.8."""


def _circle(n: int) -> np.ndarray:
    """n points around a circle: queries and keys of a matrix that attends to what is near."""
    angle = 2 * np.pi * np.arange(n) / n
    return RADIUS * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def projections_of(estimator: Estimator, f: int) -> int:
    """How many projections make f features."""
    return f // phase.FEATURES_PER_PROJECTION[estimator]


@functools.lru_cache(maxsize=8)
def _matrix(seed: bytes, estimator: Estimator, n: int, f: int) -> np.ndarray:
    key = jax.random.wrap_key_data(jnp.asarray(np.frombuffer(seed, np.uint32)))
    points = jnp.asarray(_circle(n), float)
    projection = gaussian_projection(key, projections_of(estimator, f), 2)
    phi = MAPS[estimator](points, projection)
    return np.asarray(linear_attention(phi, phi, jnp.eye(n)))


def _entry(key: PRNGKeyArray, setting: MatrixEntry) -> float:
    seed = np.asarray(jax.random.key_data(key)).tobytes()
    return float(_matrix(seed, setting.estimator, setting.n, setting.f)[setting.query, setting.key])


def _entry_band(setting: MatrixEntry) -> Interval:
    """Six deviations of the delta method around the exact weight."""
    points = _circle(setting.n)
    q = points[setting.query]
    weights = np.exp(points @ q) / np.sum(np.exp(points @ q))
    covariances = pair.covariances(setting.estimator, q, points)
    variances = rows.row_errors(covariances, weights)
    m = projections_of(setting.estimator, setting.f)
    return Interval.around(weights[setting.key], 6 * (variances[setting.key] / m) ** 0.5)


MATRIX = Claim(
    name="weights-of-one-draw",
    statement="Each weight of one approximated matrix lies within six of the delta method's deviations of the "
    "exact one.",
    source="mathematics/features.md#a-row-of-attention-is-a-ratio",
    predict=_entry_band,
    draw=_entry,
    bound=exact(1000 * EPS),
    resolution=4000 * EPS,
    settings=tuple(
        MatrixEntry(estimator=estimator, n=8, f=64, query=query, key=key)
        for estimator in (Estimator.TRIGONOMETRIC, Estimator.POSITIVE)
        for query in range(8)
        for key in range(8)
    ),
)

CLAIMS = (BIAS, UNBIASED, ERROR, FALLS_FASTER, MATRIX)
