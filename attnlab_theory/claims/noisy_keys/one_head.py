"""One head and one key of uncertain length: the gamble (docs/mathematics/noisy_keys.md)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.noisy_keys import stretched_key as problem
from attnlab_theory.claims.noisy_keys.stretched_key import OneOrTwoHeads
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, bounded, proportion, same_law
from attnlab_theory.theory.noisy_keys import one_head as theory

STRENGTHS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0)


class ShareLaw(Setting):
    """The distribution of alpha_a / (alpha_a + alpha_b), the share of v_a, for one head without isotropic noise."""

    n: int
    d: int
    beta: Traced[float]


class ShareBin(Setting):
    """A range of alpha_a / (alpha_a + alpha_b), the share of v_a, for one head without isotropic noise."""

    n: int
    d: int
    beta: Traced[float]
    low: Traced[float]
    high: Traced[float]


def _share(weights: Float[Array, " s"]) -> Float[Array, ""]:
    return weights[0] / (weights[0] + weights[1])


def _drawn_share(key: PRNGKeyArray, setting: ShareLaw) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    return _share(problem.output(problem.ask_for_both(means, setting.beta), problem.keys_around(key, means, 0.0)))


SHARES = scipy.special.expit(np.linspace(-30.0, 6.0, 181))
"""The shares at which distribution functions are compared. Above 1 - 1e-7 float32 has no digits left, near 0 it has
all."""


def _law(beta: float) -> np.ndarray:
    """P(share <= x) at `SHARES`."""
    deviation = theory.ratio_deviation(beta, 0.0)
    return np.array([theory.logit_normal_probability(0.0, x, deviation) for x in SHARES])


def _far_from_law(setting: ShareLaw) -> Interval:
    """How far the distribution would be from the claim's if z_a had the variance beta^2, not half of it."""
    others = scipy.special.ndtr(scipy.special.logit(SHARES) / setting.beta)
    return Interval.point(float(np.max(np.abs(others - _law(setting.beta)))))


SHARE_LAW = Claim(
    name="one-head-share",
    statement=r"The share $\alpha_a/(\alpha_a+\alpha_b)$ is logit-normal as $a \to 0$: it is $\sigma(\beta "
    r"g/\sqrt{2})$ with a standard normal $g$. The largest difference of the two distribution functions is 0.",
    source="mathematics/noisy_keys.md#one-head-gambles; cs224n/1c.ii; practical4/2c.2; blog/variance",
    hypotheses=problem.WITHOUT_NOISE,
    predict=Interval.point(0.0),
    draw=_drawn_share,
    bound=lambda s: same_law(SHARES, _law(s.beta)),
    resolution=0.025,
    settings=tuple(ShareLaw(n=16, d=16, beta=beta) for beta in (1.0, 4.0, 30.0)),
    rival=Rival[ShareLaw](
        statement=r"The share is $\sigma(\beta g)$.",
        source="the claim with a stretch of variance 1",
        predict=_far_from_law,
    ),
    stream="stretched-key",
    chunk=problem.CHUNK,
)


def _in_bin(key: PRNGKeyArray, setting: ShareBin) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, 0.0)
    share = _share(problem.output(problem.ask_for_both(means, setting.beta), keys))
    # The last bin is closed on the right: a share may round to one.
    inside = (share >= setting.low) & ((share < setting.high) | (setting.high == 1))
    return jnp.where(inside, 1.0, 0.0)


SHARE_BINS = Claim(
    name="one-head-share-in-fifths",
    statement=r"The share $\alpha_a/(\alpha_a+\alpha_b)$ has two humps beyond $\beta = 2$ and becomes a coin flip "
    r"as $\beta$ grows. It falls into each fifth of $[0, 1]$ as often as $\sigma(\beta g/\sqrt{2})$ does, with a "
    "standard normal $g$.",
    source="mathematics/noisy_keys.md#one-head-gambles; cs224n/1c.ii; practical4/2c.2; blog/variance",
    hypotheses=problem.WITHOUT_NOISE | {"a range of shares": lambda s: 0 <= s.low < s.high <= 1},
    predict=lambda s: Interval.point(
        theory.logit_normal_probability(s.low, s.high, theory.ratio_deviation(s.beta, 0.0))
    ),
    draw=_in_bin,
    bound=proportion(),
    resolution=0.025,
    settings=tuple(
        ShareBin(n=16, d=16, beta=beta, low=fifth / 5, high=(fifth + 1) / 5)
        for beta in (1.0, 4.0, 30.0)
        for fifth in range(5)
    ),
    rival=Rival[ShareBin](
        statement="Every share is as likely as any other.",
        source="a law without humps",
        predict=lambda s: Interval.point(s.high - s.low),
    ),
    stream=SHARE_LAW,
    chunk=problem.CHUNK,
)


