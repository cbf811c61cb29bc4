"""Averaging a set of values with one query (docs/mathematics/selecting.md)."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.claims.claim import Rival, Verdict, exact_claim
from attnlab_theory.claims.hypotheses import at_most, more_than
from attnlab_theory.claims.setting import Setting
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval
from attnlab_theory.theory.selecting import averaging as theory

EPS = float(np.finfo(np.float32).eps)


class Averaging(Setting):
    """A query that is beta times the sum of the first `size` of n orthonormal keys of width d."""

    n: int
    size: int
    d: int
    beta: float


HYPOTHESES = (
    more_than(beta=0)
    | at_most(beta=80)
    | {
        "n <= d": lambda s: s.n <= s.d,
        "0 < size < n": lambda s: 0 < s.size < s.n,
    }
)


def _rounding(setting: Averaging) -> float:
    """Relative rounding of a weight.

    Rows out of a float32 QR factorisation are orthonormal to a few eps * sqrt(d). A score is beta times a sum of
    `size` products of rows. The exponential makes its error a relative one, of numerator and normaliser. The sum
    adds n eps.
    """
    return EPS * (4 * setting.d**0.5 * setting.size * setting.beta + 2 * setting.n + 8)


def _query_and_keys(key: PRNGKeyArray, setting: Averaging) -> tuple[Float[Array, "1 d"], Float[Array, "n d"]]:
    keys = orthonormal(key, setting.n, setting.d)
    return jnp.sum(keys[: setting.size], axis=0, keepdims=True), keys


def _least_share(key: PRNGKeyArray, setting: Averaging) -> Float[Array, ""]:
    weights = attention_weights(*_query_and_keys(key, setting), scale=setting.beta)[0]
    return jnp.min(weights[: setting.size])


def of_the_mean(formula: Callable[[int, int, float], float]) -> Rival[Averaging]:
    """The rival that asks with the mean of the keys, which is 1/|S| of their sum."""
    return Rival(
        statement=r"The mean of the wanted keys, times $\beta$, does the same as their sum.",
        source="uw/1.3.2, as submitted, read for orthonormal keys",
        predict=lambda s: Interval.point(formula(s.n, s.size, s.beta / s.size)),
    )


STRENGTHS = tuple(float(beta) for beta in range(1, 13))

AVERAGE_SHARE = exact_claim(
    name="average-share",
    statement=r"For orthonormal keys and $q = \beta \sum_S k_i$, the smallest weight on a wanted key is "
    r"$e^\beta / (|S| e^\beta + n - |S|)$.",
    source="mathematics/selecting.md#averaging-a-set-of-values; practical4/2b; cs224n/1b.ii; blog/two",
    hypotheses=HYPOTHESES,
    predict=lambda s: Interval.point(theory.share(s.n, s.size, s.beta)),
    draw=_least_share,
    rounding=lambda s: theory.share(s.n, s.size, s.beta) * _rounding(s),
    settings=tuple(Averaging(n=16, size=size, d=64, beta=beta) for size in (2, 3, 5) for beta in STRENGTHS[::2]),
    rival=of_the_mean(theory.share),
)


def _gap_between_means(key: PRNGKeyArray, setting: Averaging) -> tuple[Float[Array, " v"], Float[Array, " v"]]:
    """Two vectors from the mean of the wanted values: to the output, and to the mean of the other values."""
    for_keys, for_values = jax.random.split(key)
    q, keys = _query_and_keys(for_keys, setting)
    values = jax.random.normal(for_values, (setting.n, setting.d))
    # Values are taken relative to the wanted mean, so that a small error is not the difference of two large
    # numbers.
    values = values - jnp.mean(values[: setting.size], axis=0, keepdims=True)
    return attention(q, keys, values, scale=setting.beta)[0], jnp.mean(values[setting.size :], axis=0)


def _error_coefficient(key: PRNGKeyArray, setting: Averaging) -> Float[Array, ""]:
    error, others = _gap_between_means(key, setting)
    return jnp.dot(error, others) / jnp.dot(others, others)


def _sideways(key: PRNGKeyArray, setting: Averaging) -> Float[Array, ""]:
    error, others = _gap_between_means(key, setting)
    along = others / jnp.linalg.norm(others)
    return jnp.linalg.norm(error - jnp.dot(error, along) * along) / jnp.linalg.norm(others)


def _error_rounding(setting: Averaging) -> float:
    # Weights on S differ by their rounding. Normal values on S are up to sqrt(n) times as long as the mean of the
    # others; twice that is safe. Two sums of d products add d eps.
    return _rounding(setting) * 2 * setting.n**0.5 + setting.d * EPS


SOME = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)

AVERAGE_ERROR = exact_claim(
    name="average-error",
    statement=r"The output goes $\frac{n-|S|}{|S|e^\beta+n-|S|}$ of the way from the mean of the wanted values "
    r"to the mean of the others: an equality, for any values.",
    source="mathematics/selecting.md#averaging-a-set-of-values; practical4/2b; cs224n/1b.ii; blog/two",
    hypotheses=HYPOTHESES,
    predict=lambda s: Interval.point(theory.error_coefficient(s.n, s.size, s.beta)),
    draw=_error_coefficient,
    rounding=_error_rounding,
    settings=(
        *(Averaging(n=n, size=2, d=64, beta=beta) for n in (4, 16, 64) for beta in SOME),
        *(Averaging(n=16, size=size, d=64, beta=beta) for size in (3, 5) for beta in SOME),
    ),
    rival=of_the_mean(theory.error_coefficient),
)

AVERAGE_DIRECTION = exact_claim(
    name="average-error-points-at-the-others",
    statement="When a query averages some of the values, the error points from their mean exactly towards the mean "
    "of the other values.",
    source="mathematics/selecting.md#averaging-a-set-of-values; practical4/2b; cs224n/1b.ii; blog/two",
    hypotheses=HYPOTHESES,
    predict=Interval.point(0.0),
    draw=_sideways,
    rounding=_error_rounding,
    settings=tuple(Averaging(n=16, size=size, d=64, beta=beta) for size in (2, 5) for beta in (1.0, 2.0, 3.0)),
    rival=Rival(
        statement="A tenth of the error goes sideways.",
        source="the smallest angle that would matter, six degrees",
        predict=lambda s: Interval.at_least(0.1 * theory.error_coefficient(s.n, s.size, s.beta)),
    ),
)

UNSCALED_MEAN = exact_claim(
    name="mean-of-two-keys-averages-two",
    statement="With $q = (k_a + k_b)/2$, unscaled, the output goes less than 5 % of the way from the mean of "
    "$v_a$ and $v_b$ to that of the other values.",
    source="mathematics/selecting.md#averaging-a-set-of-values; practical4/2b; cs224n/1b.ii; blog/two; uw/1.3.2, "
    "as submitted, read for orthonormal keys",
    hypotheses=HYPOTHESES,
    predict=Interval.at_most(0.05),
    draw=_error_coefficient,
    rounding=_error_rounding,
    settings=tuple(Averaging(n=n, size=2, d=64, beta=0.5) for n in (4, 16, 64)),
    expect=Verdict.REFUTED,
)

CLAIMS = (AVERAGE_SHARE, AVERAGE_ERROR, AVERAGE_DIRECTION, UNSCALED_MEAN)
