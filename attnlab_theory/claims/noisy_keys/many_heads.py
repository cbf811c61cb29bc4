"""As many heads as keys to average (claims D.5)."""

import dataclasses
import math

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.claims.noisy_keys import stretched_key as problem
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.noisy_keys import stretched_key as theory

STRENGTH, VARIANCE = 30.0, 1e-4


@dataclasses.dataclass(frozen=True)
class Setting:
    """So many heads, each asking for one of as many keys among n; the first keys are stretched.

    Both counts are whole numbers held as floats: one compiled draw then serves them all.
    """

    n: int
    d: int
    beta: float
    variance: float
    heads: float
    stretched: float


def _error(key: PRNGKeyArray, setting: Setting) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, setting.variance, setting.stretched)
    values = jnp.eye(setting.n, dtype=keys.dtype)
    of_every_head = attention(jnp.asarray(setting.beta, means.dtype) * means, keys, values, scale=1.0)
    position = jnp.arange(setting.n, dtype=keys.dtype)
    share = jnp.where(position < setting.heads, 1 / jnp.asarray(setting.heads, keys.dtype), 0.0).astype(keys.dtype)
    return jnp.sum((jnp.einsum("h,hv->v", share, of_every_head) - share) ** 2)


def _predicted(setting: Setting) -> float:
    return theory.many_heads_error(
        setting.n, setting.beta, setting.variance, int(setting.heads), int(setting.stretched)
    )


def _most(setting: Setting) -> float:
    """No draw errs by more, up to a chance of 1e-20.

    The mean of the heads is off by the mean of what each is off by, two corners of the simplex at most: a squared
    2. That is for the heads of stretched keys. The others miss their key by less than n e^-20, unless one of
    their scores lies ten standard deviations out.
    """
    return 2.0001 * (setting.stretched / setting.heads) ** 2


HYPOTHESES = {
    **problem.HYPOTHESES,
    "1 <= heads <= n": lambda s: 1 <= s.heads <= s.n,
    "1 <= stretched <= heads": lambda s: 1 <= s.stretched <= s.heads,
    "only a stretched key is missed": lambda s: s.beta * (1 - 20 * math.sqrt(s.variance)) >= 20,
    "whole numbers": lambda s: s.heads == int(s.heads) and s.stretched == int(s.stretched),
}

COUNTS = (2.0, 4.0, 8.0, 16.0)

ERROR = Claim(
    name="many-heads-error",
    statement="$H$ heads that each ask for one of $H$ keys err by about $1/H$ of one head's error if all the keys "
    "are stretched, and $1/H^2$ of it if one is.",
    source="claims D.5; blog multi",
    hypotheses=HYPOTHESES,
    predict=lambda s: Interval.point(_predicted(s)),
    draw=_error,
    bound=lambda s: bounded(0.0, _most(s)),
    # A fifth of what is predicted, but for sixteen stretched keys: a third.
    resolution=lambda s: max(0.2 * _predicted(s), 0.0009 * _most(s)),
    settings=(
        Setting(16, 16, STRENGTH, VARIANCE, 1.0, 1.0),
        *(Setting(16, 16, STRENGTH, VARIANCE, count, 1.0) for count in COUNTS),
        *(Setting(16, 16, STRENGTH, VARIANCE, count, count) for count in COUNTS),
    ),
    chunk=128,
)

SQUARE_LAW = dataclasses.replace(
    ERROR,
    name="many-heads-square-law",
    statement="$H$ heads divide the error by $H^2$ even if every key is stretched.",
    source="claims D.5 for one stretched key, carried over to all",
    predict=lambda s: Interval.point(_predicted(dataclasses.replace(s, heads=1.0, stretched=1.0)) / s.heads**2),
    # As many settings as the claim it mocks: the compiled draw is shared.
    settings=tuple(Setting(16, 16, STRENGTH, VARIANCE, float(count), float(count)) for count in range(2, 11)),
    stream="many-heads-error",
    expect=Verdict.REFUTED,
)

CLAIMS = (ERROR, SQUARE_LAW)
