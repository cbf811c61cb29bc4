"""Two heads and one key of uncertain length: the hedge (docs/mathematics/noisy_keys.md).

Two heads are judged on the same keys as the one head of `one_head`.
"""

import dataclasses
import enum
import functools
from typing import assert_never

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention_scores
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, foil
from attnlab_theory.claims.hypotheses import at_least, at_most
from attnlab_theory.claims.noisy_keys import one_head
from attnlab_theory.claims.noisy_keys import stretched_key as problem
from attnlab_theory.claims.noisy_keys.stretched_key import NoisyKeys, OneOrTwoHeads
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.stats import Interval, exact, proportion, same_law
from attnlab_theory.theory.noisy_keys import one_head as one_head_theory
from attnlab_theory.theory.noisy_keys import two_heads as theory
from attnlab_theory.theory.selecting import copying

EPS = float(jnp.finfo(jnp.float32).eps)


class StarvedHead(Setting):
    """The event that head 1 gives its key less than `share` of its weight, without isotropic noise."""

    n: int
    d: int
    beta: Traced[float]
    share: Traced[float]


class End(enum.StrEnum):
    """An end of a range of weights."""

    LEAST = "least"
    GREATEST = "greatest"


class ExtremeOfHead2(Setting):
    """The least weight or the greatest that head 2 gives its key, over stretched keys without isotropic noise."""

    n: int
    d: int
    beta: float
    end: End


class LandingLaw(Setting):
    """The joint distribution of the output's weights on v_a and v_b, by one head or by two, without isotropic
    noise."""

    n: int
    d: int
    heads: Traced[int]
    beta: Traced[float]


class LandingCell(Setting):
    """A range for each of the output's weights on v_a and v_b, by one head or by two, without isotropic noise."""

    n: int
    d: int
    heads: Traced[int]
    beta: Traced[float]
    low_a: Traced[float]
    high_a: Traced[float]
    low_b: Traced[float]
    high_b: Traced[float]


ONE_HEAD = (
    "one head of the same strength",
    lambda s: one_head_theory.one_head_error(s.n, s.beta, s.variance),
)
"""With what the errors of two heads are compared."""

ERROR = dataclasses.replace(
    one_head.ERROR,
    name="two-heads-error",
    statement=r"At $\beta = 30$ the error $\mathbb{E}\|c-\frac{1}{2}(v_a+v_b)\|^2$ of two heads that ask "
    r"$\beta\mu_a$ and $\beta\mu_b$ is 1/19 of one head's, on the same keys.",
    source="mathematics/noisy_keys.md#two-heads-hedge; cs224n/1d.ii; practical4/2d.2; blog/multi",
    hypotheses=problem.TWO_HEADS,
    predict=lambda s: Interval.point(theory.two_heads_error(s.n, s.beta, s.variance)),
    resolution=0.006,
    stated={"beta": 30.0},
    compared=ONE_HEAD,
    settings=tuple(OneOrTwoHeads(n=16, d=16, heads=2, beta=beta, variance=1e-4) for beta in one_head.STRENGTHS),
    rival=Rival[OneOrTwoHeads](
        statement="They err half as much as one head of the same strength.",
        source="the mean of two independent copies of one head",
        predict=lambda s: Interval.point(one_head_theory.one_head_error(s.n, s.beta, s.variance) / 2),
    ),
)

TEN_TIMES = dataclasses.replace(
    ERROR,
    name="two-heads-err-ten-times-less",
    statement=r"From $\beta = 12$ on, two heads err at least ten times less than one head of the same strength.",
    source="mathematics/noisy_keys.md#two-heads-hedge; cs224n/1d.ii; practical4/2d.2; blog/multi",
    stated={},
    hypotheses=problem.TWO_HEADS | at_least(beta=12) | at_most(beta=50, variance=1e-4, n=16),
    predict=lambda s: Interval.at_most(one_head_theory.one_head_error(s.n, s.beta, s.variance) / 10),
    settings=tuple(
        OneOrTwoHeads(n=16, d=16, heads=2, beta=beta, variance=1e-4)
        for beta in (12.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0)
    ),
    rival=Rival[OneOrTwoHeads](
        statement="They err at least 25 times less.",
        source="the limit of strong queries without noise, 23.7, rounded up",
        predict=lambda s: Interval.at_most(one_head_theory.one_head_error(s.n, s.beta, s.variance) / 25),
    ),
)


PROBLEMS = 8
"""Problems in one draw. Key a is heard where its score under head 1 is not negative: in no problem with probability
1.5e-9."""


