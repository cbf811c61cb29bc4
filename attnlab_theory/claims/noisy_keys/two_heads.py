"""Two heads and one key of uncertain length: the hedge (claims D.3, D.4), on the keys of `one_head`."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_scores
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.claims.noisy_keys import one_head
from attnlab_theory.claims.noisy_keys import stretched_key as problem
from attnlab_theory.claims.noisy_keys.stretched_key import Heads, Setting
from attnlab_theory.stats import Interval, exact, known_variance, proportion
from attnlab_theory.theory.noisy_keys import stretched_key as theory
from attnlab_theory.theory.selecting import copying

EPS = float(jnp.finfo(jnp.float32).eps)

SOURCE = "claims D.3; cs224n 1d.ii; practical4 2d.2; blog multi"


@dataclasses.dataclass(frozen=True)
class Starved:
    """Head 1 gives its key less than this share of its weight; no isotropic noise."""

    n: int
    d: int
    beta: float
    share: float


@dataclasses.dataclass(frozen=True)
class Extreme:
    """The least weight or the greatest that head 2 gives its key, over stretched keys without isotropic noise."""

    n: int
    d: int
    beta: float
    end: str


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


ERROR = dataclasses.replace(
    one_head.ERROR,
    name="two-heads-error",
    statement=r"Two heads asking $\beta\mu_a$ and $\beta\mu_b$ err by a nineteenth of one head's "
    r"$\mathbb{E}\|c-\frac{1}{2}(v_a+v_b)\|^2$ at $\beta = 30$, on the same keys.",
    source=SOURCE,
    predict=lambda s: Interval.point(theory.many_heads_error(s.n, s.beta, s.variance, 2, 1)),
    resolution=lambda s: 0.006,
    settings=tuple(Heads(16, 16, 2.0, beta, 1e-4) for beta in one_head.STRENGTHS),
)

TEN_TIMES = dataclasses.replace(
    ERROR,
    name="two-heads-err-ten-times-less",
    statement=r"From $\beta = 12$ on, two heads err at least ten times less than one head of the same strength.",
    predict=lambda s: Interval.at_most(theory.one_head_error(s.n, s.beta, s.variance) / 10),
    settings=tuple(
        Heads(16, 16, 2.0, beta, 1e-4) for beta in (12.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0)
    ),
)


PROBLEMS = 4
"""In one draw, for a variance that 2**16 draws can bear."""


def _error_when_heard(key: PRNGKeyArray, setting: Setting) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    queries = problem.ask_for_each(means, setting.beta)

    def counted(key: PRNGKeyArray) -> Float[Array, ""]:
        keys = problem.keys_around(key, means, setting.variance)
        heard = attention_scores(queries[:1], keys, scale=1.0)[0, 0] >= 0
        return jnp.where(heard, problem.squared_error(problem.output(queries, keys)), 0.0)

    # Dividing by the chance of being heard makes the expectation of this draw the conditional expectation.
    chance = jax.scipy.stats.norm.cdf(1 / jnp.sqrt(jnp.asarray(problem.STRETCH + setting.variance)))
    return jnp.mean(jax.vmap(counted)(jax.random.split(key, PROBLEMS))) / chance


def _variance_when_heard(setting: Setting) -> float:
    square = theory.error_when_heard_square(setting.n, setting.beta, setting.variance)
    return square / (1 - theory.ignored_key_probability(setting.variance)) / PROBLEMS


ERROR_WHEN_HEARD = Claim(
    name="two-heads-error-when-heard",
    statement=r"Given $k_a \cdot q_1 \geq 0$ the two heads' error falls further: to 0.0041 at $\beta = 30$, a "
    "hundredth of one head's.",
    source=SOURCE,
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(theory.two_heads_error_when_heard(s.n, s.beta, s.variance)),
    draw=_error_when_heard,
    # The float32 draws round a little above the variance of exact ones.
    bound=lambda s: known_variance(1.01 * _variance_when_heard(s)),
    resolution=lambda s: 0.25 * theory.two_heads_error_when_heard(s.n, s.beta, s.variance),
    settings=tuple(Setting(16, 16, beta, 1e-4) for beta in (12.0, 20.0, 30.0, 50.0)),
    chunk=problem.CHUNK,
)


def _starved(key: PRNGKeyArray, setting: Starved) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, 0.0)
    weights = problem.output(problem.ask_for_each(means, setting.beta)[:1], keys)
    return jnp.where(weights[0] < setting.share, 1.0, 0.0)


LOST = Claim(
    name="head-loses-its-key",
    statement=r"Head 1 gives $v_a$ less than half its weight exactly when $k_a \cdot q_1 < \ln(n-1)$: with "
    r"probability $\Phi(\sqrt{2}(\ln(n-1)/\beta - 1))$ as $a \to 0$.",
    source=SOURCE,
    hypotheses={
        "n <= d": lambda s: s.n <= s.d,
        "beta > 0": lambda s: s.beta > 0,
        "share": lambda s: 0 < s.share < 1,
    },
    predict=lambda s: Interval.point(theory.lost_key_probability(s.n, s.beta, s.share)),
    draw=_starved,
    bound=lambda s: proportion(),
    resolution=lambda s: 0.02,
    settings=tuple(Starved(16, 16, beta, 0.5) for beta in (3.0, 5.0, 10.0, 20.0, 30.0, 100.0, 1000.0)),
    stream=problem.STREAM,
    chunk=problem.CHUNK,
)

NEVER_LOST = dataclasses.replace(
    LOST,
    name="strong-heads-never-lose-their-key",
    statement=r"Some strength makes head 1 copy $v_a$ in all but 5 % of problems: this one does.",
    source="the reading of practical4 2d.2 that a large beta cures the noise",
    predict=lambda s: Interval.at_most(0.05),
    expect=Verdict.REFUTED,
)

POINTS_AWAY = dataclasses.replace(
    LOST,
    name="stretched-key-points-away",
    statement=r"$k_a \cdot q_1 < 0$, the event the homework sets aside, $v_a$ getting less than an even share, has "
    r"probability $\Phi(-\sqrt{2})$ at every strength as $a \to 0$: the limit of losing the key.",
    predict=lambda s: Interval.point(theory.ignored_key_probability(0.0)),
    settings=tuple(Starved(16, 16, beta, 1 / 16) for beta in (3.0, 5.0, 10.0, 20.0, 30.0, 100.0, 1000.0)),
)

FARTHEST = 6.0
"""In standard deviations: all stretched keys but two in a thousand million are no farther from their mean."""


@functools.partial(jax.jit, static_argnums=(0, 1))
def _weights_of_head_2(n: int, d: int, beta: Scalar) -> Float[Array, " lengths"]:
    """On its own key, over the lengths that key a may have."""
    means = problem.means_of(n, d)
    asked = problem.ask_for_each(means, beta)[1:]
    lengths = 1 + problem.STRETCH**0.5 * jnp.linspace(-FARTHEST, FARTHEST, 25, dtype=means.dtype)
    return jax.vmap(lambda length: problem.output(asked, means.at[0].multiply(length))[1])(lengths)


def _head_2_at_its_extreme(key: PRNGKeyArray, setting: Extreme) -> Float[Array, ""]:
    del key  # nothing here is random
    on_b = _weights_of_head_2(setting.n, setting.d, setting.beta)
    return jnp.min(on_b) if setting.end == "least" else jnp.max(on_b)


def _score_rounding(setting: Extreme) -> float:
    """Of a score in float32: orthonormal to d eps, products of d terms, a key of six means' length at most."""
    return 4 * setting.d * EPS * setting.beta * (1 + problem.STRETCH**0.5 * FARTHEST)