class ShareMoment(Setting):
    """A moment of the share of v_a: its mean (order 1) or its mean squared distance from one half (order 2)."""

    n: int
    d: int
    beta: Traced[float]
    variance: Traced[float]
    order: Traced[int]


def _share_moment(key: PRNGKeyArray, setting: ShareMoment) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, setting.variance)
    query = problem.ask_for_both(means, setting.beta)
    weights = problem.output(query, keys)
    # Under strong noise other keys may leave the pair less than a float32 can hold. The pair alone has the share.
    is_seen = weights[0] + weights[1] > jnp.finfo(weights.dtype).tiny
    share = _share(jnp.where(is_seen, weights[:2], problem.output(query, keys[:2])))
    return jnp.where(setting.order == 1, share, (share - 0.5) ** 2)


SHARE_MEAN = Claim(
    name="one-head-is-fair-on-average",
    statement=r"The mean of $\alpha_a/(\alpha_a+\alpha_b)$ is $1/2$ at every strength: the average over many "
    "problems hides the gamble.",
    source="mathematics/noisy_keys.md#one-head-gambles; cs224n/1c.ii; practical4/2c.2; blog/variance",
    hypotheses=problem.HYPOTHESES | {"the mean": lambda s: s.order == 1},
    predict=Interval.point(0.5),
    draw=_share_moment,
    bound=bounded(0.0, 1.0),
    resolution=0.025,
    settings=tuple(ShareMoment(n=16, d=16, beta=beta, variance=1e-4, order=1) for beta in (1.0, 3.0, 5.0, 30.0)),
    rival=Rival[ShareMoment](
        statement=r"The stretched key wins more than its half: the mean share is $\mathbb{E}[e^{z_a}]/\mathbb{E}"
        r"[e^{z_a}+e^{z_b}] = \sigma(\beta^2/4)$.",
        source="a ratio's mean, taken for the ratio of the means",
        predict=lambda s: Interval.point(float(scipy.special.expit(problem.STRETCH * s.beta**2 / 2))),
    ),
    stream=SHARE_LAW,
    chunk=problem.CHUNK,
)

SHARE_SPREAD = dataclasses.replace(
    SHARE_MEAN,
    name="one-head-share-variance",
    statement=r"The variance of $\alpha_a/(\alpha_a+\alpha_b)$ is that of $\sigma(\beta g \sqrt{1/2 + 4a})$ with "
    "a standard normal $g$, for noise of any variance $a$.",
    source="mathematics/noisy_keys.md#one-head-gambles; cs224n/1c.ii; practical4/2c.2; blog/variance",
    hypotheses=problem.HYPOTHESES | {"the variance": lambda s: s.order == 2},
    predict=lambda s: Interval.point(theory.logit_normal_variance(theory.ratio_deviation(s.beta, s.variance))),
    bound=bounded(0.0, 0.25),
    resolution=0.008,
    rival=Rival[ShareMoment](
        statement=r"The variance is $\beta^2(1/2+4a)/16$, or that of a coin, $1/4$, where this is less.",
        source="the delta method: the square of the slope of the logistic function at 0, times the variance",
        predict=lambda s: Interval.point(min(0.25, theory.ratio_deviation(s.beta, s.variance) ** 2 / 16)),
    ),
    # Here and below, claims with the same draw have as many settings as one another: it is compiled once.
    settings=tuple(
        ShareMoment(n=16, d=16, beta=5.0, variance=variance, order=2) for variance in (0.0, 0.05, 0.2, 0.5)
    ),
)

