"""Copying one value out of many (docs/mathematics/selecting.md)."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.axes import Scalar
from attnlab_theory.claims.claim import Claim, Rival, exact_claim, foil
from attnlab_theory.claims.hypotheses import at_least, at_most, more_than
from attnlab_theory.claims.setting import Setting, Traced
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval, bounded, proportion
from attnlab_theory.theory.selecting import copying as theory

EPS = float(np.finfo(np.float32).eps)


class Copying(Setting):
    """A query of strength beta along the first of n orthonormal keys of width d."""

    n: int
    d: int
    beta: float


class Accuracy(Setting):
    """How much weight may leak from the first of n orthonormal keys of width d."""

    n: int
    d: int
    leak: float


class Lead(Setting):
    """Any n keys of width d, a random query of any length, and a first key that leads by `gap`."""

    n: int
    d: int
    gap: Traced[float]


def _rounding(n: int, beta: float, d: int) -> float:
    """Relative rounding of the leaked weight.

    Rows out of a float32 QR factorisation are orthonormal to a few eps * sqrt(d). A query multiplies this error by
    beta, and the exponential makes it a relative one. The sum over n weights adds n eps.
    """
    return EPS * (4 * d**0.5 * beta + 2 * n + 4)


def _leak(weights: Float[Array, "1 s"]) -> Float[Array, ""]:
    """The weight off the first key, summed: 1 - weight would lose the digits of a small leak."""
    return jnp.sum(weights[0, 1:])


def _weight_lost(key: PRNGKeyArray, setting: Copying) -> Float[Array, ""]:
    keys = orthonormal(key, setting.n, setting.d)
    return _leak(attention_weights(keys[:1], keys, scale=setting.beta))


def _leak_rounding(setting: Copying) -> float:
    return theory.leak_bound(setting.n, setting.beta) * _rounding(setting.n, setting.beta, setting.d)


STRENGTHS = tuple(float(beta) for beta in range(1, 13))
ORTHONORMAL = at_least(n=2) | {"n <= d": lambda s: s.n <= s.d} | more_than(beta=0) | at_most(beta=80)

COPY_WEIGHT = exact_claim(
    name="copy-weight",
    statement=r"For orthonormal keys and $q = \beta k_j$, the weight off $k_j$ is $(n-1)/(e^\beta + n - 1)$.",
    source="mathematics/selecting.md#copying-one-value; practical4/2a; cs224n/1a.ii; uw/1.2.1",
    hypotheses=ORTHONORMAL,
    predict=lambda s: Interval.point(theory.leak_bound(s.n, s.beta)),
    draw=_weight_lost,
    rounding=_leak_rounding,
    settings=tuple(Copying(n=n, d=64, beta=beta) for n in (4, 16, 64) for beta in STRENGTHS),
    rival=Rival(
        statement=r"The weight off $k_j$ is $n/(e^\beta + n)$.",
        source="the wanted key counted among the others",
        predict=lambda s: Interval.point(theory.leak_bound(s.n + 1, s.beta)),
    ),
)


@jax.jit
def _leak_at(keys: Float[Array, "s d"], beta: Scalar) -> Float[Array, ""]:
    return _leak(attention_weights(keys[:1], keys, scale=beta))


def _strength_found(key: PRNGKeyArray, setting: Accuracy) -> Float[Array, ""]:
    keys = orthonormal(key, setting.n, setting.d)

    def excess(beta: float) -> float:
        return float(_leak_at(keys, beta)) - setting.leak

    found = scipy.optimize.brentq(excess, 1e-3, 40.0, xtol=1e-6)
    return jnp.asarray(found)


def _strength_rounding(setting: Accuracy) -> float:
    # d ln(leak) / d beta = -(1 - leak): a leak known to a relative r places beta to r / (1 - leak).
    beta = theory.strength_needed(setting.n, setting.leak)
    return 1e-6 + 2 * EPS * beta + _rounding(setting.n, beta, setting.d) / (1 - setting.leak)


COPY_STRENGTH = exact_claim(
    name="copy-strength",
    statement=r"The least strength that copies with leak $\epsilon$ is $\ln((n-1)(1-\epsilon)/\epsilon)$.",
    source="mathematics/selecting.md#copying-one-value; practical4/2a; cs224n/1a.ii; uw/1.2.1",
    hypotheses=at_least(n=2)
    | {
        "n <= d": lambda s: s.n <= s.d,
        "0.000001 <= leak <= 0.99 * (1 - 1/n)": lambda s: 1e-6 <= s.leak <= 0.99 * (1 - 1 / s.n),
    },
    predict=lambda s: Interval.point(theory.strength_needed(s.n, s.leak)),
    draw=_strength_found,
    rounding=_strength_rounding,
    settings=tuple(Accuracy(n=n, d=64, leak=leak) for leak in (0.1, 0.01, 0.001) for n in (2, 4, 8, 16, 32, 64)),
    rival=Rival(
        statement=r"The least strength is $\ln((n-1)/\epsilon)$.",
        source=r"the leak taken for its odds: $1 - \epsilon$ left out",
        predict=lambda s: Interval.point(math.log((s.n - 1) / s.leak)),
    ),
)


def _led(key: PRNGKeyArray, n: int, d: int, gap: Scalar) -> tuple[Float[Array, "1 d"], Float[Array, "n d"]]:
    """A random query and random keys, the first moved along the query until it leads by `gap`.

    The length of the query spans orders of magnitude. Under a short query the other keys have nearly equal scores,
    and the bound is nearly met.
    """
    for_keys, for_query, for_length = jax.random.split(key, 3)
    keys = jax.random.normal(for_keys, (n, d))
    q = jax.random.normal(for_query, (1, d)) / jnp.sqrt(jnp.asarray(d, keys.dtype))
    q = q * jnp.exp(-3 * jnp.abs(jax.random.normal(for_length)))
    scores = jnp.einsum("td,sd->ts", q, keys)[0]
    missing = jnp.max(scores[1:]) + jnp.asarray(gap, keys.dtype) - scores[0]
    return q, keys.at[0].add(missing * q[0] / jnp.sum(q * q))


def _leak_when_led(key: PRNGKeyArray, setting: Lead) -> Float[Array, ""]:
    q, keys = _led(key, setting.n, setting.d, setting.gap)
    return _leak(attention_weights(q, keys, scale=1.0))


def _bound_broken(key: PRNGKeyArray, setting: Lead) -> Float[Array, ""]:
    return broken_with(setting.n - 1, key, setting)


def broken_with(others: int, key: PRNGKeyArray, setting: Lead) -> Float[Array, ""]:
    """Whether a random problem breaks the leak bound for this number of other keys."""
    x = others * jnp.exp(-jnp.asarray(setting.gap))
    # The gap is exact up to the rounding of scores below 32. The tolerance is larger than that.
    return jnp.where(_leak_when_led(key, setting) > x / (1 + x) * (1 + 512 * EPS), 1.0, 0.0)


LEADS = tuple(Lead(n=16, d=8, gap=gap) for gap in (0.5, 1.0, 2.0, 4.0, 6.0, 8.0))
LEAD = at_least(n=2, d=1, gap=0) | at_most(gap=80)

LEAK_BOUND = Claim(
    name="leak-bound",
    statement=r"Whatever the keys, a key that leads by $\Delta$ loses at most "
    r"$(n-1)e^{-\Delta}/(1+(n-1)e^{-\Delta})$ of the weight on average over random problems.",
    source="mathematics/selecting.md#copying-one-value; practical4/2a; cs224n/1a.ii; uw/1.2.1",
    hypotheses=LEAD,
    predict=lambda s: Interval.at_most(theory.leak_bound(s.n, s.gap)),
    draw=_leak_when_led,
    bound=bounded(0.0, 1.0),
    resolution=lambda s: 0.2 * theory.leak_bound(s.n, s.gap),
    settings=LEADS,
    rival=Rival(
        statement=r"It loses at most $e^{-\Delta}/(1+e^{-\Delta})$.",
        source="the runner-up alone, as if there were two keys",
        predict=lambda s: Interval.at_most(theory.leak_bound(2, s.gap)),
    ),
    stream="copying-leads",
)

LEAK_NEVER = Claim(
    name="leak-bound-never-broken",
    statement=r"No random problem in which one key leads by $\Delta$ breaks the leak bound.",
    source="mathematics/selecting.md#copying-one-value; practical4/2a; cs224n/1a.ii; uw/1.2.1",
    hypotheses=LEAD,
    predict=Interval.point(0.0),
    draw=_bound_broken,
    bound=proportion(),
    resolution=2e-3,
    settings=LEADS,
    rival=Rival(
        statement="One problem in ten breaks it.",
        source="as many as break the bound with $n - 2$ others in the place of $n - 1$, and more",
        predict=Interval.at_least(0.1),
    ),
    stream=LEAK_BOUND,
)


def _error_bound_broken(key: PRNGKeyArray, setting: Lead) -> Float[Array, ""]:
    return further_than(1.0, key, setting)


def further_than(share: float, key: PRNGKeyArray, setting: Lead) -> Float[Array, ""]:
    """Whether the output is further from the wanted value than this share of its bound.

    The other values lie around one point. The distance of this point from the wanted value spans orders of
    magnitude, and so does the spread around the point. Where the other values nearly agree, the error nearly equals
    the bound.
    """
    for_problem, for_values = jax.random.split(key)
    q, keys = _led(for_problem, setting.n, setting.d, setting.gap)
    normals = jax.random.normal(for_values, (2 + setting.n, setting.d))
    apart, spread = jnp.exp(3 * normals[0, 0]), jnp.exp(3 * normals[0, 1])
    values = (spread * normals[2:]).at[1:].add(apart * normals[1])
    lost = _leak(attention_weights(q, keys, scale=1.0))
    furthest = jnp.max(jnp.linalg.norm(values - values[:1], axis=1))
    error = jnp.linalg.norm(attention(q, keys, values, scale=1.0)[0] - values[0])
    # Weights and values are those of the operator itself; sums of n and of d terms are rounded on either side.
    rounding = 4 * (setting.n + setting.d) * EPS * jnp.max(jnp.linalg.norm(values, axis=1))
    return jnp.where(error > share * lost * furthest + rounding, 1.0, 0.0)


COPY_ERROR = Claim(
    name="copy-error",
    statement=r"In no random problem is the output further from the copied value than the leaked weight times the "
    r"furthest value: $\|c - v_j\| \leq (1 - \alpha_j) \max_i \|v_i - v_j\|$.",
    source="mathematics/selecting.md#the-error-of-a-copy; practical4/2a; cs224n/1a.iii",
    hypotheses=LEAD,
    predict=Interval.point(0.0),
    draw=_error_bound_broken,
    bound=proportion(),
    resolution=2e-3,
    settings=(Lead(n=4, d=2, gap=1.0), *(Lead(n=16, d=8, gap=gap) for gap in (0.5, 1.0, 4.0))),
    rival=Rival(
        statement="One problem in ten breaks it.",
        source="as many as break a bound that is one per cent lower, and more",
        predict=Interval.at_least(0.1),
    ),
)


def _share_of_error_with_equal_rivals(key: PRNGKeyArray, setting: Copying) -> Float[Array, ""]:
    keys = orthonormal(key, setting.n, setting.d)
    values = jnp.zeros((setting.n, 2)).at[0, 0].set(1.0).at[1:, 1].set(1.0)
    lost = _leak(attention_weights(keys[:1], keys, scale=setting.beta))
    error = attention(keys[:1], keys, values, scale=setting.beta)[0] - values[0]
    return jnp.linalg.norm(error) / (lost * jnp.sqrt(jnp.asarray(2.0)))


def _tight_rounding(setting: Copying) -> float:
    # The error contains 1 - weight, rounded to eps. It is divided by the leak, which may be small.
    return EPS * (2 * setting.n + 4) + 4 * EPS / theory.leak_bound(setting.n, setting.beta)


COPY_ERROR_TIGHT = exact_claim(
    name="copy-error-is-tight",
    statement=r"When all other values agree, $\|c - v_j\| = (1 - \alpha_j) \max_i \|v_i - v_j\|$.",
    source="mathematics/selecting.md#the-error-of-a-copy; practical4/2a; cs224n/1a.iii",
    hypotheses=ORTHONORMAL,
    predict=Interval.point(1.0),
    draw=_share_of_error_with_equal_rivals,
    rounding=_tight_rounding,
    settings=tuple(Copying(n=n, d=64, beta=beta) for n in (4, 16) for beta in (1.0, 2.0, 4.0, 6.0)),
    rival=Rival(
        statement="The weights that leak add up like independent errors: the root of their squares.",
        source=r"the norm $\bigl(\sum_{i\ne j} \alpha_i^2\bigr)^{1/2}$ in the place of $\sum_{i\ne j} \alpha_i$",
        predict=lambda s: Interval.point((s.n - 1) ** -0.5),
    ),
)

FIXED_STRENGTH = foil(
    COPY_WEIGHT,
    name="one-strength-copies-at-any-length",
    statement=r"$\beta = 8$ copies with a leak below 1 % however many keys there are.",
    source="mathematics/selecting.md#copying-one-value; practical4/2a; cs224n/1a.ii; uw/1.2.1, the reading that "
    'a query is "large" once and for all',
    predict=Interval.at_most(0.01),
    settings=tuple(Copying(n=n, d=64, beta=8.0) for n in (32, 64)),
)

CLAIMS = (
    COPY_WEIGHT,
    COPY_STRENGTH,
    LEAK_BOUND,
    LEAK_NEVER,
    COPY_ERROR,
    COPY_ERROR_TIGHT,
    FIXED_STRENGTH,
)