HEAD_2 = Claim(
    name="head-2-is-untouched",
    statement=r"At $a = 0$ head 2 gives $v_b$ the weight $e^\beta/(e^\beta+n-1)$, however long the stretched key.",
    source=SOURCE,
    hypotheses={"n <= d": lambda s: s.n <= s.d, "least or greatest": lambda s: s.end in ("least", "greatest")},
    predict=lambda s: Interval.point(1 - copying.leak_bound(s.n, s.beta)),
    draw=_head_2_at_its_extreme,
    bound=lambda s: exact(_score_rounding(s)),
    resolution=lambda s: 2.5 * _score_rounding(s),
    settings=tuple(Extreme(16, 16, beta, end) for beta in (1.0, 3.0, 5.0, 30.0) for end in ("least", "greatest")),
)

IDENTICAL = dataclasses.replace(
    one_head.WEIGHT_VARIANCE,
    name="identical-heads-keep-the-variance",
    statement=r"Two heads that both ask $\beta(\mu_a+\mu_b)$ have the variance of one: it is the queries, "
    "not the count.",
    source="claims D.4",
    settings=tuple(Heads(16, 16, 2.0, beta, 1e-4) for beta in (2.0, 3.0, 5.0, 10.0, 20.0, 50.0)),
    stream="one-head-variance",
)

IDENTICAL_HALVE = dataclasses.replace(
    IDENTICAL,
    name="identical-heads-halve-the-variance",
    statement="Averaging two heads with the same query halves the variance, as two measurements would.",
    source="the reading of cs224n 1d that more heads reduce the variance",
    predict=lambda s: Interval.at_most(theory.one_head_variance(s.n, s.beta, s.variance) / 2),
    expect=Verdict.REFUTED,
)


def _lands(key: PRNGKeyArray, setting: Cell) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, 0.0)
    c = problem.output_of_heads(keys, means, setting.heads, setting.beta)
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
    TEN_TIMES,
    ERROR_WHEN_HEARD,
    LOST,
    NEVER_LOST,
    POINTS_AWAY,
    HEAD_2,
    IDENTICAL,
    IDENTICAL_HALVE,
    LANDING,
)