def _error_when_heard(key: PRNGKeyArray, setting: NoisyKeys) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    queries = problem.ask_for_each(means, setting.beta)

    def one(key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, ""]]:
        keys = problem.keys_around(key, means, setting.variance)
        heard = jnp.where(attention_scores(queries[:1], keys, scale=1.0)[0, 0] >= 0, 1.0, 0.0)
        return heard * problem.squared_error(problem.output(queries, keys)), heard

    # Given which problems are heard, each of them errs by the conditional expectation on average.
    errors, heard = jax.vmap(one)(jax.random.split(key, PROBLEMS))
    return jnp.sum(errors) / jnp.maximum(jnp.sum(heard), 1.0)


def _variance_when_heard(setting: NoisyKeys) -> float:
    """An upper bound on a draw's variance. If k problems are heard, it is a k-th of the variance of one error."""
    chance = 1 - theory.ignored_key_probability(setting.variance)
    heard = np.arange(1, PROBLEMS + 1)
    chances = scipy.special.comb(PROBLEMS, heard) * chance**heard * (1 - chance) ** (PROBLEMS - heard)
    square = theory.error_when_heard_square(setting.n, setting.beta, setting.variance)
    # A draw in which none is heard adds at most the squared conditional expectation, 1e-4, with probability 1.5e-9.
    return square * float(chances @ (1 / heard)) + 1e-12


def _resolution_when_heard(setting: NoisyKeys) -> float:
    return 0.25 * theory.two_heads_error_when_heard(setting.n, setting.beta, setting.variance)


ERROR_WHEN_HEARD = Claim(
    name="two-heads-error-when-heard",
    statement=r"Where $k_a \cdot q_1 \geq 0$ the two heads' error is smaller still: 0.0041 at $\beta = 30$, a "
    "hundredth of one head's.",
    source="mathematics/noisy_keys.md#two-heads-hedge; cs224n/1d.ii; practical4/2d.2; blog/multi",
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(theory.two_heads_error_when_heard(s.n, s.beta, s.variance)),
    draw=_error_when_heard,
    # The float32 draws round a little above the variance of exact ones.
    bound=lambda s: problem.error_bound(_resolution_when_heard(s), 1.01 * _variance_when_heard(s)),
    resolution=_resolution_when_heard,
    stated={"beta": 30.0},
    compared=ONE_HEAD,
    settings=tuple(NoisyKeys(n=16, d=16, beta=beta, variance=1e-4) for beta in (12.0, 20.0, 30.0, 50.0)),
    rival=Rival[NoisyKeys](
        statement="Setting these problems aside makes no difference.",
        source="two-heads-error, without the condition",
        predict=lambda s: Interval.point(theory.two_heads_error(s.n, s.beta, s.variance)),
    ),
    chunk=problem.CHUNK,
)


def _starved(key: PRNGKeyArray, setting: StarvedHead) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, 0.0)
    weights = problem.output(problem.ask_for_each(means, setting.beta)[:1], keys)
    return jnp.where(weights[0] < setting.share, 1.0, 0.0)


LOST = Claim(
    name="head-loses-its-key",
    statement=r"Head 1 gives $v_a$ less than half its weight exactly when $k_a \cdot q_1 < \ln(n-1)$: with "
    r"probability $\Phi(\sqrt{2}(\ln(n-1)/\beta - 1))$ as $a \to 0$.",
    source="mathematics/noisy_keys.md#two-heads-hedge; cs224n/1d.ii; practical4/2d.2; blog/multi",
    hypotheses=problem.WITHOUT_NOISE | {"share": lambda s: 0 < s.share < 1},
    predict=lambda s: Interval.point(theory.lost_key_probability(s.n, s.beta, s.share)),
    draw=_starved,
    bound=proportion(),
    # From beta = 20 on, less than half of the distance to the foil's 5 %.
    resolution=lambda s: 0.02 if s.beta < 20 else 0.014,
    settings=tuple(
        StarvedHead(n=16, d=16, beta=beta, share=0.5) for beta in (3.0, 5.0, 10.0, 20.0, 30.0, 100.0, 1000.0)
    ),
    stream=one_head.SHARE_LAW,
    chunk=problem.CHUNK,
)

NEVER_LOST = foil(
    LOST,
    name="strong-heads-never-lose-their-key",
    statement="At every strength head 1 gives $v_a$ at least half of its weight in all but 5 % of problems.",
    source="mathematics/noisy_keys.md#two-heads-hedge; cs224n/1d.ii; practical4/2d.2, the reading that a large "
    "beta cures the noise; blog/multi",
    predict=Interval.at_most(0.05),
)

