"""Copying one value out of many (claims B.1)."""

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_weights
from attnlab_theory.claims.claim import Claim
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, exact
from attnlab_theory.theory import copying as theory


@dataclasses.dataclass(frozen=True)
class Setting:
    """A query beta * k_0 among n orthonormal keys of width d."""

    n: int
    d: int
    beta: float


def _rounding(setting: Setting) -> float:
    """A weight's absolute rounding: float32 scores up to beta, then a sum of n terms."""
    return float(jnp.finfo(jnp.float32).eps) * (8 * setting.beta + 2 * setting.n + 4)


def _weight_lost(key: PRNGKeyArray, setting: Setting) -> Float[Array, ""]:
    keys = orthonormal(key, setting.n, setting.d)
    return 1 - attention_weights(setting.beta * keys[:1], keys, scale=1.0)[0, 0]


COPY_WEIGHT = Claim(
    name="copy-weight",
    statement=r"For orthonormal keys and $q = \beta k_j$, the weight off $k_j$ is $(n-1)/(e^\beta + n - 1)$.",
    source="claims B.1; practical4 2a; cs224n 1a.ii",
    hypotheses={"n <= d": lambda s: s.n <= s.d, "beta > 0": lambda s: s.beta > 0},
    predict=lambda s: Interval.point(theory.leak_bound(s.n, s.beta)),
    draw=_weight_lost,
    bound=lambda s: exact(_rounding(s)),
    resolution=lambda s: 4 * _rounding(s),
    settings=tuple(Setting(n, 64, beta) for n in (4, 16, 64) for beta in (1.0, 2.0, 4.0, 8.0, 12.0)),
)

CLAIMS = (COPY_WEIGHT,)
