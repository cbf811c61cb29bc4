"""Whether a difference of two maps is quieter than one of them (docs/mathematics/sharpness.md)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import differential_weights
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded
from attnlab_theory.theory.sharpness import difference as theory


class TwoMaps(Setting):
    """n irrelevant keys with two scores N(0, spread^2) of correlation rho; the second map counts minus lam."""

    n: int
    spread: Traced[float]
    lam: Traced[float]
    rho: Traced[float]


def _noise(key: PRNGKeyArray, setting: TwoMaps) -> Float[Array, ""]:
    g, h = jax.random.normal(key, (2, setting.n))
    keys = jnp.stack([g, setting.rho * g + jnp.sqrt(1 - setting.rho**2) * h], axis=1)
    q = jnp.eye(2)
    weights = differential_weights(q[:1], q[1:], keys, lam=setting.lam, scale=setting.spread)
    return jnp.sum(weights**2)


def _predicted(setting: TwoMaps) -> float:
    return theory.noise(setting.n, setting.spread, setting.lam, setting.rho)


def _rival(setting: TwoMaps) -> float:
    return theory.noise_of_many_keys(setting.n, setting.spread, setting.lam, setting.rho)


NOISE = Claim(
    name="noise-power-of-a-difference",
    statement=r"Over $n$ irrelevant keys the difference $\alpha - \lambda\alpha'$ of two maps leaves the noise $(1 "
    r"+ \lambda^2)A - 2\lambda B$: it is quieter than one map if and only if $\lambda < 2B/A$.",
    source="mathematics/sharpness.md#what-a-difference-does-to-noise; Ye et al. 2024",
    hypotheses=at_least(n=2, rho=0, lam=0.05) | at_most(n=1024, spread=3, lam=1, rho=0.98) | more_than(spread=0),
    predict=lambda s: Interval.point(_predicted(s)),
    draw=_noise,
    bound=lambda s: bounded(0.0, 1.001 + s.lam**2),
    resolution=lambda s: min(0.015, 0.4 * abs(_rival(s) - _predicted(s))),
    settings=(
        *(TwoMaps(n=64, spread=2.0, lam=0.8, rho=rho) for rho in (0.0, 0.5, 0.8, 0.95)),
        *(TwoMaps(n=64, spread=2.0, lam=0.5, rho=rho) for rho in (0.0, 0.5, 0.8, 0.95)),
    ),
    rival=Rival(
        statement=r"The noise is $[(1 + \lambda^2)e^{\sigma^2} - 2\lambda e^{\rho\sigma^2}]/n$.",
        source="log-normal calculus: all sums replaced by their means",
        predict=lambda s: Interval.point(_rival(s)),
    ),
)

CANCELS = foil(
    NOISE,
    name="differential-attention-cancels-noise",
    statement="A difference of two maps is at most as noisy as one of them, though their scores have nothing in "
    "common.",
    source="mathematics/sharpness.md#what-a-difference-does-to-noise; Ye et al. 2024, read without asking whether "
    "the noise of the two maps is alike",
    predict=lambda s: Interval.at_most(theory.one_map(s.n, s.spread)),
    settings=(NOISE.settings[0], NOISE.settings[4]),
)

CLAIMS = (NOISE, CANCELS)