POINTS_AWAY = dataclasses.replace(
    LOST,
    name="stretched-key-points-away",
    statement=r"At every strength the probability of $k_a \cdot q_1 < 0$ is $\Phi(-\sqrt{2})$, about 8 %, as "
    r"$a \to 0$. Then head 1 gives $v_a$ less than $1/n$. The homework leaves this case out.",
    source="mathematics/noisy_keys.md#two-heads-hedge; cs224n/1d.ii; practical4/2d.2; blog/multi",
    hypotheses=problem.WITHOUT_NOISE | {"share * n = 1": lambda s: s.share * s.n == 1},
    predict=Interval.point(theory.ignored_key_probability(0.0)),
    settings=tuple(
        StarvedHead(n=16, d=16, beta=beta, share=1 / 16) for beta in (3.0, 5.0, 10.0, 20.0, 30.0, 100.0, 1000.0)
    ),
    rival=Rival(
        statement=r"The probability is $\Phi(-1)$ = 16 %.",
        source="a length of variance one in the place of one half",
        predict=Interval.point(float(scipy.special.ndtr(-1.0))),
    ),
)

FARTHEST = 6.0
"""In standard deviations. Only two stretched keys in a thousand million are farther from their mean."""


@functools.partial(jax.jit, static_argnums=(0, 1))
def _weights_of_head_2(n: int, d: int, beta: Scalar) -> Float[Array, " lengths"]:
    """The weight of head 2 on its own key, for each length that key a may have."""
    means = problem.means_of(n, d)
    asked = problem.ask_for_each(means, beta)[1:]
    lengths = 1 + problem.STRETCH**0.5 * jnp.linspace(-FARTHEST, FARTHEST, 25, dtype=means.dtype)
    return jax.vmap(lambda length: problem.output(asked, means.at[0].multiply(length))[1])(lengths)


def _head_2_at_its_extreme(key: PRNGKeyArray, setting: ExtremeOfHead2) -> Float[Array, ""]:
    del key  # nothing here is random
    on_b = _weights_of_head_2(setting.n, setting.d, setting.beta)
    match setting.end:
        case End.LEAST:
            return jnp.min(on_b)
        case End.GREATEST:
            return jnp.max(on_b)
        case _:
            assert_never(setting.end)


def _score_rounding(setting: ExtremeOfHead2) -> float:
    """The rounding of a score in float32.

    Means are orthonormal to d eps, and products have d terms. A key is at most as long as six means.
    """
    return 4 * setting.d * EPS * setting.beta * (1 + problem.STRETCH**0.5 * FARTHEST)


def _if_it_asked_for_both(setting: ExtremeOfHead2) -> Interval:
    farthest = FARTHEST if setting.end == End.LEAST else -FARTHEST
    scores = setting.beta * np.append([1 + problem.STRETCH**0.5 * farthest, 1.0], np.zeros(setting.n - 2))
    return Interval.point(float(scipy.special.softmax(scores)[1]))


HEAD_2 = Claim(
    name="head-2-is-untouched",
    statement=r"At $a = 0$ head 2 gives $v_b$ the weight $e^\beta/(e^\beta+n-1)$, however long the stretched key.",
    source="mathematics/noisy_keys.md#two-heads-hedge; cs224n/1d.ii; practical4/2d.2; blog/multi",
    hypotheses=problem.WITHOUT_NOISE,
    predict=lambda s: Interval.point(1 - copying.leak_bound(s.n, s.beta)),
    draw=_head_2_at_its_extreme,
    bound=lambda s: exact(_score_rounding(s)),
    resolution=lambda s: 2.5 * _score_rounding(s),
    # At beta = 30 nothing can give v_b more than all of its weight.
    settings=(
        *(ExtremeOfHead2(n=16, d=16, beta=beta, end=end) for beta in (1.0, 3.0, 5.0) for end in End),
        ExtremeOfHead2(n=16, d=16, beta=30.0, end=End.LEAST),
    ),
    rival=Rival[ExtremeOfHead2](
        statement="A long key $k_a$ takes weight from $v_b$, and a negative one gives it back.",
        source="one head, which asks for both keys",
        predict=_if_it_asked_for_both,
    ),
)

