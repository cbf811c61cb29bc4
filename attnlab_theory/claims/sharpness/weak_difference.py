"""A weak query and an even second map: exact copies, and half a hedge (docs/mathematics/sharpness.md)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import differential_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.noisy_keys import stretched_key as problem
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, known_variance
from attnlab_theory.theory.sharpness import weak_difference as theory

EPS = float(np.finfo(np.float32).eps)

NOISE = 1e-6
"""The isotropic variance of the keys: as small as the homework's."""

SLACK = 3e-4
"""What this noise may change. A difference over 1 - lambda magnifies it to about n a / 2."""


class Weak(Setting):
    """A query of this strength for the first `wanted` of n orthonormal keys."""

    n: int
    wanted: int
    beta: float


@jax.jit
def _copied(keys: Float[Array, "n n"], q: Float[Array, "1 n"], lam: Scalar, rest: Scalar) -> Float[Array, " n"]:
    """The difference over 1 - lambda."""
    return differential_weights(q, jnp.zeros_like(q), keys, lam=lam, scale=1.0)[0] / rest


def _deviation(key: PRNGKeyArray, setting: Weak) -> float:
    del key
    lam = theory.exact_lambda(setting.n, setting.beta, setting.wanted)
    q = setting.beta * np.eye(setting.n)[: setting.wanted].sum(axis=0, keepdims=True)
    weights = np.asarray(_copied(jnp.eye(setting.n), jnp.asarray(q, jnp.float32), lam, 1 - lam), float)
    return float(np.max(np.abs(weights - (np.arange(setting.n) < setting.wanted) / setting.wanted)))


def _rounding(setting: Weak) -> float:
    """Each map errs by n/2 + 6 roundings of its weights. The difference is divided by 1 - lambda, of which a weight
    is at most 1 + 1/beta times."""
    return EPS * 2 * (setting.n / 2 + 6) * (1 + 1 / setting.beta)


COPIES = exact_claim(
    name="a-weak-difference-copies-exactly",
    statement=r"For one or two of $n$ orthonormal keys and any strength $\beta > 0$, the difference from an even "
    r"map with $\lambda = n/(me^\beta + n - m)$, over $1 - \lambda$, is exactly the mean of the $m$ wanted values.",
    source="mathematics/sharpness.md#a-weak-difference-copies-exactly; Ye et al. 2024",
    hypotheses=at_least(n=3, beta=1e-3, wanted=1) | at_most(n=1024, beta=5, wanted=2),
    predict=Interval.point(0.0),
    draw=_deviation,
    rounding=_rounding,
    settings=tuple(Weak(n=16, wanted=wanted, beta=beta) for wanted in (1, 2) for beta in (0.01, 0.1, 1.0)),
    rival=Rival(
        statement=r"A wanted key lacks $1/m - e^\beta/(me^\beta + n - m)$ of its weight.",
        source="one head of the same strength",
        predict=lambda s: Interval.point(theory.miss_of_one_map(s.n, s.beta, s.wanted)),
    ),
)

STRONG = foil(
    COPIES,
    name="copying-needs-a-strength-of-ln-n",
    statement="A query of strength a tenth misses its one of 16 keys by at least half, whatever the attention.",
    source="mathematics/sharpness.md#a-weak-difference-copies-exactly; Velickovic et al. 2024, bounded scores "
    "disperse, taken for a law of every attention",
    predict=Interval.at_least(0.5),
    settings=COPIES.settings[1:2],
)


class Hedging(Setting):
    """A query of this strength for two of n keys, the first of which has the homework's uncertain length."""

    n: int
    beta: Traced[float]


def _hedging_error(key: PRNGKeyArray, setting: Hedging) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.n)
    keys = problem.keys_around(key, means, NOISE)
    q = problem.ask_for_both(means, setting.beta)
    # 1 - lambda, without the difference of two numbers near one.
    rest = 2 * jnp.expm1(setting.beta) / (2 * jnp.exp(setting.beta) + setting.n - 2)
    weights = differential_weights(q, jnp.zeros_like(q), keys, lam=1 - rest, scale=1.0)[0] / rest
    return problem.squared_error(weights)


def _hedged(setting: Hedging) -> float:
    return theory.hedging_moments(setting.n, setting.beta)[0]