SHARE_IGNORES_NOISE = foil(
    SHARE_SPREAD,
    name="one-head-share-without-4a",
    statement=r"The variance of $\alpha_a/(\alpha_a+\alpha_b)$ is that of $\sigma(\beta g/\sqrt{2})$ with a "
    "standard normal $g$, for noise of any variance $a$.",
    source="mathematics/noisy_keys.md#one-head-gambles, with the term 4a removed; cs224n/1c.ii; practical4/2c.2; "
    "blog/variance",
    predict=lambda s: Interval.point(theory.logit_normal_variance(theory.ratio_deviation(s.beta, 0.0))),
    settings=tuple(
        ShareMoment(n=16, d=16, beta=5.0, variance=variance, order=2) for variance in (0.05, 0.1, 0.2, 0.5)
    ),
)


def variance_with_one_query(key: PRNGKeyArray, setting: OneOrTwoHeads) -> Float[Array, ""]:
    """An unbiased draw of the variance of the output's weight on v_a, for heads with the query beta (mu_a +
    mu_b)."""
    means = problem.means_of(setting.n, setting.d)
    both = problem.ask_for_both(means, setting.beta)

    def weight(key: PRNGKeyArray) -> Float[Array, ""]:
        keys = problem.keys_around(key, means, setting.variance)
        one, two = problem.output(both, keys), problem.output(jnp.concatenate([both, both]), keys)
        return jnp.where(setting.heads == 1, one, two)[0]

    # Half the squared difference of two independent problems has the variance for expectation: no mean is needed.
    here, there = jax.random.split(key)
    return (weight(here) - weight(there)) ** 2 / 2


WEIGHT_VARIANCE = Claim(
    name="one-head-variance",
    statement=r"$\mathrm{Var}(\alpha_a)$ grows with the query's strength, from 0 towards that of a coin, $1/4$.",
    source="mathematics/noisy_keys.md#the-error-of-one-head; cs224n/1c.ii; practical4/2c.2; blog/variance",
    hypotheses=problem.ONE_HEAD,
    predict=lambda s: Interval.point(theory.one_head_variance(s.n, s.beta, s.variance)),
    draw=variance_with_one_query,
    bound=bounded(0.0, 0.5001),
    # Less than half of the distance to the rival, which is least at the weakest query and at the strongest.
    resolution=lambda s: 0.008 if s.beta < 3 else 0.012,
    settings=tuple(
        OneOrTwoHeads(n=16, d=16, heads=1, beta=beta, variance=1e-4) for beta in (2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
    ),
    rival=Rival[OneOrTwoHeads](
        statement=r"The variance is $(\alpha_a(1-\alpha_a))^2$ at the noiseless weight, times $\beta^2/2$, or "
        "$1/4$ where this is less.",
        source="the delta method, up to the variance of a coin",
        predict=lambda s: Interval.point(min(0.25, theory.one_head_delta_variance(s.n, s.beta))),
    ),
    chunk=problem.CHUNK,
)

ERROR = Claim(
    name="one-head-error",
    statement=r"One head asking $\beta(\mu_a+\mu_b)$ errs by $\mathbb{E}\|c-\frac{1}{2}(v_a+v_b)\|^2 \to 1/2$ as "
    r"$\beta$ grows: the output is $v_a$ or $v_b$.",
    source="mathematics/noisy_keys.md#the-error-of-one-head; cs224n/1c.ii; practical4/2c.2; blog/variance",
    hypotheses=problem.ONE_HEAD,
    predict=lambda s: Interval.point(theory.one_head_error(s.n, s.beta, s.variance)),
    draw=problem.error_of_heads,
    bound=problem.ERROR_BOUND,
    resolution=0.012,
    settings=tuple(OneOrTwoHeads(n=16, d=16, heads=1, beta=beta, variance=1e-4) for beta in STRENGTHS),
    stream=SHARE_LAW,
    chunk=problem.CHUNK,
)

STAYS_NEAR = foil(
    ERROR,
    name="one-head-stays-near-the-average",
    statement=r"The query that averages two exact keys keeps $\mathbb{E}\|c-\frac{1}{2}(v_a+v_b)\|^2$ below 0.05 "
    "when one key's length varies.",
    source="mathematics/noisy_keys.md#the-error-of-one-head; cs224n/1c.ii, the reading that carries the query of "
    "1c.i over; practical4/2c.2; blog/variance",
    predict=Interval.at_most(0.05),
)

CLAIMS = (SHARE_LAW, SHARE_BINS, SHARE_MEAN, SHARE_SPREAD, SHARE_IGNORES_NOISE, WEIGHT_VARIANCE, ERROR, STAYS_NEAR)
