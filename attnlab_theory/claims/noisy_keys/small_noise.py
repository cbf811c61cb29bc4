"""Small isotropic noise in the keys (docs/mathematics/noisy_keys.md): it is harmless to queries that are neither
too weak nor too strong."""

import dataclasses
import math

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_scores
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_most
from attnlab_theory.claims.noisy_keys import stretched_key as problem
from attnlab_theory.claims.noisy_keys.stretched_key import NoisyKeys
from attnlab_theory.stats import Interval, known_variance
from attnlab_theory.theory.noisy_keys import small_noise as theory

STRENGTHS = (1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 20.0, 50.0, 200.0, 1000.0)
VARIANCES = (1e-6, 1e-4, 1e-2)
CHUNK = 128

STRONG, QUIET = 20, 0.1
"""In the harmless window e^beta is at least STRONG n, and the scores' standard deviation is at most QUIET."""


def _asked(key: PRNGKeyArray, setting: NoisyKeys) -> tuple[Float[Array, "1 d"], Float[Array, "s d"]]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, setting.variance, stretched=0.0)
    return problem.ask_for_both(means, setting.beta), keys


def _error(key: PRNGKeyArray, setting: NoisyKeys) -> Float[Array, ""]:
    return problem.squared_error(problem.output(*_asked(key, setting)))


def _exact(setting: NoisyKeys) -> float:
    return theory.averaging_error(setting.n, setting.beta, setting.variance)


def _spread(setting: NoisyKeys) -> float:
    """An upper bound on the variance of the squared error: its exact variance, plus the rounding of errors below
    3/2."""
    return theory.averaging_error_variance(setting.n, setting.beta, setting.variance) * 1.01 + 1e-12


def _fifth(setting: NoisyKeys) -> float:
    """A fifth of what is predicted: the figure spans five decades."""
    return 0.2 * _exact(setting)


ERROR = Claim(
    name="small-noise-error",
    statement=r"With isotropic noise of variance $a$ on its keys, a head errs as if each score had normal noise of "
    r"its own, of variance $2a\beta^2$. This holds at every $\beta$, also where $e^\beta \gg n$ or "
    r"$\beta\sqrt{2a} \ll 1$ fails.",
    source="mathematics/noisy_keys.md#small-isotropic-noise; cs224n/1c.i; practical4/2c.1",
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(_exact(s)),
    draw=_error,
    bound=lambda s: problem.error_bound(_fifth(s), _spread(s)),
    resolution=_fifth,
    settings=tuple(
        NoisyKeys(n=16, d=16, beta=beta, variance=variance) for variance in VARIANCES for beta in STRENGTHS
    ),
    rival=Rival[NoisyKeys](
        statement=r"The error is $\mathbb{E}(\alpha-\frac{1}{2})^2$, with the weight $\alpha$ of one of the two "
        "keys.",
        source="the weights of all other keys left out",
        predict=lambda s: Interval.point(theory.error_of_one_weight(s.n, s.beta, s.variance)),
    ),
    stream="isotropic-keys",
    chunk=CHUNK,
)

HARMLESS = dataclasses.replace(
    ERROR,
    name="small-noise-harmless-in-the-window",
    statement=r"Isotropic noise of variance $10^{-6}$ does no harm to queries from $\beta = 6$ to $50$: "
    r"$\mathbb{E}\|c-\frac{1}{2}(v_a+v_b)\|^2$ is at most 0.01.",
    source="mathematics/noisy_keys.md#small-isotropic-noise; cs224n/1c.i; practical4/2c.1",
    hypotheses={
        **problem.HYPOTHESES,
        **at_most(beta=100),
        f"e^beta >= {STRONG} n": lambda s: math.exp(s.beta) >= STRONG * s.n,
        f"beta sqrt(2a) <= {QUIET}": lambda s: theory.score_deviation(s.beta, s.variance) <= QUIET,
    },
    predict=Interval.at_most(0.01),
    settings=tuple(NoisyKeys(n=16, d=16, beta=beta, variance=1e-6) for beta in (6.0, 8.0, 12.0, 20.0, 50.0)),
    rival=Rival[NoisyKeys](
        statement=r"With noise of variance $a$ the error is at most $a\beta^2/4$.",
        source="the delta method with the noise of one key instead of two",
        predict=lambda s: Interval.at_most(theory.delta_method_error(s.beta, s.variance) / 2),
    ),
)