IDENTICAL = dataclasses.replace(
    one_head.WEIGHT_VARIANCE,
    name="identical-heads-keep-the-variance",
    statement=r"Two heads that both ask $\beta(\mu_a+\mu_b)$ have the variance of one head: only different "
    "queries help.",
    source="mathematics/noisy_keys.md#it-is-the-queries-and-not-the-count; cs224n/1d.ii; practical4/2d.2",
    hypotheses=problem.TWO_HEADS,
    resolution=0.012,
    rival=Rival[OneOrTwoHeads](
        statement="They have half of it.",
        source="two independent measurements",
        predict=lambda s: Interval.point(one_head_theory.one_head_variance(s.n, s.beta, s.variance) / 2),
    ),
    settings=tuple(
        OneOrTwoHeads(n=16, d=16, heads=2, beta=beta, variance=1e-4) for beta in (2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
    ),
    stream=one_head.WEIGHT_VARIANCE,
)

IDENTICAL_HALVE = foil(
    IDENTICAL,
    name="identical-heads-halve-the-variance",
    statement="Averaging two heads with the same query halves the variance, as two measurements would.",
    source="mathematics/noisy_keys.md#it-is-the-queries-and-not-the-count; cs224n/1d.ii, the reading that more "
    "heads reduce the variance; practical4/2d.2",
    predict=lambda s: Interval.at_most(one_head_theory.one_head_variance(s.n, s.beta, s.variance) / 2),
)


def _lands(key: PRNGKeyArray, setting: LandingCell) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    keys = problem.keys_around(key, means, 0.0)
    c = problem.output_of_heads(keys, means, setting.heads, setting.beta)
    # Cells are closed on the right at one only.
    inside_a = (c[0] >= setting.low_a) & ((c[0] < setting.high_a) | (setting.high_a == 1))
    inside_b = (c[1] >= setting.low_b) & ((c[1] < setting.high_b) | (setting.high_b == 1))
    return jnp.where(inside_a & inside_b, 1.0, 0.0)


CELLS = 5
"""The number of cells along each side of the square of the output's weights on v_a and v_b."""


def _cell(setting: LandingLaw, a: int, b: int, heads: int) -> float:
    sides = [(side / CELLS, (side + 1) / CELLS) for side in (a, b)]
    return theory.landing_probability(setting.n, setting.beta, heads, *sides)


def _chances(setting: LandingLaw, heads: int) -> np.ndarray:
    """P(number of the cell <= i) for every i but the last. Cells are numbered column by column."""
    cells = [_cell(setting, a, b, heads) for a in range(CELLS) for b in range(CELLS)]
    return np.minimum(np.cumsum(cells)[:-1], 1.0)


def _number_of_the_cell(key: PRNGKeyArray, setting: LandingLaw) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    c = problem.output_of_heads(problem.keys_around(key, means, 0.0), means, setting.heads, setting.beta)
    column, row = jnp.clip(jnp.floor(CELLS * c[:2]), 0.0, CELLS - 1.0)
    return CELLS * column + row


LANDS = problem.WITHOUT_NOISE | {"one head or two": lambda s: s.heads in (1, 2)}

LANDING_LAW = Claim(
    name="law-of-where-the-output-lands",
    statement=r"At $\beta = 30$ the weights $(\alpha_a, \alpha_b)$ of the output fall into the cells of a square "
    "of five by five as predicted: the largest difference of the two distribution functions is 0.",
    source="mathematics/noisy_keys.md#where-the-output-lands; blog/two; blog/multi",
    hypotheses=LANDS,
    predict=Interval.point(0.0),
    draw=_number_of_the_cell,
    bound=lambda s: same_law(np.arange(CELLS**2 - 1), _chances(s, s.heads)),
    resolution=0.025,
    settings=tuple(LandingLaw(n=16, d=16, heads=heads, beta=30.0) for heads in (1, 2)),
    rival=Rival[LandingLaw](
        statement="One head's output falls where two heads' does.",
        source="the number of heads left out",
        predict=lambda s: Interval.point(float(np.max(np.abs(_chances(s, 1) - _chances(s, 2))))),
    ),
    stream=one_head.SHARE_LAW,
    chunk=problem.CHUNK,
)


EVENLY = 2 / (CELLS * (CELLS + 1))
"""The chance of a cell under a law without humps: the cells that the weights can reach, those of the triangle,
are equally likely."""


def _landing(setting: LandingCell) -> float:
    sides = (setting.low_a, setting.high_a), (setting.low_b, setting.high_b)
    return theory.landing_probability(setting.n, setting.beta, setting.heads, *sides)


LANDING = Claim(
    name="where-the-output-lands",
    statement=r"At $\beta = 30$ one head's output is $v_a$ or $v_b$; two heads' is the average or half of it.",
    source="mathematics/noisy_keys.md#where-the-output-lands; blog/two; blog/multi",
    hypotheses=LANDS
    | {
        "a range for a": lambda s: 0 <= s.low_a < s.high_a <= 1,
        "a range for b": lambda s: 0 <= s.low_b < s.high_b <= 1,
    },
    predict=lambda s: Interval.point(_landing(s)),
    draw=_lands,
    bound=proportion(),
    resolution=lambda s: min(0.03, 0.45 * abs(_landing(s) - EVENLY)),
    settings=tuple(
        LandingCell(
            n=16,
            d=16,
            heads=heads,
            beta=30.0,
            low_a=a / CELLS,
            high_a=(a + 1) / CELLS,
            low_b=b / CELLS,
            high_b=(b + 1) / CELLS,
        )
        for heads in (1, 2)
        for a in range(CELLS)
        for b in range(CELLS - a)
    ),
    rival=Rival[LandingCell](
        statement="The output is as likely to fall into one cell as into another.",
        source="a law without humps",
        predict=Interval.point(EVENLY),
    ),
    stream=one_head.SHARE_LAW,
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
    LANDING_LAW,
    LANDING,
)
