"""As many heads as keys to average (docs/mathematics/noisy_keys.md)."""

import dataclasses
import math

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.noisy_keys import stretched_key as problem
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.noisy_keys import many_heads as theory

STRENGTH, VARIANCE = 30.0, 1e-4


class HeadPerKey(Setting):
    """Heads that each ask for one key of their own among n keys. The first `stretched` keys are stretched."""

    n: int
    d: int
    beta: Traced[float]
    variance: Traced[float]
    heads: Traced[int]
    stretched: Traced[int]


def _error(key: PRNGKeyArray, setting: HeadPerKey) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, setting.variance, setting.stretched)
    values = jnp.eye(setting.n, dtype=keys.dtype)
    of_every_head = attention(jnp.asarray(setting.beta, means.dtype) * means, keys, values, scale=1.0)
    position = jnp.arange(setting.n, dtype=keys.dtype)
    share = jnp.where(position < setting.heads, 1 / jnp.asarray(setting.heads, keys.dtype), 0.0).astype(keys.dtype)
    return jnp.sum((jnp.einsum("h,hv->v", share, of_every_head) - share) ** 2)


def _predicted(setting: HeadPerKey) -> float:
    return theory.many_heads_error(setting.n, setting.beta, setting.variance, setting.heads, setting.stretched)


def _of_one_head(setting: HeadPerKey) -> float:
    return _predicted(dataclasses.replace(setting, heads=1, stretched=1))


def _most(setting: HeadPerKey) -> float:
    """The largest squared error of a draw, up to a chance of 1e-20.

    The error of the mean is the mean of the heads' errors. The head of a stretched key errs by the distance of two
    corners of the simplex at most, whose square is 2. The other heads err by less than n e^-20, unless one of their
    scores lies ten standard deviations out.
    """
    return 2.0001 * (setting.stretched / setting.heads) ** 2


HYPOTHESES = {
    **problem.HYPOTHESES,
    "1 <= heads <= n": lambda s: 1 <= s.heads <= s.n,
    "1 <= stretched <= heads": lambda s: 1 <= s.stretched <= s.heads,
    "only a stretched key is missed": lambda s: s.beta * (1 - 20 * math.sqrt(s.variance)) >= 20,
}

COUNTS = (2, 4, 8, 16)


def _heads(heads: int, *, stretched: int) -> HeadPerKey:
    return HeadPerKey(n=16, d=16, beta=STRENGTH, variance=VARIANCE, heads=heads, stretched=stretched)


ERROR = Claim(
    name="many-heads-error",
    statement="$H$ heads that each ask for one of $H$ keys err by about $1/H^2$ of one head's error if one of the "
    "keys is stretched.",
    source="mathematics/noisy_keys.md#many-heads-for-many-keys; blog/multi",
    hypotheses=HYPOTHESES,
    predict=lambda s: Interval.point(_predicted(s)),
    draw=_error,
    bound=lambda s: bounded(0.0, _most(s)),
    compared=("one head and one stretched key", _of_one_head),
    # A fifth of the prediction; for sixteen stretched keys, a third.
    resolution=lambda s: max(0.2 * _predicted(s), 0.0009 * _most(s)),
    settings=tuple(_heads(count, stretched=1) for count in COUNTS),
    rival=Rival[HeadPerKey](
        statement="They err by $1/H$ of it.",
        source="the variance of a mean of $H$, though only one of them errs",
        predict=lambda s: Interval.point(_of_one_head(s) / s.heads),
    ),
    chunk=128,
)

ALL_STRETCHED = dataclasses.replace(
    ERROR,
    name="many-heads-error-with-all-keys-stretched",
    statement="$H$ heads that each ask for one of $H$ keys err by about $1/H$ of one head's error if all the keys "
    "are stretched.",
    # As many settings as the claim above: they share one compiled draw. So does the foil.
    settings=tuple(_heads(count, stretched=count) for count in COUNTS),
    rival=Rival[HeadPerKey](
        statement="They err like one head: heads that read the same keys lose them in the same draws.",
        source="the independence of the heads left out, which their orthogonal queries give them",
        predict=lambda s: Interval.point(_of_one_head(s)),
    ),
)

SQUARE_LAW = foil(
    ALL_STRETCHED,
    name="many-heads-square-law",
    statement="$H$ heads divide the error by $H^2$ even if every key is stretched.",
    source="mathematics/noisy_keys.md#many-heads-for-many-keys, for one stretched key, carried over to all; "
    "blog/multi",
    predict=lambda s: Interval.point(_of_one_head(s) / s.heads**2),
    stream=ALL_STRETCHED,
)

CLAIMS = (ERROR, ALL_STRETCHED, SQUARE_LAW)
