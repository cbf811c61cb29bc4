"""Three tokens under plain self-attention: no mixture of them is what is wanted (docs/mathematics/routing.md)."""

import dataclasses
import functools
from typing import NamedTuple, assert_never

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab_theory.attention import attention, attention_weights
from attnlab_theory.claims.claim import exact_claim, foil
from attnlab_theory.claims.setting import Setting
from attnlab_theory.sampling import orthonormal
from attnlab_theory.stats import Interval
from attnlab_theory.theory.routing import key_query_value as theory
from attnlab_theory.theory.routing.key_query_value import Head, Middle

D = 8
"""Width of the tokens; the four directions are random in it."""

EPS = float(jnp.finfo(jnp.float32).eps)

NEAR = 0.1
"""An output is called near the wanted vector if it is off by less than this share of its norm."""


class SecondToken(Setting):
    """The second token is u_a, or u_a + u_d, or u_a + u_c (`middle`); every u has norm beta."""

    middle: Middle
    beta: float


def leak_rtol(beta: float) -> float:
    """Relative rounding of a weight in float32.

    Four Householder columns of length D err by 8 D eps (Higham 2002, theorem 19.4), inner products of
    length D by D eps each, and Q carries two more of them: 16 D eps relative to scores of 2 beta^2. A
    weight pays for its own score and for the normaliser's.
    """
    return 2 * 16 * D * EPS * 2 * beta**2 + 8 * EPS


def output_atol(beta: float, leak: float) -> float:
    """Absolute rounding of an output's norm: that of what leaks, and of the tokens and values themselves."""
    return beta * (4 * leak * leak_rtol(beta) + 32 * D * EPS)


class Attended(NamedTuple):
    """The four directions, the tokens made of them, and what one head does with the tokens."""

    u: Float[Array, "4 d"]
    x: Float[Array, "t d"]
    weights: Float[Array, "t s"]
    outputs: Float[Array, "t v"]


@functools.partial(jax.jit, static_argnames=("middle", "head"))
def attended(key: PRNGKeyArray, beta: float | Float[Array, ""], *, middle: Middle, head: Head) -> Attended:
    """One head over the three tokens."""
    u = beta * orthonormal(key, 4, D)
    u_a, u_b, u_c, u_d = u
    second = {Middle.A: u_a, Middle.A_AND_D: u_a + u_d, Middle.A_AND_C: u_a + u_c}[middle]
    x = jnp.stack([u_d + u_b, second, u_c + u_b])
    q, v = _matrices(head, u, beta)
    queries = x @ q.T
    weights, outputs = attention_weights(queries, x, scale=1.0), attention(queries, x, x @ v.T, scale=1.0)
    return Attended(u, x, weights, outputs)


def _matrices(head: Head, u: Float[Array, "4 d"], beta: float | Float[Array, ""]) -> tuple[Array, Array]:
    """Q and V; K is the identity in every head."""
    u_a, u_b, u_c, u_d = u
    identity = jnp.eye(D, dtype=u.dtype)
    values = (jnp.outer(u_b, u_b) - jnp.outer(u_c, u_c)) / beta**2
    match head:
        case Head.PLAIN:
            return identity, identity
        case Head.VALUES:
            return identity, values
        case Head.CONSTRUCTED:
            return (jnp.outer(u_d, u_a) + jnp.outer(u_c, u_d)) / beta**2, values
        case _:
            assert_never(head)


def _leak(key: PRNGKeyArray, setting: SecondToken) -> Float[Array, ""]:
    weights = attended(key, setting.beta, middle=setting.middle, head=Head.PLAIN).weights
    # Not 1 - weight: beyond beta = 4 that difference is rounding alone.
    return weights[1, 0] + weights[1, 2]


def _distance(key: PRNGKeyArray, setting: SecondToken) -> Float[Array, ""]:
    found = attended(key, setting.beta, middle=setting.middle, head=Head.PLAIN)
    return jnp.linalg.norm(found.outputs[1] - found.u[1])


@functools.partial(jax.jit, static_argnames="middle")
def _nearest(
    key: PRNGKeyArray, beta: float | Float[Array, ""], logits: Float[Array, "t s"], *, middle: Middle
) -> Float[Array, ""]:
    """Least distance from u_b of attention's outputs for queries that give the tokens these scores."""
    u, x, _, _ = attended(key, beta, middle=middle, head=Head.PLAIN)
    # The tokens are independent: x^+ makes a query for any scores.
    queries = logits @ jnp.linalg.pinv(x).T
    return jnp.min(jnp.linalg.norm(attention(queries, x, x, scale=1.0) - u[1:2], axis=1))


def _best_mixture_distance(key: PRNGKeyArray, setting: SecondToken) -> Float[Array, ""]:
    mixture, _ = theory.nearest_mixture(setting.middle)
    # A share of zero is approached, by e^-30.
    return _nearest(
        key, setting.beta, jnp.log(jnp.asarray([mixture], float) + jnp.exp(-30.0)), middle=setting.middle
    )


