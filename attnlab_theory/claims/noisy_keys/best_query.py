"""Is one head doomed, or was the query bad? (claims D.7)."""

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.claims.claim import Claim, Verdict
from attnlab_theory.claims.noisy_keys import stretched_key as problem
from attnlab_theory.claims.noisy_keys.stretched_key import Heads
from attnlab_theory.stats import Interval, known_variance
from attnlab_theory.theory.noisy_keys import best_query as theory
from attnlab_theory.theory.noisy_keys import stretched_key
from attnlab_theory.theory.noisy_keys.best_query import Query

SOURCE = "claims D.7; cs224n 1c.ii"
CHUNK = 256


@dataclasses.dataclass(frozen=True)
class Setting:
    """One query, on_a mu_a + on_b mu_b + on_others times the sum of the other means; key a is stretched."""

    n: int
    d: int
    variance: float
    on_a: float
    on_b: float
    on_others: float


BEST: dict[float, tuple[Query, Query]] = {
    1e-6: (Query(0.0004, 0.0005, -6.9527), Query(2.0135, 2.9853, 0.0)),
    1e-5: (Query(0.0033, 0.0041, -5.8522), Query(2.0135, 2.9853, 0.0)),
    1e-4: (Query(0.0267, 0.0335, -4.7340), Query(2.0133, 2.9852, 0.0)),
    3e-4: (Query(0.0720, 0.0905, -4.1838), Query(2.0128, 2.9849, 0.0)),
    1e-3: (Query(0.2131, 0.2716, -3.5218), Query(2.0113, 2.9841, 0.0)),
    3e-3: (Query(0.5688, 0.7505, -2.6918), Query(2.0068, 2.9815, 0.0)),
    1e-2: (Query(1.2857, 1.8084, -1.3418), Query(1.9904, 2.9709, 0.0)),
    3e-2: (Query(1.6301, 2.3891, -0.6002), Query(1.9344, 2.9222, 0.0)),
    1e-1: (Query(1.5274, 2.2741, -0.3150), Query(1.6483, 2.5049, 0.0)),
}
"""By noise variance, for n = 16: the best of all queries, and the best that speaks of the two keys only.

Rounded from `theory.best_query`, which a test runs again: a search is too slow for every run of a claim.
"""

STRENGTH = {
    1e-6: 330.0,
    2e-6: 260.0,
    4e-6: 205.0,
    6e-6: 178.0,
    1e-5: 149.0,
    2e-5: 117.0,
    4e-5: 92.0,
    1e-4: 67.0,
    2e-4: 53.0,
    3e-4: 46.0,
    1e-3: 30.0,
    3e-3: 20.0,
    1e-2: 13.4,
    3e-2: 9.3,
    1e-1: 6.8,
}
"""By noise variance, for n = 16: the best strength of two heads, rounded from `theory.best_two_heads`."""


def _setting(variance: float, query: Query) -> Setting:
    return Setting(16, 16, variance, *query)


def _query(setting: Setting) -> Query:
    return Query(setting.on_a, setting.on_b, setting.on_others)


def _error(key: PRNGKeyArray, setting: Setting) -> Float[Array, ""]:
    means = problem.means_of(setting.n, setting.d)
    on = jnp.full((setting.n,), setting.on_others, means.dtype).at[0].set(setting.on_a).at[1].set(setting.on_b)
    keys = problem.keys_around(key, means, setting.variance)
    return problem.squared_error(problem.output(jnp.einsum("s,sd->d", on, means)[None], keys))


def _predicted(setting: Setting) -> float:
    return theory.query_error(setting.n, setting.variance, _query(setting))


def _two_heads(variance: float) -> float:
    return stretched_key.many_heads_error(16, STRENGTH[variance], variance, 2, 1)


BEST_QUERY = Claim(
    name="best-query-error",
    statement=r"The error of the best of all single queries goes to 0 as $a \to 0$: it asks for neither key and "
    r"pushes the others away, $q \approx -B\sum_{i \neq a,b} \mu_i$.",
    source=SOURCE,
    hypotheses={"n <= d": lambda s: s.n <= s.d, "a > 0": lambda s: s.variance > 0},
    predict=lambda s: Interval.point(_predicted(s)),
    draw=_error,
    bound=lambda s: known_variance(1.01 * theory.query_error_variance(s.n, s.variance, _query(s)) + 1e-12),
    resolution=lambda s: 0.1 * _predicted(s),
    settings=tuple(_setting(variance, best) for variance, (best, _) in BEST.items()),
    stream="single-queries",
    chunk=CHUNK,
)

