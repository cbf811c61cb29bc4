"""Two heads and one key of uncertain length: the hedge (claims D.3, D.4), on the keys of `one_head`."""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_scores
from attnlab_theory.claims import stretched_key as problem
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.claims.one_head import STRENGTHS
from attnlab_theory.claims.stretched_key import Setting
from attnlab_theory.stats import Interval, bounded, proportion
from attnlab_theory.theory import heads as theory

SOURCE = "claims D.3; cs224n 1d.ii; practical4 2d.2; blog multi"


@dataclasses.dataclass(frozen=True)
class Cell:
    """A range for each of the output's weights on v_a and v_b, by one head or by two, without isotropic noise."""

    n: int
    d: int
    heads: float
    beta: float
    low_a: float
    high_a: float
    low_b: float
    high_b: float


def _keys(key: PRNGKeyArray, setting: Setting) -> tuple[Float[Array, "s d"], Float[Array, "s d"]]:
    means = problem.means_of(setting.n, setting.d)
    return means, problem.keys_around(key, means, setting.variance)


def _error(key: PRNGKeyArray, setting: Setting) -> Float[Array, ""]:
    means, keys = _keys(key, setting)
    return problem.squared_error(problem.output(problem.ask_for_each(means, setting.beta), keys))


ERROR = Claim(
    name="two-heads-error",
    statement=r"Two heads asking $\beta\mu_a$ and $\beta\mu_b$ err by a nineteenth of one head's "
    r"$\mathbb{E}\|c-\frac{1}{2}(v_a+v_b)\|^2$ at $\beta = 30$, on the same keys.",
    source=SOURCE,
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(theory.many_heads_error(s.n, s.beta, s.variance, 2, 1)),
    draw=_error,
    bound=lambda s: problem.error_bound(),
    resolution=lambda s: 0.006,
    settings=tuple(Setting(16, 16, beta, 1e-4) for beta in STRENGTHS),
    stream=problem.STREAM,
    chunk=problem.CHUNK,
)


def _error_when_heard(key: PRNGKeyArray, setting: Setting) -> Float[Array, ""]:
    means, keys = _keys(key, setting)
    queries = problem.ask_for_each(means, setting.beta)
    heard = attention_scores(queries[:1], keys, scale=1.0)[0, 0] >= 0
    # Dividing by the chance of being heard makes the expectation of this draw the conditional expectation.
    chance = jax.scipy.stats.norm.cdf(1 / jnp.sqrt(jnp.asarray(problem.STRETCH + setting.variance)))
    return jnp.where(heard, problem.squared_error(problem.output(queries, keys)), 0.0) / chance


ERROR_WHEN_HEARD = dataclasses.replace(
    ERROR,
    name="two-heads-error-when-heard",
    statement=r"Given $k_a \cdot q_1 \geq 0$ the two heads' error falls further: 115 times below one head's at "
    r"$\beta = 30$.",
    predict=lambda s: Interval.point(theory.two_heads_error_when_heard(s.n, s.beta, s.variance)),
    draw=_error_when_heard,
    bound=lambda s: problem.error_bound(1 / (1 - theory.ignored_key_probability(s.variance))),
    resolution=lambda s: 0.0025,
    settings=tuple(Setting(16, 16, beta, 1e-4) for beta in (12.0, 20.0, 30.0, 50.0)),
)


def _advantage(key: PRNGKeyArray, setting: Setting) -> Float[Array, ""]:
    means, keys = _keys(key, setting)
    one = problem.output(problem.ask_for_both(means, setting.beta), keys)
    two = problem.output(problem.ask_for_each(means, setting.beta), keys)
    return problem.squared_error(one) - 10 * problem.squared_error(two)


TEN_TIMES = dataclasses.replace(
    ERROR,
    name="two-heads-err-ten-times-less",
    statement=r"On the same keys and at the same strength, two heads err at least ten times less than one.",
    predict=lambda s: Interval.at_least(0.0),
    draw=_advantage,
    bound=lambda s: bounded(-15.001, 1.5001),
    resolution=lambda s: 0.06,
    settings=tuple(Setting(16, 16, beta, 1e-4) for beta in (20.0, 30.0, 50.0)),
)


def _loses_its_key(key: PRNGKeyArray, setting: Setting) -> Float[Array, ""]:
    means, keys = _keys(key, setting)
    weights = problem.output(problem.ask_for_each(means, setting.beta)[:1], keys)
    return jnp.where(weights[0] < 0.5, 1.0, 0.0)


LOST = dataclasses.replace(
    ERROR,
    name="head-loses-its-key",
    statement=r"Head 1 gives $v_a$ less than half its weight exactly when $k_a \cdot q_1 < \ln(n-1)$: with "
    r"probability $\Phi(\sqrt{2}(\ln(n-1)/\beta - 1))$ as $a \to 0$.",
    predict=lambda s: Interval.point(theory.lost_key_probability(s.n, s.beta)),
    draw=_loses_its_key,
    bound=lambda s: proportion(),
    resolution=lambda s: 0.02,
    settings=tuple(Setting(16, 16, beta, 0.0) for beta in (3.0, 5.0, 10.0, 20.0, 30.0, 100.0, 1000.0)),
)