def _random_mixture_distance(key: PRNGKeyArray, setting: SecondToken) -> Float[Array, ""]:
    frame, mixtures = jax.random.split(key)
    logits = jnp.log(jax.random.exponential(mixtures, (4096, 3)))
    return _nearest(frame, setting.beta, logits, middle=setting.middle)


def _mixture_atol(setting: SecondToken) -> float:
    """Scores reach 30; the pseudo-inverse of tokens whose condition is below 3 errs by 3 * 32 D eps relative."""
    return setting.beta * 32 * D * EPS * (3 * 30 + 1)


BETAS = (1.0, 1.5, 2.0, 2.5, 3.0)
SEEN_BETA = 2.0
"""The norm at which the heat maps are drawn: large enough to be clear, small enough for the leak to be seen."""
POSITIVE = {"beta > 0": lambda s: s.beta > 0}

SUMS = (Middle.A_AND_D, Middle.A_AND_C)

SELF_COPY = exact_claim(
    name="plain-attention-copies-itself",
    statement=r"With $Q=K=V=I$, $c_2 \approx x_2 = u_a$: the weight elsewhere is $2/(e^{\beta^2}+2)$.",
    source="mathematics/routing.md#a-token-copies-itself; practical4/2e.1",
    hypotheses=POSITIVE,
    predict=lambda s: Interval.point(theory.self_leak(s.middle, s.beta)),
    draw=_leak,
    rounding=lambda s: theory.self_leak(s.middle, s.beta) * leak_rtol(s.beta),
    settings=tuple(SecondToken(middle=Middle.A, beta=beta) for beta in BETAS),
    stream="key-query-value",
)

SUM_COPY = dataclasses.replace(
    SELF_COPY,
    name="sum-token-copies-itself",
    statement=r"If $x_2$ becomes $u_a+u_d$ or $u_a+u_c$ it scores $2\beta^2$ with itself, $\beta^2$ with one "
    r"other: $c_2 \approx x_2$ still.",
    source="mathematics/routing.md#a-token-copies-itself; practical4/2e.1",
    settings=tuple(SecondToken(middle=middle, beta=beta) for middle in SUMS for beta in BETAS),
)

NO_MIXTURE = exact_claim(
    name="no-mixture-is-near",
    statement=r"Every mixture of the tokens is at least $\beta\sqrt{0.4}$ from $u_b$, and $\beta/\sqrt2$ once "
    r"$u_d$ or $u_c$ is added to $x_2$; so $c_2$ is.",
    source="mathematics/routing.md#no-mixture-comes-near; practical4/2e.1",
    hypotheses=POSITIVE,
    predict=lambda s: Interval.at_least(
        s.beta * theory.least_distance(s.middle, theory.nearest_mixture(s.middle)[0])
    ),
    draw=_distance,
    rounding=lambda s: output_atol(s.beta, 1.0),
    settings=tuple(SecondToken(middle=middle, beta=beta) for middle in theory.MIDDLES for beta in BETAS),
    stream=SELF_COPY,
)

RANDOM_MIXTURES = exact_claim(
    name="no-query-is-near",
    statement=r"Of 4096 queries whose weights are uniform on the simplex none brings $c_2$ nearer to $u_b$ than "
    r"$\beta\sqrt{0.4}$ (with $u_d$ or $u_c$ added: $\beta/\sqrt2$).",
    source="mathematics/routing.md#no-mixture-comes-near; practical4/2e.1",
    hypotheses=POSITIVE,
    predict=NO_MIXTURE.predict,
    draw=_random_mixture_distance,
    rounding=_mixture_atol,
    settings=tuple(SecondToken(middle=middle, beta=SEEN_BETA) for middle in theory.MIDDLES),
    stream=SELF_COPY,
)

BEST_MIXTURE = dataclasses.replace(
    RANDOM_MIXTURES,
    name="best-mixture",
    statement=r"The query with weights $(.4,.2,.4)$ (with $u_d$ or $u_c$ added: $(\frac12,0,\frac12)$) comes as "
    r"near to $u_b$ as any: $\beta\sqrt{0.4}$, or $\beta/\sqrt2$.",
    source="mathematics/routing.md#no-mixture-comes-near; practical4/2e.1",
    predict=lambda s: Interval.point(s.beta * theory.nearest_mixture(s.middle)[1]),
    draw=_best_mixture_distance,
)

ADDING_HELPS = foil(
    NO_MIXTURE,
    name="adding-u_d-or-u_c-helps",
    statement=r"Adding $u_d$ or $u_c$ to $x_2$ makes $c_2 \approx u_b$ (within a tenth of its norm).",
    source="mathematics/routing.md#no-mixture-comes-near; practical4/2e.1, answered with yes",
    predict=lambda s: Interval.at_most(NEAR * s.beta),
    settings=tuple(SecondToken(middle=middle, beta=beta) for middle in SUMS for beta in BETAS),
)

CLAIMS = (SELF_COPY, SUM_COPY, NO_MIXTURE, RANDOM_MIXTURES, BEST_MIXTURE, ADDING_HELPS)
