"""One head and one key of uncertain length: the gamble (claims D.2)."""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.claims.noisy_keys import stretched_key as problem
from attnlab_theory.claims.noisy_keys.stretched_key import Heads
from attnlab_theory.stats import Interval, bounded, proportion
from attnlab_theory.theory.noisy_keys import stretched_key as theory

SOURCE = "claims D.2; cs224n 1c.ii; practical4 2c.2; blog variance"
STRENGTHS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0)


@dataclasses.dataclass(frozen=True)
class Bin:
    """A range of the share of v_a in what one head makes of v_a and v_b, without isotropic noise."""

    n: int
    d: int
    beta: float
    low: float
    high: float


def _share(weights: Float[Array, " s"]) -> Float[Array, ""]:
    return weights[0] / (weights[0] + weights[1])


def _in_bin(key: PRNGKeyArray, setting: Bin) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, 0.0)
    share = _share(problem.output(problem.ask_for_both(means, setting.beta), keys))
    # The last bin is closed on the right: a share may round to one.
    inside = (share >= setting.low) & ((share < setting.high) | (setting.high == 1))
    return jnp.where(inside, 1.0, 0.0)


SHARE_LAW = Claim(
    name="one-head-share",
    statement=r"The share $\alpha_a/(\alpha_a+\alpha_b)$ is logit-normal, $\sigma(\beta g/\sqrt{2})$ as $a \to 0$: "
    r"two humps beyond $\beta = 2$, and a coin flip in the end.",
    source=SOURCE,
    hypotheses={
        "n <= d": lambda s: s.n <= s.d,
        "beta > 0": lambda s: s.beta > 0,
        "a range": lambda s: s.low < s.high,
    },
    predict=lambda s: Interval.point(
        theory.logit_normal_probability(s.low, s.high, theory.ratio_deviation(s.beta, 0.0))
    ),
    draw=_in_bin,
    bound=lambda s: proportion(),
    resolution=lambda s: 0.03,
    settings=tuple(
        Bin(16, 16, beta, bin_ / 20, (bin_ + 1) / 20) for beta in (1.0, 4.0, 30.0) for bin_ in range(20)
    ),
    stream=problem.STREAM,
    chunk=problem.CHUNK,
)


@dataclasses.dataclass(frozen=True)
class Moment:
    """Of the share of v_a: its mean if `order` is 1, its mean squared distance from one half if it is 2."""

    n: int
    d: int
    beta: float
    variance: float
    order: float


def _share_moment(key: PRNGKeyArray, setting: Moment) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, setting.variance)
    share = _share(problem.output(problem.ask_for_both(means, setting.beta), keys))
    return jnp.where(setting.order == 1, share, (share - 0.5) ** 2)


SHARE_MEAN = Claim(
    name="one-head-is-fair-on-average",
    statement=r"The mean of $\alpha_a/(\alpha_a+\alpha_b)$ is $1/2$ at every strength: the average over many "
    "problems hides the gamble.",
    source=SOURCE,
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(0.5),
    draw=_share_moment,
    bound=lambda s: bounded(0.0, 1.0),
    resolution=lambda s: 0.03,
    settings=tuple(Moment(16, 16, beta, 1e-4, 1.0) for beta in (1.0, 3.0, 5.0, 30.0)),
    stream=problem.STREAM,
    chunk=problem.CHUNK,
)

SHARE_SPREAD = dataclasses.replace(
    SHARE_MEAN,
    name="one-head-share-variance",
    statement=r"The variance of $\alpha_a/(\alpha_a+\alpha_b)$ is that of $\sigma(\beta g \sqrt{1/2 + 4a})$, "
    "whatever the size of $a$.",
    predict=lambda s: Interval.point(theory.logit_normal_variance(theory.ratio_deviation(s.beta, s.variance))),
    bound=lambda s: bounded(0.0, 0.25),
    resolution=lambda s: 0.008,
    # Here and below, claims with the same draw have as many settings as one another: it is compiled once.
    settings=tuple(Moment(16, 16, 5.0, variance, 2.0) for variance in (0.0, 0.05, 0.2, 0.5)),
)

SHARE_IGNORES_NOISE = dataclasses.replace(
    SHARE_SPREAD,
    name="one-head-share-without-4a",
    statement=r"The variance of $\alpha_a/(\alpha_a+\alpha_b)$ is that of $\sigma(\beta g/\sqrt{2})$ whatever $a$.",
    source="claims D.2 with the term 4a removed",
    predict=lambda s: Interval.point(theory.logit_normal_variance(theory.ratio_deviation(s.beta, 0.0))),
    settings=tuple(Moment(16, 16, 5.0, variance, 2.0) for variance in (0.05, 0.1, 0.2, 0.5)),
    expect=Verdict.REFUTED,
)


def variance_with_one_query(key: PRNGKeyArray, setting: Heads) -> Float[Array, ""]:
    """An unbiased draw of the variance of c's weight on v_a, for heads that all ask beta (mu_a + mu_b)."""
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
    source=SOURCE,
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(theory.one_head_variance(s.n, s.beta, s.variance)),
    draw=variance_with_one_query,
    bound=lambda s: bounded(0.0, 0.5001),
    resolution=lambda s: 0.015,
    settings=tuple(Heads(16, 16, 1.0, beta, 1e-4) for beta in (2.0, 3.0, 5.0, 10.0, 20.0, 50.0)),
    chunk=problem.CHUNK,
)

ERROR = Claim(
    name="one-head-error",
    statement=r"One head asking $\beta(\mu_a+\mu_b)$ errs by $\mathbb{E}\|c-\frac{1}{2}(v_a+v_b)\|^2 \to 1/2$ as "
    r"$\beta$ grows: the output is $v_a$ or $v_b$.",
    source=SOURCE,
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(theory.one_head_error(s.n, s.beta, s.variance)),
    draw=problem.error_of_heads,
    bound=lambda s: problem.error_bound(),
    resolution=lambda s: 0.012,
    settings=tuple(Heads(16, 16, 1.0, beta, 1e-4) for beta in STRENGTHS),
    stream=problem.STREAM,
    chunk=problem.CHUNK,
)

STAYS_NEAR = dataclasses.replace(
    ERROR,
    name="one-head-stays-near-the-average",
    statement=r"The query that averages two exact keys keeps $\mathbb{E}\|c-\frac{1}{2}(v_a+v_b)\|^2$ below 0.05 "
    "when one key's length varies.",
    source="the reading of cs224n 1c.i that carries its query over to 1c.ii",
    predict=lambda s: Interval.at_most(0.05),
    expect=Verdict.REFUTED,
)

CLAIMS = (SHARE_LAW, SHARE_MEAN, SHARE_SPREAD, SHARE_IGNORES_NOISE, WEIGHT_VARIANCE, ERROR, STAYS_NEAR)