HEDGES = Claim(
    name="a-weak-difference-hedges-half-way",
    statement=r"Where one wanted key has an uncertain length, the weak difference for the pair errs $(1 - 1/n)/8$ "
    r"in the limit of weak queries, less than one head at its best. At $\beta = 1$ it errs more.",
    source="mathematics/sharpness.md#a-weak-difference-hedges-half-way; Ye et al. 2024; cs224n/1c.ii",
    hypotheses=at_least(n=3, beta=0.1) | at_most(n=64, beta=2),
    predict=lambda s: Interval.around(_hedged(s), SLACK),
    draw=_hedging_error,
    bound=lambda s: known_variance(1.02 * theory.hedging_moments(s.n, s.beta)[1]),
    resolution=lambda s: 0.015 if s.beta < 0.5 else 0.05,
    settings=tuple(Hedging(n=16, beta=beta) for beta in (0.1, 1.0)),
    rival=Rival(
        statement="It errs as one head in that direction at its best strength.",
        source="one head, whatever is subtracted",
        predict=lambda s: Interval.point(theory.least_one_head_error(s.n, NOISE)),
    ),
)

REMOVES = foil(
    HEDGES,
    name="a-difference-removes-the-noise-of-a-key",
    statement="The weak difference errs at most as much as two averaged heads.",
    source="mathematics/sharpness.md#a-weak-difference-hedges-half-way; Ye et al. 2024, the common noise of two "
    "maps read as the noise of a key",
    predict=lambda s: Interval.at_most(theory.two_averaged_heads_error(s.n, NOISE)),
    settings=HEDGES.settings[:1],
)

ANY_STRENGTH = foil(
    HEDGES,
    name="the-strong-difference-hedges-too",
    statement=r"The difference errs at most $(1 - 1/n)/8$ at $\beta = 30$, too.",
    source="mathematics/sharpness.md#a-weak-difference-hedges-half-way, the limit of weak queries taken for all",
    hypotheses=at_least(n=3, beta=0.1) | at_most(n=64, beta=40),
    predict=lambda s: Interval.at_most(theory.hedging_error_of_weak_queries(s.n)),
    settings=(Hedging(n=16, beta=30.0),),
)


class Noisy(Setting):
    """The weak query for two of n orthonormal keys, all of which have isotropic noise of this variance."""

    n: int
    beta: Traced[float]
    variance: Traced[float]


def _error_of_noise(key: PRNGKeyArray, setting: Noisy) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.n)
    keys = problem.keys_around(key, means, setting.variance, 0.0)
    q = problem.ask_for_both(means, setting.beta)
    rest = 2 * jnp.expm1(setting.beta) / (2 * jnp.exp(setting.beta) + setting.n - 2)
    weights = differential_weights(q, jnp.zeros_like(q), keys, lam=1 - rest, scale=1.0)[0] / rest
    return problem.squared_error(weights)


def _noise(setting: Noisy) -> tuple[float, float]:
    return theory.noise_moments(setting.n, setting.beta, 2, setting.variance)


PRICE = Claim(
    name="a-weak-difference-pays-with-noise",
    statement=r"Isotropic noise of variance $a$ in $n$ keys adds $(n - 1)a/2$ to the error of the weak difference "
    r"for a pair, however weak the query is.",
    source="mathematics/sharpness.md#a-weak-difference-copies-exactly; Ye et al. 2024",
    # To first order in the noise of the scores, whose variance is 2 beta^2 a. Weaker queries magnify rounding.
    hypotheses=at_least(n=3, beta=0.02, variance=0.002) | at_most(n=64, beta=0.1, variance=0.02),
    predict=lambda s: Interval.around(_noise(s)[0], 0.01 * _noise(s)[0]),
    draw=_error_of_noise,
    bound=lambda s: known_variance(1.1 * _noise(s)[1]),
    resolution=lambda s: 0.4 * _noise(s)[0],
    settings=(Noisy(n=16, beta=0.05, variance=0.01),),
    rival=Rival(
        statement="It adds what it adds to one map.",
        source=r"the division by $1 - \lambda$ left out",
        predict=lambda s: Interval.point(theory.noise_of_one_map(s.n, s.beta, 2, s.variance)),
    ),
)

CLAIMS = (COPIES, STRONG, HEDGES, REMOVES, ANY_STRENGTH, PRICE)