BEST_FOR_THE_PAIR = dataclasses.replace(
    BEST_QUERY,
    name="best-query-for-the-pair-error",
    statement=r"The best query among $x\mu_a + y\mu_b$ is weak, about $2\mu_a + 3\mu_b$ for $n = 16$: it trades "
    "the gamble for weight on the other keys.",
    settings=tuple(_setting(variance, for_pair) for variance, (_, for_pair) in BEST.items()),
)

PAIR_LOSES = dataclasses.replace(
    BEST_FOR_THE_PAIR,
    name="queries-for-the-pair-lose",
    statement=r"A query that speaks of the two keys only, $x\mu_a + y\mu_b$, errs at least one and a half times "
    r"as much as two heads $\beta\mu_a$, $\beta\mu_b$ at their best $\beta$.",
    predict=lambda s: Interval.at_least(1.5 * _two_heads(s.variance)),
)

EVERY_QUERY_LOSES = dataclasses.replace(
    BEST_QUERY,
    name="every-single-query-loses",
    statement="Every single query errs more than two heads: one head is doomed.",
    source="claims D.7 as first expected",
    predict=lambda s: Interval.at_least(_two_heads(s.variance)),
    # One query that errs less refutes it; there are as many settings as above, so that the compiled draw is shared.
    settings=tuple(
        _setting(variance, BEST[near][0])
        for near, variances in ((1e-6, (1e-6, 2e-6, 4e-6, 6e-6)), (1e-5, (1e-5, 2e-5, 4e-5)), (1e-4, (1e-4, 2e-4)))
        for variance in variances
    ),
    expect=Verdict.REFUTED,
)

LOSES_UNDER_NOISE = dataclasses.replace(
    BEST_QUERY,
    name="best-query-loses-under-noise",
    statement=r"From $a = 10^{-3}$ to $10^{-1}$ the best of all single queries errs at least one and a half times "
    r"as much as two heads $\beta\mu_a$, $\beta\mu_b$ at their best $\beta$.",
    hypotheses={"n <= d": lambda s: s.n <= s.d, "1e-3 <= a <= 1e-1": lambda s: 1e-3 <= s.variance <= 1e-1},
    predict=lambda s: Interval.at_least(1.5 * _two_heads(s.variance)),
    settings=tuple(_setting(variance, best) for variance, (best, _) in BEST.items() if variance >= 1e-3),
)

PLANE = dataclasses.replace(
    BEST_FOR_THE_PAIR,
    name="no-query-for-the-pair-beats-the-best",
    statement=r"No $x\mu_a + y\mu_b$ on a grid errs less than the best one found, 0.1357 at $a = 10^{-4}$.",
    predict=lambda s: Interval.at_least(theory.query_error(s.n, s.variance, BEST[s.variance][1])),
    resolution=lambda s: 0.03,
    settings=tuple(
        Setting(16, 16, 1e-4, x, y, 0.0)
        for x in (-2.0, 0.0, 1.0, 2.0, 3.0, 5.0, 8.0)
        for y in (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0)
    ),
    chunk=64,
)

SPACE = dataclasses.replace(
    PLANE,
    name="no-query-beats-the-best",
    statement=r"No single query on a grid errs less than the best one found, 0.1218 at $a = 10^{-2}$.",
    predict=lambda s: Interval.at_least(theory.query_error(s.n, s.variance, BEST[s.variance][0])),
    # Forty-nine settings, as above: the compiled draw is shared.
    settings=(
        Setting(16, 16, 1e-2, 0.0, 0.0, -4.0),
        *(
            Setting(16, 16, 1e-2, x, y, others)
            for x in (0.0, 1.0, 1.5, 2.0)
            for y in (1.0, 2.0, 3.0)
            for others in (-3.0, -2.0, -1.0, -0.5)
        ),
    ),
)


TWO_HEADS = Claim(
    name="two-heads-at-their-best",
    statement=r"Two heads $\beta\mu_a$, $\beta\mu_b$ at their best $\beta$ keep an error of 0.02 as $a \to 0$: "
    "the lost key.",
    source=SOURCE,
    hypotheses=problem.HYPOTHESES,
    predict=lambda s: Interval.point(stretched_key.many_heads_error(s.n, s.beta, s.variance, 2, 1)),
    draw=problem.error_of_heads,
    bound=lambda s: problem.error_bound(),
    resolution=lambda s: max(0.008, 0.1 * stretched_key.many_heads_error(s.n, s.beta, s.variance, 2, 1)),
    settings=tuple(Heads(16, 16, 2.0, STRENGTH[variance], variance) for variance in BEST),
    stream=problem.STREAM,
    chunk=problem.CHUNK,
)

CLAIMS = (BEST_QUERY, BEST_FOR_THE_PAIR, PAIR_LOSES, EVERY_QUERY_LOSES, LOSES_UNDER_NOISE, PLANE, SPACE, TWO_HEADS)