NEVER_LOST = dataclasses.replace(
    LOST,
    name="strong-heads-never-lose-their-key",
    statement=r"Some strength makes head 1 copy $v_a$ in all but 5 % of problems: this one does.",
    source="the reading of practical4 2d.2 that a large beta cures the noise",
    predict=lambda s: Interval.at_most(0.05),
    expect=Verdict.REFUTED,
)


def _ignored(key: PRNGKeyArray, setting: Setting) -> Float[Array, ""]:
    means, keys = _keys(key, setting)
    score = attention_scores(problem.ask_for_each(means, setting.beta)[:1], keys, scale=1.0)[0, 0]
    return jnp.where(score < 0, 1.0, 0.0)


IGNORED = dataclasses.replace(
    LOST,
    name="stretched-key-points-away",
    statement=r"$k_a \cdot q_1 < 0$, the event the homework sets aside, has probability $\Phi(-1/\sqrt{1/2+a})$ "
    "at every strength: the limit of losing the key.",
    predict=lambda s: Interval.point(theory.ignored_key_probability(s.variance)),
    draw=_ignored,
    settings=tuple(
        Setting(16, 16, beta, a) for a, betas in ((0.0, (3.0, 1000.0)), (0.5, (30.0,))) for beta in betas
    ),
)


def _identical_variance(key: PRNGKeyArray, setting: Setting) -> Float[Array, ""]:
    def weight(key: PRNGKeyArray) -> Float[Array, ""]:
        means, keys = _keys(key, setting)
        both = problem.ask_for_both(means, setting.beta)
        return problem.output(jnp.concatenate([both, both]), keys)[0]

    here, there = jax.random.split(key)
    return (weight(here) - weight(there)) ** 2 / 2


IDENTICAL = dataclasses.replace(
    ERROR,
    name="identical-heads-keep-the-variance",
    statement=r"Two heads that both ask $\beta(\mu_a+\mu_b)$ have the variance of one: it is the queries, "
    "not the count.",
    source="claims D.4",
    predict=lambda s: Interval.point(theory.one_head_variance(s.n, s.beta, s.variance)),
    draw=_identical_variance,
    bound=lambda s: bounded(0.0, 0.5001),
    resolution=lambda s: 0.015,
    settings=tuple(Setting(16, 16, beta, 1e-4) for beta in (5.0, 12.0, 30.0)),
    stream="one-head-variance",
)

IDENTICAL_HALVE = dataclasses.replace(
    IDENTICAL,
    name="identical-heads-halve-the-variance",
    statement="Averaging two heads with the same query halves the variance, as two measurements would.",
    source='the reading of cs224n 1d that "more heads reduce the variance"',
    predict=lambda s: Interval.at_most(theory.one_head_variance(s.n, s.beta, s.variance) / 2),
    expect=Verdict.REFUTED,
)


def _lands(key: PRNGKeyArray, setting: Cell) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, jnp.zeros((), means.dtype))
    one = problem.output(problem.ask_for_both(means, setting.beta), keys)
    two = problem.output(problem.ask_for_each(means, setting.beta), keys)
    c = jnp.where(setting.heads == 1, one, two)
    # Cells are closed on the right at one only.
    inside_a = (c[0] >= setting.low_a) & ((c[0] < setting.high_a) | (setting.high_a == 1))
    inside_b = (c[1] >= setting.low_b) & ((c[1] < setting.high_b) | (setting.high_b == 1))
    return jnp.where(inside_a & inside_b, 1.0, 0.0)


LANDING = Claim(
    name="where-the-output-lands",
    statement=r"At $\beta = 30$ one head's output is $v_a$ or $v_b$; two heads' is the average or half of it.",
    source="claims D.2, D.3; blog two, multi",
    hypotheses={"one head or two": lambda s: s.heads in (1, 2), "n <= d": lambda s: s.n <= s.d},
    predict=lambda s: Interval.point(
        theory.landing_probability(s.n, s.beta, int(s.heads), (s.low_a, s.high_a), (s.low_b, s.high_b))
    ),
    draw=_lands,
    bound=lambda s: proportion(),
    resolution=lambda s: 0.03,
    settings=tuple(
        Cell(16, 16, heads, 30.0, a / 5, (a + 1) / 5, b / 5, (b + 1) / 5)
        for heads in (1.0, 2.0)
        for a in range(5)
        for b in range(5)
    ),
    stream=problem.STREAM,
    chunk=problem.CHUNK,
)

CLAIMS = (
    ERROR,
    ERROR_WHEN_HEARD,
    TEN_TIMES,
    LOST,
    NEVER_LOST,
    IGNORED,
    IDENTICAL,
    IDENTICAL_HALVE,
    LANDING,
)
