"""Bugs in randomness: features, projections, and keys of a generator."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from attnlab_theory.attention import attention_weights, positive_features
from attnlab_theory.claims import Claim, Setting
from attnlab_theory.claims.features.bias import (
    ORTHOGONAL,
    PLAIN_QR,
    UNBIASED,
    EqualPoints,
    orthogonal_without_signs,
)
from attnlab_theory.claims.features.pair import PairOfPoints, once, pair, points, projection
from attnlab_theory.museum import exhibit
from attnlab_theory.museum.bug import Bug
from attnlab_theory.sampling import orthogonal_projection
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.features.estimator import Estimator

SMALL = once(pair(Estimator.POSITIVE, 16, 0.25, 36.0))
"""A query and a key that are nearly opposite: the kernel is 1.3e-4."""

ALONG = EqualPoints(d=4, sum_square=1.0)
"""A query and a key on the first axis."""


def not_scaled(key, setting):
    x, y = (side * setting.d**0.25 for side in points(setting))
    w = projection(key, setting)
    return jnp.sum(positive_features(x, w) * positive_features(y, w)) / jnp.exp(_exponent(setting))


def _exponent(setting):
    return jnp.asarray(setting.sum_square - setting.difference_square, float) / 4


UNSCALED = Bug(
    name="features-without-d-to-the-quarter",
    story="Queries and keys go into the feature map as they are, not multiplied by d^(-1/4) each. What is "
    "estimated, without bias, is exp(q.k): attention at another temperature.",
    where="folklore; error of 73 % reported without a cause: "
    "https://github.com/lucidrains/performer-pytorch/issues/69",
    code=(not_scaled,),
    checks=(dataclasses.replace(UNBIASED, draw=not_scaled, settings=(SMALL,)),),
    exhibit=lambda: _ratios(not_scaled),
)


def features_with_eps(x, w, *, eps=1e-4):
    half_square = jnp.sum(x**2, axis=1, keepdims=True) / 2
    return (jnp.exp(x @ w.T - half_square) + eps) / w.shape[0] ** 0.5


def _estimated_with_eps(key, setting):
    w = projection(key, setting)
    x, y = (features_with_eps(side, w) for side in points(setting))
    return jnp.sum(x * y) / jnp.exp(_exponent(setting))


EPS = Bug(
    name="eps-inside-the-feature-map",
    story="Every feature is kept away from zero by 1e-4. Small kernel values are then all about 2e-4: attention to "
    "what should be ignored cannot fall below a floor.",
    where="the feature map quoted in https://github.com/lucidrains/performer-pytorch/issues/82",
    code=(features_with_eps,),
    checks=(dataclasses.replace(UNBIASED, draw=_estimated_with_eps, settings=(SMALL,)),),
    exhibit=lambda: _ratios(_estimated_with_eps),
)


SIGNS = Bug(
    name="orthogonal-without-sign-fix",
    story="A random orthogonal matrix is the Q of a QR decomposition. Householder's reflections choose the signs "
    "on its diagonal, so its rows are not uniform, and features made of them are biased, whatever their norms. The "
    "first thread says that they are not.",
    where="https://github.com/google-research/google-research/issues/436; "
    "https://github.com/idiap/fast-transformers/issues/87",
    code=(orthogonal_without_signs,),
    checks=(
        dataclasses.replace(
            PLAIN_QR,
            name=ORTHOGONAL.name,
            statement=ORTHOGONAL.statement,
            source=ORTHOGONAL.source,
            settings=(ALONG,),
            expect=ORTHOGONAL.expect,
        ),
    ),
    exhibit=lambda: _mean_rows(),
)


def _ratios(wrong) -> exhibit.Exhibit:
    differences = np.linspace(1.0, 36.0, 11)

    @functools.partial(jax.jit, static_argnames="draw")
    def mean(draw, difference):
        setting = PairOfPoints.with_traced({**SMALL.fields(), "difference_square": difference})
        return jnp.mean(jax.vmap(lambda key: draw(key, setting))(jax.random.split(jax.random.key(0), 4096)))

    right, off = (np.log10([float(mean(f, x)) for x in differences]) for f in (UNBIASED.draw, wrong))
    return exhibit.Exhibit(
        title="Mean estimate of the kernel over its exact value (4,096 draws)",
        rows="log10 (estimate / exact)",
        columns="log10 of the exact value",
        right=right,
        wrong=off,
        over=(SMALL.sum_square - differences) / 4 / np.log(10),
    )


def _mean_rows() -> exhibit.Exhibit:
    keys = jax.random.split(jax.random.key(0), 2048)

    def mean(draw):
        return np.asarray(jnp.mean(jax.vmap(draw)(keys), axis=0))

    return exhibit.Exhibit(
        title="Mean of a 6 by 6 orthogonal projection over 2,048 draws",
        rows="row",
        columns="coordinate",
        right=mean(lambda key: orthogonal_projection(key, 6, 6, norms="chi")),
        wrong=mean(lambda key: orthogonal_without_signs(key, 6)),
    )


class Strangers(Setting):
    """n queries and n keys of width d, normal and independent."""

    n: int
    d: int


def _own_weight(q, k):
    return attention_weights(q, k, scale=q.shape[1] ** -0.5)[0, 0]


def independent(key, setting):
    of_q, of_k = jax.random.split(key)
    shape = (setting.n, setting.d)
    return _own_weight(jax.random.normal(of_q, shape), jax.random.normal(of_k, shape))


def from_one_key(key, setting):
    shape = (setting.n, setting.d)
    return _own_weight(jax.random.normal(key, shape), jax.random.normal(key, shape))


FAIR = Claim(
    name="strangers-get-equal-weight",
    statement="A query gives each of n keys that know nothing of it the weight 1/n, on average.",
    source="mathematics/limits.md#gradients-through-attention, by exchangeability of the keys",
    predict=lambda s: Interval.point(1 / s.n),
    draw=independent,
    bound=bounded(0.0, 1.0 + 1e-5),
    resolution=0.05,
    settings=(Strangers(n=8, d=16),),
    chunk=128,
)

ONE_KEY = Bug(
    name="one-key-for-queries-and-keys",
    story="The same PRNG key draws the queries and the keys: they are equal, bit for bit, and every query finds "
    "itself. Benchmarks on such inputs look splendid.",
    where="https://github.com/jax-ml/jax/issues/2009",
    code=(from_one_key,),
    checks=(dataclasses.replace(FAIR, draw=from_one_key),),
    exhibit=lambda: _strangers(),
)


def _strangers() -> exhibit.Exhibit:
    of_q, of_k = jax.random.split(jax.random.key(0))
    q, k = jax.random.normal(of_q, (8, 16)), jax.random.normal(of_k, (8, 16))
    return exhibit.Exhibit(
        title="Weights of eight random queries over eight random keys",
        rows="query",
        columns="key",
        right=attention_weights(q, k, scale=0.25),
        wrong=attention_weights(q, q, scale=0.25),
    )


BUGS = (UNSCALED, EPS, SIGNS, ONE_KEY)
"""The bugs of this file. A claim catches each, once its draw is replaced by the wrong one."""