HARMLESS_WHEN_WEAK = foil(
    HARMLESS,
    name="small-noise-harmless-to-weak-queries",
    statement=r"Isotropic noise of variance $10^{-6}$ does no harm however weak the query: "
    r"$\mathbb{E}\|c-\frac{1}{2}(v_a+v_b)\|^2$ is at most 0.01 at $\beta \leq 2$ too.",
    source="mathematics/noisy_keys.md#small-isotropic-noise, without the weak wall; cs224n/1c.i; practical4/2c.1",
    hypotheses=problem.HYPOTHESES,
    # As many settings as the claim it contradicts: both then share one compiled draw.
    settings=tuple(NoisyKeys(n=16, d=16, beta=beta, variance=1e-6) for beta in (0.5, 1.0, 1.5, 1.75, 2.0)),
)

ALWAYS_HARMLESS = foil(
    ERROR,
    name="small-noise-harmless-at-any-strength",
    statement=r"Noise of variance $10^{-4}$ is small: a stronger query keeps the error below 0.01.",
    source="mathematics/noisy_keys.md#small-isotropic-noise; cs224n/1c.i; practical4/2c.1, read with a fixed "
    "before the query is chosen",
    predict=Interval.at_most(0.01),
    settings=tuple(NoisyKeys(n=16, d=16, beta=beta, variance=1e-4) for beta in (20.0, 50.0, 100.0, 200.0, 600.0)),
)


def _share_of_delta(key: PRNGKeyArray, setting: NoisyKeys) -> Float[Array, ""]:
    """The error divided by the delta method's a beta^2/2. Most of the term X^2/8, X = z_a - z_b, is replaced by its
    mean.

    That mean is the delta method's own error. The variance of the scores is taken as given here;
    `small-noise-error` measures it too, to a fifth.
    """
    query, keys = _asked(key, setting)
    scores = attention_scores(query, keys, scale=1.0)[0]
    mean = jnp.asarray(setting.variance) * setting.beta**2 / 2
    share = 1 / (1 + 8 * mean)
    error = problem.squared_error(problem.output(query, keys))
    return share + (error - share * (scores[0] - scores[1]) ** 2 / 8) / mean


def _at_deviation(x: float, beta: float = 30.0) -> NoisyKeys:
    return NoisyKeys(n=16, d=16, beta=beta, variance=x**2 / (2 * beta**2))


DELTA = Claim(
    name="delta-method",
    statement=r"The delta method, $\mathrm{Cov}(c) \approx 2a\beta^2 \sum_i J_i J_i^\top$, is too large by a "
    r"share of at most $x^2$, $x = \beta\sqrt{2a}$, and never too small once $e^\beta \gg n$.",
    source="mathematics/noisy_keys.md#the-delta-method; cs224n/1c.i",
    hypotheses={
        **problem.HYPOTHESES,
        "a > 0": lambda s: s.variance > 0,
        "beta * (2 * variance) ** 0.5 <= 3": lambda s: theory.score_deviation(s.beta, s.variance) <= 3,
    },
    predict=lambda s: Interval(*theory.delta_method_band(s.n, s.beta, s.variance)),
    draw=_share_of_delta,
    bound=lambda s: known_variance(1.01 * theory.delta_method_remainder_variance(s.n, s.beta, s.variance)),
    # A fifth of the shortfall x^2.
    resolution=lambda s: 0.2 * theory.score_deviation(s.beta, s.variance) ** 2,
    settings=tuple(_at_deviation(x) for x in (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)),
    rival=Rival[NoisyKeys](
        statement=r"It is too large by a share of at most $x^2/3$.",
        source="the claim with a third of its constant",
        predict=lambda s: Interval.at_least(1 - theory.score_deviation(s.beta, s.variance) ** 2 / 3),
    ),
    chunk=CHUNK,
)

DELTA_TABLED = foil(
    DELTA,
    name="delta-method-as-first-tabled",
    statement=r"With noise of variance $a$ and $\beta\sqrt{2a} = 0.05$ the delta method's variance of the output "
    "is too large by 0.7 %.",
    source="mathematics/noisy_keys.md#the-delta-method, as first tabled; cs224n/1c.i",
    predict=Interval.point(1 - 0.007),
    # As many settings as the claim above: both then share one compiled draw.
    settings=tuple(_at_deviation(0.05, beta) for beta in (20.0, 25.0, 30.0, 35.0, 40.0, 45.0)),
    stream=DELTA,
)

DELTA_FOREVER = foil(
    DELTA,
    name="delta-method-at-any-noise",
    statement=r"The delta method is within 10 % of the truth however large $\beta\sqrt{2a}$ is.",
    source="mathematics/noisy_keys.md#the-delta-method, with its condition removed; cs224n/1c.i",
    predict=Interval(0.9, 1.1),
    resolution=0.08,
    settings=tuple(_at_deviation(x) for x in (0.5, 0.7, 1.0, 1.5, 2.0, 3.0)),
    stream=DELTA,
)

CLAIMS = (ERROR, HARMLESS, HARMLESS_WHEN_WEAK, ALWAYS_HARMLESS, DELTA, DELTA_TABLED, DELTA_FOREVER)
